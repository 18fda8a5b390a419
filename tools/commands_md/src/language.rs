//! The two languages of the pages. The module's tables are written in English; the Chinese of each
//! of their sentences stands in `zh.txt`, found by the English one, or in the row of an outcome or
//! a term. So a sentence that changes is missing there until somebody has looked at its Chinese.

use std::collections::BTreeMap;

use seckill::command::table::{filled, TABLE};
use seckill::command::vocabulary::Arg;
use seckill_domain::outcome::OUTCOMES;

/// Blocks with an empty line between them: a sentence of the command table, then its Chinese.
pub const CHINESE: &str = include_str!("zh.txt");

/// The language of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    /// One of two phrases of the page itself.
    pub fn of<'t>(self, english: &'t str, chinese: &'t str) -> &'t str {
        match self {
            Language::English => english,
            Language::Chinese => chinese,
        }
    }

    /// A sentence of the table. What has no blank is no sentence: `O(1)`.
    pub fn sentence(self, english: &str) -> String {
        let chinese = || pairs().find_map(|(of, chinese)| (of == english).then_some(chinese));
        match self {
            Language::Chinese if english.contains(' ') => match chinese() {
                Some(chinese) => chinese,
                None => format!("{MISSING}{english}"),
            },
            _ => english.to_owned(),
        }
    }

    /// A line of a reply: its form between backticks is the same in every language.
    pub fn reply(self, line: &str) -> String {
        match line.split_once("`: ").filter(|_| line.starts_with('`')) {
            Some((form, said)) => {
                format!("{form}`{}{}", self.of(": ", "："), self.sentence(said))
            }
            None => self.sentence(line),
        }
    }
}

/// Marks a sentence on the page that has no translation yet.
pub const MISSING: &str = "**(no Chinese yet)** ";

pub fn pairs() -> impl Iterator<Item = (String, String)> {
    let blocks = CHINESE.trim_end().split("\n\n").filter_map(|block| block.split_once('\n'));
    let blocks = blocks.chain(rows());
    blocks.map(|(english, chinese)| (filled(english, ", "), filled(chinese, "、")))
}

/// The sentences that stand in a row beside their Chinese: those of answers and of terms.
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
