//! What changes will come to, worked out once and before anything is touched: the numbers after
//! them and what happens on the way.
//!
//! A primary plans what it decides. A replica, a log and APPLY first check what they are given, see
//! [`Sale::check`], and plan it by the same functions. Either plan is made by [`Sale::commit`],
//! which can't fail.

mod check;
mod commit;
mod planner;
mod waitlist;

use core::ops::Range;
use std::collections::BTreeMap;

use crate::codec::effect::{Change, Changes, Effect, Start};
use crate::codec::position::{EntriesAt, Position};
use crate::codec::snapshot::Piece;
use crate::draw::Draw;
use crate::ledger::{HashKey, Ledger, Places};
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{Event, EventKind, Events, Numbers};
use crate::model::limits::AMOUNTS_PER_PIECE;
use crate::model::outcome::{Refused, State};
use crate::Sale;
use planner::check_law;
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

impl<'a> Plan<'a> {
    /// Checks and plans the change that a sale begins with, in the run `run` if it was decided
    /// here.
    pub fn first(change: Change<'a>, run: Option<u64>) -> Result<Plan<'a>, Refused> {
        let Effect::Init(start) = &change.effect else { return Err(Refused::Place) };
        let Start { id, supply, terms, amounts, .. } = &**start;
        terms.check().map_err(|_| Refused::Law)?;
        terms.check_supply(*supply, amounts).map_err(|_| Refused::Law)?;
        let is_list = terms.draw.as_ref().is_some_and(Draw::is_list);
        let has_its_amounts = match is_list {
            true => terms.draw == Some(Draw::list(amounts)),
            false => amounts.is_empty(),
        };
        if !has_its_amounts {
            return Err(Refused::Law);
        }
        let packets = terms.draw.as_ref().and_then(Draw::packets);
        let (supply, available) = (*supply, *supply);
        let escrow = terms.split.as_ref().map(|_| Escrow::of(supply));
        let elsewhere = terms.split.as_ref().map_or(0, |split| split.elsewhere(supply));
        let mut balances =
            Balances { supply, available, packets, elsewhere, ..Balances::default() };
        balances.begin(change.elapsed_ms, change.epoch)?;
        balances.round = terms.schedule.map_or(0, |schedule| schedule.round_at(balances.t));
        // A list counts a version for each of its pieces, which a rewritten log counts too.
        balances.version += amounts.len().div_ceil(AMOUNTS_PER_PIECE) as u64;
        balances.rev = u64::from(terms.outbox.is_some());
        check_law(terms, &balances, escrow.as_ref())?;
        let numbers = Numbers::of(&balances, None);
        let event = Event { kind: EventKind::Init, change: 0, numbers, grant: None };
        Ok(Plan {
            edition: Edition { id: *id, version: 0, key: [0; 2] },
            changes: Changes::from_buf([change]),
            balances,
            events: Events::from_buf([event]),
            new_grant: None,
            more: None,
            run,
        })
    }

    /// The sale that begins so; `None` when this is no plan of an INIT. `key` keys the hashes of
    /// its indexes.
    pub fn create(&self, key: HashKey) -> Option<Sale> {
        let [Change { effect: Effect::Init(start), .. }] = &self.changes[..] else { return None };
        let mut sale = Sale::blank(start.id, start.secret, start.terms.clone(), key);
        sale.initial_supply = start.supply;
        if let Some(amounts) = sale.amounts_mut() {
            *amounts = start.amounts.iter().copied().collect();
        }
        sale.created_at = self.balances.t;
        if let Some(rounds) = sale.rounds_mut() {
            rounds.base_supply = start.supply;
            sale.ledger = Ledger::starting(key, 0, self.balances.round);
        }
        sale.balances = self.balances;
        sale.escrow = sale.terms.split.as_ref().map(|_| Escrow::of(start.supply));
        sale.run = self.run.unwrap_or_default();
        Some(sale)
    }
}

impl Sale {
    /// Makes a sale from the change that begins it: an INIT, or the base of a rewritten log, of
    /// which nobody is notified. `key` keys the hashes of its indexes. Refused when the change is
    /// another one or breaks the law.
    pub fn create<'a>(
        change: Change<'a>,
        key: HashKey,
    ) -> Result<(Sale, Option<Plan<'a>>), Refused> {
        if let Effect::Piece(Piece::Base(base)) = &change.effect {
            return base.begin(key).map(|sale| (sale, None));
        }
        let plan = Plan::first(change, None)?;
        let sale = plan.create(key).ok_or(Refused::Place)?;
        Ok((sale, Some(plan)))
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
