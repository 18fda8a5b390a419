//! One call of a command: its arguments as bytes, its clock, and what it may do.

use std::ffi::CStr;
use std::ops::Range;
use std::os::raw::c_int;
use std::ptr;
use std::slice;

use redis_module::raw::{self, RedisModuleKey, RedisModuleString};
use smallvec::SmallVec;

use super::sweeper;
use crate::server::ffi::api::guarded;
use crate::server::ffi::ctx::Ctx;
use crate::server::ffi::reply::Reply;
use crate::server::module::register::{KeySpec, Spec};
use crate::server::propagation::outbox::{Appended, Outbox};
use crate::server::propagation::{epoch, notify, replicate};
use crate::server::value::key::{Key, View};
use seckill_domain::effect::Change;
use seckill_domain::request::Now;

/// What a command does: it replies exactly once.
pub type Handler = fn(&mut Call<'_>);

/// Arguments beside the command's name that need no heap.
const ARGS_INLINE: usize = 8;

const FAILED: &str = "ERR internal error, see the server's log";

/// Another module's code ran in the middle of a change, or calls while writes are paused.
pub const BEING_CHANGED: &str = "TRYAGAIN sale is being changed";

/// One call of a command.
pub struct Call<'a> {
    ctx: Ctx<'a>,
    /// The arguments without the command's name, as the server has them.
    strings: &'a [*mut RedisModuleString],
    args: &'a [&'a [u8]],
    now: Option<Now>,
}

