//! Finds a short list of steps that still fails, by the minimizing delta debugging of Zeller and
//! Hildebrandt (2002).

use super::{replay, Failure, Step};

/// Leaves steps out of a failure as long as it still fails. The numbers in steps are kept.
pub fn shrink(failure: &Failure) -> Failure {
    let mut steps = failure.steps.clone();
    let mut wrong = failure.wrong.clone();
    let mut parts = 2;
    while steps.len() > 1 {
        let size = steps.len().div_ceil(parts);
        match shorter(failure, &steps, size) {
            Some((fewer, why)) => {
                steps = fewer;
                wrong = why;
                parts = (parts - 1).max(2);
            }
            None if size == 1 => break,
            None => parts = (parts * 2).min(steps.len()),
        }
    }
    Failure { setup: failure.setup.clone(), steps, wrong }
}

/// Leaves out `size` steps in a row, if the other steps still fail.
fn shorter(failure: &Failure, steps: &[Step], size: usize) -> Option<(Vec<Step>, String)> {
    (0..steps.len()).step_by(size).find_map(|start| {
        let end = steps.len().min(start + size);
        let fewer = [&steps[..start], &steps[end..]].concat();
        replay(&failure.setup, &fewer).err().map(|wrong| (fewer, wrong))
    })
}
