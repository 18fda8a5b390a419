//! One GRAB of many sales: all are granted, or none.
//!
//! Each sale decides its own part as it decides a GRAB; the parts then become one reply. Nothing is
//! changed here: the caller appends the outbox entries of all sales, and only then commits each
//! sale's changes.

use super::grab::{self, Manner};
use super::{decided, misused, waitlist, Decided, Decision};
use crate::effect::{Change, Changes, Effect};
use crate::model::outcome::{GrantView, Misuse, Outcome};
use crate::plan::{Expiries, Plan};
use crate::request::{Grab, Now};
use crate::Sale;

/// The result of an MGRAB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiOutcome {
    /// All granted: each grant, and the units available after it.
    Granted(Vec<(GrantView, u64)>),
    /// The first sale that refuses, and its outcome.
    Refused {
        /// Index of the sale, counted from 0.
        index: usize,
        /// The outcome.
        outcome: Outcome,
    },
    /// All sales know the request id: each grant in its current state.
    Replayed(Vec<GrantView>),
    /// The caller made a mistake; nothing changed.
    Misuse(Misuse),
}

/// The result, and each sale's changes.
#[derive(Debug)]
pub struct MultiDecision<'a> {
    /// The outcome.
    pub outcome: MultiOutcome,
    /// One for each decided sale, in order, with the changes to commit there. If the MGRAB is
    /// refused, only expiries of due holds and first admissions are left. After a mistake there are
    /// no changes. Outcomes are for each sale's own counters; outcomes after the refusing sale have
    /// no meaning.
    pub decisions: Vec<Decision<'a>>,
}

/// Plans to commit before an MGRAB is decided: for each sale whose current round is over, the plan
/// that begins its next round. The request is then decided again with an unchanged time.
#[derive(Debug)]
pub struct NextRounds<'a>(pub Vec<Option<Plan<'a>>>);

