//! One GRAB of several sales: all are granted, or none.
//!
//! Each sale judges its own part as it judges any GRAB; here the parts become one answer. Nothing
//! is changed: the caller appends the outbox entries of all, and only then commits the changes of
//! each.

use super::decide::Decision;
use super::effect::Effect;
use super::outcome::{GrantView, Misuse, Outcome};
use super::request::{Grab, Now, Request};
use super::Sale;

/// What a GRAB of several sales came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All granted: each grant, and what is available after it.
    Granted(Vec<(GrantView, u64)>),
    /// The first sale that refuses, counted from 0, and what it says.
    Refused { index: usize, outcome: Outcome },
    /// The request id is known to all: each grant as it stands now.
    Replayed(Vec<GrantView>),
    /// Nothing was judged: the stored round of some sales is over. The caller commits their
    /// changes and asks again with the same time.
    NextRound,
    /// The caller made a mistake; nothing happened.
    Misuse(Misuse),
}

/// The answer, and what each sale is to do.
#[derive(Debug)]
pub struct Joint<'a> {
    pub verdict: Verdict,
    /// One for each sale that was judged, in order, with the changes to commit there. When nothing
    /// is granted these are only the changes that happen even when the command is refused: expiry
    /// of due holds and first admissions. After a mistake there are none. Outcomes are the sale's
    /// own, for its counters; those of sales after the one that refused say nothing.
    pub decisions: Vec<Decision<'a>>,
}

/// Judges `parts`, each sale once, in the order in which the caller named them. The request id,
/// when there is one, is the same in all.
pub fn decide_several<'a>(parts: &[(&Sale, Grab<'a>)], now: &Now) -> Joint<'a> {
    let judge = |(sale, grab): &(&Sale, Grab<'a>)| sale.decide(&Request::Grab(*grab), now);
    let mut decisions: Vec<Decision<'a>> = parts.iter().map(judge).collect();
    let is_turn = |decision: &Decision<'_>| decision.outcome == Outcome::NextRound;
    if decisions.iter().any(is_turn) {
        let others = decisions.iter_mut().filter(|decision| !is_turn(decision));
        others.for_each(|decision| decision.changes.clear());
        return Joint { verdict: Verdict::NextRound, decisions };
    }
    let verdict = verdict_of(&decisions);
    let judged = match &verdict {
        Verdict::Granted(_) => return Joint { verdict, decisions },
        Verdict::Refused { index, .. } => index + 1,
        Verdict::Replayed(_) => decisions.len(),
        Verdict::Misuse(_) | Verdict::NextRound => 0,
    };
    decisions.truncate(judged);
    decisions.iter_mut().for_each(Decision::keep_what_happens_anyway);
    Joint { verdict, decisions }
}

