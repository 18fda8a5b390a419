//! Entries of the outbox: a sale's events in a form that a database can follow.
//!
//! An entry is small, because it is written, replicated and copied with every grant. It has the
//! event, the sale's name, one JSON object of numbers and constant words, and, if present, the
//! callers' raw strings. Every node writes the entry itself, from the change and from its own
//! state.

use core::ops::Range;

use crate::codec::effect::{Effect, Joining};
use crate::memory::put_number;
use crate::model::event::{Event, EventKind, Numbers};
use crate::model::limits::PERMILLE_ALL;
use crate::model::outcome::GrantView;
use crate::plan::Plan;
use crate::request::Terms;
use crate::waitlist::Waiter;
use crate::Sale;

/// One entry, without the name of its sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'e> {
    /// The event.
    pub event: EventKind,
    /// Numbers and words, as JSON.
    pub data: &'e [u8],
    /// The user.
    pub user: Option<&'e [u8]>,
    /// The request id of the grant, the restock or the waiter.
    pub req: Option<&'e [u8]>,
    /// The stream that the sale's terms name.
    pub outbox: Option<&'e [u8]>,
    /// The split's id, if the sale is a part.
    pub split: Option<&'e [u8]>,
}

/// Fields of an entry, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The event's word.
    Event,
    /// The key of the sale.
    Sale,
    /// Numbers and words, as JSON.
    Data,
    /// The user.
    User,
    /// The request id of the grant, the restock or the waiter.
    Req,
    /// The stream that the sale's terms name.
    Outbox,
    /// The split's id, if the sale is a part.
    Split,
}

/// Every field, in order.
pub const FIELDS: [Field; 7] =
    [Field::Event, Field::Sale, Field::Data, Field::User, Field::Req, Field::Outbox, Field::Split];

impl Field {
    /// Its name in the stream.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Event => "event",
            Field::Sale => "sale",
            Field::Data => "data",
            Field::User => "user",
            Field::Req => "req",
            Field::Outbox => "outbox",
            Field::Split => "split",
        }
    }
}

impl<'e> Entry<'e> {
    /// Names and values in order; `sale` is the current name of the sale.
    pub fn fields<'f>(&'f self, sale: &'f [u8]) -> impl Iterator<Item = (Field, &'f [u8])> {
        let Entry { event, data, user, req, outbox, split } = *self;
        let event = event.name().as_bytes();
        let values = [Some(event), Some(sale), Some(data), user, req, outbox, split];
        FIELDS.into_iter().zip(values).filter_map(|(field, value)| Some((field, value?)))
    }
}

/// Raw strings of an event's caller.
#[derive(Default)]
struct Raw<'e> {
    user: Option<&'e [u8]>,
    req: Option<&'e [u8]>,
    outbox: Option<&'e [u8]>,
    split: Option<&'e [u8]>,
}

