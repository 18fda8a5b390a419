//! Parts of a split: which part a user belongs to, and how units move between parts.

use std::collections::BTreeMap;

use super::buyer::Grab;
use super::entries::number;
use super::{Op, Oracle, Reply, INTEGER_MAX, LEFT};

/// Number of a part, and its split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub number: u64,
    pub of: u64,
    pub split: &'static str,
    pub total: u64,
}

/// Name under which refused units are counted. No reply has this word.
pub(super) const UNMET: &str = "units";

/// Units sent and received.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    /// Supplied units: the share, and the sum of restocks.
    pub put_in: i64,
    /// The last total that was sent to each part.
    sent: BTreeMap<u64, u64>,
    received: BTreeMap<u64, u64>,
    pub elsewhere: u64,
    pass: u64,
}

/// The CRC-32 of zlib, bit by bit.
fn crc_32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            1 => crc >> 1 ^ 0xedb8_8320,
            _ => crc >> 1,
        })
    });
    !crc
}

impl Part {
    /// Whether INIT accepts this part.
    pub(super) fn is_possible(&self) -> bool {
        self.number < self.of && self.of <= 1024 && (1..=64).contains(&self.split.len())
    }

    fn is_home(&self, user: &[u8]) -> bool {
        u64::from(crc_32(user)) % self.of == self.number
    }
}

impl Moves {
    /// The counters of a new sale, a part or not.
    pub(super) fn new(part: Option<Part>, supply: u64) -> Moves {
        let Some(part) = part else { return Moves::default() };
        let least = if part.of > 1 { 1 } else { 0 };
        let elsewhere = least.max(part.total - supply);
        Moves { put_in: supply as i64, elsewhere, ..Moves::default() }
    }
}

impl Oracle {
    /// Whether a command names a user of another part.
    pub(super) fn is_elsewhere(&self, op: &Op) -> bool {
        let Some(part) = self.rules.part else { return false };
        match op {
            Op::Enlist { users, .. } => users.iter().any(|user| !part.is_home(user)),
            _ => op.user().is_some_and(|user| !part.is_home(user)),
        }
    }

    /// Counts the units of a GRAB that was not served.
    pub(super) fn count_unmet(&mut self, grab: Grab<'_>, word: &str) {
        if self.rules.part.is_some() && matches!(word, "SOLDOUT" | "SHORT") {
            let unmet = self.refusals.entry(UNMET.into()).or_default();
            *unmet = INTEGER_MAX.min(*unmet + grab.ask.units());
        }
    }

    /// Fails if this sale does not move units of this split to or from `peer`.
    fn check_split(&self, split: &str, peer: Option<u64>) -> Result<(), String> {
        let is_other = |part: Part, peer: u64| peer < part.of && peer != part.number;
        match self.rules.part {
            None => Err("ERR no part".into()),
            Some(part) if part.split != split => Err("ERR split".into()),
            Some(part) if !peer.is_none_or(|peer| is_other(part, peer)) => Err("ERR peer".into()),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn send(&mut self, split: &str, to: u64, total: u64, owed: bool) -> Reply {
        self.check_split(split, Some(to))?;
        let (before, available) = (self.total(&self.moves.sent, to), self.available());
        let keeps = available == 0 || self.anybody_stands();
        if total < before || (total > before && keeps && !owed) {
            return Ok(format!("{before} {available}"));
        }
        let wanted = total - before;
        let taken = wanted.min(available);
        let promised = if owed { wanted - taken } else { 0 };
        let sum: u64 = self.moves.sent.values().sum();
        if sum + taken + promised > INTEGER_MAX || self.deficit + promised > INTEGER_MAX {
            return Err("ERR moved".into());
        }
        self.change();
        let total = before + taken + promised;
        if total > before {
            self.moves.sent.insert(to, total);
            self.moves.elsewhere = INTEGER_MAX.min(self.moves.elsewhere + taken + promised);
            self.supply -= taken;
            self.deficit += promised;
            self.emit_move("SEND", to, total);
        }
        Ok(format!("{total} {LEFT}"))
    }

    pub(super) fn receive(&mut self, split: &str, from: u64, total: u64) -> Reply {
        self.check_split(split, Some(from))?;
        let before = self.total(&self.moves.received, from);
        if total > before {
            let units = total - before;
            let paid = units.min(self.deficit);
            let sum: u64 = self.moves.received.values().sum();
            if self.supply + (units - paid) > INTEGER_MAX || sum + units > INTEGER_MAX {
                return Err("ERR moved".into());
            }
            self.change();
            self.moves.received.insert(from, total);
            self.deficit -= paid;
            self.supply += units - paid;
            self.list.freed = true;
            self.emit_move("RECEIVE", from, total);
        }
        Ok(format!("{} {LEFT}", before.max(total)))
    }

    pub(super) fn elsewhere(&mut self, split: &str, units: u64, pass: u64) -> Reply {
        self.check_split(split, None)?;
        let is_newer = pass > self.moves.pass;
        if is_newer || (pass == self.moves.pass && units > self.moves.elsewhere) {
            self.change();
            (self.moves.elsewhere, self.moves.pass) = (units, pass);
            self.list.freed = true;
            if self.rules.list.is_none() {
                self.notice_stock();
            }
        }
        Ok(format!("{} {}", self.moves.elsewhere, self.moves.pass))
    }

    fn total(&self, totals: &BTreeMap<u64, u64>, peer: u64) -> u64 {
        totals.get(&peer).copied().unwrap_or(0)
    }

    fn emit_move(&mut self, event: &'static str, peer: u64, total: u64) {
        let split = self.rules.part.map_or("", |part| part.split);
        let data = number("peer", peer) + &number("total", total);
        self.emit_with(event, data, format!(" split={}", split.as_bytes().escape_ascii()));
    }

    /// STATUS fields of a part; empty if the sale is no part.
    pub fn part_numbers(&self) -> Vec<i64> {
        let Some(part) = self.rules.part else { return Vec::new() };
        let unmet = self.refusals.get(UNMET).copied().unwrap_or(0);
        let Moves { sent, received, elsewhere, pass, .. } = &self.moves;
        let (sent, received) = (sent.values().sum(), received.values().sum());
        let numbers = [part.number, part.of, sent, received, *elsewhere, *pass, unmet];
        let numbers = numbers.map(|number| number as i64);
        [self.moves.put_in].into_iter().chain(numbers).collect()
    }

    /// Units that moved between this part and each other part: sent and received.
    pub fn pairs(&self) -> Vec<(u64, u64, u64)> {
        let peers = 0..self.rules.part.map_or(0, |part| part.of);
        let row = |peer| {
            (peer, self.total(&self.moves.sent, peer), self.total(&self.moves.received, peer))
        };
        peers.map(row).filter(|(_, sent, received)| *sent > 0 || *received > 0).collect()
    }

    /// Whether the part has its supplied units, minus the sent ones, plus the received ones.
    pub fn part_adds_up(&self) -> bool {
        let sum = |totals: &BTreeMap<u64, u64>| totals.values().sum::<u64>() as i64;
        let moved = sum(&self.moves.received) - sum(&self.moves.sent);
        self.rules.part.is_none()
            || self.supply as i64 - self.deficit as i64 == self.moves.put_in + moved
    }
}
