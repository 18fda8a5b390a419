//! Arguments: from bytes to typed values. Nothing here touches a key.
//!
//! Arguments are read from left to right, and the first wrong one determines the error. A repeated
//! or conflicting option is wrong at its name, before its value is read. Errors that need all
//! arguments (an empty window) come next, and errors of the key last.
//!
//! The argument's row, the [`Arg`] in the command's table entry, gives its numbers or lengths and
//! the error for others.

use super::errors::{self, Error};
use super::vocabulary::{Arg, REQ, SEQ, UNIT, USER};
use seckill_domain::request::Which;

/// A parsed value, or the error to reply.
pub type Parsed<T> = Result<T, Error>;

/// The arguments not read yet.
#[derive(Clone, Debug)]
pub struct Args<'a> {
    rest: &'a [&'a [u8]],
    /// Number of all arguments, those read included.
    given: usize,
}

impl<'a> Args<'a> {
    /// The arguments after the key. The table's arity guarantees that there is a key.
    pub fn after_key(args: &'a [&'a [u8]]) -> Args<'a> {
        Args { rest: args.get(1..).unwrap_or(&[]), given: args.len() }
    }

    /// The arguments of a command whose first is not a key.
    pub fn of(args: &'a [&'a [u8]]) -> Args<'a> {
        Args { rest: args, given: args.len() }
    }

    /// The error of the last argument read: it can't stand here, or its value is missing.
    #[cold]
    pub fn stray(&self) -> Error {
        Error::Stray(self.given - self.rest.len())
    }

    /// Number of arguments read.
    pub fn position(&self) -> usize {
        self.given - self.rest.len()
    }

    /// The next argument unchanged.
    pub fn bytes(&mut self) -> Parsed<&'a [u8]> {
        self.option().ok_or_else(|| self.stray())
    }

    /// The name of the next option; `None` at the end.
    pub fn option(&mut self) -> Option<&'a [u8]> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Whether the next argument is the word `name`; if so, reads it.
    pub fn accept(&mut self, name: &str) -> bool {
        let next = self.rest.first().is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()));
        if next {
            self.option();
        }
        next
    }

    /// The next `count` arguments; none if there are fewer.
    pub fn take(&mut self, count: usize) -> Option<&'a [&'a [u8]]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// All remaining arguments.
    pub fn rest(&mut self) -> &'a [&'a [u8]] {
        core::mem::take(&mut self.rest)
    }

    /// A number within the bounds of `row`.
    pub fn number(&mut self, row: &'static Arg) -> Parsed<u64> {
        let number = integer(self.bytes()?).filter(|number| row.accepts(*number));
        number.ok_or_else(|| refused(row))
    }

    /// The next number of a list within the bounds of `row`, if the next argument looks like a
    /// number. No option's name begins with a digit.
    pub fn next_number(&mut self, row: &'static Arg) -> Parsed<Option<u64>> {
        let begins = self.rest.first().and_then(|word| word.first());
        match begins.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
            true => self.number(row).map(Some),
            false => Ok(None),
        }
    }

    /// Numbers of units, all different, in the caller's order; they end at the first argument that
    /// is no number.
    pub fn units(&mut self) -> Parsed<Vec<u32>> {
        let mut units = vec![self.number(&UNIT)?];
        while let Some(unit) = self.next_number(&UNIT)? {
            units.push(unit);
        }
        let mut rising = units.clone();
        rising.sort_unstable();
        rising.dedup();
        if rising.len() < units.len() {
            return Err(errors::UNITS_REPEAT.into());
        }
        // A number beyond 32 bits becomes the largest one, which no sale has, so the sale refuses
        // it.
        Ok(units.into_iter().map(|it| u32::try_from(it).unwrap_or(u32::MAX)).collect())
    }

    /// A number that may be negative but not 0, its size within the bounds of `row`. A plus sign is
    /// an error.
    pub fn delta(&mut self, row: &'static Arg) -> Parsed<i64> {
        let text = self.bytes()?;
        let (digits, sign) = match text.split_first() {
            Some((b'-', digits)) => (digits, -1),
            _ => (text, 1),
        };
        let size = integer(digits).filter(|size| row.accepts(*size));
        let size = size.and_then(|size| i64::try_from(size).ok());
        size.map(|size| size * sign).ok_or_else(|| refused(row))
    }

    /// A string whose length is within the bounds of `row`.
    pub fn id(&mut self, row: &'static Arg) -> Parsed<&'a [u8]> {
        let id = self.bytes()?;
        row.accepts(id.len() as u64).then_some(id).ok_or_else(|| refused(row))
    }

    /// A user id.
    pub fn user(&mut self) -> Parsed<&'a [u8]> {
        self.id(&USER)
    }

    /// A request id.
    pub fn req(&mut self) -> Parsed<&'a [u8]> {
        self.id(&REQ)
    }

    /// The requested grant (SEQ n, REQ id, or neither). Other options are passed to `other`, which
    /// reads the option's value and returns false for an unknown option.
    pub fn which(
        &mut self,
        mut other: impl FnMut(&mut Self, &[u8]) -> Parsed<bool>,
    ) -> Parsed<Which<'a>> {
        let mut which = None;
        while let Some(name) = self.option() {
            let (seq, req) = (name.eq_ignore_ascii_case(b"SEQ"), name.eq_ignore_ascii_case(b"REQ"));
            match which {
                None if seq => which = Some(Which::Seq(self.number(&SEQ)?)),
                None if req => which = Some(Which::Req(self.req()?)),
                Some(Which::Seq(_)) if req => return Err(errors::SEQ_AND_REQ.into()),
                Some(Which::Req(_)) if seq => return Err(errors::SEQ_AND_REQ.into()),
                _ if !(seq || req) && other(self, name)? => {}
                _ => return Err(self.stray()),
            }
        }
        Ok(which.unwrap_or(Which::Only))
    }

    /// COUNT within the bounds of `row`, if given; no argument may follow it.
    pub fn last_count(&mut self, row: &'static Arg) -> Parsed<Option<u64>> {
        let count = match self.accept("COUNT") {
            true => Some(self.number(row)?),
            false => None,
        };
        self.end()?;
        Ok(count)
    }

    /// Checks that no argument is left.
    pub fn end(&self) -> Parsed<()> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(Error::Stray(self.position() + 1)),
        }
    }
}

