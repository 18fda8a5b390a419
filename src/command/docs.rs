//! What people read about the commands, written from the table.

use std::fmt::{Display, Write};

use super::pipeline;
use super::vocabulary::{Arg, ArgKind, Spec};

/// How a command is called: `SECKILL.GRAB key user [QTY qty | UPTO upto] [REQ id]`.
pub fn grammar(spec: &Spec) -> String {
    let words = spec.args.iter().map(grammar_of);
    std::iter::once(spec.name.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn grammar_of(arg: &Arg) -> String {
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

/// A command's line in HELP.
pub fn help_line(spec: &Spec) -> String {
    format!("{} -- {}", grammar(spec), spec.summary)
}

/// The page `docs/commands.md` on the commands of `table`.
pub fn markdown(table: &[Spec]) -> String {
    let mut page = String::from(HEAD);
    // Writing to a string does not fail.
    let _ = list(&mut page, pipeline::ERRORS.iter().map(|error| format!("`{error}`")));
    for spec in table {
        let _ = section(&mut page, spec);
    }
    page
}

const HEAD: &str = "\
# Commands

Written from the command table by `make docs`: change the table in `src/command`, not this page.

Integers are plain decimal, at most 2^53-1 (9007199254740991). Times are Unix milliseconds, spans
are milliseconds. User ids are 1 to 256 bytes, request ids 1 to 128, any bytes. Options come in any
order, in upper or lower case, each at most once.

A grant row is `[seq, user, qty, state, at, deadline, req, epoch, round]`: `req` is null and
`deadline` and `round` are 0 when there is none.

**Which error, when several things are wrong:** the number of arguments comes first, then the
arguments from left to right (an option that is unknown, repeated or contradicts another is wrong
at its name), then terms that no sale could have, then the key (`NOSALE`, `WRONGTYPE`), then what
only the sale can tell. Nothing is changed or even looked up before all arguments are parsed.

Every command that changes a sale can answer one of these, too: a part of the sale is missing, it is
at a bound, its outbox takes no entry, or another module changed it in between. Nothing was changed
then.

";

/// Whether those errors are among the command's.
fn changes_a_sale(spec: &Spec) -> bool {
    !spec.internal && spec.flags.split(' ').any(|flag| flag == "write")
}

fn section(page: &mut String, spec: &Spec) -> std::fmt::Result {
    writeln!(page, "\n## {}\n\n```\n{}\n```\n", spec.name, grammar(spec))?;
    writeln!(page, "{}.\n", spec.summary)?;
    writeln!(page, "- Complexity: {}", spec.complexity)?;
    writeln!(page, "- Since: {}", spec.since)?;
    writeln!(page, "- Flags: {}", code_words(spec.flags))?;
    writeln!(page, "- ACL (7.2 and newer; `seckill` from 7.4): {}", code_words(spec.acl))?;
    let mut explained = Vec::new();
    explain(spec.args, &mut explained);
    if !explained.is_empty() {
        writeln!(page, "\nArguments:\n")?;
        list(page, explained)?;
    }
    writeln!(page, "\nReply:\n")?;
    list(page, spec.reply.lines())?;
    if !spec.errors.is_empty() {
        writeln!(page, "\nErrors:\n")?;
        list(page, spec.errors.iter().map(|error| format!("`{error}`")))?;
    }
    if changes_a_sale(spec) {
        list(page, ["those of every command that changes a sale"])?;
    }
    writeln!(page, "\nExample:\n\n```\n> {}\n```", spec.example)
}

/// A line for each argument that says what it means.
fn explain(args: &[Arg], lines: &mut Vec<String>) {
    for arg in args {
        if !arg.about.is_empty() {
            let plain = Arg { optional: false, multiple: false, ..*arg };
            lines.push(format!("`{}`: {}", grammar_of(&plain), arg.about));
        }
        explain(arg.children, lines);
    }
}

fn list(page: &mut String, lines: impl IntoIterator<Item: Display>) -> std::fmt::Result {
    for line in lines {
        writeln!(page, "- {line}")?;
    }
    Ok(())
}

fn code_words(words: &str) -> String {
    words.split(' ').map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table::TABLE;

    fn grammar_named(name: &str) -> String {
        TABLE.iter().find(|spec| spec.name == name).map(grammar).unwrap_or_default()
    }

    #[test]
    fn grammars_read_as_callers_type_them() {
        for line in [
            "SECKILL.GRAB key user [QTY n | UPTO n] [REQ id]",
            "SECKILL.RESTOCK key delta REQ id",
            "SECKILL.STATUS key [JSON]",
            "SECKILL.APPLY key version effect [effect ...]",
            "SECKILL.HELP",
        ] {
            let name = line.split(' ').next().unwrap_or_default();
            assert_eq!(grammar_named(name), line);
        }
    }
}
