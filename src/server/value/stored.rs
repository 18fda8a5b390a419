//! What the server keeps at a key: a sale, and what goes with its life.

use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::server::data_set::counts::{self, Counts, Load};
use crate::server::data_set::timer;
use crate::server::ffi::ctx::ServerLock;
use seckill_domain::Sale;

/// What the server keeps: the sale first, so that a pointer to one is a pointer to the other.
#[repr(C)]
pub(crate) struct Value {
    sale: Sale,
    /// What counts it.
    counts: &'static Counts,
    /// It lies at no key that we know of.
    is_adrift: AtomicBool,
}

/// How many values are adrift. One that is freed is no more.
static ADRIFT: AtomicU64 = AtomicU64::new(0);

/// How many sales are in memory that lie at no key that we know of.
pub(crate) fn adrift() -> u64 {
    ADRIFT.load(Ordering::Relaxed)
}

impl Value {
    pub(crate) fn sale(&mut self) -> &mut Sale {
        &mut self.sale
    }

    pub(crate) fn cast_off(&self) {
        if !self.is_adrift.swap(true, Ordering::Relaxed) {
            ADRIFT.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn land(&mut self) {
        if std::mem::take(self.is_adrift.get_mut()) {
            ADRIFT.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// It lies at a key of the data that is served. A payload that came while a primary's data was
    /// loading may have been taken for a part of that.
    pub(crate) fn settle(&mut self, lock: ServerLock<'_>) {
        self.land();
        if timer::arriving_counts(lock).is_some_and(|counts| ptr::eq(counts, self.counts)) {
            self.counts.subtract(Load::of(&self.sale));
            self.counts = counts::served();
            self.counts.add(Load::of(&self.sale));
        }
    }
}

/// Makes a sale a value of the server's.
pub(crate) fn of(sale: Sale) -> *mut c_void {
    boxed(sale, counts::served()).cast()
}

pub(crate) fn boxed(sale: Sale, counts: &'static Counts) -> *mut Value {
    counts.add(Load::of(&sale));
    Box::into_raw(Box::new(Value { sale, counts, is_adrift: AtomicBool::new(false) }))
}

/// Frees a value.
///
/// # Safety
/// `value` came from here and nobody uses it any more.
pub(crate) unsafe fn free(value: *mut c_void) {
    // SAFETY: by the caller's word the box is whole and ours.
    let mut value = unsafe { Box::from_raw(value.cast::<Value>()) };
    value.land();
    let (counts, load) = (value.counts, Load::of(&value.sale));
    drop(value);
    counts.subtract(load);
}
