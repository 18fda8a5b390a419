//! From argument bytes to typed values. Nothing here touches a key.
//!
//! Arguments are read from left to right and the first that is wrong decides the error. An option
//! given twice, or against another one, is wrong at its name, before its value is read. What shows
//! only when all arguments are known (an empty window) comes last, and the key after that.

use super::errors;
use seckill_domain::limits::{
    INTEGER_MAX, MOMENT_MS_MIN, OUTBOX_BYTES_MAX, REQ_BYTES_MAX, SPLIT_ID_BYTES_MAX, USER_BYTES_MAX,
};
use seckill_domain::request::Which;

/// A parsed value, or the error text to reply.
pub type Parsed<T> = Result<T, &'static str>;

/// The arguments that were not read yet.
#[derive(Clone, Debug)]
pub struct Args<'a> {
    rest: &'a [&'a [u8]],
}

impl<'a> Args<'a> {
    /// The arguments behind the key. The table's arity makes sure that there is a key.
    pub fn after_key(args: &'a [&'a [u8]]) -> Args<'a> {
        Args { rest: args.get(1..).unwrap_or(&[]) }
    }

    /// The next argument as it is; a syntax error when there is none.
    pub fn bytes(&mut self) -> Parsed<&'a [u8]> {
        self.option().ok_or(errors::SYNTAX)
    }

    /// The next argument, if it looks like a number: one more of a list of integers of 0 to 2^53-1.
    /// No option's name begins like one.
    pub fn optional_integer(&mut self) -> Parsed<Option<u64>> {
        let begins = self.rest.first().and_then(|word| word.first());
        match begins.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
            true => self.integer().map(Some),
            false => Ok(None),
        }
    }

    /// Whether the next argument is the word `name`; if so it is read.
    pub fn accept(&mut self, name: &str) -> bool {
        let next = self.rest.first().is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()));
        if next {
            self.option();
        }
        next
    }

    /// The next `count` arguments; a syntax error when there are fewer.
    pub fn take(&mut self, count: usize) -> Parsed<&'a [&'a [u8]]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(errors::SYNTAX)?;
        self.rest = rest;
        Ok(taken)
    }

    /// How many arguments are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// All arguments that are left.
    pub fn rest(&mut self) -> &'a [&'a [u8]] {
        core::mem::take(&mut self.rest)
    }

    /// The arguments of a command whose first is not a key.
    pub fn of(args: &'a [&'a [u8]]) -> Args<'a> {
        Args { rest: args }
    }

    /// The name of the next option; `None` at the end.
    pub fn option(&mut self) -> Option<&'a [u8]> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// An integer of 0 to 2^53-1.
    pub fn integer(&mut self) -> Parsed<u64> {
        integer(self.bytes()?).ok_or(errors::INTEGER)
    }

    /// An integer of 1 to 2^53-1: what a caller asks for.
    pub fn count(&mut self) -> Parsed<u64> {
        self.count_up_to(INTEGER_MAX)
    }

    /// An integer of 1 to `max`.
    pub fn count_up_to(&mut self, max: u64) -> Parsed<u64> {
        let number = self.integer()?;
        if (1..=max).contains(&number) {
            Ok(number)
        } else {
            Err(errors::INTEGER)
        }
    }

    /// A moment in Unix milliseconds up to `max`, or 0 for none. One in seconds is `error`: refused
    /// here, where callers' mistakes are found, because every way in leads through here. An effect
    /// or a snapshot only repeats what was taken here, and the domain does not know the year.
    pub fn moment(&mut self, max: u64, error: &'static str) -> Parsed<u64> {
        let moment = self.integer()?;
        if moment == 0 || (MOMENT_MS_MIN..=max).contains(&moment) {
            Ok(moment)
        } else {
            Err(error)
        }
    }

    /// An integer of -(2^53-1) to 2^53-1 that is not 0. A plus sign is as wrong as elsewhere.
    pub fn delta(&mut self) -> Parsed<i64> {
        let text = self.bytes()?;
        let (digits, sign) = match text.split_first() {
            Some((b'-', digits)) => (digits, -1),
            _ => (text, 1),
        };
        let size = integer(digits).and_then(|size| i64::try_from(size).ok());
        match size {
            None | Some(0) => Err(errors::INTEGER),
            Some(size) => Ok(size * sign),
        }
    }

    /// A user id.
    pub fn user(&mut self) -> Parsed<&'a [u8]> {
        self.id(USER_BYTES_MAX, errors::USER)
    }

    /// A request id.
    pub fn req(&mut self) -> Parsed<&'a [u8]> {
        self.id(REQ_BYTES_MAX, errors::REQ)
    }

    /// The id of a split.
    pub fn split(&mut self) -> Parsed<&'a [u8]> {
        self.id(SPLIT_ID_BYTES_MAX, errors::SPLIT_ID)
    }

    /// The name of an outbox.
    pub fn outbox(&mut self) -> Parsed<Box<[u8]>> {
        self.id(OUTBOX_BYTES_MAX, errors::OUTBOX_NAME).map(Into::into)
    }

    /// One to `max` bytes.
    fn id(&mut self, max: usize, error: &'static str) -> Parsed<&'a [u8]> {
        let id = self.bytes()?;
        (1..=max).contains(&id.len()).then_some(id).ok_or(error)
    }

    /// Which grant is meant, and whether RECLAIM was said: SEQ n, REQ id, or neither.
    pub fn which(&mut self, may_reclaim: bool) -> Parsed<(Which<'a>, bool)> {
        let (mut which, mut reclaim) = (None, false);
        while let Some(name) = self.option() {
            if name.eq_ignore_ascii_case(b"SEQ") && which.is_none() {
                which = Some(Which::Seq(self.count()?));
            } else if name.eq_ignore_ascii_case(b"REQ") && which.is_none() {
                which = Some(Which::Req(self.req()?));
            } else if may_reclaim && !reclaim && name.eq_ignore_ascii_case(b"RECLAIM") {
                reclaim = true;
            } else {
                return Err(errors::SYNTAX);
            }
        }
        if reclaim && which.is_none() {
            return Err(errors::SYNTAX);
        }
        Ok((which.unwrap_or(Which::Only), reclaim))
    }

    /// COUNT with 1 to `max`, if it is said, and nothing behind it.
    pub fn last_count(&mut self, max: u64) -> Parsed<Option<u64>> {
        let count = match self.accept("COUNT") {
            true => Some(self.count_up_to(max)?),
            false => None,
        };
        self.end()?;
        Ok(count)
    }

    /// Nothing may be left.
    pub fn end(&self) -> Parsed<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(errors::SYNTAX)
        }
    }
}

