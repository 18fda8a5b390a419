//! Replies, written straight to the client's buffer.

use std::os::raw::c_int;

use redis_module::raw;

use super::api::with_c_str;
use super::ctx::Ctx;
use super::log;

const NOT_TAKEN: &str = "the server did not take a part of a reply: a client may wait for it";

/// Writes the reply of one call. It reaches nothing but the client, so it may be used while a sale
/// is borrowed. Elements follow the header that counts them.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    ctx: Ctx<'a>,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(ctx: Ctx<'a>) -> Self {
        Reply { ctx }
    }

    /// The simple string `OK`.
    pub fn ok(self) {
        // SAFETY: the text ends in NUL.
        taken(unsafe { api!(RedisModule_ReplyWithSimpleString)(self.ctx.raw(), c"OK".as_ptr()) });
    }

    /// An error: a constant text whose first word is its code.
    pub fn error(self, text: &'static str) {
        with_c_str(text, |text| {
            // SAFETY: the text ends in NUL.
            taken(unsafe { api!(RedisModule_ReplyWithError)(self.ctx.raw(), text) });
        });
    }

    /// The header of an array of `len` elements.
    pub fn array(self, len: usize) {
        let len = len as libc::c_long;
        // SAFETY: a living context is all that the call needs.
        taken(unsafe { api!(RedisModule_ReplyWithArray)(self.ctx.raw(), len) });
    }

    /// The header of a map of `len` pairs: a flat array of keys and values in RESP2.
    pub fn map(self, len: usize) {
        let len = len as libc::c_long;
        // SAFETY: a living context is all that the call needs.
        taken(unsafe { api!(RedisModule_ReplyWithMap)(self.ctx.raw(), len) });
    }

    /// An integer.
    pub fn int(self, number: i64) {
        // SAFETY: a living context is all that the call needs.
        taken(unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx.raw(), number) });
    }

    /// An integer of the domain: at most 2^53 - 1.
    pub fn number(self, number: u64) {
        self.int(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// A bulk string.
    pub fn bytes(self, bytes: &[u8]) {
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the server copies the bytes.
        taken(unsafe { api!(RedisModule_ReplyWithStringBuffer)(self.ctx.raw(), start, len) });
    }

    /// A bulk string of text.
    pub fn text(self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A null.
    pub fn null(self) {
        // SAFETY: a living context is all that the call needs.
        taken(unsafe { api!(RedisModule_ReplyWithNull)(self.ctx.raw()) });
    }
}

/// Looks at what the server says of an element. It takes each from a command that is running; if it
/// ever refuses one, nothing can be sent instead, so the log says why a client waits.
#[inline]
fn taken(status: c_int) {
    if status as isize != raw::REDISMODULE_OK {
        log::warning(NOT_TAKEN);
    }
}
