//! Trying changes on a copy of the numbers: what is refused here has touched nothing.

mod amounts;
mod begin;
mod grants;
mod happen;
mod ids;
mod settle;
mod shop;

use std::collections::BTreeMap;

use super::amounts::AmountsTrial;
use super::balances::Balances;
use super::draw::Draw;
use super::effect::{Change, Effect};
use super::event::Event;
use super::lists;
use super::outcome::{Refused, State};
use super::rows;
use super::snapshot;
use super::terms::Terms;
use super::Sale;

/// Where a sale would stand after the changes tried so far.
#[derive(Clone, Debug)]
pub struct Trial {
    pub balances: Balances,
    /// Whether entries are written, so that revs are counted.
    has_outbox: bool,
    draw: Option<Draw>,
    /// What most trials don't need: a plain grant is tried without the heap.
    more: Option<Box<More>>,
}

/// What the changes tried so far have done beside moving the numbers.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// States of grants that they have moved.
    moved: BTreeMap<u64, State>,
    /// Numbers of older rounds that they have touched, by their place.
    pub older: BTreeMap<usize, Balances>,
    /// What becomes of the amounts of DRAW LIST.
    amounts: AmountsTrial,
    /// What was available after each restock: its repeat is told so.
    pub restocked: Vec<u64>,
}

/// A grant that an event is about, as it stands after it.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub seq: u64,
    pub state: State,
    /// Unix ms, 0 unless HELD.
    pub deadline: u64,
}

/// Is told every event with the numbers after it.
pub trait Witness {
    /// `balances`: the numbers after `event`, which `change` made; `moved`: the grant it is about.
    fn see(&mut self, balances: &Balances, event: Event, change: &Change<'_>, moved: Option<Moved>);
}

/// One change that is tried: on which sale, and who is told of it.
struct Step<'t, 'c, W> {
    sale: &'t Sale,
    change: &'t Change<'c>,
    seen: &'t mut W,
}

impl Trial {
    /// Starts where the sale stands.
    pub fn of(sale: &Sale) -> Trial {
        Trial::with(sale.balances, &sale.terms)
    }

    fn with(balances: Balances, terms: &Terms) -> Trial {
        let has_outbox = terms.outbox.is_some();
        Trial { balances, has_outbox, draw: terms.draw, more: None }
    }

    /// What was done beside moving the numbers, if anything.
    pub fn more(&self) -> Option<&More> {
        self.more.as_deref()
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }

    /// Tries one change. `alone`: it is the only one of its command.
    pub fn step(
        &mut self,
        sale: &Sale,
        change: &Change<'_>,
        alone: bool,
        seen: &mut impl Witness,
    ) -> Result<(), Refused> {
        // What a sale still awaits must come before anything else, and comes to no other one.
        if change.effect.is_piece() != (sale.awaits > 0) {
            return Err(Refused::Gap);
        }
        self.balances.begin(change)?;
        self.try_effect(&mut Step { sale, change, seen }, alone)?;
        match sale.awaits {
            0 => Ok(()),
            1 => check(snapshot::completes(sale, Some(&change.effect), &self.balances)),
            _ => check(lists::is_in_order(sale, &change.effect)),
        }
    }

    fn try_effect(
        &mut self,
        step: &mut Step<'_, '_, impl Witness>,
        alone: bool,
    ) -> Result<(), Refused> {
        let sale = step.sale;
        match &step.change.effect {
            Effect::Grant(grant) => self.grant(step, grant),
            Effect::Import(import) => self.import(step, import),
            Effect::Reimport { seq } => self.reimport(step, *seq),
            Effect::Restock { req, delta, applied } => self.restock(step, req, (*delta, *applied)),
            Effect::Pause => self.happen(step, Event::Pause, None, |_| Ok(())),
            Effect::Resume => self.happen(step, Event::Resume, None, |_| Ok(())),
            Effect::Alter(terms) => self.alter(step, terms),
            Effect::Fence { user, req } => check(ids::is_user(user) && ids::is_req(req)),
            Effect::Users(users) => shop::check_users(sale, users),
            Effect::Admit { user } => shop::check_admit(sale, user),
            Effect::Expire(seqs) => {
                seqs.iter().try_for_each(|seq| self.settle(step, *seq, State::Expired))
            }
            Effect::Settle { seq, to } => self.settle(step, *seq, *to),
            Effect::Reclaim { seq } => self.reclaim(step, *seq),
            Effect::Extend { seq, ms } => self.extend(step, *seq, *ms),
            // A piece is many rows at once: it comes alone and is checked as it is read.
            Effect::RestockIds(piece) if alone => {
                lists::check_restocks(sale, piece, &self.balances)
            }
            Effect::Fences(piece) if alone => lists::check_fences(sale, piece, &self.balances),
            Effect::Round { round, supply } if alone => self.round(step, *round, *supply),
            Effect::Turn(piece) if alone => snapshot::check_turn(sale, piece, &mut self.balances),
            Effect::Listed(piece) if alone => lists::check_listed(sale, piece),
            Effect::Amounts(piece) if alone => lists::check_amounts(sale, piece),
            Effect::Rows(piece) if alone => rows::check(sale, piece, &mut self.balances),
            piece if piece.is_piece() => Err(Refused::Law),
            Effect::Round { .. } => Err(Refused::Law),
            _ => Err(Refused::Place),
        }
    }
}

fn check(holds: bool) -> Result<(), Refused> {
    if holds {
        Ok(())
    } else {
        Err(Refused::Law)
    }
}
