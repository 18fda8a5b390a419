//! The table of commands, and the texts made from it. Registration, COMMAND DOCS, HELP,
//! docs/commands.md and tests read it.
//!
//! Each command's entry is in the command's own file, next to its parser and handler; `vocabulary`
//! has the shared parts of entries.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Group, Spec};
use super::{
    allow_deny, alter, apply, audit, errors, grab, import, init, mgrab, pause, restock, rounds,
    settle, split, status, units, user, waitlist, winners,
};
use crate::server::call::Call;
/// Fields of INFO, for pages that list them beside the commands.
pub use crate::server::module::info::fields;
pub use crate::server::settings::ALL as SETTINGS;
use seckill_domain::outcome::Row;
use seckill_domain::terms::{Section, TERMS};

/// All commands, in the order of the docs: operator, buyer, reading, internal.
pub static TABLE: [Spec; 30] = [
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
    units::UNITS,
    units::OWNER,
    HELP,
    apply::SPEC,
];

/// HELP shows the table, so its own entry is here.
const HELP: Spec = Spec {
    name: "SECKILL.HELP",
    arity: -1,
    flags: "readonly fast allow-loading allow-stale",
    acl: "read fast",
    keys: &[],
    summary: "Lists the commands, or shows one of them",
    args: &[Arg::new("command", ArgKind::Str)
        .optional()
        .about("the one to show, with or without `SECKILL.` in front")],
    reply: "An array of lines: the commands by who needs them, or how the one is called, what its \
        arguments mean and what it replies.",
    errors: &[errors::NO_COMMAND],
    example: "SECKILL.HELP GRAB",
    ..vocabulary::reader(help)
};

/// HELP's lines are shorter than this.
const LINE_CHARS_MAX: usize = 99;

fn help(call: &mut Call<'_>) {
    let reply = call.reply();
    match help_of(call.args()) {
        Err(error) => error.reply(reply),
        Ok(lines) => {
            reply.array(lines.len());
            lines.iter().for_each(|line| reply.bulk(line));
        }
    }
}

