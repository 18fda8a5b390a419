//! The table of commands. Registration, COMMAND DOCS, HELP, docs/commands.md and tests read it.
//!
//! Each command's entry stands in the command's own file, next to its parser and handler.

use super::{
    allow_deny, alter, apply, audit, errors, grab, help, import, init, mgrab, pause, restock,
    rounds, settle, status, terms, user, winners,
};
use crate::server::module::register::{
    Arg, ArgKind, KeyOption, KeySpec, Spec, KEY_ACCESS, KEY_CHANGE, KEY_INSERT, KEY_READ,
    KEY_UPDATE,
};

/// All commands, in the order of the docs: operator, buyer, reading, internal.
pub static TABLE: [Spec; 21] = [
    init::SPEC,
    restock::SPEC,
    pause::PAUSE,
    pause::RESUME,
    alter::SPEC,
    settle::REFUND,
    import::SPEC,
    audit::SPEC,
    allow_deny::ALLOW,
    allow_deny::DENY,
    grab::SPEC,
    mgrab::SPEC,
    settle::CONFIRM,
    settle::CANCEL,
    settle::EXTEND,
    status::SPEC,
    user::SPEC,
    winners::SPEC,
    rounds::SPEC,
    help::SPEC,
    apply::SPEC,
];

/// The module's first version: all of these commands came with it.
pub const FIRST: &str = "0.1.0";

/// ACL categories of commands that only read.
pub const ACL_READ: &str = "read slow";
/// ACL categories of commands by which an operator changes a sale.
pub const ACL_OPERATOR: &str = "write slow admin";

/// The key of a command that only reads.
pub const READS: &[KeySpec] = &[KeySpec::at(1, KEY_READ | KEY_ACCESS)];
/// The key of a command that creates a sale.
pub const CREATES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_INSERT), outbox_from(3)];
/// The keys of ALTER: the sale, and the outbox if it is given one.
pub const ALTERS: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_UPDATE), outbox_from(2)];

/// The outbox among options that begin at `pos`.
const fn outbox_from(pos: i32) -> KeySpec {
    let find = if pos == 3 { find_outbox_of_init } else { find_outbox_of_alter };
    let option = Some(KeyOption { name: "OUTBOX", find });
    KeySpec { option, ..KeySpec::at(pos, KEY_CHANGE | KEY_INSERT) }
}

fn find_outbox_of_init(args: &[&[u8]]) -> Option<usize> {
    terms::outbox_place(args, 2)
}

fn find_outbox_of_alter(args: &[&[u8]]) -> Option<usize> {
    terms::outbox_place(args, 1)
}

/// The key of a command that changes a sale and tells nothing of it.
pub const CHANGES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_UPDATE)];
/// The key of a command that changes a sale and tells of it.
pub const TAKES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_ACCESS | KEY_UPDATE)];

/// The keys of MGRAB: so many as the second argument says.
pub const COUNTED: &[KeySpec] =
    &[KeySpec { counted: true, ..KeySpec::at(2, KEY_CHANGE | KEY_ACCESS | KEY_UPDATE) }];

/// The argument that every command with a key begins with.
pub const KEY: Arg = Arg::new("key", ArgKind::Key);
/// Whose grants.
pub const USER: Arg = Arg::new("user", ArgKind::Str).about("any bytes, 1 to 256");
/// Names one request of a caller, so that sending it again does nothing twice.
pub const REQ: Arg = Arg::new("req", ArgKind::Str)
    .shown("id")
    .token("REQ")
    .about("names this request, so that sending it again does nothing twice");

/// Rows to list or to look at.
pub const COUNT: Arg = Arg::new("count", ArgKind::Integer)
    .shown("n")
    .token("COUNT")
    .optional()
    .about("rows at most, 1 to 10000 (default 100)");

/// The terms that INIT and ALTER set.
pub const LIMIT: Arg = Arg::new("limit", ArgKind::Integer)
    .shown("n")
    .token("LIMIT")
    .optional()
    .about("units a user may have in live grants (a new sale: 1; 0: no limit)");
pub const GRABS: Arg = Arg::new("grabs", ArgKind::Integer)
    .shown("n")
    .token("GRABS")
    .optional()
    .about("live grants a user may have (a new sale: 0, no limit)");
