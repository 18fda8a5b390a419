//! No-op commands for the bench, which make the server API calls of GRAB, in the same order and
//! with as many bytes, but decide nothing. The module is loaded beside seckill: its commands open
//! seckill's sales and replicate seckill's APPLY.

/// A function of the server's API. Used within `unsafe`; every server of the bench has it.
macro_rules! api {
    ($name:ident) => {
        raw::$name.unwrap_unchecked()
    };
}

use std::ffi::CStr;
use std::os::raw::{c_int, c_long, c_longlong};
use std::{ptr, slice};

use redis_module::raw::{
    self, RedisModuleCtx, RedisModuleKey, RedisModuleStreamID, RedisModuleString,
};

/// Kinds of GRAB, by outcome.
const SOLD_OUT: u8 = 0;
const GRANTED: u8 = 1;
/// In a sale with HOLD and OUTBOX, and with a request id.
const HELD: u8 = 2;

/// Numbers in the replies: those of a sale of 100,000,000 units that has sold some.
const SEQ: c_longlong = 10_000;
const AVAILABLE: c_longlong = 90_000_000;
const DEADLINE: c_longlong = 1_800_000_900_000;

/// The command that carries effects.
const APPLY: &CStr = c"SECKILL.APPLY";
/// Positions of a change: a version of the usual length in a large sale. The second one has an
/// entry's id, too.
const POSITION: &[u8] = b"zzz";
const POSITION_WITH_ENTRY: &[u8] = b"zzz:1:1800000000000-0";
/// Bytes of an effect without user and request id: a plain one, and one with request id and
/// deadline.
const EFFECT_BYTES: usize = 7;
const EFFECT_BYTES_HELD: usize = 11;
/// Largest size of an effect in the load.
const EFFECT_LEN_MAX: usize = 96;

/// The stream of the bench's sale, and the data of a hold's entry.
const STREAM: &[u8] = b"orders";
const DATA: &[u8] = b"{\"id\":\"0123456789abcdef\",\"epoch\":1800000000000,\"rev\":10000,\
    \"t\":1800000000000,\"supply\":900000000,\"available\":899990000,\"held\":10000,\"sold\":0,\
    \"seq\":10000,\"qty\":1,\"state\":\"HELD\",\"at\":1800000000000,\
    \"deadline\":1800000900000,\"born\":1800000000000}";

/// Names of an entry's fields, and its event: strings that are created once.
static mut WORDS: [*mut RedisModuleString; 6] = [ptr::null_mut(); 6];
const WORD_TEXTS: [&[u8]; 6] = [b"event", b"GRANT", b"sale", b"data", b"user", b"req"];

type Entry = extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

const READ_AND_WRITE: c_int = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as c_int;

/// Command flags of GRAB.
const FLAGS: &CStr = c"write fast deny-oom";

/// The commands. Each has the flags and the key of GRAB, so the server does equal work before the
/// call.
const COMMANDS: [(&CStr, Entry); 3] = [
    (c"NOOP.SOLD", answer::<SOLD_OUT>),
    (c"NOOP.GRAB", answer::<GRANTED>),
    (c"NOOP.HOLD", answer::<HELD>),
];

/// The entry point that the server calls when it loads the module.
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
    // Commands that write signal changed keys themselves, as in seckill.
    let options = raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED as c_int;
    // SAFETY: the context is alive; nobody else runs while a module is loaded.
    unsafe {
        api!(RedisModule_SetModuleOptions)(ctx, options);
        WORDS = WORD_TEXTS.map(|text| string(text));
    }
    for (name, entry) in COMMANDS {
        let (name, flags) = (name.as_ptr(), FLAGS.as_ptr());
        // SAFETY: the context is alive while loading, and the server copies both texts.
        let status =
            unsafe { api!(RedisModule_CreateCommand)(ctx, name, Some(entry), flags, 1, 1, 1) };
        if status != raw::REDISMODULE_OK as c_int {
            return status;
        }
    }
    raw::REDISMODULE_OK as c_int
}

/// Makes the API calls of one kind of GRAB, and replies as many bytes.
extern "C" fn answer<const KIND: u8>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    let wanted = if KIND == HELD { 5 } else { 3 };
    if argc != wanted {
        return raw::REDISMODULE_ERR as c_int;
    }
    // SAFETY: the context and the words are alive during the call, and texts are constant.
    unsafe {
        let words = slice::from_raw_parts(argv, argc as usize);
        let args = [1, 2, 3, 4].map(|at| words.get(at).map_or(&[][..], |word| bytes_of(*word)));
        if let Some(avoid) = raw::RedisModule_AvoidReplicaTraffic {
            avoid();
        }
        api!(RedisModule_Milliseconds)();
        let (key, sale) = (words[1], open_sale(ctx, words[1]));
        if KIND == HELD {
            hold(ctx, words, sale);
        } else {
            api!(RedisModule_CloseKey)(sale);
        }
        match KIND {
            HELD => {
                replicate(ctx, key, POSITION_WITH_ENTRY, [args[1], args[3]], EFFECT_BYTES_HELD);
            }
            GRANTED => replicate(ctx, key, POSITION, [args[1], &[]], EFFECT_BYTES),
            _ => {}
        }
        if KIND == HELD || KIND == GRANTED {
            tell(ctx, key, KIND == HELD);
        }
        reply::<KIND>(ctx);
    }
    raw::REDISMODULE_OK as c_int
}

