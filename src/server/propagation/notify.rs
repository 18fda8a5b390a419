//! Keyspace notifications.

use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleString};

use crate::server::ffi::ctx::Ctx;

/// Sends `event` for `key` in the class `d` of modules. Whether anybody listens is the server's
/// to look at, which is as cheap as asking first: other modules may listen too, and no flag tells.
pub(crate) fn notify(ctx: Ctx<'_>, event: &'static CStr, key: *mut RedisModuleString) {
    let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
    // SAFETY: the key's name is alive during the call that notifies.
    unsafe { api!(RedisModule_NotifyKeyspaceEvent)(ctx.raw(), class, event.as_ptr(), key) };
}
