//! One call of a command: its arguments as bytes, its clock, its keys, and its replication.

use std::os::raw::c_int;
use std::sync::atomic::Ordering;

use redis_module::raw::{self, RedisModuleString};

use super::data_set::timer;
use super::ffi::api::{clock_ms, OwnString};
use super::ffi::ctx::{Ctx, Locked};
use super::ffi::log;
use super::propagation::outbox::{Appended, Outbox};
use super::propagation::{epoch, APPLY};
use super::reply::Reply;
use super::value::key::{Key, View};
use super::walk::{self, Walk};
use seckill_domain::effect::Change;
use seckill_domain::event::EVENTS;
use seckill_domain::limits::EFFECTS_PER_APPLY_MAX;
use seckill_domain::plan::Plan;
use seckill_domain::request::Now;
use seckill_domain::Sale;

/// A command's handler: replies exactly once.
pub type Handler = fn(&mut Call<'_>);

const NOT_REPLICATED: &str =
    "the server refused to replicate a change: replicas and the append-only file lack it";

/// Buffer in which effects are encoded before the server copies them. The buffer is kept between
/// calls, so that a plain grant allocates nothing for its effect.
static SCRATCH: Locked<Vec<u8>> = Locked::new(Vec::new());

/// Mode in which a key is opened whose sale may change.
const CHANGE: c_int = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as c_int;

/// Largest scratch buffer that is kept between calls.
const SCRATCH_BYTES_MAX: usize = 64 * 1024;

/// The result of a commit, beside its plan.
#[derive(Default)]
pub struct Committed<'s> {
    /// Entries appended to the stream.
    pub entries: Appended<'s>,
    /// Holds that expired.
    pub expired: u64,
    /// Time at which the sweeper must look at the sale, Unix ms.
    pub look_at: Option<u64>,
    /// Whether the sweeper must look at once: a waiter can be served.
    pub is_urgent: bool,
}

/// One call of a command.
pub struct Call<'a> {
    ctx: Ctx<'a>,
    /// The arguments without the command's name, as strings of the server.
    strings: &'a [*mut RedisModuleString],
    args: &'a [&'a [u8]],
}

