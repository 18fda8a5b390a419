//! Registering commands with the server: names, arity, keys, arguments, texts, ACL categories.

use std::ffi::CString;
use std::mem;
use std::os::raw::{c_char, c_int};
use std::ptr;

use redis_module::raw::{
    self, RedisModuleCommand, RedisModuleCommandArg, RedisModuleCommandArgType,
    RedisModuleCommandHistoryEntry, RedisModuleCommandInfo, RedisModuleCommandInfoVersion,
    RedisModuleCommandKeySpec,
};

use super::dispatch::{self, Entry};
use super::spec::{Arg, ArgKind, KeySpec, Spec};
use crate::server::ffi::api::with_c_str;
use crate::server::ffi::ctx::Ctx;
use crate::server::ffi::log;

/// The ACL category of all commands, on servers that allow new categories.
const CATEGORY: &str = "seckill";

const TOO_MANY: &str = "the table has more commands than there are entry points";
const NOT_CREATED: &str = "the server refused a command of the table";
/// The rest of the error, after the name of a command that the server refused to create.
const TAKEN: &str =
    "is the name of a command that is there already, another module's (MODULE LIST \
    shows them): one server can't have both, so seckill is not loaded";
const NOT_DESCRIBED: &str = "the server refused the description of a command";
const NOT_CATEGORISED: &str = "the server refused the ACL categories of a command";

const NO_CATEGORIES: &str = "this server has no ACL categories for module commands: \
    -@write, -@admin and -@dangerous don't stop SECKILL commands; give users -@all and the \
    commands that they need by name";

/// Registers every command of `table` with its description and, where the server knows them, its
/// ACL categories.
pub(crate) fn register(ctx: Ctx<'_>, table: &'static [Spec]) -> Result<(), String> {
    let has_category = add_category(ctx);
    let mut has_categories = false;
    for (spec, entry) in dispatch::entries(table).ok_or(TOO_MANY)? {
        let command = create(ctx, spec, entry)?;
        describe(command, spec).ok_or(NOT_DESCRIBED)?;
        has_categories = categorise(command, spec, has_category)?;
    }
    if !has_categories {
        log::notice(NO_CATEGORIES);
    }
    Ok(())
}

fn create(ctx: Ctx<'_>, spec: &Spec, entry: Entry) -> Result<*mut RedisModuleCommand, String> {
    let name = CString::new(spec.name).map_err(|_| NOT_CREATED)?;
    let flags = CString::new(spec.flags).map_err(|_| NOT_CREATED)?;
    // The description's key specs say where keys are.
    // SAFETY: the texts end in NUL and are copied, and the entry point is a static function.
    let (status, command) = unsafe {
        let (name, flags) = (name.as_ptr(), flags.as_ptr());
        let create = api!(RedisModule_CreateCommand);
        let status = create(ctx.raw(), name, Some(entry), flags, 0, 0, 0) as isize;
        (status, api!(RedisModule_GetCommand)(ctx.raw(), name))
    };
    if status != raw::REDISMODULE_OK {
        // The flags are known to be right, so the name must be the reason.
        return Err(format!("{} {TAKEN}", spec.name));
    }
    match command.is_null() {
        true => Err(NOT_CREATED.to_owned()),
        false => Ok(command),
    }
}

/// Adds this module's ACL category. False if the server allows no new ones.
fn add_category(ctx: Ctx<'_>) -> bool {
    let Some(add) = offered!(RedisModule_AddACLCategory) else {
        return false;
    };
    with_c_str(CATEGORY, |category| {
        // SAFETY: the server copies the name.
        unsafe { add(ctx.raw(), category) as isize == raw::REDISMODULE_OK }
    })
}

/// Puts a command into its ACL categories. False if the server has none for module commands.
fn categorise(
    command: *mut RedisModuleCommand,
    spec: &Spec,
    has_category: bool,
) -> Result<bool, &'static str> {
    let Some(set) = offered!(RedisModule_SetCommandACLCategories) else {
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

/// Sizes of the structures below in this build. The server reads them, so that older servers and
/// newer builds understand each other.
static VERSION: RedisModuleCommandInfoVersion = RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: mem::size_of::<RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: mem::size_of::<RedisModuleCommandKeySpec>(),
    sizeof_arg: mem::size_of::<RedisModuleCommandArg>(),
};

