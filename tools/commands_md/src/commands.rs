//! The page docs/commands.md, from the command table and the sessions beside it.

use std::fmt::{Display, Write};

use seckill::command::docs::{grammar, grammar_of};
use seckill::command::pipeline;
use seckill::command::table::TABLE;
use seckill::command::vocabulary::{Arg, Spec};

use crate::sessions;

/// The page `docs/commands.md`.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    // Writing to a string does not fail.
    let _ = list(&mut page, pipeline::ERRORS.iter().map(|error| format!("`{error}`")));
    for spec in &TABLE {
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
    match sessions::of(spec) {
        Some(session) => writeln!(page, "\nExample:\n\n```text\n{session}\n```"),
        None => writeln!(page, "\nExample:\n\n```\n> {}\n```", spec.example),
    }
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
