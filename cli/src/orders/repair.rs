//! Restores in Redis the orders that the database has and Redis lost.
//!
//! All commands are idempotent, so they are repeated until the outbox confirms them. No state is
//! kept, so a second crash in the middle does no harm.

use std::collections::BTreeSet;

use redis::{cmd, pipe, Cmd, Connection, RedisError, ToRedisArgs};

use super::database::{bytes, Database, Value};
use super::units;
use crate::connect::Failure;
use crate::print::tell;

/// Lost orders of a stream's sales that still matter:
/// - a paid order, until a later entry of that order is SOLD or REFUNDED;
/// - an order whose grant Redis kept, but whose last change it lost. (EXPIRED comes again by
///   itself.)
const STILL_LOST: &str =
    "SELECT s.name, o.born, o.seq, o.user_id, o.qty, o.asked, o.state, o.at, o.deadline, o.req,
    o.units
    FROM @orders AS o JOIN @sales AS s ON s.id = o.id
    WHERE s.stream = :stream AND o.lost = TRUE AND (
    (o.state = 'SOLD' AND NOT EXISTS (SELECT 1 FROM @orders AS n
        WHERE n.id = o.id AND n.user_id = o.user_id AND n.req = o.req
        AND n.state IN ('SOLD', 'REFUNDED') AND (n.epoch, n.rev) > (o.epoch, o.rev)))
    OR (o.state IN ('HELD', 'CANCELLED', 'REFUNDED') AND EXISTS (SELECT 1 FROM @kept AS k
        WHERE k.id = o.id AND k.born = o.born AND k.seq = o.seq)))";

/// A lost order, and the sale it belongs to.
struct Lost {
    sale: Vec<u8>,
    born: u64,
    seq: u64,
    user: Vec<u8>,
    qty: u64,
    /// The units granted at first; fewer are left if a part was given back.
    asked: u64,
    state: Vec<u8>,
    at: u64,
    deadline: u64,
    req: Vec<u8>,
    /// The order's numbers, in a numbered sale.
    units: Vec<u64>,
}

/// Messages already printed about orders that can't be repaired.
#[derive(Default)]
pub struct Told(BTreeSet<String>);

impl Told {
    fn tell(&mut self, sentence: String) {
        if self.0.insert(sentence.clone()) {
            tell!("{sentence}");
        }
    }
}

/// Repairs all lost orders of the stream's sales. Returns the number of orders touched.
///
/// # Errors
/// An error message if the database or Redis can't be reached. A command that Redis refuses is only
/// reported, and tried again in the next repair.
pub fn all(
    redis: &mut Connection,
    database: &mut dyn Database,
    stream: &[u8],
    told: &mut Told,
) -> Result<u64, Failure> {
    let asked = STILL_LOST.replace(":stream", &(database.dialect().place)(1));
    let rows = database.rows(&asked, &[bytes(stream)])?;
    if rows.is_empty() {
        return Ok(0);
    }
    let clock_ms = clock_ms(redis)?;
    let mut done = 0;
    for order in rows.into_iter().filter_map(Lost::of_row) {
        for step in order.again(clock_ms, told) {
            done += u64::from(send(redis, &step, &order, told)?);
        }
    }
    Ok(done)
}

impl Lost {
    fn of_row(row: Vec<Value>) -> Option<Lost> {
        let [sale, born, seq, user, qty, asked, state, at, deadline, req, units] =
            <[Value; 11]>::try_from(row).ok()?;
        Some(Lost {
            sale: sale.into_bytes(),
            born: born.number(),
            seq: seq.number(),
            user: user.into_bytes(),
            qty: qty.number(),
            asked: asked.number(),
            state: state.into_bytes(),
            at: at.number(),
            deadline: deadline.number(),
            req: req.into_bytes(),
            units: units::of_text(&units.into_bytes()),
        })
    }

