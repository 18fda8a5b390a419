//! Sales to alter: of every kind of terms, in every state, with the effects that made them.

use crate::random::Random;
use crate::sim::{samples, Sample};
use crate::sound::scramble;

/// Enough of them that all kinds of terms are there.
const RUNS: u64 = 60;

/// Sales that differ much.
pub fn corpus(seed: u64) -> Vec<Sample> {
    let sales: Vec<Sample> = (0..RUNS).flat_map(|run| samples(seed * 1_000_000 + run)).collect();
    let terms = || sales.iter().map(|sample| sample.sale.terms());
    assert!(terms().any(|terms| terms.draw().is_some()), "some draw");
    assert!(terms().any(|terms| terms.schedule.is_some()), "some repeat");
    assert!(terms().any(|terms| !terms.admission.is_open()), "some admit");
    assert!(sales.iter().map(|sample| sample.sale.balances().grants).sum::<u64>() > RUNS);
    sales
}

/// One of several.
pub fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// Alters some of several byte strings: bytes, ends, order, or parts of `other` in their place.
pub fn alter(strings: &mut Vec<Vec<u8>>, other: &[Vec<u8>], random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(strings.len() as u64) as usize;
        match random.below(12) {
            0 => {
                let len = random.below(strings[at].len() as u64 + 1) as usize;
                strings[at].truncate(len);
            }
            1 if strings.len() > 1 => drop(strings.remove(at)),
            2 => strings.insert(at, strings[at].clone()),
            3 => {
                let to = random.below(strings.len() as u64) as usize;
                strings.swap(at, to);
            }
            4 => strings[at] = pick(random, other).clone(),
            5 => splice(&mut strings[at], pick::<Vec<u8>>(random, other), random),
            _ => scramble(&mut strings[at], random),
        }
    }
}

/// Joins the beginning of one input to the end of another.
fn splice(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let len = random.below(bytes.len() as u64 + 1) as usize;
    let from = random.below(other.len() as u64 + 1) as usize;
    bytes.truncate(len);
    bytes.extend_from_slice(&other[from..]);
}
