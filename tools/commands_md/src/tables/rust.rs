//! `clients/rust/src/tables.rs`.

use std::fmt::Write;

use super::{all, lines, quoted, states, Tables};

/// Variants with more than one capital letter.
const NAMES: [(&str, &str); 4] = [
    ("OVERLIMIT", "OverLimit"),
    ("SOLDOUT", "SoldOut"),
    ("NOTOPEN", "NotOpen"),
    ("NOGRANT", "NoGrant"),
];

fn variant(word: &str) -> String {
    let known = NAMES.iter().find(|(other, _)| *other == word);
    known.map_or_else(
        || word[..1].to_owned() + &word[1..].to_ascii_lowercase(),
        |(_, name)| (*name).to_owned(),
    )
}

fn words<'w>(about: &str, name: &str, all: impl Iterator<Item = (&'w str, &'w str)>) -> String {
    let mut text = format!("words! {{\n    /// {about}\n    {name} {{\n");
    for (word, says) in all {
        // Writing to a string can't fail.
        let _ = writeln!(text, "        /// {says}\n        {} = \"{word}\",", variant(word));
    }
    text + "    }\n}\n\n"
}

pub fn text(tables: &Tables) -> String {
    let known: Vec<_> = all(tables, &tables.settled[1..]).collect();
    let mut text = String::from(HEAD);
    text += &words("How a grant stands.", "State", states());
    let outcomes = known.iter().map(|(word, _, says)| (*word, *says));
    text += &words(
        "The first word of a reply. The last six are of CONFIRM, CANCEL, EXTEND and REFUND.",
        "Outcome",
        outcomes,
    );
    text += "impl Outcome {\n    /// The words after the outcome; there may be more.\n    \
             pub(crate) const fn fields(self) -> &'static [&'static str] {\n        match self {\n";
    for (word, fields, _) in &known {
        let _ = writeln!(
            text,
            "            Outcome::{} => &[{}],",
            variant(word),
            quoted(*fields, "\"")
        );
    }
    let _ = write!(
        text,
        "        }}\n    }}\n}}\n\n/// The fields of a row of USER and WINNERS.\n\
         pub(crate) const ROW: [&str; {}] =\n    [{}];\n\n\
         /// First words of errors that a retry can't avoid.\n\
         pub(crate) const MISTAKES: [&str; {}] = [\n{}];\n",
        tables.row.len(),
        quoted(&tables.row, "\""),
        tables.mistakes.len(),
        lines(&tables.mistakes, "\"", "    "),
    );
    text
}

const HEAD: &str = "\
//! Written from the module's own tables by `make docs`: change those, not this file.

use crate::answer::words;

";
