//! Judging a GRAB, in the order that the contract gives.

use crate::codec::effect::{Effect, Granting, Seqs};
use crate::draw::amounts::Amounts;
use crate::draw::{Dice, Draw};
use crate::ledger::record::{Asked, ReqTag};
use crate::ledger::{Grant, Holding, Ledger, Lookup};
use crate::model::balances::Balances;
use crate::model::limits::{GRANTS_MAX, LAPSES_PER_CALL_MAX};
use crate::model::outcome::{GrantView, Misuse, Outcome, State};
use crate::plan::Places;
use crate::request::terms::Terms;
use crate::request::{Amount, Grab, Now};
use crate::rounds::Side;
use crate::rules::decide::Decision;
use crate::Sale;

/// A fence, as a late GRAB is told of it: cancelled before it was granted.
const FENCED: GrantView = GrantView { seq: 0, qty: 0, state: State::Cancelled, deadline: 0 };

/// What comes before a decision's own effect: due holds that it lets expire, and a first admission.
pub(crate) struct DueHolds<'a> {
    pub seqs: Seqs,
    /// The numbers once the holds have expired.
    pub balances: Balances,
    /// Deadline and seq of the last of the user's own holds among them.
    own_to: (u64, u32),
    /// Whether more of the user's own holds are due.
    pub own_left: bool,
    /// The user whom ADMIT lets in by this call.
    pub admits: Option<&'a [u8]>,
}

impl DueHolds<'_> {
    /// These holds, in a sale that stands at `balances`.
    pub(crate) fn of(seqs: Seqs, balances: Balances) -> Self {
        DueHolds { seqs, balances, own_to: (0, 0), own_left: false, admits: None }
    }

    /// Whether this hold of the user's own is not among them.
    pub(crate) fn leaves(&self, grant: &Grant<'_>) -> bool {
        (grant.held_until, grant.seq as u32) > self.own_to
    }

    /// Whether nothing comes before.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.seqs.is_empty() && self.admits.is_none()
    }

    /// Adds a hold of the round whose numbers these are.
    fn add(&mut self, ledger: &Ledger, seq: u32) {
        if let Some(grant) = ledger.grant(seq.into()) {
            let moved = self.balances.transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
            self.seqs.push(seq.into());
        }
    }

    /// The same holds with the numbers of `side` instead, once those of them that are of that
    /// round have expired.
    pub(crate) fn switch_to(&mut self, side: &Side<'_>) {
        self.balances = *side.balances;
        for grant in self.seqs.iter().filter_map(|seq| side.ledger.grant(*seq)) {
            let moved = self.balances.transfer(grant.qty, State::Held, State::Expired);
            debug_assert_eq!(moved, Ok(()), "held units are counted as held");
        }
    }
}

impl Sale {
    /// The user's own holds that are due: they go before anything is judged, the earliest first. Of
    /// very many a call writes a part.
    #[inline]
    pub(crate) fn own_due_holds<'a>(&self, user: &[u8], found: &Lookup, t: u64) -> DueHolds<'a> {
        let mut due = DueHolds::of(Seqs::new(), self.balances);
        if self.extras.is_some() || self.ledger.holds().are_due(t) {
            self.add_own_due(&mut due, user, found, t);
        }
        due
    }

    #[cold]
    fn add_own_due(&self, due: &mut DueHolds<'_>, user: &[u8], found: &Lookup, t: u64) {
        let ledgers = self.older().map(|old| &old.ledger).filter(|its| its.holds().are_due(t));
        let older = ledgers.map(|ledger| {
            ledger.due_of(&ledger.find_at(user, found.hash()), t, LAPSES_PER_CALL_MAX + 1)
        });
        let mut own = self.ledger.due_of(found, t, LAPSES_PER_CALL_MAX + 1);
        older.for_each(|its| own.extend(its));
        own.sort_unstable();
        due.own_left = own.len() > LAPSES_PER_CALL_MAX;
        own.truncate(LAPSES_PER_CALL_MAX);
        due.own_to = own.last().copied().unwrap_or_default();
        for (_, seq) in own {
            match self.ledger.has(seq.into()) {
                true => due.add(&self.ledger, seq),
                // Those of an older round move that round's numbers.
                false => due.seqs.push(seq.into()),
            }
        }
    }

