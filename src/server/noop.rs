//! Commands that judge nothing, for the benches alone: what a module command costs on this server
//! before it does anything, and what GRAB's own calls of the server cost without GRAB.

use std::ffi::CStr;
use std::os::raw::c_int;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::reply::Reply;
use super::run;
use super::words::Word;

const NOT_CREATED: &str = "the server does not take the commands that do nothing";

/// The word that replies are made of.
static WORD: OnceLock<&'static Word> = OnceLock::new();

type Entry = extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// Each is `NAME key user`, with the flags and the key of GRAB, so that the server does for it what
/// it does for GRAB before the call.
const COMMANDS: [(&CStr, Entry); 4] = [
    (c"SECKILL.NOOP", nothing),
    (c"SECKILL.NOOPSOLD", refuse),
    (c"SECKILL.NOOPMINE", show),
    (c"SECKILL.NOOPGRAB", grant),
];

/// Registers the commands.
pub(super) fn register(ctx: *mut RedisModuleCtx, word: &'static Word) -> Result<(), &'static str> {
    WORD.get_or_init(|| word);
    for (name, entry) in COMMANDS {
        let flags = c"write fast deny-oom".as_ptr();
        // SAFETY: the context is alive while loading, and the server copies both texts.
        let created = unsafe {
            api!(RedisModule_CreateCommand)(ctx, name.as_ptr(), Some(entry), flags, 1, 1, 1)
        };
        if created as isize != raw::REDISMODULE_OK {
            return Err(NOT_CREATED);
        }
    }
    Ok(())
}

/// Replies OK: no less can be asked of a module.
extern "C" fn nothing(
    ctx: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the context is alive during the call, and the text is constant.
    unsafe { api!(RedisModule_ReplyWithSimpleString)(ctx, c"OK".as_ptr()) }
}

/// Opens and closes the key and replies as a sold-out sale does.
extern "C" fn refuse(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the arguments are the server's, handed on unchanged.
    unsafe { touch(ctx, argv) };
    if let Some(word) = WORD.get() {
        Reply::new(ctx).pair(word, 0);
    }
    raw::REDISMODULE_OK as c_int
}

/// Opens and closes the key, reads the clock and replies with as much as ALREADY has.
extern "C" fn show(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the arguments are the server's, handed on unchanged.
    unsafe { touch(ctx, argv) };
    run::clock_ms();
    Reply::new(ctx).array(5);
    standing(ctx);
    raw::REDISMODULE_OK as c_int
}

/// Makes all calls that a winning GRAB makes when nobody listens.
extern "C" fn grant(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the arguments are the server's, handed on unchanged.
    unsafe { touch(ctx, argv) };
    run::clock_ms();
    // SAFETY: the context and the key are alive during the call, and the text is constant.
    unsafe {
        api!(RedisModule_ReplicateVerbatim)(ctx);
        api!(RedisModule_SignalModifiedKey)(ctx, *argv.add(1));
        let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
        let event = c"seckill.grant".as_ptr();
        api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, event, *argv.add(1));
    }
    let reply = Reply::new(ctx);
    reply.array(6);
    standing(ctx);
    reply.number(90_000_000);
    raw::REDISMODULE_OK as c_int
}

/// Five elements: what GRANTED and ALREADY share.
fn standing(ctx: *mut RedisModuleCtx) {
    let (reply, Some(word)) = (Reply::new(ctx), WORD.get()) else { return };
    reply.word(word);
    reply.number(10_000);
    reply.number(1);
    reply.word(word);
    reply.number(0);
}

/// Looks the arguments' bytes up, opens the key for writing, asks what is there and closes it.
///
/// # Safety
/// `ctx` and `argv` are what the server passed to a command of three words.
unsafe fn touch(ctx: *mut RedisModuleCtx, argv: *mut *mut RedisModuleString) {
    let (mut len, mode) = (0, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE);
    // SAFETY: there are two arguments by the caller's word; the key is open until it is closed.
    unsafe {
        api!(RedisModule_StringPtrLen)(*argv.add(1), &mut len);
        api!(RedisModule_StringPtrLen)(*argv.add(2), &mut len);
        let key = api!(RedisModule_OpenKey)(ctx, *argv.add(1), mode as c_int);
        api!(RedisModule_ModuleTypeGetType)(key);
        api!(RedisModule_ModuleTypeGetValue)(key);
        api!(RedisModule_CloseKey)(key);
    }
}
