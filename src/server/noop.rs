//! Commands that judge nothing, for the benches alone: what a module command costs on this server
//! before it does anything, and what GRAB's own calls of the server cost without GRAB.

use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::answers::{Fixed, Part};
use super::reply::Reply;
use super::run;

const NOT_CREATED: &str = "the server does not take the commands that do nothing";

/// What is fixed in the replies.
static PAIR: Fixed = Fixed::first(2, "SOLDOUT");
static FIVE: Fixed = Fixed::first(5, "ALREADY");
static SIX: Fixed = Fixed::first(6, "GRANTED");
static WORD: Fixed = Fixed::word("SOLD");

/// Kinds of GRAB, by what it comes to.
const SOLD_OUT: u8 = 0;
const ALREADY: u8 = 1;
const GRANTED: u8 = 2;

type Entry = extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// Each is `NAME key user`, with the flags and the key of GRAB, so that the server does for it what
/// it does for GRAB before the call.
const COMMANDS: [(&CStr, Entry); 4] = [
    (c"SECKILL.NOOP", nothing),
    (c"SECKILL.NOOPSOLD", answer::<SOLD_OUT>),
    (c"SECKILL.NOOPMINE", answer::<ALREADY>),
    (c"SECKILL.NOOPGRAB", answer::<GRANTED>),
];

/// Registers the commands.
pub(super) fn register(ctx: *mut RedisModuleCtx) -> Result<(), &'static str> {
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

/// Makes the calls of one kind of GRAB and replies with as much as it does.
extern "C" fn answer<const KIND: u8>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the arguments are the server's, handed on unchanged.
    unsafe { touch(ctx, argv) };
    if KIND != SOLD_OUT {
        run::clock_ms();
    }
    if KIND == GRANTED {
        // SAFETY: the context and the key are alive during the call, and the text is constant.
        unsafe {
            api!(RedisModule_ReplicateVerbatim)(ctx);
            api!(RedisModule_SignalModifiedKey)(ctx, *argv.add(1));
            let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
            let event = c"seckill.grant".as_ptr();
            api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, event, *argv.add(1));
        }
    }
    let [seq, one, none, left] = [10_000, 1, 0, 90_000_000].map(Part::Number);
    let [pair, five, six, word] = [&PAIR, &FIVE, &SIX, &WORD].map(Part::Fixed);
    match KIND {
        SOLD_OUT => Reply::new(ctx).outcome(&[pair, none]),
        ALREADY => Reply::new(ctx).outcome(&[five, seq, one, word, none]),
        _ => Reply::new(ctx).outcome(&[six, seq, one, word, none, left]),
    }
    raw::REDISMODULE_OK as c_int
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
