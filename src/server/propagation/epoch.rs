//! The run of this primary: what makes epochs differ.
//!
//! A run begins when the process starts and when it is promoted, and is named by the Unix ms of
//! that moment. Names are strictly increasing within a process, whatever the clock does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::server::ffi::api::clock_ms;

/// The name of this run.
pub(crate) static RUN: AtomicU64 = AtomicU64::new(0);

/// The last moment that was given out as a name.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A moment that was not given out before, not earlier than `clock_ms`.
fn next(clock_ms: u64) -> u64 {
    let later = |last: u64| clock_ms.max(last.saturating_add(1));
    let update = |last| Some(later(last));
    let (Ok(last) | Err(last)) = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
    later(last)
}

/// Begins a run: at load, and when this node is promoted.
pub(crate) fn begin() {
    RUN.store(next(clock_ms()), Ordering::Relaxed);
}

/// The moment that a restored sale arrives here: two restores of one dump must not go on under
/// the same epoch.
pub fn next_arrival() -> u64 {
    next(clock_ms())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_increase_when_the_clock_does_not() {
        let first = next(1_000);
        let second = next(1_000);
        let third = next(500);
        assert!(first < second && second < third, "{first} {second} {third}");
        assert!(next(third + 100) >= third + 100);
    }
}
