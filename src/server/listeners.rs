//! Whether anybody listens to what is replicated: an append-only file or a replica.
//!
//! Handing a change over costs more than deciding it, even when the server then drops it because
//! nobody listens. The server does not say whether somebody does, but nobody can begin to without
//! being seen: an append-only file is switched on by CONFIG SET, which the server tells of, and a
//! replica sends PSYNC or SYNC, for which a command filter looks. After the first replica the
//! answer is "yes" for good. A node of a cluster, whose slots may move in other ways, and one that
//! is or was a replica always count as listened to.

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use redis_module::raw::{
    self, RedisModuleCommandFilter, RedisModuleCommandFilterCtx, RedisModuleCtx, RedisModuleEvent,
};

use super::api::guarded;
use super::call::bytes_of;
use super::load::server_field;
use super::log;

/// Not asked yet: asked when the next change is made, once all data are loaded.
const UNKNOWN: u8 = 0;
const NOBODY: u8 = 1;
/// An append-only file and nobody else.
const LOG: u8 = 2;
const SOMEBODY: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static FILTER: AtomicPtr<RedisModuleCommandFilter> = AtomicPtr::new(ptr::null_mut());

/// Looks out for replicas from now on.
pub(super) fn follow(ctx: *mut RedisModuleCtx) {
    let no_self = raw::REDISMODULE_CMDFILTER_NOSELF as c_int;
    // SAFETY: the context is alive while loading; the callback has the type that is asked for.
    let filter = unsafe { api!(RedisModule_RegisterCommandFilter)(ctx, Some(filter), no_self) };
    FILTER.store(filter, Ordering::Relaxed);
    if filter.is_null() || !follow_config(ctx) {
        somebody_came();
    }
}

/// Has the server tell of CONFIG SET. False where it does not.
fn follow_config(ctx: *mut RedisModuleCtx) -> bool {
    let event = RedisModuleEvent { id: raw::REDISMODULE_EVENT_CONFIG, dataver: 1 };
    // SAFETY: the context is alive while loading; the callback has the type that is asked for.
    let status =
        unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx, event, Some(config_changed)) };
    status as isize == raw::REDISMODULE_OK
}

/// The append-only file may have been switched on or off.
unsafe extern "C" fn config_changed(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    _subevent: u64,
    _data: *mut c_void,
) {
    if STATE.load(Ordering::Relaxed) != SOMEBODY {
        STATE.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// Somebody may listen from now on: this node changed its role, or a replica came.
pub(super) fn somebody_came() {
    STATE.store(SOMEBODY, Ordering::Relaxed);
}

/// Whether a change must be handed over.
#[inline]
pub(super) fn are_there(ctx: *mut RedisModuleCtx) -> bool {
    match STATE.load(Ordering::Relaxed) {
        NOBODY => false,
        LOG | SOMEBODY => true,
        _ => ask(ctx),
    }
}

fn has_flags(ctx: *mut RedisModuleCtx, flags: u32) -> bool {
    // SAFETY: the context is alive during the call.
    unsafe { api!(RedisModule_GetContextFlags)(ctx) & flags as c_int != 0 }
}

/// Asks the server; while it loads, later.
#[cold]
fn ask(ctx: *mut RedisModuleCtx) -> bool {
    if has_flags(ctx, raw::REDISMODULE_CTX_FLAGS_LOADING) {
        return true;
    }
    let is = |field, wanted: &'static [u8]| {
        server_field(ctx, c"replication", field, |text| text == wanted)
    };
    let cluster = has_flags(ctx, raw::REDISMODULE_CTX_FLAGS_CLUSTER);
    let nobody = is(c"role", b"master")
        && is(c"connected_slaves", b"0")
        && is(c"repl_backlog_active", b"0")
        && !cluster;
    let state = match (nobody, has_flags(ctx, raw::REDISMODULE_CTX_FLAGS_AOF)) {
        (true, false) => NOBODY,
        (true, true) => LOG,
        (false, _) => SOMEBODY,
    };
    STATE.store(state, Ordering::Relaxed);
    if state == SOMEBODY {
        stop();
    }
    state != NOBODY
}

/// Takes the filter out: the answer is known for good.
fn stop() {
    let filter = FILTER.swap(ptr::null_mut(), Ordering::Relaxed);
    if !filter.is_null() {
        // SAFETY: the filter was registered by this module and is taken out once; the context is
        // kept for good.
        unsafe { api!(RedisModule_UnregisterCommandFilter)(log::context(), filter) };
    }
}

/// Sees every command before it runs. PSYNC has three words and SYNC one.
unsafe extern "C" fn filter(call: *mut RedisModuleCommandFilterCtx) {
    // SAFETY: the filter's context is alive during the callback.
    let words = unsafe { api!(RedisModule_CommandFilterArgsCount)(call) };
    if words == 2 || STATE.load(Ordering::Relaxed) == SOMEBODY {
        return;
    }
    guarded((), || {
        // SAFETY: as above; the first word is there, and alive during the callback.
        let name = unsafe { bytes_of(api!(RedisModule_CommandFilterArgGet)(call, 0)) };
        if name.eq_ignore_ascii_case(b"PSYNC") || name.eq_ignore_ascii_case(b"SYNC") {
            // The filter stays: it can't be taken out while the server walks the filters.
            somebody_came();
        }
    });
}
