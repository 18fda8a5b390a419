//! The replication stream, as a replica gets it.

use std::io::{self, Read};

use super::client::Conn;
use super::reply::read_line;
use super::server::Server;

/// A connection that acts as a replica.
pub struct ReplicationStream {
    conn: Conn,
    marks: u64,
}

impl ReplicationStream {
    /// Attaches to a server by a full resync, and skips the snapshot.
    #[track_caller]
    pub fn attach(server: &Server) -> ReplicationStream {
        let mut conn = server.conn();
        conn.send(&["PSYNC", "?", "-1"]).expect("the server takes PSYNC");
        let skipped = skip_snapshot(&mut conn);
        skipped.unwrap_or_else(|error| panic!("no snapshot came: {error}"));
        let mut stream = ReplicationStream { conn, marks: 0 };
        // Skips changes from before the test, which follow the snapshot.
        stream.taken(server);
        stream
    }

    /// The commands replicated since the last call, each with its arguments. PING and SELECT of the
    /// only database are left out.
    #[track_caller]
    pub fn taken(&mut self, server: &Server) -> Vec<Vec<Vec<u8>>> {
        self.marks += 1;
        let mark = format!("end of part {}", self.marks).into_bytes();
        server.conn().ask(&[b"PUBLISH" as &[u8], b"seckill-tests", &mark]);
        let mut commands = Vec::new();
        loop {
            let command = self.conn.read().unwrap_or_else(|e| panic!("the stream ended: {e}"));
            let args: Vec<Vec<u8>> =
                command.items().iter().map(|arg| arg.bytes().to_vec()).collect();
            match args.first().map(Vec::as_slice) {
                Some(b"PUBLISH") if args.last() == Some(&mark) => return commands,
                Some(b"PING" | b"REPLCONF") => {}
                Some(b"SELECT") if args[1] == b"0" => {}
                _ => commands.push(args),
            }
        }
    }

    /// [`ReplicationStream::taken`] with each command as one escaped line.
    #[track_caller]
    pub fn lines(&mut self, server: &Server) -> Vec<String> {
        let line = |args: Vec<Vec<u8>>| {
            let words: Vec<String> =
                args.iter().map(|arg| arg.escape_ascii().to_string()).collect();
            words.join(" ")
        };
        self.taken(server).into_iter().map(line).collect()
    }
}

/// Reads `+FULLRESYNC ...`, keepalive newlines, and `$<len>` with this many bytes.
fn skip_snapshot(conn: &mut Conn) -> io::Result<()> {
    let reader = conn.reader();
    let head = loop {
        let line = read_line(reader)?;
        if line.first() == Some(&b'$') {
            break line;
        }
    };
    let len: u64 = String::from_utf8_lossy(&head[1..]).parse().map_err(io::Error::other)?;
    io::copy(&mut reader.take(len), &mut io::sink())?;
    Ok(())
}
