//! Replies, written straight to the client's buffer.

use std::marker::PhantomData;

use redis_module::raw::RedisModuleCtx;

use super::answers;
use super::api::with_c_str;
use super::text::{self, Element, Text};

const TOO_LONG: &str = "ERR internal error, an outcome is longer than any can be";

/// Writes the reply of one call. It reaches nothing but the client, so it may be used while a sale
/// is borrowed. Elements follow the header that counts them.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    ctx: *mut RedisModuleCtx,
    call: PhantomData<&'a ()>,
}

impl Reply<'_> {
    pub(super) fn new(ctx: *mut RedisModuleCtx) -> Self {
        Reply { ctx, call: PhantomData }
    }

    /// The simple string `OK`.
    pub fn ok(self) {
        // SAFETY: the context is alive during the call and the text ends in NUL.
        unsafe { api!(RedisModule_ReplyWithSimpleString)(self.ctx, c"OK".as_ptr()) };
    }

    /// An error: a constant text whose first word is its code.
    pub fn error(self, text: &'static str) {
        with_c_str(text, |text| {
            // SAFETY: the context is alive during the call and the text ends in NUL.
            unsafe { api!(RedisModule_ReplyWithError)(self.ctx, text) };
        });
    }

    /// The header of an array of `len` elements.
    pub fn array(self, len: usize) {
        let len = len as libc::c_long;
        // SAFETY: the context is alive during the call.
        unsafe { api!(RedisModule_ReplyWithArray)(self.ctx, len) };
    }

    /// The header of a map of `len` pairs: a flat array of keys and values in RESP2.
    pub fn map(self, len: usize) {
        let len = len as libc::c_long;
        // SAFETY: the context is alive during the call.
        unsafe { api!(RedisModule_ReplyWithMap)(self.ctx, len) };
    }

    /// An integer.
    pub fn int(self, number: i64) {
        // SAFETY: the context is alive during the call.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx, number) };
    }

    /// An integer of the domain: at most 2^53 - 1.
    pub fn number(self, number: u64) {
        self.int(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// A bulk string.
    pub fn bytes(self, bytes: &[u8]) {
        // SAFETY: the context is alive during the call; the server copies the bytes.
        unsafe {
            api!(RedisModule_ReplyWithStringBuffer)(self.ctx, bytes.as_ptr().cast(), bytes.len())
        };
    }

    /// A bulk string of text.
    pub fn text(self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// An outcome, as it is written.
    #[inline(always)]
    pub fn outcome(self, write: impl FnOnce(&mut Text)) {
        let mut text = Text::new();
        write(&mut text);
        let Some(text) = text.written() else { return self.error(TOO_LONG) };
        match answers::filled(text) {
            // SAFETY: the context is alive during the call, and such replies are never freed. They
            // have nothing that RESP2 lacks, so the server refuses none.
            Some(answer) => unsafe {
                api!(RedisModule_ReplyWithCallReply)(self.ctx, answer);
            },
            None => self.each(text),
        }
    }

    /// The same, each element by itself.
    #[cold]
    fn each(self, text: &[u8]) {
        for element in text::elements(text) {
            match element {
                Element::Array(len) => self.array(len),
                Element::Word(word) => self.bytes(word),
                Element::Int(number) => self.int(number),
            }
        }
    }

    /// A null.
    pub fn null(self) {
        // SAFETY: the context is alive during the call.
        unsafe { api!(RedisModule_ReplyWithNull)(self.ctx) };
    }
}
