//! Redis loses its last second, and is repaired from the database.
//!
//! kill -9 of Redis alone loses nothing that was answered: the operating system has it and writes
//! it out. What a power cut takes is what came after the last fsync, up to a second with everysec.
//! So Redis is killed, and its log file is cut to the length it had before that second.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use mysql::Conn;
use redis::Connection;

use crate::compare::{compare, lost, Equal};
use crate::writer::pending;
use crate::{ask, number, status, until, Shop};

const KEY: &str = "sale:loss";
const STREAM: &str = "sale:loss:orders";
const TERMS: &str = "110 HOLD 60000 OUTBOX sale:loss:orders";

/// Shows the loss and the repair.
///
/// # Errors
/// What went wrong or differs, as a sentence.
pub fn show(shop: Shop, database: &mut Conn) -> Result<(), String> {
    let mut redis = shop.redis.connect()?;
    let mut writer = shop.writer(STREAM, "writer-1")?;
    before(&mut redis)?;
    caught_up(&mut redis, database)?;
    let (log, length) = log_file(&mut redis)?;
    let promised = last_second(&mut redis)?;
    caught_up(&mut redis, database)?;
    let id = sale_id(&mut redis)?;

    writer.freeze()?;
    shop.redis.kill();
    let cut = OpenOptions::new().write(true).open(&log).and_then(|file| file.set_len(length));
    cut.map_err(|e| format!("The log file can't be cut: {e}"))?;
    let Shop { redis: server, database: _running } = shop;
    let server = server.restart()?;
    let mut redis = server.connect()?;
    tell_loss(&mut redis)?;

    // These come before anybody knows of the loss, and get the same seqs again.
    for user in 101..=145 {
        one(&mut redis, "GRAB", user, "GRANTED")?;
        one(&mut redis, "CONFIRM", user, "SOLD")?;
    }
    println!("   45 new buyers came at once and got seq 61 to 105: numbers that were used before.");
    writer.thaw()?;
    let equal = until(|| {
        let equal = compare(&mut redis, database, KEY)?;
        kept(&equal, &promised)?;
        Ok(equal)
    })?;
    tell_repair(&mut redis, database, &id, &equal)?;
    let done = afterwards(&mut redis, database);
    // First the writer, or it would complain that the servers are gone.
    drop(writer);
    done
}

/// What the disk has: 60 grants, 40 of them paid.
fn before(redis: &mut Connection) -> Result<(), String> {
    ask::<()>(redis, &format!("SECKILL.INIT {KEY} {TERMS}"))?;
    (1..=60).try_for_each(|user| one(redis, "GRAB", user, "GRANTED"))?;
    (1..=40).try_for_each(|user| one(redis, "CONFIRM", user, "SOLD"))?;
    println!("2. 60 of 110 units are granted, 40 of them paid; all of it is on the disk.");
    Ok(())
}

/// What only the database will know. Gives the orders whose buyers were told how they ended, and
/// that Redis must know again.
fn last_second(redis: &mut Connection) -> Result<BTreeMap<String, &'static str>, String> {
    (61..=90).try_for_each(|user| one(redis, "GRAB", user, "GRANTED"))?;
    let mut promised = BTreeMap::new();
    let steps = [
        (41..=50, "CONFIRM", "SOLD"),
        (61..=80, "CONFIRM", "SOLD"),
        (51..=55, "CANCEL", "CANCELLED"),
        (1..=3, "REFUND", "REFUNDED"),
    ];
    for (users, verb, state) in steps {
        for user in users {
            one(redis, verb, user, state)?;
            promised.insert(format!("order-{user}"), state);
        }
    }
    // Redis will know neither the hold nor its end, and need not.
    (86..=90).try_for_each(|user| one(redis, "CANCEL", user, "CANCELLED"))?;
    println!(
        "   In the next second 30 pay, 10 cancel, 3 are refunded, 5 hold; MariaDB has it all."
    );
    Ok(promised)
}

/// Sends one command for one user's order and looks at the first word of the reply.
fn one(redis: &mut Connection, verb: &str, user: u64, wanted: &str) -> Result<(), String> {
    let line = format!("SECKILL.{verb} {KEY} user-{user} REQ order-{user}");
    let reply: Vec<redis::Value> = ask(redis, &line)?;
    let word = reply.first().map(redis::from_redis_value_ref::<String>).and_then(Result::ok);
    match word {
        Some(word) if word == wanted => Ok(()),
        _ => Err(format!("{line} was answered {reply:?} instead of {wanted}.")),
    }
}

