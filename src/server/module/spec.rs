//! The row of a command: everything that the server, the docs, HELP and tests know about it.

use redis_module::raw;

use crate::server::call::Handler;
use seckill_domain::outcome::Row;

/// One command: everything that the server, the docs and HELP know about it.
#[derive(Debug)]
pub struct Spec {
    /// The name in capitals, with its prefix: `SECKILL.GRAB`.
    pub name: &'static str,
    /// The handler, which parses, decides and replies exactly once.
    pub handler: Handler,
    /// Words of a call, the name included; negative: at least that many.
    pub arity: i32,
    /// Flags of the command, separated by spaces: `write fast deny-oom`.
    pub flags: &'static str,
    /// ACL categories for servers that know them for module commands. The category `seckill` is
    /// added to every command where the server allows new ones.
    pub acl: &'static str,
    /// Positions of its keys; none for a command that touches no sale.
    pub keys: &'static [KeySpec],
    /// The summary: one line without a full stop.
    pub summary: &'static str,
    /// The complexity, such as `O(1)`, and the numbers it depends on.
    pub complexity: &'static str,
    /// The first module version with this command.
    pub since: &'static str,
    /// Command tips, such as `nondeterministic_output`.
    pub tips: &'static [&'static str],
    /// The arguments in the order of the docs, without the command's name.
    pub args: &'static [Arg],
    /// The replies that the table of outcomes describes.
    pub answers: &'static [Row],
    /// The other replies, a line for each form, for the generated docs.
    pub reply: &'static str,
    /// Error texts of the command, without those of its arguments, for the generated docs.
    pub errors: &'static [&'static str],
    /// One call as typed into redis-cli, for the generated docs.
    pub example: &'static str,
    /// The heading under which HELP lists it.
    pub group: Group,
    /// An internal command is left out of HELP.
    pub internal: bool,
}

/// Joins two lists of texts; the caller's type gives the length.
pub const fn joined<const N: usize>(
    first: &[&'static str],
    then: &[&'static str],
) -> [&'static str; N] {
    assert!(first.len() + then.len() == N);
    let (mut all, mut i) = ([""; N], 0);
    while i < N {
        all[i] = if i < first.len() { first[i] } else { then[i - first.len()] };
        i += 1;
    }
    all
}

/// The users of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Commands that a shop calls for its buyers.
    Buyers,
    /// Commands that change a sale as a whole.
    Operators,
    /// Commands that only read.
    Readers,
    /// Commands for a sale that is split over many nodes.
    Parts,
}

/// Keys of a call, and the command's access to them.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Position of the key; the command's name is 0. For an option's key, the first possible one.
    pub pos: i32,
    /// One of `KEY_READ`, `KEY_CHANGE`, with the other bits of this module.
    pub flags: u64,
    /// The argument at `pos` is the number of keys; the keys follow it.
    pub counted: bool,
    /// The key is the operand of this option: it follows the first argument equal to the name, in
    /// any case. The command refuses calls where that argument is an operand.
    pub option: Option<&'static str>,
}

impl KeySpec {
    /// A key at a fixed position.
    pub const fn at(pos: i32, flags: u64) -> KeySpec {
        KeySpec { pos, flags, counted: false, option: None }
    }
}

/// The key's value is only read.
pub const KEY_READ: u64 = raw::REDISMODULE_CMD_KEY_RO as u64;
/// The key's value is read and changed.
pub const KEY_CHANGE: u64 = raw::REDISMODULE_CMD_KEY_RW as u64;
/// The reply shows something of the value.
pub const KEY_ACCESS: u64 = raw::REDISMODULE_CMD_KEY_ACCESS as u64;
/// An existing value is changed.
pub const KEY_UPDATE: u64 = raw::REDISMODULE_CMD_KEY_UPDATE as u64;
/// Something is added to the value.
pub const KEY_INSERT: u64 = raw::REDISMODULE_CMD_KEY_INSERT as u64;

/// The argument is a key by another spec, too: servers that know no number of keys route by this
/// one.
pub const KEY_NOT_KEY: u64 = raw::REDISMODULE_CMD_KEY_NOT_KEY as u64;

/// One argument, for COMMAND DOCS and the hints of redis-cli.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The name in COMMAND DOCS, lower case.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ArgKind,
    /// The meaning, in a few words; empty if the name is enough.
    pub about: &'static str,
    /// The sentence in Chinese, if it is not in tools/pages/src/zh.txt.
    pub about_zh: &'static str,
    /// The placeholder in grammars and hints, if it is not the name: `n`.
    pub shown: Option<&'static str>,
    /// The name in errors, if that is neither its token nor its name.
    pub title: Option<&'static str>,
    /// The values it takes; none if it takes any.
    pub bounds: Option<Bounds>,
    /// The word before the argument: `LIMIT`.
    pub token: Option<&'static str>,
    /// The argument is optional.
    pub optional: bool,
    /// The argument may be repeated, after one token.
    pub multiple: bool,
    /// A block has all its children in this order, a one-of has any one of them.
    pub children: &'static [Arg],
}

/// The values of an argument: a range of numbers, or of lengths in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub low: u64,
    pub high: u64,
    /// The error for any other value.
    error: Text,
}

