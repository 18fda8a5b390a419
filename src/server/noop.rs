//! Commands that judge nothing, for the benches alone: what a module command costs on this server
//! before it does anything, and what GRAB's own calls of the server cost without GRAB.

use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::call::bytes_of;
use super::replicate::APPLY;
use super::reply::Reply;
use super::text::Fixed;
use super::{listeners, run};

const NOT_CREATED: &str = "the server does not take the commands that do nothing";

/// What is fixed in the replies.
static SOLDOUT_0: Fixed = Fixed::first(2, "SOLDOUT").digit(0);
static ALREADY_: Fixed = Fixed::first(5, "ALREADY");
static GRANTED_: Fixed = Fixed::first(6, "GRANTED");
static ONE_SOLD: Fixed = Fixed::EMPTY.digit(1).word("SOLD").digit(0);

/// Kinds of GRAB, by what it comes to.
const SOLD_OUT: u8 = 0;
const ALREADY: u8 = 1;
const GRANTED: u8 = 2;

/// A version of four digits, as most of a large sale have.
const VERSION: &[u8] = b"zzzz";
/// Bytes of an effect in the load, at most.
const EFFECT_LEN_MAX: usize = 64;

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
    if KIND == GRANTED {
        run::clock_ms();
        // SAFETY: the context and the key are alive during the call, and the text is constant.
        unsafe {
            replicate(ctx, argv);
            api!(RedisModule_SignalModifiedKey)(ctx, *argv.add(1));
            let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
            let event = c"seckill.grant".as_ptr();
            api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, event, *argv.add(1));
        }
    }
    let (seq, left) = (10_000, 90_000_000);
    Reply::new(ctx).outcome(|text| match KIND {
        SOLD_OUT => text.fixed(&SOLDOUT_0),
        ALREADY => {
            text.fixed(&ALREADY_);
            text.number(seq);
            text.fixed(&ONE_SOLD);
        }
        _ => {
            text.fixed(&GRANTED_);
            text.number(seq);
            text.fixed(&ONE_SOLD);
            text.number(left);
        }
    });
    raw::REDISMODULE_OK as c_int
}

/// Hands over what a grant hands over, in the same way: where somebody listens an effect with the
/// user in it, as many bytes as of a grant in a sale of 46,656 to 1,679,615 of them.
///
/// # Safety
/// `ctx` and `argv` are what the server passed to a command of three words.
unsafe fn replicate(ctx: *mut RedisModuleCtx, argv: *mut *mut RedisModuleString) {
    if !listeners::are_there(ctx) {
        // SAFETY: the context is alive during the call.
        unsafe { api!(RedisModule_ReplicateVerbatim)(ctx) };
        return;
    }
    // SAFETY: there are two arguments by the caller's word, alive during the call.
    let (key, user) = unsafe { (*argv.add(1), bytes_of(*argv.add(2))) };
    let mut effect = [0; EFFECT_LEN_MAX];
    let (first, rest) = effect.split_at_mut(1);
    let len = user.len().min(rest.len());
    first.fill(b'g');
    rest[..len].copy_from_slice(&user[..len]);
    // SAFETY: the format names one string and two buffers with their lengths, and the server copies
    // all of them before it returns.
    unsafe {
        let version = VERSION.as_ptr();
        let effect = effect.as_ptr();
        let format = c"sbb".as_ptr();
        api!(RedisModule_Replicate)(
            ctx,
            APPLY.as_ptr(),
            format,
            key,
            version,
            VERSION.len(),
            effect,
            len + 1,
        );
    }
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