impl<'a> Call<'a> {
    /// A call that no client made: a timer's or an event's. `args` are the bytes of `strings`.
    pub(crate) fn of_timer(
        ctx: Ctx<'a>,
        strings: &'a [*mut RedisModuleString],
        args: &'a [&'a [u8]],
    ) -> Call<'a> {
        Call { ctx, strings, args, now: None }
    }

    /// The arguments, without the command's name.
    pub fn args(&self) -> &'a [&'a [u8]] {
        self.args
    }

    /// The moment of this call: the clock is read once.
    pub fn now(&mut self) -> Now {
        *self.now.get_or_insert_with(epoch::now)
    }

    /// Where the reply goes. Taken before a key is opened, it can be used while one is open.
    pub fn reply(&self) -> Reply<'a> {
        Reply::new(self.ctx)
    }

    /// Opens the key that `args()[arg]` names for writing. The call stands still until the key is
    /// dropped: replicate, signal and notify afterwards.
    pub fn open(&mut self, arg: usize) -> Key<'_> {
        Key::new(self.opened(arg, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE))
    }

    /// The same for reading alone.
    pub fn view(&mut self, arg: usize) -> View<'_> {
        View::new(self.opened(arg, raw::REDISMODULE_READ))
    }

    /// Whoever takes the key closes it. Null for a missing key that is opened for reading.
    fn opened(&self, arg: usize, mode: u32) -> *mut RedisModuleKey {
        let Some(name) = self.name(arg) else { return ptr::null_mut() };
        // SAFETY: the name is alive during the call.
        unsafe { api!(RedisModule_OpenKey)(self.ctx.raw(), name, mode as c_int) }
    }

    /// Lets keys expire whose time to live is over, in which foreign code may run. Within a command
    /// time stands still: no key expires afterwards.
    pub fn let_expire(&mut self, args: &[usize]) {
        args.iter().for_each(|arg| drop(self.open(*arg)));
    }

    /// Opens several keys for writing, which must have different names, in order. None of them may
    /// expire in it, see [`Call::let_expire`]: foreign code could delete the values of the others.
    pub fn open_several(&mut self, args: impl Iterator<Item = usize>) -> SmallVec<[Key<'_>; 1]> {
        let (mut seen, mut keys) = (SmallVec::<[usize; 1]>::new(), SmallVec::new());
        for arg in args {
            let is_repeated = seen.iter().any(|other| self.args.get(*other) == self.args.get(arg));
            debug_assert!(!is_repeated, "one sale would be borrowed twice");
            // A repeated name stays closed, which shows as a missing key.
            keys.push(match is_repeated {
                true => Key::new(ptr::null_mut()),
                false => Key::new(self.opened(arg, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE)),
            });
            seen.push(arg);
        }
        keys
    }

    /// Replicates changes of the sale at `args()[key_arg]` as `SECKILL.APPLY key version effect
    /// ...`, where `version` is the one that the first change follows.
    #[inline]
    pub fn replicate(&mut self, key_arg: usize, version: u64, changes: &[Change<'_>]) {
        if let Some(key) = self.name(key_arg) {
            replicate::changes(self.ctx, key, version, changes);
        }
    }

    /// The streams of this call. Taken before a sale's key is opened, it can be used while that is
    /// open.
    pub fn outbox(&self) -> Outbox<'a> {
        Outbox::new(self.ctx)
    }

    /// Replicates entries that were appended, with their ids.
    pub fn replicate_outbox(&mut self, appended: &Appended<'_>) {
        appended.replicate();
        appended.signal();
    }

    /// Notifies of entries that were appended. Foreign code may run in it, as in `notify`.
    pub fn notify_outbox(&mut self, appended: &Appended<'_>) {
        appended.notify();
    }

    /// Has the sweeper look at `args()[key_arg]` when `deadline` comes.
    pub fn watch(&mut self, key_arg: usize, deadline: u64) {
        if let Some(key) = self.args.get(key_arg) {
            sweeper::watch(self.ctx.lock(), self.ctx.db(), key, deadline);
        }
    }

    /// Replicates this very call.
    pub fn replicate_verbatim(&mut self) {
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.ctx.raw()) };
    }

    /// Tells clients that WATCH or cache the key that it changed.
    pub fn signal_modified(&mut self, key_arg: usize) {
        if let Some(key) = self.name(key_arg) {
            // SAFETY: the key's name is alive during the call.
            unsafe { api!(RedisModule_SignalModifiedKey)(self.ctx.raw(), key) };
        }
    }

    /// Sends a keyspace notification of class `d`. Foreign code may run in it: it comes last, just
    /// before the reply.
    pub fn notify(&mut self, event: &'static CStr, key_arg: usize) {
        if let Some(key) = self.name(key_arg) {
            notify::notify(self.ctx, event, key);
        }
    }

    fn name(&self, arg: usize) -> Option<*mut RedisModuleString> {
        let name = self.strings.get(arg).copied();
        debug_assert!(name.is_some(), "a handler names an argument that its arity guarantees");
        name
    }
}

/// Whether writes are held back now, by CLIENT PAUSE or a failover. The server holds back the
/// commands of clients, and stops when anybody else replicates something.
pub(crate) fn writes_are_paused() -> bool {
    // SAFETY: reading a function pointer that is written once, while the module is loaded.
    let avoid = unsafe { offered!(RedisModule_AvoidReplicaTraffic) };
    // SAFETY: the function takes nothing and only looks.
    avoid.is_some_and(|avoid| unsafe { avoid() } != 0)
}

/// Whether this call must change nothing, because writes are paused. Clients are held back by the
/// server, so it is another module's, or the rest of a transaction that paused them itself. What
/// comes from the primary, from a log, or with a slot that moves here is taken as ever.
fn is_held_back(ctx: Ctx<'_>, spec: &Spec) -> bool {
    if !spec.writes() || !writes_are_paused() {
        return false;
    }
    let is_told = ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING)
        || ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_REPLICATED);
    !is_told && (!spec.internal || ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING))
}

/// Whether the server only asks which keys the call has.
fn is_about_keys(ctx: Ctx<'_>) -> bool {
    // SAFETY: a living context is all that the call needs.
    unsafe { api!(RedisModule_IsKeysPositionRequest)(ctx.raw()) != 0 }
}

