//! Counts entries and answers. A long run must reach each rare situation (`sometimes`); a situation
//! that no run reaches is untested.

use std::collections::BTreeMap;

use crate::history::{answers, Answer, Deed, Entry, Evidence, Grant, Kind, Op, Row, State};

/// An entry about a grant, and the grant before it.
struct Seen<'a> {
    entry: &'a Entry,
    row: &'a Row,
    /// The grant before the entry; `None` for its first entry.
    before: Option<&'a Row>,
    /// The entry that changed the grant.
    made: &'a Entry,
    /// The first entry after that.
    next: Option<&'a Entry>,
}

impl Seen<'_> {
    fn is(&self, event: &str) -> bool {
        self.entry.event == event
    }

    /// Whether a part of the grant was returned before.
    fn is_trimmed(&self) -> bool {
        let first = self.made.grant.as_ref().map_or(0, |row| row.qty);
        self.before.is_some_and(|before| before.qty < first)
    }
}

/// A kind of entries: the sale, the entry before, and the entry.
type Counted = (&'static str, fn(&Evidence, &Entry, &Entry) -> bool);

/// A rare situation in an entry.
type Told = (&'static str, fn(&Seen<'_>) -> bool);

/// A rare situation in an answer.
type Heard = (&'static str, fn(&Op, &Answer) -> bool);

/// Each MGRAB makes two or three grants.
const COUNTED: [Counted; 8] = [
    ("grants by MGRAB, all or none", |_, _, entry| {
        entry.event == "GRANT" && entry.grant.as_ref().is_some_and(|row| row.req.starts_with('m'))
    }),
    ("amounts drawn", |sale, _, entry| {
        entry.event == "GRANT" && matches!(sale.terms.kind, Kind::Drawn(_))
    }),
    ("rounds begun", |_, _, entry| entry.event == "ROUND"),
    ("entries on a waiting list", |_, _, entry| entry.event == "WAIT"),
    ("offers to them", |_, _, entry| entry.event == "OFFER"),
    ("IMPORTs", |_, _, entry| entry.event == "IMPORT"),
    ("of them beyond the supply", |_, before, entry| {
        entry.event == "IMPORT" && entry.stock.supply > before.stock.supply
    }),
    ("ALTERs", |_, _, entry| entry.event == "ALTER"),
];

const TOLD: [Told; 14] = [
    ("sometimes: KEEP of a hold", |m| m.is("TRIM") && m.row.state == State::Held),
    ("sometimes: KEEP of what is sold", |m| m.is("TRIM") && m.row.state == State::Sold),
    ("sometimes: KEEP of what is paid", |m| m.is("CONFIRM") && m.entry.returned > 0),
    ("sometimes: KEEP once more, with less", |m| m.entry.returned > 0 && m.is_trimmed()),
    ("sometimes: KEEP of an offer", |m| m.entry.returned > 0 && m.made.event == "OFFER"),
    ("sometimes: KEEP serves who waits", |m| {
        m.entry.returned > 0 && m.next.is_some_and(|next| next.event == "OFFER")
    }),
    ("sometimes: KEEP by another primary than granted it", |m| {
        m.entry.returned > 0 && m.row.born != m.entry.epoch
    }),
    ("sometimes: a hold expires after KEEP", |m| m.is("EXPIRE") && m.is_trimmed()),
    ("sometimes: IMPORT after KEEP", |m| m.is("IMPORT") && m.is_trimmed()),
    ("sometimes: KEEP of seats", |m| m.entry.returned > 0 && !m.row.units.is_empty()),
    ("sometimes: KEEP of seats of an MGRAB", |m| {
        m.entry.returned > 0 && !m.row.units.is_empty() && m.row.req.starts_with('m')
    }),
    ("sometimes: RECLAIM gets its units", |m| m.is("RECLAIM")),
    ("sometimes: RECLAIM is refused for good", |m| m.is("RECLAIM-REFUSED")),
    ("sometimes: an offer expires and the next one gets it", |m| {
        m.is("EXPIRE") && m.next.is_some_and(|next| next.event == "OFFER")
    }),
];

const HEARD: [Heard; 8] = [
    ("sometimes: KEEP of what is not granted", |op, answer| {
        matches!((op.deed, answer), (Deed::Keep(..), Answer::Stands(Grant { seq: 0, .. })))
    }),
    ("sometimes: a GRAB comes behind its CANCEL", |op, answer| {
        op.deed == Deed::Grab && matches!(answer, Answer::Replay(Grant { seq: 0, .. }))
    }),
    ("sometimes: a lost answer is told again", |op, answer| {
        op.tries.len() > 1 && matches!(answer, Answer::Replay(Grant { seq: 1.., .. }))
    }),
    ("sometimes: ALREADY", |_, answer| matches!(answer, Answer::Already(_))),
    ("sometimes: a sale refuses an MGRAB for all", |_, answer| *answer == Answer::Elsewhere),
    ("sometimes: a seat is taken", |_, answer| matches!(answer, Answer::Taken { .. })),
    ("sometimes: the list is full", |_, answer| *answer == Answer::Busy),
    ("sometimes: a round is over", |_, answer| *answer == Answer::NotOpen),
];

/// All names, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let told = COUNTED.iter().map(|(name, _)| *name).chain(TOLD.iter().map(|(name, _)| *name));
    told.chain(HEARD.iter().map(|(name, _)| *name))
}

#[derive(Debug, Default)]
pub struct Met(BTreeMap<&'static str, u64>);

impl Met {
    pub fn times(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    fn count(&mut self, name: &'static str, is_met: bool) {
        *self.0.entry(name).or_default() += u64::from(is_met);
    }

    pub fn note(&mut self, sale: &Evidence) {
        for (before, entry) in sale.entries.iter().zip(sale.entries.iter().skip(1)) {
            COUNTED.iter().for_each(|(name, is_met)| self.count(name, is_met(sale, before, entry)));
        }
        let mut grants: BTreeMap<u64, (&Entry, &Row)> = BTreeMap::new();
        let next = sale.entries.iter().skip(1).map(Some).chain([None]);
        for (entry, next) in sale.entries.iter().zip(next) {
            let Some(row) = &entry.grant else { continue };
            let known = grants.get(&row.seq).copied();
            let (made, before) = known.map_or((entry, None), |(made, row)| (made, Some(row)));
            grants.insert(row.seq, (made, row));
            let seen = Seen { entry, row, before, made, next };
            TOLD.iter().for_each(|(name, is_met)| self.count(name, is_met(&seen)));
        }
        for op in &sale.ops {
            for (_, answered) in answers(op) {
                let answer = &answered.answer;
                HEARD.iter().for_each(|(name, is_met)| self.count(name, is_met(op, answer)));
            }
        }
    }
}
