//! What changes will come to, worked out once and before anything is touched: the numbers after
//! them and what happens on the way.
//!
//! A primary plans what it decides. A replica, a log and APPLY first check what they are given, see
//! [`Sale::check`], and plan it by the same functions. Either plan is made by [`Sale::commit`],
//! which can't fail.

mod check;
mod commit;
mod planner;
mod start;
mod waitlist;

use core::ops::Range;
use std::collections::BTreeMap;

use crate::codec::effect::Changes;
use crate::codec::position::{EntriesAt, Position};
use crate::ledger::{HashKey, Places};
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{EventKind, Events};
use crate::model::outcome::State;
use crate::Sale;
pub(crate) use planner::Planner;
use waitlist::ListPlan;

/// All that will happen to a sale, if it is still as it was when this was worked out.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    edition: Edition,
    /// What changes, in order.
    pub changes: Changes<'a>,
    /// The numbers after it.
    pub balances: Balances,
    /// What happens, in order. Without an outbox nobody sees the numbers, so the same kind
    /// again and again is there once.
    pub events: Events,
    /// Where the one grant that is new belongs, if it was looked up.
    pub(crate) new_grant: Option<Places>,
    /// What few plans have: a plain grant is planned without the heap.
    pub(crate) more: Option<Box<More>>,
    /// The run of the primary that decided it; none where it was decided elsewhere.
    pub(crate) run: Option<u64>,
}

/// A sale at one version. No two sales and no two versions have the same, and a sale that was
/// loaded again has another one, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edition {
    id: u64,
    version: u64,
    key: HashKey,
}

/// What few changes do beside moving the sale's numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    /// States of grants that were moved.
    pub(crate) moved: BTreeMap<u64, State>,
    /// Numbers of older rounds that were touched, by their place.
    pub(crate) older: BTreeMap<usize, Balances>,
    /// What is available after each restock: its repeat is answered so.
    pub(crate) restocked: Vec<u64>,
    /// What becomes of the waiting list.
    pub(crate) list: ListPlan,
    /// What a part was given and has moved after it, where that changes.
    pub(crate) escrow: Option<Escrow>,
}

impl Plan<'_> {
    /// Whether `sale` is the one that this is for, as it was then.
    pub fn is_for(&self, sale: &Sale) -> bool {
        self.edition == sale.edition()
    }

    /// The version that its first change follows.
    pub fn version(&self) -> u64 {
        self.edition.version
    }

    /// Where those of its changes belong that one command carries, if the first entry of all goes
    /// to `entries`.
    pub fn position(&self, changes: Range<usize>, entries: Option<EntriesAt>) -> Position {
        let version = self.version() + changes.start as u64;
        let before = self.events.iter().take_while(|event| event.change < changes.start).count();
        let has_some = self.events.get(before).is_some_and(|event| changes.contains(&event.change));
        let own = |first: EntriesAt| {
            let id = first.id.after(before as u64)?;
            Some(EntriesAt { id, ..first })
        };
        Position { version, entries: entries.filter(|_| has_some).and_then(own) }
    }

    /// Kinds of its events in order; the same again and again is there once.
    pub fn kinds(&self) -> impl Iterator<Item = EventKind> + '_ {
        let mut last = None;
        let kinds = self.events.iter().map(|event| event.kind);
        kinds.filter(move |kind| last.replace(*kind) != Some(*kind))
    }
}

impl Sale {
    fn edition(&self) -> Edition {
        Edition { id: self.id, version: self.balances.version, key: self.ledger.key() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::effect::{Change, Effect, Granting};
    use crate::codec::position::{Form, StreamId};
    use crate::request::terms::Terms;
    use crate::request::{Amount, Grab, Init, Request};
    use crate::testing::{at, created, init, run};

    fn sale() -> Sale {
        created(&init(3, Terms { outbox: Some(b"s"[..].into()), ..Terms::default() }), 1)
    }

    #[test]
    fn a_plan_is_for_one_version_of_one_sale() {
        let mut sale = sale();
        let plan = sale.decide(&Request::Pause, &at(2)).plan.unwrap();
        assert!(plan.is_for(&sale));
        assert_eq!(plan.events.len(), 1);
        let other = created(&Init { id: 77, ..init(3, Terms::default()) }, 1);
        assert!(!plan.is_for(&other), "another sale at the same version");
        let grab = Grab { user: b"u", amount: Amount::Unsaid, req: None };
        run(&mut sale, &Request::Grab(grab), 2);
        assert!(!plan.is_for(&sale), "another version of the sale");
    }

    /// Commands that carry parts of a plan say where their own entries begin.
    #[test]
    fn every_part_of_a_plan_has_its_position() {
        let sale = sale();
        let effects = (0..3).map(|n| Effect::Admit { user: &b"abc"[n..=n] });
        let grant = |n: usize| Granting { user: &b"xyz"[n..=n], req: None, qty: 1, hold_ms: 0 };
        let grants = (0..3).map(|n| Effect::Grant(grant(n)));
        let changes: Changes<'_> = effects.chain(grants).map(Change::untimed).collect();
        let plan = sale.check(1, changes).unwrap();
        let id = StreamId { ms: 7, seq: 5 };
        let entries = Some(EntriesAt { form: Form::V1, id });
        let at = |changes: Range<usize>, entries| {
            let position = plan.position(changes, entries);
            (position.version, position.entries.map(|entries| entries.id.seq))
        };
        assert_eq!(plan.events.len(), 4, "the last grant sells out");
        assert_eq!(at(0..6, entries), (1, Some(5)));
        assert_eq!(at(0..3, entries), (1, None));
        assert_eq!(at(2..4, entries), (3, Some(5)));
        assert_eq!(at(5..6, entries), (6, Some(7)));
        assert_eq!(at(5..6, None), (6, None));
    }

    /// The common change needs no heap.
    #[test]
    fn a_plain_grant_is_planned_on_the_stack() {
        let sale = sale();
        let grab = Grab { user: b"u", amount: Amount::Unsaid, req: Some(b"r") };
        let plan = sale.decide(&Request::Grab(grab), &at(2)).plan.unwrap();
        assert!(!plan.changes.spilled() && !plan.events.spilled() && plan.more.is_none());
        assert_eq!((plan.changes.len(), plan.events.len()), (1, 1));
    }
}
