//! The value at a key: a sale and its share of the counters. Only this file turns a value of the
//! server into a sale.

use std::marker::PhantomData;
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use redis_module::raw::{self, RedisModuleKey, RedisModuleString, RedisModuleType};

use crate::server::data_set::counts::{self, Counts, Load};
use crate::server::data_set::timer;
use crate::server::ffi::ctx::{Ctx, ServerLock};
use crate::server::ffi::log;
use seckill_domain::Sale;

/// The server's value. The sale comes first, so that a pointer to a value is a pointer to its sale.
#[repr(C)]
pub(crate) struct Value {
    pub(crate) sale: Sale,
    /// The counts of its data set.
    counts: &'static Counts,
    /// Whether the value has no key that this module knows. Its key was renamed, moved or deleted,
    /// or a payload has just brought it. A keyless value later comes to a key or is freed.
    is_keyless: AtomicBool,
}

/// Sales in memory without a key name (amid RENAME, MOVE, RESTORE); freeing one decrements.
static KEYLESS: AtomicU64 = AtomicU64::new(0);

/// Sales in memory without a key name.
pub(crate) fn keyless() -> u64 {
    KEYLESS.load(Ordering::Relaxed)
}

impl Value {
    /// Marks the value as keyless.
    pub(crate) fn leave_key(&self) {
        if !self.is_keyless.swap(true, Ordering::Relaxed) {
            KEYLESS.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Marks the value as no longer keyless.
    fn count_out(&mut self) {
        if std::mem::take(self.is_keyless.get_mut()) {
            KEYLESS.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A RENAME, MOVE or RESTORE has brought the value to a key of the served data, so it joins the
    /// counts of that data set. A payload that came while a primary's data was loading may have
    /// been counted there. An audit looks for it at its former key.
    pub(crate) fn come_to_key(&mut self, lock: ServerLock<'_>) {
        self.count_out();
        self.sale.forget_audits();
        if timer::arriving_counts(lock).is_some_and(|counts| ptr::eq(counts, self.counts)) {
            self.counts.subtract(Load::of(&self.sale));
            self.counts = counts::served();
            self.counts.add(Load::of(&self.sale));
        }
    }
}

/// Wraps a sale as a value of the server.
pub(crate) fn value_of(sale: Sale) -> *mut c_void {
    boxed(sale, counts::served()).cast()
}

pub(crate) fn boxed(sale: Sale, counts: &'static Counts) -> *mut Value {
    counts.add(Load::of(&sale));
    Box::into_raw(Box::new(Value { sale, counts, is_keyless: AtomicBool::new(false) }))
}

/// Frees a value.
///
/// # Safety
/// `value` came from `value_of` and nobody uses it any more.
pub(crate) unsafe fn free(value: *mut c_void) {
    // SAFETY: by the caller's word the box is whole and ours.
    let mut value = unsafe { Box::from_raw(value.cast::<Value>()) };
    value.count_out();
    let (counts, load) = (value.counts, Load::of(&value.sale));
    drop(value);
    counts.subtract(load);
}

/// The type's handle, set while loading.
static TYPE: AtomicPtr<RedisModuleType> = AtomicPtr::new(ptr::null_mut());

/// Keeps the type's handle.
pub(super) fn set_type_handle(handle: *mut RedisModuleType) {
    TYPE.store(handle, Ordering::Relaxed);
}

/// The reason why a key has no sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSale {
    /// The key is missing.
    Missing,
    /// The key holds another type.
    Foreign,
}

const NOT_FILLED: &str = "the server refused a new sale";

/// An open key, which borrows its call exclusively. So no function that runs code of other modules
/// can be called meanwhile, and the sale is borrowed once.
pub struct Key<'c> {
    key: *mut RedisModuleKey,
    call: PhantomData<&'c mut ()>,
}

impl Key<'_> {
    /// Opens the key of this name. Without a name there is no value, and none can be put.
    ///
    /// # Safety
    /// While the key is open, its name is alive and nobody else borrows its value.
    pub(crate) unsafe fn open(
        ctx: Ctx<'_>,
        name: Option<*mut RedisModuleString>,
        mode: c_int,
    ) -> Self {
        let key = match name {
            // SAFETY: by the caller's word.
            Some(name) => unsafe { api!(RedisModule_OpenKey)(ctx.raw(), name, mode) },
            None => ptr::null_mut(),
        };
        Key { key, call: PhantomData }
    }

    /// The sale at the key.
    pub fn sale(&mut self) -> Result<&mut Sale, NoSale> {
        Ok(&mut self.value()?.sale)
    }

    /// The value of the sale at the key.
    fn value(&mut self) -> Result<&mut Value, NoSale> {
        if self.key.is_null() {
            return Err(NoSale::Missing);
        }
        // SAFETY: the key is open until this struct is dropped.
        let kind = unsafe { api!(RedisModule_ModuleTypeGetType)(self.key) };
        if !kind.is_null() && kind == TYPE.load(Ordering::Relaxed) {
            // SAFETY: as above. A value of our type is a boxed `Value` that the server keeps while
            // the key is open, and by the word of `open` this borrow is the only one.
            let value: Option<&mut Value> =
                unsafe { api!(RedisModule_ModuleTypeGetValue)(self.key).cast::<Value>().as_mut() };
            return value.ok_or(NoSale::Foreign);
        }
        // SAFETY: as above.
        match unsafe { api!(RedisModule_KeyType)(self.key) } as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => Err(NoSale::Missing),
            _ => Err(NoSale::Foreign),
        }
    }

