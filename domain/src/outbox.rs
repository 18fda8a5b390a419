//! The entries of the outbox: events, in a form that a database can follow.
//!
//! An entry is narrow, because it is written, logged and copied with every grant: the event, the
//! sale's name, one JSON object of numbers and words of ours, and raw what users chose, each only
//! where there is one. Every node writes it itself, from the change and from its own state.

use crate::codec::effect::{Effect, Waiting};
use crate::codec::json::Object;
use crate::model::event::{Event, EventKind, Numbers};
use crate::model::limits::PERMILLE_ALL;
use crate::model::outcome::GrantView;
use crate::plan::Plan;
use crate::request::terms::Terms;
use crate::waitlist::Waiter;
use crate::Sale;

/// One entry, but for the name of its sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'e> {
    /// What happened.
    pub event: EventKind,
    /// Numbers and words, as JSON.
    pub data: &'e [u8],
    /// Whom it is about.
    pub user: Option<&'e [u8]>,
    /// The request id of the grant or of the restock.
    pub req: Option<&'e [u8]>,
    /// The stream that the sale's terms name.
    pub outbox: Option<&'e [u8]>,
    /// The id of the split, of which the sale is a part.
    pub split: Option<&'e [u8]>,
}

/// Names of fields, in the order in which they stand in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// What happened, a word.
    Event,
    /// The key of the sale.
    Sale,
    /// Numbers and words, as JSON.
    Data,
    /// Whom it is about.
    User,
    /// The request id of the grant or of the restock.
    Req,
    /// The stream that the sale's terms name.
    Outbox,
    /// The id of the split, of which the sale is a part.
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
    /// Names and values in order; `sale` is the sale's name at this moment.
    pub fn fields<'f>(&'f self, sale: &'f [u8]) -> impl Iterator<Item = (Field, &'f [u8])> {
        let Entry { event, data, user, req, outbox, split } = *self;
        let event = event.name().as_bytes();
        let values = [Some(event), Some(sale), Some(data), user, req, outbox, split];
        FIELDS.into_iter().zip(values).filter_map(|(field, value)| Some((field, value?)))
    }
}

/// What users chose and an event is about.
#[derive(Default)]
struct Raw<'e> {
    user: Option<&'e [u8]>,
    req: Option<&'e [u8]>,
    outbox: Option<&'e [u8]>,
    split: Option<&'e [u8]>,
}

impl Sale {
    /// The name of the stream that the entries of a plan are appended to; none where there are
    /// none.
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

