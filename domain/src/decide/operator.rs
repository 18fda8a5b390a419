//! Decides operators' requests: INIT, ALTER, RESTOCK, IMPORT, ALLOW, DENY, and units moved between
//! parts of a split.

use std::collections::HashSet;

use crate::codec::effect::{Change, Effect, Importing, Start, UsersChange};
use crate::ledger::{Grant, HashKey, Places};
use crate::model::balances::{Balances, Escrow};
use crate::model::limits::{GRANTS_MAX, INTEGER_MAX, USERS_PER_EFFECT_MAX};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::plan::{Plan, Planning};
use crate::request::{
    Elsewhere, Import, Init, ListChange, Now, Receive, Restock, Send, TermsChange,
};
use crate::state::status::PartView;
use crate::Sale;

/// Decides an INIT for a missing key: the plan, and the sale it is for. `key` keys the hashes of
/// its indexes.
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
    // The terms were checked, so only the clock can be beyond its limit.
    Plan::first(change, Some(now.run), key).map_err(|_| Misuse::Exhausted)
}

/// Whether a sale can have this supply and these terms.
fn check_init(init: &Init) -> Result<(), Misuse> {
    init.terms.check()?;
    init.terms.check_supply(init.supply, &init.amounts)
}

impl Sale {
    /// INIT never resets a sale: with the arguments of the first INIT it is a retry.
    pub(super) fn judge_again(&self, init: &Init) -> Result<Outcome, Misuse> {
        check_init(init)?;
        match init.supply == self.initial_supply && init.terms == *self.initial_terms {
            true => Ok(Outcome::Done),
            false => Err(Misuse::SaleExists),
        }
    }

    pub(super) fn judge_alter(
        &self,
        change: &TermsChange,
        plan: &mut Planning<'_, '_>,
    ) -> Result<Outcome, Misuse> {
        let (wanted, set) = (&change.outbox, &self.terms.outbox);
        if wanted.is_some() && set.is_some() && wanted != set {
            return Err(Misuse::OutboxSet);
        }
        let terms = self.terms.altered(change);
        self.check_terms(&terms)?;
        if terms != self.terms {
            plan.push(Effect::Alter(Box::new(change.clone())))?;
        }
        Ok(Outcome::Done)
    }

    pub(super) fn judge_restock<'a>(
        &self,
        restock: &Restock<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let Restock { delta, req } = *restock;
        if self.balances.packets.is_some() {
            return Err(Misuse::DrawFixesSupply);
        }
        if let Some(known) = self.restocks.find(req) {
            return match known.delta == delta {
                true => Ok(known.outcome()),
                false => Err(Misuse::ReqMismatch),
            };
        }
        let balances = &self.balances;
        let applied = if delta > 0 {
            let added = delta.unsigned_abs() - balances.deficit.min(delta.unsigned_abs());
            let put_in = self.escrow.map_or(0, |escrow| escrow.put_in);
            if balances.supply + added > INTEGER_MAX || put_in + delta > INTEGER_MAX as i64 {
                return Err(Misuse::SupplyTooLarge);
            }
            delta
        } else {
            -(delta.unsigned_abs().min(balances.available) as i64)
        };
        plan.push(Effect::Restock { req, delta, applied })?;
        Ok(Outcome::Restocked { applied, available: 0 })
    }

    pub(super) fn judge_import<'a>(
        &self,
        import: &Import<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        if self.balances.packets.is_some() {
            return Err(Misuse::DrawFixesSupply);
        }
        if self.terms.schedule.is_some() {
            return Err(Misuse::RoundsTakeNoImport);
        }
        let found = self.ledger.find(import.user);
        let known = self.ledger.find_req(import.user, &found, import.req);
        if let Some(grant) = known.seq().and_then(|seq| self.ledger.grant(seq)) {
            return self.judge_reimport(&grant, import, plan);
        }
        let t = plan.t();
        let waiter = self.waiter_of(import.user, import.req);
        let gone = waiter.and_then(|waiter| Some((waiter.ticket, self.drop_reason(&waiter, t)?)));
        if gone.is_none() && waiter.is_some_and(|waiter| waiter.qty != import.qty) {
            return Err(Misuse::ReqMismatch);
        }
        let balances = &self.balances;
        if let Err(outcome) = self.judge_cover(import) {
            return Ok(outcome);
        }
        if balances.grants >= GRANTS_MAX {
            return Err(Misuse::GrantsFull);
        }
        if let Some((ticket, reason)) = gone {
            plan.push(Effect::Drop { ticket, reason })?;
        }
        let Import { user, qty, req, at, .. } = *import;
        let effect = Effect::Import(Importing { user, req, qty, at: at.unwrap_or(t) });
        plan.push_new(effect, Places { user: found, req: Some(known) })?;
        let grant = GrantView { seq: balances.grants + 1, qty, state: State::Sold, deadline: 0 };
        Ok(Outcome::Granted { grant, available: 0 })
    }

    /// Whether units for an import are available or may be promised beyond the supply.
    fn judge_cover(&self, import: &Import<'_>) -> Result<(), Outcome> {
        let missing = import.qty.saturating_sub(self.balances.available);
        if missing > 0 && import.no_deficit {
            return Err(Outcome::Short { available: self.balances.available });
        }
        // A part's deficit may exceed its supply.
        if self.balances.supply.max(self.balances.deficit) + missing > INTEGER_MAX {
            return Err(Outcome::Misuse(Misuse::SupplyTooLarge));
        }
        Ok(())
    }

    fn judge_reimport(
        &self,
        grant: &Grant<'_>,
        import: &Import<'_>,
        plan: &mut Planning<'_, '_>,
    ) -> Result<Outcome, Misuse> {
        if grant.qty != import.qty {
            return Err(Misuse::ReqMismatch);
        }
        let stands = grant.view();
        match grant.state {
            State::Sold | State::Refunded => return Ok(Outcome::Replay(stands)),
            State::Held => {}
            State::Cancelled | State::Expired | State::Forfeited => {
                if let Err(outcome) = self.judge_cover(import) {
                    return Ok(outcome);
                }
            }
        }
        plan.push(Effect::Reimport { seq: grant.seq })?;
        Ok(Outcome::Replay(GrantView { state: State::Sold, deadline: 0, ..stands }))
    }

    pub(super) fn judge_list<'a>(
        &self,
        change: &ListChange<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
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
            return Err(Misuse::ListFull);
        }
        let (list, add) = (change.list, change.add);
        changed.chunks(USERS_PER_EFFECT_MAX).try_for_each(|users| {
            plan.push(Effect::Users(UsersChange { list, add, users: users.to_vec() }))
        })?;
        Ok(Outcome::Changed { users: changed.len() as u64 })
    }
}

