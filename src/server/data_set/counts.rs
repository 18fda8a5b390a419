//! What is counted: calls by what came of them since this node started, and how many sales and held
//! grants there are, data set by data set.
//!
//! A replica may load a new data set beside the one that it serves, and frees either of them later,
//! on whatever thread. So each value knows the counts of its set, and INFO shows those of the set
//! that is served.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use seckill_domain::outcome::{Outcome, REFUSALS};
use seckill_domain::waitlist::Waitlist;
use seckill_domain::Sale;

/// A number that only grows.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// One more. Only the main thread counts, so no locked instruction is needed.
    pub(crate) fn increment(&self) {
        self.add(1);
    }

    /// Adds so many.
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.get() + count, Ordering::Relaxed);
    }

    /// The number now.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) static GRANTED: Counter = Counter::new();
/// Each kind of [`REFUSALS`] at its place.
pub(crate) static REFUSED: [Counter; REFUSALS.len()] = [const { Counter::new() }; REFUSALS.len()];
pub(crate) static EXPIRED: Counter = Counter::new();
pub(crate) static OFFERS: Counter = Counter::new();
pub(crate) static DROPPED: Counter = Counter::new();
pub(crate) static APPLY_REFUSED: Counter = Counter::new();
pub(crate) static OUTBOX_REFUSED: Counter = Counter::new();

/// Counts the outcome of a call decided on this node, which is this one of [`REFUSALS`] if it is
/// one.
pub(crate) fn count(outcome: &Outcome, refusal: Option<usize>) {
    if let Some(counter) = refusal.and_then(|place| REFUSED.get(place)) {
        counter.increment();
    } else if matches!(outcome, Outcome::Granted { .. }) {
        GRANTED.increment();
    }
}

/// What a sale brings to the numbers of its data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Held grants.
    pub(crate) holds: u64,
    /// Entries of its waiting list.
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
    sales: AtomicU64,
    holds: AtomicU64,
    waiters: AtomicU64,
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

    /// Counts a sale that leaves the set, with what it brought last.
    pub(crate) fn subtract(&self, load: Load) {
        self.changed(load, Load::default());
        // Last, so that counts without sales are at rest when `take` finds it.
        self.sales.fetch_sub(1, Ordering::Release);
    }

    /// Follows a sale from `before` to `after`.
    fn changed(&self, before: Load, after: Load) {
        if after.holds != before.holds {
            self.holds.fetch_add(after.holds.wrapping_sub(before.holds), Ordering::Relaxed);
        }
        if after.waiters != before.waiters {
            self.waiters.fetch_add(after.waiters.wrapping_sub(before.waiters), Ordering::Relaxed);
        }
    }

    /// Sales of the set.
    pub(crate) fn sales(&self) -> u64 {
        self.sales.load(Ordering::Acquire)
    }

    /// Held grants of the set.
    pub(crate) fn holds(&self) -> u64 {
        self.holds.load(Ordering::Relaxed)
    }

    /// Entries of the waiting lists of the set.
    pub(crate) fn waiters(&self) -> u64 {
        self.waiters.load(Ordering::Relaxed)
    }
}

static FIRST: Counts = Counts::new();

/// Points to `FIRST` or to counts that were leaked: they stay for good.
static SERVED: AtomicPtr<Counts> = AtomicPtr::new(ptr::from_ref(&FIRST).cast_mut());

/// Counts of sets that are served no more. Those without any sale left are used again, so
/// there are as many as there were sets at the same time.
static RETIRED: Mutex<Vec<&'static Counts>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The counts of the set that is served.
pub(crate) fn served() -> &'static Counts {
    // SAFETY: what it points to stays for good and is only shared.
    unsafe { &*SERVED.load(Ordering::Acquire) }
}

/// Follows a served sale from `before` to `after`.
pub(crate) fn changed(before: Load, after: Load) {
    served().changed(before, after);
}

/// The same where only held grants can have changed.
pub(crate) fn held(before: u64, after: u64) {
    if before != after {
        served().holds.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

/// Counts for a set that begins to load.
pub(crate) fn take() -> &'static Counts {
    let mut retired = lock(&RETIRED);
    let unused = retired.iter().position(|counts| counts.sales() == 0);
    match unused.map(|place| retired.swap_remove(place)) {
        Some(counts) => counts,
        None => Box::leak(Box::default()),
    }
}

/// Another set is served from now on.
pub(crate) fn serve(counts: &'static Counts) {
    let before = served();
    SERVED.store(ptr::from_ref(counts).cast_mut(), Ordering::Release);
    retire(before);
}

/// A set is given up.
pub(crate) fn retire(counts: &'static Counts) {
    lock(&RETIRED).push(counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(holds: u64) -> Load {
        Load { holds, waiters: 3 * holds }
    }

    #[test]
    fn a_set_that_is_served_no_more_counts_for_itself() {
        let (old, new) = (served(), take());
        old.add(holds(2));
        new.add(holds(5));
        new.add(holds(1));
        assert_eq!((served().sales(), served().holds()), (1, 2));
        serve(new);
        assert_eq!((served().sales(), served().holds()), (2, 6));
        changed(holds(6), holds(4));
        let other = take();
        assert!(!std::ptr::eq(other, old), "one that still counts a sale is not used again");
        old.subtract(holds(2));
        assert_eq!((served().sales(), served().holds()), (2, 4));
        retire(other);
        let again = [take(), take()];
        assert!(again.iter().any(|counts| std::ptr::eq(*counts, old)));
        assert!(again.iter().any(|counts| std::ptr::eq(*counts, other)));
    }
}
