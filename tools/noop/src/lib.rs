//! Commands that judge nothing, for the benches: what a module command costs on this server before
//! it does anything, and what GRAB's own calls of the server cost without GRAB. It is loaded beside
//! seckill, whose sales these commands open and whose APPLY they replicate.

use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_longlong};
use std::slice;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

/// Kinds of GRAB, by what it comes to.
const SOLD_OUT: u8 = 0;
const ALREADY: u8 = 1;
const GRANTED: u8 = 2;

/// What the replies say: of a sale of a hundred million that has sold some.
const SEQ: c_longlong = 10_000;
const AVAILABLE: c_longlong = 90_000_000;

/// The command that carries effects.
const APPLY: &CStr = c"SECKILL.APPLY";
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

/// A function of the server's. Used within `unsafe`: every server that the benches run on has it.
macro_rules! api {
    ($name:ident) => {
        raw::$name.unwrap_unchecked()
    };
}

/// What the server calls when it loads the file.
///
/// # Safety
/// The context is alive during the call.
#[no_mangle]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    let api_version = raw::REDISMODULE_APIVER_1 as c_int;
    // SAFETY: the context is alive and the name ends in NUL.
    let status = unsafe { raw::Export_RedisModule_Init(ctx, c"noop".as_ptr(), 100, api_version) };
    if status != raw::REDISMODULE_OK as c_int {
        return status;
    }
    for (name, entry) in COMMANDS {
        let flags = c"write fast deny-oom".as_ptr();
        // SAFETY: the context is alive while loading, and the server copies both texts.
        let status = unsafe {
            api!(RedisModule_CreateCommand)(ctx, name.as_ptr(), Some(entry), flags, 1, 1, 1)
        };
        if status != raw::REDISMODULE_OK as c_int {
            return status;
        }
    }
    raw::REDISMODULE_OK as c_int
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
    argc: c_int,
) -> c_int {
    if argc != 3 {
        return raw::REDISMODULE_ERR as c_int;
    }
    // SAFETY: the context and the three words are alive during the call, and texts are constant.
    unsafe {
        let (key, user) = (*argv.add(1), *argv.add(2));
        touch(ctx, key);
        let user = bytes_of(user);
        if KIND == GRANTED {
            api!(RedisModule_Milliseconds)();
            replicate(ctx, key, user);
            api!(RedisModule_SignalModifiedKey)(ctx, key);
            let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
            api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, c"seckill.grant".as_ptr(), key);
        }
        match KIND {
            SOLD_OUT => {
                begin(ctx, 2, "SOLDOUT");
                number(ctx, 0);
            }
            ALREADY => {
                begin(ctx, 5, "ALREADY");
                standing(ctx);
            }
            _ => {
                begin(ctx, 6, "GRANTED");
                standing(ctx);
                number(ctx, AVAILABLE);
            }
        }
    }
    raw::REDISMODULE_OK as c_int
}

/// The header of a reply and its first word.
///
/// # Safety
/// The context is alive, here and below.
unsafe fn begin(ctx: *mut RedisModuleCtx, elements: u8, first: &str) {
    // SAFETY: the caller's word, here and below.
    unsafe {
        api!(RedisModule_ReplyWithArray)(ctx, elements.into());
        word(ctx, first);
    }
}

unsafe fn word(ctx: *mut RedisModuleCtx, word: &str) {
    let start: *const c_char = word.as_ptr().cast();
    // SAFETY: the server copies the bytes.
    unsafe { api!(RedisModule_ReplyWithStringBuffer)(ctx, start, word.len()) };
}

unsafe fn number(ctx: *mut RedisModuleCtx, number: c_longlong) {
    // SAFETY: as above.
    unsafe { api!(RedisModule_ReplyWithLongLong)(ctx, number) };
}

/// Seq, quantity, state and deadline.
unsafe fn standing(ctx: *mut RedisModuleCtx) {
    // SAFETY: as above.
    unsafe {
        number(ctx, SEQ);
        number(ctx, 1);
        word(ctx, "SOLD");
        number(ctx, 0);
    }
}

/// Hands over as many bytes as a grant does in a sale of 46,656 to 1,679,615 of them.
///
/// # Safety
/// The context and the key's name are alive.
unsafe fn replicate(ctx: *mut RedisModuleCtx, key: *mut RedisModuleString, user: &[u8]) {
    let mut effect = [0; EFFECT_LEN_MAX];
    let (first, rest) = effect.split_at_mut(1);
    let len = user.len().min(rest.len());
    first.fill(b'g');
    rest[..len].copy_from_slice(&user[..len]);
    let (version, format) = (VERSION.as_ptr(), c"sbb".as_ptr());
    // SAFETY: the format names one string and two buffers with their lengths, and the server copies
    // all of them before it returns.
    unsafe {
        api!(RedisModule_Replicate)(
            ctx,
            APPLY.as_ptr(),
            format,
            key,
            version,
            VERSION.len(),
            effect.as_ptr(),
            len + 1,
        );
    }
}

/// Looks the key's bytes up, opens it for writing, asks what is there and closes it.
///
/// # Safety
/// The context and the key's name are alive.
unsafe fn touch(ctx: *mut RedisModuleCtx, name: *mut RedisModuleString) {
    let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
    // SAFETY: the caller's word; the key is open until it is closed.
    unsafe {
        bytes_of(name);
        let key = api!(RedisModule_OpenKey)(ctx, name, mode as c_int);
        api!(RedisModule_ModuleTypeGetType)(key);
        api!(RedisModule_ModuleTypeGetValue)(key);
        api!(RedisModule_CloseKey)(key);
    }
}

/// The bytes of a string of the server's.
///
/// # Safety
/// The string is alive during `'s`.
unsafe fn bytes_of<'s>(string: *const RedisModuleString) -> &'s [u8] {
    let mut len = 0;
    // SAFETY: the caller's word; the server says where the bytes are and how many.
    unsafe {
        let start = api!(RedisModule_StringPtrLen)(string, &mut len);
        slice::from_raw_parts(start.cast(), len)
    }
}
