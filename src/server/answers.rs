//! Answers of the server, filled with outcomes: a reply in one write.
//!
//! Written by element, a reply takes one to three writes into the client's buffer for each, and an
//! outcome has up to six. The answer to a call that the module made itself, though, the server
//! hands on in one write, as it is. So when the module is loaded it asks the server for one answer
//! of each length that an outcome can have, and keeps them. An outcome is written over the answer
//! of its length, and the server copies that into the client's buffer.
//!
//! An answer belongs to who asked for it: nobody else reads its bytes, which the server's header
//! calls constant but which it never looks at, only hands on. A length without an answer (the
//! command was renamed, or a server answers otherwise) is written element by element.

use std::os::raw::c_char;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::{RedisModuleCallReply, RedisModuleCtx};

use super::log;

/// Bytes of the longest outcome: six elements, of which three are the largest integer, one the
/// largest seq, and two words.
const LEN_MAX: usize = 104;
/// Bytes of the shortest one: one word.
const LEN_MIN: usize = 14;
const PLAIN: &str = "the server did not answer to ECHO and PUBSUB NUMSUB as expected: replies are \
    as right, but slower";

/// An answer of the server, kept for good.
struct Answer {
    reply: AtomicPtr<RedisModuleCallReply>,
    bytes: AtomicPtr<u8>,
}

/// The answers by their lengths.
static ANSWERS: [Answer; LEN_MAX + 1] = [const {
    let (reply, bytes) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
    Answer { reply, bytes }
}; LEN_MAX + 1];

/// A text as a reply that the server hands on: good until the next one is asked for. None if the
/// server gave no answer of that length.
#[inline]
pub(super) fn filled(text: &[u8]) -> Option<*mut RedisModuleCallReply> {
    let answer = ANSWERS.get(text.len())?;
    let bytes = answer.bytes.load(Ordering::Relaxed);
    if bytes.is_null() {
        return None;
    }
    // SAFETY: the answer has `text.len()` bytes of heap that nobody else looks at, and only the
    // server's one thread comes here.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), bytes, text.len()) };
    Some(answer.reply.load(Ordering::Relaxed))
}

/// Asks the server for the answers.
pub(super) fn prepare(ctx: *mut RedisModuleCtx) {
    let mut are_there = true;
    for (len, answer) in ANSWERS.iter().enumerate().skip(LEN_MIN) {
        // A file that is loaded again has its answers.
        if answer.bytes.load(Ordering::Relaxed).is_null() {
            are_there &= ask(ctx, len, answer);
        }
    }
    if !are_there {
        log::notice(PLAIN);
    }
}

/// Keeps an answer of `len` bytes. False if the server gives none.
fn ask(ctx: *mut RedisModuleCtx, len: usize, answer: &Answer) -> bool {
    let Some((reply, expected)) = call_for(ctx, len) else { return false };
    if reply.is_null() {
        return false;
    }
    match bytes_of(reply, expected.as_bytes()) {
        Some(bytes) => {
            answer.reply.store(reply, Ordering::Relaxed);
            answer.bytes.store(bytes, Ordering::Relaxed);
            true
        }
        None => {
            // SAFETY: the reply is alive, nobody else has it, and it is freed once.
            unsafe { api!(RedisModule_FreeCallReply)(reply) };
            false
        }
    }
}

/// Makes the call whose answer has `len` bytes. The answer, null if the server refuses, and the
/// bytes that it should have.
fn call_for(ctx: *mut RedisModuleCtx, len: usize) -> Option<(*mut RedisModuleCallReply, String)> {
    let told_for = |answer: fn(usize) -> String| (1..len).find(|told| answer(*told).len() == len);
    if let Some(told) = told_for(echo) {
        return Some((call(ctx, c"ECHO", None, told), echo(told)));
    }
    let told = told_for(subscribers)?;
    Some((call(ctx, c"PUBSUB", Some(c"NUMSUB"), told), subscribers(told)))
}

/// Where the bytes of a reply are. None unless they are the expected ones.
fn bytes_of(reply: *mut RedisModuleCallReply, expected: &[u8]) -> Option<*mut u8> {
    let mut len = 0;
    // SAFETY: the reply is alive and says where its bytes are and how many.
    let bytes: *const u8 = unsafe { api!(RedisModule_CallReplyProto)(reply, &mut len) }.cast();
    if bytes.is_null() {
        return None;
    }
    // SAFETY: there are so many bytes, as the server has just said.
    let found = unsafe { std::slice::from_raw_parts(bytes, len) };
    (found == expected).then_some(bytes.cast_mut())
}

/// What is told to the server in order to get an answer.
fn told(len: usize) -> String {
    "x".repeat(len)
}

/// What the server answers to ECHO. The length in front of the text grows by a digit now and then,
/// so that some lengths are left out.
fn echo(len: usize) -> String {
    format!("${len}\r\n{}\r\n", told(len))
}

/// What the server answers about the subscribers of a channel. It leaves other lengths out.
fn subscribers(len: usize) -> String {
    format!("*2\r\n{}:0\r\n", echo(len))
}

/// Calls a command, or a subcommand of it, with a text of `len` bytes.
fn call(
    ctx: *mut RedisModuleCtx,
    command: &std::ffi::CStr,
    subcommand: Option<&std::ffi::CStr>,
    len: usize,
) -> *mut RedisModuleCallReply {
    let (told, command) = (told(len), command.as_ptr());
    let text: *const c_char = told.as_ptr().cast();
    // SAFETY: the context is alive while loading, the names end in NUL, and the formats name the
    // arguments that follow: a text with its length, behind a subcommand or not.
    unsafe {
        match subcommand {
            None => api!(RedisModule_Call)(ctx, command, c"b".as_ptr(), text, len),
            Some(sub) => {
                api!(RedisModule_Call)(ctx, command, c"cb".as_ptr(), sub.as_ptr(), text, len)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_server_there_is_no_answer() {
        assert_eq!((0..200).find_map(|len| filled(&vec![b'x'; len])), None);
    }

    #[test]
    fn every_length_can_be_asked_for() {
        for len in LEN_MIN..=LEN_MAX {
            let is_len =
                |answer: fn(usize) -> String| (1..len).any(|told| answer(told).len() == len);
            assert!(is_len(echo) || is_len(subscribers), "{len}");
        }
    }
}