    /// Lets due holds of others than `user` expire, the earliest first, until there is `enough`.
    /// Their own have lapsed before, or most of them.
    #[inline]
    pub(crate) fn expire_until(
        &self,
        ledger: &Ledger,
        due: &mut DueHolds<'_>,
        user: &[u8],
        t: u64,
        mut enough: impl FnMut(&DueHolds<'_>) -> bool,
    ) {
        if !ledger.holds().are_due(t) {
            return;
        }
        for (_, seq) in ledger.holds().due(t) {
            if enough(due) {
                break;
            }
            let is_new = |grant: Grant<'_>| grant.user != user || due.leaves(&grant);
            if ledger.grant(seq.into()).is_some_and(is_new) {
                due.add(ledger, seq);
            }
        }
    }

    /// What the user has once `lapsed` are gone.
    #[inline]
    pub(crate) fn holding_after(&self, ledger: &Ledger, found: &Lookup, lapsed: &[u64]) -> Holding {
        let mut holding = ledger.holding(found);
        for grant in lapsed.iter().filter_map(|seq| ledger.grant(*seq)) {
            holding.live_units = holding.live_units.saturating_sub(grant.qty);
            holding.live_grants = holding.live_grants.saturating_sub(1);
        }
        holding
    }

    /// What LIMIT and GRABS still leave a user; `None` when neither limits him.
    pub fn allowance(&self, holding: &Holding) -> Option<u64> {
        let terms = &self.terms;
        if terms.grabs != 0 && u64::from(holding.live_grants) >= terms.grabs {
            return Some(0);
        }
        (terms.limit != 0).then(|| terms.limit.saturating_sub(holding.live_units))
    }

    /// The window, as `outcome` would refuse it at `t`.
    pub(crate) fn window(&self, t: u64) -> Option<Outcome> {
        let Terms { open_at, close_at, schedule, .. } = &self.terms;
        let opens_at = t.max(*open_at);
        let opens_at = schedule.as_ref().map_or(opens_at, |schedule| schedule.opens_at(opens_at));
        if *close_at != 0 && opens_at >= *close_at {
            return Some(Outcome::Closed);
        }
        (opens_at > t).then(|| Outcome::NotOpen { in_ms: opens_at - t })
    }

    pub(crate) fn decide_grab<'a>(&self, grab: &Grab<'a>, now: &Now) -> Decision<'a> {
        let t = self.time(now);
        let draws = self.terms.draw.is_some();
        if draws && grab.amount != Amount::Unsaid {
            return Decision::misuse(Misuse::DrawTakesNoAmount);
        }
        let user = self.ledger.find(grab.user);
        let mut due = self.own_due_holds(grab.user, &user, t);
        if due.own_left && self.terms.limits_users() {
            return self.change_after(&due, Outcome::ManyOwnEnding, None, None, now);
        }
        let req = grab.req.map(|req| self.ledger.find_req(grab.user, &user, req));
        let replay = grab.req.zip(req).and_then(|(id, req)| self.judge_replay(grab, id, &req, t));
        let judged = match replay {
            Some(outcome) => Err(outcome),
            None => self.judge_grab(grab, &user, &mut due, t),
        };
        let qty = match judged {
            Ok(qty) => qty,
            Err(Outcome::Misuse(misuse)) => return Decision::misuse(misuse),
            Err(outcome) => return self.change_after(&due, outcome, None, None, now),
        };
        let asked = match grab.amount {
            Amount::UpTo(_) => Asked::UpTo,
            // A replay of a drawn amount compares none, as if the caller had asked for any.
            Amount::Unsaid if draws => Asked::UpTo,
            Amount::Exactly(_) | Amount::Unsaid => Asked::Exactly,
        };
        let tag = grab.req.map(|id| ReqTag { id, asked });
        let granting = Granting { user: grab.user, req: tag, qty, hold_ms: self.terms.hold_ms };
        let (state, deadline) = granting.state_at(t);
        let available = due.balances.available - qty;
        let grant = GrantView { seq: self.balances.grants + 1, qty, state, deadline };
        let outcome = Outcome::Granted { grant, available };
        let places = Some(Places { user, req });
        self.change_after(&due, outcome, Some(Effect::Grant(granting)), places, now)
    }

    /// How many units the user gets, or what he is told instead.
    fn judge_grab<'a>(
        &self,
        grab: &Grab<'a>,
        found: &Lookup,
        due: &mut DueHolds<'a>,
        t: u64,
    ) -> Result<u64, Outcome> {
        let allowance = self.allowance(&self.holding_after(&self.ledger, found, &due.seqs));
        if allowance == Some(0) {
            if let Some(newest) = self.ledger.newest_live(found, t) {
                return Err(Outcome::Already(newest.view()));
            }
        }
        if let Some(outcome) = self.window(t) {
            return Err(outcome);
        }
        if self.paused {
            return Err(Outcome::Paused);
        }
        if self.judge_admission(grab.user)? {
            due.admits = Some(grab.user);
        }
        let qty = match &self.terms.draw {
            None => {
                let wanted = self.wanted(grab.amount, allowance)?;
                self.expire_until(&self.ledger, due, grab.user, t, |due| {
                    due.balances.available >= wanted
                });
                fit(grab.amount, wanted, &due.balances)?
            }
            Some(draw) => self.judge_draw(draw, grab.user, due, t)?,
        };
        if self.balances.grants >= GRANTS_MAX {
            return Err(Outcome::Misuse(Misuse::GrantsFull));
        }
        Ok(qty)
    }

    /// The amount that the sale draws for this grab, or what the user is told instead.
    fn judge_draw(
        &self,
        draw: &Draw,
        user: &[u8],
        due: &mut DueHolds<'_>,
        t: u64,
    ) -> Result<u64, Outcome> {
        let dice = Dice::new(&self.secret, self.balances.grants + 1);
        self.expire_until(&self.ledger, due, user, t, |due| draw.is_covered(&due.balances, &dice));
        // What comes back goes to the end of a list: it is the first only if nothing is before it.
        let returned = || due.seqs.iter().find_map(|seq| self.ledger.grant(*seq));
        let first = self.amounts().and_then(Amounts::first);
        let first = first.or_else(|| returned().map(|grant| grant.qty));
        let held = due.balances.held;
        draw.amount(&due.balances, first, &dice).ok_or(Outcome::SoldOut { held })
    }

    /// What a request id that is known is told: its grant as it stands at `t`.
    fn judge_replay(&self, grab: &Grab<'_>, req: &[u8], found: &Lookup, t: u64) -> Option<Outcome> {
        let seq = self.seq_of(grab.user, req, found);
        let Some(grant) = seq.and_then(|seq| self.grant(seq)) else {
            let fenced = self.fences.stands(grab.user, req, t);
            return fenced.then_some(Outcome::Replay(FENCED));
        };
        let same = match (grab.amount, grant.req?.asked) {
            (Amount::Unsaid, _) if self.terms.draw.is_some() => true,
            (Amount::Exactly(qty), Asked::Exactly | Asked::Either) => qty == grant.qty,
            (Amount::Unsaid, Asked::Exactly | Asked::Either) => grant.qty == 1,
            (Amount::UpTo(_), Asked::UpTo | Asked::Either) => true,
            (Amount::Exactly(_) | Amount::Unsaid, Asked::UpTo)
            | (Amount::UpTo(_), Asked::Exactly) => false,
        };
        if !same {
            return Some(Outcome::Misuse(Misuse::ReqMismatch));
        }
        Some(Outcome::Replay(grant.view_at(t)))
    }

    /// How many units this amount asks for under the allowance.
    fn wanted(&self, amount: Amount, allowance: Option<u64>) -> Result<u64, Outcome> {
        let allowance = allowance.unwrap_or(u64::MAX);
        match amount {
            Amount::Unsaid if allowance == 0 => Err(Outcome::OverLimit { allowance }),
            Amount::Unsaid => Ok(1),
            Amount::Exactly(qty) if qty > allowance => Err(Outcome::OverLimit { allowance }),
            Amount::Exactly(qty) => Ok(qty),
            Amount::UpTo(qty) => Ok(qty.min(allowance)),
        }
    }
}

/// How many of the units `wanted` the stock allows.
fn fit(amount: Amount, wanted: u64, balances: &Balances) -> Result<u64, Outcome> {
    let (available, held) = (balances.available, balances.held);
    match amount {
        _ if available == 0 => Err(Outcome::SoldOut { held }),
        Amount::Exactly(_) if wanted > available => Err(Outcome::Short { available }),
        Amount::Exactly(_) | Amount::Unsaid => Ok(wanted),
        Amount::UpTo(_) => Ok(wanted.min(available)),
    }
}
