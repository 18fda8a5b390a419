//! Restores in Redis the orders that the database has and Redis lost.
//!
//! All commands are idempotent, so they are repeated until the outbox confirms them. No state is
//! kept, so a second crash in the middle does no harm.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use redis::{cmd, pipe, Cmd, Connection, RedisError, ToRedisArgs, Value as Reply};

use super::database::{bytes, Database, Value};
use super::numbers::Numbers;
use super::units;
use crate::connect::Failure;
use crate::print::tell;

/// Lost orders of a stream's sales that still matter:
/// - a paid order, until its REQ is SOLD or REFUNDED later, or a RECLAIM by it was refused: then
///   that money was refunded;
/// - an order whose grant Redis kept, but whose last change it lost. (EXPIRED comes again by
///   itself.)
const STILL_LOST: &str =
    "SELECT s.name, o.id, o.born, o.seq, o.user_id, o.qty, o.asked, o.state, o.at, o.deadline,
    o.req, o.units
    FROM @orders AS o JOIN @sales AS s ON s.id = o.id
    WHERE s.stream = :stream AND o.lost = TRUE AND (
    (o.state = 'SOLD' AND NOT EXISTS (SELECT 1 FROM @orders AS n
        WHERE n.id = o.id AND n.user_id = o.user_id AND n.req = o.req
        AND (n.epoch, n.rev) > (o.epoch, o.rev) AND (n.state IN ('SOLD', 'REFUNDED')
            OR EXISTS (SELECT 1 FROM @kept AS r WHERE r.id = n.id AND r.born = n.born
                AND r.seq = n.seq AND r.event = 'RECLAIM-REFUSED'))))
    OR (o.state IN ('HELD', 'CANCELLED', 'REFUNDED') AND EXISTS (SELECT 1 FROM @kept AS k
        WHERE k.id = o.id AND k.born = o.born AND k.seq = o.seq)))";