    /// The steps that restore the order in Redis. The commands of a step run in one transaction.
    /// After the first one alone the outbox would show more units than the order kept.
    fn again(&self, clock_ms: u64, told: &mut Told) -> Vec<Vec<Cmd>> {
        match self.state.as_slice() {
            b"SOLD" if self.req.is_empty() => {
                // Without a REQ Redis can't tell whether it has the order under another seq.
                let order = format!("order {}-{}", self.born, self.seq);
                told.tell(format!("{order} was paid, is lost and has no REQ"));
                Vec::new()
            }
            b"SOLD" => {
                let mut import = self.command("SECKILL.IMPORT");
                // Numbered units that were given back may belong to another order by now.
                let qty = if self.is_numbered() { self.qty } else { self.asked };
                import.arg(qty).arg("REQ").arg(&self.req).arg("AT").arg(self.at);
                self.name_units(&mut import);
                let trim = || self.keep("SECKILL.REFUND", "REQ", &self.req);
                vec![[import].into_iter().chain(self.is_trimmed().then(trim)).collect()]
            }
            b"HELD" => match self.deadline.saturating_sub(clock_ms) {
                // The hold expires at its older deadline, and the outbox will have that entry.
                0 => Vec::new(),
                rest => {
                    let mut extend = self.command("SECKILL.EXTEND");
                    extend.arg(rest).arg("SEQ").arg(self.seq);
                    let trim = || self.keep("SECKILL.CANCEL", "SEQ", self.seq);
                    vec![self.is_trimmed().then(trim).into_iter().chain([extend]).collect()]
                }
            },
            // For Redis the grant is HELD if it lost the payment too, otherwise SOLD. CANCEL ends a
            // held grant, REFUND a sold one; the other command changes nothing.
            _ => ["SECKILL.CANCEL", "SECKILL.REFUND"]
                .map(|name| {
                    let mut give_back = self.command(name);
                    give_back.arg("SEQ").arg(self.seq);
                    vec![give_back]
                })
                .into(),
        }
    }

    fn is_trimmed(&self) -> bool {
        self.qty < self.asked
    }

    /// The command that leaves the grant as many units as the order has in the database.
    fn keep(&self, name: &str, which: &str, value: impl ToRedisArgs) -> Cmd {
        let mut keep = self.command(name);
        keep.arg(which).arg(value).arg("KEEP");
        match self.is_numbered() {
            true => self.name_units(&mut keep),
            false => drop(keep.arg(self.qty)),
        }
        keep
    }

    fn is_numbered(&self) -> bool {
        !self.units.is_empty()
    }

    /// Adds the order's unit numbers, in a numbered sale.
    fn name_units(&self, command: &mut Cmd) {
        if self.is_numbered() {
            command.arg("UNITS").arg(&self.units);
        }
    }

    fn command(&self, name: &str) -> Cmd {
        let mut command = cmd(name);
        command.arg(&self.sale).arg(&self.user);
        command
    }
}

/// Sends a step, and returns whether Redis executed it.
fn send(
    redis: &mut Connection,
    step: &[Cmd],
    order: &Lost,
    told: &mut Told,
) -> Result<bool, Failure> {
    let reply: Result<redis::Value, RedisError> = match step {
        [one] => one.query(redis),
        several => {
            let mut transaction = pipe();
            transaction.atomic();
            for command in several {
                transaction.add_command(command.clone());
            }
            transaction.query(redis)
        }
    };
    match reply {
        Ok(_) => Ok(true),
        Err(e) if e.is_io_error() => Err(Failure::of_redis(e)),
        Err(e) => {
            told.tell(format!("order {}-{} can't be repaired now: {e}", order.born, order.seq));
            Ok(false)
        }
    }
}

/// The server's clock in Unix ms: deadlines refer to it.
fn clock_ms(redis: &mut Connection) -> Result<u64, Failure> {
    let time: Result<(u64, u64), RedisError> = cmd("TIME").query(redis);
    time.map(|(seconds, micros)| seconds * 1_000 + micros / 1_000).map_err(Failure::of_redis)
}
