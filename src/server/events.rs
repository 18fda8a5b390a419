//! Keyspace notifications.

use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::with_c_str;

/// Sends `event` for `key` in the class `d` of modules. Whether anybody listens is the server's
/// to look at, which is as cheap as asking first: other modules may listen too, and no flag tells.
pub(super) fn notify(ctx: *mut RedisModuleCtx, event: &'static str, key: *mut RedisModuleString) {
    with_c_str(event, |event| {
        let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
        // SAFETY: the context and the key are alive during the call that notifies, and the event
        // ends in NUL.
        unsafe { api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, event, key) };
    });
}
