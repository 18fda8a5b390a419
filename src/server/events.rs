//! Keyspace notifications.

use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

/// Sends `event` for `key` in the class `d` of modules. Whether anybody listens is the server's
/// to look at, which is as cheap as asking first: other modules may listen too, and no flag tells.
pub(super) fn notify(ctx: *mut RedisModuleCtx, event: &'static CStr, key: *mut RedisModuleString) {
    let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
    // SAFETY: the context and the key are alive during the call that notifies.
    unsafe { api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, event.as_ptr(), key) };
}
