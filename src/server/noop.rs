//! A command that does nothing, for the benches alone: no less can be asked of a module.

use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

const NOT_CREATED: &str = "the server does not take SECKILL.NOOP";

/// Registers `SECKILL.NOOP key user`, with the flags and the key of GRAB, so that the server does
/// for it what it does for GRAB before the call.
pub(super) fn register(ctx: *mut RedisModuleCtx) -> Result<(), &'static str> {
    let (name, flags) = (c"SECKILL.NOOP", c"write fast deny-oom");
    // SAFETY: the context is alive while loading, and the server copies both texts.
    let created = unsafe {
        api!(RedisModule_CreateCommand)(ctx, name.as_ptr(), Some(run), flags.as_ptr(), 1, 1, 1)
    };
    match created as isize {
        raw::REDISMODULE_OK => Ok(()),
        _ => Err(NOT_CREATED),
    }
}

extern "C" fn run(
    ctx: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the context is alive during the call, and the text is constant.
    unsafe { api!(RedisModule_ReplyWithSimpleString)(ctx, c"OK".as_ptr()) }
}