/// Decides `parts`, each sale once, in the caller's order. A request id is equal in all parts.
pub fn decide_multi_grab<'a>(
    parts: &[(&Sale, Grab<'a>)],
    now: &Now,
) -> Result<MultiDecision<'a>, NextRounds<'a>> {
    // A user of another part of a split is refused first, even if a round is over.
    if parts.iter().any(|(sale, grab)| !sale.is_home(grab.user)) {
        let (outcome, decisions) = (MultiOutcome::Misuse(Misuse::WrongPart), Vec::new());
        return Ok(MultiDecision { outcome, decisions });
    }
    let mut left = Expiries::OF_A_CALL;
    let judge = |(sale, grab): &(&Sale, Grab<'a>)| {
        let decided = decide_among(sale, grab, left, now);
        if let Ok(decision) = &decided {
            left.spend(sale, grab.user, decision.changes());
        }
        decided
    };
    let decided: Vec<Decided<'a>> = parts.iter().map(judge).collect();
    if decided.iter().any(Result::is_err) {
        let begun = decided.into_iter().map(|decided| decided.err().map(|begun| *begun.0));
        return Err(NextRounds(begun.collect()));
    }
    Ok(together(parts, decided.into_iter().flatten().collect(), left, now))
}

/// The decisions of all sales as one result. `left` are the expiries left after them.
fn together<'a>(
    parts: &[(&Sale, Grab<'a>)],
    mut decisions: Vec<Decision<'a>>,
    mut left: Expiries,
    now: &Now,
) -> MultiDecision<'a> {
    let outcome = match parts.iter().any(|(sale, grab)| waits_for(sale, grab, now)) {
        true => MultiOutcome::Misuse(Misuse::ReqMismatch),
        false => outcome_of(&decisions, parts.iter().any(|(_, grab)| grab.req.is_some())),
    };
    let judged = match &outcome {
        MultiOutcome::Granted(_) => return MultiDecision { outcome, decisions },
        MultiOutcome::Refused { index, .. } => index + 1,
        MultiOutcome::Replayed(_) => decisions.len(),
        MultiOutcome::Misuse(_) => 0,
    };
    decisions.truncate(judged);
    for (decision, (sale, grab)) in decisions.iter_mut().zip(parts) {
        let plan = decision.plan.take();
        decision.plan = plan.and_then(|plan| without_grant(sale, grab.user, plan, &mut left, now));
    }
    MultiDecision { outcome, decisions }
}

fn outcome_of(decisions: &[Decision<'_>], has_req: bool) -> MultiOutcome {
    let misuse = decisions.iter().find_map(|decision| match decision.outcome {
        Outcome::Misuse(misuse) => Some(misuse),
        _ => None,
    });
    if let Some(misuse) = misuse {
        return MultiOutcome::Misuse(misuse);
    }
    // A sale with this outcome has not looked up the request id, so a replay is not yet known.
    let ending = |decision: &Decision<'_>| decision.outcome == Outcome::ManyOwnEnding;
    if let Some(index) = decisions.iter().position(ending).filter(|_| has_req) {
        return MultiOutcome::Refused { index, outcome: Outcome::ManyOwnEnding };
    }
    let replayed: Vec<GrantView> = decisions
        .iter()
        .filter_map(|decision| match decision.outcome {
            Outcome::Replay(grant) => Some(grant),
            _ => None,
        })
        .collect();
    // Known to all, or fenced in all. A fence is no grant, so it has no seq.
    let fenced = replayed.iter().filter(|grant| grant.seq == 0).count();
    match (replayed.len(), decisions.len()) {
        (0, _) => {}
        (known, all) if known == all && (fenced == 0 || fenced == all) => {
            return MultiOutcome::Replayed(replayed);
        }
        _ => return MultiOutcome::Misuse(Misuse::ReqMismatch),
    }
    let mut granted = Vec::with_capacity(decisions.len());
    for (index, decision) in decisions.iter().enumerate() {
        match &decision.outcome {
            Outcome::Granted { grant, available } => granted.push((*grant, *available)),
            outcome => return MultiOutcome::Refused { index, outcome: *outcome },
        }
    }
    MultiOutcome::Granted(granted)
}

impl Expiries {
    /// Expiries left after those in `changes`.
    fn spend(&mut self, sale: &Sale, user: &[u8], changes: &[Change<'_>]) {
        let seqs = changes.iter().flat_map(|change| match &change.effect {
            Effect::Expire(expire) => &expire.0[..],
            _ => &[],
        });
        for grant in seqs.filter_map(|seq| sale.stored_grant(*seq)) {
            let left = if grant.user == user { &mut self.own } else { &mut self.others };
            *left = left.saturating_sub(1);
            if sale.numbers().is_some() {
                self.units = self.units.saturating_sub(grant.qty as u32);
            }
        }
    }
}

/// Judges the part of an MGRAB whose user is at home in this sale.
fn decide_among<'a>(sale: &Sale, grab: &Grab<'a>, left: Expiries, now: &Now) -> Decided<'a> {
    if sale.awaits > 0 {
        return misused(Misuse::Incomplete);
    }
    sale.decide_round(now).unwrap_or_else(|| {
        decided(sale, now, |plan| {
            plan.left = left;
            grab::grab(plan, grab, &Manner::ALONE)
        })
    })
}

/// Whether the request waits in this sale; a request that another sale knows can't wait.
fn waits_for(sale: &Sale, grab: &Grab<'_>, now: &Now) -> bool {
    let waiter = waitlist::waiting_at(sale, grab.user, sale.time(now));
    waiter.is_some_and(|waiter| grab.req == Some(waiter.req))
}

/// The plan without its grant and the grant's consequences. Any plan with a grant can also be made
/// without it. Waiters may be served then, with expiries of those `left`.
fn without_grant<'a>(
    sale: &Sale,
    user: &[u8],
    plan: Plan<'a>,
    left: &mut Expiries,
    now: &Now,
) -> Option<Plan<'a>> {
    let is_grant =
        |change: &Change<'_>| matches!(change.effect, Effect::Grant(_) | Effect::GrantNumbered(_));
    if !plan.changes.iter().any(is_grant) {
        return Some(plan);
    }
    let happens = |it: &Change<'_>| matches!(it.effect, Effect::Expire(_) | Effect::Admit(_));
    let kept: Changes<'a> = plan.changes.into_iter().take_while(happens).collect();
    let begun = kept.len();
    let kept = decided(sale, now, |plan| {
        plan.left = *left;
        let mut effects = kept.into_iter().map(|change| change.effect);
        effects.try_for_each(|effect| plan.push(effect)).map(|()| Outcome::Done)
    });
    let plan = kept.ok().and_then(|kept| kept.plan)?;
    left.spend(sale, user, &plan.changes[begun..]);
    Some(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Admission;
    use crate::draw::Draw;
    use crate::model::outcome::State;
    use crate::request::{Amount, Deed, Request, Settle, Terms, Which};
    use crate::testing::{self, at, created, init};

    fn sale(supply: u64, terms: Terms) -> Sale {
        created(&init(supply, terms), 1)
    }

    fn plain(supply: u64) -> Sale {
        sale(supply, Terms { limit: 5, ..Terms::default() })
    }

    fn part<'a>(qty: u64, req: Option<&'a [u8]>) -> Grab<'a> {
        Grab { user: b"u", amount: Amount::Exactly(qty), req }
    }

    /// Decides and commits as the caller must.
    fn run(sales: &mut [Sale], grabs: &[Grab<'_>], clock_ms: u64) -> MultiOutcome {
        let parts: Vec<(&Sale, Grab<'_>)> = sales.iter().zip(grabs.iter().copied()).collect();
        let decided = decide_multi_grab(&parts, &at(clock_ms)).unwrap();
        for (sale, decision) in sales.iter_mut().zip(&decided.decisions) {
            if let Some(plan) = &decision.plan {
                sale.commit(plan);
            }
            assert_eq!(sale.audit().differences, []);
        }
        decided.outcome
    }

    fn sold(sales: &[Sale]) -> Vec<u64> {
        sales.iter().map(|sale| sale.balances().sold).collect()
    }

    #[test]
    fn all_or_none() {
        let mut sales = [plain(3), plain(1)];
        let MultiOutcome::Granted(rows) = run(&mut sales, &[part(2, None), part(1, None)], 2)
        else {
            panic!()
        };
        assert_eq!(
            rows.iter().map(|(grant, left)| (grant.qty, *left)).collect::<Vec<_>>(),
            [(2, 1), (1, 0)]
        );
        let refused = run(&mut sales, &[part(1, None), part(1, None)], 3);
        let outcome = Outcome::SoldOut { held: 0 };
        assert_eq!(refused, MultiOutcome::Refused { index: 1, outcome });
        assert_eq!(sold(&sales), [2, 1]);
    }

    #[test]
    fn a_request_id_is_known_to_all_or_to_none() {
        let mut sales = [plain(3), plain(3)];
        let both = [part(2, Some(b"r")), part(1, Some(b"r"))];
        let granted = run(&mut sales, &both, 2);
        assert!(matches!(granted, MultiOutcome::Granted(_)));
        let MultiOutcome::Replayed(rows) = run(&mut sales, &both, 3) else { panic!() };
        assert_eq!(rows.iter().map(|grant| grant.qty).collect::<Vec<_>>(), [2, 1]);
        let other = [part(2, Some(b"r")), part(2, Some(b"r"))];
        assert_eq!(run(&mut sales, &other, 4), MultiOutcome::Misuse(Misuse::ReqMismatch));
        // A request id known to one sale only, even if the other would refuse first.
        let mut sales = [plain(0), sales[1].clone()];
        let some = [part(1, Some(b"r")), part(1, Some(b"r"))];
        assert_eq!(run(&mut sales, &some, 5), MultiOutcome::Misuse(Misuse::ReqMismatch));
        assert_eq!(sold(&sales), [0, 1]);
    }

    /// A request that was cancelled before it came is known to no sale.
    #[test]
    fn a_request_is_fenced_in_all_or_in_none() {
        let cancel = Settle { user: b"u", which: Which::Req(b"r"), deed: Deed::Cancel };
        let both = [part(1, Some(b"r")); 2];
        for granted in [true, false] {
            let mut sales = [plain(3), plain(3)];
            if granted {
                let first = run(&mut sales[..1], &both[..1], 2);
                assert!(matches!(first, MultiOutcome::Granted(_)));
            } else {
                testing::run(&mut sales[0], &Request::Settle(cancel), 2);
            }
            testing::run(&mut sales[1], &Request::Settle(cancel), 2);
            match (granted, run(&mut sales, &both, 3)) {
                (true, MultiOutcome::Misuse(Misuse::ReqMismatch)) => {}
                (false, MultiOutcome::Replayed(rows)) => {
                    assert!(rows.iter().all(|row| row.state == State::Cancelled));
                }
                (_, other) => panic!("{other:?}"),
            }
        }
    }

    /// Of sales that refuse the first one counts, unless one can't tell yet whether it knows the
    /// request.
    #[test]
    fn many_own_holds_refuse_in_their_turn() {
        let terms = || Terms { hold_ms: 10, limit: 2000, ..Terms::default() };
        let mut full = sale(2000, terms());
        for _ in 0..1001 {
            testing::grab(&mut full, "u", 2);
        }
        let ending = MultiOutcome::Refused { index: 1, outcome: Outcome::ManyOwnEnding };
        let out = MultiOutcome::Refused { index: 0, outcome: Outcome::SoldOut { held: 0 } };
        for (req, expected) in [(None, out), (Some(&b"r"[..]), ending)] {
            let mut sales = [plain(0), full.clone()];
            assert_eq!(run(&mut sales, &[part(1, req); 2], 20), expected);
        }
    }

    #[test]
    fn what_happens_anyway_happens_up_to_the_refusal() {
        let first = Admission { admit: 1, ..Admission::default() };
        let admitting = sale(3, Terms { admission: first, ..Terms::default() });
        let held = sale(1, Terms { hold_ms: 10, ..Terms::default() });
        let mut sales = [held, admitting.clone(), plain(0), admitting];
        let held = run(&mut sales[..1], &[part(1, None)], 2);
        assert!(matches!(held, MultiOutcome::Granted(_)));
        let refused = run(&mut sales, &[part(1, None); 4], 20);
        let outcome = Outcome::SoldOut { held: 0 };
        assert_eq!(refused, MultiOutcome::Refused { index: 2, outcome });
        let state = sales[0].ledger().grant(1).unwrap().state;
        assert_eq!((state, sales[0].balances().grants), (State::Expired, 1));
        assert_eq!(sales[1].balances().version, 2, "admitted");
        assert_eq!(sales[3].balances().version, 1, "not judged");
    }

    #[test]
    fn a_drawn_amount_is_not_named() {
        let draw = Some(Draw::Packets { packets: 2, min: 1 });
        let drawing =
            || sale(9, Terms { limit: 0, grabs: 1, kind: draw.into(), ..Terms::default() });
        let mut sales = [plain(3), drawing()];
        let named = run(&mut sales, &[part(1, None), part(1, None)], 2);
        assert_eq!(named, MultiOutcome::Misuse(Misuse::DrawTakesNoAmount));
        let unsaid = Grab { user: b"u", amount: Amount::Unsaid, req: None };
        assert!(matches!(run(&mut sales, &[unsaid; 2], 2), MultiOutcome::Granted(_)));
        assert_eq!(sales[0].balances().sold, 1);
    }
}
