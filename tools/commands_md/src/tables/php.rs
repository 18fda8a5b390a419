//! `clients/php/src/Tables.php` and the enum of outcomes beside it.

use std::fmt::Write;

use super::{camel, lines, quoted, words, Tables, NO_GRANT};

fn list(names: &[impl AsRef<str>]) -> String {
    quoted(names.iter().map(|name| camel(name.as_ref())), "'")
}

pub fn tables(tables: &Tables) -> String {
    let mut text = format!(
        "{HEAD}/** @internal */\nfinal class Tables\n{{\n    \
         /** The elements of a reply, by its first word; there may be more. */\n    \
         public const FIELDS = [\n"
    );
    for (word, fields) in &tables.outcomes {
        // Writing to a string does not fail.
        let _ = writeln!(text, "        '{word}' => [{}],", list(fields));
    }
    for word in tables.states.iter().chain(&[NO_GRANT]) {
        let _ = writeln!(text, "        '{word}' => [{}],", list(&tables.settled));
    }
    let _ = write!(
        text,
        "    ];\n    public const ROW = [{}];\n    public const EVENT = [{}];\n    \
         /** First words of errors that come however often one asks. */\n    \
         public const MISTAKES = [\n{}    ];\n}}\n",
        list(&tables.row),
        list(&tables.event),
        lines(&tables.mistakes, "'", "        "),
    );
    text
}

/// All words in one enum: PHP has no union of two.
pub fn outcomes(tables: &Tables) -> String {
    let mut text = format!(
        "{HEAD}/** The first word of a reply: what a grab came to, or how a grant stands. */\n\
         enum Outcome: string\n{{\n"
    );
    for word in words(tables).iter().chain(&tables.states).chain(&[NO_GRANT]) {
        let (head, rest) = word.split_at(1);
        // Writing to a string does not fail.
        let _ = writeln!(text, "    case {head}{} = '{word}';", rest.to_ascii_lowercase());
    }
    text.push_str("}\n");
    text
}

const HEAD: &str = "\
<?php

// Written from the module's own tables by `make docs`: change those, not this file.

declare(strict_types=1);

namespace Seckill;

";
