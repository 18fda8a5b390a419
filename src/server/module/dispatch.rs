//! Dispatch: from the server's call of an entry point to the command's handler.

use std::ops::Range;
use std::os::raw::c_int;
use std::slice;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};
use smallvec::SmallVec;

use super::spec::{KeySpec, Spec};
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
    finds_keys: bool,
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

/// The error of a write that this node must not make now; none if the call may go on. The server
/// itself checks calls of clients. So a refused call comes from another module, whose call flags
/// choose the server's checks, or from the rest of a transaction. Calls of the primary, of the AOF
/// and of a slot that moves here always go on. A call is refused:
///
/// - while an AOF loads: the AOF has only APPLY. Any other write comes from another module's
///   callback, and its effects are in the AOF already;
/// - on a read-only replica: the replica would differ from its primary;
/// - while writes are paused: the server aborts if a module replicates during the pause.
fn refusal(ctx: Ctx<'_>, command: &Command) -> Option<&'static str> {
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
        (is_paused && is_called).then_some(BEING_CHANGED)
    }
}

/// Whether the server only asks for the keys of the call.
fn is_about_keys(ctx: Ctx<'_>) -> bool {
    // SAFETY: a living context is all that the call needs.
    unsafe { api!(RedisModule_IsKeysPositionRequest)(ctx.raw()) != 0 }
}

/// Reports the keys of this call to the server.
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

/// Positions of the keys of one spec; the command's name is 0. None if the call lacks some of the
/// keys that it counts: the command will refuse it.
fn key_positions(key: &KeySpec, args: &[&[u8]]) -> Range<usize> {
    let at = usize::try_from(key.pos).unwrap_or(0);
    let (first, count) = match key.option {
        Some(option) => {
            let is_option = |arg: &&[u8]| arg.eq_ignore_ascii_case(option.as_bytes());
            let mut places = args.iter().enumerate().skip(at.saturating_sub(1));
            match places.find(|(_, arg)| is_option(arg)) {
                // The name of the command is at 0, and the key follows.
                Some((arg, _)) => (arg + 2, 1),
                None => return 0..0,
            }
        }
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
