//! Judging what operators ask: INIT, ALTER, RESTOCK, IMPORT, ALLOW and DENY; and how they move
//! units between the parts of a split.

use std::collections::HashSet;

use crate::codec::effect::{Change, Effect, Importing, Start, UsersChange};
use crate::ledger::{Grant, HashKey, Places};
use crate::model::balances::{Balances, Escrow};
use crate::model::limits::{GRANTS_MAX, INTEGER_MAX, USERS_PER_EFFECT_MAX};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::plan::Plan;
use crate::request::{
    Elsewhere, Import, Init, ListChange, Now, Receive, Restock, Send, TermsChange,
};
use crate::rules::decide::Decision;
use crate::state::status::PartView;
use crate::Sale;

/// Judges an INIT on a key that holds no sale: what will happen, and the sale that it happens to.
/// `key` keys the hashes of its indexes.
pub fn decide_new(init: &Init, now: &Now, key: HashKey) -> Result<(Plan<'static>, Sale), Misuse> {
    check_init(init)?;
    let effect = Effect::Init(Box::new(Start {
        id: init.id,
        secret: init.secret,
        supply: init.supply,
        terms: init.terms.clone(),
        amounts: init.amounts.clone(),
    }));
    let change = Change { elapsed_ms: now.clock_ms, epoch: Some(now.run), effect };
    // What it promises was checked: only the clock can be beyond its bound.
    Plan::first(change, Some(now.run), key).map_err(|_| Misuse::Exhausted)
}

/// Whether a sale can keep what this INIT promises.
fn check_init(init: &Init) -> Result<(), Misuse> {
    init.terms.check()?;
    init.terms.check_supply(init.supply, &init.amounts)
}

impl Sale {
    /// INIT never resets a sale: with the same arguments as the first time it is a retry.
    pub(super) fn decide_again<'a>(&self, init: &Init) -> Decision<'a> {
        if let Err(misuse) = check_init(init) {
            return Decision::misuse(misuse);
        }
        if init.supply == self.initial_supply && init.terms == *self.initial_terms {
            Decision::refuse(Outcome::Done)
        } else {
            Decision::misuse(Misuse::SaleExists)
        }
    }

    pub(super) fn decide_alter<'a>(&self, change: &TermsChange, now: &Now) -> Decision<'a> {
        let (wanted, set) = (&change.outbox, &self.terms.outbox);
        if wanted.is_some() && set.is_some() && wanted != set {
            return Decision::misuse(Misuse::OutboxSet);
        }
        let terms = self.terms.altered(change);
        if let Err(misuse) = self.check_terms(&terms) {
            return Decision::misuse(misuse);
        }
        if terms == self.terms {
            return Decision::refuse(Outcome::Done);
        }
        self.change(Outcome::Done, Effect::Alter(Box::new(change.clone())), now)
    }

