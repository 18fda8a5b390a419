//! A process of workers. Each makes calls until the process is killed.

use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use redis::{Client, Connection, Value};

use crate::{told, Told, KEY, MOST};

#[derive(Args)]
pub struct Team {
    /// The server
    url: String,
    /// Number of the process, used in the names of its calls
    number: u32,
    /// Workers in the process
    workers: u32,
}

/// Shortest and longest call, in ms.
const TAKES_MS: (u64, u64) = (20, 200);
/// Pause of a worker that could not reserve.
const PAUSE: Duration = Duration::from_millis(25);

/// The cost of the call with this name, at most the reserved units.
pub fn cost(req: &str) -> u64 {
    1 + drawn(req, 7) % MOST
}

/// A pseudo-random number made from the name of a call.
fn drawn(req: &str, salt: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = req.bytes().fold(0xcbf2_9ce4_8422_2325 ^ salt, step);
    hash ^ hash >> 29
}

pub fn work(team: &Team) -> Told<()> {
    let client = Client::open(team.url.as_str()).map_err(told)?;
    let one = |worker: u32| {
        let (client, number) = (client.clone(), team.number);
        thread::spawn(move || run(&client, number, worker))
    };
    let all: Vec<_> = (0..team.workers).map(one).collect();
    for worker in all {
        worker.join().map_err(|_| "a worker has failed".to_owned())??;
    }
    Ok(())
}

fn run(client: &Client, number: u32, worker: u32) -> Told<()> {
    let mut conn = client.get_connection().map_err(told)?;
    let user = format!("team-{}", worker % 4);
    for call in 0.. {
        let req = format!("{number}-{worker}-{call}");
        let took = TAKES_MS.0 + drawn(&req, 3) % (TAKES_MS.1 - TAKES_MS.0);
        if !reserve(&mut conn, &user, &req)? {
            thread::sleep(PAUSE);
            continue;
        }
        thread::sleep(Duration::from_millis(took));
        keep(&mut conn, &user, &req)?;
    }
    Ok(())
}

/// Reserves the highest cost of a call. False if the budget does not have it.
fn reserve(conn: &mut Connection, user: &str, req: &str) -> Told<bool> {
    let mut grab = redis::cmd("SECKILL.GRAB");
    grab.arg(KEY).arg(user).arg("QTY").arg(MOST).arg("REQ").arg(req);
    let reply: Vec<Value> = grab.query(conn).map_err(told)?;
    match word(&reply).as_str() {
        "GRANTED" => Ok(true),
        "SHORT" | "SOLDOUT" => Ok(false),
        other => Err(format!("GRAB answers {other}")),
    }
}

/// Keeps the cost of a call and prints it. Prints nothing if the reservation has expired.
fn keep(conn: &mut Connection, user: &str, req: &str) -> Told<()> {
    let units = cost(req);
    let mut confirm = redis::cmd("SECKILL.CONFIRM");
    confirm.arg(KEY).arg(user).arg("REQ").arg(req).arg("KEEP").arg(units);
    let reply: Vec<Value> = confirm.query(conn).map_err(told)?;
    match word(&reply).as_str() {
        "SOLD" => {
            // One write, so that a kill can't leave half a line.
            let line = format!("{req} {units}\n");
            std::io::stdout().lock().write_all(line.as_bytes()).map_err(|e| e.to_string())
        }
        "EXPIRED" => Ok(()),
        other => Err(format!("CONFIRM answers {other}")),
    }
}

fn word(reply: &[Value]) -> String {
    match reply.first() {
        Some(Value::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}
