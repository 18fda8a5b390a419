//! A network link, between servers or between a client and a server, that has a length and breaks
//! in the ways in which networks break.
//!
//! On one machine a replica is so near that a dying primary loses next to nothing. Real links take
//! time, and what is on its way when a host dies is lost.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::process::lock;

/// A port that forwards to a server; all bytes arrive `delay` later. Gone for good when dropped.
pub struct Link {
    port: u16,
    line: Arc<Line>,
}

/// State that all connections of a link share.
#[derive(Default)]
struct Line {
    cut: AtomicBool,
    gone: AtomicBool,
    through: Mutex<Vec<Through>>,
}

/// One connection: its near and its far end.
struct Through {
    ends: [TcpStream; 2],
    /// Set by one side when it is over.
    over: Arc<AtomicBool>,
    /// The next reply is to break off in its middle.
    tears: Arc<AtomicBool>,
}

impl Link {
    /// Forwards every connection to `server`, a port of this machine.
    ///
    /// # Errors
    /// A sentence when no port is free.
    pub fn to(server: u16, delay: Duration) -> Result<Link, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let line = Arc::new(Line::default());
        let shared = Arc::clone(&line);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.gone.load(Ordering::SeqCst) {
                    return;
                }
                if shared.cut.load(Ordering::SeqCst) {
                    continue;
                }
                if let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) {
                    shared.join(near, far, delay);
                }
            }
        });
        Ok(Link { port, line })
    }

    /// Where the other side finds the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing arrives, and neither side is told; bytes on their way are lost, too.
    pub fn cut(&self) {
        self.line.cut.store(true, Ordering::SeqCst);
    }

    /// The network is back. Connections that were cut have lost bytes, so they end.
    pub fn mend(&self) {
        self.hang_up();
        self.line.cut.store(false, Ordering::SeqCst);
    }

    /// Ends all connections, whatever was on its way.
    pub fn hang_up(&self) {
        for through in lock(&self.line.through).drain(..) {
            through.end();
        }
    }

    /// Lets every second connection break off in the middle of its next reply.
    pub fn tear(&self) {
        for through in lock(&self.line.through).iter().step_by(2) {
            through.tears.store(true, Ordering::SeqCst);
        }
    }

    /// Ends all connections and takes no more.
    pub fn close(&self) {
        self.line.gone.store(true, Ordering::SeqCst);
        self.hang_up();
        // Wakes the thread that waits for connections, which then sees that it is over.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

impl Through {
    fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        for end in &self.ends {
            // Fails when the other side was faster.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Line {
    fn join(self: &Arc<Line>, near: TcpStream, far: TcpStream, delay: Duration) {
        // As both servers set it: small messages must not wait for more to come.
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        let (over, tears) = (Arc::default(), Arc::default());
        for (from, to, tears) in [(&near, &far, None), (&far, &near, Some(Arc::clone(&tears)))] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
            let way = Way { line: Arc::clone(self), delay, tears, over: Arc::clone(&over) };
            way.forward(from, to);
        }
        let mut all = lock(&self.through);
        all.retain(|through| !through.over.load(Ordering::SeqCst));
        all.push(Through { ends: [near, far], over, tears });
        if self.gone.load(Ordering::SeqCst) {
            all.drain(..).for_each(|through| through.end());
        }
    }
}

/// One direction of a connection.
struct Way {
    line: Arc<Line>,
    delay: Duration,
    /// Only of the way back, which has the replies.
    tears: Option<Arc<AtomicBool>>,
    over: Arc<AtomicBool>,
}

impl Way {
    /// One thread takes bytes as they come, another delivers them in time.
    fn forward(self, mut from: TcpStream, to: TcpStream) {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut part = vec![0; 64 * 1024];
            while let Ok(bytes @ 1..) = from.read(&mut part) {
                if sender.send((Instant::now(), part[..bytes].to_vec())).is_err() {
                    return;
                }
            }
        });
        thread::spawn(move || self.deliver(&receiver, to));
    }

    fn deliver(&self, parts: &Receiver<(Instant, Vec<u8>)>, mut to: TcpStream) {
        for (sent_at, part) in parts {
            thread::sleep(self.delay.saturating_sub(sent_at.elapsed()));
            if self.line.cut.load(Ordering::SeqCst) {
                continue;
            }
            let tears = self.tears.as_ref();
            let torn = tears.is_some_and(|tears| tears.swap(false, Ordering::SeqCst));
            let arrives = if torn { &part[..part.len() / 2] } else { &part[..] };
            if to.write_all(arrives).is_err() || torn {
                break;
            }
        }
        // A cut line says nothing; an open one tells that the other side hung up.
        if !self.line.cut.load(Ordering::SeqCst) {
            let _ = to.shutdown(Shutdown::Both);
            self.over.store(true, Ordering::SeqCst);
        }
    }
}
