//! The program as a process, and its pages.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use seckill_harness::launch::free_port;
use seckill_harness::process::command;
use seckill_harness::wait_until;

/// The command `seckill` with these arguments.
pub fn seckill(words: &[&str]) -> Command {
    let mut program = command(env!("CARGO_BIN_EXE_seckill").as_ref());
    program.args(words).stdin(Stdio::null());
    program
}

/// Runs the program to its end.
pub fn run(words: &[&str]) -> Output {
    seckill(words).output().expect("seckill runs")
}

/// A program that serves pages: seckill, or another program with its option. Dropping the value
/// ends it.
pub struct Running {
    child: Child,
    pub port: u16,
}

impl Running {
    /// Starts the program on a free port, which is passed with `--web.listen-address`.
    #[track_caller]
    pub fn start(program: Command) -> Running {
        Running::start_at(program, "127.0.0.1")
    }

    /// Starts the program and asserts its address. An empty `host` means all addresses.
    #[track_caller]
    pub fn start_at(mut program: Command, host: &str) -> Running {
        let port = free_port();
        program.args(["--web.listen-address", &format!("{host}:{port}")]);
        let mut running = Running { child: program.spawn().expect("it starts"), port };
        wait_until("it serves", || {
            let ended = running.child.try_wait().expect("its state");
            assert_eq!(ended, None, "it ended by itself");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        running
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Status and body of a page.
    #[track_caller]
    pub fn get(&self, path: &str) -> (u16, String) {
        get(self.port, path)
    }

    /// Ends the program with a signal, and returns its exit status.
    pub fn end(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs");
        assert!(sent.success());
        self.child.wait().expect("it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both calls fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status and body of a page of a server on this machine.
#[track_caller]
pub fn get(port: u16, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    let body = match head.contains("Transfer-Encoding: chunked") {
        true => unchunked(body),
        false => body.to_owned(),
    };
    (status, body)
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, chunk)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        body.push_str(&chunk[..size]);
        rest = chunk[size..].trim_start_matches("\r\n");
    }
    body
}
