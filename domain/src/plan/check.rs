//! Checks changes decided elsewhere: by a primary, an AOF, a dump or a caller of APPLY. A local
//! decision needs no check, because it can't produce what is refused here. Decoding has checked
//! that numbers and ids are within their limits, see [`Change::decode`].

use std::collections::HashSet;

use crate::admission::List;
use crate::codec::effect::{Change, Changes, Effect, Granting, Importing, Joining, UsersChange};
use crate::codec::snapshot::pieces;
use crate::codec::snapshot::{self, Base, Piece};
use crate::draft::Draft;
use crate::draw::Amounts;
use crate::ledger::{HashKey, Lookup, Places};
use crate::model::balances::Balances;
use crate::model::limits::EFFECTS_PER_APPLY_MAX;
use crate::model::outcome::{Refused, State};
use crate::plan::Plan;
use crate::Sale;

impl Sale {
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
        if changes.len() > EFFECTS_PER_APPLY_MAX || are_entangled(&changes) {
            return Err(Refused::Law);
        }
        let alone = changes.len() == 1;
        let mut checker = Checker { draft: Draft::of(self), new_grant: None, alone };
        changes.iter().try_for_each(|change| checker.change(change))?;
        // With several changes, one could move the slot that was looked up for another.
        let new_grant = checker.new_grant.filter(|_| alone);
        Ok(Plan::of(checker.draft, changes, new_grant, None))
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
}

/// Builds a sale from a dump, piece by piece, and at the end compares it with the dump's base.
pub struct Loader {
    sale: Sale,
    base: Box<Base>,
}

impl Loader {
    /// Starts with the bytes of the base.
    pub fn start(bytes: &[u8], key: HashKey) -> Result<Loader, Refused> {
        let Piece::Base(base) = Piece::decode(bytes)? else { return Err(Refused::Unknown) };
        let mut sale = base.begin(key)?;
        // Each grant is announced to be of another winner; loading finds out if not.
        if let Some(winners) = base.single_grants().filter(|_| sale.rounds().is_none()) {
            sale.ledger.begin_bulk_load(winners);
        }
        Ok(Loader { sale, base })
    }

    /// Adds the bytes of the next piece.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        match Piece::decode(bytes)? {
            Piece::Base(_) => Err(Refused::Unknown),
            Piece::Refusals(refusals) => {
                self.sale.refusals = *refusals;
                Ok(())
            }
            piece => {
                let version = self.sale.balances.version;
                self.sale.apply(version, [Change::untimed(Effect::Piece(piece))]).map(|_| ())
            }
        }
    }

    /// The sale, if it agrees with the base.
    pub fn finish(mut self) -> Result<Sale, Refused> {
        let is_whole = self.sale.ledger.end_bulk_load() && self.base.announces(&self.sale);
        is_whole.then_some(self.sale).ok_or(Refused::Law)
    }
}

/// Changes that have been checked, and the draft after them.
pub(super) struct Checker<'s> {
    pub(super) draft: Draft<'s>,
    new_grant: Option<Places>,
    /// Whether the change is the only one of its command.
    alone: bool,
}