/// Opens the key and reads its type and value.
///
/// # Safety
/// The context and the key's name are alive.
unsafe fn open_sale(ctx: *mut RedisModuleCtx, name: *mut RedisModuleString) -> *mut RedisModuleKey {
    // SAFETY: the caller guarantees it; the caller closes the key.
    unsafe {
        let key = api!(RedisModule_OpenKey)(ctx, name, READ_AND_WRITE);
        api!(RedisModule_ModuleTypeGetType)(key);
        api!(RedisModule_ModuleTypeGetValue)(key);
        key
    }
}

/// Closes the sale, opens the stream and the sale again, and appends an entry.
///
/// # Safety
/// The context and the words are alive, the key is open.
unsafe fn hold(
    ctx: *mut RedisModuleCtx,
    words: &[*mut RedisModuleString],
    sale: *mut RedisModuleKey,
) {
    // SAFETY: the caller guarantees it. The server copies what it keeps. Each key and string that
    // is made here is closed or freed once. The server's lock is held.
    unsafe {
        let name = string(STREAM);
        api!(RedisModule_CloseKey)(sale);
        let stream = api!(RedisModule_OpenKey)(ctx, name, READ_AND_WRITE);
        api!(RedisModule_KeyType)(stream);
        let sale = open_sale(ctx, words[1]);
        let data = string(DATA);
        let [event, grant, sale_word, data_word, user, req] = WORDS;
        let mut pairs =
            [event, grant, sale_word, words[1], data_word, data, user, words[2], req, words[4]];
        let mut id = RedisModuleStreamID { ms: 0, seq: 0 };
        let (flags, count) = (raw::REDISMODULE_STREAM_ADD_AUTOID as c_int, pairs.len() / 2);
        let start = pairs.as_mut_ptr();
        api!(RedisModule_StreamAdd)(stream, flags, &mut id, start, count as c_long);
        api!(RedisModule_FreeString)(ptr::null_mut(), data);
        api!(RedisModule_CloseKey)(stream);
        api!(RedisModule_CloseKey)(sale);
        api!(RedisModule_SignalModifiedKey)(ctx, name);
        let class = raw::REDISMODULE_NOTIFY_STREAM as c_int;
        api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, c"xadd".as_ptr(), name);
        api!(RedisModule_FreeString)(ptr::null_mut(), name);
    }
}

/// Replicates as many bytes as a grant does.
///
/// # Safety
/// The context and the key's name are alive.
unsafe fn replicate(
    ctx: *mut RedisModuleCtx,
    key: *mut RedisModuleString,
    position: &[u8],
    texts: [&[u8]; 2],
    more: usize,
) {
    let mut effect = [b'g'; EFFECT_LEN_MAX];
    let mut len = more;
    for text in texts {
        let room = &mut effect[len..];
        let copied = text.len().min(room.len());
        room[..copied].copy_from_slice(&text[..copied]);
        len += copied;
    }
    // SAFETY: the format names one string and two buffers with their lengths, and the server copies
    // all of them before it returns.
    unsafe {
        api!(RedisModule_Replicate)(
            ctx,
            APPLY.as_ptr(),
            c"sbb".as_ptr(),
            key,
            position.as_ptr(),
            position.len(),
            effect.as_ptr(),
            len,
        );
    }
}

/// Signals and notifies. A sale with a deadline also reads the database number and the time.
///
/// # Safety
/// The context and the key's name are alive.
unsafe fn tell(ctx: *mut RedisModuleCtx, key: *mut RedisModuleString, has_deadline: bool) {
    // SAFETY: the caller guarantees it.
    unsafe {
        api!(RedisModule_SignalModifiedKey)(ctx, key);
        if has_deadline {
            api!(RedisModule_GetSelectedDb)(ctx);
            api!(RedisModule_Milliseconds)();
        }
        let class = raw::REDISMODULE_NOTIFY_MODULE as c_int;
        api!(RedisModule_NotifyKeyspaceEvent)(ctx, class, c"seckill.grant".as_ptr(), key);
    }
}

/// # Safety
/// The context is alive.
unsafe fn reply<const KIND: u8>(ctx: *mut RedisModuleCtx) {
    let (state, deadline) = if KIND == HELD { ("HELD", DEADLINE) } else { ("SOLD", 0) };
    // SAFETY: the caller guarantees it, and the server copies the words.
    unsafe {
        let word = |word: &str| {
            api!(RedisModule_ReplyWithStringBuffer)(ctx, word.as_ptr().cast(), word.len())
        };
        let number = |number| api!(RedisModule_ReplyWithLongLong)(ctx, number);
        if KIND == SOLD_OUT {
            api!(RedisModule_ReplyWithArray)(ctx, 2);
            word("SOLDOUT");
            number(0);
            return;
        }
        api!(RedisModule_ReplyWithArray)(ctx, 6);
        word("GRANTED");
        number(SEQ);
        number(1);
        word(state);
        number(deadline);
        number(AVAILABLE);
    }
}

/// A server string that belongs to no call.
///
/// # Safety
/// The server's lock is held.
unsafe fn string(bytes: &[u8]) -> *mut RedisModuleString {
    // SAFETY: the server copies the bytes.
    unsafe { api!(RedisModule_CreateString)(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len()) }
}

/// The bytes of a string of the server.
///
/// # Safety
/// The string is alive during `'s`.
unsafe fn bytes_of<'s>(string: *const RedisModuleString) -> &'s [u8] {
    let mut len = 0;
    // SAFETY: the caller guarantees it; the server returns the address and length.
    unsafe {
        let start = api!(RedisModule_StringPtrLen)(string, &mut len);
        slice::from_raw_parts(start.cast(), len)
    }
}