/// A lost order, and the sale it belongs to.
struct Lost {
    /// The name of the sale's key, and the sale itself: another one may have the name by now.
    sale: Vec<u8>,
    id: String,
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

/// Repairs all lost orders of the stream's sales, and counts them.
///
/// # Errors
/// An error message if the database or Redis can't be reached. A command that Redis refuses is only
/// reported, and tried again in the next repair.
pub fn all(
    redis: &mut Connection,
    database: &mut dyn Database,
    stream: &[u8],
    told: &mut Told,
    numbers: &Numbers,
) -> Result<(), Failure> {
    let asked = STILL_LOST.replace(":stream", &(database.dialect().place)(1));
    let rows = database.rows(&asked, &[bytes(stream)])?;
    let lost: Vec<Lost> = rows.into_iter().filter_map(Lost::of_row).collect();
    let paid = lost.iter().filter(|order| order.state == b"SOLD").count();
    numbers.lost.store(paid as u64, Ordering::Relaxed);
    if lost.is_empty() {
        return Ok(());
    }
    let clock_ms = clock_ms(redis)?;
    let mut there = BTreeMap::new();
    for order in lost {
        numbers.step();
        if !there.contains_key(&order.id) {
            there.insert(order.id.clone(), is_there(redis, &order, told)?);
        }
        if there.get(&order.id) != Some(&true) {
            continue;
        }
        for step in order.again(clock_ms, told) {
            let done = send(redis, &step, &order, told)?;
            numbers.repaired.fetch_add(u64::from(done), Ordering::Relaxed);
        }
    }
    Ok(())
}

impl Lost {
    fn of_row(row: Vec<Value>) -> Option<Lost> {
        let [sale, id, born, seq, user, qty, asked, state, at, deadline, req, units] =
            <[Value; 12]>::try_from(row).ok()?;
        Some(Lost {
            sale: sale.into_bytes(),
            id: String::from_utf8(id.into_bytes()).ok()?,
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
            // held grant, REFUND a sold one; the other command changes nothing. If the order was
            // never paid, only a payment that came since can have made the grant SOLD.
            state => ["SECKILL.CANCEL", "SECKILL.REFUND"]
                .into_iter()
                .take(1 + usize::from(state == b"REFUNDED"))
                .map(|name| {
                    let mut give_back = self.command(name);
                    give_back.arg("SEQ").arg(self.seq);
                    vec![give_back]
                })
                .collect(),
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

/// Whether the order's sale is the one at its key: the next show of a hall has the same names.
///
/// # Errors
/// If Redis can't be reached.
fn is_there(redis: &mut Connection, order: &Lost, told: &mut Told) -> Result<bool, Failure> {
    let status: Result<Vec<u8>, RedisError> =
        cmd("SECKILL.STATUS").arg(&order.sale).arg("JSON").query(redis);
    let is_it = match &status {
        Ok(json) => Ok(id_of(json).as_deref() == Some(&order.id)),
        Err(e) if e.is_io_error() => return Err(Failure::of_redis(e.clone())),
        Err(e) => Err(e.to_string()),
    };
    let (id, name) = (&order.id, String::from_utf8_lossy(&order.sale));
    let why = match is_it {
        Ok(true) => return Ok(true),
        Ok(false) => format!("{name} is another sale now"),
        Err(e) => format!("{name}: {e}"),
    };
    told.tell(format!("lost orders of sale {id} are not repaired: {why}"));
    Ok(false)
}

/// The id in the status of a sale.
fn id_of(json: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Status {
        id: String,
    }
    serde_json::from_slice(json).ok().map(|Status { id }| id)
}

/// Sends a step, and returns whether Redis has the order now as the database has it.
fn send(
    redis: &mut Connection,
    step: &[Cmd],
    order: &Lost,
    told: &mut Told,
) -> Result<bool, Failure> {
    let reply: Result<Reply, RedisError> = match step {
        [one] => one.query(redis),
        several => {
            let mut transaction = pipe();
            transaction.atomic();
            for command in several {
                transaction.add_command(command.clone());
            }
            let replies: Result<Vec<Reply>, RedisError> = transaction.query(redis);
            replies.map(|replies| replies.into_iter().next().unwrap_or(Reply::Nil))
        }
    };
    let Lost { id, born, seq, .. } = order;
    match reply {
        Ok(reply) => match outcome(&reply) {
            (b"TAKEN", unit) => {
                let unit = unit.unwrap_or_default();
                told.tell(format!(
                    "order {born}-{seq} of sale {id} was paid and is lost, and its unit {unit} is \
                     somebody else's by now: two people have been promised it"
                ));
                Ok(false)
            }
            (word, _) => Ok(DONE.contains(&word)),
        },
        Err(e) if e.is_io_error() => Err(Failure::of_redis(e)),
        Err(e) => {
            told.tell(format!("order {born}-{seq} can't be repaired now: {e}"));
            Ok(false)
        }
    }
}

/// The first words of replies to a step that has restored an order.
const DONE: [&[u8]; 5] = [b"GRANTED", b"REPLAY", b"HELD", b"CANCELLED", b"REFUNDED"];

/// The first word of a reply, and the number behind it.
fn outcome(reply: &Reply) -> (&[u8], Option<i64>) {
    let Reply::Array(all) = reply else { return (b"", None) };
    match all.as_slice() {
        [Reply::BulkString(word), Reply::Int(number), ..] => (word, Some(*number)),
        [Reply::BulkString(word), ..] => (word, None),
        _ => (b"", None),
    }
}

/// The server's clock in Unix ms: deadlines refer to it.
fn clock_ms(redis: &mut Connection) -> Result<u64, Failure> {
    let time: Result<(u64, u64), RedisError> = cmd("TIME").query(redis);
    time.map(|(seconds, micros)| seconds * 1_000 + micros / 1_000).map_err(Failure::of_redis)
}

#[cfg(test)]
mod tests {
    use super::{id_of, outcome, Lost, Reply, Told, DONE};

    fn lost(state: &str) -> Lost {
        Lost {
            sale: b"drop".to_vec(),
            id: "00ab".into(),
            born: 9,
            seq: 3,
            user: b"u".to_vec(),
            qty: 1,
            asked: 1,
            state: state.into(),
            at: 8,
            deadline: 0,
            req: b"r".to_vec(),
            units: Vec::new(),
        }
    }

    fn steps(state: &str) -> Vec<String> {
        let steps = lost(state).again(10, &mut Told::default());
        let text = |step: &Vec<redis::Cmd>| {
            String::from_utf8_lossy(&step[0].get_packed_command()).into_owned()
        };
        steps.iter().map(text).collect()
    }

    /// A payment that came after the loss is not refunded because of a CANCEL before it.
    #[test]
    fn only_what_was_refunded_is_refunded_again() {
        let cancelled = steps("CANCELLED");
        assert!(cancelled.len() == 1 && cancelled[0].contains("CANCEL"), "{cancelled:?}");
        let refunded = steps("REFUNDED");
        assert!(refunded.len() == 2 && refunded[1].contains("REFUND"), "{refunded:?}");
    }

    #[test]
    fn a_refusal_is_no_repair() {
        let reply = |word: &str, number| {
            Reply::Array(vec![Reply::BulkString(word.into()), Reply::Int(number)])
        };
        assert_eq!(outcome(&reply("TAKEN", 8)), (&b"TAKEN"[..], Some(8)));
        for (word, is_done) in [("GRANTED", true), ("NOGRANT", false), ("SOLD", false)] {
            assert_eq!(DONE.contains(&outcome(&reply(word, 1)).0), is_done, "{word}");
        }
    }

    #[test]
    fn the_id_is_read_from_a_status() {
        assert_eq!(id_of(br#"{"state":"open","id":"00ab"}"#).as_deref(), Some("00ab"));
        assert_eq!(id_of(b"{}"), None);
    }
}
