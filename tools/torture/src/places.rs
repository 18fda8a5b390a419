//! Checks places on the waiting list: no waiter moves back.

use std::collections::BTreeMap;

use crate::history::{answers, Answer, Evidence, Op, Try};
use crate::story::Story;

/// The number of waiters before the user when they joined with this ticket. `None` if no primary so
/// far gave that ticket out.
pub fn joined(
    evidence: &Evidence,
    story: &Story<'_>,
    op: &Op,
    call: &Try,
    ticket: u64,
) -> Option<u64> {
    let (epoch, ahead) = story.joined.get(&(op.user.as_str(), ticket))?;
    (evidence.reign_of(*epoch) <= call.reign).then_some(*ahead)
}

/// Checks that a waiter only moves forward: one primary never reports more waiters before a user
/// than it reported earlier, and none more than when they joined. Replies of another primary are
/// not compared, because a failover may lose a LEAVE.
pub fn moved_back(evidence: &Evidence, story: &Story<'_>) -> Vec<String> {
    type Told<'a> = (&'a Try, u64, u64);
    let mut told: BTreeMap<(u64, &str, u64), Vec<Told<'_>>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for op in &evidence.ops {
        for (call, answered) in answers(op) {
            let Answer::Waiting { ticket, ahead } = answered.answer else { continue };
            let behind = joined(evidence, story, op, call, ticket);
            if let Some(behind) = behind.filter(|behind| *behind < ahead) {
                wrong.push(format!(
                    "MOVED BACK: ticket {ticket} of {} was told {ahead} ahead, {behind} at most.",
                    op.user
                ));
            }
            let place = (call.reign, op.user.as_str(), ticket);
            told.entry(place).or_default().push((call, answered.returned, ahead));
        }
    }
    for ((_, user, ticket), places) in told {
        for (call, _, ahead) in &places {
            let earlier = places.iter().filter(|(_, returned, _)| *returned < call.invoked);
            if let Some(before) = earlier.map(|(_, _, before)| before).find(|it| *it < ahead) {
                wrong.push(format!(
                    "MOVED BACK: ticket {ticket} of {user} was told {ahead} ahead after {before}."
                ));
            }
        }
    }
    wrong
}
