//! From the server's call of an entry point to the command's handler.

use std::ops::Range;
use std::os::raw::c_int;
use std::slice;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};
use smallvec::SmallVec;

use super::spec::{KeySpec, Spec};
use crate::server::call::{Call, Reply, BEING_CHANGED};
use crate::server::ffi::api::{bytes_of, guarded};
use crate::server::ffi::ctx::Ctx;

/// Commands that there is room for.
const COMMANDS_MAX: usize = 32;

/// Arguments beside the command's name that need no heap.
const ARGS_INLINE: usize = 8;

/// A handler failed inside.
pub(in crate::server) const FAILED: &str = "ERR internal error, see the server's log";

/// What the server answers clients that write on a replica which takes no writes of theirs.
const READONLY: &str = "READONLY You can't write against a read only replica.";

/// The commands, in the order of their entry points.
static COMMANDS: OnceLock<Vec<Command>> = OnceLock::new();

/// A command, and what is worked out of it once.
struct Command {
    spec: &'static Spec,
    finds_keys: bool,
    writes: bool,
}

pub(super) type Entry =
    unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// Where the server calls the command numbered `N`. A command gets no data of its own from the
/// server and may have been renamed, so each has an entry point of its own.
unsafe extern "C" fn entry<const N: usize>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    match COMMANDS.get().and_then(|commands| commands.get(N)) {
        // SAFETY: the arguments are the server's, handed on unchanged, and alive during the call.
        Some(command) => unsafe { run(Ctx::new(ctx), argv, argc, command) },
        None => raw::REDISMODULE_ERR as c_int,
    }
}

/// The commands of `table`, each with its entry point. None when they are too many.
pub(super) fn entries(
    table: &'static [Spec],
) -> Option<impl Iterator<Item = (&'static Spec, Entry)>> {
    // A second load of the same file brings the same table.
    let commands = COMMANDS.get_or_init(|| {
        let known = |spec: &'static Spec| {
            let (finds_keys, writes) = (spec.finds_keys(), spec.flags.starts_with("write"));
            Command { spec, finds_keys, writes }
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

/// How a call is refused that must change nothing here; none when it may go on. The server holds
/// clients back itself, so these are calls of other modules, whose flags for a call decide what it
/// checks, or the rest of a transaction. What comes from the primary, from a log, or with a slot
/// that moves here is taken as ever.
///
/// - A log is loaded: it holds effects alone, so whatever decides anew is called by another module
///   that was told of one. The log has what came of that call then.
/// - A replica that takes no writes of its own: one would make it another than its primary.
/// - Writes are paused: the server stops when anybody replicates something then.
fn refusal(ctx: Ctx<'_>, command: &Command) -> Option<&'static str> {
    if !command.writes {
        return None;
    }
    let is_internal = command.spec.internal;
    let is_paused = ctx.writes_are_paused();
    if is_internal && !is_paused {
        return None;
    }
    // The server works them out, so it is asked once.
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
        (is_paused && is_called).then_some(BEING_CHANGED)
    }
}

/// Whether the server only asks which keys the call has.
fn is_about_keys(ctx: Ctx<'_>) -> bool {
    // SAFETY: a living context is all that the call needs.
    unsafe { api!(RedisModule_IsKeysPositionRequest)(ctx.raw()) != 0 }
}

/// Reports to the server where the keys of this call are.
fn report_keys(ctx: Ctx<'_>, spec: &Spec, args: &[&[u8]]) {
    for key in spec.keys {
        for position in key_positions(key, args) {
            if let Ok(position) = c_int::try_from(position) {
                // SAFETY: a living context is all that the call needs.
                unsafe {
                    api!(RedisModule_KeyAtPosWithFlags)(ctx.raw(), position, key.flags as c_int)
                };
            }
        }
    }
}

/// Where the keys of one spec are, the command's name being 0. None when the call has not all of
/// those that it counts: it will be refused.
fn key_positions(key: &KeySpec, args: &[&[u8]]) -> Range<usize> {
    let at = usize::try_from(key.pos).unwrap_or(0);
    let (first, count) = match key.option {
        Some(option) => match (option.find)(args) {
            Some(arg) => (arg + 1, 1),
            None => return 0..0,
        },
        None if !key.counted => (at, 1),
        None => {
            let numkeys = at.checked_sub(1).and_then(|arg| args.get(arg));
            let count = numkeys.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            (at + 1, count.unwrap_or(0))
        }
    };
    match first.checked_add(count) {
        Some(end) if end <= args.len() + 1 => first..end,
        _ => 0..0,
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
        if command.finds_keys && is_about_keys(ctx) {
            report_keys(ctx, command.spec, &args);
        } else if let Some(error) = refusal(ctx, command) {
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
