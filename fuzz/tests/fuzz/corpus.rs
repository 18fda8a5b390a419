//! Sales to alter: with all kinds of terms, in all states, with their effects.

use crate::random::Random;
use crate::sim::{samples, Sample};
use crate::sound::scramble;

/// Enough runs for all kinds of terms.
const RUNS: u64 = 60;

/// Sales that differ much from each other.
pub fn corpus(seed: u64) -> Vec<Sample> {
    let sales: Vec<Sample> = runs(seed).take(RUNS as usize).flatten().collect();
    let terms = || sales.iter().map(|sample| sample.sale.terms());
    assert!(terms().any(|terms| terms.draw().is_some()), "some draw");
    assert!(terms().any(|terms| terms.schedule.is_some()), "some repeat");
    assert!(terms().any(|terms| !terms.admission.is_open()), "some admit");
    assert!(terms().any(|terms| terms.is_numbered()), "of some the units have numbers");
    assert!(grants(&sales) > RUNS);
    sales
}

/// Sales with numbered units.
pub fn numbered(seed: u64) -> Vec<Sample> {
    let is_sold = |sample: &Sample| sample.sale.balances().grants > 0;
    let all = runs(seed).flatten().filter(|sample| sample.sale.terms().is_numbered());
    let sales: Vec<Sample> = all.filter(is_sold).take(RUNS as usize).collect();
    assert!(grants(&sales) > 3 * RUNS);
    sales
}

/// The sales at the end of each run of the simulation.
fn runs(seed: u64) -> impl Iterator<Item = Vec<Sample>> {
    (0..).map(move |run| samples(seed * 1_000_000 + run))
}

fn grants(sales: &[Sample]) -> u64 {
    sales.iter().map(|sample| sample.sale.balances().grants).sum()
}

/// A random element.
pub fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// Alters some of several byte strings: bytes, length, order, or parts replaced by those of
/// `other`.
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
