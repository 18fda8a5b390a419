//! The server's functions.
//!
//! The server fills in a pointer for each function that it has; newer functions are missing on
//! older servers. `api!` is for functions that Redis 7.0 has, and loading refuses what is older;
//! any other is looked at with `offered!` first.

use std::panic::{catch_unwind, AssertUnwindSafe};

use super::log;

/// The pointer to a function that every supported server has.
macro_rules! api {
    ($name:ident) => {
        match redis_module::raw::$name {
            Some(function) => function,
            None => $crate::server::api::missing(stringify!($name)),
        }
    };
}

/// The pointer to a function that only newer servers have, or none.
macro_rules! offered {
    ($name:ident) => {
        redis_module::raw::$name
    };
}

/// No server that loads the module lacks such a function. Should one all the same, the panic is
/// caught where the server called us.
#[cold]
pub fn missing(name: &'static str) -> ! {
    panic!("the server lacks {name}")
}

const PANICKED: &str = "a callback failed inside; see the line before this one";

/// Runs a callback of the server. A panic must not unwind into C, where it would end the process:
/// it is logged and `fallback` is answered instead.
pub fn guarded<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer,
        Err(_) => {
            log::warning(PANICKED);
            fallback
        }
    }
}

/// Longest text that [`with_c_str`] passes on; the rest is cut off.
const TEXT_BYTES_MAX: usize = 255;

/// Lends `text` as a C string, without the heap. Our texts are short constants.
pub fn with_c_str<T>(text: &str, body: impl FnOnce(*const libc::c_char) -> T) -> T {
    let mut buffer = [0u8; TEXT_BYTES_MAX + 1];
    for (place, byte) in buffer.iter_mut().zip(text.bytes().take(TEXT_BYTES_MAX)) {
        // A NUL would end the text early and nothing worse.
        *place = byte;
    }
    body(buffer.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_becomes_the_fallback() {
        assert_eq!(guarded(1, || 2), 2);
        assert_eq!(guarded(1, || missing("RedisModule_Nothing")), 1);
    }

    #[test]
    fn texts_are_lent_with_their_nul_and_cut_when_too_long() {
        let copy = |text: *const libc::c_char| {
            // SAFETY: `with_c_str` promises a NUL at the end.
            unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()
        };
        assert_eq!(with_c_str("seckill.grant", copy), b"seckill.grant");
        assert_eq!(with_c_str("", copy), b"");
        assert_eq!(with_c_str(&"x".repeat(999), copy).len(), TEXT_BYTES_MAX);
    }
}
