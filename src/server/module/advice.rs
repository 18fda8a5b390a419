//! Advice in the log when the module is loaded: server settings with which a sale may be lost.

use std::ffi::CStr;
use std::io;
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use redis_module::raw::{self, RedisModuleCtx};

use crate::server::ffi::api::{guarded, CallReply, OwnString};
use crate::server::ffi::ctx::Ctx;
use crate::server::ffi::log;
use crate::server::propagation::APPLY;

const MAY_EVICT: &str = "maxmemory-policy is an allkeys one: when memory runs out the server may \
    evict a sale with all its grants; set it to noeviction, or to a volatile one";

const NO_XINFO: &str = "XINFO is not there (rename-command): where an outbox takes only a part of \
    the entries of a change, they are appended and taken back, which raises its last id";

const NO_EXISTS: &str =
    "EXISTS is not there (rename-command): in this cluster INIT and ALTER with \
    OUTBOX, and MGRAB of several keys, are refused";

const MAY_LOSE_TRANSACTIONS: &str = "user default may not run every command, and this server \
    checks the rights of that user while it loads its append-only file: transactions in the file \
    (MGRAB, a round that begins with a call, your MULTI and scripts) are dropped, and all that \
    follows of their sales is refused. Set 'user default off resetpass ~* &* +@all' in redis.conf \
    or the ACL file, which lets nobody in, and restart: what a restart has dropped is still in the \
    file, as long as no BGREWRITEAOF has run";

/// The first versions known to load transactions from the AOF whatever the ACL of user default.
/// Seen to load them: Redis 8.6.2 and 8.10.2 and Valkey 9.1.2. Seen not to: Redis 7.0.15, 7.2.4,
/// 7.4.1, 8.0.2 and 8.2.2 and Valkey 8.1.8.
const REDIS_LOADS_ALL: (u32, u32) = (8, 6);
const VALKEY_LOADS_ALL: (u32, u32) = (9, 1);

/// Checks the server while the module is loaded, and again in a first timer callback. A starting
/// server sets up its users in between.
pub(super) fn give(ctx: Ctx<'_>) {
    if server_field(ctx, c"memory", c"maxmemory_policy", |it| it.starts_with(b"allkeys-"))
        == Some(true)
    {
        log::warning(MAY_EVICT);
    }
    if !has_command(ctx, c"XINFO") {
        log::warning(NO_XINFO);
    }
    if ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER) && !has_command(ctx, c"EXISTS") {
        log::warning(NO_EXISTS);
    }
    // SAFETY: the callback needs no data, and the context is kept for good.
    unsafe { api!(RedisModule_CreateTimer)(log::context(), 0, Some(first_turn), ptr::null_mut()) };
}

unsafe extern "C" fn first_turn(ctx: *mut RedisModuleCtx, _data: *mut c_void) {
    // SAFETY: the context is alive during the callback; the server runs timers under its lock.
    guarded((), || look_at_rights(unsafe { Ctx::new(ctx) }));
}

/// Warns, once, if loading the AOF now or next time would lose transactions.
pub(super) fn look_at_rights(ctx: Ctx<'_>) {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let has_log = server_field(ctx, c"persistence", c"aof_enabled", |it| it == b"1");
    if has_log == Some(true)
        && !loads_all(ctx)
        && !default_may_apply()
        && !IS_SAID.swap(true, Ordering::Relaxed)
    {
        log::warning(MAY_LOSE_TRANSACTIONS);
    }
}

/// Whether this server's version loads transactions without checking any user's ACL.
fn loads_all(ctx: Ctx<'_>) -> bool {
    let version = |field| server_field(ctx, c"server", field, major_and_minor).flatten();
    match version(c"valkey_version") {
        Some(version) => version >= VALKEY_LOADS_ALL,
        None => version(c"redis_version").is_some_and(|version| version >= REDIS_LOADS_ALL),
    }
}

/// The first two numbers of `8.10.2`.
fn major_and_minor(text: &[u8]) -> Option<(u32, u32)> {
    let mut numbers = std::str::from_utf8(text).ok()?.split('.').map(str::parse);
    numbers.next()?.ok().zip(numbers.next()?.ok())
}

/// Whether user default may run APPLY on every key: inside a transaction, the client that loads the
/// AOF needs that right.
fn default_may_apply() -> bool {
    let user = OwnString::new(b"default");
    let words = [APPLY.to_bytes(), b"seckill", b"0", b"0"].map(OwnString::new);
    let mut call = words.each_ref().map(OwnString::raw);
    // SAFETY: the strings outlive the calls, and the user is freed once.
    unsafe {
        let user = api!(RedisModule_GetModuleUserFromUserName)(user.raw());
        if user.is_null() {
            return false;
        }
        let may = api!(RedisModule_ACLCheckCommandPermissions)(
            user,
            call.as_mut_ptr(),
            call.len() as c_int,
        );
        api!(RedisModule_FreeModuleUser)(user);
        may as isize == raw::REDISMODULE_OK
    }
}

/// Whether the server has this command: it may refuse to run it.
fn has_command(ctx: Ctx<'_>, name: &CStr) -> bool {
    // SAFETY: the format names one text.
    let reply = CallReply(unsafe {
        let help = c"HELP".as_ptr();
        api!(RedisModule_Call)(ctx.raw(), name.as_ptr(), c"!ARc".as_ptr(), help)
    });
    !reply.is_missing() || io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT)
}

/// `of` applied to a field of the server's own INFO; none if there is no such field.
pub(super) fn server_field<T>(
    ctx: Ctx<'_>,
    section: &CStr,
    field: &CStr,
    of: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    // SAFETY: the texts end in NUL, the field's text lives as long as the data, and the data is
    // freed once.
    unsafe {
        let data = api!(RedisModule_GetServerInfo)(ctx.raw(), section.as_ptr());
        let text = api!(RedisModule_ServerInfoGetFieldC)(data, field.as_ptr());
        let answer = (!text.is_null()).then(|| of(CStr::from_ptr(text).to_bytes()));
        api!(RedisModule_FreeServerInfo)(ctx.raw(), data);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(major_and_minor(b"8.10.2"), Some((8, 10)));
        assert!(major_and_minor(b"8.10.2") >= Some(REDIS_LOADS_ALL));
        assert!(major_and_minor(b"8.2.2") < Some(REDIS_LOADS_ALL));
        for other in [&b""[..], b"8", b"8.x", b"\xff.1"] {
            assert_eq!(major_and_minor(other), None, "{other:?}");
        }
    }
}