    pub(super) fn decide_restock<'a>(&self, restock: &Restock<'a>, now: &Now) -> Decision<'a> {
        let Restock { delta, req } = *restock;
        if self.balances.packets.is_some() {
            return Decision::misuse(Misuse::DrawFixesSupply);
        }
        if let Some(known) = self.restocks.find(req) {
            return match known.delta == delta {
                true => Decision::refuse(known.outcome()),
                false => Decision::misuse(Misuse::ReqMismatch),
            };
        }
        let balances = &self.balances;
        let (applied, available) = if delta > 0 {
            let added = delta.unsigned_abs() - balances.deficit.min(delta.unsigned_abs());
            let put_in = self.escrow.map_or(0, |escrow| escrow.put_in);
            if balances.supply + added > INTEGER_MAX || put_in + delta > INTEGER_MAX as i64 {
                return Decision::misuse(Misuse::SupplyTooLarge);
            }
            (delta, balances.available + added)
        } else {
            let withdrawn = delta.unsigned_abs().min(balances.available);
            (-(withdrawn as i64), balances.available - withdrawn)
        };
        let outcome = Outcome::Restocked { applied, available };
        self.change(outcome, Effect::Restock { req, delta, applied }, now)
    }
    pub(crate) fn decide_import<'a>(&self, import: &Import<'a>, now: &Now) -> Decision<'a> {
        if self.balances.packets.is_some() {
            return Decision::misuse(Misuse::DrawFixesSupply);
        }
        if self.terms.schedule.is_some() {
            return Decision::misuse(Misuse::RoundsTakeNoImport);
        }
        let found = self.ledger.find(import.user);
        let known = self.ledger.find_req(import.user, &found, import.req);
        if let Some(grant) = known.seq().and_then(|seq| self.ledger.grant(seq)) {
            return self.decide_reimport(&grant, import, now);
        }
        let t = self.time(now);
        let waiter = self.waiter_of(import.user, import.req);
        let gone = waiter.and_then(|waiter| Some((waiter.ticket, self.drop_reason(&waiter, t)?)));
        if gone.is_none() && waiter.is_some_and(|waiter| waiter.qty != import.qty) {
            return Decision::misuse(Misuse::ReqMismatch);
        }
        let balances = &self.balances;
        if let Err(outcome) = self.judge_cover(import) {
            return Decision::refuse(outcome);
        }
        if balances.grants >= GRANTS_MAX {
            return Decision::misuse(Misuse::GrantsFull);
        }
        let Import { user, qty, req, at, .. } = *import;
        let at = at.unwrap_or(t);
        let (seq, state) = (balances.grants + 1, State::Sold);
        let grant = GrantView { seq, qty, state, deadline: 0 };
        let available = balances.available.saturating_sub(qty);
        let places = Some(Places { user: found, req: Some(known) });
        let dropped = gone.map(|(ticket, reason)| Effect::Drop { ticket, reason });
        let effects = dropped.into_iter().chain([Effect::Import(Importing { user, req, qty, at })]);
        let outcome = Outcome::Granted { grant, available };
        self.change_after(&self.none_due(), outcome, effects, places.as_ref(), now)
    }

    /// Whether units for an import are there or may be promised beyond the supply.
    fn judge_cover(&self, import: &Import<'_>) -> Result<(), Outcome> {
        let missing = import.qty.saturating_sub(self.balances.available);
        if missing > 0 && import.no_deficit {
            return Err(Outcome::Short { available: self.balances.available });
        }
        // A part may owe more than it has.
        if self.balances.supply.max(self.balances.deficit) + missing > INTEGER_MAX {
            return Err(Outcome::Misuse(Misuse::SupplyTooLarge));
        }
        Ok(())
    }

    fn decide_reimport<'a>(
        &self,
        grant: &Grant<'_>,
        import: &Import<'_>,
        now: &Now,
    ) -> Decision<'a> {
        if grant.qty != import.qty {
            return Decision::misuse(Misuse::ReqMismatch);
        }
        let stands = grant.view();
        match grant.state {
            State::Sold | State::Refunded => return Decision::refuse(Outcome::Replay(stands)),
            State::Held => {}
            State::Cancelled | State::Expired | State::Forfeited => {
                if let Err(outcome) = self.judge_cover(import) {
                    return Decision::refuse(outcome);
                }
            }
        }
        let stands = GrantView { state: State::Sold, deadline: 0, ..stands };
        self.change(Outcome::Replay(stands), Effect::Reimport { seq: grant.seq }, now)
    }

    pub(crate) fn decide_list<'a>(&self, change: &ListChange<'a>, now: &Now) -> Decision<'a> {
        let known = self.extras.as_deref().map(|extras| extras.list(change.list));
        let is_in = |user: &[u8]| known.is_some_and(|users| users.contains(user));
        let mut seen = HashSet::new();
        let changed: Vec<&'a [u8]> = change
            .users
            .iter()
            .copied()
            .filter(|user| is_in(user) != change.add && seen.insert(*user))
            .collect();
        if change.add && known.is_some_and(|users| !users.has_room_for(changed.len())) {
            return Decision::misuse(Misuse::ListFull);
        }
        let effects = changed.chunks(USERS_PER_EFFECT_MAX).map(|users| {
            let (list, add) = (change.list, change.add);
            Effect::Users(UsersChange { list, add, users: users.to_vec() })
        });
        let outcome = Outcome::Changed { users: changed.len() as u64 };
        self.change_after(&self.none_due(), outcome, effects, None, now)
    }
}

