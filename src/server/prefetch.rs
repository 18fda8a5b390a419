//! Asking the processor for memory that will be needed soon.

/// Starts to bring the cache line of `place` closer and does not wait for it. On processors other
/// than x86-64 it does nothing.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads and writes nothing, whatever the address is.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