/// Describes a command to the server. `None` when it refuses, or when a text holds a NUL.
fn describe(command: *mut RedisModuleCommand, spec: &Spec) -> Option<()> {
    let mut store = Store::default();
    let tips = spec.tips.join(" ");
    let mut keys: Vec<_> =
        spec.keys.iter().map(|key| store.key_spec(key)).collect::<Option<_>>()?;
    // SAFETY: all zeros end the list of key specs.
    keys.push(unsafe { mem::zeroed() });
    let info = RedisModuleCommandInfo {
        version: &VERSION,
        summary: store.text(spec.summary)?,
        complexity: store.text(spec.complexity)?,
        since: store.text(spec.since)?,
        history: ptr::null_mut(),
        tips: if tips.is_empty() { ptr::null() } else { store.text(&tips)? },
        arity: spec.arity,
        key_specs: keys.as_mut_ptr(),
        args: store.args(spec.args)?,
    };
    // SAFETY: the command was just created; the server copies all that the description points to,
    // which `store` and `keys` keep until it returns.
    let status = unsafe { api!(RedisModule_SetCommandInfo)(command, &info) };
    (status as isize == raw::REDISMODULE_OK).then_some(())
}

/// Owns all texts and lists that a description points to.
#[derive(Default)]
struct Store {
    texts: Vec<CString>,
    arg_lists: Vec<Vec<RedisModuleCommandArg>>,
}

impl Store {
    /// A C string that lives as long as the store: moving a `CString` doesn't move its bytes.
    fn text(&mut self, text: &str) -> Option<*const c_char> {
        let text = CString::new(text).ok()?;
        let start = text.as_ptr();
        self.texts.push(text);
        Some(start)
    }

    fn key_spec(&mut self, spec: &KeySpec) -> Option<RedisModuleCommandKeySpec> {
        // SAFETY: the structure is plain numbers and pointers; zeros are valid and mean "none".
        let mut key: RedisModuleCommandKeySpec = unsafe { mem::zeroed() };
        key.flags = spec.flags;
        match spec.option {
            None => {
                key.begin_search_type =
                    raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
                key.bs.index.pos = spec.pos;
            }
            Some(option) => {
                key.begin_search_type =
                    raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_KEYWORD;
                key.bs.keyword.keyword = self.text(option)?;
                key.bs.keyword.startfrom = spec.pos;
            }
        }
        if spec.counted {
            key.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM;
            key.fk.keynum.keynumidx = 0;
            key.fk.keynum.firstkey = 1;
            key.fk.keynum.keystep = 1;
        } else {
            key.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
            key.fk.range.lastkey = 0;
            key.fk.range.keystep = 1;
            key.fk.range.limit = 0;
        }
        Some(key)
    }

    /// A list of arguments that ends in an empty one; null if there are none.
    fn args(&mut self, args: &[Arg]) -> Option<*mut RedisModuleCommandArg> {
        if args.is_empty() {
            return Some(ptr::null_mut());
        }
        let mut list = Vec::with_capacity(args.len() + 1);
        for arg in args {
            list.push(self.arg(arg)?);
        }
        // SAFETY: all zeros end the list of arguments.
        list.push(unsafe { mem::zeroed() });
        let start = list.as_mut_ptr();
        self.arg_lists.push(list);
        Some(start)
    }

    fn arg(&mut self, arg: &Arg) -> Option<RedisModuleCommandArg> {
        let mut flags = raw::REDISMODULE_CMD_ARG_NONE;
        if arg.optional {
            flags |= raw::REDISMODULE_CMD_ARG_OPTIONAL;
        }
        if arg.multiple {
            flags |= raw::REDISMODULE_CMD_ARG_MULTIPLE;
        }
        Some(RedisModuleCommandArg {
            name: self.text(arg.name)?,
            type_: kind(arg.kind),
            key_spec_index: match arg.kind {
                ArgKind::Key => 0,
                ArgKind::OutboxKey => 1,
                _ => -1,
            },
            token: arg.token.map_or(Some(ptr::null()), |token| self.text(token))?,
            summary: if arg.about.is_empty() { ptr::null() } else { self.text(arg.about)? },
            since: ptr::null(),
            flags: flags as c_int,
            deprecated_since: ptr::null(),
            subargs: self.args(arg.children)?,
            display_text: arg.shown.map_or(Some(ptr::null()), |shown| self.text(shown))?,
        })
    }
}

fn kind(kind: ArgKind) -> RedisModuleCommandArgType {
    match kind {
        ArgKind::Key | ArgKind::OutboxKey => {
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY
        }
        ArgKind::Str => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
        ArgKind::Integer | ArgKind::Delta | ArgKind::Span => {
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER
        }
        ArgKind::UnixTime => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_UNIX_TIME,
        ArgKind::PureToken => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
        ArgKind::OneOf => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF,
        ArgKind::Block => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK,
    }
}
