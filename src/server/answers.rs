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
/// Bytes of the longest fixed part: the header of an array and a word.
const FIXED_LEN_MAX: usize = 24;

const PLAIN: &str = "the server did not answer to ECHO and PUBSUB NUMSUB as expected: replies are \
    as right, but slower";

/// What never changes in a reply, as it is sent: the header of an array, a word as a bulk string,
/// or a word behind its header.
#[derive(Debug)]
pub struct Fixed {
    /// Elements of the array that begins here, 0 if none does.
    array: usize,
    word: &'static str,
    bytes: [u8; FIXED_LEN_MAX],
    len: usize,
}

impl Fixed {
    /// A word within an array: 1 to 9 letters. A longer one does not compile.
    pub const fn word(word: &'static str) -> Fixed {
        Fixed::first(0, word)
    }

    /// The header of an array of 1 to 9 `elements`, of which the first is not fixed.
    pub const fn array(elements: usize) -> Fixed {
        Fixed::first(elements, "")
    }

    /// The header of an array of 1 to 9 `elements`, of which the first is `word`.
    pub const fn first(elements: usize, word: &'static str) -> Fixed {
        let mut fixed = Fixed { array: elements, word, bytes: [0; FIXED_LEN_MAX], len: 0 };
        if elements > 0 {
            fixed = fixed.with(b'*').with_digit(elements).with(b'\r').with(b'\n');
        }
        let letters = word.as_bytes();
        if !letters.is_empty() {
            fixed = fixed.with(b'$').with_digit(letters.len()).with(b'\r').with(b'\n');
            let mut at = 0;
            while at < letters.len() {
                fixed = fixed.with(letters[at]);
                at += 1;
            }
            fixed = fixed.with(b'\r').with(b'\n');
        }
        fixed
    }

    const fn with_digit(self, number: usize) -> Fixed {
        assert!(number < 10, "lengths have one digit");
        self.with(b'0' + number as u8)
    }

    const fn with(mut self, byte: u8) -> Fixed {
        self.bytes[self.len] = byte;
        self.len += 1;
        self
    }

    /// Elements of the array that begins here, if one does.
    pub(super) fn array_len(&self) -> Option<usize> {
        Some(self.array).filter(|len| *len > 0)
    }

    /// The word, if there is one.
    pub fn text(&self) -> Option<&'static str> {
        Some(self.word).filter(|word| !word.is_empty())
    }
}

/// A part of an outcome.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Fixed(&'static Fixed),
    Number(u64),
}

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

/// An outcome, being written.
struct Text {
    /// A fixed part is copied with all the room it has.
    bytes: [u8; LEN_MAX + FIXED_LEN_MAX],
    len: usize,
}

impl Text {
    /// What the parts are together. None if that is longer than any outcome.
    #[inline(always)]
    fn of<const N: usize>(parts: &[Part; N]) -> Option<Text> {
        let mut text = Text { bytes: [0; LEN_MAX + FIXED_LEN_MAX], len: 0 };
        for part in parts {
            match *part {
                Part::Fixed(fixed) => {
                    *text.bytes.get_mut(text.len..)?.first_chunk_mut()? = fixed.bytes;
                    text.len += fixed.len;
                }
                Part::Number(digit @ 0..=9) => {
                    let line = [b':', b'0' + digit as u8, b'\r', b'\n'];
                    *text.bytes.get_mut(text.len..)?.first_chunk_mut()? = line;
                    text.len += line.len();
                }
                Part::Number(number) => text.number(number)?,
            }
        }
        Some(text)
    }

    fn number(&mut self, number: u64) -> Option<()> {
        let line: &mut [u8; FIXED_LEN_MAX] = self.bytes.get_mut(self.len..)?.first_chunk_mut()?;
        line[0] = b':';
        let end = 1 + write_digits(line.get_mut(1..)?, number)?;
        *line.get_mut(end..)?.first_chunk_mut()? = *b"\r\n";
        self.len += end + 2;
        Some(())
    }
}

