//! Times calls inside the server in nanoseconds. The server's own statistics have whole
//! microseconds.

use std::ffi::CString;
use std::fmt::Write;
use std::os::raw::{c_int, c_longlong};
use std::slice;
use std::time::Instant;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};
use seckill_random::Random;

use super::bytes_of;

/// Number of reply elements of PLACE for a waiter, and of its no-op command.
const PLACE_LEN: usize = 4;

/// `NOOP.TIME key command users calls`: makes `calls` calls of `command key user`, in turn for
/// `users` users. Replies the p50, p99 and p99.9 of their duration in nanoseconds.
pub(super) extern "C" fn time(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the context and the words are alive during the call, and there are `argc` of them.
    let took = unsafe {
        let words = slice::from_raw_parts(argv, argc as usize);
        measured(ctx, words)
    };
    let Some(took) = took else {
        // SAFETY: the context is alive and the text ends in NUL.
        return unsafe {
            api!(RedisModule_ReplyWithError)(ctx, c"ERR not all calls had a place".as_ptr())
        };
    };
    // SAFETY: the context is alive.
    unsafe {
        api!(RedisModule_ReplyWithArray)(ctx, 3);
        for thousandths in [500, 990, 999] {
            let place = took.len() * thousandths / 1000;
            api!(RedisModule_ReplyWithLongLong)(ctx, took[place.min(took.len() - 1)]);
        }
    }
    raw::REDISMODULE_OK as c_int
}

/// The sorted durations. `None` if the command can't be called or has another reply.
///
/// # Safety
/// The context and the words are alive.
unsafe fn measured(
    ctx: *mut RedisModuleCtx,
    words: &[*mut RedisModuleString],
) -> Option<Vec<c_longlong>> {
    let [_, key, command, users, calls] = words else { return None };
    // SAFETY: the caller guarantees it.
    let [command, users, calls] = unsafe { [command, users, calls].map(|word| bytes_of(*word)) };
    let number = |word| std::str::from_utf8(word).ok()?.parse::<u64>().ok();
    let (command, users, calls) = (CString::new(command).ok()?, number(users)?, number(calls)?);
    let (mut random, mut user) = (Random(calls), String::new());
    let mut took = Vec::with_capacity(calls as usize);
    for _ in 0..calls {
        user.clear();
        write!(user, "user:{:012}", random.below(users.max(1))).ok()?;
        let start = Instant::now();
        // SAFETY: the format names one string and a buffer with its length, which are alive.
        let reply = unsafe {
            let (bytes, len) = (user.as_ptr(), user.len());
            api!(RedisModule_Call)(ctx, command.as_ptr(), c"sb".as_ptr(), *key, bytes, len)
        };
        took.push(start.elapsed().as_nanos() as c_longlong);
        if reply.is_null() {
            return None;
        }
        // SAFETY: the reply is alive, and freed once.
        let len = unsafe {
            let len = api!(RedisModule_CallReplyLength)(reply);
            api!(RedisModule_FreeCallReply)(reply);
            len
        };
        (len == PLACE_LEN).then_some(())?;
    }
    took.sort_unstable();
    (!took.is_empty()).then_some(took)
}
