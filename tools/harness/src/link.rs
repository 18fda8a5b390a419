//! A network link between servers, or between a client and a server. It adds delay and breaks as
//! networks break.
//!
//! Between two processes of one machine a replica is hardly behind, so a killed primary loses
//! almost nothing. A real link has a delay, and bytes in flight are lost when a host dies.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use super::process::lock;

/// TCP resends lost bytes after this time at the earliest. Later bytes wait for them.
const SENT_AGAIN_AFTER: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// From the client to the server.
    Server,
    /// From the server to the client.
    Caller,
}

/// Reads the bytes of one connection and may change them.
pub trait Filter: Send + Sync {
    /// The reply to the client, if the server must not get this request.
    fn answer(&self, request: &[u8]) -> Option<Vec<u8>>;

    /// The bytes of a reply that the client gets. With `Some(then)`, `then` is called after the
    /// bytes, and then the connection ends.
    fn reply(&self, reply: Vec<u8>) -> (Vec<u8>, Option<Then>);
}

/// Makes the filter of a new connection.
pub type NewFilter = Box<dyn Fn() -> Arc<dyn Filter> + Send + Sync>;

/// Called after the last bytes of a reply, before the connection ends.
pub type Then = Box<dyn FnOnce() + Send>;

/// A port that forwards to a server and delays all bytes by `delay`. Dropping the link closes it.
pub struct Link {
    port: u16,
    line: Arc<Line>,
}

/// State shared by all connections of a link.
#[derive(Default)]
struct Line {
    new_filter: Option<NewFilter>,
    /// The server port for new connections.
    server: AtomicU16,
    /// Whether bytes are dropped towards the server, and towards the client.
    cut: [AtomicBool; 2],
    slower_ms: AtomicU64,
    /// One of this many parts is lost and resent late; 0 for none.
    loses_one_of: AtomicU64,
    parts: AtomicU64,
    gone: AtomicBool,
    through: Mutex<Vec<Through>>,
}

/// One connection: its client socket and its server socket.
struct Through {
    ends: [TcpStream; 2],
    /// Set when either side has ended.
    over: Arc<AtomicBool>,
    /// True if the next reply must end in its middle.
    tears: Arc<AtomicBool>,
}

impl Link {
    /// Forwards every connection to `server`, a port of this machine.
    pub fn to(server: u16, delay: Duration) -> Result<Link, String> {
        Link::of(Line { server: server.into(), ..Line::default() }, delay)
    }

    /// A link without delay. Each of its connections goes through a filter. It has no server yet.
    pub fn through(new_filter: NewFilter) -> Result<Link, String> {
        Link::of(Line { new_filter: Some(new_filter), ..Line::default() }, Duration::ZERO)
    }

    fn of(line: Line, delay: Duration) -> Result<Link, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let line = Arc::new(line);
        let shared = Arc::clone(&line);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.gone.load(Ordering::SeqCst) {
                    return;
                }
                if shared.cut.iter().any(|cut| cut.load(Ordering::SeqCst)) {
                    continue;
                }
                shared.join(near, delay);
            }
        });
        Ok(Link { port, line })
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Drops all bytes from now on, also bytes in flight. Neither side gets an error.
    pub fn cut(&self) {
        [Towards::Server, Towards::Caller].into_iter().for_each(|to| self.cut_towards(to));
    }

    /// Drops all bytes of one direction. The other direction still works.
    pub fn cut_towards(&self, to: Towards) {
        self.line.cut[to as usize].store(true, Ordering::SeqCst);
    }

    /// Ends the cut. Connections that have lost bytes are closed.
    pub fn mend(&self) {
        self.hang_up();
        self.line.cut.iter().for_each(|cut| cut.store(false, Ordering::SeqCst));
    }

    /// Adds this delay from now on.
    pub fn slow_down(&self, by: Duration) {
        self.line.slower_ms.store(by.as_millis() as u64, Ordering::SeqCst);
    }

    /// From now on loses one of this many parts (0 for none). TCP resends it, so it and all later
    /// bytes arrive late.
    pub fn lose_one_of(&self, parts: u64) {
        self.line.loses_one_of.store(parts, Ordering::SeqCst);
    }

    /// New connections go to this server from now on. Open connections keep their server.
    pub fn lead_to(&self, server: u16) {
        self.line.server.store(server, Ordering::SeqCst);
    }

    /// New connections go to this server from now on. Open connections are closed.
    pub fn turn_to(&self, server: u16) {
        self.lead_to(server);
        self.hang_up();
    }

    /// Closes all connections; bytes in flight are lost.
    pub fn hang_up(&self) {
        for through in lock(&self.line.through).drain(..) {
            through.end();
        }
    }

    /// Makes every second connection end in the middle of its next reply.
    pub fn tear(&self) {
        for through in lock(&self.line.through).iter().step_by(2) {
            through.tears.store(true, Ordering::SeqCst);
        }
    }

    /// Closes all connections and accepts no others.
    pub fn close(&self) {
        self.line.gone.store(true, Ordering::SeqCst);
        self.hang_up();
        // Wakes the accepting thread, which then sees that the link is closed.
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
            // Fails if the other side has already closed.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Line {
    fn join(self: &Arc<Line>, near: TcpStream, delay: Duration) {
        // Locked before the server's port is read: whoever changes it and then hangs up also ends
        // this connection.
        let mut all = lock(&self.through);
        let server = self.server.load(Ordering::SeqCst);
        let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { return };
        // Clients and servers set this option, too: small messages must not wait for more bytes.
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        let filter = self.new_filter.as_ref().map(|new| new());
        let (over, tears) = (Arc::default(), Arc::default());
        for (from, to, towards) in [(&near, &far, Towards::Server), (&far, &near, Towards::Caller)]
        {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
            let (line, over, tears) = (Arc::clone(self), Arc::clone(&over), Arc::clone(&tears));
            let way = Way { from, to, line, filter: filter.clone(), towards, delay, tears, over };
            thread::spawn(move || way.forward());
        }
        all.retain(|through| !through.over.load(Ordering::SeqCst));
        all.push(Through { ends: [near, far], over, tears });
        if self.gone.load(Ordering::SeqCst) {
            all.drain(..).for_each(|through| through.end());
        }
    }
}

