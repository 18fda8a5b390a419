//! The epoch of this node, and the rules that keep epochs distinct.
//!
//! A node's epoch begins when the process starts, loads data, is promoted or is demoted; its number
//! is the Unix ms of that moment. Numbers strictly increase within a process, whatever the clock
//! does. A sale that has a copy, or may have one, doesn't take the node's number for its own epoch:
//! see [`Sale::arrive`].
//!
//! [`Sale::arrive`]: seckill_domain::Sale::arrive

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::server::ffi::api::clock_ms;
use crate::server::ffi::ctx::{Locked, ServerLock};
use seckill_domain::Sale;

/// The epoch number of this node.
pub(crate) static NODE_EPOCH: AtomicU64 = AtomicU64::new(0);

/// A number above `last`, the last one given out, and not below `clock_ms`.
fn next(last: u64, clock_ms: u64) -> u64 {
    clock_ms.max(last.saturating_add(1))
}

/// Begins a new node epoch: when the module is loaded, and when this node is promoted or demoted.
pub(crate) fn begin() {
    NODE_EPOCH.store(next(NODE_EPOCH.load(Ordering::Relaxed), clock_ms()), Ordering::Relaxed);
}

/// The data set that the server loads: its own file, or its primary's.
struct Load {
    /// Whether the file is an AOF, or the start of one.
    is_log: bool,
    /// Ids of the sales loaded so far.
    seen: BTreeSet<[u8; 16]>,
}

static LOAD: Locked<Load> = Locked::new(Load { is_log: false, seen: BTreeSet::new() });

/// A data set begins to load, or is loaded. A new node epoch begins with it: the data before may
/// have been another history of these sales (DEBUG RELOAD after a RESTORE).
pub(crate) fn load(lock: ServerLock<'_>, is_log: bool) {
    begin();
    LOAD.with(lock, |load| *load = Load { is_log, seen: BTreeSet::new() });
}

/// Checks a sale from a payload: a client's, or with `is_of_load` one of the data set that is
/// loading. The second of two copies in one data set is recognized by its id.
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
