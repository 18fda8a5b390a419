//! Loading the module.

use std::os::raw::c_int;
use std::panic;
use std::ptr;

use redis_module::raw;
pub use redis_module::{Context, RedisString, Status};

use super::spec::Spec;
use super::{advice, config, events, info, register};
use crate::server::ffi::ctx::Ctx;
use crate::server::ffi::{api, log};
use crate::server::propagation::epoch;
use crate::server::sweeper::{self, Sweep};
use crate::server::value::{datatype, fork_memory};

/// Defines the module: its name, its version, and its load function. The SDK's own macro is not
/// used for two reasons. It logs a warning on servers without some defragmentation callbacks, which
/// this module doesn't need. And it sends INFO to every module.
macro_rules! module {
    (name: $name:literal, version: $version:literal, load: $load:path) => {
        #[global_allocator]
        static ALLOCATOR: crate::server::ffi::alloc::ServerAlloc =
            crate::server::ffi::alloc::ServerAlloc;

        /// Called by the server when it loads the file.
        ///
        /// # Safety
        /// The arguments are those that the server passes.
        #[no_mangle]
        pub unsafe extern "C" fn RedisModule_OnLoad(
            ctx: *mut redis_module::raw::RedisModuleCtx,
            argv: *mut *mut redis_module::raw::RedisModuleString,
            argc: std::os::raw::c_int,
        ) -> std::os::raw::c_int {
            // SAFETY: the context is alive while loading, and the name ends in NUL and is copied.
            let status = unsafe {
                redis_module::raw::Export_RedisModule_Init(
                    ctx,
                    concat!($name, "\0").as_ptr().cast(),
                    $version,
                    redis_module::raw::REDISMODULE_APIVER_1 as std::os::raw::c_int,
                )
            };
            if status as isize != redis_module::raw::REDISMODULE_OK {
                crate::server::module::load::name_is_taken();
                return status;
            }
            let args = redis_module::decode_args(ctx, argv, argc);
            $load(&redis_module::Context::new(ctx), &args) as std::os::raw::c_int
        }
    };
}

pub(crate) use module;

/// Oldest server that has all that is needed: Redis 7.0, as the server states its version.
const SERVER_VERSION_MIN: c_int = 0x0007_0000;

const TOO_OLD: &str = "seckill needs Redis 7.0 or newer, or Valkey: this server is older, so the \
    module is not loaded";
const NAME_TAKEN: &str =
    "a module named seckill is loaded already, so this one is not: look for a \
    second loadmodule line, also in the files that are included";
const FAILED: &str = "seckill failed inside while loading, so it is not loaded";

/// Logs the reason when registering the module fails: the server then checks only the module's
/// name.
pub(crate) fn name_is_taken() {
    log::warning(NAME_TAKEN);
}

/// Sets the module up. lib.rs calls it when the server loads the file. `args` are the arguments of
/// loadmodule, `table` has the commands, and `sweep` expires due holds of one sale.
///
/// Features that this server lacks are left out. Loading fails only below Redis 7.0, with wrong
/// arguments or when the server refuses something; a log line has the reason.
pub fn load(ctx: &Context, args: &[RedisString], table: &'static [Spec], sweep: Sweep) -> Status {
    // SAFETY: the server lends the context to the module that it loads, under its lock, until
    // loading ends.
    let ctx = unsafe { Ctx::new(ctx.ctx) };
    let loaded = panic::catch_unwind(|| {
        let args: Vec<&[u8]> = args.iter().map(RedisString::as_slice).collect();
        set_up(ctx, &args, table, sweep)
    });
    let why = match loaded {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(why)) => why,
        Err(_) => FAILED.to_owned(),
    };
    log::warning(&why);
    give_context_back();
    Status::Err
}

fn set_up(
    ctx: Ctx<'_>,
    args: &[&[u8]],
    table: &'static [Spec],
    sweep: Sweep,
) -> Result<(), String> {
    keep_context(ctx);
    if server_version() < SERVER_VERSION_MIN {
        return Err(TOO_OLD.to_owned());
    }
    if let Some(name) = api::missing() {
        return Err(format!("seckill needs {name}, which this server lacks: it is not loaded"));
    }
    log_panics();
    set_options(ctx);
    config::register(ctx, args)?;
    datatype::register(ctx)?;
    register::register(ctx, table)?;
    info::register(ctx);
    epoch::begin();
    sweeper::start(ctx.lock(), sweep);
    events::subscribe(ctx)?;
    fork_memory::follow(ctx);
    advice::give(ctx);
    Ok(())
}

/// Keeps a context with which log lines can be written at any time. A server below 6.2 has none; it
/// is refused next.
fn keep_context(ctx: Ctx<'_>) {
    if let Some(detached) = offered!(RedisModule_GetDetachedThreadSafeContext) {
        // SAFETY: the new context is kept as long as the module.
        log::set_context(unsafe { detached(ctx.raw()) });
    }
}

/// Undoes [`keep_context`]: the server now unloads the module and frees the data that the context
/// points to.
fn give_context_back() {
    let kept = log::context();
    log::set_context(ptr::null_mut());
    let free = offered!(RedisModule_FreeThreadSafeContext);
    if let Some(free) = free.filter(|_| !kept.is_null()) {
        // SAFETY: the context is the one that the server gave, and nobody has it any more.
        unsafe { free(kept) };
    }
}

/// The server's version as 0x00MMmmpp, 0 if unknown.
fn server_version() -> c_int {
    let version = offered!(RedisModule_GetServerVersion);
    // SAFETY: the function takes nothing and only answers a constant.
    version.map_or(0, |version| unsafe { version() })
}

/// Whether the server names itself Valkey.
fn is_valkey(ctx: Ctx<'_>) -> bool {
    advice::server_field(ctx, c"server", c"server_name", |name| name == b"valkey") == Some(true)
}

/// Makes every panic log its file and line. Each callback catches its panics, see `guarded`.
fn log_panics() {
    panic::set_hook(Box::new(|panic| log::warning(&format!("failed inside: {panic}"))));
}

/// Flags of Valkey. The first is for a module that replicates only existing commands, so that
/// Valkey need not look them up. The second, from Valkey 9 on, allows atomic slot migration of the
/// module's keys.
const VALKEY_SKIP_COMMAND_VALIDATION: c_int = 1 << 4;
const VALKEY_HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

fn set_options(ctx: Ctx<'_>) {
    let mut options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS as c_int
        | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED as c_int
        | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD as c_int;
    let known = offered!(RedisModule_GetModuleOptionsAll);
    // SAFETY: the function takes nothing and only answers a constant.
    let known = known.map_or(0, |known| unsafe { known() });
    // Redis may give these bits another meaning.
    if is_valkey(ctx) {
        let valkey = VALKEY_SKIP_COMMAND_VALIDATION | VALKEY_HANDLE_ATOMIC_SLOT_MIGRATION;
        options |= known & valkey;
    }
    // SAFETY: a living context is all that the call needs.
    unsafe { api!(RedisModule_SetModuleOptions)(ctx.raw(), options) };
}
