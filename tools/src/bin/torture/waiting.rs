//! A sale with a waiting list: how it is opened and asked, and what its outbox tells of the list,
//! read through the judge that `make sim` has too.

use std::collections::BTreeMap;

use seckill_oracle::turns::{self, Told, Turns};
use seckill_random::Random;

use crate::check::answers;
use crate::history::{Answer, Deed, Entry, Evidence, Kind, Op, Try};
use crate::story::Story;
use crate::world::unix_ms;

/// WAITLIST, OFFER and OVERTAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    pub max: u64,
    pub offer_ms: u64,
    pub overtake: u64,
}

impl List {
    /// One whose offers end soon, so that what nobody pays for goes on to the next.
    pub fn new(random: &mut Random) -> List {
        let (max, offer_ms) = (5 + random.below(60), 20 + random.below(180));
        List { max, offer_ms, overtake: random.below(4) }
    }

    /// As INIT is told.
    pub fn words(&self) -> String {
        let List { max, offer_ms, overtake } = self;
        format!("WAITLIST {max} OFFER {offer_ms} OVERTAKE {overtake}")
    }
}

/// What an entry says of one who waits.
#[derive(Clone, Debug)]
pub struct Waiter {
    pub ticket: u64,
    pub user: String,
    pub req: String,
    pub qty: u64,
    pub until: u64,
    pub reason: String,
}

/// What a GRAB says besides: mostly that its user waits, for a while or as long as it takes.
pub fn words(kind: &Kind, amount: &str, random: &mut Random) -> String {
    let waits = matches!(kind, Kind::Listed(_)) && !amount.contains("UPTO");
    match random.below(6) {
        _ if !waits => String::new(),
        0 => String::new(),
        1 => format!(" WAIT UNTIL {}", unix_ms() + random.below(1_500)),
        _ => " WAIT".to_owned(),
    }
}

/// What is done about an order besides: who has paid is imported, whatever was lost since.
pub fn deeds(kind: &Kind, amount: &str, random: &mut Random) -> Vec<Deed> {
    match kind {
        Kind::Listed(_) if !amount.contains("UPTO") && random.below(3) == 0 => {
            vec![Deed::Place, Deed::Import]
        }
        Kind::Listed(_) => vec![Deed::Place, Deed::Place, Deed::Grab],
        _ => Vec::new(),
    }
}

/// A list before its first entry, where there is one.
pub fn begun(kind: &Kind) -> Option<Turns> {
    matches!(kind, Kind::Listed(_)).then(Turns::default)
}

/// Reads the next entry.
pub fn read(turns: &mut Turns, entry: &Entry, list: &List) -> Result<(), String> {
    let terms = entry.limits.map(|limits| turns::Terms {
        offer_ms: list.offer_ms,
        overtake: list.overtake,
        close_at: limits.close_at,
    });
    let (stock, mut told) =
        (entry.stock, Told { event: &entry.event, t: entry.t, ..Told::default() });
    (told.available, told.held, told.terms) = (stock.available, stock.held, terms);
    if let Some(row) = &entry.grant {
        (told.user, told.req) = (row.user.as_bytes(), row.req.as_bytes());
        (told.qty, told.deadline) = (row.qty, row.deadline);
    }
    if let Some(wait) = &entry.wait {
        (told.user, told.req) = (wait.user.as_bytes(), wait.req.as_bytes());
        (told.ticket, told.qty, told.until) = (wait.ticket, wait.qty, wait.until);
        told.reason = &wait.reason;
    }
    turns.read(&told)
}

/// Behind how many the user joined with this ticket, if it is there: as this primary may have known
/// it, and no later one gave it out.
pub fn joined(evidence: &Evidence, story: &Story, op: &Op, call: &Try, ticket: u64) -> Option<u64> {
    let (epoch, ahead) = story.joined.get(&(op.user.clone(), ticket))?;
    (evidence.reign_of(*epoch) <= call.reign).then_some(*ahead)
}

/// Who stays on the list moves forward: one primary tells nobody that more are before them than it
/// told them earlier, and nobody is told of more than were there when they joined. What another
/// primary said does not count: those who left by what a failover has lost are back.
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

/// The server lists those who wait by its outbox.
pub fn ends_as(turns: &mut Turns, evidence: &Evidence) -> Result<(), String> {
    turns.end()?;
    let told: Vec<u64> = turns.waiting.keys().copied().collect();
    match told == evidence.waiting {
        true => Ok(()),
        false => Err(format!("WAITERS lists {:?}, the outbox {told:?}.", evidence.waiting)),
    }
}
