//! The table of commands, and how they are called, written from it. Registration, COMMAND DOCS,
//! HELP, docs/commands.md and tests read it.
//!
//! Each command's entry stands in the command's own file, next to its parser and handler; what
//! entries share is in `vocabulary`.

use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{
    allow_deny, alter, apply, audit, grab, import, init, mgrab, pause, restock, rounds, settle,
    split, status, user, waitlist, winners,
};
use crate::server::call::Call;
/// What pages list beside the commands.
pub use crate::server::module::info::fields;
pub use crate::server::settings::ALL as SETTINGS;

/// All commands, in the order of the docs: operator, buyer, reading, internal.
pub static TABLE: [Spec; 28] = [
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
    split::SEND,
    split::RECEIVE,
    split::ELSEWHERE,
    grab::SPEC,
    mgrab::SPEC,
    settle::CONFIRM,
    settle::CANCEL,
    settle::EXTEND,
    status::SPEC,
    user::SPEC,
    winners::SPEC,
    rounds::SPEC,
    split::PARTS,
    split::HOME,
    waitlist::PLACE,
    waitlist::WAITERS,
    HELP,
    apply::SPEC,
];

/// HELP lists the table, so its own entry stands here.
const HELP: Spec = Spec {
    name: "SECKILL.HELP",
    arity: 1,
    flags: "readonly fast allow-loading allow-stale",
    acl: "read fast",
    keys: &[],
    summary: "Lists the commands",
    args: &[],
    reply: "An array with a line for each command.",
    errors: &[],
    example: "SECKILL.HELP",
    ..vocabulary::reader(help)
};

fn help(call: &mut Call<'_>) {
    let reply = call.reply();
    let public = || TABLE.iter().filter(|spec| !spec.internal);
    reply.array(public().count());
    public().for_each(|spec| reply.bulk(format!("{} -- {}", grammar(spec), spec.summary)));
}

/// How a command is called: `SECKILL.GRAB key user [QTY qty | UPTO upto] [REQ id]`.
pub fn grammar(spec: &Spec) -> String {
    let words = spec.args.iter().map(grammar_of);
    std::iter::once(spec.name.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// How an argument is given: `QTY n`, `[REQ id]`.
pub fn grammar_of(arg: &Arg) -> String {
    let children =
        |between: &str| arg.children.iter().map(grammar_of).collect::<Vec<_>>().join(between);
    let value = match arg.kind {
        ArgKind::PureToken => String::new(),
        ArgKind::Block => children(" "),
        ArgKind::OneOf if arg.token.is_some() => children("|"),
        ArgKind::OneOf => children(" | "),
        _ => arg.shown.unwrap_or(arg.name).to_owned(),
    };
    let mut text = match arg.token {
        None => value,
        Some(token) if value.is_empty() => token.to_owned(),
        Some(token) => format!("{token} {value}"),
    };
    if arg.multiple {
        text = format!("{text} [{text} ...]");
    }
    if arg.optional {
        text = format!("[{text}]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::pipeline;
    use crate::server::module::spec::KEY_CHANGE;

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

    /// An error that no command lists is one that nobody gets, or one that the docs lack.
    #[test]
    fn every_error_is_listed_and_those_of_all_changes_once() {
        let source = include_str!("errors.rs");
        let mut errors = Vec::new();
        for constant in source.split("pub const ").skip(1) {
            errors.extend(constant.split('"').nth(1));
        }
        assert!(errors.len() > 40, "they are found: {errors:?}");
        for error in errors {
            let listed = TABLE.iter().filter(|spec| spec.errors.contains(&error)).count();
            let of_all = pipeline::ERRORS.contains(&error);
            assert_eq!(listed == 0, of_all, "{error}: {listed} commands list it");
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

    fn grammar_named(name: &str) -> String {
        TABLE.iter().find(|spec| spec.name == name).map(grammar).unwrap_or_default()
    }

    #[test]
    fn grammars_read_as_callers_type_them() {
        for line in [
            "SECKILL.GRAB key user [QTY n | UPTO n] [REQ id] [WAIT [UNTIL ms]]",
            "SECKILL.RESTOCK key delta REQ id",
            "SECKILL.STATUS key [JSON]",
            "SECKILL.WINNERS key cursor [COUNT n] \
                [STATE LIVE|HELD|SOLD|CANCELLED|EXPIRED|REFUNDED|ALL] [ROUND r]",
            "SECKILL.APPLY key position effect [effect ...]",
            "SECKILL.HELP",
        ] {
            let name = line.split(' ').next().unwrap_or_default();
            assert_eq!(grammar_named(name), line);
        }
    }
}