/// Tells the server where the keys of this call are.
fn tell_keys(ctx: Ctx<'_>, spec: &Spec, args: &[&[u8]]) {
    for key in spec.keys {
        for place in places_of(key, args) {
            if let Ok(place) = c_int::try_from(place) {
                // SAFETY: a living context is all that the call needs.
                unsafe {
                    api!(RedisModule_KeyAtPosWithFlags)(ctx.raw(), place, key.flags as c_int)
                };
            }
        }
    }
}

/// Where the keys of one spec are, the command's name being 0. None when the call has not all of
/// those that it counts: it will be refused.
fn places_of(key: &KeySpec, args: &[&[u8]]) -> Range<usize> {
    let at = usize::try_from(key.pos).unwrap_or(0);
    let (first, count) = match key.option {
        Some(option) => match (option.find)(args) {
            Some(arg) => (arg + 1, 1),
            None => return 0..0,
        },
        None if !key.counted => (at, 1),
        None => {
            let told = at.checked_sub(1).and_then(|arg| args.get(arg));
            let count = told.and_then(|told| std::str::from_utf8(told).ok()?.parse().ok());
            (at + 1, count.unwrap_or(0))
        }
    };
    match first.checked_add(count) {
        Some(end) if end <= args.len() + 1 => first..end,
        _ => 0..0,
    }
}

/// Runs the command `spec` on a call of the server.
///
/// # Safety
/// `argv` and `argc` are what the server passed to the command that is running.
pub(crate) unsafe fn run(
    ctx: Ctx<'_>,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
    spec: &'static Spec,
) -> c_int {
    let done = guarded(false, || {
        let argc = usize::try_from(argc).unwrap_or(0);
        // SAFETY: the server passes `argc` strings, which stay alive during the call.
        let argv = unsafe { slice::from_raw_parts(argv, argc) };
        let strings = argv.split_first().map_or(&[][..], |(_, strings)| strings);
        if strings.len() > ARGS_INLINE {
            let mut args = vec![&[][..]; strings.len()];
            // SAFETY: the strings stay alive during the call.
            return unsafe { handle(ctx, spec, strings, &mut args) };
        }
        let mut args: [&[u8]; ARGS_INLINE] = [&[]; ARGS_INLINE];
        // SAFETY: as above.
        unsafe { handle(ctx, spec, strings, &mut args[..strings.len()]) }
    });
    if !done {
        Reply::new(ctx).error(FAILED);
    }
    raw::REDISMODULE_OK as c_int
}

/// Looks up where the bytes of the `strings` are, into `args`, and runs the command on them.
///
/// # Safety
/// The strings are alive while the command runs.
#[inline(always)]
unsafe fn handle<'a>(
    ctx: Ctx<'a>,
    spec: &Spec,
    strings: &'a [*mut RedisModuleString],
    args: &'a mut [&'a [u8]],
) -> bool {
    for (place, string) in args.iter_mut().zip(strings) {
        // SAFETY: the string is alive by the caller's word.
        *place = unsafe { bytes_of(*string) };
    }
    if spec.finds_keys() && is_about_keys(ctx) {
        tell_keys(ctx, spec, args);
    } else if is_held_back(ctx, spec) {
        Reply::new(ctx).error(BEING_CHANGED);
    } else {
        (spec.handler)(&mut Call { ctx, strings, args, now: None });
    }
    true
}

/// The bytes of a server's string.
///
/// # Safety
/// The string must outlive `'s` and not be changed in it.
pub(crate) unsafe fn bytes_of<'s>(string: *const RedisModuleString) -> &'s [u8] {
    let mut len = 0;
    // SAFETY: the string is valid by the caller's word.
    let start = unsafe { api!(RedisModule_StringPtrLen)(string, &mut len) };
    if start.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the server says where the bytes are and how many.
    unsafe { slice::from_raw_parts(start.cast(), len) }
}
