//! A network link between a primary and its replica that has a length and can be cut.
//!
//! On one machine a replica is so near that a dying primary loses next to nothing. Real links take
//! time, and what is on its way when a host dies is lost.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A port that forwards to the primary; all bytes arrive `delay` later.
pub struct Link {
    port: u16,
    cut: Arc<AtomicBool>,
}

impl Link {
    /// Forwards every connection to `primary` on this machine.
    ///
    /// # Errors
    /// A sentence when no port is free.
    pub fn to(primary: u16, delay: Duration) -> Result<Link, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if is_cut.load(Ordering::Relaxed) {
                    continue;
                }
                if let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, primary)) {
                    // As both servers set it: small messages must not wait for more to come.
                    let _ = (near.set_nodelay(true), far.set_nodelay(true));
                    forward(&near, &far, delay, &is_cut);
                    forward(&far, &near, delay, &is_cut);
                }
            }
        });
        Ok(Link { port, cut })
    }

    /// Where the replica finds its primary.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing arrives, what is on its way included, and nobody is told.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }
}

/// One direction: one thread takes bytes as they come, another delivers them in time.
fn forward(from: &TcpStream, to: &TcpStream, delay: Duration, cut: &Arc<AtomicBool>) {
    let (Ok(mut from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
    let (sender, receiver) = channel();
    let cut = Arc::clone(cut);
    thread::spawn(move || {
        let mut part = vec![0; 64 * 1024];
        while let Ok(bytes @ 1..) = from.read(&mut part) {
            if sender.send((Instant::now(), part[..bytes].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || deliver(&receiver, to, delay, &cut));
}

fn deliver(
    parts: &Receiver<(Instant, Vec<u8>)>,
    mut to: TcpStream,
    delay: Duration,
    cut: &AtomicBool,
) {
    for (sent_at, part) in parts {
        thread::sleep(delay.saturating_sub(sent_at.elapsed()));
        if cut.load(Ordering::Relaxed) {
            continue;
        }
        if to.write_all(&part).is_err() {
            return;
        }
    }
    // A cut line says nothing; an open one tells that the other side hung up.
    if !cut.load(Ordering::Relaxed) {
        let _ = to.shutdown(Shutdown::Both);
    }
}
