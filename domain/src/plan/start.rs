//! How a sale begins, and a round of it.

use super::planner::check_law;
use super::{Edition, Plan};
use crate::codec::effect::{Change, Changes, Effect, Start};
use crate::codec::snapshot::Piece;
use crate::draw::Draw;
use crate::ledger::{HashKey, Ledger};
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{Event, EventKind, Events, Numbers};
use crate::model::limits::AMOUNTS_PER_PIECE;
use crate::model::outcome::Refused;
use crate::Sale;

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
