//! Writing to the server's log.

use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use redis_module::raw::RedisModuleCtx;

/// A context that outlives calls: the log shows by it which module speaks.
static CONTEXT: AtomicPtr<RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Keeps the context that log lines are written with.
pub(crate) fn set_context(context: *mut RedisModuleCtx) {
    CONTEXT.store(context, Ordering::Release);
}

/// The context that outlives calls.
pub(crate) fn context() -> *mut RedisModuleCtx {
    CONTEXT.load(Ordering::Acquire)
}

/// Logs what an operator should look at.
pub fn warning(message: &str) {
    write(c"warning", message);
}

/// Logs what is good to know.
pub fn notice(message: &str) {
    write(c"notice", message);
}

/// Logs a warning unless this second, a Unix time, has had `per_second` of them.
pub(crate) fn warning_at_most(per_second: u64, second: u64, message: &str) {
    static SECOND: AtomicU64 = AtomicU64::new(0);
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    if SECOND.swap(second, Ordering::Relaxed) != second {
        WRITTEN.store(0, Ordering::Relaxed);
    }
    if WRITTEN.fetch_add(1, Ordering::Relaxed) < per_second {
        warning(message);
    }
}

fn write(level: &CStr, message: &str) {
    let Some(log) = offered!(RedisModule_Log) else {
        return;
    };
    let Ok(text) = CString::new(printable(message)) else {
        return;
    };
    // The message is an argument and never the format: a `%` in it means nothing.
    let format = c"%s";
    // SAFETY: the server takes a null context too; all texts end in NUL and outlive the call.
    unsafe {
        log(context(), level.as_ptr(), format.as_ptr(), text.as_ptr());
    }
}

/// Control characters could forge lines and NUL would cut the text: both become visible.
fn printable(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for character in message.chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_without_nul() {
        assert_eq!(printable("a\0b\nc%s\u{7}"), "a\\u{0}b\\nc%s\\u{7}");
        assert_eq!(printable("é plain"), "é plain");
    }

    #[test]
    fn without_a_server_nothing_is_written() {
        warning("nobody hears this: %s%n");
    }
}
