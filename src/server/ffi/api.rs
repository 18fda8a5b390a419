//! The server's functions, and safe forms of their arguments and results: texts, strings, replies.
//! Panics are stopped here, too.
//!
//! The server fills in a pointer for each function that it has; older servers lack newer functions.
//! `api!` is for functions of Redis 7.0. Loading fails with a log line if one is missing, so every
//! call finds its function. For any other function ask `offered!` first.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::{ptr, slice};

use redis_module::raw::{self, RedisModuleCallReply, RedisModuleString};

use super::log;

/// The pointer to a function of [`missing`]'s list. Used within `unsafe`.
macro_rules! api {
    // The server set the pointer before it loaded the module, and loading checked that it is there.
    ($name:ident) => {
        redis_module::raw::$name.unwrap_unchecked()
    };
}

/// The pointer to a function that only newer servers have, if this one has it.
macro_rules! offered {
    ($name:ident) => {
        // SAFETY: the server writes the pointer once, before the module is loaded.
        unsafe { redis_module::raw::$name }
    };
}

/// Defines [`missing`].
macro_rules! required {
    ($($name:ident)*) => {
        /// The first function that the module calls through `api!` and that the server lacks.
        /// tests/tidy checks that the list is complete.
        pub(crate) fn missing() -> Option<&'static str> {
            let functions = [$((offered!($name).is_some(), stringify!($name))),*];
            functions.iter().find(|(is_there, _)| !is_there).map(|(_, name)| *name)
        }
    };
}

required! {
    RedisModule_ACLCheckCommandPermissions
    RedisModule_Alloc
    RedisModule_BlockClient
    RedisModule_Call
    RedisModule_CallReplyProto
    RedisModule_CallReplyType
    RedisModule_Calloc
    RedisModule_CloseKey
    RedisModule_CreateCommand
    RedisModule_CreateDataType
    RedisModule_CreateString
    RedisModule_CreateTimer
    RedisModule_DefragAlloc
    RedisModule_DefragCursorGet
    RedisModule_DefragCursorSet
    RedisModule_DefragShouldStop
    RedisModule_DeleteKey
    RedisModule_DigestAddStringBuffer
    RedisModule_DigestEndSequence
    RedisModule_EmitAOF
    RedisModule_Free
    RedisModule_FreeCallReply
    RedisModule_FreeModuleUser
    RedisModule_FreeServerInfo
    RedisModule_FreeString
    RedisModule_GetBlockedClientPrivateData
    RedisModule_GetCommand
    RedisModule_GetContextFlags
    RedisModule_GetContextFromIO
    RedisModule_GetDbIdFromIO
    RedisModule_GetDbIdFromOptCtx
    RedisModule_GetKeyNameFromIO
    RedisModule_GetKeyNameFromOptCtx
    RedisModule_GetModuleUserFromUserName
    RedisModule_GetSelectedDb
    RedisModule_GetServerInfo
    RedisModule_InfoAddFieldCString
    RedisModule_InfoAddFieldULongLong
    RedisModule_InfoAddSection
    RedisModule_KeyType
    RedisModule_LoadConfigs
    RedisModule_LoadStringBuffer
    RedisModule_MallocSize
    RedisModule_Milliseconds
    RedisModule_ModuleTypeGetType
    RedisModule_ModuleTypeGetValue
    RedisModule_ModuleTypeSetValue
    RedisModule_NotifyKeyspaceEvent
    RedisModule_OpenKey
    RedisModule_Realloc
    RedisModule_RegisterInfoFunc
    RedisModule_RegisterNumericConfig
    RedisModule_Replicate
    RedisModule_ReplicateVerbatim
    RedisModule_ReplyWithArray
    RedisModule_ReplyWithError
    RedisModule_ReplyWithLongLong
    RedisModule_ReplyWithMap
    RedisModule_ReplyWithNull
    RedisModule_ReplyWithSimpleString
    RedisModule_ReplyWithStringBuffer
    RedisModule_SaveStringBuffer
    RedisModule_SelectDb
    RedisModule_ServerInfoGetFieldC
    RedisModule_SetCommandInfo
    RedisModule_SetDisconnectCallback
    RedisModule_SetModuleOptions
    RedisModule_SignalModifiedKey
    RedisModule_StopTimer
    RedisModule_StreamAdd
    RedisModule_StreamDelete
    RedisModule_StringPtrLen
    RedisModule_SubscribeToKeyspaceEvents
    RedisModule_SubscribeToServerEvent
    RedisModule_UnblockClient
    RedisModule_ValueLength
}

const PANICKED: &str = "a callback failed inside; see the line before this one";

