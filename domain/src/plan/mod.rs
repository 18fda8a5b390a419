//! Plans: the result of changes, computed before anything is touched: the numbers after them, and
//! their events.
//!
//! A primary plans its decisions. A replica, an AOF and APPLY first check the changes they are
//! given, see [`Sale::check`], and plan them by the same functions. [`Sale::commit`] applies either
//! plan and can't fail.

mod check;
mod planning;
mod position;
mod tests;

use core::mem;
use core::ops::Range;

use crate::draft::{check_law, Draft, Touched};
use crate::draw::Draw;
use crate::effect::{Act, Change, Changes, Checker, Effect, Init, Planned};
use crate::ledger::{HashKey, Ledger, Slots};
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{Event, EventKind, Events, Numbers};
use crate::model::limits::{AMOUNTS_PER_PIECE, EFFECTS_PER_APPLY_MAX};
use crate::model::outcome::Refused;
use crate::numbers::UnitList;
use crate::snapshot::Piece;
use crate::Sale;

pub use check::Loader;
pub(crate) use planning::{Expiries, Planning};
pub use position::{EntriesAt, Position, StreamId};

/// All changes to a sale, valid while the sale is at the version they were planned for.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    edition: Edition,
    /// The changes, in order.
    pub changes: Changes<'a>,
    /// The numbers after all changes.
    pub balances: Balances,
    /// The events, in order. Without an outbox no reader needs the numbers, so consecutive events
    /// of one kind are merged.
    pub events: Events,
    /// The slots of the only new grant, if it was looked up.
    pub(crate) new_grant: Option<Slots>,
    /// State that few plans change: a plain grant is planned without the heap.
    pub(crate) touched: Option<Box<Touched>>,
    /// Epoch of this node if it decided the changes; none if they were decided elsewhere.
    pub(crate) node_epoch: Option<u64>,
}

/// Identifies a sale at one version. No two sales, versions or loads of a sale have equal editions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edition {
    id: u64,
    version: u64,
    key: HashKey,
}

impl Plan<'_> {
    /// Whether this plan is for `sale` at its current version.
    pub fn is_for(&self, sale: &Sale) -> bool {
        self.edition == Edition::of(sale)
    }

    /// The version before the first change.
    pub fn version(&self) -> u64 {
        self.edition.version
    }

    /// The position of one command's changes, if the first entry of the whole plan goes to
    /// `entries`.
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
}

impl Edition {
    fn of(sale: &Sale) -> Edition {
        Edition { id: sale.id, version: sale.balances.version, key: sale.ledger.key() }
    }
}

impl<'a> Plan<'a> {
    /// The plan of changes that lead to this draft, whose events and state it takes. `node_epoch`
    /// is this node's epoch if it decided them.
    #[inline(always)]
    pub(crate) fn of(
        draft: &mut Draft<'_>,
        changes: Changes<'a>,
        new_grant: Option<Slots>,
        node_epoch: Option<u64>,
    ) -> Plan<'a> {
        draft.end();
        let (events, touched) = (mem::take(&mut draft.events), draft.touched.take());
        let (edition, balances) = (Edition::of(draft.sale), draft.balances);
        Plan { edition, changes, balances, events, new_grant, touched, node_epoch }
    }

    /// Checks and plans the first change of a sale, and creates the sale. `node_epoch` is this
    /// node's epoch if it decided the change. `key` keys the hashes of its indexes.
    pub(crate) fn first(
        change: Change<'a>,
        node_epoch: Option<u64>,
        key: HashKey,
    ) -> Result<(Plan<'a>, Sale), Refused> {
        let Effect::Init(start) = &change.effect else { return Err(Refused::Key) };
        let Init { id, supply, terms, amounts, .. } = &**start;
        terms.check().map_err(|_| Refused::Law)?;
        terms.check_supply(*supply, amounts).map_err(|_| Refused::Law)?;
        let is_list = terms.draw().is_some_and(Draw::is_list);
        let has_its_amounts = match is_list {
            true => terms.draw() == Some(&Draw::list(amounts)),
            false => amounts.is_empty(),
        };
        if !has_its_amounts {
            return Err(Refused::Law);
        }
        let packets = terms.draw().and_then(Draw::packets);
        let (supply, available) = (*supply, *supply);
        let escrow = terms.split.as_ref().map(|_| Escrow::of(supply));
        let elsewhere = terms.split.as_ref().map_or(0, |split| split.elsewhere(supply));
        let mut balances =
            Balances { supply, available, packets, elsewhere, ..Balances::default() };
        balances.begin(change.elapsed_ms, change.epoch)?;
        balances.round = terms.schedule.map_or(0, |schedule| schedule.round_at(balances.t));
        // A list counts a version for each of its pieces, as in a rewritten AOF.
        balances.version += amounts.len().div_ceil(AMOUNTS_PER_PIECE) as u64;
        balances.rev = u64::from(terms.outbox.is_some());
        check_law(terms, &balances, escrow.as_ref())?;
        let Balances { epoch, rev, t, round, .. } = balances;
        let numbers = Numbers { epoch, rev, t, supply, available, held: 0, sold: 0, round };
        let event = Event { kind: EventKind::Init, change: 0, numbers, grant: None };
        let sale = begun(start, &balances, node_epoch, key);
        let plan = Plan {
            edition: Edition { id: *id, version: 0, key: [0; 2] },
            changes: Changes::from_buf([change]),
            balances,
            events: Events::from_buf([event]),
            new_grant: None,
            touched: None,
            node_epoch,
        };
        Ok((plan, sale))
    }
}

