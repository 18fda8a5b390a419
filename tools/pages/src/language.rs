//! The two languages of the pages. The module's tables are in English. The Chinese of a sentence
//! stands in `zh.txt` under the English one, or in the row of an outcome or a term. If an English
//! sentence changes, its translation is missing until somebody writes a new one.

use std::collections::BTreeMap;

use seckill::command::table::{filled, TABLE};
use seckill::command::vocabulary::Arg;
use seckill_domain::outcome::OUTCOMES;

/// Blocks separated by empty lines: a sentence of the command table, then its Chinese.
pub const CHINESE: &str = include_str!("zh.txt");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    /// One of two phrases that the page itself has.
    pub fn of<'t>(self, english: &'t str, chinese: &'t str) -> &'t str {
        match self {
            Language::English => english,
            Language::Chinese => chinese,
        }
    }

    /// Translates a sentence of the table. Text without a space, such as `O(1)`, is kept.
    pub fn sentence(self, english: &str) -> String {
        if self == Language::English || !english.contains(' ') {
            return english.to_owned();
        }
        let chinese = pairs().find_map(|(of, chinese)| (of == english).then_some(chinese));
        chinese.unwrap_or_else(|| format!("{MISSING}{english}"))
    }

    /// Translates a line about a reply. The part between backticks is kept.
    pub fn reply(self, line: &str) -> String {
        match line.split_once("`: ").filter(|_| line.starts_with('`')) {
            Some((form, said)) => {
                format!("{form}`{}{}", self.of(": ", "："), self.sentence(said))
            }
            None => self.sentence(line),
        }
    }
}

/// Marks a sentence that has no translation yet.
pub const MISSING: &str = "**(no Chinese yet)** ";

pub fn pairs() -> impl Iterator<Item = (String, String)> {
    let blocks = CHINESE.trim_end().split("\n\n").filter_map(|block| block.split_once('\n'));
    let blocks = blocks.chain(rows());
    blocks.map(|(english, chinese)| (filled(english, ", "), filled(chinese, "、")))
}

/// The sentences of outcomes and terms, each with its Chinese.
pub fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    fn of(args: &'static [Arg]) -> Vec<&'static Arg> {
        args.iter().flat_map(|arg| [vec![arg], of(arg.children)].concat()).collect()
    }
    let args = TABLE.iter().flat_map(|spec| of(spec.args));
    let args = args.filter(|arg| !arg.about_zh.is_empty()).map(|arg| (arg.about, arg.about_zh));
    let rows: BTreeMap<_, _> =
        args.chain(OUTCOMES.iter().map(|it| (it.about, it.about_zh))).collect();
    rows.into_iter()
}
