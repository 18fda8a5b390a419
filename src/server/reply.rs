//! The reply to the client that called a command or is unblocked.

use super::ffi::api::with_c_str;
use super::ffi::ctx::Ctx;

/// The error while another module's code runs in the middle of a change, or writes during a pause.
pub const BEING_CHANGED: &str = "TRYAGAIN sale is being changed";

/// The error of a handler that panicked.
pub(super) const FAILED: &str = "ERR internal error, see the server's log";

/// Writes the reply of one call straight to the client's buffer. It touches nothing but the client,
/// so it may be used while a sale is borrowed. Elements follow the header that counts them. The
/// server's reply functions promise to succeed, so their result is ignored.
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
        unsafe { api!(RedisModule_ReplyWithSimpleString)(self.ctx.raw(), c"OK".as_ptr()) };
    }

    /// An error: a constant text whose first word is its code.
    pub fn error(self, text: &'static str) {
        with_c_str(text, |text| {
            // SAFETY: the text ends in NUL.
            unsafe { api!(RedisModule_ReplyWithError)(self.ctx.raw(), text) };
        });
    }

    /// An error followed by a number of the module.
    pub fn error_at(self, text: &'static str, number: usize) {
        with_c_str(&format!("{text} {number}"), |text| {
            // SAFETY: as above.
            unsafe { api!(RedisModule_ReplyWithError)(self.ctx.raw(), text) };
        });
    }

    /// The header of an array of `len` elements.
    pub fn array(self, len: usize) {
        let len = len as libc::c_long;
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplyWithArray)(self.ctx.raw(), len) };
    }

    /// The header of a map of `len` pairs: a flat array of keys and values in RESP2.
    pub fn map(self, len: usize) {
        let len = len as libc::c_long;
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplyWithMap)(self.ctx.raw(), len) };
    }

    /// An integer.
    pub fn int(self, number: i64) {
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx.raw(), number) };
    }

    /// An integer of the domain: at most 2^53 - 1.
    pub fn number(self, number: u64) {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx.raw(), number) };
    }

    /// A bulk string of a text or of bytes.
    pub fn bulk(self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the server copies the bytes.
        unsafe { api!(RedisModule_ReplyWithStringBuffer)(self.ctx.raw(), start, len) };
    }

    /// A null.
    pub fn null(self) {
        // SAFETY: a living context is all that the call needs.
        unsafe { api!(RedisModule_ReplyWithNull)(self.ctx.raw()) };
    }
}
