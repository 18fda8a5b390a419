//! Entries of the outbox: a sale's events in a form that a database can follow.
//!
//! An entry is small, because it is written, replicated and copied with every grant. An entry has
//! the event, the sale's name, one JSON object of numbers and constant words, and the callers' raw
//! strings, if present. Every node writes the entry itself, from the change and from its own state.

use core::ops::Range;

use crate::effect::Act;
use crate::entry::{put_some, Raw, Subject};
use crate::fields;
use crate::memory::put_number;
use crate::model::event::{Event, EventKind, Numbers};
use crate::model::outcome::GrantView;
use crate::plan::Plan;
use crate::Sale;

pub use crate::entry::Entry;
pub use crate::fields::{DataKey, EntryVersion, Field, Kind, Of, DATA, FIELDS};

impl Sale {
    /// The name of the stream for the entries of a plan; none if the sale has none.
    pub fn outbox_after<'s>(&'s self, plan: &'s Plan<'_>) -> Option<&'s [u8]> {
        if plan.events.is_empty() {
            return None;
        }
        let altered = plan.changes.iter().find_map(|change| change.effect.outbox());
        altered.or(self.terms.outbox.as_deref())
    }

    /// Calls `take` with the entries of `plan`, which is for this sale in its current state: one
    /// for each event, in order. `data` is their buffer.
    pub fn each_entry(
        &self,
        plan: &Plan<'_>,
        data: &mut Vec<u8>,
        mut take: impl FnMut(&Entry<'_>),
    ) {
        for Event { kind, change, numbers, grant } in &plan.events {
            let effect = plan.changes.get(*change).map(|change| &change.effect);
            data.clear();
            data.extend_from_slice(fields::ID.first.as_bytes());
            data.extend_from_slice(&self.id_text());
            let epoch = put_number(data, fields::EPOCH.behind_word, numbers.epoch);
            put_number(data, fields::REV.number, numbers.rev);
            let t = put_number(data, fields::T.number, numbers.t);
            put_number(data, fields::SUPPLY.number, numbers.supply);
            put_number(data, fields::AVAILABLE.number, numbers.available);
            put_number(data, fields::HELD.number, numbers.held);
            put_number(data, fields::SOLD.number, numbers.sold);
            let about = grant.as_ref().zip(effect);
            let subject = about.and_then(|(view, effect)| {
                let subject = effect.subject(self, view.seq, numbers)?;
                put_grant(data, [epoch, t], numbers, view, &subject);
                Some(subject)
            });
            // A transition of the stock follows from the effect, but has no fields of it.
            let own = effect.filter(|_| !kind.is_transition());
            let raw = own.map(|effect| effect.put(self, *kind, data)).unwrap_or_default();
            if !self.is_plain() {
                put_units(data, self, plan, *kind, grant.as_ref());
            }
            let Raw { outbox, split, .. } = raw;
            let user = subject.as_ref().map_or(raw.user, |subject| Some(subject.user));
            let req = subject.as_ref().map_or(raw.req, |subject| subject.req);
            data.push(b'}');
            take(&Entry { event: *kind, data, user, req, outbox, split });
        }
    }
}

/// The numbers of the units that a grant has after an event, or had last, if units have numbers. A
/// hold expires with those that it had before the step: an IMPORT behind it may take others.
#[cold]
fn put_units(
    data: &mut Vec<u8>,
    sale: &Sale,
    plan: &Plan<'_>,
    kind: EventKind,
    grant: Option<&GrantView>,
) {
    let Some(seq) = grant.map(|grant| grant.seq) else { return };
    let is_before = kind == EventKind::Expire && sale.stored_grant(seq).is_some();
    let Some(units) = sale.units_after(Some(plan).filter(|_| !is_before), seq) else { return };
    for (i, unit) in units.iter().enumerate() {
        put_number(data, if i == 0 { fields::UNITS.list } else { "," }, *unit);
    }
    data.push(b']');
}

/// Fields of an entry about a grant. `epoch` and `t` are the positions of the event's digits in
/// `data`. The grant's own epoch and time are mostly equal and are then copied from there.
fn put_grant(
    data: &mut Vec<u8>,
    [epoch, t]: [Range<usize>; 2],
    numbers: &Numbers,
    view: &GrantView,
    subject: &Subject<'_>,
) {
    put_number(data, fields::SEQ.number, view.seq);
    put_number(data, fields::QTY.number, view.qty);
    data.extend_from_slice(fields::STATE.word.as_bytes());
    data.extend_from_slice(view.state.name().as_bytes());
    data.extend_from_slice(fields::AT.behind_word.as_bytes());
    if subject.at == numbers.t {
        data.extend_from_within(t);
    } else {
        put_number(data, "", subject.at);
    }
    put_some(data, fields::DEADLINE, view.deadline);
    put_some(data, fields::ROUND, numbers.round);
    data.extend_from_slice(fields::BORN.number.as_bytes());
    if subject.born == numbers.epoch {
        data.extend_from_within(epoch);
    } else {
        put_number(data, "", subject.born);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::decide_new;
    use crate::request::{Amount, Grab, Init, Now, Request, Terms};
    use crate::testing::init;

    /// Entries as redis-cli shows them.
    fn entries(sale: &Sale, plan: &Plan<'_>) -> Vec<String> {
        let mut data = Vec::new();
        let mut lines = Vec::new();
        sale.each_entry(plan, &mut data, |entry| {
            let text = |(field, value): (Field, &[u8])| {
                format!("{}={}", field.name(), value.escape_ascii())
            };
            let line = entry.fields(b"k").map(text).collect::<Vec<_>>().join(" ");
            lines.push(line.replace(r#"\""#, "'"));
        });
        lines
    }

    #[test]
    fn a_grab_of_the_last_unit_is_two_entries() {
        let now = Now { clock_ms: 1000, node_epoch: 900 };
        let terms = Terms { hold_ms: 50, outbox: Some(b"s"[..].into()), ..Terms::default() };
        let init = Init { id: 0xab, ..init(1, terms) };
        let (plan, sale) = decide_new(&init, &now, [1, 2]).unwrap();
        let head = "sale=k data={'id':'00000000000000ab','epoch':900";
        assert_eq!(
            entries(&sale, &plan),
            [format!(
                "event=INIT {head},'rev':1,'t':1000,'supply':1,'available':1,'held':0,'sold':0,\
                 'limit':1,'hold_ms':50}} outbox=s"
            )]
        );
        let grab = Grab { user: b"u", amount: Amount::Exactly(1), req: Some(b"r\0\xff") };
        let decision =
            sale.decide(&Request::Grab(grab), &Now { clock_ms: 1001, node_epoch: 900 }).unwrap();
        let numbers = "'t':1001,'supply':1,'available':0,'held':1,'sold':0";
        assert_eq!(
            entries(&sale, &decision.plan.unwrap()),
            [
                format!(
                    "event=GRANT {head},'rev':2,{numbers},'seq':1,'qty':1,'state':'HELD',\
                     'at':1001,'deadline':1051,'born':900}} user=u req=r\\x00\\xff"
                ),
                format!("event=ALLHELD {head},'rev':3,{numbers}}}"),
            ]
        );
    }
}
