//! The terms of a waiting list, and the waiter in an entry.

use seckill_random::Random;

/// WAITLIST, OFFER and OVERTAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    pub max: u64,
    pub offer_ms: u64,
    pub overtake: u64,
}

impl List {
    /// Short offers, so that unpaid units go to the next waiter.
    pub fn new(random: &mut Random) -> List {
        let (max, offer_ms) = (5 + random.below(60), 20 + random.below(180));
        List { max, offer_ms, overtake: random.below(4) }
    }

    /// The INIT's arguments.
    pub fn words(&self) -> String {
        let List { max, offer_ms, overtake } = self;
        format!("WAITLIST {max} OFFER {offer_ms} OVERTAKE {overtake}")
    }
}

/// The fields of an entry about a waiter.
#[derive(Clone, Debug)]
pub struct Waiter {
    pub ticket: u64,
    pub user: String,
    pub req: String,
    pub qty: u64,
    pub until: u64,
    pub reason: String,
}
