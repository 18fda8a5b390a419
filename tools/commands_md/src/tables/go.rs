//! `clients/go/tables.go`.

use std::fmt::Write;

use super::{all, Tables};

pub fn text(tables: &Tables) -> String {
    let settled = tables.settled[1..].join(" ");
    let mut text = format!(
        "{HEAD}\nconst settled = \"{settled}\"\n\n\
         // Names of the elements after the first word of a reply. Newer modules may add more.\n\
         var fields = map[string]string{{\n"
    );
    let all: Vec<_> = all(tables, &tables.settled[1..]).collect();
    let width = all.iter().map(|(word, ..)| word.len()).max().unwrap_or_default();
    for (word, fields, _) in all {
        let pad = " ".repeat(width - word.len());
        let fields = fields.join(" ");
        // Writing to a string can't fail.
        let _ = match fields == settled {
            true => writeln!(text, "\t\"{word}\": {pad}settled,"),
            false => writeln!(text, "\t\"{word}\": {pad}\"{fields}\","),
        };
    }
    let _ = write!(
        text,
        "}}\n\n// Names of the elements of a row in USER and WINNERS.\n\
         var rowFields = strings.Fields(\"{}\")\n\n\
         // First words of errors that a retry can't avoid.\n\
         var mistakes = map[string]bool{{\n",
        tables.row.join(" ")
    );
    let width = tables.mistakes.iter().map(String::len).max().unwrap_or_default();
    for code in &tables.mistakes {
        let _ = writeln!(text, "\t\"{code}\": {}true,", " ".repeat(width - code.len()));
    }
    text.push_str("}\n");
    text
}

const HEAD: &str = "\
// Written from the module's own tables by `make docs`: change those, not this file.

package seckill

import \"strings\"
";
