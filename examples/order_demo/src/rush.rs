//! A rush with holds, during which the writer is killed twice.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use redis::Connection;
use seckill_client::{Answer, Outcome, State};

use crate::compare::compare;
use crate::writer::pending;
use crate::{ask, number, status, until, Shop, POLL_EVERY};

const KEY: &str = "sale:rush";
const STREAM: &str = "sale:rush:orders";
const STOCK: u64 = 250;
const USERS: u64 = 800;
const BUYERS: usize = 16;
const HOLD_MS: u64 = 400;
/// Numbers of outbox entries at which the writer is killed.
const KILL_AT: [u64; 2] = [200, 600];
/// How often a buyer retries while others hold all remaining units.
const TRIES: u32 = 20;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// Runs the rush and compares.
///
/// # Errors
/// A message that says what failed or differs.
pub fn show(shop: &Shop, database: &mut Conn) -> Result<(), String> {
    let mut redis = shop.redis.connect()?;
    let terms = format!("{STOCK} HOLD {HOLD_MS} OUTBOX {STREAM}");
    ask::<()>(&mut redis, &format!("SECKILL.INIT {KEY} {terms}"))?;
    println!("1. {USERS} users, {STOCK} units, holds of {HOLD_MS} ms; orders go to MariaDB.");
    let (turn, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let mut buyers = Vec::new();
        for _ in 0..BUYERS {
            let connection = shop.redis.connect()?;
            buyers.push(scope.spawn(|| buy(connection, &turn, &stop)));
        }
        let killed = kill_writers(shop, &mut redis);
        // Ends the rush after an error.
        stop.store(killed.is_err(), Ordering::Relaxed);
        for buyer in buyers {
            buyer.join().map_err(|_| "A buyer failed.")??;
        }
        let last_writer = killed?;
        let equal = until(|| {
            let held = number(&status(&mut redis, KEY)?, "/held");
            if held > 0 || pending(&mut redis, STREAM)? > 0 {
                return Err(format!("{held} units are still held, or entries not acknowledged."));
            }
            compare(&mut redis, database, KEY)
        })?;
        drop(last_writer);
        let states = ["SOLD", "CANCELLED", "EXPIRED", "REFUNDED"];
        let shares = states.map(|state| format!("{} {state}", equal.count(state)));
        println!(
            "   MariaDB and SECKILL.WINNERS are equal: {} orders ({}) from {} entries.",
            equal.orders.len(),
            shares.join(", "),
            equal.entries
        );
        match states.into_iter().find(|state| equal.count(state) == 0) {
            Some(state) => Err(format!("No order ended {state}: the rush showed too little.")),
            None => Ok(()),
        }
    })
}

/// Kills the writer at these numbers of entries and starts another one each time. Returns the last
/// one.
fn kill_writers(shop: &Shop, redis: &mut Connection) -> Result<crate::Writer, String> {
    let mut writer = shop.writer(STREAM, "writer-1")?;
    for (i, moment) in KILL_AT.into_iter().enumerate() {
        until(|| match number(&status(redis, KEY)?, "/rev") {
            rev if rev >= moment => Ok(()),
            rev => Err(format!("The rush stopped at entry {rev}.")),
        })?;
        let left = writer.kill_at_work(redis)?;
        println!("   kill -9 of the writer; {left} entries were taken and not acknowledged.");
        writer = shop.writer(STREAM, &format!("writer-{}", i + 2))?;
    }
    Ok(writer)
}

/// One user after the other grabs and then settles the hold.
fn buy(mut redis: Connection, turn: &AtomicU64, stop: &AtomicBool) -> Result<(), String> {
    loop {
        let user = turn.fetch_add(1, Ordering::Relaxed);
        if user >= USERS || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let who = format!("{KEY} user-{user}");
        for _ in 0..TRIES {
            let told: Answer = ask(&mut redis, &format!("SECKILL.GRAB {who} REQ order-{user}"))?;
            match (told.outcome, told.held) {
                (Outcome::Granted, _) => {
                    settle(&mut redis, user, &who)?;
                    break;
                }
                (Outcome::SoldOut, Some(0)) => break,
                (Outcome::SoldOut, _) => thread::sleep(TRY_AGAIN_AFTER),
                _ => return Err(format!("An unexpected answer to GRAB: {told:?}.")),
            }
        }
    }
}

/// The user's number alone decides how the hold ends.
fn settle(redis: &mut Connection, user: u64, who: &str) -> Result<(), String> {
    let order = format!("{who} REQ order-{user}");
    let mut send = |line: String| ask::<Answer>(redis, &line).map(|told| told.state);
    match user % 10 {
        0..=2 => expect(State::Sold, send(format!("SECKILL.CONFIRM {order}"))?),
        3 => {
            expect(State::Held, send(format!("SECKILL.EXTEND {who} 5000 REQ order-{user}"))?)?;
            expect(State::Sold, send(format!("SECKILL.CONFIRM {order}"))?)
        }
        4 | 5 => expect(State::Cancelled, send(format!("SECKILL.CANCEL {order}"))?),
        6 => {
            expect(State::Sold, send(format!("SECKILL.CONFIRM {order}"))?)?;
            expect(State::Refunded, send(format!("SECKILL.REFUND {order}"))?)
        }
        // Pays too late: sold if a unit is free then, otherwise the money is returned.
        7 => {
            let late = Instant::now() + Duration::from_millis(HOLD_MS + 10);
            while Instant::now() < late {
                thread::sleep(POLL_EVERY);
            }
            let state = send(format!("SECKILL.CONFIRM {order} RECLAIM"))?;
            if state == Some(State::Sold) {
                Ok(())
            } else {
                expect(State::Expired, state)
            }
        }
        // Never pays.
        _ => Ok(()),
    }
}

/// On a slow machine a hold may expire before its buyer's next command.
fn expect(wanted: State, state: Option<State>) -> Result<(), String> {
    if state == Some(wanted) || state == Some(State::Expired) {
        return Ok(());
    }
    Err(format!("A grant is {state:?} instead of {wanted}."))
}
