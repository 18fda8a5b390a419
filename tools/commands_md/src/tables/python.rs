//! `clients/python/src/seckill/tables.py`.

use std::fmt::Write;

use super::{lines, quoted, words, Tables, NO_GRANT};

pub fn text(tables: &Tables) -> String {
    let mut text = String::from(HEAD);
    let states = quoted(&tables.states, "\"");
    let outcomes = lines(words(tables), "\"", "    ");
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "State = Literal[{states}]\nSettled = Literal[{states}, \"{NO_GRANT}\"]\n\
         Outcome = Literal[\n{outcomes}]\n\
         # Names of a reply's elements, by its first word. Newer modules may add more.\n\
         FIELDS = {{\n"
    );
    for (word, fields) in &tables.outcomes {
        let _ = writeln!(text, "    \"{word}\": \"{}\".split(),", fields.join(" "));
    }
    for word in tables.states.iter().chain(&[NO_GRANT]) {
        let _ = writeln!(text, "    \"{word}\": \"{}\".split(),", tables.settled.join(" "));
    }
    let _ = write!(
        text,
        "}}\nROW = \"{}\".split()\nEVENT = \"{}\".split()\n\
         # First words of errors that a retry can't avoid.\n\
         MISTAKES = [\n{}]\n",
        tables.row.join(" "),
        tables.event.join(" "),
        lines(&tables.mistakes, "\"", "    "),
    );
    text
}

const HEAD: &str = "\
\"\"\"Written from the module's own tables by `make docs`: change those, not this file.\"\"\"

from typing import Literal

";
