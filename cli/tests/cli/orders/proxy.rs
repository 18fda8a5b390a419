//! A proxy between a program and its servers. It counts the program's messages and kills it with -9
//! after this many of them: in one run before the last one arrives, in another run after it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

/// The process to kill, and the message at which to kill it.
#[derive(Default)]
pub struct Killer {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    victim: Option<Child>,
    left: Option<u64>,
    after: bool,
    killed: bool,
}

impl Killer {
    /// Kills the next victim at its message with this number, from 1 on.
    pub fn aim(&self, at: u64, after: bool) {
        let mut state = self.state.lock().unwrap();
        *state = State { left: Some(at), after, ..State::default() };
    }

    /// The process to kill.
    pub fn victim(&self, child: Child) {
        self.state.lock().unwrap().victim = Some(child);
    }

    /// Whether the victim was killed.
    pub fn killed(&self) -> bool {
        self.state.lock().unwrap().killed
    }

    /// Ends a process that sent fewer messages.
    pub fn end(&self) {
        let mut state = self.state.lock().unwrap();
        state.left = None;
        if let Some(mut victim) = state.victim.take() {
            let _ = victim.kill();
            let _ = victim.wait();
        }
    }

    /// Counts a message and forwards it by `send`; at the chosen one the victim is killed.
    fn message(&self, send: impl FnOnce()) {
        let mut state = self.state.lock().unwrap();
        let Some(left) = state.left else { return send() };
        state.left = left.checked_sub(1);
        if left != 1 {
            return send();
        }
        state.left = None;
        if state.after {
            send();
        }
        let mut victim = state.victim.take().expect("a victim");
        victim.kill().expect("it is killed");
        victim.wait().expect("it ends");
        state.killed = true;
    }
}

/// Listens on a port of the loopback interface for connections to a local socket, until the test
/// program ends.
pub fn before(socket: &Path, killer: &Arc<Killer>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let (socket, killer) = (PathBuf::from(socket), Arc::clone(killer));
    thread::spawn(move || {
        for front in listener.incoming().flatten() {
            let Ok(back) = UnixStream::connect(&socket) else { continue };
            let killer = Arc::clone(&killer);
            let (replies, reader) = (back.try_clone(), front.try_clone());
            let (Ok(replies), Ok(reader)) = (replies, reader) else { continue };
            thread::spawn(move || requests(reader, back, &killer));
            thread::spawn(move || answers(replies, front));
        }
    });
    port
}

fn requests(mut from: TcpStream, mut to: UnixStream, killer: &Killer) {
    let mut bytes = [0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        // An error of the server is passed on by the closed connection.
        killer.message(|| drop(to.write_all(&bytes[..read])));
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn answers(mut from: UnixStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}
