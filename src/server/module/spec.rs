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
    /// Every error text of its own that it may reply, for the generated docs.
    pub errors: &'static [&'static str],
    /// One call as typed into redis-cli, for the generated docs.
    pub example: &'static str,
    /// Not for callers: left out of HELP.
    pub internal: bool,
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
    /// The word that introduces it: `LIMIT`.
    pub token: Option<&'static str>,
    /// It may be left out.
    pub optional: bool,
    /// It may come more than once, its token once.
    pub multiple: bool,
    /// Of a block all in this order, of a one-of any one.
    pub children: &'static [Arg],
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
            shown: None,
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
