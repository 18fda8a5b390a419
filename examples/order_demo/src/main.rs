//! Orders from GRAB to the shop's database, and back to Redis after a crash.
//!
//! First a rush with holds: some buyers pay, some cancel, some are refunded, some let their hold
//! expire, some pay too late. `seckill orders`, a separate process, writes the orders into MariaDB.
//! It is killed twice by SIGKILL. At the end the database and `SECKILL.WINNERS` are equal, row by
//! row.
//!
//! Then Redis loses its last second, and new buyers get those numbers again. The writer repairs
//! Redis from the database. Then all of that is repeated with PAUSE before anybody can buy. After
//! any difference the program prints it and exits with 1.
//!
//! ```text
//! make order-demo
//! ```

mod compare;
mod loss;
mod rush;
mod writer;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::Conn;
use redis::{Cmd, Connection, FromRedisValue};
use seckill_crowd::sale;
use serde_json::Value;

use loss::First;
use seckill_harness::mariadb::MariaDb;
use seckill_harness::program::Server;
use writer::Writer;

const DEADLINE: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(5);
const DATABASE: &str = "shop";

/// A Redis server, a database server, and the writer between them.
struct Shop {
    redis: Server,
    database: MariaDb,
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run())
}

fn run() -> Result<(), String> {
    let module = seckill_harness::program::module_file(None)?;
    let settings = ["--appendonly", "yes", "--appendfsync", "everysec"];
    let shop = Shop { redis: Server::start(&module, &settings)?, database: MariaDb::start()? };
    Conn::new(shop.database.url("").as_str())
        .and_then(|mut database| database.query_drop(format!("CREATE DATABASE {DATABASE}")))
        .map_err(|e| format!("The database says: {e}"))?;
    let mut database = shop.connect()?;
    rush::show(&shop, &mut database)?;
    let shop = loss::show(shop, &mut database, First::Buyers)?;
    loss::show(shop, &mut database, First::Operator).map(drop)
}

impl Shop {
    fn connect(&self) -> Result<Conn, String> {
        Conn::new(self.database.url(DATABASE).as_str()).map_err(|e| format!("No database: {e}"))
    }

    fn writer(&self, stream: &str, name: &str) -> Result<Writer, String> {
        Writer::start(&self.redis.url(), &self.database.url(DATABASE), stream, name)
    }
}

/// Sends the words of `line` as one command.
fn ask<T: FromRedisValue>(redis: &mut Connection, line: &str) -> Result<T, String> {
    let mut command = Cmd::new();
    for word in line.split_whitespace() {
        command.arg(word);
    }
    command.query(redis).map_err(|e| format!("{line} failed: {e}"))
}

/// STATUS of a sale, after AUDIT found no difference.
fn status(redis: &mut Connection, key: &str) -> Result<Value, String> {
    sale::audit(redis, key)?.check()?;
    sale::status(redis, key)
}

fn number(status: &Value, field: &str) -> u64 {
    status.pointer(field).and_then(Value::as_u64).unwrap_or_default()
}

/// Retries until it succeeds; returns the last error at the deadline.
fn until<T>(mut attempt: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(trouble) if Instant::now() > deadline => return Err(trouble),
            Err(_) => thread::sleep(POLL_EVERY),
        }
    }
}
