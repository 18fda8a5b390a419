//! A Sentinel that is cut off from the others still names the primary of yesterday.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use seckill_client::{Sale, Servers, Units};

const GRANTED: &str = "*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:9\r\n";
const READONLY: &str = "-READONLY You can't write against a read only replica.\r\n";

/// Plays a server that has one reply to GRAB and SENTINEL. Returns its port.
fn play(reply: String) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let reply = reply.clone();
            thread::spawn(move || serve(stream, &reply));
        }
    });
    Ok(port)
}

/// Ends with the connection.
fn serve(mut stream: TcpStream, reply: &str) -> Option<()> {
    let mut input = BufReader::new(stream.try_clone().ok()?);
    loop {
        let name = command(&mut input)?.into_iter().next()?;
        let is_asked = name == b"SENTINEL" || name == b"SECKILL.GRAB";
        let told = if is_asked { reply } else { "+OK\r\n" };
        stream.write_all(told.as_bytes()).ok()?;
    }
}

/// The words of a command.
fn command(input: &mut dyn BufRead) -> Option<Vec<Vec<u8>>> {
    (0..number(input)?).map(|_| word(input)).collect()
}

fn word(input: &mut dyn BufRead) -> Option<Vec<u8>> {
    let mut word = vec![0; number(input)? + 2];
    input.read_exact(&mut word).ok()?;
    word.truncate(word.len() - 2);
    Some(word)
}

fn number(input: &mut dyn BufRead) -> Option<usize> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    line.get(1..)?.trim().parse().ok()
}

#[test]
fn another_sentinel_is_asked_after_a_demoted_primary() {
    let [old, new] = [READONLY, GRANTED].map(|reply| play(reply.to_owned()).expect("a port"));
    // The second one is asked first.
    let sentinels = [new, old].map(|primary| {
        let port = primary.to_string();
        let named = format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len());
        format!("redis://127.0.0.1:{}/", play(named).expect("a port"))
    });
    let servers =
        Servers::sentinel(sentinels, "mymaster", "redis://127.0.0.1/").expect("addresses");
    let answer = Sale::new(servers, "sale").grab("alice", "order-1", Units::One);
    assert!(answer.expect("an answer").won());
}
