//! Redis loses the last second of changes and is repaired from the database.
//!
//! SIGKILL of Redis alone loses no answered change: the operating system still writes the bytes to
//! disk. A power cut loses all bytes after the last fsync: up to one second with everysec. So this
//! kills Redis and truncates its AOF to the length of one second before.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use mysql::Conn;
use redis::Connection;

use crate::compare::{compare, lost, Equal};
use crate::writer::pending;
use crate::{ask, number, status, until, Shop};

/// The first to act after the restart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// Buyers, before anybody notices the loss.
    Buyers,
    /// The operator, who pauses the sale until the repair is done.
    Operator,
}

impl First {
    fn key(self) -> &'static str {
        match self {
            First::Buyers => "sale:loss",
            First::Operator => "sale:paused",
        }
    }

    fn stream(self) -> String {
        format!("{}:orders", self.key())
    }
}

/// Shows the loss and the repair. Returns the shop with the restarted server.
///
/// # Errors
/// A message that says what failed or differs.
pub fn show(shop: Shop, database: &mut Conn, first: First) -> Result<Shop, String> {
    let mut redis = shop.redis.connect()?;
    let mut writer = shop.writer(&first.stream(), "writer-1")?;
    before(&mut redis, first)?;
    caught_up(&mut redis, database, first)?;
    let (log, length) = log_file(&mut redis)?;
    let promised = last_second(&mut redis, first)?;
    caught_up(&mut redis, database, first)?;
    let id = sale_id(&mut redis, first)?;

    writer.freeze()?;
    shop.redis.kill();
    let cut = OpenOptions::new().write(true).open(&log).and_then(|file| file.set_len(length));
    cut.map_err(|e| format!("The log file can't be cut: {e}"))?;
    let shop = Shop { redis: shop.redis.restart()?, database: shop.database };
    let mut redis = shop.redis.connect()?;
    tell_loss(&mut redis, first)?;

    come_first(&mut redis, first)?;
    writer.thaw()?;
    let equal = until(|| {
        let equal = compare(&mut redis, database, first.key())?;
        kept(&equal, &promised)?;
        Ok(equal)
    })?;
    tell_repair(&mut redis, database, first, (&id, &equal))?;
    afterwards(&mut redis, first)?;
    caught_up(&mut redis, database, first)?;
    all_sold(&mut redis, first)?;
    Ok(shop)
}

/// The state on disk: 60 grants, 40 of them paid.
fn before(redis: &mut Connection, first: First) -> Result<(), String> {
    let (key, stream) = (first.key(), first.stream());
    ask::<()>(redis, &format!("SECKILL.INIT {key} 110 HOLD 60000 OUTBOX {stream}"))?;
    (1..=60).try_for_each(|user| one(redis, first, "GRAB", user, "GRANTED"))?;
    (1..=40).try_for_each(|user| one(redis, first, "CONFIRM", user, "SOLD"))?;
    let part = if first == First::Buyers { 2 } else { 3 };
    println!("{part}. 60 of 110 units are granted, 40 of them paid; all of it is on the disk.");
    Ok(())
}

/// Makes changes that Redis will lose and only the database has. Returns the orders that Redis must
/// have again, with the states that their buyers know.
fn last_second(
    redis: &mut Connection,
    first: First,
) -> Result<BTreeMap<String, &'static str>, String> {
    (61..=90).try_for_each(|user| one(redis, first, "GRAB", user, "GRANTED"))?;
    let mut promised = BTreeMap::new();
    let steps = [
        (41..=50, "CONFIRM", "SOLD"),
        (61..=80, "CONFIRM", "SOLD"),
        (51..=55, "CANCEL", "CANCELLED"),
        (1..=3, "REFUND", "REFUNDED"),
    ];
    for (users, verb, state) in steps {
        for user in users {
            one(redis, first, verb, user, state)?;
            promised.insert(format!("order-{user}"), state);
        }
    }
    // Redis loses the hold and its cancel; neither needs a repair.
    (86..=90).try_for_each(|user| one(redis, first, "CANCEL", user, "CANCELLED"))?;
    println!(
        "   In the next second 30 pay, 10 cancel, 3 are refunded, 5 hold; MariaDB has it all."
    );
    Ok(promised)
}

/// Sends one command for a user's order and checks the first word of the reply.
fn one(
    redis: &mut Connection,
    first: First,
    verb: &str,
    user: u64,
    wanted: &str,
) -> Result<(), String> {
    let line = format!("SECKILL.{verb} {} user-{user} REQ order-{user}", first.key());
    let reply: Vec<redis::Value> = ask(redis, &line)?;
    let word = reply.first().map(redis::from_redis_value_ref::<String>).and_then(Result::ok);
    match word {
        Some(word) if word == wanted => Ok(()),
        _ => Err(format!("{line} was answered {reply:?} instead of {wanted}.")),
    }
}

