//! The entries of the outbox: what happened, told so that a database can follow.

use smallvec::SmallVec;

use super::balances::Balances;
use super::bytes::put_decimal;
use super::effect::{Change, Effect};
use super::event::Event;
use super::limits::PERMILLE_ALL;
use super::outcome::Refused;
use super::terms::Terms;
use super::trial::{Moved, Trial, Witness};
use super::Sale;

/// Fields of the longest entry, that of a grant.
pub const FIELDS_INLINE: usize = 20;

/// Bytes that the values of nearly every entry need.
const VALUES_BYTES: usize = 256;

/// One entry: names and values, in order.
#[derive(Clone, Debug)]
pub struct Entry {
    names: SmallVec<[&'static str; FIELDS_INLINE]>,
    /// The values, one behind the other.
    values: Vec<u8>,
    /// Where each value ends.
    ends: SmallVec<[usize; FIELDS_INLINE]>,
}

impl Entry {
    /// Names and values in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(self.ends.iter().copied());
        self.names.iter().copied().zip(spans.map(|(start, end)| &self.values[start..end]))
    }

    fn new() -> Entry {
        let values = Vec::with_capacity(VALUES_BYTES);
        Entry { names: SmallVec::new(), values, ends: SmallVec::new() }
    }

    /// Adds a field whose value is what `write` appends.
    #[inline]
    fn field(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        self.names.push(name);
        write(&mut self.values);
        self.ends.push(self.values.len());
    }

    fn bytes(&mut self, name: &'static str, value: &[u8]) {
        self.field(name, |values| values.extend_from_slice(value));
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.field(name, |values| put_decimal(values, value));
    }

    fn signed(&mut self, name: &'static str, value: i64) {
        self.field(name, |values| {
            if value < 0 {
                values.push(b'-');
            }
            put_decimal(values, value.unsigned_abs());
        });
    }
}

impl Sale {
    /// The name of the stream that changes are written to, once `changes` are made.
    pub fn outbox_after<'s>(&'s self, changes: &'s [Change<'_>]) -> Option<&'s [u8]> {
        let altered = changes.iter().find_map(|change| match &change.effect {
            Effect::Alter(terms) => terms.outbox.as_deref(),
            _ => None,
        });
        altered.or(self.terms.outbox.as_deref())
    }

    /// The entries that `changes` will append. `key` is the sale's name at this moment.
    pub fn entries(&self, key: &[u8], changes: &[Change<'_>]) -> Result<Vec<Entry>, Refused> {
        let mut scribe = Scribe { sale: self, key, entries: Vec::new() };
        let mut trial = Trial::of(self);
        for change in changes {
            trial.step(self, change, changes.len() == 1, &mut scribe)?;
        }
        Ok(scribe.entries)
    }

    /// The entry of the INIT that made this sale.
    pub fn first_entries(&self, key: &[u8], init: &Change<'_>) -> Result<Vec<Entry>, Refused> {
        let mut scribe = Scribe { sale: self, key, entries: Vec::new() };
        Trial::of_new(init, &mut scribe)?;
        Ok(scribe.entries)
    }
}

/// Writes an entry for every event it sees.
struct Scribe<'s> {
    sale: &'s Sale,
    key: &'s [u8],
    entries: Vec<Entry>,
}

impl Witness for Scribe<'_> {
    fn see(
        &mut self,
        balances: &Balances,
        event: Event,
        change: &Change<'_>,
        moved: Option<Moved>,
    ) {
        let mut entry = Entry::new();
        entry.bytes("event", event.name().as_bytes());
        entry.bytes("sale", self.key);
        entry.bytes("id", &self.sale.id_text());
        entry.number("epoch", balances.epoch);
        entry.number("rev", balances.rev);
        entry.number("t", balances.t);
        entry.number("supply", balances.supply);
        entry.number("available", balances.available);
        entry.number("held", balances.held);
        entry.number("sold", balances.sold);
        if let Some(moved) = moved {
            self.tell_grant(&mut entry, balances, change, &moved);
        }
        match (&change.effect, event) {
            (Effect::Restock { req, delta, applied }, Event::Restock) => {
                entry.signed("delta", *delta);
                entry.signed("applied", *applied);
                entry.bytes("req", req);
            }
            (Effect::Round { round, .. }, Event::Round) => entry.number("round", *round),
            (Effect::Init(start), Event::Init) => tell_terms(&mut entry, &start.terms),
            (Effect::Alter(terms), Event::Alter) => {
                tell_terms(&mut entry, &self.sale.terms.altered(terms));
            }
            _ => {}
        }
        self.entries.push(entry);
    }
}

