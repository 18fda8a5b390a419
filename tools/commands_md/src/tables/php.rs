//! `clients/php/src/Tables.php` and the enum of outcomes beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::{camel, lines, quoted, words, Tables, NO_GRANT};

fn list(names: &[impl AsRef<str>]) -> String {
    quoted(names.iter().map(|name| camel(name.as_ref())), "'")
}

pub fn tables(tables: &Tables) -> String {
    let mut text = format!(
        "{HEAD}/** @internal */\nfinal class Tables\n{{\n    \
         /** Names of a reply's elements, by its first word. Newer modules may add more. */\n    \
         public const FIELDS = [\n"
    );
    for (word, fields) in &tables.outcomes {
        // Writing to a string can't fail.
        let _ = writeln!(text, "        '{word}' => [{}],", list(fields));
    }
    for word in tables.states.iter().chain(&[NO_GRANT]) {
        let _ = writeln!(text, "        '{word}' => [{}],", list(&tables.settled));
    }
    let _ = write!(
        text,
        "    ];\n    public const STATES = [{}];\n    public const ROW = [{}];\n    \
         public const EVENT = [{}];\n    \
         /** First words of errors that a retry can't avoid. */\n    \
         public const MISTAKES = [\n{}    ];\n}}\n",
        list(&tables.states),
        list(&tables.row),
        list(&tables.event),
        lines(&tables.mistakes, "'", "        "),
    );
    text
}

/// All words in one enum, because PHP has no union of two enums.
pub fn outcomes(tables: &Tables) -> String {
    let mut text = format!(
        "{HEAD}/** The first word of a reply: the outcome of a grab, or the state of a grant. */\n\
         enum Outcome: string\n{{\n"
    );
    for word in words(tables).iter().chain(&tables.states).chain(&[NO_GRANT]) {
        let (head, rest) = word.split_at(1);
        // Writing to a string can't fail.
        let _ = writeln!(text, "    case {head}{} = '{word}';", rest.to_ascii_lowercase());
    }
    text.push_str("}\n");
    text
}

/// All of `clients/php/src` in one file, for a shop without Composer that copies it.
pub fn one_file(generated: [(&str, &str); 2]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/php/src");
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let read = |file: &Path| {
        let name = file.file_name()?.to_string_lossy().into_owned();
        Some((name, fs::read_to_string(file).ok()?))
    };
    let mut texts: BTreeMap<String, String> = files.filter_map(|file| read(&file)).collect();
    texts.extend(generated.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let (mut uses, mut types) = (BTreeSet::new(), Vec::new());
    for text in texts.values() {
        let Some((_, body)) = text.split_once("namespace Seckill;\n") else { continue };
        let (used, body): (Vec<_>, Vec<_>) =
            body.lines().partition(|line| line.starts_with("use "));
        uses.extend(used);
        types.push(body.join("\n").trim().to_owned());
    }
    // Interfaces come before the classes that implement them.
    types.sort_by_key(|text| !text.lines().any(|line| line.starts_with("interface ")));
    let uses: Vec<&str> = uses.into_iter().collect();
    format!("{ONE_HEAD}\n{}\n\n{}\n", uses.join("\n"), types.join("\n\n"))
}

const ONE_HEAD: &str = "\
<?php

// The whole library in one file, to be copied into a shop without Composer. Written from
// clients/php/src by `make docs`: change those files, not this one.
//
// Buys from seckill, a Redis module for flash sales, with phpredis or Predis. A call returns an
// answer, won or not. SaleError: the server refused the call and changed nothing. Unanswered: the
// outcome is unknown, so send the call again with its req, which never takes units twice. See
// docs/clients.md.

declare(strict_types=1);

namespace Seckill;
";

const HEAD: &str = "\
<?php

// Written from the module's own tables by `make docs`: change those, not this file.

declare(strict_types=1);

namespace Seckill;

";