/// The unit of a time span.
const MILLISECONDS: &str = "milliseconds";

const TEXT_BYTES_MAX: usize = 96;

/// A text that is composed at compile time. One that is too long does not compile.
#[derive(Clone, Copy, Debug)]
struct Text {
    bytes: [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl Text {
    const fn new(text: &str) -> Text {
        Text { bytes: [0; TEXT_BYTES_MAX], len: 0 }.and(text)
    }

    const fn and(mut self, text: &str) -> Text {
        let mut rest = text.as_bytes();
        while let Some((byte, others)) = rest.split_first() {
            self.bytes[self.len] = *byte;
            self.len += 1;
            rest = others;
        }
        self
    }

    const fn number(self, number: u64) -> Text {
        let before = if number > 9 { self.number(number / 10) } else { self };
        before.and(DIGITS[(number % 10) as usize])
    }

    const fn as_str(&'static self) -> &'static str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// Whether two texts are equal; `==` is not const.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// Kinds of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// The key of the first [`KeySpec`].
    Key,
    /// The key of the second [`KeySpec`].
    OutboxKey,
    /// A string of bytes.
    Str,
    /// Plain decimal, at most 2^53-1.
    Integer,
    /// An integer with a sign, not 0.
    Delta,
    /// A span in milliseconds, plain decimal.
    Span,
    /// A time in Unix milliseconds.
    UnixTime,
    /// A token without a value.
    PureToken,
    /// Exactly one of its children.
    OneOf,
    /// All its children, in this order.
    Block,
}

impl Arg {
    /// A required argument without a token.
    pub const fn new(name: &'static str, kind: ArgKind) -> Arg {
        Arg {
            name,
            kind,
            about: "",
            about_zh: "",
            shown: match kind {
                ArgKind::Span => Some(MILLISECONDS),
                ArgKind::UnixTime => Some("unix-time-milliseconds"),
                _ => None,
            },
            title: None,
            bounds: None,
            token: None,
            optional: false,
            multiple: false,
            children: &[],
        }
    }

    /// An argument that is only a token.
    pub const fn pure(name: &'static str, token: &'static str) -> Arg {
        Arg::new(name, ArgKind::PureToken).token(token)
    }

    /// Arguments that are given together.
    pub const fn block(name: &'static str, children: &'static [Arg]) -> Arg {
        let mut block = Arg::new(name, ArgKind::Block);
        block.children = children;
        block
    }

    /// Exactly one of these arguments.
    pub const fn one_of(name: &'static str, children: &'static [Arg]) -> Arg {
        let mut choice = Arg::new(name, ArgKind::OneOf);
        choice.children = children;
        choice
    }

    /// Sets the explanation.
    pub const fn about(mut self, text: &'static str) -> Arg {
        self.about = text;
        self
    }

    /// Sets the explanation in Chinese.
    pub const fn zh(mut self, text: &'static str) -> Arg {
        self.about_zh = text;
        self
    }

    /// Sets the placeholder in grammars and hints.
    pub const fn shown(mut self, text: &'static str) -> Arg {
        self.shown = Some(text);
        self
    }

    /// Sets the name in errors. Call it before `takes`.
    pub const fn titled(mut self, title: &'static str) -> Arg {
        self.title = Some(title);
        self
    }

    /// Sets the bounds: numbers of `low` to `high` (a delta's size is at most `high`, a time may
    /// also be 0), or lengths in bytes. Call it after `token`: the error names that.
    pub const fn takes(mut self, low: u64, high: u64) -> Arg {
        let text = Text::new("ERR ").and(self.title()).and(" must be ");
        let text = match self.kind {
            ArgKind::Delta => text.and("-").number(high),
            ArgKind::UnixTime => text.and("0 or ").number(low),
            _ => text.number(low),
        };
        let text = text.and(" to ").number(high).and(match self.kind {
            ArgKind::Delta => " and not 0",
            ArgKind::Span if !is_same(self.title(), MILLISECONDS) => " milliseconds",
            ArgKind::Str | ArgKind::OutboxKey => " bytes",
            _ => "",
        });
        self.bounds = Some(Bounds { low, high, error: text });
        self
    }

    /// The name in errors.
    const fn title(&self) -> &'static str {
        match (self.title, self.token) {
            (Some(title), _) => title,
            (None, Some(token)) => token,
            (None, None) => self.name,
        }
    }

    /// Whether the argument takes this number, or this length in bytes.
    pub fn accepts(&self, number: u64) -> bool {
        let is_none = number == 0 && self.kind == ArgKind::UnixTime;
        is_none
            || self
                .bounds
                .as_ref()
                .is_none_or(|bounds| (bounds.low..=bounds.high).contains(&number))
    }

    /// The error for a value that it does not take.
    pub const fn error(&'static self) -> &'static str {
        match &self.bounds {
            Some(bounds) => bounds.error.as_str(),
            None => "",
        }
    }

    /// Sets the token.
    pub const fn token(mut self, token: &'static str) -> Arg {
        self.token = Some(token);
        self
    }

    /// Makes the argument optional.
    pub const fn optional(mut self) -> Arg {
        self.optional = true;
        self
    }

    /// Lets the argument be repeated.
    pub const fn multiple(mut self) -> Arg {
        self.multiple = true;
        self
    }
}