/// The error of a value outside the bounds of `row`.
#[cold]
fn refused(row: &'static Arg) -> Error {
    Error::Text(row.error())
}

/// Plain decimal of at most 16 digits, as many as 2^53-1 has: no sign, no space, no leading zero.
fn integer(text: &[u8]) -> Option<u64> {
    // 16 digits can't overflow 64 bits. The largest number that may be given is in each row.
    if text.is_empty() || text.len() > 16 || (text.len() > 1 && text.starts_with(b"0")) {
        return None;
    }
    let mut number = 0u64;
    for byte in text {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::vocabulary::ArgKind;
    use seckill_domain::limits::{INTEGER_MAX, MOMENT_MS_MIN, REQ_BYTES_MAX, USER_BYTES_MAX};

    fn read<'a>(args: &'a [&'a [u8]]) -> Args<'a> {
        Args::after_key(args)
    }

    static ANY: Arg = Arg::new("n", ArgKind::Integer).takes(0, INTEGER_MAX);
    static COUNT: Arg = Arg::new("count", ArgKind::Integer).token("COUNT").takes(1, 10);
    static DELTA: Arg = Arg::new("delta", ArgKind::Delta).takes(1, INTEGER_MAX);
    static SPAN: Arg = Arg::new("hold", ArgKind::Span).token("HOLD").takes(0, 5);
    static EXTEND: Arg = Arg::new("milliseconds", ArgKind::Span).takes(1, 5);
    static MOMENT: Arg =
        Arg::new("at", ArgKind::UnixTime).token("AT").takes(MOMENT_MS_MIN, MOMENT_MS_MIN + 5);

    #[test]
    fn errors_are_made_of_rows() {
        for (row, error) in [
            (&ANY, "ERR n must be 0 to 9007199254740991"),
            (&COUNT, "ERR COUNT must be 1 to 10"),
            (&DELTA, "ERR delta must be -9007199254740991 to 9007199254740991 and not 0"),
            (&SPAN, "ERR HOLD must be 0 to 5 milliseconds"),
            (&EXTEND, "ERR milliseconds must be 1 to 5"),
            (&MOMENT, "ERR AT must be 0 or 100000000000 to 100000000005"),
            (&USER, "ERR user id must be 1 to 256 bytes"),
            (&REQ, "ERR request id must be 1 to 128 bytes"),
        ] {
            assert_eq!(row.error(), error);
        }
    }

    #[test]
    fn integers_are_plain_decimal() {
        for (text, number) in [("0", 0), ("17", 17), ("9007199254740991", INTEGER_MAX)] {
            assert_eq!(read(&[b"k", text.as_bytes()]).number(&ANY), Ok(number));
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
            assert_eq!(read(&args).number(&ANY), Err(Error::Text(ANY.error())), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_within_the_bounds_of_their_row() {
        let error = Err(Error::Text("ERR COUNT must be 1 to 10"));
        for (text, number) in [("0", error), ("1", Ok(1)), ("10", Ok(10)), ("11", error)] {
            assert_eq!(read(&[b"k", text.as_bytes()]).number(&COUNT), number);
        }
    }

    #[test]
    fn a_moment_is_not_in_seconds() {
        let moment = |text: &str| read(&[b"k", text.as_bytes()]).number(&MOMENT);
        for (text, taken) in [("0", 0), ("100000000000", MOMENT_MS_MIN)] {
            assert_eq!(moment(text), Ok(taken));
        }
        assert_eq!(moment("100000000005"), Ok(100_000_000_005));
        for text in ["1", "1795241037", "99999999999", "100000000006", "x"] {
            assert_eq!(moment(text), Err(Error::Text(MOMENT.error())), "{text}");
        }
    }

    #[test]
    fn a_delta_may_be_negative_but_not_zero() {
        assert_eq!(read(&[b"k", b"5"]).delta(&DELTA), Ok(5));
        assert_eq!(read(&[b"k", b"-5"]).delta(&DELTA), Ok(-5));
        let least = read(&[b"k", b"-9007199254740991"]).delta(&DELTA);
        assert_eq!(least, Ok(-(INTEGER_MAX as i64)));
        for text in ["0", "-0", "-", "--1", "-01", "+1", "- 1", "-9007199254740992", ""] {
            let args: [&[u8]; 2] = [b"k", text.as_bytes()];
            assert_eq!(read(&args).delta(&DELTA), Err(Error::Text(DELTA.error())), "{text:?}");
        }
    }

    #[test]
    fn ids_are_any_bytes_of_a_bounded_length() {
        for bytes in [&b"\0"[..], b"\xff%s%n", &[7; USER_BYTES_MAX]] {
            assert_eq!(read(&[b"k", bytes]).user(), Ok(bytes));
        }
        let (user, req) = (Error::Text(USER.error()), Error::Text(REQ.error()));
        assert_eq!(read(&[b"k", b""]).user(), Err(user));
        assert_eq!(read(&[b"k", &[7; USER_BYTES_MAX + 1]]).user(), Err(user));
        assert_eq!(read(&[b"k", &[7; REQ_BYTES_MAX]]).req(), Ok(&[7; REQ_BYTES_MAX][..]));
        assert_eq!(read(&[b"k", b""]).req(), Err(req));
        assert_eq!(read(&[b"k", &[7; REQ_BYTES_MAX + 1]]).req(), Err(req));
    }

    /// Arguments are counted from 1, after the command's name.
    #[test]
    fn a_syntax_error_tells_where() {
        let mut args = read(&[b"k", b"COUNT"]);
        assert!(args.accept("count"));
        assert_eq!(args.number(&ANY), Err(Error::Stray(2)), "the option whose value is missing");
        assert_eq!(read(&[b"k", b"x", b"y"]).end(), Err(Error::Stray(2)));
        let mut args = read(&[b"k", b"x", b"y"]);
        assert_eq!((args.option(), args.stray()), (Some(&b"x"[..]), Error::Stray(2)));
        assert_eq!(Args::of(&[b"x"]).end(), Err(Error::Stray(1)));
        assert_eq!(read(&[b"k"]).option(), None);
        assert_eq!(read(&[b"k"]).end(), Ok(()));
    }
}
