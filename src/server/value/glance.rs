//! A look at a key that leaves no trace: not in its idle time, not in the server's statistics, and
//! nobody is told of it.

use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleKey, RedisModuleString};

use super::datatype;
use super::stored::Value;
use crate::server::ffi::ctx::Ctx;

/// A key that is open for such a look.
pub(crate) struct Glance {
    key: *mut RedisModuleKey,
}

impl Glance {
    /// # Safety
    /// The name is alive as long as this, and no other borrow of the key's value.
    pub(crate) unsafe fn at(ctx: Ctx<'_>, name: *mut RedisModuleString) -> Glance {
        // SAFETY: by the caller's word; `drop` closes what is opened.
        Glance { key: unsafe { api!(RedisModule_OpenKey)(ctx.raw(), name, mode()) } }
    }

    /// The value, if it is a sale.
    pub(crate) fn value(&mut self) -> Option<&mut Value> {
        if self.key.is_null() {
            return None;
        }
        // SAFETY: the key is open until this struct is dropped.
        let kind = unsafe { api!(RedisModule_ModuleTypeGetType)(self.key) };
        if kind.is_null() || kind != datatype::handle() {
            return None;
        }
        // SAFETY: a value of our type is a boxed `Value` that the server keeps while the key is
        // open, and by the word of `at` nobody else borrows it.
        unsafe { api!(RedisModule_ModuleTypeGetValue)(self.key).cast::<Value>().as_mut() }
    }
}

impl Drop for Glance {
    fn drop(&mut self) {
        if !self.key.is_null() {
            // SAFETY: the key was opened by this struct and is closed once.
            unsafe { api!(RedisModule_CloseKey)(self.key) };
        }
    }
}

/// How the key is opened: with all that this server knows of what leaves no trace. Redis 7.0 can't
/// be asked; it knows how not to touch, and ignores the rest.
fn mode() -> c_int {
    let traceless = raw::REDISMODULE_OPEN_KEY_NOTOUCH
        | raw::REDISMODULE_OPEN_KEY_NONOTIFY
        | raw::REDISMODULE_OPEN_KEY_NOSTATS
        | raw::REDISMODULE_OPEN_KEY_NOEXPIRE;
    // SAFETY: reading a function pointer that is written once, while the module is loaded.
    let known = match unsafe { offered!(RedisModule_GetOpenKeyModesAll) } {
        // SAFETY: the function takes nothing and only answers a constant.
        Some(known) => unsafe { known() },
        None => raw::REDISMODULE_OPEN_KEY_NOTOUCH as c_int,
    };
    raw::REDISMODULE_READ as c_int | (traceless as c_int & known)
}
