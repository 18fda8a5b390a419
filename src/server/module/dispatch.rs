//! Dispatch: from the server's call of an entry point to the command's handler.

use std::os::raw::c_int;
use std::slice;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};
use smallvec::SmallVec;

use super::cluster;
use super::spec::Spec;
use crate::server::call::Call;
use crate::server::ffi::api::{bytes_of, guarded};
use crate::server::ffi::ctx::Ctx;
use crate::server::reply::{Reply, BEING_CHANGED, FAILED};

/// Most commands that a table may have.
const COMMANDS_MAX: usize = 32;

/// Arguments, without the command's name, that need no heap.
const ARGS_INLINE: usize = 8;

/// The server's own error for clients that write on a read-only replica.
const READONLY: &str = "READONLY You can't write against a read only replica.";

/// The commands, in the order of their entry points.
static COMMANDS: OnceLock<Vec<Command>> = OnceLock::new();

/// A command, with values that are derived once from its row.
struct Command {
    spec: &'static Spec,
    may_have_more_keys: bool,
    writes: bool,
}

pub(super) type Entry =
    unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// The entry point of command `N`. The server does not pass which command it calls, and a command
/// may have been renamed. So each command has an entry point of its own.
unsafe extern "C" fn entry<const N: usize>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    match COMMANDS.get().and_then(|commands| commands.get(N)) {
        // SAFETY: the arguments are passed on unchanged from the server, and are alive during the
        // call.
        Some(command) => unsafe { run(Ctx::new(ctx), argv, argc, command) },
        None => raw::REDISMODULE_ERR as c_int,
    }
}

/// The commands of `table` with their entry points; none if they are too many.
pub(super) fn entries(
    table: &'static [Spec],
) -> Option<impl Iterator<Item = (&'static Spec, Entry)>> {
    // A second load of the module passes an equal table.
    let commands = COMMANDS.get_or_init(|| {
        let known = |spec: &'static Spec| {
            let writes = spec.flags.starts_with("write");
            Command { spec, may_have_more_keys: spec.keys.len() > 1, writes }
        };
        table.iter().map(known).collect()
    });
    let specs = commands.iter().map(|command| command.spec);
    (commands.len() <= COMMANDS_MAX).then(|| specs.zip(ENTRIES))
}

macro_rules! entries {
    ($($number:literal)*) => { [$(entry::<$number>),*] };
}

static ENTRIES: [Entry; COMMANDS_MAX] = entries!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);

/// The error of a write that this node must not make now; none if the call may go on. The server
/// itself checks calls of clients. So a refused call comes from another module, whose call flags
/// choose the server's checks, or from the rest of a transaction. Calls of the primary, of the AOF
/// and of a slot that moves here always go on. A call is refused:
///
/// - while an AOF loads: the AOF has only APPLY. Any other write comes from another module's
///   callback, and its effects are in the AOF already;
/// - on a read-only replica: the replica would differ from its primary;
/// - while writes are paused: the server aborts if a module replicates during the pause;
/// - in a cluster, if this node does not serve all of its keys.
fn refusal(
    ctx: Ctx<'_>,
    command: &Command,
    strings: &[*mut RedisModuleString],
    args: &[&[u8]],
) -> Option<&'static str> {
    if !command.writes {
        return None;
    }
    let is_internal = command.spec.internal;
    let is_paused = ctx.writes_are_paused();
    if is_internal && !is_paused {
        return None;
    }
    // The server computes the flags again for each call, so this asks once.
    let flags = ctx.flags();
    let is_loading = flags & raw::REDISMODULE_CTX_FLAGS_LOADING != 0;
    if flags & raw::REDISMODULE_CTX_FLAGS_REPLICATED != 0 || is_internal && is_loading {
        None
    } else if is_loading {
        Some(BEING_CHANGED)
    } else if !is_internal && flags & raw::REDISMODULE_CTX_FLAGS_READONLY != 0 {
        Some(READONLY)
    } else {
        let is_called = !is_internal || flags & raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING != 0;
        if is_paused && is_called {
            Some(BEING_CHANGED)
        } else if command.may_have_more_keys && flags & raw::REDISMODULE_CTX_FLAGS_CLUSTER != 0 {
            cluster::refusal(ctx, command.spec, strings, args)
        } else {
            None
        }
    }
}

/// Runs a command on a call of the server.
///
/// # Safety
/// `argv` and `argc` are what the server passed to the command that is running.
unsafe fn run(
    ctx: Ctx<'_>,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
    command: &'static Command,
) -> c_int {
    let done = guarded(false, || {
        let argc = usize::try_from(argc).unwrap_or(0);
        // SAFETY: the server passes `argc` strings, which stay alive during the call.
        let argv = unsafe { slice::from_raw_parts(argv, argc) };
        let strings = argv.split_first().map_or(&[][..], |(_, strings)| strings);
        // SAFETY: as above.
        let bytes = strings.iter().map(|string| unsafe { bytes_of(*string) });
        let mut args = SmallVec::<[&[u8]; ARGS_INLINE]>::new();
        args.extend(bytes);
        if let Some(error) = refusal(ctx, command, strings, &args) {
            Reply::new(ctx).error(error);
        } else {
            (command.spec.handler)(&mut Call::new(ctx, strings, &args));
        }
        true
    });
    if !done {
        Reply::new(ctx).error(FAILED);
    }
    raw::REDISMODULE_OK as c_int
}
