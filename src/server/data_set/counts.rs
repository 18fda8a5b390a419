//! Counters since this node started, by outcome, and the number of sales, holds and waiters of each
//! data set.
//!
//! A replica may load a new data set beside the one that it serves, and later free either of them
//! on any thread. So each value knows the counts of its data set, and INFO shows those of the set
//! that is served.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use seckill_domain::outcome::OUTCOMES;
use seckill_domain::waitlist::Waitlist;
use seckill_domain::Sale;

/// Answers to GRAB, by their index in [`OUTCOMES`].
pub(crate) static ANSWERS: [AtomicU64; OUTCOMES.len()] =
    [const { AtomicU64::new(0) }; OUTCOMES.len()];
pub(crate) static EXPIRED: AtomicU64 = AtomicU64::new(0);
pub(crate) static OFFERS: AtomicU64 = AtomicU64::new(0);
pub(crate) static DROPPED: AtomicU64 = AtomicU64::new(0);
pub(crate) static APPLY_REFUSED: AtomicU64 = AtomicU64::new(0);
pub(crate) static OUTBOX_REFUSED: AtomicU64 = AtomicU64::new(0);

/// A sale's share of the numbers of its data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Grants in state HELD.
    pub(crate) holds: u64,
    /// Waiters on its list.
    pub(crate) waiters: u64,
}

impl Load {
    pub(crate) fn of(sale: &Sale) -> Load {
        Load { holds: sale.holds_len(), waiters: sale.waitlist().map_or(0, Waitlist::len) }
    }
}

/// The numbers of one data set.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sales: AtomicU64,
    pub(crate) holds: AtomicU64,
    pub(crate) waiters: AtomicU64,
}

impl Counts {
    const fn new() -> Counts {
        let (sales, holds, waiters) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Counts { sales, holds, waiters }
    }

    /// Counts a sale that joins the set.
    pub(crate) fn add(&self, load: Load) {
        self.sales.fetch_add(1, Ordering::Relaxed);
        self.changed(Load::default(), load);
    }

    /// Uncounts a sale that leaves the set: `load` is its last known share.
    pub(crate) fn subtract(&self, load: Load) {
        self.changed(load, Load::default());
        // The count of sales is decremented last: when `take` finds counts without sales, they are
        // unused.
        self.sales.fetch_sub(1, Ordering::Release);
    }

    /// Replaces a sale's share `before` by `after`.
    fn changed(&self, before: Load, after: Load) {
        if after.holds != before.holds {
            self.holds.fetch_add(after.holds.wrapping_sub(before.holds), Ordering::Relaxed);
        }
        if after.waiters != before.waiters {
            self.waiters.fetch_add(after.waiters.wrapping_sub(before.waiters), Ordering::Relaxed);
        }
    }
}

static FIRST: Counts = Counts::new();

/// Points to `FIRST` or to leaked counts, which are never freed.
static SERVED: AtomicPtr<Counts> = AtomicPtr::new(ptr::from_ref(&FIRST).cast_mut());

/// Counts of data sets that are no longer served. Counts without a sale are used again, so there
/// are never more than the most data sets that existed at one time.
static RETIRED: Mutex<Vec<&'static Counts>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The counts of the data set that is being served.
pub(crate) fn served() -> &'static Counts {
    // SAFETY: the pointer is to counts that are never freed and only shared.
    unsafe { &*SERVED.load(Ordering::Acquire) }
}

/// Replaces the share of a served sale.
pub(crate) fn changed(before: Load, after: Load) {
    served().changed(before, after);
}

/// Counts for a data set that begins to load.
pub(crate) fn take() -> &'static Counts {
    let mut retired = lock(&RETIRED);
    let unused = retired.iter().position(|counts| counts.sales.load(Ordering::Acquire) == 0);
    match unused.map(|index| retired.swap_remove(index)) {
        Some(counts) => counts,
        None => Box::leak(Box::default()),
    }
}

/// Makes `counts` those of the data set that is served from now on.
pub(crate) fn serve(counts: &'static Counts) {
    let before = served();
    SERVED.store(ptr::from_ref(counts).cast_mut(), Ordering::Release);
    retire(before);
}

/// Retires the counts of a data set that is given up.
pub(crate) fn retire(counts: &'static Counts) {
    lock(&RETIRED).push(counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(holds: u64) -> Load {
        Load { holds, waiters: 3 * holds }
    }

    fn numbers(counts: &Counts) -> (u64, u64) {
        (counts.sales.load(Ordering::Relaxed), counts.holds.load(Ordering::Relaxed))
    }

    #[test]
    fn a_set_that_is_served_no_more_counts_for_itself() {
        let (old, new) = (served(), take());
        old.add(holds(2));
        new.add(holds(5));
        new.add(holds(1));
        assert_eq!(numbers(served()), (1, 2));
        serve(new);
        assert_eq!(numbers(served()), (2, 6));
        changed(holds(6), holds(4));
        let other = take();
        assert!(!std::ptr::eq(other, old), "one that still counts a sale is not used again");
        old.subtract(holds(2));
        assert_eq!(numbers(served()), (2, 4));
        retire(other);
        let again = [take(), take()];
        assert!(again.iter().any(|counts| std::ptr::eq(*counts, old)));
        assert!(again.iter().any(|counts| std::ptr::eq(*counts, other)));
    }
}
