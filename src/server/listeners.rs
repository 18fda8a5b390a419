//! Whether anybody listens to what is replicated: an append-only file or a replica.
//!
//! Handing a change over costs more than deciding it, even when the server then drops it because
//! nobody listens. The server does not say whether somebody does, but nobody can begin to without
//! being seen: an append-only file is switched on by CONFIG SET, which the server tells of, and a
//! replica sends PSYNC or SYNC, for which a command filter looks. After the first replica the
//! answer is "yes" for good. A node of a cluster, whose slots may move in other ways, and one that
//! is or was a replica always count as listened to.

use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::load::server_field;

/// Not asked yet: asked when the next change is made, once all data are loaded.
const UNKNOWN: u8 = 0;
const NOBODY: u8 = 1;
/// An append-only file and nobody else.
const LOG: u8 = 2;
const SOMEBODY: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Begins. `sees_commands`: whether [`look`] is told of them.
pub(super) fn follow(ctx: *mut RedisModuleCtx, sees_commands: bool) {
    if !sees_commands || !follow_config(ctx) {
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
    state != NOBODY
}

/// Looks at the name of a command that is about to run, if the command has not two words: PSYNC has
/// three and SYNC one.
#[inline]
pub(super) fn look(name: &[u8]) {
    if name.eq_ignore_ascii_case(b"PSYNC") || name.eq_ignore_ascii_case(b"SYNC") {
        somebody_came();
    }
}
