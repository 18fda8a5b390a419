//! Places on the list, as answers have them: no waiter is moved back.

use std::collections::BTreeMap;

use crate::history::{answers, Answer, Evidence, Op, Try};
use crate::story::Story;

/// How many were ahead of the user when they joined with this ticket; `None` when no primary up to
/// this one gave the ticket out.
pub fn joined(evidence: &Evidence, story: &Story, op: &Op, call: &Try, ticket: u64) -> Option<u64> {
    let (epoch, ahead) = story.joined.get(&(op.user.clone(), ticket))?;
    (evidence.reign_of(*epoch) <= call.reign).then_some(*ahead)
}

/// A waiter moves forward: one primary tells nobody that more are before them than it told them
/// earlier, and nobody is told of more than were there when they joined. Answers of another primary
/// don't count: a LEAVE that a failover has lost brings its waiter back.
pub fn moved_back(evidence: &Evidence, story: &Story) -> Vec<String> {
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
