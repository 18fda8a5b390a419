//! The server's context and its lock, as types. Both are made where the server calls the module. So
//! a function that takes one needs no further proof that the context is alive or the lock held.
//!
//! The server runs one callback of the module at a time, but not always on one thread. Another
//! module may call our commands from its own thread while it holds the lock. So no state of the
//! server may be `thread_local`.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::raw::{c_int, c_void};
use std::ptr;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

/// The server's callback for a subscribed event.
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

    /// The pointer for the server's functions.
    #[inline]
    pub(crate) fn raw(self) -> *mut RedisModuleCtx {
        self.raw
    }

    /// The server's lock, which is held by the contract of `Ctx::new`.
    #[inline]
    pub(crate) fn lock(self) -> ServerLock<'c> {
        ServerLock(PhantomData)
    }

    /// Whether a flag of `REDISMODULE_CTX_FLAGS` is set.
    pub(crate) fn has_flag(self, flag: u32) -> bool {
        self.flags() & flag != 0
    }

    /// All flags of `REDISMODULE_CTX_FLAGS` as they are now.
    pub(crate) fn flags(self) -> u32 {
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_GetContextFlags)(self.raw) as u32 }
    }

    /// Whether writes are paused now, by CLIENT PAUSE or a failover. The server holds back the
    /// commands of clients, and aborts if anybody else replicates then.
    pub(crate) fn writes_are_paused(self) -> bool {
        match offered!(RedisModule_AvoidReplicaTraffic) {
            // SAFETY: the function takes nothing and only looks.
            Some(avoid) => unsafe { avoid() != 0 },
            None => false,
        }
    }

    /// The selected database.
    pub(crate) fn db(self) -> c_int {
        // SAFETY: as above.
        unsafe { api!(RedisModule_GetSelectedDb)(self.raw) }
    }

    /// Selects a database; false if there is no database of that number.
    pub(crate) fn select_db(self, db: c_int) -> bool {
        // SAFETY: as above; the server checks the number.
        let status = unsafe { api!(RedisModule_SelectDb)(self.raw, db) };
        status as isize == raw::REDISMODULE_OK
    }

    /// Subscribes `on_event` to an event; false if the server refuses.
    pub(crate) fn subscribe(self, event: u64, on_event: OnEvent) -> bool {
        let event = RedisModuleEvent { id: event, dataver: 1 };
        // SAFETY: the callback has the type that is asked for, and is a function, which stays.
        let status =
            unsafe { api!(RedisModule_SubscribeToServerEvent)(self.raw, event, Some(on_event)) };
        status as isize == raw::REDISMODULE_OK
    }
}

/// Whether a flag of `REDISMODULE_CTX_FLAGS` is set, for flags that need no context.
pub(crate) fn server_has_flag(flag: u32) -> bool {
    // SAFETY: the server's function also takes a null context.
    unsafe { api!(RedisModule_GetContextFlags)(ptr::null_mut()) as u32 & flag != 0 }
}

/// Proof, bound to its thread, that the server's lock is held during `'c`.
#[derive(Clone, Copy)]
pub struct ServerLock<'c>(PhantomData<(&'c (), *const ())>);

impl ServerLock<'_> {
    /// The code that gets this lock runs inside a call that the server made under its lock. All
    /// callbacks are such calls, with two exceptions. A value may be freed on any thread. Callbacks
    /// in a forked child use a copy of the state that nobody else uses.
    pub(crate) unsafe fn held() -> Self {
        ServerLock(PhantomData)
    }
}

/// A value that only the holder of the server's lock can reach.
pub(crate) struct Locked<T>(RefCell<T>);

// SAFETY: `with` takes a proof that the lock is held, so one thread at a time reaches the value,
// and `T` may be sent between threads.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Locked<T> {
        Locked(RefCell::new(value))
    }

    /// Lends the value. `body` must call nothing that can run a callback of the module.
    pub(crate) fn with<R>(&self, _lock: ServerLock<'_>, body: impl FnOnce(&mut T) -> R) -> R {
        body(&mut self.0.borrow_mut())
    }
}