/// Waits until the writer has written and acknowledged everything.
fn caught_up(redis: &mut Connection, database: &mut Conn) -> Result<(), String> {
    until(|| {
        compare(redis, database, KEY)?;
        match pending(redis, STREAM)? {
            0 => Ok(()),
            left => Err(format!("{left} entries are not acknowledged.")),
        }
    })
}

/// The part of the append-only file that grows, and its length when nothing waits to be written.
fn log_file(redis: &mut Connection) -> Result<(PathBuf, u64), String> {
    until(|| {
        let info: String = ask(redis, "INFO persistence")?;
        match info.lines().any(|line| line == "aof_buffer_length:0") {
            true => Ok(()),
            false => Err("Redis does not write out its log.".into()),
        }
    })?;
    let setting = |redis: &mut Connection, name: &str| -> Result<PathBuf, String> {
        let pair: Vec<String> = ask(redis, &format!("CONFIG GET {name}"))?;
        pair.into_iter().nth(1).map(PathBuf::from).ok_or_else(|| format!("There is no {name}."))
    };
    let folder = setting(redis, "dir")?.join(setting(redis, "appenddirname")?);
    let failed = |e: std::io::Error| format!("The log file can't be read: {e}");
    for file in fs::read_dir(folder).map_err(failed)? {
        let path = file.map_err(failed)?.path();
        if path.to_string_lossy().ends_with(".incr.aof") {
            let length = fs::metadata(&path).map_err(failed)?.len();
            return Ok((path, length));
        }
    }
    Err("There is no log file.".into())
}

fn sale_id(redis: &mut Connection) -> Result<String, String> {
    let status = status(redis, KEY)?;
    let id = status.get("id").and_then(|id| id.as_str());
    id.map(str::to_owned).ok_or_else(|| "STATUS has no id.".into())
}

fn tell_loss(redis: &mut Connection) -> Result<(), String> {
    let status = status(redis, KEY)?;
    let [grants, sold] = ["/grants", "/sold"].map(|field| number(&status, field));
    println!("   kill -9 of Redis, the last second is lost: {grants} grants, {sold} of them paid.");
    if (grants, sold) != (60, 40) {
        return Err("Redis did not lose exactly what was cut off.".into());
    }
    Ok(())
}

/// Every order whose end its buyer was told is in Redis, with that end, whatever its number is now.
fn kept(equal: &Equal, promised: &BTreeMap<String, &'static str>) -> Result<(), String> {
    for (req, state) in promised {
        let found = equal.orders.iter().find(|order| order.req == *req);
        if !found.is_some_and(|order| order.state == *state) {
            return Err(format!("{req} was {state}, and Redis has {found:?}."));
        }
    }
    Ok(())
}

fn tell_repair(
    redis: &mut Connection,
    database: &mut Conn,
    id: &str,
    equal: &Equal,
) -> Result<(), String> {
    let status = status(redis, KEY)?;
    let [imported, deficit] =
        ["/counters/imported", "/deficit"].map(|field| number(&status, field));
    let closed = lost(database, id, "CLOSED")?;
    println!(
        "   The writer saw the new epoch: {imported} orders imported, {closed} holds closed, 5 \
         cancelled and 3 refunded again.\n   AUDIT ok, and {} orders are equal, row by row; \
         deficit {deficit}: so many were sold twice.",
        equal.orders.len()
    );
    // 60 were left over, of which 45 were sold anew and 8 came back; 20 unknown ones needed a unit.
    if (imported, closed, deficit) != (30, 5, 7) {
        return Err("That should be 30 imported, 5 closed, and a deficit of 7.".into());
    }
    Ok(())
}

/// The sale goes on as if nothing had happened.
fn afterwards(redis: &mut Connection, database: &mut Conn) -> Result<(), String> {
    (56..=60).try_for_each(|user| one(redis, "CONFIRM", user, "SOLD"))?;
    one(redis, "CONFIRM", 81, "NOGRANT")?;
    ask::<Vec<i64>>(redis, &format!("SECKILL.RESTOCK {KEY} 7 REQ truck-1"))?;
    caught_up(redis, database)?;
    let status = status(redis, KEY)?;
    let [supply, sold, deficit] =
        ["/supply", "/sold", "/deficit"].map(|field| number(&status, field));
    if (supply, sold, deficit) != (117, 117, 0) {
        return Err(format!("At the end {sold} of {supply} are sold, the deficit is {deficit}."));
    }
    println!("   7 units were added for the deficit, the last holds were paid: all 117 are sold.");
    Ok(())
}
