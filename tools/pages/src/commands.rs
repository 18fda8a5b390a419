//! The page docs/commands.md and its Chinese version, from the command table and the sessions in
//! `sessions.txt`.

use std::fmt::{Display, Write};

use seckill::command::pipeline;
use seckill::command::table::{errors_of, explained, filled, grammar, reply_rules, TABLE};
use seckill::command::vocabulary::Spec;

use crate::language::Language;
use crate::sessions;

/// The elements of a grant row, in the order of [`HEAD`].
pub const ROW: &str = "[seq, user, qty, state, at, deadline, req, epoch, round]";

/// The content of `docs/commands.md` or `docs/zh/commands.md`.
pub fn markdown(language: Language) -> String {
    let mut page = head(language);
    // Writing to a string can't fail.
    let _ = list(&mut page, pipeline::ERRORS.iter().map(|error| format!("`{error}`")));
    for spec in &TABLE {
        let _ = section(&mut page, spec, language);
    }
    page
}

const HEAD: &str = include_str!("commands.txt");
const HEAD_ZH: &str = include_str!("commands.zh.txt");

/// The page before the first command. The first two paragraphs name the sources of the page, the
/// others are rules.
fn head(language: Language) -> String {
    let both = HEAD.trim_end().split("\n\n").zip(HEAD_ZH.trim_end().split("\n\n"));
    let paragraph = |(at, (english, chinese)): (usize, (&str, &str))| match at {
        0 | 1 => format!("{}\n\n", language.of(english, chinese)),
        _ => format!("{}\n\n", numbered(language.of(english, chinese), english)),
    };
    both.enumerate().map(paragraph).collect()
}

/// A rule as it stands on the page, with an invisible number for each sentence. The number is a
/// digest of the English sentence. If words of the sentence change, the number changes, and tests
/// that cite the old number fail.
fn numbered(shown: impl Display, rule: &str) -> String {
    let rule = rule.replace('\n', " ");
    let numbers = sentences(&rule).into_iter().map(|one| format!("{:04x}", digest(one)));
    format!("{shown} <!-- {} -->", numbers.collect::<Vec<_>>().join(" "))
}

/// Splits a rule into sentences: each ends with a full stop before the next one. `...` ends no
/// sentence.
fn sentences(rule: &str) -> Vec<&str> {
    let (mut all, mut from) = (Vec::new(), 0);
    for (at, _) in rule.match_indices(". ") {
        let begins = |next: char| next.is_ascii_uppercase() || next == '`';
        if rule[at + 2..].starts_with(begins) && !rule[..at].ends_with('.') {
            all.push(&rule[from..=at]);
            from = at + 2;
        }
    }
    all.push(&rule[from..]);
    all
}

/// FNV-1a, folded to 16 bits.
fn digest(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    let hash = text.bytes().fold(2_166_136_261, step);
    (hash >> 16) ^ (hash & 0xffff)
}

/// Whether the command can reply the errors of a change.
fn changes_a_sale(spec: &Spec) -> bool {
    !spec.internal && spec.flags.split(' ').any(|flag| flag == "write")
}

const ACL: &str = "ACL (7.2 and newer; `seckill` from 7.4): ";
const ACL_ZH: &str = "ACL（7.2 及以上；`seckill` 从 7.4 起）：";

fn section(page: &mut String, spec: &Spec, language: Language) -> std::fmt::Result {
    let heading = |english, chinese| format!("\n{}\n", language.of(english, chinese));
    writeln!(page, "\n## {}\n\n```\n{}\n```\n", spec.name, grammar(spec))?;
    let summary = format!("{}{}", language.sentence(spec.summary), language.of(".", "。"));
    writeln!(page, "{}\n", numbered(summary, spec.summary))?;
    let complexity = language.sentence(spec.complexity);
    for (label, value) in [
        (language.of("Complexity: ", "复杂度："), complexity),
        (language.of("Since: ", "起始版本："), spec.since.to_owned()),
        (language.of("Flags: ", "标志："), code_words(spec.flags)),
        (language.of(ACL, ACL_ZH), code_words(spec.acl)),
    ] {
        writeln!(page, "- {label}{value}")?;
    }
    let explained = explained(spec.args);
    if !explained.is_empty() {
        writeln!(page, "{}", heading("Arguments:", "参数："))?;
        let colon = language.of(": ", "：");
        let line = |(form, about): (String, &str)| {
            let shown = format!("`{form}`{colon}{}", language.sentence(about));
            numbered(shown, &format!("{form}: {about}"))
        };
        list(page, explained.into_iter().map(line))?;
    }
    writeln!(page, "{}", heading("Reply:", "返回："))?;
    let reply = |line: &String| numbered(language.reply(&filled(line, ", ")), line);
    list(page, reply_rules(spec).iter().map(reply))?;
    let errors = errors_of(spec);
    if !errors.is_empty() {
        writeln!(page, "{}", heading("Errors:", "错误："))?;
        list(page, errors.iter().map(|error| format!("`{error}`")))?;
    }
    if changes_a_sale(spec) {
        let all = "the errors of every command that changes a sale";
        list(page, [language.of(all, "以及凡是改动活动的命令都可能有的错误")])?;
    }
    writeln!(page, "{}", heading("Example:", "例："))?;
    match sessions::of(spec) {
        Some(session) => writeln!(page, "```text\n{}\n```", commented(session, language)),
        None => writeln!(page, "```\n> {}\n```", spec.example),
    }
}

/// A session whose comments are in the language of the page.
fn commented(session: &str, language: Language) -> String {
    let line = |line: &str| match line.strip_prefix("# ") {
        Some(comment) => format!("# {}", language.sentence(comment)),
        None => line.to_owned(),
    };
    session.lines().map(line).collect::<Vec<_>>().join("\n")
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

/// Names that each translation must contain, too: words in capitals, and numbers.
#[cfg(test)]
pub fn named(text: &str) -> std::collections::BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_name = |word: &&str| word.len() > 1 && !word.chars().any(|c| c.is_ascii_lowercase());
    let codes = text.split('`').skip(1).step_by(2);
    words.filter(is_name).chain(codes).collect()
}