/// A new sale from its INIT, with these numbers.
fn begun(start: &Init, balances: &Balances, node_epoch: Option<u64>, key: HashKey) -> Sale {
    let mut sale = Sale::blank(start.id, start.secret, start.terms.clone(), key);
    sale.initial_supply = start.supply;
    if let Some(amounts) = sale.amounts_mut() {
        *amounts = start.amounts.iter().copied().collect();
    }
    sale.begin_numbers(start.supply);
    sale.created_at = balances.t;
    if let Some(rounds) = sale.rounds_mut() {
        rounds.base_supply = start.supply;
        sale.ledger = Ledger::starting(key, 0, balances.round);
    }
    sale.balances = *balances;
    sale.escrow = sale.terms.split.as_ref().map(|_| Escrow::of(start.supply));
    sale.node_epoch = node_epoch.unwrap_or_default();
    sale
}

impl Sale {
    /// The numbers that a grant has or had last after a plan. `None` if units have no numbers.
    pub(crate) fn units_after(&self, plan: Option<&Plan<'_>>, seq: u64) -> Option<UnitList> {
        let touched = plan.and_then(|plan| plan.touched.as_ref());
        let changed = touched.and_then(|touched| touched.units_of(seq)).cloned();
        changed.or_else(|| Some(self.numbers()?.of(seq)))
    }

    /// Creates a sale from its first change: an INIT, or the base of a rewritten AOF, which has no
    /// events. `key` keys the hashes of its indexes. Refuses other changes and changes that break
    /// the law.
    pub fn create<'a>(
        change: Change<'a>,
        key: HashKey,
    ) -> Result<(Sale, Option<Plan<'a>>), Refused> {
        if let Effect::Piece(Piece::Base(base)) = &change.effect {
            let mut sale = base.begin(key)?;
            sale.arrive();
            return Ok((sale, None));
        }
        Plan::first(change, None, key).map(|(plan, sale)| (sale, Some(plan)))
    }

    /// Checks changes decided elsewhere and plans them: all of them, or none if one is refused.
    /// `version` is the version before the first.
    pub fn check<'a>(
        &self,
        version: u64,
        changes: impl Into<Changes<'a>>,
    ) -> Result<Plan<'a>, Refused> {
        let changes = changes.into();
        if version != self.balances.version {
            return Err(Refused::Gap);
        }
        if changes.len() > EFFECTS_PER_APPLY_MAX || check::are_entangled(&changes) {
            return Err(Refused::Law);
        }
        let alone = changes.len() == 1;
        let mut checker = Checker { draft: Draft::of(self), new_grant: None, alone };
        changes.iter().try_for_each(|change| checker.change(change))?;
        if !self.is_plain() && !checker.draft.numbers_agree() {
            return Err(Refused::Law);
        }
        // With several changes, one could move the slot that was looked up for another.
        let new_grant = checker.new_grant.filter(|_| alone);
        Ok(Plan::of(&mut checker.draft, changes, new_grant, None))
    }

    /// Checks changes and commits them. The plan has their events.
    pub fn apply<'a>(
        &mut self,
        version: u64,
        changes: impl Into<Changes<'a>>,
    ) -> Result<Plan<'a>, Refused> {
        let plan = self.check(version, changes)?;
        self.commit(&plan);
        Ok(plan)
    }

    /// Applies a plan to its sale, which must be unchanged since. Primaries, replicas and the
    /// loading of an AOF all come here: a sale changes nowhere else.
    pub fn commit(&mut self, plan: &Plan<'_>) {
        debug_assert!(plan.is_for(self), "the sale has changed since this was planned");
        let restocked = plan.touched.as_ref().map_or(&[][..], |touched| &touched.restocked);
        let new_grant = plan.new_grant.as_ref();
        let mut planned = Planned { new_grant, restocked: restocked.iter() };
        for change in &plan.changes {
            // Planning has checked both; the other numbers are set right below.
            debug_assert_eq!(
                { self.balances }.begin(change.elapsed_ms, change.epoch),
                Ok(()),
                "planning has begun it too"
            );
            self.balances.t += change.elapsed_ms;
            self.balances.epoch = change.epoch.unwrap_or(self.balances.epoch);
            change.effect.make(self, &mut planned);
        }
        self.balances = plan.balances;
        if let Some(escrow) = plan.touched.as_ref().and_then(|touched| touched.escrow) {
            self.escrow = Some(escrow);
        }
        if let Some(node_epoch) = plan.node_epoch {
            self.node_epoch = node_epoch;
            // The entries were appended before the commit.
            self.outbox_failed &= plan.events.is_empty();
        }
        if self.extras.is_some() {
            self.update_rounds(plan);
        }
        debug_assert!(self.is_lawful(), "{:?}", self.balances);
        debug_assert_eq!(self.balances.grants, self.ledger.len());
        debug_assert!(self
            .numbers()
            .is_none_or(|it| { u64::from(it.units().free()) == self.balances.available }));
        debug_assert!(
            self.escrow.is_none() || !self.is_whole() || self.pairs_agree(),
            "{:?}",
            self.pairs
        );
    }

    /// Stores the numbers of older rounds, and drops rounds that need not be kept.
    fn update_rounds(&mut self, plan: &Plan<'_>) {
        let Some(rounds) = self.rounds_mut() else { return };
        let touched = plan.touched.iter().flat_map(|touched| &touched.older);
        touched.clone().for_each(|(index, balances)| rounds.set_balances(*index, *balances));
        // From the last to the first, so that indexes stay valid.
        touched.rev().for_each(|(index, _)| rounds.prune(*index));
        rounds.before_previous().into_iter().for_each(|index| rounds.prune(index));
        rounds.free_some();
    }
}