/// Runs the body of a server callback. A panic must not unwind into C, which would end the process:
/// it is logged, and `fallback` is returned.
pub fn guarded<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer,
        Err(_) => {
            log::warning(PANICKED);
            fallback
        }
    }
}

/// Longest text that [`with_c_str`] passes on; the rest is cut off.
const TEXT_BYTES_MAX: usize = 255;

/// Lends `text` as a C string, without the heap. Our texts are short constants.
pub fn with_c_str<T>(text: &str, body: impl FnOnce(*const libc::c_char) -> T) -> T {
    let mut buffer = [0u8; TEXT_BYTES_MAX + 1];
    for (slot, byte) in buffer.iter_mut().zip(text.bytes().take(TEXT_BYTES_MAX)) {
        // A NUL would cut the text short and do no other harm.
        *slot = byte;
    }
    body(buffer.as_ptr().cast())
}

/// The bytes of a server's string.
///
/// # Safety
/// The string must live for `'s`, and nobody may change it meanwhile.
pub(crate) unsafe fn bytes_of<'s>(string: *const RedisModuleString) -> &'s [u8] {
    let mut len = 0;
    // SAFETY: the string is valid by the caller's word.
    let start = unsafe { api!(RedisModule_StringPtrLen)(string, &mut len) };
    if start.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the server says where the bytes are and how many.
    unsafe { slice::from_raw_parts(start.cast(), len) }
}

/// A string of the server that the module owns: dropping it frees the string.
#[repr(transparent)]
pub(crate) struct OwnString(*mut RedisModuleString);

impl OwnString {
    /// A missing string: a null pointer.
    pub(crate) const NONE: OwnString = OwnString(ptr::null_mut());

    /// A string of these bytes.
    pub(crate) fn new(bytes: &[u8]) -> OwnString {
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: strings may be made without a context; the server copies the bytes.
        OwnString(unsafe { api!(RedisModule_CreateString)(ptr::null_mut(), start, len) })
    }

    /// The pointer for the server's functions, valid as long as this struct.
    #[inline]
    pub(crate) fn raw(&self) -> *mut RedisModuleString {
        self.0
    }
}

impl Drop for OwnString {
    #[inline]
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the string was created for this struct and is freed once.
            unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), self.0) };
        }
    }
}

/// The reply to a command that the module called, or null. Dropping it frees the reply.
///
/// The module only asks, and yet each call's format has `!AR`. Code of other modules may run in a
/// call: a key's time may be over. Without `!` the server would replicate nothing that this code
/// writes. `A` and `R` keep the call itself out of the AOF and from replicas.
pub(crate) struct CallReply(pub(crate) *mut RedisModuleCallReply);

impl CallReply {
    /// Whether the server did not run the command or replied with an error.
    pub(crate) fn is_refused(&self) -> bool {
        // SAFETY: a reply that is there is alive.
        self.0.is_null()
            || unsafe { api!(RedisModule_CallReplyType)(self.0) } as isize
                == raw::REDISMODULE_REPLY_ERROR
    }

    /// Whether the server did not run the command.
    pub(crate) fn is_missing(&self) -> bool {
        self.0.is_null()
    }

    /// The reply's bytes in RESP; empty if the command was refused.
    pub(crate) fn proto(&self) -> &[u8] {
        if self.is_refused() {
            return &[];
        }
        let mut len = 0;
        // SAFETY: the reply is alive.
        let start = unsafe { api!(RedisModule_CallReplyProto)(self.0, &mut len) };
        if start.is_null() {
            return &[];
        }
        // SAFETY: the server says where the bytes are and how many; they live as long as the reply.
        unsafe { slice::from_raw_parts(start.cast(), len) }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the reply is alive and freed once.
            unsafe { api!(RedisModule_FreeCallReply)(self.0) };
        }
    }
}

/// The clock in Unix milliseconds.
pub fn clock_ms() -> u64 {
    // SAFETY: the function takes nothing and only reads the clock.
    let clock = unsafe { api!(RedisModule_Milliseconds)() };
    u64::try_from(clock).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_becomes_the_fallback() {
        assert_eq!(guarded(1, || 2), 2);
        assert_eq!(guarded(1, || panic!("seen by a test")), 1);
    }

    #[test]
    fn without_a_server_functions_are_missing() {
        assert!(missing().is_some());
    }

    #[test]
    fn texts_are_lent_with_their_nul_and_cut_when_too_long() {
        let copy = |text: *const libc::c_char| {
            // SAFETY: `with_c_str` promises a NUL at the end.
            unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()
        };
        assert_eq!(with_c_str("seckill.grant", copy), b"seckill.grant");
        assert_eq!(with_c_str("", copy), b"");
        assert_eq!(with_c_str(&"x".repeat(999), copy).len(), TEXT_BYTES_MAX);
    }
}