impl Sale {
    /// The name of the stream for the entries of a plan; none if the sale has none.
    pub fn outbox_after<'s>(&'s self, plan: &'s Plan<'_>) -> Option<&'s [u8]> {
        if plan.events.is_empty() {
            return None;
        }
        let altered = plan.changes.iter().find_map(|change| match &change.effect {
            Effect::Alter(terms) => terms.outbox.as_deref(),
            _ => None,
        });
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
            data.extend_from_slice(br#"{"id":""#);
            data.extend_from_slice(&self.id_text());
            let epoch = put_number(data, r#"","epoch":"#, numbers.epoch);
            put_number(data, r#","rev":"#, numbers.rev);
            let t = put_number(data, r#","t":"#, numbers.t);
            put_number(data, r#","supply":"#, numbers.supply);
            put_number(data, r#","available":"#, numbers.available);
            put_number(data, r#","held":"#, numbers.held);
            put_number(data, r#","sold":"#, numbers.sold);
            let Raw { user, req, outbox, split } = match grant {
                Some(grant) => self.put_grant(data, [epoch, t], numbers, effect, grant),
                None => self.put_other(data, *kind, effect),
            };
            data.push(b'}');
            take(&Entry { event: *kind, data, user, req, outbox, split });
        }
    }

    /// Fields of an entry about a grant. `epoch` and `t` are the positions of the event's digits:
    /// the grant's own are mostly equal, and are copied then.
    fn put_grant<'e>(
        &'e self,
        data: &mut Vec<u8>,
        [epoch, t]: [Range<usize>; 2],
        numbers: &Numbers,
        effect: Option<&'e Effect<'_>>,
        view: &GrantView,
    ) -> Raw<'e> {
        let (user, at, req, born) = match effect {
            Some(Effect::Grant(new)) => {
                (new.user, numbers.t, new.req.map(|req| req.id), numbers.epoch)
            }
            Some(Effect::Import(new)) => (new.user, new.at, Some(new.req), numbers.epoch),
            Some(Effect::Offer { ticket, .. }) => match self.waiter_at(*ticket) {
                Some(waiter) => (waiter.user, numbers.t, Some(waiter.req), numbers.epoch),
                None => return Raw::default(),
            },
            _ => match self.stored_grant(view.seq) {
                Some(grant) => (grant.user, grant.at, grant.req_id(), grant.epoch),
                None => return Raw::default(),
            },
        };
        put_number(data, r#","seq":"#, view.seq);
        put_number(data, r#","qty":"#, view.qty);
        data.extend_from_slice(br#","state":""#);
        data.extend_from_slice(view.state.name().as_bytes());
        data.extend_from_slice(br#"","at":"#);
        if at == numbers.t {
            data.extend_from_within(t);
        } else {
            put_number(data, "", at);
        }
        if view.deadline != 0 {
            put_number(data, r#","deadline":"#, view.deadline);
        }
        if numbers.round != 0 {
            put_number(data, r#","round":"#, numbers.round);
        }
        data.extend_from_slice(br#","born":"#);
        if born == numbers.epoch {
            data.extend_from_within(epoch);
        } else {
            put_number(data, "", born);
        }
        if let Some(Effect::Offer { ticket, .. }) = effect {
            put_number(data, r#","ticket":"#, *ticket);
            put_some(
                data,
                r#","until":"#,
                self.waiter_at(*ticket).map_or(0, |waiter| waiter.until),
            );
        }
        Raw { user: Some(user), req, ..Raw::default() }
    }

    /// Fields of an entry about no grant.
    fn put_other<'e>(
        &'e self,
        data: &mut Vec<u8>,
        kind: EventKind,
        effect: Option<&'e Effect<'_>>,
    ) -> Raw<'e> {
        let Some(effect) = effect else { return Raw::default() };
        match (effect, kind) {
            (Effect::Restock { req, delta, applied }, EventKind::Restock) => {
                put_number(data, r#","delta":"#, *delta);
                put_number(data, r#","applied":"#, *applied);
                Raw { req: Some(req), ..Raw::default() }
            }
            (Effect::Round { round, .. }, EventKind::Round) => {
                put_number(data, r#","round":"#, *round);
                Raw::default()
            }
            (Effect::Wait(Joining { ticket, user, req, qty, until }), EventKind::Wait) => {
                let (ticket, qty, until) = (*ticket, *qty, *until);
                put_waiter(data, &Waiter { ticket, user, req, qty, at: 0, until }, None)
            }
            (Effect::Leave { ticket }, EventKind::Leave) => {
                self.put_waiter_at(data, self.waiter_at(*ticket), "cancelled")
            }
            (Effect::Import(import), EventKind::Leave) => {
                self.put_waiter_at(data, self.waiter_of(import.user, import.req), "imported")
            }
            (Effect::Drop { ticket, reason }, EventKind::Dropped) => {
                self.put_waiter_at(data, self.waiter_at(*ticket), reason.name())
            }
            (Effect::Init(start), EventKind::Init) => {
                put_terms(data, &start.terms);
                let (outbox, split) = (start.terms.outbox.as_deref(), split_id(&start.terms));
                Raw { outbox, split, ..Raw::default() }
            }
            (Effect::Alter(change), EventKind::Alter) => {
                put_terms(data, &self.terms.altered(change));
                let outbox = change.outbox.as_deref().or(self.terms.outbox.as_deref());
                Raw { outbox, split: split_id(&self.terms), ..Raw::default() }
            }
            (Effect::Send { to: peer, total, .. }, EventKind::Send)
            | (Effect::Receive { from: peer, total }, EventKind::Receive) => {
                put_number(data, r#","peer":"#, *peer);
                put_number(data, r#","total":"#, *total);
                Raw { split: split_id(&self.terms), ..Raw::default() }
            }
            _ => Raw::default(),
        }
    }
}

fn split_id(terms: &Terms) -> Option<&[u8]> {
    terms.split.as_ref().map(|split| &*split.id)
}

impl Sale {
    fn waiter_at(&self, ticket: u64) -> Option<Waiter<'_>> {
        self.waitlist().and_then(|list| list.get(ticket))
    }

    fn put_waiter_at<'e>(
        &'e self,
        data: &mut Vec<u8>,
        waiter: Option<Waiter<'e>>,
        reason: &'static str,
    ) -> Raw<'e> {
        waiter.map_or_else(Raw::default, |waiter| put_waiter(data, &waiter, Some(reason)))
    }
}

/// Fields of an entry about a waiter, with the reason if they left the list.
fn put_waiter<'e>(
    data: &mut Vec<u8>,
    waiter: &Waiter<'e>,
    reason: Option<&'static str>,
) -> Raw<'e> {
    put_number(data, r#","ticket":"#, waiter.ticket);
    put_number(data, r#","qty":"#, waiter.qty);
    put_some(data, r#","until":"#, waiter.until);
    if let Some(reason) = reason {
        put_word(data, r#","reason":""#, reason.as_bytes());
    }
    Raw { user: Some(waiter.user), req: Some(waiter.req), ..Raw::default() }
}

/// The terms that are set. SALT and the secret are never written.
fn put_terms(data: &mut Vec<u8>, terms: &Terms) {
    put_some(data, r#","limit":"#, terms.limit);
    put_some(data, r#","grabs":"#, terms.grabs);
    put_some(data, r#","hold_ms":"#, terms.hold_ms);
    put_some(data, r#","open_at":"#, terms.open_at);
    put_some(data, r#","close_at":"#, terms.close_at);
    if let Some(draw) = &terms.draw {
        put_word(data, r#","draw":""#, draw.text().as_bytes());
    }
    if let Some(schedule) = &terms.schedule {
        put_number(data, r#","every_ms":"#, schedule.period_ms);
        put_some(data, r#","offset_ms":"#, schedule.offset_ms);
        put_number(data, r#","lasts_ms":"#, schedule.lasts_ms);
        put_flag(data, r#","carry":"#, schedule.carry);
    }
    let admission = &terms.admission;
    put_flag(data, r#","allowlist":"#, admission.allowlist);
    put_some(data, r#","mod":"#, admission.modulo.as_ref().map_or(0, |modulo| modulo.modulus));
    if let Some(sample) = admission.sample.as_ref().filter(|it| it.permille != PERMILLE_ALL) {
        put_number(data, r#","sample":"#, sample.permille);
    }
    put_some(data, r#","admit":"#, admission.admit);
    put_flag(data, r#","mask":"#, admission.mask);
    if let Some(split) = &terms.split {
        put_number(data, r#","part":"#, split.part);
        put_number(data, r#","parts":"#, split.parts.get());
        put_number(data, r#","total":"#, split.total);
    }
    if let Some(list) = &terms.waitlist {
        put_some(data, r#","waitlist":"#, list.max);
        put_some(data, r#","offer_ms":"#, list.offer_ms);
        put_number(data, r#","overtake":"#, list.overtake);
    }
}

// Numbers, booleans and constant words, none of which needs escaping. The caller writes the comma
// and the field's name, which are constant there.

/// A number, left out if it is 0, which means none.
#[inline]
fn put_some(data: &mut Vec<u8>, name: &'static str, number: u64) {
    if number != 0 {
        put_number(data, name, number);
    }
}

/// A word. Its opening quote belongs to the text before it.
#[inline]
fn put_word(data: &mut Vec<u8>, name: &'static str, word: &[u8]) {
    debug_assert!(!word.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)));
    data.extend_from_slice(name.as_bytes());
    data.extend_from_slice(word);
    data.push(b'"');
}

/// True, or nothing if false.
fn put_flag(data: &mut Vec<u8>, name: &'static str, is_set: bool) {
    if is_set {
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(b"true");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::decide_new;
    use crate::request::{Amount, Grab, Init, Now, Request};
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
        let now = Now { clock_ms: 1000, run: 900 };
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
        let decision = sale.decide(&Request::Grab(grab), &Now { clock_ms: 1001, run: 900 });
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

    #[test]
    fn an_object_has_no_blanks_and_leaves_out_what_is_absent() {
        let mut data = Vec::new();
        put_number(&mut data, r#"{"a":"#, 0);
        put_some(&mut data, r#","b":"#, 0);
        put_some(&mut data, r#","c":"#, u64::MAX);
        put_number(&mut data, r#","d":"#, i64::MIN);
        put_word(&mut data, r#","e":""#, b"HELD");
        put_flag(&mut data, r#","f":"#, true);
        put_flag(&mut data, r#","g":"#, false);
        let wanted =
            r#"{"a":0,"c":18446744073709551615,"d":-9223372036854775808,"e":"HELD","f":true"#;
        assert_eq!(str::from_utf8(&data), Ok(wanted));
    }
}
