//! The command filter: sees the words of every command before the server runs it.

use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleCommandFilterCtx, RedisModuleCtx};

use super::ahead;
use super::api::guarded;
use super::call::bytes_of;

/// What the names of our commands begin with, in a form that large and small letters share.
const PREFIX: u64 = u64::from_le_bytes(*b"SECKILL.") & LETTERS;
const LETTERS: u64 = u64::from_le_bytes([!(b'a' ^ b'A'); 8]);

/// Looks at commands from now on, where the server lets it.
pub(super) fn register(ctx: *mut RedisModuleCtx) {
    let no_self = raw::REDISMODULE_CMDFILTER_NOSELF as c_int;
    // SAFETY: the context is alive while loading; the callback has the type that is asked for.
    unsafe { api!(RedisModule_RegisterCommandFilter)(ctx, Some(see), no_self) };
}

unsafe extern "C" fn see(call: *mut RedisModuleCommandFilterCtx) {
    // SAFETY: the filter's context is alive during the callback.
    let count = unsafe { api!(RedisModule_CommandFilterArgsCount)(call) };
    // Most commands that are not ours are told apart by this.
    if count == 2 {
        return;
    }
    guarded((), || {
        let name = word(call, 0).first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        // Other bytes have the same form as the dot: they are no command's.
        if name.is_some_and(|name| name & LETTERS == PREFIX) && ahead::is_needed() {
            ahead::look(word(call, 1), word(call, 2));
        }
    });
}

/// A word of the command, empty behind the last.
fn word<'c>(call: *mut RedisModuleCommandFilterCtx, place: c_int) -> &'c [u8] {
    // SAFETY: the words are alive during the callback, and the server checks the place.
    unsafe {
        match api!(RedisModule_CommandFilterArgGet)(call, place) {
            word if word.is_null() => &[],
            word => bytes_of(word),
        }
    }
}