/// Waits until the writer has written and acknowledged all entries.
fn caught_up(redis: &mut Connection, database: &mut Conn, first: First) -> Result<(), String> {
    until(|| {
        compare(redis, database, first.key())?;
        match pending(redis, &first.stream())? {
            0 => Ok(()),
            left => Err(format!("{left} entries are not acknowledged.")),
        }
    })
}

/// The growing file of the AOF, and its length when no writes are pending.
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

fn sale_id(redis: &mut Connection, first: First) -> Result<String, String> {
    let status = status(redis, first.key())?;
    let id = status.get("id").and_then(|id| id.as_str());
    id.map(str::to_owned).ok_or_else(|| "STATUS has no id.".into())
}

fn tell_loss(redis: &mut Connection, first: First) -> Result<(), String> {
    let status = status(redis, first.key())?;
    let [grants, sold] = ["/grants", "/sold"].map(|field| number(&status, field));
    println!("   kill -9 of Redis, the last second is lost: {grants} grants, {sold} of them paid.");
    if (grants, sold) != (60, 40) {
        return Err("Redis did not lose exactly what was cut off.".into());
    }
    Ok(())
}

/// Checks that Redis has every order with a result that its buyer knows, under any number.
fn kept(equal: &Equal, promised: &BTreeMap<String, &'static str>) -> Result<(), String> {
    for (req, state) in promised {
        let found = equal.orders.iter().find(|order| order.req == *req);
        if found.is_none_or(|order| order.state != *state) {
            return Err(format!("{req} was {state}, and Redis has {found:?}."));
        }
    }
    Ok(())
}

fn tell_repair(
    redis: &mut Connection,
    database: &mut Conn,
    first: First,
    (id, equal): (&str, &Equal),
) -> Result<(), String> {
    let status = status(redis, first.key())?;
    let [imported, deficit] =
        ["/counters/imported", "/deficit"].map(|field| number(&status, field));
    let closed = lost(database, id, "CLOSED")?;
    println!(
        "   The writer saw the new epoch: {imported} orders imported, {closed} holds closed, 5 \
         cancelled and 3 refunded again.\n   AUDIT ok, and {} orders are equal, row by row. \
         Deficit {deficit}: so many units were promised twice.",
        equal.orders.len()
    );
    // 50 units were left and 8 came back. 20 restored orders and the 45 new buyers needed units.
    let expected = if first == First::Buyers { (30, 5, 7) } else { (30, 5, 0) };
    if (imported, closed, deficit) != expected {
        return Err(format!("It should be imported, closed and deficit {expected:?}."));
    }
    Ok(())
}

/// Calls before the writer sees the new epoch.
fn come_first(redis: &mut Connection, first: First) -> Result<(), String> {
    match first {
        First::Buyers => {
            buy(redis, first, 101..=145)?;
            println!("   45 new buyers came at once and got seq 61 to 105, used before.");
        }
        First::Operator => {
            ask::<()>(redis, &format!("SECKILL.PAUSE {}", first.key()))?;
            one(redis, first, "GRAB", 101, "PAUSED")?;
            println!("   The operator said PAUSE before anybody could buy.");
        }
    }
    Ok(())
}

/// The sale works normally again.
fn afterwards(redis: &mut Connection, first: First) -> Result<(), String> {
    (56..=60).try_for_each(|user| one(redis, first, "CONFIRM", user, "SOLD"))?;
    one(redis, first, "CONFIRM", 81, "NOGRANT")?;
    match first {
        First::Buyers => {
            let restock = format!("SECKILL.RESTOCK {} 7 REQ truck-1", first.key());
            ask::<Vec<i64>>(redis, &restock).map(drop)
        }
        First::Operator => {
            ask::<()>(redis, &format!("SECKILL.RESUME {}", first.key()))?;
            buy(redis, first, 101..=138)
        }
    }
}

fn buy(redis: &mut Connection, first: First, mut users: RangeInclusive<u64>) -> Result<(), String> {
    users.try_for_each(|user| {
        one(redis, first, "GRAB", user, "GRANTED")?;
        one(redis, first, "CONFIRM", user, "SOLD")
    })
}

fn all_sold(redis: &mut Connection, first: First) -> Result<(), String> {
    let status = status(redis, first.key())?;
    let [supply, sold, deficit] =
        ["/supply", "/sold", "/deficit"].map(|field| number(&status, field));
    let (expected, how) = match first {
        First::Buyers => (117, "7 units were added for the deficit"),
        First::Operator => (110, "RESUME, and 38 more came"),
    };
    if (supply, sold, deficit) != (expected, expected, 0) {
        return Err(format!("At the end {sold} of {supply} are sold, the deficit is {deficit}."));
    }
    println!("   {how}, the last holds were paid: all {supply} units are sold.");
    Ok(())
}