impl Scribe<'_> {
    fn tell_grant(
        &self,
        entry: &mut Entry,
        balances: &Balances,
        change: &Change<'_>,
        moved: &Moved,
    ) {
        let known = self.sale.stored_grant(moved.seq);
        let (user, qty, at, req, born) = match (&change.effect, &known) {
            (Effect::Grant(new), _) => {
                (new.user, new.qty, balances.t, new.req.map(|req| req.id), balances.epoch)
            }
            (Effect::Import(new), _) => (new.user, new.qty, new.at, Some(new.req), balances.epoch),
            (_, Some(grant)) => (grant.user, grant.qty, grant.at, grant.req_id(), grant.epoch),
            (_, None) => return,
        };
        entry.number("seq", moved.seq);
        entry.bytes("user", user);
        entry.number("qty", qty);
        entry.bytes("state", moved.state.name().as_bytes());
        entry.number("at", at);
        entry.number("deadline", moved.deadline);
        entry.bytes("req", req.unwrap_or_default());
        entry.number("born", born);
        entry.number("round", balances.round);
    }
}

fn tell_terms(entry: &mut Entry, terms: &Terms) {
    entry.number("limit", terms.limit);
    entry.number("grabs", terms.grabs);
    entry.number("hold_ms", terms.hold_ms);
    entry.number("open_at", terms.open_at);
    entry.number("close_at", terms.close_at);
    entry.bytes("outbox", terms.outbox.as_deref().unwrap_or_default());
    if let Some(draw) = &terms.draw {
        entry.bytes("draw", draw.text().as_bytes());
    }
    if let Some(schedule) = &terms.schedule {
        entry.number("every_ms", schedule.period_ms);
        entry.number("offset_ms", schedule.offset_ms);
        entry.number("lasts_ms", schedule.lasts_ms);
        entry.number("carry", schedule.carry.into());
    }
    let admission = &terms.admission;
    if !admission.is_open() {
        entry.number("allowlist", admission.allowlist.into());
        entry.number("mod", admission.modulo.as_ref().map_or(0, |modulo| modulo.modulus));
        let sample = admission.sample.as_ref();
        entry.number("sample", sample.map_or(PERMILLE_ALL, |sample| sample.permille));
        entry.number("admit", admission.admit);
        entry.number("mask", admission.mask.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::decide::decide_new;
    use crate::sale::request::{Amount, Grab, Init, Now, Request};
    use crate::sale::testing::init;

    #[test]
    fn a_grab_of_the_last_unit_is_two_entries() {
        let now = Now { clock_ms: 1000, run: 900 };
        let terms = Terms { hold_ms: 50, outbox: Some(b"s"[..].into()), ..Terms::default() };
        let init = Init { id: 0xab, ..init(1, terms) };
        let decision = decide_new(&init, &now);
        let (sale, _) = Sale::create(&decision.changes[0], [1, 2]).unwrap();
        assert_eq!(sale.first_entries(b"k", &decision.changes[0]).unwrap().len(), 1);
        let grab = Grab { user: b"u", amount: Amount::Exactly(1), req: Some(b"r") };
        let decision = sale.decide(&Request::Grab(grab), &Now { clock_ms: 1001, run: 900 });
        let told: Vec<String> = sale
            .entries(b"k", &decision.changes)
            .unwrap()
            .iter()
            .map(|entry| {
                let field = |(name, value)| format!("{name}={}", String::from_utf8_lossy(value));
                entry.fields().map(field).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(
            told,
            [
                "event=GRANT sale=k id=00000000000000ab epoch=901 rev=2 t=1001 supply=1 \
                 available=0 held=1 sold=0 seq=1 user=u qty=1 state=HELD at=1001 deadline=1051 \
                 req=r born=901 round=0",
                "event=ALLHELD sale=k id=00000000000000ab epoch=901 rev=3 t=1001 supply=1 \
                 available=0 held=1 sold=0",
            ]
        );
    }
}