impl<'a> Call<'a> {
    /// `args` are the bytes of `strings`. Both are alive as long as the context.
    pub(crate) fn new(
        ctx: Ctx<'a>,
        strings: &'a [*mut RedisModuleString],
        args: &'a [&'a [u8]],
    ) -> Call<'a> {
        Call { ctx, strings, args }
    }

    /// The arguments, without the command's name.
    pub fn args(&self) -> &'a [&'a [u8]] {
        self.args
    }

    /// The time of this call. Each command reads it once.
    pub fn now(&self) -> Now {
        Now { clock_ms: clock_ms(), node_epoch: epoch::NODE_EPOCH.load(Ordering::Relaxed) }
    }

    /// Whether the call comes over the replication link of this replica's primary, not from an AOF,
    /// a client, or another primary whose slot moves here.
    pub fn is_of_primary(&self) -> bool {
        let flags = self.ctx.flags();
        let elsewhere = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_MASTER;
        flags & raw::REDISMODULE_CTX_FLAGS_REPLICATED != 0 && flags & elsewhere == 0
    }

    /// The call's reply. Taken before a key is opened, it can be used while a key is open.
    pub fn reply(&self) -> Reply<'a> {
        Reply::new(self.ctx)
    }

    /// Opens the key that `args()[arg]` names for writing. The key borrows the call: replicate,
    /// signal and notify after it is dropped.
    pub fn open(&mut self, arg: usize) -> Key<'_> {
        // SAFETY: the name is alive during the call, which can't open the key again meanwhile.
        unsafe { Key::open(self.ctx, self.name(arg), CHANGE) }
    }

    /// Opens the key that `args()[arg]` names for reading only.
    pub fn view(&mut self, arg: usize) -> View<'_> {
        // SAFETY: as above.
        View(unsafe { Key::open(self.ctx, self.name(arg), raw::REDISMODULE_READ as c_int) })
    }

    /// Replies with the result of `walk` over the sale that `args()[arg]` names. Between its steps
    /// the server serves other clients. A caller that can't be blocked gets all steps at once.
    pub fn in_steps(&mut self, arg: usize, walk: Box<dyn Walk>) {
        let key = self.args.get(arg).copied().unwrap_or_default();
        walk::start(self.ctx, key, walk, |walk| walk.step(self.view(arg).0.sale()));
    }

    /// Lets the server delete keys whose TTL has passed, which may run foreign code. The clock
    /// stands still within a command, so no key expires afterwards.
    pub fn let_expire(&mut self, args: &[usize]) {
        args.iter().for_each(|arg| drop(self.open(*arg)));
    }

    /// Opens keys with different names for writing, in order. None of them may expire meanwhile
    /// (see [`Call::let_expire`]): foreign code could delete the values of the other keys.
    pub fn open_all(&mut self, args: impl Iterator<Item = usize>) -> Vec<Key<'_>> {
        let (mut seen, mut keys) = (Vec::<usize>::new(), Vec::new());
        for arg in args {
            let is_repeated = seen.iter().any(|other| self.args.get(*other) == self.args.get(arg));
            debug_assert!(!is_repeated, "one sale would be borrowed twice");
            // A repeated name stays closed, which shows as a missing key.
            let name = self.name(arg).filter(|_| !is_repeated);
            // SAFETY: the names are alive during the call, and each is of another key.
            keys.push(unsafe { Key::open(self.ctx, name, CHANGE) });
            seen.push(arg);
        }
        keys
    }

    /// Replicates the changes of the sale at `args()[key_arg]` as `SECKILL.APPLY key position
    /// effect ...`, in commands of at most [`EFFECTS_PER_APPLY_MAX`] effects.
    #[inline]
    pub fn replicate(&mut self, key_arg: usize, plan: &Plan<'_>, committed: &Committed<'_>) {
        let Some(key) = self.name(key_arg) else { return };
        SCRATCH.with(self.ctx.lock(), |scratch| {
            let mut done = 0;
            for part in plan.changes.chunks(EFFECTS_PER_APPLY_MAX) {
                scratch.clear();
                let position = plan.position(done..done + part.len(), committed.entries.first);
                position.encode(scratch);
                done += part.len();
                let status = match part {
                    [change] => {
                        let split = scratch.len();
                        change.encode(scratch);
                        let (position, effect) = scratch.split_at(split);
                        // SAFETY: the key's name is alive, the format names one string and two
                        // buffers with their lengths, and the server copies all of them before it
                        // returns.
                        unsafe {
                            api!(RedisModule_Replicate)(
                                self.ctx.raw(),
                                APPLY.as_ptr(),
                                c"sbb".as_ptr(),
                                key,
                                position.as_ptr(),
                                position.len(),
                                effect.as_ptr(),
                                effect.len(),
                            )
                        }
                    }
                    part => many(self.ctx, key, scratch, part),
                };
                if status as isize != raw::REDISMODULE_OK {
                    log::warning(NOT_REPLICATED);
                }
            }
            if scratch.capacity() > SCRATCH_BYTES_MAX {
                *scratch = Vec::new();
            }
        });
    }

    /// The streams of this call. Taken before a sale's key is opened, they can be used while that
    /// key is open.
    pub fn outbox(&self) -> Outbox<'a> {
        Outbox { ctx: self.ctx, strings: self.strings, args: self.args }
    }

    /// Replicates the command of this call unchanged.
    pub fn replicate_verbatim(&mut self) {
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.ctx.raw()) };
    }

    /// Puts a new sale at a missing key. Called after the change is replicated. Filling the key
    /// comes last here, too: the server then notifies of the new key, and foreign code may change
    /// or move the sale.
    pub fn put(&mut self, key_arg: usize, mut sale: Sale) {
        if let Some(key) = self.args.get(key_arg) {
            timer::watch_sale(self.ctx.lock(), self.ctx.db(), key, &mut sale);
        }
        self.open(key_arg).fill(sale);
    }

    /// Signals a modified sale, and a modified stream of its entries, to clients that WATCH or
    /// cache their keys. Also wakes the sweeper if the sale needs it at once.
    #[inline]
    pub fn signal(&mut self, key_arg: usize, committed: &Committed<'_>) {
        // SAFETY: the names are alive during the call.
        let signal = |name| unsafe { api!(RedisModule_SignalModifiedKey)(self.ctx.raw(), name) };
        if let Some(stream) = committed.entries.stream {
            signal(stream.name.raw());
        }
        if let Some(key) = self.name(key_arg) {
            signal(key);
        }
        let lock = self.ctx.lock();
        if let Some((key, deadline)) = self.args.get(key_arg).zip(committed.look_at) {
            timer::watch(lock, self.ctx.db(), key, deadline);
        }
        if committed.is_urgent {
            timer::arm_now(lock);
        }
    }

    /// Notifies of the committed changes, in order: new entries as XADD does, then each kind of
    /// event in the class `d` of modules. The server itself checks whether anybody subscribed,
    /// which is as cheap as asking first. Foreign code may run in the notification, so it comes
    /// last, just before the reply.
    #[inline]
    pub fn notify(&mut self, key_arg: usize, plan: &Plan<'_>, committed: &Committed<'_>) {
        if let Appended { stream: Some(stream), len, .. } = &committed.entries {
            let class = raw::REDISMODULE_NOTIFY_STREAM as c_int;
            for _ in 0..*len {
                let (name, event) = (stream.name.raw(), c"xadd".as_ptr());
                // SAFETY: the stream's name is alive during the call, and the text ends in NUL.
                unsafe {
                    api!(RedisModule_NotifyKeyspaceEvent)(self.ctx.raw(), class, event, name)
                };
            }
        }
        let Some(key) = self.name(key_arg) else { return };
        let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
        let mut last = None;
        for event in &plan.events {
            // Consecutive events of one kind are notified once.
            if last.replace(event.kind) == Some(event.kind) {
                continue;
            }
            let Some(event) = EVENTS[event.kind as usize].notification else { continue };
            // SAFETY: as above.
            unsafe {
                api!(RedisModule_NotifyKeyspaceEvent)(self.ctx.raw(), class, event.as_ptr(), key)
            };
        }
    }

    fn name(&self, arg: usize) -> Option<*mut RedisModuleString> {
        let name = self.strings.get(arg).copied();
        debug_assert!(name.is_some(), "a handler names an argument that its arity guarantees");
        name
    }
}

/// Replicates several changes in one command. `scratch` holds their position.
fn many(
    ctx: Ctx<'_>,
    key: *mut RedisModuleString,
    scratch: &mut Vec<u8>,
    changes: &[Change<'_>],
) -> c_int {
    let split = scratch.len();
    let mut effects: Vec<OwnString> = Vec::with_capacity(changes.len());
    for change in changes {
        scratch.truncate(split);
        change.encode(scratch);
        effects.push(OwnString::new(&scratch[split..]));
    }
    // SAFETY: as for one change; each element of the vector points to a string that is alive during
    // the call.
    unsafe {
        api!(RedisModule_Replicate)(
            ctx.raw(),
            APPLY.as_ptr(),
            c"sbv".as_ptr(),
            key,
            scratch.as_ptr(),
            split,
            effects.as_ptr(),
            effects.len(),
        )
    }
}