fn help_of(args: &[&[u8]]) -> Parsed<Vec<String>> {
    let mut args = Args::of(args);
    let Some(name) = args.option() else { return Ok(overview()) };
    args.end()?;
    let is_named = |spec: &&Spec| {
        let short = spec.name.trim_start_matches("SECKILL.");
        [spec.name, short].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    Ok(shown(TABLE.iter().find(is_named).ok_or(errors::NO_COMMAND)?))
}

/// All commands for callers, grouped by their users.
fn overview() -> Vec<String> {
    let groups = [
        (Group::Buyers, "For buyers:"),
        (Group::Operators, "For operators:"),
        (Group::Readers, "For readers:"),
        (Group::Parts, "For a sale that many nodes share:"),
    ];
    let mut lines = Vec::new();
    for (group, heading) in groups {
        lines.push(heading.to_owned());
        for spec in TABLE.iter().filter(|spec| spec.group == group && !spec.internal) {
            lines.push(format!("  {:17} {}", spec.name, spec.summary));
        }
    }
    lines.push("SECKILL.HELP GRAB shows how that one is called.".to_owned());
    lines
}

/// One command.
fn shown(spec: &Spec) -> Vec<String> {
    let mut lines = Vec::new();
    wrap(&grammar(spec), 0, &mut lines);
    wrap(&format!("{}.", spec.summary), 2, &mut lines);
    lines.push("Arguments:".to_owned());
    for (form, about) in explained(spec.args) {
        wrap(&format!("{form}: {about}"), 2, &mut lines);
    }
    if lines.last().is_some_and(|line| line == "Arguments:") {
        lines.pop();
    }
    lines.push("Reply:".to_owned());
    replies(spec).iter().for_each(|form| wrap(form, 2, &mut lines));
    lines.push("Errors of its own:".to_owned());
    errors_of(spec).iter().for_each(|error| wrap(error, 2, &mut lines));
    lines.push(format!("Example: {}", spec.example));
    lines
}

/// The replies of a command, a line for each form.
pub fn replies(spec: &Spec) -> Vec<String> {
    reply_rules(spec).iter().map(|line| filled(line, ", ")).collect()
}

/// The reply rules of a command. Terms appear as the name of their section of STATUS, so a new term
/// changes no rule.
pub fn reply_rules(spec: &Spec) -> Vec<String> {
    let answer = |row: &Row| {
        let elements: Vec<_> = [row.word].iter().chain(row.fields).copied().collect();
        format!("`[{}]`: {}", elements.join(", "), row.about)
    };
    spec.answers.iter().map(answer).chain(spec.reply.lines().map(str::to_owned)).collect()
}

/// Names in a text that are replaced by the names of the terms in a section of STATUS.
const SECTIONS: [(&str, Section); 4] = [
    ("{terms of a sale}", Section::Sale),
    ("{terms of a part}", Section::Part),
    ("{terms of a list}", Section::List),
    ("{terms of units}", Section::Units),
];

/// A text with the names of terms where it names their section, and `comma` between them.
pub fn filled(text: &str, comma: &str) -> String {
    SECTIONS.iter().fold(text.to_owned(), |text, (name, section)| {
        let shown = TERMS.iter().filter(|term| term.section() == Some(*section));
        let names: Vec<_> =
            shown.filter_map(|term| term.field).map(|(field, _)| format!("`{field}`")).collect();
        text.replace(name, &names.join(comma))
    })
}

/// Appends a text as lines: the first is indented by `indent` characters, further ones by four
/// more.
fn wrap(text: &str, indent: usize, lines: &mut Vec<String>) {
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.len() + 1 + word.len() > LINE_CHARS_MAX {
            lines.push(core::mem::replace(&mut line, " ".repeat(indent + 4)));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
}

/// The arguments that need an explanation, those inside blocks included: grammar and meaning.
pub fn explained(args: &[Arg]) -> Vec<(String, &'static str)> {
    let mut lines = Vec::new();
    for arg in args {
        if !arg.about.is_empty() {
            let plain = Arg { optional: false, multiple: false, ..*arg };
            lines.push((grammar_of(&plain), arg.about));
        }
        lines.extend(explained(arg.children));
    }
    lines
}

/// All error texts of a command: those of its arguments in their order, then its own.
pub fn errors_of(spec: &Spec) -> Vec<String> {
    let mut errors = Vec::new();
    of_rows(spec.args, &mut errors);
    if !spec.internal && (spec.arity < 0 || spec.args.iter().any(|arg| arg.token.is_some())) {
        errors.push(format!("{} N", errors::SYNTAX));
    }
    errors.extend(spec.errors.iter().map(|error| error.to_string()));
    errors
}

/// The errors of arguments outside their bounds, each once.
fn of_rows(args: &'static [Arg], errors: &mut Vec<String>) {
    for arg in args {
        let error = arg.error();
        if !error.is_empty() && !errors.iter().any(|other| other == error) {
            errors.push(error.to_owned());
        }
        of_rows(arg.children, errors);
    }
}

/// The grammar of a command: `SECKILL.GRAB key user [QTY qty | UPTO upto] [REQ id]`.
pub fn grammar(spec: &Spec) -> String {
    let words = spec.args.iter().map(grammar_of);
    std::iter::once(spec.name.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The grammar of an argument: `QTY n`, `[REQ id]`.
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
    use crate::server::module::spec::{KEY_CHANGE, KEY_NOT_KEY};
    use seckill_domain::limits::INTEGER_MAX;
    use seckill_domain::outcome::Misuse;

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
            // ALTER needs at least one option.
            let least = if name == "SECKILL.ALTER" { least + 1 } else { least };
            assert_eq!(spec.arity, if open { -least } else { least }, "{name}");

            let has = |text: &str, word: &str| text.split(' ').any(|other| other == word);
            assert_eq!(has(spec.flags, "write"), has(spec.acl, "write"), "{name}");
            assert_eq!(has(spec.flags, "readonly"), has(spec.acl, "read"), "{name}");
            assert_eq!(has(spec.flags, "fast"), has(spec.acl, "fast"), "{name}");
            assert_ne!(has(spec.acl, "fast"), has(spec.acl, "slow"), "{name}");
            let changes = spec.keys.iter().any(|key| key.flags & KEY_CHANGE != 0);
            assert_eq!(changes, has(spec.flags, "write"), "{name}");
            let keys = spec.keys.iter().filter(|key| key.flags & KEY_NOT_KEY == 0).count();
            let args = spec.args.iter().filter(|arg| is_key(arg)).count();
            assert_eq!(keys, args, "{name}");
        }
    }

    fn is_key(arg: &Arg) -> bool {
        matches!(arg.kind, ArgKind::Key | ArgKind::OutboxKey)
    }

    /// The parser reads larger numbers, and leaves them to the rows.
    fn assert_bounded(args: &[Arg]) {
        for arg in args {
            let kinds = [ArgKind::Integer, ArgKind::Delta, ArgKind::Span, ArgKind::UnixTime];
            let most = arg.bounds.map(|bounds| bounds.high);
            let is_bounded = most.is_some_and(|most| most <= INTEGER_MAX);
            assert!(is_bounded || !kinds.contains(&arg.kind), "{} takes {most:?}", arg.name);
            assert_bounded(arg.children);
        }
    }

    #[test]
    fn every_number_has_a_bound() {
        TABLE.iter().for_each(|spec| assert_bounded(spec.args));
    }

    /// An error that no command lists is unused, or missing in the docs.
    #[test]
    fn every_error_is_listed_and_those_of_all_changes_once() {
        let source = include_str!("errors.rs");
        let mut errors = Vec::new();
        for constant in source.split("pub const ").skip(1) {
            errors.extend(constant.split('"').nth(1));
        }
        assert!(errors.len() > 20, "they are found: {errors:?}");
        errors.extend(Misuse::ALL.iter().map(|misuse| misuse.text()));
        for error in errors.into_iter().filter(|error| *error != super::errors::SYNTAX) {
            let is_of = |spec: &&Spec| errors_of(spec).iter().any(|other| other == error);
            let listed = TABLE.iter().filter(is_of).count();
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

    #[test]
    fn help_lists_every_command_once_and_shows_each_in_short_lines() {
        let overview = overview();
        for spec in TABLE.iter().filter(|spec| !spec.internal) {
            let name = format!("  {} ", spec.name);
            assert_eq!(overview.iter().filter(|line| line.starts_with(&name)).count(), 1);
            let short = spec.name.trim_start_matches("SECKILL.").to_ascii_lowercase();
            let lines = help_of(&[short.as_bytes()]).unwrap();
            assert!(lines[0].starts_with(spec.name), "{lines:?}");
            let all = lines.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join(" ");
            let replies = replies(spec).join(" ");
            for text in [grammar(spec), replies.split_whitespace().collect::<Vec<_>>().join(" ")] {
                assert!(all.contains(&text), "{text} is not in {all}");
            }
            for line in overview.iter().chain(&lines) {
                assert!(line.len() <= LINE_CHARS_MAX, "{line}");
            }
        }
        assert_eq!(help_of(&[b"SECKILL.STOP"]), Err(errors::NO_COMMAND.into()));
        assert_eq!(help_of(&[b"GRAB", b"x"]), Err(errors::Error::Stray(2)));
    }

    fn grammar_named(name: &str) -> String {
        TABLE.iter().find(|spec| spec.name == name).map(grammar).unwrap_or_default()
    }

    #[test]
    fn grammars_read_as_callers_type_them() {
        for line in [
            "SECKILL.GRAB key user [QTY n [ADJACENT] | UPTO n | UNITS u [u ...]] [REQ id] \
                [WAIT [UNTIL unix-time-milliseconds]]",
            "SECKILL.RESTOCK key delta REQ id",
            "SECKILL.STATUS key [JSON]",
            "SECKILL.WINNERS key cursor [COUNT n] \
                [STATE LIVE|HELD|SOLD|CANCELLED|EXPIRED|REFUNDED|ALL] [ROUND r]",
            "SECKILL.APPLY key position effect [effect ...]",
            "SECKILL.HELP [command]",
        ] {
            let name = line.split(' ').next().unwrap_or_default();
            assert_eq!(grammar_named(name), line);
        }
    }
}
