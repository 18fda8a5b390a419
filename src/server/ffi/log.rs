//! Writing to the server's log.

use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use redis_module::raw::RedisModuleCtx;

/// A context that outlives calls; the log takes the module's name from it.
static CONTEXT: AtomicPtr<RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Keeps the context for log lines.
pub(crate) fn set_context(context: *mut RedisModuleCtx) {
    CONTEXT.store(context, Ordering::Release);
}

/// The context that outlives calls.
pub(crate) fn context() -> *mut RedisModuleCtx {
    CONTEXT.load(Ordering::Acquire)
}

/// Logs a line that an operator should act on.
pub fn warning(message: &str) {
    write(c"warning", message);
}

/// Logs a line for information.
pub fn notice(message: &str) {
    write(c"notice", message);
}

/// Logs a warning unless `per_second` warnings were logged in this second (Unix time).
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
    // The message is an argument, never the format: a `%` in it has no effect.
    let format = c"%s";
    // SAFETY: the server takes a null context too; all texts end in NUL and outlive the call.
    unsafe {
        log(context(), level.as_ptr(), format.as_ptr(), text.as_ptr());
    }
}

/// Makes control characters visible: they could forge lines, and NUL would cut the text.
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
