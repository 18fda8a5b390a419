//! The server's functions.
//!
//! The server fills in a pointer for each function that it has; newer functions are missing on
//! older servers. A function that every supported server has is called with `api!`, and loading
//! has checked that those are there; one that may be missing is looked at with `offered!` first.

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

/// The pointer to a function that only newer servers have.
macro_rules! offered {
    ($name:ident) => {
        redis_module::raw::$name
    };
}

/// Loading refuses a server that lacks a required function, so this is never reached; the panic is
/// caught by the trampolines.
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
