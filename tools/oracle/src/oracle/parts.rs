//! Parts of a split: which part a user belongs to, and how units move between parts.

use std::collections::BTreeMap;

use super::entries::number;
use super::{Ask, Moment, Op, Oracle, INTEGER_MAX, LEFT};

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
    put_in: i64,
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
            Op::Grab { user, .. } | Op::Join { user, .. } => !part.is_home(user),
            Op::Choose { user, .. } | Op::ImportUnits { user, .. } => !part.is_home(user),
            Op::KeepUnits { user, .. } => !part.is_home(user),
            Op::Settle { user, .. } | Op::Import { user, .. } => !part.is_home(user),
            Op::Enlist { users, .. } => users.iter().any(|user| !part.is_home(user)),
            _ => false,
        }
    }

    /// Counts the units of a GRAB that was not served.
    pub(super) fn count_unmet(&mut self, op: &Op, word: &str) {
        let (Op::Grab { ask, .. } | Op::Join { ask, .. }) = op else { return };
        let units = match ask {
            Ask::Qty(units) | Ask::UpTo(units) => *units,
            Ask::Unsaid => 1,
        };
        if self.rules.part.is_some() && matches!(word, "SOLDOUT" | "SHORT") {
            let unmet = self.refusals.entry(UNMET.into()).or_default();
            *unmet = INTEGER_MAX.min(*unmet + units);
        }
    }

    /// Counts supplied units: the share, and the sum of restocks.
    pub(super) fn put_in(&mut self, applied: i64) {
        self.moves.put_in += applied;
    }

    /// Whether so many more units can be supplied.
    pub(super) fn has_room_for(&self, delta: i64) -> bool {
        self.rules.part.is_none() || self.moves.put_in + delta <= INTEGER_MAX as i64
    }

    /// The refusal of a move between this sale and `peer`, if any.
    fn refused_split(&self, split: &str, peer: Option<u64>) -> Option<String> {
        let Some(part) = self.rules.part else { return Some("ERR no part".into()) };
        if part.split != split {
            return Some("ERR split".into());
        }
        let is_other = |peer: u64| peer < part.of && peer != part.number;
        (!peer.is_none_or(is_other)).then(|| "ERR peer".into())
    }

    pub(super) fn send(
        &mut self,
        split: &str,
        to: u64,
        total: u64,
        owed: bool,
        now: Moment,
    ) -> String {
        if let Some(refusal) = self.refused_split(split, Some(to)) {
            return refusal;
        }
        let (before, available) = (self.total(&self.moves.sent, to), self.available());
        let keeps = available == 0 || self.anybody_stands(self.time(now));
        if total < before || (total > before && keeps && !owed) {
            return format!("{before} {available}");
        }
        let wanted = total - before;
        let taken = wanted.min(available);
        let promised = if owed { wanted - taken } else { 0 };
        let sum: u64 = self.moves.sent.values().sum();
        if sum + taken + promised > INTEGER_MAX || self.deficit + promised > INTEGER_MAX {
            return "ERR moved".into();
        }
        self.change(now);
        let total = before + taken + promised;
        if total > before {
            self.moves.sent.insert(to, total);
            self.moves.elsewhere = INTEGER_MAX.min(self.moves.elsewhere + taken + promised);
            self.supply -= taken;
            self.deficit += promised;
            self.emit_move("SEND", to, total);
        }
        format!("{total} {LEFT}")
    }

    pub(super) fn receive(&mut self, split: &str, from: u64, total: u64, now: Moment) -> String {
        if let Some(refusal) = self.refused_split(split, Some(from)) {
            return refusal;
        }
        let before = self.total(&self.moves.received, from);
        if total > before {
            let units = total - before;
            let paid = units.min(self.deficit);
            let sum: u64 = self.moves.received.values().sum();
            if self.supply + (units - paid) > INTEGER_MAX || sum + units > INTEGER_MAX {
                return "ERR moved".into();
            }
            self.change(now);
            self.moves.received.insert(from, total);
            self.deficit -= paid;
            self.supply += units - paid;
            self.list.freed = true;
            self.emit_move("RECEIVE", from, total);
        }
        format!("{} {LEFT}", before.max(total))
    }

    pub(super) fn elsewhere(&mut self, split: &str, units: u64, pass: u64, now: Moment) -> String {
        if let Some(refusal) = self.refused_split(split, None) {
            return refusal;
        }
        let is_newer = pass > self.moves.pass;
        if is_newer || (pass == self.moves.pass && units > self.moves.elsewhere) {
            self.change(now);
            (self.moves.elsewhere, self.moves.pass) = (units, pass);
            self.list.freed = true;
            if self.rules.list.is_none() {
                self.notice_stock();
            }
        }
        format!("{} {}", self.moves.elsewhere, self.moves.pass)
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
        let numbers = [
            part.number,
            part.of,
            self.moves.sent.values().sum(),
            self.moves.received.values().sum(),
            self.moves.elsewhere,
            self.moves.pass,
            unmet,
        ];
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
