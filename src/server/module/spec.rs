//! What a command is: everything that the server, the docs, HELP and tests know about it.

use redis_module::raw;

use crate::server::call::Handler;

/// One command: everything that the server, the docs and HELP know about it.
#[derive(Debug)]
pub struct Spec {
    /// In capitals, with its prefix: `SECKILL.GRAB`.
    pub name: &'static str,
    /// What a call runs once it may: it parses, decides and replies exactly once.
    pub handler: Handler,
    /// Words of a call, the name included; negative: at least so many.
    pub arity: i32,
    /// Flags of the command, by a space each: `write fast deny-oom`.
    pub flags: &'static str,
    /// ACL categories for servers that know them for module commands. The category `seckill` is
    /// added to every command where the server allows new ones.
    pub acl: &'static str,
    /// Where its keys are; none for a command that touches no sale.
    pub keys: &'static [KeySpec],
    /// One line, no full stop.
    pub summary: &'static str,
    /// `O(1)`, and of what it depends on.
    pub complexity: &'static str,
    /// Version of the module that brought it.
    pub since: &'static str,
    /// Command tips, such as `nondeterministic_output`.
    pub tips: &'static [&'static str],
    /// Its arguments in the order of the docs, without the command's name.
    pub args: &'static [Arg],
    /// What it replies, a line for each form, for the generated docs.
    pub reply: &'static str,
    /// Every error text of its own that it may reply, those of its arguments aside, for the
    /// generated docs.
    pub errors: &'static [&'static str],
    /// One call as typed into redis-cli, for the generated docs.
    pub example: &'static str,
    /// Under which heading HELP lists it.
    pub group: Group,
    /// Not for callers: left out of HELP.
    pub internal: bool,
}

/// Who needs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Those that a shop calls for its buyers.
    Buyers,
    /// Those that change a sale as a whole.
    Operators,
    /// Those that only read.
    Readers,
    /// Those of a sale that many nodes share.
    Parts,
}

/// Where keys stand in a call and what is done to them.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Position of the key, the command's name being 0; of an option's key, where to look from.
    pub pos: i32,
    /// One of `KEY_READ`, `KEY_CHANGE`, with the other bits of this module.
    pub flags: u64,
    /// At `pos` is not a key but the number of keys, which follow it.
    pub counted: bool,
    /// For a key behind an option: how clients find it, and how the server does.
    pub option: Option<KeyOption>,
}

/// A key that is the operand of an option.
#[derive(Clone, Copy, Debug)]
pub struct KeyOption {
    /// The option's name, for clients that look for the word alone.
    pub name: &'static str,
    /// Where it really is among the arguments (the command's name left out), if it is there. An
    /// operand of another option may be the same word.
    pub find: fn(&[&[u8]]) -> Option<usize>,
}

impl KeySpec {
    /// A key at a fixed position.
    pub const fn at(pos: i32, flags: u64) -> KeySpec {
        KeySpec { pos, flags, counted: false, option: None }
    }
}

impl Spec {
    /// Whether the server must ask for the keys of each call. Key specs that count are enough for
    /// clients, but Redis 7.0 routes by nothing but the first key unless it may ask.
    pub(crate) fn finds_keys(&self) -> bool {
        self.keys.iter().any(|key| key.counted || key.option.is_some())
    }

    /// Whether what is done to a key differs from call to call.
    pub(crate) fn has_varying_keys(&self) -> bool {
        self.keys.iter().any(|key| key.option.is_some())
    }
}

/// The key's value is only read.
pub const KEY_READ: u64 = raw::REDISMODULE_CMD_KEY_RO as u64;
/// The key's value is read and changed.
pub const KEY_CHANGE: u64 = raw::REDISMODULE_CMD_KEY_RW as u64;
/// The caller learns something of the value.
pub const KEY_ACCESS: u64 = raw::REDISMODULE_CMD_KEY_ACCESS as u64;
/// What is there is changed.
pub const KEY_UPDATE: u64 = raw::REDISMODULE_CMD_KEY_UPDATE as u64;
/// Something is added to what is there.
pub const KEY_INSERT: u64 = raw::REDISMODULE_CMD_KEY_INSERT as u64;

