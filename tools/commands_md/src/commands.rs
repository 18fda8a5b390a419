//! The page docs/commands.md and its Chinese twin, from the command table and the sessions beside
//! it.

use std::fmt::{Display, Write};

use seckill::command::pipeline;
use seckill::command::table::TABLE;
use seckill::command::table::{grammar, grammar_of};
use seckill::command::vocabulary::{Arg, Spec};

use crate::language::Language;
use crate::sessions;

/// The elements of a grant row, as [`HEAD`] has them.
pub const ROW: &str = "[seq, user, qty, state, at, deadline, req, epoch, round]";

/// The page `docs/commands.md`, or `docs/zh/commands.md`.
pub fn markdown(language: Language) -> String {
    let mut page = String::from(language.of(HEAD, HEAD_ZH));
    // Writing to a string does not fail.
    let _ = list(&mut page, pipeline::ERRORS.iter().map(|error| format!("`{error}`")));
    for spec in &TABLE {
        let _ = section(&mut page, spec, language);
    }
    page
}

const HEAD: &str = "\
# Commands

Written from the command table by `make docs`: change the table in `src/command`, not this page.
The Chinese of its sentences is in `tools/commands_md/src/zh.txt`. [中文](zh/commands.md)

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

const HEAD_ZH: &str = "\
# 命令

由 `make docs` 从命令表生成：要改就改 `src/command` 里的表和 `tools/commands_md/src/zh.txt` 里的中文，不要改本页。
[English](../commands.md)

整数是普通十进制，最大 2^53-1（9007199254740991）。时刻是 Unix 毫秒，时长是毫秒。用户 id 1 到 256 字节，请求号
1 到 128 字节，任意字节都行。选项不分次序、不分大小写，每个最多出现一次。

一条抢购记录是 `[seq, user, qty, state, at, deadline, req, epoch, round]`：没有时 `req` 是 null，
`deadline` 和 `round` 是 0。

**同时错了几处，报哪一个：** 先看参数个数，再从左到右看参数（选项不认识、重复或互相矛盾，就错在它的名字上），再看没有哪个
活动能有的规则，再看键（`NOSALE`、`WRONGTYPE`），最后才是只有活动自己才知道的。全部参数解析完之前，什么都不会改，也不会去查。

凡是会改动活动的命令，都可能答下面的某一个：活动缺了一部分、到了上限、outbox 写不进去，或者中途被别的模块改了。这时什么也没变。

";

/// Whether those errors are among the command's.
fn changes_a_sale(spec: &Spec) -> bool {
    !spec.internal && spec.flags.split(' ').any(|flag| flag == "write")
}

const ACL: &str = "ACL (7.2 and newer; `seckill` from 7.4): ";
const ACL_ZH: &str = "ACL（7.2 及更新；`seckill` 从 7.4 起）：";

fn section(page: &mut String, spec: &Spec, language: Language) -> std::fmt::Result {
    let heading = |english, chinese| format!("\n{}\n", language.of(english, chinese));
    writeln!(page, "\n## {}\n\n```\n{}\n```\n", spec.name, grammar(spec))?;
    writeln!(page, "{}{}\n", language.sentence(spec.summary), language.of(".", "。"))?;
    let complexity = language.sentence(spec.complexity);
    for (label, value) in [
        (language.of("Complexity: ", "复杂度："), complexity),
        (language.of("Since: ", "始于："), spec.since.to_owned()),
        (language.of("Flags: ", "标志："), code_words(spec.flags)),
        (language.of(ACL, ACL_ZH), code_words(spec.acl)),
    ] {
        writeln!(page, "- {label}{value}")?;
    }
    let mut explained = Vec::new();
    explain(spec.args, language, &mut explained);
    if !explained.is_empty() {
        writeln!(page, "{}", heading("Arguments:", "参数："))?;
        list(page, explained)?;
    }
    writeln!(page, "{}", heading("Reply:", "应答："))?;
    list(page, spec.reply.lines().map(|line| language.reply(line)))?;
    if !spec.errors.is_empty() {
        writeln!(page, "{}", heading("Errors:", "错误："))?;
        list(page, spec.errors.iter().map(|error| format!("`{error}`")))?;
    }
    if changes_a_sale(spec) {
        let all = "those of every command that changes a sale";
        list(page, [language.of(all, "以及凡是改动活动的命令都可能有的错误")])?;
    }
    writeln!(page, "{}", heading("Example:", "例："))?;
    match sessions::of(spec) {
        Some(session) => writeln!(page, "```text\n{session}\n```"),
        None => writeln!(page, "```\n> {}\n```", spec.example),
    }
}

/// A line for each argument that says what it means.
fn explain(args: &[Arg], language: Language, lines: &mut Vec<String>) {
    for arg in args {
        if !arg.about.is_empty() {
            let plain = Arg { optional: false, multiple: false, ..*arg };
            let colon = language.of(": ", "：");
            let about = language.sentence(arg.about);
            lines.push(format!("`{}`{colon}{about}", grammar_of(&plain)));
        }
        explain(arg.children, language, lines);
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

/// What every translation of a text has to name as well: its words in capitals and numbers.
#[cfg(test)]
pub fn named(text: &str) -> std::collections::BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_name = |word: &&str| word.len() > 1 && !word.chars().any(|c| c.is_ascii_lowercase());
    let codes = text.split('`').skip(1).step_by(2);
    words.filter(is_name).chain(codes).collect()
}
