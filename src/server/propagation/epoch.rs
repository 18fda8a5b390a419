//! The run of this primary, and what makes epochs differ.
//!
//! A run begins when the process starts, loads data and is promoted, and is named by the Unix ms of
//! that moment. Names are strictly increasing within a process, whatever the clock does. A sale
//! that has a copy, or may have one, takes no run's name for its epoch: see [`Sale::arrive`].
//!
//! [`Sale::arrive`]: seckill_domain::Sale::arrive

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::server::ffi::api::clock_ms;
use crate::server::ffi::ctx::{Locked, ServerLock};
use seckill_domain::Sale;

/// The name of this run.
pub(crate) static RUN: AtomicU64 = AtomicU64::new(0);

/// A name that was not given out before, not below `clock_ms`; `last` is the last one.
fn next(last: u64, clock_ms: u64) -> u64 {
    clock_ms.max(last.saturating_add(1))
}

/// Begins a run: when the module is loaded, and when this node is promoted.
pub(crate) fn begin() {
    RUN.store(next(RUN.load(Ordering::Relaxed), clock_ms()), Ordering::Relaxed);
}

/// The data set that the server loads: its own file, or its primary's.
struct Load {
    /// It is a log, or one follows it.
    is_log: bool,
    /// The sales that it has had so far.
    seen: BTreeSet<[u8; 16]>,
}

static LOAD: Locked<Load> = Locked::new(Load { is_log: false, seen: BTreeSet::new() });

/// A data set begins to load, or is there. A run that goes on with it is a new one: what was there
/// before may have been another history of the same sales (DEBUG RELOAD behind a RESTORE).
pub(crate) fn load(lock: ServerLock<'_>, is_log: bool) {
    begin();
    LOAD.with(lock, |load| *load = Load { is_log, seen: BTreeSet::new() });
}

/// Looks at a sale that a payload brings, for a client or, `is_of_load`, of the data set that is
/// loaded. Of two copies in one data set the second one is known by its id.
pub(crate) fn look_at(lock: ServerLock<'_>, sale: &mut Sale, is_of_load: bool) {
    let has_copy =
        !is_of_load || LOAD.with(lock, |load| load.is_log || !load.seen.insert(sale.id_text()));
    if has_copy {
        sale.arrive();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_increase_when_the_clock_does_not() {
        let first = next(0, 1_000);
        let second = next(first, 1_000);
        let third = next(second, 500);
        assert!(first < second && second < third, "{first} {second} {third}");
        assert_eq!(next(third, third + 100), third + 100);
    }
}
