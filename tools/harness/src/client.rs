//! A connection without a client library, so that tests send and compare exact bytes.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

use super::reply::Reply;
use super::wait::deadline;

pub struct Conn {
    reader: BufReader<TcpStream>,
}

/// The words of a command written as one line. Arguments with spaces need [`Conn::send`].
pub fn words(line: &str) -> Vec<&[u8]> {
    line.split_whitespace().map(str::as_bytes).collect()
}

/// A field in the text of INFO.
pub fn info_field<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

pub fn encode(args: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut command = redis::Cmd::new();
    for arg in args {
        command.arg(arg.as_ref());
    }
    command.get_packed_command()
}

impl Conn {
    /// Connects to a port of the loopback interface.
    pub fn open(port: u16) -> io::Result<Conn> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(deadline()))?;
        Ok(Conn { reader: BufReader::new(stream) })
    }

    /// Sends a command without waiting for its reply.
    pub fn send(&mut self, args: &[impl AsRef<[u8]>]) -> io::Result<()> {
        self.send_raw(&encode(args))
    }

    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    pub fn read(&mut self) -> io::Result<Reply> {
        Reply::read(&mut self.reader)
    }

    /// Sends a command and reads its reply; `Err` if the connection broke.
    pub fn try_ask(&mut self, args: &[impl AsRef<[u8]>]) -> io::Result<Reply> {
        self.send(args)?;
        self.read()
    }

    /// Sends a command and reads its reply.
    #[track_caller]
    pub fn ask(&mut self, args: &[impl AsRef<[u8]>]) -> Reply {
        match self.try_ask(args) {
            Ok(reply) => reply,
            Err(error) => panic!("the connection broke: {error}"),
        }
    }

    /// Sends a command written as one line and reads its reply.
    #[track_caller]
    pub fn cmd(&mut self, line: &str) -> Reply {
        self.ask(&words(line))
    }

    /// Sends a command written as one line. Returns its reply in the notation of [`Reply`].
    #[track_caller]
    pub fn call(&mut self, line: &str) -> String {
        self.cmd(line).to_string()
    }

    /// Sends commands one by one. Each reply must equal the text beside the command, in the
    /// notation of [`Reply::is`].
    #[track_caller]
    pub fn check(&mut self, session: &[(&str, &str)]) {
        for (line, expected) in session {
            let reply = self.cmd(line);
            assert!(reply.is(expected), "{line} should be {expected}, but it is {reply}");
        }
    }

    /// Sends commands in one write and reads their replies.
    pub fn pipeline(&mut self, commands: &[impl AsRef<[u8]>]) -> io::Result<Vec<Reply>> {
        let commands: Vec<&[u8]> = commands.iter().map(AsRef::as_ref).collect();
        self.send_raw(&commands.concat())?;
        commands.iter().map(|_| self.read()).collect()
    }

    /// Sends a command and returns all bytes of its reply.
    #[track_caller]
    pub fn raw(&mut self, line: &str) -> String {
        const END: &str = "-- end of the reply --";
        let mut bytes = encode(&words(line));
        bytes.extend_from_slice(&encode(&[b"PING" as &[u8], END.as_bytes()]));
        self.send_raw(&bytes).expect("the connection takes a command");
        let tail = format!("${}\r\n{END}\r\n", END.len()).into_bytes();
        let mut seen = Vec::new();
        while !seen.ends_with(&tail) {
            let mut byte = [0];
            self.reader.read_exact(&mut byte).expect("a reply comes");
            seen.push(byte[0]);
        }
        seen.truncate(seen.len() - tail.len());
        String::from_utf8_lossy(&seen).into_owned()
    }

    /// The server's clock in Unix ms.
    #[track_caller]
    pub fn clock_ms(&mut self) -> i64 {
        let time = self.cmd("TIME");
        let part = |place: usize| time.items()[place].text().parse::<i64>().expect("a number");
        part(0) * 1000 + part(1) / 1000
    }

    #[track_caller]
    pub fn info(&mut self, section: &str, name: &str) -> String {
        let info = self.cmd(&format!("INFO {section}")).text();
        let value = info_field(&info, name);
        value.unwrap_or_else(|| panic!("no {name} in INFO {section}:\n{info}")).to_owned()
    }

    #[track_caller]
    pub fn resp3(mut self) -> Conn {
        let hello = self.cmd("HELLO 3");
        assert_eq!(hello.field("proto"), Reply::Int(3));
        self
    }

    /// The underlying reader, for the replication stream, which has no replies.
    pub fn reader(&mut self) -> &mut BufReader<TcpStream> {
        &mut self.reader
    }
}
