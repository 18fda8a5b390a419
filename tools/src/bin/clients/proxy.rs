//! A proxy between a client library and a server that breaks connections in the middle of a reply:
//! the server has done what it was asked, and the client does not learn it.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use seckill_harness::process::lock;

/// What is done between the server's reply and the end of the connection.
pub type Then = Box<dyn FnOnce() + Send>;

/// How often, and after how many bytes, replies to SECKILL commands break off.
#[derive(Default)]
struct Cuts {
    after: VecDeque<usize>,
    then: Option<Then>,
}

/// A port of this machine that forwards to a server for as long as the program runs.
pub struct Proxy {
    port: u16,
    cuts: Arc<Mutex<Cuts>>,
}

impl Proxy {
    /// # Errors
    /// A sentence when no port is free.
    pub fn to(server: u16) -> Result<Proxy, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let cuts = Arc::<Mutex<Cuts>>::default();
        let shared = Arc::clone(&cuts);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) {
                    join(&near, &far, &shared);
                }
            }
        });
        Ok(Proxy { port, cuts })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The next replies break off, each after so many bytes; `then` happens at the first of them.
    pub fn cut(&self, after: impl IntoIterator<Item = usize>, then: Option<Then>) {
        *lock(&self.cuts) = Cuts { after: after.into_iter().collect(), then };
    }

    /// So many cuts did not happen; from now on none does.
    pub fn mend(&self) -> usize {
        std::mem::take(&mut *lock(&self.cuts)).after.len()
    }
}

fn join(near: &TcpStream, far: &TcpStream, cuts: &Arc<Mutex<Cuts>>) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let asked = Arc::new(AtomicBool::new(false));
    for is_reply in [false, true] {
        let (from, to) = if is_reply { (far, near) } else { (near, far) };
        let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
        let (asked, cuts) = (Arc::clone(&asked), Arc::clone(cuts));
        thread::spawn(move || match is_reply {
            true => replies(from, to, &asked, &cuts),
            false => requests(from, to, &asked),
        });
    }
}

fn requests(mut from: TcpStream, mut to: TcpStream, asked: &AtomicBool) {
    let mut part = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut part) {
        let is_ours = part[..bytes].windows(8).any(|word| word == b"SECKILL.");
        asked.fetch_or(is_ours, Ordering::SeqCst);
        if to.write_all(&part[..bytes]).is_err() {
            break;
        }
    }
    end(&from, &to);
}

fn replies(mut from: TcpStream, mut to: TcpStream, asked: &AtomicBool, cuts: &Mutex<Cuts>) {
    let mut part = vec![0; 64 * 1024];
    // So many bytes may still pass, once a reply of ours has begun.
    let mut left = None;
    while let Ok(bytes @ 1..) = from.read(&mut part) {
        if left.is_none() && asked.load(Ordering::SeqCst) {
            left = lock(cuts).after.pop_front();
        }
        let passes = left.map_or(bytes, |left| left.min(bytes));
        if to.write_all(&part[..passes]).is_err() {
            break;
        }
        left = left.map(|left| left - passes);
        if passes < bytes {
            let then = lock(cuts).then.take();
            then.into_iter().for_each(|then| then());
            break;
        }
    }
    end(&from, &to);
}

/// Fails when the other side was faster.
fn end(from: &TcpStream, to: &TcpStream) {
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
