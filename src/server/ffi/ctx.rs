//! A context of the server's as a type, made once where the server calls us. What takes one needs
//! nobody's word that it is alive, and is run with the server's lock in hand: a context does not
//! leave its thread.

use std::marker::PhantomData;
use std::os::raw::{c_int, c_void};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::locked::ServerLock;

/// What the server calls when something happens that a module was subscribed to.
type OnEvent =
    unsafe extern "C" fn(*mut RedisModuleCtx, RedisModuleEvent, subevent: u64, *mut c_void);

/// A context that is alive during `'c`.
#[derive(Clone, Copy)]
pub struct Ctx<'c> {
    raw: *mut RedisModuleCtx,
    alive: PhantomData<&'c ()>,
}

impl<'c> Ctx<'c> {
    /// # Safety
    /// The server gave the context, it is alive during the lifetime that is chosen here, and this
    /// thread holds the server's lock meanwhile.
    pub(crate) unsafe fn new(raw: *mut RedisModuleCtx) -> Self {
        Ctx { raw, alive: PhantomData }
    }

    /// As the server takes it.
    #[inline]
    pub(crate) fn raw(self) -> *mut RedisModuleCtx {
        self.raw
    }

    /// The word that the server's lock is held, as whoever made this gave it.
    #[inline]
    pub(crate) fn lock(self) -> ServerLock<'c> {
        // SAFETY: by the word of `new`.
        unsafe { ServerLock::held() }
    }

    /// Whether a flag of `REDISMODULE_CTX_FLAGS` is set.
    pub(crate) fn has_flag(self, flag: u32) -> bool {
        // SAFETY: a living context is all that the call needs.
        let flags = unsafe { api!(RedisModule_GetContextFlags)(self.raw) };
        flags & flag as c_int != 0
    }

    /// The database that is selected.
    pub(crate) fn db(self) -> c_int {
        // SAFETY: as above.
        unsafe { api!(RedisModule_GetSelectedDb)(self.raw) }
    }

    /// Selects a database; false where there is none of that number.
    pub(crate) fn select_db(self, db: c_int) -> bool {
        // SAFETY: as above; the server checks the number.
        let status = unsafe { api!(RedisModule_SelectDb)(self.raw, db) };
        status as isize == raw::REDISMODULE_OK
    }

    /// Has the server call `on_event`; false where it refuses.
    pub(crate) fn subscribe(self, event: u64, on_event: OnEvent) -> bool {
        let event = RedisModuleEvent { id: event, dataver: 1 };
        // SAFETY: the callback has the type that is asked for, and is a function, which stays.
        let status =
            unsafe { api!(RedisModule_SubscribeToServerEvent)(self.raw, event, Some(on_event)) };
        status as isize == raw::REDISMODULE_OK
    }
}