/// Plain decimal: no sign, no space, no leading zero, at most 2^53-1.
fn integer(text: &[u8]) -> Option<u64> {
    // 2^53-1 has 16 digits, so what passes here can't overflow 64 bits.
    if text.is_empty() || text.len() > 16 || (text.len() > 1 && text.starts_with(b"0")) {
        return None;
    }
    let mut number = 0u64;
    for byte in text {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number = number * 10 + u64::from(digit);
    }
    (number <= INTEGER_MAX).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(args: &'a [&'a [u8]]) -> Args<'a> {
        Args::after_key(args)
    }

    #[test]
    fn integers_are_plain_decimal() {
        for (text, number) in [("0", 0), ("17", 17), ("9007199254740991", INTEGER_MAX)] {
            assert_eq!(read(&[b"k", text.as_bytes()]).integer(), Ok(number));
        }
        let wrong = [
            "",
            "-1",
            "+1",
            " 1",
            "1 ",
            "01",
            "00",
            "1.0",
            "1e3",
            "0x1",
            "9007199254740992",
            "18446744073709551616",
            "99999999999999999999999",
            "\0",
            "1\0",
            "\u{661}",
        ];
        for text in wrong {
            let args: [&[u8]; 2] = [b"k", text.as_bytes()];
            assert_eq!(read(&args).integer(), Err(errors::INTEGER), "{text:?}");
            assert_eq!(read(&args).count(), Err(errors::INTEGER), "{text:?}");
        }
    }

    #[test]
    fn counts_start_at_one() {
        assert_eq!(read(&[b"k", b"0"]).count(), Err(errors::INTEGER));
        assert_eq!(read(&[b"k", b"1"]).count(), Ok(1));
        assert_eq!(read(&[b"k", b"11"]).count_up_to(10), Err(errors::INTEGER));
        assert_eq!(read(&[b"k", b"10"]).count_up_to(10), Ok(10));
    }

    #[test]
    fn a_moment_is_not_in_seconds() {
        let moment = |text: &str| read(&[b"k", text.as_bytes()]).moment(100_000_000_005, "wrong");
        for (text, taken) in [("0", 0), ("100000000000", MOMENT_MS_MIN)] {
            assert_eq!(moment(text), Ok(taken));
        }
        assert_eq!(moment("100000000005"), Ok(100_000_000_005));
        for text in ["1", "1795241037", "99999999999", "100000000006"] {
            assert_eq!(moment(text), Err("wrong"), "{text}");
        }
        assert_eq!(moment("x"), Err(errors::INTEGER));
    }

    #[test]
    fn a_delta_may_be_negative_but_not_zero() {
        assert_eq!(read(&[b"k", b"5"]).delta(), Ok(5));
        assert_eq!(read(&[b"k", b"-5"]).delta(), Ok(-5));
        assert_eq!(read(&[b"k", b"-9007199254740991"]).delta(), Ok(-(INTEGER_MAX as i64)));
        for text in ["0", "-0", "-", "--1", "-01", "+1", "- 1", "-9007199254740992", ""] {
            let args: [&[u8]; 2] = [b"k", text.as_bytes()];
            assert_eq!(read(&args).delta(), Err(errors::INTEGER), "{text:?}");
        }
    }

    #[test]
    fn ids_are_any_bytes_of_a_bounded_length() {
        for bytes in [&b"\0"[..], b"\xff%s%n", &[7; USER_BYTES_MAX]] {
            assert_eq!(read(&[b"k", bytes]).user(), Ok(bytes));
        }
        assert_eq!(read(&[b"k", b""]).user(), Err(errors::USER));
        assert_eq!(read(&[b"k", &[7; USER_BYTES_MAX + 1]]).user(), Err(errors::USER));
        assert_eq!(read(&[b"k", &[7; REQ_BYTES_MAX]]).req(), Ok(&[7; REQ_BYTES_MAX][..]));
        assert_eq!(read(&[b"k", b""]).req(), Err(errors::REQ));
        assert_eq!(read(&[b"k", &[7; REQ_BYTES_MAX + 1]]).req(), Err(errors::REQ));
    }

    #[test]
    fn what_is_missing_is_a_syntax_error() {
        assert_eq!(read(&[b"k"]).integer(), Err(errors::SYNTAX));
        assert_eq!(read(&[]).user(), Err(errors::SYNTAX));
        assert_eq!(read(&[b"k"]).option(), None);
        assert_eq!(read(&[b"k", b"x"]).end(), Err(errors::SYNTAX));
        assert_eq!(read(&[b"k"]).end(), Ok(()));
    }
}
