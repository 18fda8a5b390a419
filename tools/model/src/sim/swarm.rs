//! The kinds of steps, and the probability of each in a run. Each run leaves some kinds out, so
//! that rare kinds are common in some runs (swarm testing: Groce and others, 2012).

use super::setup::Setup;
use crate::random::Random;

/// The kinds of steps, in the order of the report, with their weights before any is left out.
/// Clock and deliveries are as common as commands, failures are rare.
pub const KINDS: [(&str, u64); 38] = [
    ("GRAB", 60),
    ("GRAB drawn", 20),
    ("MGRAB", 20),
    ("CONFIRM", 20),
    ("RECLAIM", 16),
    ("CANCEL", 12),
    ("EXTEND", 8),
    ("REFUND", 10),
    ("IMPORT", 12),
    ("RESTOCK", 14),
    ("PAUSE", 2),
    ("RESUME", 4),
    ("ALTER", 4),
    ("ALTER gates", 4),
    ("ALLOW", 5),
    ("DENY", 4),
    ("INIT", 1),
    ("sweep", 12),
    ("between", 12),
    ("SEND", 20),
    ("RECEIVE", 20),
    ("ELSEWHERE", 12),
    ("KEEP", 16),
    ("clock", 50),
    ("outbox", 2),
    ("deliver", 30),
    ("repeat", 2),
    ("gap", 2),
    ("resync", 2),
    ("promote", 2),
    ("sync", 4),
    ("rewrite", 2),
    ("crash", 2),
    ("snapshot", 2),
    ("reload", 2),
    ("dump", 3),
    ("module", 2),
    ("setting", 2),
];

/// The index of the first kind that is no command.
pub const FIRST_FAULT: usize = 23;

// Indexes of kinds that depend on each other.
const GRAB: usize = 0;
const MGRAB: usize = 2;
const PAUSE: usize = 10;
const RESUME: usize = 11;
const SEND: usize = 19;
const ELSEWHERE: usize = 21;

#[derive(Clone, Debug)]
pub struct Swarm([u64; KINDS.len()]);

impl Swarm {
    pub fn draw(random: &mut Random, setup: &Setup) -> Swarm {
        let mut weights = KINDS.map(|(_, usual)| usual);
        for (kind, weight) in weights.iter_mut().enumerate() {
            let is_off = random.once_in(if kind < FIRST_FAULT { 4 } else { 3 });
            *weight *= if is_off { 0 } else { random.between(1, 8) };
        }
        // A run needs grabs and RESUME, or nothing would change. MGRAB needs two sales.
        weights[GRAB] = weights[GRAB].max(KINDS[GRAB].1);
        weights[RESUME] = weights[RESUME].max(2 * weights[PAUSE]);
        if setup.sales.len() == 1 {
            weights[MGRAB] = 0;
        }
        // Nothing moves where no sale is a part; now and then it is tried.
        if setup.sales.iter().all(|sale| sale.rules.part.is_none()) {
            weights[SEND..=ELSEWHERE].iter_mut().for_each(|weight| *weight = (*weight).min(1));
        }
        Swarm(weights)
    }

    pub fn next(&self, random: &mut Random) -> usize {
        let mut place = random.below(self.0.iter().sum());
        let is_before = |weight: &&u64| match place.checked_sub(**weight) {
            Some(rest) => {
                place = rest;
                true
            }
            None => false,
        };
        self.0.iter().take_while(is_before).count()
    }
}
