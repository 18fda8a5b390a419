//! Commands as the server is told of them: descriptors, and registration from a table of them.

use std::ffi::CString;
use std::os::raw::c_int;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleCommand, RedisModuleCtx, RedisModuleString};

use super::docs;
use crate::server::call::{self, Handler};
use crate::server::ffi::api::with_c_str;
use crate::server::ffi::ctx::Ctx;
use crate::server::ffi::log;

/// One command: everything that the server, the docs and HELP are told about it.
#[derive(Debug)]
pub struct Spec {
    /// In capitals, with its prefix: `SECKILL.GRAB`.
    pub name: &'static str,
    pub handler: Handler,
    /// Words of a call, the name included; negative: at least so many.
    pub arity: i32,
    /// Flags of the command, by a space each: `write fast deny-oom`.
    pub flags: &'static str,
    /// ACL categories for servers that know them for module commands. The category `seckill` is
    /// added to every command where the server allows new ones.
    pub acl: &'static str,
    pub keys: &'static [KeySpec],
    /// One line, no full stop.
    pub summary: &'static str,
    /// `O(1)`, and of what it depends on.
    pub complexity: &'static str,
    /// Version of the module that brought it.
    pub since: &'static str,
    /// Command tips, such as `nondeterministic_output`.
    pub tips: &'static [&'static str],
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
    /// Place of the key, the command's name being 0; of an option's key, where to look from.
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
    /// A key at a fixed place.
    pub const fn at(pos: i32, flags: u64) -> KeySpec {
        KeySpec { pos, flags, counted: false, option: None }
    }
}

impl Spec {
    /// Whether it may change data.
    pub(crate) fn writes(&self) -> bool {
        self.flags.starts_with("write")
    }

    /// Whether the server must ask for the keys of each call. Key specs that count are enough for
    /// clients, but Redis 7.0 routes by nothing but the first key unless it may ask.
    pub(crate) fn finds_keys(&self) -> bool {
        self.has_varying_keys() || self.keys.iter().any(|key| key.counted)
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
    pub name: &'static str,
    pub kind: ArgKind,
    /// What it means, in a few words; empty where the name says all.
    pub about: &'static str,
    /// What stands for its value in grammars and hints, where that is not its name: `n`.
    pub shown: Option<&'static str>,
    /// The word that introduces it: `LIMIT`.
    pub token: Option<&'static str>,
    pub optional: bool,
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
    Str,
    Integer,
    UnixTime,
    /// The token alone.
    PureToken,
    OneOf,
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

    /// Several arguments that come together.
    pub const fn block(name: &'static str, children: &'static [Arg]) -> Arg {
        let mut block = Arg::new(name, ArgKind::Block);
        block.children = children;
        block
    }

    /// One of several arguments.
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

/// Commands that there is room for.
const COMMANDS_MAX: usize = 32;

/// The category that every command is in, on servers that allow new ones.
const CATEGORY: &str = "seckill";

const TOO_MANY: &str = "the table has more commands than there are entry points";
const NOT_CREATED: &str = "the server refused a command of the table";
const NOT_DESCRIBED: &str = "the server refused the description of a command";
const NOT_CATEGORISED: &str = "the server refused the ACL categories of a command";

const NO_CATEGORIES: &str = "this server has no ACL categories for module commands: \
    -@write, -@admin and -@dangerous don't stop SECKILL commands; give users -@all and the \
    commands that they need by name";

/// The commands that were registered, in the order of their entry points.
static TABLE: OnceLock<&'static [Spec]> = OnceLock::new();

type Entry = unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// Where the server calls the command numbered `N`. A command gets no data of its own from the
/// server and may have been renamed, so each has an entry point of its own.
unsafe extern "C" fn entry<const N: usize>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    match TABLE.get().and_then(|table| table.get(N)) {
        // SAFETY: the arguments are the server's, handed on unchanged, and alive during the call.
        Some(spec) => unsafe { call::run(Ctx::new(ctx), argv, argc, spec) },
        None => raw::REDISMODULE_ERR as c_int,
    }
}

macro_rules! entries {
    ($($number:literal)*) => { [$(entry::<$number>),*] };
}

static ENTRIES: [Entry; COMMANDS_MAX] = entries!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);

/// Registers every command of `table` with its description and, where the server knows them, its
/// ACL categories.
pub(crate) fn register(ctx: Ctx<'_>, table: &'static [Spec]) -> Result<(), &'static str> {
    if table.len() > COMMANDS_MAX {
        return Err(TOO_MANY);
    }
    // A second load of the same file brings the same table.
    let table = *TABLE.get_or_init(|| table);
    let has_category = add_category(ctx);
    let mut has_categories = false;
    for (spec, entry) in table.iter().zip(ENTRIES) {
        let command = create(ctx, spec, entry)?;
        docs::describe(command, spec).ok_or(NOT_DESCRIBED)?;
        has_categories = categorise(command, spec, has_category)?;
    }
    if !has_categories {
        log::notice(NO_CATEGORIES);
    }
    Ok(())
}

fn create(
    ctx: Ctx<'_>,
    spec: &Spec,
    entry: Entry,
) -> Result<*mut RedisModuleCommand, &'static str> {
    let name = CString::new(spec.name).map_err(|_| NOT_CREATED)?;
    let asks = if spec.finds_keys() { " getkeys-api" } else { "" };
    let flags = CString::new(format!("{}{asks}", spec.flags)).map_err(|_| NOT_CREATED)?;
    // The keys are told by the key specs of the description.
    // SAFETY: the texts end in NUL and are copied, and the entry point is a static function.
    let command = unsafe {
        let (name, flags) = (name.as_ptr(), flags.as_ptr());
        api!(RedisModule_CreateCommand)(ctx.raw(), name, Some(entry), flags, 0, 0, 0);
        api!(RedisModule_GetCommand)(ctx.raw(), name)
    };
    if command.is_null() {
        return Err(NOT_CREATED);
    }
    Ok(command)
}

/// Adds the category of this module. False where the server allows no new ones.
fn add_category(ctx: Ctx<'_>) -> bool {
    // SAFETY: reading a function pointer that is written once, while the module is loaded.
    let Some(add) = (unsafe { offered!(RedisModule_AddACLCategory) }) else {
        return false;
    };
    with_c_str(CATEGORY, |category| {
        // SAFETY: the server copies the name.
        unsafe { add(ctx.raw(), category) as isize == raw::REDISMODULE_OK }
    })
}

/// Puts a command into its categories. False where the server has none for module commands.
fn categorise(
    command: *mut RedisModuleCommand,
    spec: &Spec,
    has_category: bool,
) -> Result<bool, &'static str> {
    // SAFETY: reading a function pointer that is written once, while the module is loaded.
    let Some(set) = (unsafe { offered!(RedisModule_SetCommandACLCategories) }) else {
        return Ok(false);
    };
    let categories = match has_category {
        true => format!("{} {CATEGORY}", spec.acl),
        false => spec.acl.to_owned(),
    };
    let categories = CString::new(categories).map_err(|_| NOT_CATEGORISED)?;
    // SAFETY: the command was just created; the server reads the text and keeps none of it.
    match unsafe { set(command, categories.as_ptr()) } as isize {
        raw::REDISMODULE_OK => Ok(true),
        _ => Err(NOT_CATEGORISED),
    }
}