/// One argument, for COMMAND DOCS and the hints of redis-cli.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its name in COMMAND DOCS, lower case.
    pub name: &'static str,
    /// What its value is.
    pub kind: ArgKind,
    /// What it means, in a few words; empty where the name says all.
    pub about: &'static str,
    /// What stands for its value in grammars and hints, where that is not its name: `n`.
    pub shown: Option<&'static str>,
    /// What errors call it, where that is neither its token nor its name.
    pub title: Option<&'static str>,
    /// What it takes; none where anything goes.
    pub bounds: Option<Bounds>,
    /// The word that introduces it: `LIMIT`.
    pub token: Option<&'static str>,
    /// It may be left out.
    pub optional: bool,
    /// It may come more than once, its token once.
    pub multiple: bool,
    /// Of a block all in this order, of a one-of any one.
    pub children: &'static [Arg],
}

/// What an argument takes: numbers from one to another, or so many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub low: u64,
    pub high: u64,
    /// The error for anything else.
    error: Text,
}

/// The unit of a span.
const MILLISECONDS: &str = "milliseconds";

const TEXT_BYTES_MAX: usize = 96;

/// A text that is put together while the module is compiled. One that is too long does not compile.
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

/// Whether two texts are the same, which `==` can't tell while the module is compiled.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// The key of the first [`KeySpec`].
    Key,
    /// The key of the second one.
    OutboxKey,
    /// Bytes, as many as the argument takes.
    Str,
    /// Plain decimal, at most 2^53-1.
    Integer,
    /// The same with a sign, and not 0.
    Delta,
    /// The same in milliseconds.
    Span,
    /// A moment in Unix milliseconds.
    UnixTime,
    /// The token alone.
    PureToken,
    /// Any one of its children.
    OneOf,
    /// All its children, in this order.
    Block,
}

impl Arg {
    /// A required argument that stands alone.
    pub const fn new(name: &'static str, kind: ArgKind) -> Arg {
        Arg {
            name,
            kind,
            about: "",
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

    /// A token alone.
    pub const fn pure(name: &'static str, token: &'static str) -> Arg {
        Arg::new(name, ArgKind::PureToken).token(token)
    }

    /// Arguments that come together.
    pub const fn block(name: &'static str, children: &'static [Arg]) -> Arg {
        let mut block = Arg::new(name, ArgKind::Block);
        block.children = children;
        block
    }

    /// One of these arguments.
    pub const fn one_of(name: &'static str, children: &'static [Arg]) -> Arg {
        let mut choice = Arg::new(name, ArgKind::OneOf);
        choice.children = children;
        choice
    }

    /// Explained by `text`.
    pub const fn about(mut self, text: &'static str) -> Arg {
        self.about = text;
        self
    }

    /// Shown as `text` in grammars and hints.
    pub const fn shown(mut self, text: &'static str) -> Arg {
        self.shown = Some(text);
        self
    }

    /// Called so by errors. Before its bounds are given.
    pub const fn titled(mut self, title: &'static str) -> Arg {
        self.title = Some(title);
        self
    }

    /// Takes numbers of `low` to `high` (of a delta: a size up to `high`, of a moment: also 0), or
    /// so many bytes. Its token comes before: the error names it.
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

    /// What errors call it.
    const fn title(&self) -> &'static str {
        match (self.title, self.token) {
            (Some(title), _) => title,
            (None, Some(token)) => token,
            (None, None) => self.name,
        }
    }

    /// Whether it takes this number, or so many bytes.
    pub fn accepts(&self, number: u64) -> bool {
        let is_none = number == 0 && self.kind == ArgKind::UnixTime;
        is_none
            || self
                .bounds
                .as_ref()
                .is_none_or(|bounds| (bounds.low..=bounds.high).contains(&number))
    }

    /// The error for what it does not take.
    pub const fn error(&'static self) -> &'static str {
        match &self.bounds {
            Some(bounds) => bounds.error.as_str(),
            None => "",
        }
    }

    /// Introduced by `token`.
    pub const fn token(mut self, token: &'static str) -> Arg {
        self.token = Some(token);
        self
    }

    /// May be left out.
    pub const fn optional(mut self) -> Arg {
        self.optional = true;
        self
    }

    /// May be repeated.
    pub const fn multiple(mut self) -> Arg {
        self.multiple = true;
        self
    }
}