impl Sale {
    pub(super) fn judge_send<'a>(
        &self,
        send: &Send<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let (to, escrow) = self.other_part(send.split, send.to)?;
        let Balances { available, deficit, .. } = self.balances;
        let sent = self.pairs.get(to).sent;
        let units = match send.total.checked_sub(sent) {
            Some(units) if send.owed => units,
            // While anybody waits here, available units are reserved for them.
            Some(_) if self.does_anybody_wait(plan.t()) => 0,
            Some(units) => units.min(available),
            None => 0,
        };
        let owed = units.saturating_sub(available);
        let total = sent + units;
        let outcome = Outcome::Moved { total, available };
        // An equal total is replicated again, so that a WAIT after it covers the first SEND.
        if units == 0 && send.total != sent {
            return Ok(outcome);
        }
        if escrow.sent + units > INTEGER_MAX || deficit + owed > INTEGER_MAX {
            return Err(Misuse::MovedTooMany);
        }
        plan.push(Effect::Send { to, total, owed })?;
        Ok(outcome)
    }

    pub(super) fn judge_receive<'a>(
        &self,
        receive: &Receive<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let (from, escrow) = self.other_part(receive.split, receive.from)?;
        let Balances { supply, available, deficit, .. } = self.balances;
        let (total, received) = (receive.total, self.pairs.get(from).received);
        if total <= received {
            return Ok(Outcome::Moved { total: received, available });
        }
        let units = total - received;
        let added = units - deficit.min(units);
        if supply + added > INTEGER_MAX || escrow.received + units > INTEGER_MAX {
            return Err(Misuse::MovedTooMany);
        }
        plan.push(Effect::Receive { from, total })?;
        Ok(Outcome::Moved { total, available })
    }

    /// The other part of the request, and this part's escrow.
    fn other_part(&self, id: &[u8], part: u64) -> Result<(u16, Escrow), Misuse> {
        let PartView { split, escrow, .. } = self.part_of(id)?;
        Ok((split.other(part).ok_or(Misuse::NotAnotherPart)?, escrow))
    }

    /// This sale as a part of the split with this id.
    fn part_of(&self, id: &[u8]) -> Result<PartView<'_>, Misuse> {
        let part = self.part().ok_or(Misuse::NotAPart)?;
        match *part.split.id == *id {
            true => Ok(part),
            false => Err(Misuse::NotThisSplit),
        }
    }

    pub(super) fn judge_elsewhere<'a>(
        &self,
        request: &Elsewhere<'a>,
        plan: &mut Planning<'_, 'a>,
    ) -> Result<Outcome, Misuse> {
        let escrow = self.part_of(request.split)?.escrow;
        let Elsewhere { units, pass, .. } = *request;
        let known = self.balances.elsewhere;
        if (pass, units) <= (escrow.pass, known) {
            let (units, pass) = (known, escrow.pass);
            return Ok(Outcome::Elsewhere { units, pass });
        }
        plan.push(Effect::Elsewhere { units, pass })?;
        Ok(Outcome::Elsewhere { units, pass })
    }
}