impl<'s> Checker<'s> {
    pub(super) fn sale(&self) -> &'s Sale {
        self.draft.sale
    }

    fn change(&mut self, change: &Change<'_>) -> Result<(), Refused> {
        let (sale, effect, piece) = (self.sale(), &change.effect, change.effect.piece());
        // Awaited pieces must come before any other change, and a complete sale takes none.
        if piece.is_some() != (sale.awaits > 0) {
            return Err(Refused::Gap);
        }
        self.draft.begin(change.elapsed_ms, change.epoch)?;
        let Some(piece) = piece else {
            self.effect(effect)?;
            return effect.draft(&mut self.draft);
        };
        // A piece is many changes at once: it comes alone and is checked when it is decoded.
        check(self.alone)?;
        let balances = &mut self.draft.balances;
        match piece {
            Piece::RestockIds(kept) => pieces::check_restock_ids(sale, kept, balances)?,
            Piece::Fences(added) => pieces::check_fences(sale, added, balances)?,
            Piece::Listed(users) => pieces::check_listed(sale, users)?,
            Piece::Amounts(added) => pieces::check_amounts(sale, added)?,
            Piece::Grants(rows) => rows.check(sale, balances)?,
            Piece::Round(next) => next.check(sale, balances)?,
            Piece::Pairs(pairs) => pieces::check_pairs(sale, pairs, balances)?,
            Piece::Waiters(waiters) => pieces::check_waiters(sale, waiters, balances)?,
            Piece::Base(_) | Piece::Refusals(_) => return Err(Refused::Law),
        }
        check(snapshot::is_in_order(sale, piece))?;
        check(sale.awaits > 1 || snapshot::completes(sale, Some(piece), balances))
    }

    fn effect(&mut self, effect: &Effect<'_>) -> Result<(), Refused> {
        let (sale, balances) = (self.sale(), &self.draft.balances);
        match effect {
            Effect::Grant(grant) => self.grant(grant),
            Effect::Import(import) => self.import(import),
            Effect::Reimport { seq } => {
                let (from, _) = self.draft.look(*seq)?;
                check(!matches!(from, State::Sold | State::Refunded))?;
                self.takes_imports()
            }
            Effect::Restock { req, .. } => {
                let is_new = sale.restocks.find(req).is_none();
                check(is_new && balances.packets.is_none())
            }
            Effect::Alter(terms) => {
                // A sale keeps its outbox. Changes before the one that sets it have no entries.
                let set = sale.terms.outbox.as_ref();
                let begins = set.is_none() && self.alone;
                check(terms.outbox.as_ref().is_none_or(|named| begins || set == Some(named)))?;
                sale.check_terms(&sale.terms.altered(terms)).map_err(|_| Refused::Law)
            }
            Effect::Users(users) => check_users(sale, users),
            Effect::Admit { user } => {
                check(sale.is_home(user) && has_room_for(sale, List::Admitted, 1))
            }
            Effect::Expire(_) | Effect::Settle { .. } => list_agrees(sale),
            Effect::Reclaim { seq } => {
                check(self.draft.look(*seq)?.0 == State::Expired)?;
                list_agrees(sale)
            }
            Effect::Extend { seq, .. } => check(self.draft.look(*seq)?.0 == State::Held),
            Effect::Round { round, .. } => {
                let schedule = sale.terms.schedule.as_ref().ok_or(Refused::Law)?;
                let can_begin = *round > balances.round;
                check(self.alone && can_begin && *round <= schedule.round_at(balances.t))
            }
            Effect::Fence { user, .. } => check(sale.is_home(user)),
            Effect::Send { to, .. } => check(sale.has_other_part(*to)),
            Effect::Receive { from, .. } => check(sale.has_other_part(*from)),
            other => self.list_effect(other),
        }
    }

    fn grant(&mut self, grant: &Granting<'_>) -> Result<(), Refused> {
        let sale = self.sale();
        let supply = self.draft.balances.supply;
        check(sale.terms.draw.is_none_or(|draw| draw.can_draw(grant.qty, supply)))?;
        self.new_request(grant.user, grant.req.map(|req| req.id))?;
        if let Some(req) = grant.req {
            self.request_waits_not(grant.user, req.id)?;
        }
        list_agrees(sale)?;
        check(sale.amounts().is_none() || self.draft.first_amount() == Some(grant.qty))
    }

    fn import(&mut self, import: &Importing<'_>) -> Result<(), Refused> {
        self.new_request(import.user, Some(import.req))?;
        self.request_was_not_offered(import.user, import.req)?;
        self.takes_imports()
    }

    /// Checks that the user has no grant for this request id, if there is one.
    pub(super) fn new_request(&mut self, user: &[u8], req: Option<&[u8]>) -> Result<(), Refused> {
        check(self.sale().is_home(user))?;
        let ledger = &self.sale().ledger;
        let found = ledger.find(user);
        let req = req.map(|req| ledger.find_req(user, &found, req));
        check(req.as_ref().is_none_or(Lookup::is_vacant))?;
        self.new_grant = Some(Places { user: found, req });
        Ok(())
    }

    /// A sale with packets or rounds has a fixed supply and takes no imports.
    fn takes_imports(&self) -> Result<(), Refused> {
        let is_fixed = self.draft.balances.packets.is_some();
        check(!is_fixed && self.sale().terms.schedule.is_none())
    }
}

/// Checks that the amounts of DRAW LIST add up to the available units.
fn list_agrees(sale: &Sale) -> Result<(), Refused> {
    let Balances { packets, available, .. } = sale.balances;
    let agrees = |list: &Amounts| Some(list.len()) == packets && list.sum() == available;
    check(sale.amounts().is_none_or(agrees))
}

pub(super) fn check(holds: bool) -> Result<(), Refused> {
    match holds {
        true => Ok(()),
        false => Err(Refused::Law),
    }
}

/// Checks that users can be added to a list or removed.
fn check_users(sale: &Sale, change: &UsersChange<'_>) -> Result<(), Refused> {
    check(!change.users.is_empty() && change.users.iter().all(|user| sale.is_home(user)))?;
    check(!change.add || has_room_for(sale, change.list, change.users.len()))
}

fn has_room_for(sale: &Sale, list: List, users: usize) -> bool {
    let known = sale.extras.as_deref().map(|extras| extras.list(list));
    known.is_none_or(|known| known.has_room_for(users))
}

/// Whether changes of one command depend on each other, which is refused, because each is checked
/// against the sale before all of them. Two changes conflict if they bring the same new request id,
/// change terms, move units between parts or join the list; so does a join while terms change.
fn are_entangled(changes: &[Change<'_>]) -> bool {
    if changes.len() < 2 {
        return false;
    }
    let (mut grants, mut restocks) = (HashSet::new(), HashSet::new());
    let (mut alters, mut moves) = (0, 0);
    // A join needs known terms.
    let mut waits = false;
    !changes.iter().all(|change| match change.effect {
        Effect::Grant(Granting { user, req: Some(req), .. }) => grants.insert((user, req.id)),
        Effect::Import(Importing { user, req, .. }) => grants.insert((user, req)),
        Effect::Restock { req, .. } => restocks.insert(req),
        Effect::Alter(_) => {
            alters += 1;
            alters == 1 && !waits
        }
        Effect::Wait(Joining { user, req, .. }) => {
            let is_first = !core::mem::replace(&mut waits, true);
            is_first && alters == 0 && grants.insert((user, req))
        }
        Effect::Send { .. } | Effect::Receive { .. } => {
            moves += 1;
            moves == 1
        }
        _ => true,
    })
}
