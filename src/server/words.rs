//! The words of replies, kept as replies that the server made once.
//!
//! A bulk string is three writes into the client's buffer: its length, its bytes and the end of
//! the line. A reply that the server gave to a call is written in one, as it is. So at load the
//! server is asked for its subscribers of channels named like our words: it answers
//! `[word, 0, ...]`, which holds every word as we send it, and for one of them is the whole answer.
//! An answer that is not byte for byte the expected one is not used, and a word that was not
//! answered is written the plain way.

use std::os::raw::c_char;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{slice, str};

use redis_module::raw::{RedisModuleCallReply, RedisModuleCtx, RedisModuleString};

use super::log;
use super::replicate::create_string;

const PLAIN: &str = "the server did not answer with the words of replies: replies are as right, \
    but slower";

/// The answer that the words are parts of. Never freed, like the parts.
static WHOLE: AtomicPtr<RedisModuleCallReply> = AtomicPtr::new(ptr::null_mut());

/// A word of replies. It lives as long as the module.
#[derive(Debug)]
pub struct Word {
    text: &'static str,
    /// The word alone, a bulk string.
    bulk: AtomicPtr<RedisModuleCallReply>,
    /// The array of the word and the integer 0.
    pair: AtomicPtr<RedisModuleCallReply>,
}

impl Word {
    /// A word, which is written the plain way until [`prepare`] has asked for it.
    pub const fn new(text: &'static str) -> Word {
        let none = ptr::null_mut();
        Word { text, bulk: AtomicPtr::new(none), pair: AtomicPtr::new(none) }
    }

    /// The word itself.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// The word as a reply of the server, if there is one.
    pub(super) fn bulk(&self) -> Option<*mut RedisModuleCallReply> {
        Some(self.bulk.load(Ordering::Relaxed)).filter(|reply| !reply.is_null())
    }

    /// The word and 0 as a reply of the server, if there is one.
    pub(super) fn pair(&self) -> Option<*mut RedisModuleCallReply> {
        Some(self.pair.load(Ordering::Relaxed)).filter(|reply| !reply.is_null())
    }
}

/// Asks the server for `words`, and for `pair` also as the answer `[word, 0]`.
pub(super) fn prepare(ctx: *mut RedisModuleCtx, words: &[&'static Word], pair: &'static Word) {
    if !WHOLE.load(Ordering::Relaxed).is_null() {
        // A file that is loaded again has its words.
        return;
    }
    let Some(whole) = ask(ctx, words) else { return log::notice(PLAIN) };
    WHOLE.store(whole, Ordering::Relaxed);
    if let Some(reply) = ask(ctx, &[pair]) {
        pair.pair.store(reply, Ordering::Relaxed);
    }
    for (number, word) in words.iter().enumerate() {
        // SAFETY: the reply is alive for good; the server answers null for what is not there.
        let element = unsafe { api!(RedisModule_CallReplyArrayElement)(whole, number * 2) };
        word.bulk.store(element, Ordering::Relaxed);
    }
}

/// What the server answers about the subscribers of channels named `words`, if that is as expected.
fn ask(ctx: *mut RedisModuleCtx, named: &[&Word]) -> Option<*mut RedisModuleCallReply> {
    let words: Vec<*mut RedisModuleString> =
        named.iter().map(|word| create_string(ctx, word.text.as_bytes())).collect();
    let (command, format): (*const c_char, _) = (c"PUBSUB".as_ptr(), c"cv".as_ptr());
    // SAFETY: the context is alive while loading, the texts end in NUL, and the format names one
    // text and an array of strings with its length, all alive during the call.
    let reply = unsafe {
        let (first, len) = (words.as_ptr(), words.len());
        api!(RedisModule_Call)(ctx, command, format, c"NUMSUB".as_ptr(), first, len)
    };
    for word in words {
        // SAFETY: each string was created above and is freed once; the reply has its own bytes.
        unsafe { api!(RedisModule_FreeString)(ctx, word) };
    }
    if reply.is_null() || is_answer(reply, named) {
        return Some(reply).filter(|reply| !reply.is_null());
    }
    // SAFETY: the reply is alive, nobody else has it, and it is freed once.
    unsafe { api!(RedisModule_FreeCallReply)(reply) };
    None
}

/// Whether a reply is, byte for byte, each of `words` followed by 0.
fn is_answer(reply: *mut RedisModuleCallReply, words: &[&Word]) -> bool {
    let mut len = 0;
    // SAFETY: the reply is alive and says where its bytes are and how many.
    let bytes = unsafe {
        let start = api!(RedisModule_CallReplyProto)(reply, &mut len);
        if start.is_null() {
            return false;
        }
        slice::from_raw_parts(start.cast::<u8>(), len)
    };
    str::from_utf8(bytes) == Ok(&expected(words))
}

/// Each of `words` and 0, in RESP.
fn expected(words: &[&Word]) -> String {
    let pair = |word: &&Word| format!("${}\r\n{}\r\n:0\r\n", word.text.len(), word.text);
    let pairs: String = words.iter().map(pair).collect();
    format!("*{}\r\n{pairs}", words.len() * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_expected_as_the_protocol_has_them() {
        let (sold, held) = (Word::new("SOLD"), Word::new("HELD"));
        let both = "*4\r\n$4\r\nSOLD\r\n:0\r\n$4\r\nHELD\r\n:0\r\n";
        assert_eq!(expected(&[&sold, &held]), both);
        assert!(sold.bulk().is_none() && sold.pair().is_none());
    }
}
