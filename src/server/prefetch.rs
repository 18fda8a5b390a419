//! Asking the processor for memory that will be needed soon.

/// Starts to bring the cache line at `address` closer and does not wait for it. On processors other
/// than x86-64 it does nothing.
#[inline]
pub(super) fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads and writes nothing, whatever the address is.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(address as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
