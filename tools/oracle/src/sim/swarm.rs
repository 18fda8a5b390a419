//! The probability of each kind of step in a run. Each run leaves some kinds out, so that rare
//! kinds are common in some runs (swarm testing: Groce and others, 2012).

use super::dice::{between, once_in};
use super::setup::Setup;
use super::step::{FIRST_FAULT, KINDS};
use crate::random::Random;

/// Weights of all kinds before any is left out. Clock and deliveries are as common as commands,
/// failures are rare.
const USUAL: [u64; KINDS.len()] = [
    // Commands; those of parts are the last but KEEP.
    60, 20, 20, 20, 16, 12, 8, 10, 12, 14, 2, 4, 4, 4, 5, 4, 1, 12, 12, 20, 20, 12, 16,
    // Faults.
    50, 2, 30, 2, 2, 2, 2, 4, 2, 2, 2, 2, 3, 2, 2,
];

// Indexes of kinds that depend on each other.
const GRAB: usize = 0;
const MGRAB: usize = 2;
const PAUSE: usize = 10;
const RESUME: usize = 11;
const SEND: usize = 19;
const ELSEWHERE: usize = 21;

/// The weights of one run.
#[derive(Clone, Debug)]
pub struct Swarm {
    weights: [u64; KINDS.len()],
}

impl Swarm {
    /// Draws the weights for a setup.
    pub fn draw(random: &mut Random, setup: &Setup) -> Swarm {
        let mut weights = USUAL;
        for (kind, weight) in weights.iter_mut().enumerate() {
            let is_off = once_in(random, if kind < FIRST_FAULT { 4 } else { 3 });
            *weight *= if is_off { 0 } else { between(random, 1, 8) };
        }
        // A run needs grabs and RESUME, or nothing would change. MGRAB needs two sales.
        weights[GRAB] = weights[GRAB].max(USUAL[GRAB]);
        weights[RESUME] = weights[RESUME].max(2 * weights[PAUSE]);
        if setup.sales.len() == 1 {
            weights[MGRAB] = 0;
        }
        // Nothing moves where no sale is a part; now and then it is tried.
        if setup.sales.iter().all(|sale| sale.rules.part.is_none()) {
            weights[SEND..=ELSEWHERE].iter_mut().for_each(|weight| *weight = (*weight).min(1));
        }
        Swarm { weights }
    }

    /// The kind of the next step.
    pub fn next(&self, random: &mut Random) -> usize {
        let mut place = random.below(self.weights.iter().sum());
        let kind = self.weights.iter().position(|weight| match place.checked_sub(*weight) {
            Some(rest) => {
                place = rest;
                false
            }
            None => true,
        });
        kind.unwrap_or(0)
    }
}