impl Sale {
    pub(super) fn decide_send<'a>(&self, send: &Send<'a>, now: &Now) -> Decision<'a> {
        let (to, escrow) = match self.other_part(send.split, send.to) {
            Ok(both) => both,
            Err(misuse) => return Decision::misuse(misuse),
        };
        let Balances { available, deficit, .. } = self.balances;
        let sent = self.pairs.get(to).sent;
        let units = match send.total.checked_sub(sent) {
            Some(units) if send.owed => units,
            // While anybody waits here, what is here is theirs.
            Some(_) if self.does_anybody_wait(self.time(now)) => 0,
            Some(units) => units.min(available),
            None => 0,
        };
        let owed = units.saturating_sub(available);
        let (total, left) = (sent + units, available - (units - owed));
        let outcome = Outcome::Moved { total, available: left };
        // The present total again goes to the replicas, so that a WAIT behind it covers the first.
        if units == 0 && send.total != sent {
            return Decision::refuse(outcome);
        }
        if escrow.sent + units > INTEGER_MAX || deficit + owed > INTEGER_MAX {
            return Decision::misuse(Misuse::MovedTooMany);
        }
        self.change(outcome, Effect::Send { to, total, owed }, now)
    }

    pub(super) fn decide_receive<'a>(&self, receive: &Receive<'a>, now: &Now) -> Decision<'a> {
        let (from, escrow) = match self.other_part(receive.split, receive.from) {
            Ok(both) => both,
            Err(misuse) => return Decision::misuse(misuse),
        };
        let Balances { supply, available, deficit, .. } = self.balances;
        let (total, received) = (receive.total, self.pairs.get(from).received);
        if total <= received {
            return Decision::refuse(Outcome::Moved { total: received, available });
        }
        let units = total - received;
        let added = units - deficit.min(units);
        if supply + added > INTEGER_MAX || escrow.received + units > INTEGER_MAX {
            return Decision::misuse(Misuse::MovedTooMany);
        }
        let outcome = Outcome::Moved { total, available: available + added };
        self.change(outcome, Effect::Receive { from, total }, now)
    }

    /// The other part that is meant, and what moves.
    fn other_part(&self, id: &[u8], part: u64) -> Result<(u16, Escrow), Misuse> {
        let PartView { split, escrow, .. } = self.part_of(id)?;
        Ok((split.other(part).ok_or(Misuse::NotAnotherPart)?, escrow))
    }

    /// The sale as a part of the split with this id.
    fn part_of(&self, id: &[u8]) -> Result<PartView<'_>, Misuse> {
        let part = self.part().ok_or(Misuse::NotAPart)?;
        match *part.split.id == *id {
            true => Ok(part),
            false => Err(Misuse::NotThisSplit),
        }
    }

    pub(super) fn decide_elsewhere<'a>(&self, request: &Elsewhere<'a>, now: &Now) -> Decision<'a> {
        let escrow = match self.part_of(request.split) {
            Ok(part) => part.escrow,
            Err(misuse) => return Decision::misuse(misuse),
        };
        let Elsewhere { units, pass, .. } = *request;
        let known = self.balances.elsewhere;
        if (pass, units) <= (escrow.pass, known) {
            let (units, pass) = (known, escrow.pass);
            return Decision::refuse(Outcome::Elsewhere { units, pass });
        }
        self.change(Outcome::Elsewhere { units, pass }, Effect::Elsewhere { units, pass }, now)
    }
}
