//! Parts of table entries that commands share: arguments, keys and errors. Their types are the
//! types of `server::module::spec`.

use super::errors;
use crate::server::call::Handler;
pub use crate::server::module::spec::{Arg, ArgKind, Group, KeySpec, Spec};
pub use crate::server::module::spec::{
    KEY_ACCESS, KEY_CHANGE, KEY_INSERT, KEY_NOT_KEY, KEY_READ, KEY_UPDATE,
};
use seckill_domain::limits::{
    INTEGER_MAX, PAGE_ROWS_MAX, REQ_BYTES_MAX, SPLIT_ID_BYTES_MAX, USER_BYTES_MAX,
};

/// The module's first version, in which all these commands appeared.
const FIRST: &str = "0.1.0";

/// Defaults for read-only commands, for `..reader(handler)`.
pub const fn reader(handler: Handler) -> Spec {
    Spec {
        name: "",
        handler,
        arity: 2,
        flags: "readonly",
        acl: "read slow",
        keys: READS,
        summary: "",
        complexity: "O(1)",
        since: FIRST,
        tips: &[],
        args: &[KEY],
        answers: &[],
        reply: "",
        errors: NEEDS_SALE,
        example: "",
        group: Group::Readers,
        internal: false,
    }
}

/// Defaults for operators' commands, for `..operator(handler)`.
pub const fn operator(handler: Handler) -> Spec {
    let group = Group::Operators;
    Spec { flags: "write", acl: "write slow admin", keys: TAKES, group, ..reader(handler) }
}

/// Defaults for buyers' commands, for `..buyer(handler)`.
pub const fn buyer(handler: Handler) -> Spec {
    let group = Group::Buyers;
    Spec { flags: "write fast", acl: "write fast", keys: TAKES, group, ..reader(handler) }
}

/// The key of a command that only reads.
pub const READS: &[KeySpec] = &[KeySpec::at(1, KEY_READ | KEY_ACCESS)];
/// The key of a command that changes a sale and shows nothing of its value.
pub const CHANGES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_UPDATE)];
/// The key of a command that changes a sale and shows its value.
pub const TAKES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_ACCESS | KEY_UPDATE)];

/// The keys of MGRAB; the second argument is their number.
pub const COUNTED: &[KeySpec] = &[
    KeySpec { counted: true, ..KeySpec::at(2, KEY_CHANGE | KEY_ACCESS | KEY_UPDATE) },
    KeySpec::at(3, KEY_CHANGE | KEY_NOT_KEY),
];

/// The first argument of every command with a key.
pub const KEY: Arg = Arg::new("key", ArgKind::Key);
/// The user.
pub const USER: Arg = Arg::new("user", ArgKind::Str)
    .titled("user id")
    .takes(1, USER_BYTES_MAX as u64)
    .about("any bytes, 1 to 256");
/// Id of one request, so that a retry has no second effect.
pub const REQ: Arg = Arg::new("req", ArgKind::Str)
    .shown("id")
    .token("REQ")
    .titled("request id")
    .takes(1, REQ_BYTES_MAX as u64)
    .about("names this request, so that sending it again does nothing twice");
/// The seq of a grant.
pub const SEQ: Arg =
    Arg::new("seq", ArgKind::Integer).shown("n").token("SEQ").takes(1, INTEGER_MAX);

/// Units asked for, or given.
pub const QTY: Arg =
    Arg::new("qty", ArgKind::Integer).shown("n").token("QTY").takes(1, INTEGER_MAX);

/// Units that a grant is left with.
pub const KEEP: Arg =
    Arg::new("keep", ArgKind::Integer).shown("n").token("KEEP").takes(1, INTEGER_MAX);

/// One of the unit numbers in a list.
pub const UNIT: Arg =
    Arg::new("unit", ArgKind::Integer).shown("u").titled("UNITS").takes(1, INTEGER_MAX).multiple();
/// Numbers of units asked for, or given.
pub const UNITS: Arg = Arg::block("units", &[Arg::pure("units", "UNITS"), UNIT]);
/// Numbers of units that a grant is left with.
pub const KEEP_UNITS: Arg =
    Arg::block("keep-units", &[Arg::pure("keep", "KEEP"), Arg::pure("units", "UNITS"), UNIT])
        .about("those of its units that are named, at most 100, in a sale with NUMBERED");

/// Id of the split.
pub const SPLIT: Arg = Arg::new("id", ArgKind::Str)
    .takes(1, SPLIT_ID_BYTES_MAX as u64)
    .about("the id of the split, 1 to 64 bytes");

/// The position after which a listing continues.
pub const CURSOR: Arg = Arg::new("cursor", ArgKind::Integer).takes(0, INTEGER_MAX);

/// Most rows to list or to read.
pub const COUNT: Arg = Arg::new("count", ArgKind::Integer)
    .shown("n")
    .token("COUNT")
    .takes(1, PAGE_ROWS_MAX)
    .optional()
    .about("rows at most, 1 to 10000 (default 100)");

/// Errors of every command that needs a sale.
const NEEDS_SALE: &[&str] = &[errors::NO_SALE, errors::WRONG_TYPE];