/// Writes a number and says how many digits it has. There must be room for seven more.
#[inline]
fn write_digits(line: &mut [u8], number: u64) -> Option<usize> {
    if number >= EIGHT_DIGITS {
        let written = write_digits(line, number / EIGHT_DIGITS)?;
        let lower = eight_digits(number % EIGHT_DIGITS) | ZEROS;
        *line.get_mut(written..)?.first_chunk_mut()? = lower.to_le_bytes();
        return Some(written + 8);
    }
    let digits = eight_digits(number);
    // The last digit is written even if it is a zero.
    let leading_zeros = digits.trailing_zeros().min(56) & !7;
    *line.first_chunk_mut()? = ((digits | ZEROS) >> leading_zeros).to_le_bytes();
    Some(8 - leading_zeros as usize / 8)
}

/// Numbers below this have at most eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Eight times the digit 0 as text.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The digits of a number below [`EIGHT_DIGITS`], a byte each, the first in the lowest byte. All
/// parts of a word are divided at once by multiplying with a rounded inverse ("How to print
/// integers really fast", Khuong, 2017).
#[inline]
fn eight_digits(number: u64) -> u64 {
    // Two numbers of four digits, each in 32 bits.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Four numbers of two digits: 10,486 / 2^20 is one hundredth, exact enough for four digits.
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    // Eight digits: 103 / 2^10 is one tenth, exact enough for two digits.
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// What the parts are together, as a reply that the server hands on: good until the next one is
/// asked for. None if the server gave no answer of that length.
#[inline(always)]
pub(super) fn filled<const N: usize>(parts: &[Part; N]) -> Option<*mut RedisModuleCallReply> {
    let text = Text::of(parts)?;
    let answer = ANSWERS.get(text.len)?;
    let bytes = answer.bytes.load(Ordering::Relaxed);
    if bytes.is_null() {
        return None;
    }
    // SAFETY: the answer has `text.len` bytes of heap that nobody else looks at, and only the
    // server's one thread comes here.
    unsafe { ptr::copy_nonoverlapping(text.bytes.as_ptr(), bytes, text.len) };
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

    static GRANTED: Fixed = Fixed::first(6, "GRANTED");
    static CANCELLED: Fixed = Fixed::word("CANCELLED");
    static FOUR: Fixed = Fixed::array(4);

    fn text<const N: usize>(parts: &[Part; N]) -> Option<String> {
        let text = Text::of(parts)?;
        Some(std::str::from_utf8(&text.bytes[..text.len]).unwrap().to_owned())
    }

    #[test]
    fn parts_are_written_as_the_protocol_has_them() {
        let fixed = [&GRANTED, &CANCELLED, &FOUR].map(Part::Fixed);
        let expected = "*6\r\n$7\r\nGRANTED\r\n$9\r\nCANCELLED\r\n*4\r\n";
        assert_eq!(text(&fixed).unwrap(), expected);
        let numbers = [0, 9, 10, 99, 100, (1 << 53) - 1].map(Part::Number);
        let expected = ":0\r\n:9\r\n:10\r\n:99\r\n:100\r\n:9007199254740991\r\n";
        assert_eq!(text(&numbers).unwrap(), expected);
        assert_eq!(filled(&numbers), None, "without a server there is no answer");
    }

    #[test]
    fn every_number_is_written_as_it_is() {
        let edges = (0..20).map(|power| 10u64.pow(power));
        let around = edges.flat_map(|edge| [edge - 1, edge, edge + 1, edge.wrapping_mul(9) / 2]);
        let halves = (0..10_000).flat_map(|half| [half, half * 10_000, 50_005_000 + half]);
        for number in around.chain(halves).chain([u64::MAX, (1 << 53) - 1]) {
            assert_eq!(text(&[Part::Number(number)]).unwrap(), format!(":{number}\r\n"));
        }
    }

    #[test]
    fn the_longest_outcome_has_a_place_and_a_longer_one_harms_nothing() {
        use Part::Number;
        let (seq, most) = (Number(u64::from(u32::MAX)), Number((1 << 53) - 1));
        let [granted, cancelled] = [&GRANTED, &CANCELLED].map(Part::Fixed);
        let longest = [granted, seq, most, cancelled, most, most];
        let len = text(&longest).unwrap().len();
        assert!((LEN_MAX - 4..=LEN_MAX).contains(&len), "{len}");
        assert_eq!(filled(&[Number(u64::MAX); 5]), None);
        assert!(text(&[Number(u64::MAX); 6]).is_none());
        assert!(text(&[cancelled; 9]).is_none());
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