/// One direction of one connection.
struct Way {
    from: TcpStream,
    to: TcpStream,
    line: Arc<Line>,
    filter: Option<Arc<dyn Filter>>,
    towards: Towards,
    delay: Duration,
    /// Used in the direction of replies.
    tears: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Way {
    /// Reads bytes as they come, and writes them after the delay.
    fn forward(&self) {
        let (mut buffer, mut late) = (vec![0; 64 * 1024], Vec::new());
        loop {
            if late.first().is_none_or(|(due, _)| self.has_bytes_before(*due)) {
                let Ok(bytes @ 1..) = (&self.from).read(&mut buffer) else { break };
                late.push((Instant::now() + self.takes(), buffer[..bytes].to_vec()));
            }
            let due = late.iter().take_while(|(due, _)| left(*due).is_zero()).count();
            for (_, part) in late.drain(..due) {
                if !self.deliver(part) {
                    return self.end();
                }
            }
        }
        for (due, part) in late {
            thread::sleep(left(due));
            if !self.deliver(part) {
                break;
            }
        }
        self.end();
    }

    /// Waits for bytes until then. True also if the other side has closed.
    fn has_bytes_before(&self, due: Instant) -> bool {
        let timeout = Timespec::try_from(left(due)).unwrap_or_default();
        let mut from = [PollFd::new(&self.from, PollFlags::IN)];
        poll(&mut from, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// Returns false if the connection ends here.
    fn deliver(&self, mut part: Vec<u8>) -> bool {
        if self.is_cut() {
            return true;
        }
        let mut then: Option<Then> = None;
        match (self.towards, &self.filter) {
            (Towards::Caller, _) if self.tears.swap(false, Ordering::SeqCst) => {
                part.truncate(part.len() / 2);
                then = Some(Box::new(|| {}));
            }
            (Towards::Caller, Some(filter)) => (part, then) = filter.reply(part),
            (Towards::Server, Some(filter)) => {
                if let Some(answer) = filter.answer(&part) {
                    return (&self.from).write_all(&answer).is_ok();
                }
            }
            (_, None) => {}
        }
        let is_last = then.is_some();
        let has_arrived = (&self.to).write_all(&part).is_ok();
        then.into_iter().for_each(|then| then());
        has_arrived && !is_last
    }

    /// A cut link stays silent. An open link passes the end of the connection on.
    fn end(&self) {
        if !self.is_cut() {
            let _ = self.to.shutdown(Shutdown::Both);
            self.over.store(true, Ordering::SeqCst);
        }
    }

    fn is_cut(&self) -> bool {
        self.line.cut[self.towards as usize].load(Ordering::SeqCst)
    }

    /// The delay of the next part.
    fn takes(&self) -> Duration {
        let slower = Duration::from_millis(self.line.slower_ms.load(Ordering::SeqCst));
        let part = self.line.parts.fetch_add(1, Ordering::SeqCst);
        let parts = self.line.loses_one_of.load(Ordering::SeqCst);
        let is_lost = parts != 0 && part.is_multiple_of(parts);
        self.delay + slower + if is_lost { SENT_AGAIN_AFTER } else { Duration::ZERO }
    }
}

/// The time until then.
fn left(due: Instant) -> Duration {
    due.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::super::wait::holds_in_time;
    use super::*;

    /// How long a test waits for bytes that must not come.
    const A_MOMENT: Duration = Duration::from_millis(100);

    /// Both ends of a connection through a link without delay.
    fn ends() -> (Link, TcpStream, TcpStream) {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = server.local_addr().expect("an address").port();
        let link = Link::to(port, Duration::ZERO).expect("a link");
        let caller = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port())).expect("a caller");
        let (accepted, _) = server.accept().expect("a connection");
        (link, caller, accepted)
    }

    fn read(from: &mut TcpStream, bytes: usize, within: Duration) -> Option<Vec<u8>> {
        let mut read = vec![0; bytes];
        from.set_read_timeout(Some(within)).expect("a time-out");
        from.read_exact(&mut read).ok().map(|()| read)
    }

    fn has_ended(mut one: TcpStream) -> bool {
        one.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
        let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        one.read(&mut [0]).map_or_else(is_reset, |bytes| bytes == 0)
    }

    #[test]
    fn one_direction_is_cut_and_the_other_is_not() {
        for cut in [Towards::Server, Towards::Caller] {
            let (link, mut caller, mut server) = ends();
            link.cut_towards(cut);
            caller.write_all(b"to the server").expect("it is taken");
            server.write_all(b"to the caller").expect("it is taken");
            let patience =
                |towards| if cut == towards { A_MOMENT } else { Duration::from_secs(30) };
            let at_server = read(&mut server, 13, patience(Towards::Server));
            let at_caller = read(&mut caller, 13, patience(Towards::Caller));
            assert_eq!(at_server.is_none(), cut == Towards::Server);
            assert_eq!(at_caller.is_none(), cut == Towards::Caller);
            link.mend();
            assert!(has_ended(server) && has_ended(caller));
        }
    }

    #[test]
    fn a_slow_link_and_a_lossy_one_bring_all_in_order_and_late() {
        for is_slow in [true, false] {
            let (link, mut caller, mut server) = ends();
            match is_slow {
                true => link.slow_down(SENT_AGAIN_AFTER),
                false => link.lose_one_of(1),
            }
            let sent_at = Instant::now();
            caller.write_all(b"abc").expect("it is taken");
            caller.write_all(b"def").expect("it is taken");
            assert_eq!(read(&mut server, 6, Duration::from_secs(30)), Some(b"abcdef".to_vec()));
            assert!(sent_at.elapsed() >= SENT_AGAIN_AFTER);
        }
    }

    #[test]
    fn a_link_that_leads_elsewhere_leaves_the_connections_that_it_has() {
        let (link, caller, mut server) = ends();
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        link.lead_to(other.local_addr().expect("an address").port());
        let _later = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port())).expect("a caller");
        other.set_nonblocking(true).expect("it does not wait");
        assert!(holds_in_time(|| other.accept().is_ok()), "it leads there");
        (&caller).write_all(b"abc").expect("it is taken");
        assert_eq!(read(&mut server, 3, Duration::from_secs(30)), Some(b"abc".to_vec()));
        link.hang_up();
        assert!(has_ended(caller));
    }

    /// Answers `ask` itself, and cuts each reply after its first byte.
    struct Breaks(Arc<AtomicBool>);

    impl Filter for Breaks {
        fn answer(&self, request: &[u8]) -> Option<Vec<u8>> {
            (request == b"ask").then(|| b"answer".to_vec())
        }

        fn reply(&self, mut reply: Vec<u8>) -> (Vec<u8>, Option<Then>) {
            reply.truncate(1);
            let broken = Arc::clone(&self.0);
            (reply, Some(Box::new(move || broken.store(true, Ordering::SeqCst))))
        }
    }

    #[test]
    fn a_filter_answers_and_breaks_replies_off() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let broken = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&broken);
        let new = move || Arc::new(Breaks(Arc::clone(&told))) as Arc<dyn Filter>;
        let link = Link::through(Box::new(new)).expect("a link");
        link.lead_to(server.local_addr().expect("an address").port());
        let mut caller = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port())).expect("a caller");
        let (mut accepted, _) = server.accept().expect("a connection");
        caller.write_all(b"ask").expect("it is taken");
        assert_eq!(read(&mut caller, 6, Duration::from_secs(30)), Some(b"answer".to_vec()));
        caller.write_all(b"tell").expect("it is taken");
        assert_eq!(read(&mut accepted, 4, Duration::from_secs(30)), Some(b"tell".to_vec()));
        accepted.write_all(b"told").expect("it is taken");
        assert_eq!(read(&mut caller, 1, Duration::from_secs(30)), Some(b"t".to_vec()));
        assert!(has_ended(caller) && broken.load(Ordering::SeqCst));
    }
}