    /// Puts a sale at the key, which was opened for writing and is missing. Foreign code may run in
    /// it: the server notifies of the new key.
    pub fn fill(self, sale: Sale) {
        if self.key.is_null() {
            return log::warning(NOT_FILLED);
        }
        let value = value_of(sale);
        // SAFETY: the key is open, the type is ours and the value is one of its values.
        let status = unsafe {
            api!(RedisModule_ModuleTypeSetValue)(self.key, TYPE.load(Ordering::Relaxed), value)
        };
        if status as isize != raw::REDISMODULE_OK {
            // The server promises to refuse only keys opened for reading.
            log::warning(NOT_FILLED);
            // SAFETY: the server refused the value, so it is still ours alone.
            unsafe { free(value) };
        }
    }
}

/// A key that is open for reading only: its sale can't be changed.
pub struct View<'c>(pub(in crate::server) Key<'c>);

impl View<'_> {
    /// The sale at the key.
    pub fn sale(&mut self) -> Result<&Sale, NoSale> {
        Ok(&self.0.value()?.sale)
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.key.is_null() {
            // SAFETY: the key was opened by this call and is closed once; every borrow of its
            // sale has ended.
            unsafe { api!(RedisModule_CloseKey)(self.key) };
        }
    }
}

/// A read of a key that leaves no trace: neither in its idle time nor in the server's statistics,
/// and without a notification.
pub(crate) struct Peek<'c>(Key<'c>);

impl<'c> Peek<'c> {
    /// # Safety
    /// While this lives, the name is alive and nobody else borrows the key's value.
    pub(crate) unsafe fn at(ctx: Ctx<'c>, name: *mut RedisModuleString) -> Self {
        // SAFETY: by the caller's word.
        Peek(unsafe { Key::open(ctx, Some(name), mode()) })
    }

    /// The sale at the key.
    pub(crate) fn sale(&mut self) -> Result<&mut Sale, NoSale> {
        self.0.sale()
    }

    /// The value, if it is a sale.
    pub(crate) fn value(&mut self) -> Option<&mut Value> {
        self.0.value().ok()
    }
}

/// The mode of a peek: all flags known to this server that avoid a trace. Redis 7.0 can't be asked;
/// it knows NOTOUCH and ignores the rest.
fn mode() -> c_int {
    let traceless = raw::REDISMODULE_OPEN_KEY_NOTOUCH
        | raw::REDISMODULE_OPEN_KEY_NONOTIFY
        | raw::REDISMODULE_OPEN_KEY_NOSTATS
        | raw::REDISMODULE_OPEN_KEY_NOEXPIRE;
    let known = match offered!(RedisModule_GetOpenKeyModesAll) {
        // SAFETY: the function takes nothing and only answers a constant.
        Some(known) => unsafe { known() },
        None => raw::REDISMODULE_OPEN_KEY_NOTOUCH as c_int,
    };
    raw::REDISMODULE_READ as c_int | (traceless as c_int & known)
}
