//! Rare situations that a long run must reach; a situation that no run reaches is untested.

use std::collections::BTreeMap;

use crate::history::{answers, Answer, Deed, Entry, Evidence, Op, Row, State};

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

/// A rare situation in an entry.
type Told = (&'static str, fn(&Seen<'_>) -> bool);

/// A rare situation in an answer.
type Heard = (&'static str, fn(&Op, &Answer) -> bool);

/// Situations in the outbox.
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

/// Situations in answers to clients.
const HEARD: [Heard; 8] = [
    ("sometimes: KEEP of what is not granted", |op, answer| {
        matches!((op.deed, answer), (Deed::Keep(..), Answer::Stands { seq: 0, .. }))
    }),
    ("sometimes: a GRAB comes behind its CANCEL", |op, answer| {
        op.deed == Deed::Grab && matches!(answer, Answer::Replay { seq: 0, .. })
    }),
    ("sometimes: a lost answer is told again", |op, answer| {
        op.tries.len() > 1 && matches!(answer, Answer::Replay { seq: 1.., .. })
    }),
    ("sometimes: ALREADY", |_, answer| matches!(answer, Answer::Already { .. })),
    ("sometimes: a sale refuses an MGRAB for all", |_, answer| *answer == Answer::Elsewhere),
    ("sometimes: a seat is taken", |_, answer| matches!(answer, Answer::Taken { .. })),
    ("sometimes: the list is full", |_, answer| *answer == Answer::Busy),
    ("sometimes: a round is over", |_, answer| *answer == Answer::NotOpen),
];

/// How often each situation was reached.
#[derive(Debug)]
pub struct Met(pub BTreeMap<&'static str, u64>);

impl Default for Met {
    fn default() -> Met {
        let told = TOLD.iter().map(|(name, _)| *name);
        Met(told.chain(HEARD.iter().map(|(name, _)| *name)).map(|name| (name, 0)).collect())
    }
}

impl Met {
    /// Counts the situations of one sale.
    pub fn note(&mut self, sale: &Evidence) {
        let mut grants: BTreeMap<u64, (&Entry, &Row)> = BTreeMap::new();
        let next = sale.entries.iter().skip(1).map(Some).chain([None]);
        for (entry, next) in sale.entries.iter().zip(next) {
            let Some(row) = &entry.grant else { continue };
            let known = grants.insert(row.seq, (entry, row));
            let (made, before) = known.map_or((entry, None), |(made, row)| (made, Some(row)));
            grants.insert(row.seq, (made, row));
            let seen = Seen { entry, row, before, made, next };
            for (name, is_met) in &TOLD {
                *self.0.entry(name).or_default() += u64::from(is_met(&seen));
            }
        }
        for op in &sale.ops {
            for (_, answered) in answers(op) {
                for (name, is_met) in &HEARD {
                    *self.0.entry(name).or_default() += u64::from(is_met(op, &answered.answer));
                }
            }
        }
    }
}