pub const HOLD: Arg = Arg::new("hold", ArgKind::Integer)
    .shown("ms")
    .token("HOLD")
    .optional()
    .about(
    "how long a grant is reserved before it returns by itself, at most 30 days (0: sold at once)",
);
pub const OUTBOX: Arg =
    Arg::new("outbox", ArgKind::OutboxKey).shown("stream").token("OUTBOX").optional();
pub const OPENAT: Arg = Arg::new("openat", ArgKind::UnixTime)
    .shown("ms")
    .token("OPENAT")
    .optional()
    .about("first moment a GRAB is taken, in Unix milliseconds (a new sale: 0, at once)");
pub const CLOSEAT: Arg =
    Arg::new("closeat", ArgKind::UnixTime).shown("ms").token("CLOSEAT").optional().about(
        "first moment a GRAB is no longer taken, in Unix milliseconds (a new sale: 0, never)",
    );

/// Errors of every command that needs a sale.
pub const NEEDS_SALE: &[&str] = &[errors::NO_SALE, errors::WRONG_TYPE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::pipeline;

    #[test]
    fn names_are_ours_and_differ() {
        let mut names: Vec<_> = TABLE.iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
        for name in names {
            assert!(name.starts_with("SECKILL.") && name == name.to_ascii_uppercase(), "{name}");
        }
    }

    #[test]
    fn arity_flags_categories_and_arguments_agree() {
        for spec in &TABLE {
            let name = spec.name;
            let needed = |arg: &Arg| match (arg.optional, arg.token) {
                (true, _) => 0,
                (false, None) => 1,
                (false, Some(_)) => 2,
            };
            let least = 1 + spec.args.iter().map(needed).sum::<i32>();
            let open = spec.args.iter().any(|arg| arg.optional || arg.multiple);
            // ALTER needs one option, whichever.
            let least = if name == "SECKILL.ALTER" { least + 1 } else { least };
            assert_eq!(spec.arity, if open { -least } else { least }, "{name}");

            let has = |text: &str, word: &str| text.split(' ').any(|other| other == word);
            assert_eq!(has(spec.flags, "write"), has(spec.acl, "write"), "{name}");
            assert_eq!(has(spec.flags, "readonly"), has(spec.acl, "read"), "{name}");
            assert_eq!(has(spec.flags, "fast"), has(spec.acl, "fast"), "{name}");
            assert_ne!(has(spec.acl, "fast"), has(spec.acl, "slow"), "{name}");
            let changes = spec.keys.iter().any(|key| key.flags & KEY_CHANGE != 0);
            assert_eq!(changes, has(spec.flags, "write"), "{name}");
            assert_eq!(
                spec.keys.len(),
                spec.args.iter().filter(|arg| is_key(arg)).count(),
                "{name}"
            );
        }
    }

    fn is_key(arg: &Arg) -> bool {
        matches!(arg.kind, ArgKind::Key | ArgKind::OutboxKey)
    }

    /// A text that is in no list is one that nobody can be told, or that nobody was told of.
    #[test]
    fn every_error_is_listed_and_those_of_all_changes_once() {
        let source = include_str!("errors.rs");
        let mut errors = Vec::new();
        for constant in source.split("pub const ").skip(1) {
            errors.extend(constant.split('"').nth(1));
        }
        assert!(errors.len() > 40, "they are found: {errors:?}");
        for error in errors {
            let lists = TABLE.iter().filter(|spec| spec.errors.contains(&error)).count();
            let of_all = pipeline::ERRORS.contains(&error);
            assert_eq!(lists == 0, of_all, "{error}: {lists} commands list it");
        }
    }

    #[test]
    fn texts_are_complete() {
        for spec in &TABLE {
            for text in [spec.summary, spec.complexity, spec.since, spec.reply] {
                assert!(!text.is_empty() && !text.contains('\0'), "{}", spec.name);
            }
            assert!(!spec.summary.ends_with('.'), "{}", spec.name);
            assert!(spec.example.starts_with(spec.name), "{}", spec.name);
            assert!(spec.errors.iter().all(|error| !error.is_empty() && error.is_ascii()));
        }
    }
}