fn verdict_of(decisions: &[Decision<'_>]) -> Verdict {
    let misuse = decisions.iter().find_map(|decision| match decision.outcome {
        Outcome::Misuse(misuse) => Some(misuse),
        _ => None,
    });
    if let Some(misuse) = misuse {
        return Verdict::Misuse(misuse);
    }
    let replayed: Vec<GrantView> = decisions
        .iter()
        .filter_map(|decision| match decision.outcome {
            Outcome::Replay(standing) => Some(standing),
            _ => None,
        })
        .collect();
    match replayed.len() {
        0 => {}
        known if known == decisions.len() => return Verdict::Replayed(replayed),
        _ => return Verdict::Misuse(Misuse::ReqMismatch),
    }
    let mut granted = Vec::with_capacity(decisions.len());
    for (index, decision) in decisions.iter().enumerate() {
        match &decision.outcome {
            Outcome::Granted { grant, available } => granted.push((*grant, *available)),
            outcome => return Verdict::Refused { index, outcome: outcome.clone() },
        }
    }
    Verdict::Granted(granted)
}

impl Decision<'_> {
    /// Drops the grant, which is the last change if there is one.
    fn keep_what_happens_anyway(&mut self) {
        self.changes.retain(|change| !matches!(change.effect, Effect::Grant(_)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::admission::Admission;
    use crate::sale::draw::Draw;
    use crate::sale::outcome::State;
    use crate::sale::request::Amount;
    use crate::sale::terms::Terms;
    use crate::sale::testing::{at, created, init};

    fn sale(supply: u64, terms: Terms) -> Sale {
        created(&init(supply, terms), 1)
    }

    fn plain(supply: u64) -> Sale {
        sale(supply, Terms { limit: 5, ..Terms::default() })
    }

    fn part<'a>(qty: u64, req: Option<&'a [u8]>) -> Grab<'a> {
        Grab { user: b"u", amount: Amount::Exactly(qty), req }
    }

    /// Judges and commits as the caller must.
    fn run(sales: &mut [Sale], grabs: &[Grab<'_>], clock_ms: u64) -> Verdict {
        let parts: Vec<(&Sale, Grab<'_>)> = sales.iter().zip(grabs.iter().copied()).collect();
        let joint = decide_several(&parts, &at(clock_ms));
        for (sale, decision) in sales.iter_mut().zip(&joint.decisions) {
            if !decision.changes.is_empty() {
                sale.commit(&decision.changes, 1).unwrap();
            }
            assert_eq!(sale.audit().differences, []);
        }
        joint.verdict
    }

    fn sold(sales: &[Sale]) -> Vec<u64> {
        sales.iter().map(|sale| sale.balances().sold).collect()
    }

    #[test]
    fn all_or_none() {
        let mut sales = [plain(3), plain(1)];
        let Verdict::Granted(rows) = run(&mut sales, &[part(2, None), part(1, None)], 2) else {
            panic!()
        };
        assert_eq!(
            rows.iter().map(|(grant, left)| (grant.qty, *left)).collect::<Vec<_>>(),
            [(2, 1), (1, 0)]
        );
        let refused = run(&mut sales, &[part(1, None), part(1, None)], 3);
        let outcome = Outcome::SoldOut { held: 0 };
        assert_eq!(refused, Verdict::Refused { index: 1, outcome });
        assert_eq!(sold(&sales), [2, 1]);
    }

    #[test]
    fn a_request_id_is_known_to_all_or_to_none() {
        let mut sales = [plain(3), plain(3)];
        let both = [part(2, Some(b"r")), part(1, Some(b"r"))];
        let granted = run(&mut sales, &both, 2);
        assert!(matches!(granted, Verdict::Granted(_)));
        let Verdict::Replayed(rows) = run(&mut sales, &both, 3) else { panic!() };
        assert_eq!(rows.iter().map(|grant| grant.qty).collect::<Vec<_>>(), [2, 1]);
        let other = [part(2, Some(b"r")), part(2, Some(b"r"))];
        assert_eq!(run(&mut sales, &other, 4), Verdict::Misuse(Misuse::ReqMismatch));
        // Known to one only, also when the other would refuse first.
        let mut sales = [plain(0), sales[1].clone()];
        let some = [part(1, Some(b"r")), part(1, Some(b"r"))];
        assert_eq!(run(&mut sales, &some, 5), Verdict::Misuse(Misuse::ReqMismatch));
        assert_eq!(sold(&sales), [0, 1]);
    }

    #[test]
    fn what_happens_anyway_happens_up_to_the_refusal() {
        let first = Admission { admit: 1, ..Admission::default() };
        let admitting = sale(3, Terms { admission: first, ..Terms::default() });
        let held = sale(1, Terms { hold_ms: 10, ..Terms::default() });
        let mut sales = [held, admitting.clone(), plain(0), admitting];
        let held = run(&mut sales[..1], &[part(1, None)], 2);
        assert!(matches!(held, Verdict::Granted(_)));
        let refused = run(&mut sales, &[part(1, None); 4], 20);
        let outcome = Outcome::SoldOut { held: 0 };
        assert_eq!(refused, Verdict::Refused { index: 2, outcome });
        let state = sales[0].ledger().grant(1).unwrap().state;
        assert_eq!((state, sales[0].balances().grants), (State::Expired, 1));
        assert_eq!(sales[1].balances().version, 2, "admitted");
        assert_eq!(sales[3].balances().version, 1, "not judged");
    }

    #[test]
    fn a_drawn_amount_is_not_named() {
        let draw = Some(Draw::Packets { packets: 2, min: 1 });
        let drawing = || sale(9, Terms { limit: 0, grabs: 1, draw, ..Terms::default() });
        let mut sales = [plain(3), drawing()];
        let named = run(&mut sales, &[part(1, None), part(1, None)], 2);
        assert_eq!(named, Verdict::Misuse(Misuse::DrawTakesNoAmount));
        let unsaid = Grab { user: b"u", amount: Amount::Unsaid, req: None };
        assert!(matches!(run(&mut sales, &[unsaid; 2], 2), Verdict::Granted(_)));
        assert_eq!(sales[0].balances().sold, 1);
    }
}
