//! Finds the faults in a played schedule.

use crate::interleave::setting::{Kind, Setting};
use crate::interleave::{Outcome, Played};
use crate::told::{Fault, Reason, Verdict};

/// All faults of one schedule.
pub fn faults(setting: &Setting, played: &Played) -> Vec<Fault> {
    if setting.kind == Kind::Crash {
        return after_crash(played).into_iter().collect();
    }
    let mut faults = Vec::new();
    let mut found = |wrong: bool, fault: Fault| {
        if wrong {
            faults.push(fault);
        }
    };
    let (wins, supply) = (played.wins(), played.supply);
    let wrongly = wrongly_refused(setting, played);
    found(wins > supply, Fault::Oversold);
    // With two products, whether units are left has no meaning.
    let one = setting.products == 1;
    found(one && wins < supply && !wrongly.is_empty(), Fault::Undersold);
    found(one && matches!(played.alone, Some(Verdict::Lost(_))), Fault::Stuck);
    // The buyer who came alone has a record, too.
    let alone = u64::from(matches!(played.alone, Some(Verdict::Won(_))));
    let records = played.books.records;
    found(records.is_some_and(|records| records < wins), Fault::WinnerWithoutRecord);
    found(records.is_some_and(|records| records > wins + alone), Fault::RecordWithoutWinner);
    found(setting.kind == Kind::Twice && wins > 1, Fault::TwoForOne);
    found(played.books.counter.is_some_and(|counter| counter < 0), Fault::NegativeCounter);
    found(one && inverted(played, &wrongly), Fault::Inversion);
    found(played.freed_anothers_lock, Fault::FreedAnothersLock);
    found(played.waited_for_another, Fault::WaitsForAnother);
    let any = |reason| played.outcomes.iter().any(|one| one.verdict == Some(Verdict::Lost(reason)));
    let unending = played.steps > 400;
    found(any(Reason::Hangs) || unending, Fault::Endless);
    found(any(Reason::Error), Fault::ErrorInsteadOfRefusal);
    found(any(Reason::SoldOutInside), Fault::InThenSoldOut);
    faults
}

/// Buyers who were refused although a unit was free during their whole request: there were more
/// units than winners who began before the refusal.
fn wrongly_refused<'p>(setting: &Setting, played: &'p Played) -> Vec<&'p Outcome> {
    let restocked: u64 = played.outcomes.iter().map(Outcome::restocked).sum();
    let before = played.supply - restocked;
    let wrongly = |refused: &&Outcome| {
        let Some(first) = refused.first else { return false };
        let there = before
            + played
                .outcomes
                .iter()
                .filter(|o| o.last < first)
                .map(Outcome::restocked)
                .sum::<u64>();
        let taken: u64 = (played.outcomes.iter())
            .filter(|o| o.first.is_some_and(|first| first < refused.last))
            .map(Outcome::won)
            .sum();
        is_refusal(refused.verdict) && taken < there && setting.stock > 0
    };
    let users_with = |one: &&Outcome| !one.helps;
    played.outcomes.iter().filter(users_with).filter(wrongly).collect()
}

/// Whether the answer is "no" for lack of a unit or by a conflict. Other reasons do not count: the
/// shop's own work failed, the user already has a unit, or the user was rejected on purpose.
pub fn is_refusal(verdict: Option<Verdict>) -> bool {
    use Reason::{Busy, Conflict, Error, Hangs, SoldOut, SoldOutInside};
    match verdict {
        Some(Verdict::Lost(reason)) => {
            matches!(reason, SoldOut | Conflict | Busy | Error | Hangs | SoldOutInside)
        }
        _ => false,
    }
}

fn inverted(played: &Played, wrongly: &[&Outcome]) -> bool {
    let Some(first_no) = wrongly.iter().map(|refused| refused.last).min() else { return false };
    played.outcomes.iter().any(|o| o.won() > 0 && o.first.is_some_and(|first| first > first_no))
}

/// One unit. A crashed and asked again, then B asked, then C if a lease had to expire first.
fn after_crash(played: &Played) -> Option<Fault> {
    let [_, again, b, c] = played.outcomes.get(..4)? else { return None };
    let records = played.books.records.unwrap_or(0);
    let told = again.won() + b.won() + c.won();
    let is_lost = |one: &Outcome, reason| one.verdict == Some(Verdict::Lost(reason));
    // A buyer who waits for a lock that is never released has no answer.
    let waits = |one: &Outcome| one.verdict.is_none();
    let busy =
        |one: &Outcome| is_lost(one, Reason::Busy) || is_lost(one, Reason::Hangs) || waits(one);
    let waited_for_lease = played.lines.iter().any(|line| line.who.is_none());
    // A needs the answer "you have one".
    let knows = matches!(again.verdict, Some(Verdict::Again(_))) || is_lost(again, Reason::Already);
    if told == 0 {
        return match () {
            () if busy(again) && busy(b) && (busy(c) || !waited_for_lease) => {
                Some(Fault::CrashWedges)
            }
            () if records > 0 && !knows => Some(Fault::CrashHidesUnit),
            () if records == 0 => Some(Fault::CrashLosesUnit),
            () => None,
        };
    }
    match () {
        () if is_lost(again, Reason::Already) => Some(Fault::CrashLocksOut),
        () if records > told || knows => Some(Fault::CrashSellsTwice),
        () if waited_for_lease => Some(Fault::CrashWedgesForLease),
        () => None,
    }
}