    /// Shows `take` the entries of `plan`, which is for this sale as it is: one for each event, in
    /// order. `data` is where they are written, one after the other.
    pub fn each_entry(
        &self,
        plan: &Plan<'_>,
        data: &mut Vec<u8>,
        mut take: impl FnMut(&Entry<'_>),
    ) {
        plan.events.iter().for_each(|event| take(&self.entry(plan, event, data)));
    }

    fn entry<'e>(&'e self, plan: &'e Plan<'_>, event: &Event, data: &'e mut Vec<u8>) -> Entry<'e> {
        let effect = plan.changes.get(event.change).map(|change| &change.effect);
        let Event { kind, numbers, .. } = event;
        data.clear();
        let mut object = Object::begin(data);
        object.word(r#""id":""#, &self.id_text());
        object.number(r#","epoch":"#, numbers.epoch);
        object.number(r#","rev":"#, numbers.rev);
        object.number(r#","t":"#, numbers.t);
        object.number(r#","supply":"#, numbers.supply);
        object.number(r#","available":"#, numbers.available);
        object.number(r#","held":"#, numbers.held);
        object.number(r#","sold":"#, numbers.sold);
        let raw = match &event.grant {
            Some(grant) => self.put_grant(&mut object, numbers, effect, grant),
            None => self.put_other(&mut object, *kind, effect),
        };
        object.end();
        let Raw { user, req, outbox, split } = raw;
        Entry { event: *kind, data, user, req, outbox, split }
    }

    fn put_grant<'e>(
        &'e self,
        object: &mut Object<'_>,
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
        object.number(r#","seq":"#, view.seq);
        object.number(r#","qty":"#, view.qty);
        object.word(r#","state":""#, view.state.name().as_bytes());
        object.number(r#","at":"#, at);
        object.some(r#","deadline":"#, view.deadline);
        object.some(r#","round":"#, numbers.round);
        object.number(r#","born":"#, born);
        if let Some(Effect::Offer { ticket, .. }) = effect {
            object.number(r#","ticket":"#, *ticket);
            object.some(r#","until":"#, self.waiter_at(*ticket).map_or(0, |waiter| waiter.until));
        }
        Raw { user: Some(user), req, ..Raw::default() }
    }

    /// What an entry has of an event that is about no grant.
    fn put_other<'e>(
        &'e self,
        object: &mut Object<'_>,
        kind: EventKind,
        effect: Option<&'e Effect<'_>>,
    ) -> Raw<'e> {
        let Some(effect) = effect else { return Raw::default() };
        match (effect, kind) {
            (Effect::Restock { req, delta, applied }, EventKind::Restock) => {
                object.signed(r#","delta":"#, *delta);
                object.signed(r#","applied":"#, *applied);
                Raw { req: Some(req), ..Raw::default() }
            }
            (Effect::Round { round, .. }, EventKind::Round) => {
                object.number(r#","round":"#, *round);
                Raw::default()
            }
            (Effect::Wait(Waiting { ticket, user, req, qty, until }), EventKind::Wait) => {
                let (ticket, qty, until) = (*ticket, *qty, *until);
                put_waiter(object, &Waiter { ticket, user, req, qty, at: 0, until }, None)
            }
            (Effect::Leave { ticket }, EventKind::Leave) => {
                self.put_waiter_at(object, self.waiter_at(*ticket), "cancelled")
            }
            (Effect::Import(import), EventKind::Leave) => {
                self.put_waiter_at(object, self.waiter_of(import.user, import.req), "imported")
            }
            (Effect::Drop { ticket, reason }, EventKind::Dropped) => {
                self.put_waiter_at(object, self.waiter_at(*ticket), reason.name())
            }
            (Effect::Init(start), EventKind::Init) => {
                put_terms(object, &start.terms);
                let (outbox, split) = (start.terms.outbox.as_deref(), split_id(&start.terms));
                Raw { outbox, split, ..Raw::default() }
            }
            (Effect::Alter(change), EventKind::Alter) => {
                put_terms(object, &self.terms.altered(change));
                let outbox = change.outbox.as_deref().or(self.terms.outbox.as_deref());
                Raw { outbox, split: split_id(&self.terms), ..Raw::default() }
            }
            (Effect::Send { to: peer, total, .. }, EventKind::Send)
            | (Effect::Receive { from: peer, total }, EventKind::Receive) => {
                object.number(r#","peer":"#, (*peer).into());
                object.number(r#","total":"#, *total);
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
        object: &mut Object<'_>,
        waiter: Option<Waiter<'e>>,
        reason: &'static str,
    ) -> Raw<'e> {
        waiter.map_or_else(Raw::default, |waiter| put_waiter(object, &waiter, Some(reason)))
    }
}

/// What an entry has of one who waits, and why they do so no more.
fn put_waiter<'e>(
    object: &mut Object<'_>,
    waiter: &Waiter<'e>,
    reason: Option<&'static str>,
) -> Raw<'e> {
    object.number(r#","ticket":"#, waiter.ticket);
    object.number(r#","qty":"#, waiter.qty);
    object.some(r#","until":"#, waiter.until);
    if let Some(reason) = reason {
        object.word(r#","reason":""#, reason.as_bytes());
    }
    Raw { user: Some(waiter.user), req: Some(waiter.req), ..Raw::default() }
}

/// The terms; what there is none of is left out. SALT and the secret are never there.
fn put_terms(object: &mut Object<'_>, terms: &Terms) {
    object.some(r#","limit":"#, terms.limit);
    object.some(r#","grabs":"#, terms.grabs);
    object.some(r#","hold_ms":"#, terms.hold_ms);
    object.some(r#","open_at":"#, terms.open_at);
    object.some(r#","close_at":"#, terms.close_at);
    if let Some(draw) = &terms.draw {
        object.word(r#","draw":""#, draw.text().as_bytes());
    }
    if let Some(schedule) = &terms.schedule {
        object.number(r#","every_ms":"#, schedule.period_ms);
        object.some(r#","offset_ms":"#, schedule.offset_ms);
        object.number(r#","lasts_ms":"#, schedule.lasts_ms);
        object.flag(r#","carry":"#, schedule.carry);
    }
    let admission = &terms.admission;
    object.flag(r#","allowlist":"#, admission.allowlist);
    object.some(r#","mod":"#, admission.modulo.as_ref().map_or(0, |modulo| modulo.modulus));
    if let Some(sample) = admission.sample.as_ref().filter(|it| it.permille != PERMILLE_ALL) {
        object.number(r#","sample":"#, sample.permille);
    }
    object.some(r#","admit":"#, admission.admit);
    object.flag(r#","mask":"#, admission.mask);
    if let Some(split) = &terms.split {
        object.number(r#","part":"#, split.part.into());
        object.number(r#","parts":"#, split.parts.get().into());
        object.number(r#","total":"#, split.total);
    }
    if let Some(list) = &terms.waitlist {
        object.some(r#","waitlist":"#, list.max);
        object.some(r#","offer_ms":"#, list.offer_ms);
        object.number(r#","overtake":"#, list.overtake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Amount, Grab, Init, Now, Request};
    use crate::rules::decide::decide_new;
    use crate::testing::init;

    /// Entries as they are read in a terminal.
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
        let decision = decide_new(&init, &now);
        let plan = decision.plan.unwrap();
        let sale = plan.create([1, 2]).unwrap();
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
}
