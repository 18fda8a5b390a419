//! The entries of the outbox: events, in a form that a database can follow.

use smallvec::SmallVec;

use crate::codec::effect::Effect;
use crate::memory::bytes::put_decimal;
use crate::model::balances::Balances;
use crate::model::event::{Event, EventKind};
use crate::model::limits::PERMILLE_ALL;
use crate::model::outcome::GrantView;
use crate::plan::Plan;
use crate::request::terms::Terms;
use crate::Sale;

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
    /// The name of the stream that the entries of a plan are appended to.
    pub fn outbox_after<'s>(&'s self, plan: &'s Plan<'_>) -> Option<&'s [u8]> {
        let altered = plan.changes.iter().find_map(|change| match &change.effect {
            Effect::Alter(terms) => terms.outbox.as_deref(),
            _ => None,
        });
        altered.or(self.terms.outbox.as_deref())
    }

    /// The entries of a plan for this sale as it is: one for each event, in order. `key` is the
    /// sale's name at this moment.
    pub fn entries(&self, plan: &Plan<'_>, key: &[u8]) -> Vec<Entry> {
        let effect_of = |event: &Event| plan.changes.get(event.change).map(|change| &change.effect);
        let events = plan.events.iter().filter_map(|event| Some((event, effect_of(event)?)));
        events.map(|(event, effect)| self.entry(event, effect, key)).collect()
    }

    fn entry(&self, event: &Event, effect: &Effect<'_>, key: &[u8]) -> Entry {
        let Event { kind, balances, .. } = event;
        let mut entry = Entry::new();
        entry.bytes("event", kind.name().as_bytes());
        entry.bytes("sale", key);
        entry.bytes("id", &self.id_text());
        entry.number("epoch", balances.epoch);
        entry.number("rev", balances.rev);
        entry.number("t", balances.t);
        entry.number("supply", balances.supply);
        entry.number("available", balances.available);
        entry.number("held", balances.held);
        entry.number("sold", balances.sold);
        if let Some(grant) = &event.grant {
            self.put_grant(&mut entry, balances, effect, grant);
        }
        match (effect, kind) {
            (Effect::Restock { req, delta, applied }, EventKind::Restock) => {
                entry.signed("delta", *delta);
                entry.signed("applied", *applied);
                entry.bytes("req", req);
            }
            (Effect::Round { round, .. }, EventKind::Round) => entry.number("round", *round),
            (Effect::Init(start), EventKind::Init) => put_terms(&mut entry, &start.terms),
            (Effect::Alter(terms), EventKind::Alter) => {
                put_terms(&mut entry, &self.terms.altered(terms));
            }
            _ => {}
        }
        entry
    }

    fn put_grant(
        &self,
        entry: &mut Entry,
        balances: &Balances,
        effect: &Effect<'_>,
        view: &GrantView,
    ) {
        let (user, at, req, born) = match effect {
            Effect::Grant(new) => (new.user, balances.t, new.req.map(|req| req.id), balances.epoch),
            Effect::Import(new) => (new.user, new.at, Some(new.req), balances.epoch),
            _ => match self.stored_grant(view.seq) {
                Some(grant) => (grant.user, grant.at, grant.req_id(), grant.epoch),
                None => return,
            },
        };
        entry.number("seq", view.seq);
        entry.bytes("user", user);
        entry.number("qty", view.qty);
        entry.bytes("state", view.state.name().as_bytes());
        entry.number("at", at);
        entry.number("deadline", view.deadline);
        entry.bytes("req", req.unwrap_or_default());
        entry.number("born", born);
        entry.number("round", balances.round);
    }
}

fn put_terms(entry: &mut Entry, terms: &Terms) {
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
    use crate::request::{Amount, Grab, Init, Now, Request};
    use crate::rules::decide::decide_new;
    use crate::testing::init;

    #[test]
    fn a_grab_of_the_last_unit_is_two_entries() {
        let now = Now { clock_ms: 1000, run: 900 };
        let terms = Terms { hold_ms: 50, outbox: Some(b"s"[..].into()), ..Terms::default() };
        let init = Init { id: 0xab, ..init(1, terms) };
        let decision = decide_new(&init, &now);
        let plan = decision.plan.unwrap();
        let sale = plan.create([1, 2]).unwrap();
        assert_eq!(sale.entries(&plan, b"k").len(), 1);
        let grab = Grab { user: b"u", amount: Amount::Exactly(1), req: Some(b"r") };
        let decision = sale.decide(&Request::Grab(grab), &Now { clock_ms: 1001, run: 900 });
        let entries: Vec<String> = sale
            .entries(&decision.plan.unwrap(), b"k")
            .iter()
            .map(|entry| {
                let field = |(name, value)| format!("{name}={}", String::from_utf8_lossy(value));
                entry.fields().map(field).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(
            entries,
            [
                "event=GRANT sale=k id=00000000000000ab epoch=900 rev=2 t=1001 supply=1 \
                 available=0 held=1 sold=0 seq=1 user=u qty=1 state=HELD at=1001 deadline=1051 \
                 req=r born=900 round=0",
                "event=ALLHELD sale=k id=00000000000000ab epoch=900 rev=3 t=1001 supply=1 \
                 available=0 held=1 sold=0",
            ]
        );
    }
}
