//! Numbers against a plain vector of them.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Free, Overlaid, Overlay, Runs, Units, BLOCK};

/// The numbers as a vector of `free`, number 1 first.
#[derive(Debug, Default)]
struct Naive(Vec<bool>);

impl Naive {
    fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (i, _) in self.0.iter().enumerate().filter(|(_, free)| **free) {
            let unit = i as u32 + 1;
            match runs.last_mut() {
                Some((first, n)) if *first + *n == unit => *n += 1,
                _ => runs.push((unit, 1)),
            }
        }
        runs
    }

    fn set(&mut self, units: &[u32], free: bool) -> Result<(), u32> {
        let is = |unit: u32| (unit as usize).checked_sub(1).and_then(|i| self.0.get(i));
        if let Some(unit) = units.iter().find(|unit| is(**unit) != Some(&!free)) {
            return Err(*unit);
        }
        units.iter().for_each(|unit| self.0[*unit as usize - 1] = free);
        Ok(())
    }
}

#[derive(Clone, Debug)]
enum Step {
    Grow(u32),
    Take(Vec<u32>),
    GiveBack(Vec<u32>),
    /// Takes or frees those of `n` numbers from `first` that are not yet in that state.
    Sweep {
        first: u32,
        n: u32,
        free: bool,
    },
    TakeRun(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // 0 and numbers after the last one are drawn, too.
    let unit = || 0..2400_u32;
    let length = || prop_oneof![1..5_u32, 60..70_u32, 500..530_u32, 1..1500_u32];
    let step = prop_oneof![
        1 => length().prop_map(Step::Grow),
        2 => vec(unit(), 0..4).prop_map(Step::Take),
        2 => vec(unit(), 0..4).prop_map(Step::GiveBack),
        6 => (unit(), length(), any::<bool>())
            .prop_map(|(first, n, free)| Step::Sweep { first, n, free }),
        2 => length().prop_map(Step::TakeRun),
    ];
    vec(step, 1..40)
}

fn apply(step: Step, units: &mut Units, naive: &mut Naive) {
    match step {
        Step::Grow(more) => {
            // At most 2300 numbers: more than four blocks, and most drawn numbers exist.
            let more = more.min(2300 - naive.0.len() as u32);
            units.grow(more);
            naive.0.resize(naive.0.len() + more as usize, true);
        }
        Step::Take(numbers) => assert_eq!(units.take(&numbers), naive.set(&numbers, false)),
        Step::GiveBack(numbers) => {
            assert_eq!(units.give_back(&numbers), naive.set(&numbers, true));
        }
        Step::Sweep { first, n, free } => {
            let is = |unit: &u32| naive.0.get(*unit as usize - 1) == Some(&!free);
            let numbers: Vec<u32> = (first.max(1)..first.max(1) + n).filter(is).collect();
            let change = if free { Units::give_back } else { Units::take };
            assert_eq!(change(units, &numbers), Ok(()));
            assert_eq!(naive.set(&numbers, free), Ok(()));
        }
        Step::TakeRun(n) => {
            let Some(first) = units.lowest_run(n) else { return };
            let numbers: Vec<u32> = (first..first + n).collect();
            assert_eq!(units.take(&numbers), Ok(()));
            assert_eq!(naive.set(&numbers, false), Ok(()));
        }
    }
}

fn assert_same(units: &impl Free, naive: &Naive) {
    let runs = naive.runs();
    let longest = runs.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let all = || runs.iter().flat_map(|(first, n)| *first..first + n);
    assert_eq!(units.len() as usize, naive.0.len());
    assert_eq!(units.is_empty(), naive.0.is_empty());
    assert_eq!(units.longest_run(), longest);
    assert!(units.iter_free().eq(all()));
    for n in [0, 1, 2, 3, 63, 64, 65, 128, 511, 512, 513, 1024, longest, longest + 1] {
        let run = runs.iter().find(|(_, length)| n > 0 && *length >= n);
        assert_eq!(units.lowest_run(n), run.map(|(first, _)| *first), "a run of {n}");
    }
    for unit in 0..=units.len() + 1 {
        let free = unit > 0 && naive.0.get(unit as usize - 1) == Some(&true);
        assert_eq!(units.is_free(unit), free, "unit {unit}");
    }
    for unit in (0..=units.len() + 1).step_by(7) {
        let length = runs.iter().find(|(first, n)| (*first..first + n).contains(&unit));
        for n in [1, 64, 65, 511, 600, longest.max(1), longest + 1] {
            let is_in = length.is_some_and(|(_, length)| *length >= n);
            assert_eq!(units.is_in_run(unit, n), is_in, "unit {unit} in a run of {n}");
        }
    }
    for from in (0..=units.len() + 1).step_by(37) {
        let next =
            runs.iter().find(|(first, n)| first + n > from).map(|(first, _)| from.max(*first));
        assert_eq!(units.next_free(from), next, "from {from}");
    }
}

proptest! {
    #[test]
    fn units_answer_as_a_plain_vector_does(steps in steps()) {
        let (mut units, mut naive) = (Units::default(), Naive::default());
        for step in steps {
            apply(step, &mut units, &mut naive);
            assert_same(&units, &naive);
            assert_eq!(units.free() as usize, naive.0.iter().filter(|free| **free).count());
        }
    }

    /// An overlay answers as if its changes were made, and leaves the numbers below it unchanged.
    #[test]
    fn an_overlay_answers_as_if_its_changes_were_made(
        steps in steps(),
        changes in vec((0..2400_u32, 1..130_u32, any::<bool>()), 1..12),
    ) {
        let (mut units, mut naive) = (Units::default(), Naive::default());
        steps.into_iter().for_each(|step| apply(step, &mut units, &mut naive));
        let (before, mut overlay) = (Naive(naive.0.clone()), Overlay::default());
        assert_same(&Overlaid { units: &units, overlay: Some(&overlay) }, &naive);
        for (first, n, free) in changes {
            let is = |unit: &u32| naive.0.get(*unit as usize - 1) == Some(&!free);
            let numbers: Vec<u32> = (first.max(1)..first.max(1) + n).filter(is).collect();
            assert_eq!(overlay.set(&units, &numbers, free), Ok(()));
            assert_eq!(naive.set(&numbers, free), Ok(()));
            // Several changes may come before runs are looked for.
            if n % 3 == 0 {
                overlay.refresh(&units);
                assert_same(&Overlaid { units: &units, overlay: Some(&overlay) }, &naive);
            }
            assert_eq!(overlay.free(&units) as usize, naive.0.iter().filter(|it| **it).count());
        }
        overlay.refresh(&units);
        assert_same(&Overlaid { units: &units, overlay: Some(&overlay) }, &naive);
        let wrong = naive.0.iter().position(|free| *free).map(|at| at as u32 + 1);
        for unit in wrong.into_iter().chain([0, units.len() + 1]) {
            assert_eq!(overlay.clone().set(&units, &[unit], true), Err(unit));
        }
        assert_same(&units, &before);
    }
}

#[test]
fn a_refused_change_names_the_first_in_the_callers_order_and_changes_nothing() {
    let mut units = Units::new(5);
    assert_eq!(units.take(&[2, 4]), Ok(()));
    assert_eq!(units.take(&[1, 4, 2]), Err(4));
    assert_eq!(units.take(&[1, 6, 4]), Err(6));
    assert_eq!(units.take(&[0]), Err(0));
    assert_eq!(units.give_back(&[2, 3, 1]), Err(3));
    assert_eq!(units.give_back(&[2, 6]), Err(6));
    assert!(units.iter_free().eq([1, 3, 5]));
}

#[test]
fn a_number_named_twice_counts_once() {
    let mut units = Units::new(3);
    assert_eq!(units.take(&[2, 2]), Ok(()));
    assert_eq!(units.free(), 2);
    assert_eq!(units.give_back(&[2, 2]), Ok(()));
    assert_eq!(units.free(), 3);
}

#[test]
fn ten_million_numbers_take_at_most_six_bits_each() {
    for len in [10_000, 8_400_000, 10_000_000] {
        let bits = Units::new(len).heap_bytes() * 8;
        assert!(bits <= 6 * len as usize, "{bits} bits for {len} numbers");
        // One for each number, and two sums of runs for each whole block.
        let least = len as usize + len as usize / BLOCK as usize * 2 * size_of::<Runs>() * 8;
        assert!(bits >= least, "{bits} bits for {len} numbers");
    }
    // Grown one by one a vector may have room to spare.
    let mut units = Units::default();
    (0..10_000).for_each(|_| units.grow(1));
    assert!(units.heap_bytes() * 8 <= 6 * 10_000);
}

/// No run extends beyond the last number, however long the run asked for.
#[test]
fn a_run_ends_with_the_last_number() {
    for len in [2 * BLOCK, 2 * BLOCK + 9] {
        let units = Units::new(len);
        let found = [len, len + 1].map(|n| units.is_in_run(len - 1, n));
        assert_eq!(found, [true, false], "{len} numbers");
    }
}
