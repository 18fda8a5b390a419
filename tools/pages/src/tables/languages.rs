//! The tables of each library: a template in `templates`, and the form that its language gives to a
//! word with its fields.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use seckill_domain::outbox::{Kind, Of, DATA};
use seckill_domain::terms::{Shown, TERMS};

use super::{Tables, Word};
use crate::text::{each, fill, lines, quoted};

/// `clients/python/src/seckill/tables.py`.
pub fn python(tables: &Tables) -> String {
    let fields =
        |word: &Word| format!("    \"{}\": \"{}\".split(),", word.word, word.elements.join(" "));
    fill(
        include_str!("templates/python.txt"),
        &[
            ("states", quoted(tables.states(), "\"")),
            ("outcomes", lines(tables.grab(), "\"", "    ")),
            ("fields", each(&tables.words, "\n", fields)),
            ("row", tables.row.join(" ")),
            ("event", tables.event.join(" ")),
            ("mistakes", lines(&tables.mistakes, "\"", "    ")),
        ],
    )
}

/// `clients/node/tables.js`.
pub fn node(tables: &Tables) -> String {
    let fields = |word: &Word| format!("  {}: [{}],", word.word, camels(&word.elements));
    let template = include_str!("templates/node.txt");
    with_camels(template, tables, "  ", fields)
}

/// `clients/php/src/Tables.php`.
pub fn php(tables: &Tables) -> String {
    let fields = |word: &Word| format!("        '{}' => [{}],", word.word, camels(&word.elements));
    let template = include_str!("templates/php.txt");
    with_camels(template, tables, "        ", fields)
}

/// The tables of a language with names in camel case and single quotes.
fn with_camels(
    template: &str,
    tables: &Tables,
    indent: &str,
    fields: impl Fn(&Word) -> String,
) -> String {
    let parts = [
        ("states", quoted(tables.states(), "'")),
        ("fields", each(&tables.words, "\n", fields)),
        ("row", camels(&tables.row)),
        ("event", camels(&tables.event)),
        ("mistakes", lines(&tables.mistakes, "'", indent)),
    ];
    fill(template, &parts)
}

fn camels(names: &[impl AsRef<str>]) -> String {
    quoted(names.iter().map(|name| camel(name.as_ref())), "'")
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let (head, rest) = word.split_at(1);
        all + &head.to_ascii_uppercase() + rest
    })
}

/// The types of `clients/node/tables.js`.
pub fn node_types(tables: &Tables) -> String {
    let either = |word: &str| format!("  | '{word}'");
    let fields = |word: &Word| {
        let field = |name: &String| match name.as_str() {
            "state" => "state: State".to_owned(),
            _ => format!("{}: number", camel(name)),
        };
        format!("  {}: {{{}}};", word.word, each(word.fields(), "; ", field))
    };
    let keys = DATA.iter().map(|key| (key.name, kind(key.kind), key.of == Of::All));
    let terms = TERMS.iter().filter_map(|term| term.field);
    let terms = terms.map(|(name, shown)| (name, kind_of_term(shown), false));
    let mut known = BTreeSet::new();
    let keys: Vec<_> = keys.chain(terms).filter(|(name, ..)| known.insert(*name)).collect();
    let key = |(name, kind, is_in_all): (&str, &str, bool)| {
        format!("  {name}{}: {kind};", if is_in_all { "" } else { "?" })
    };
    fill(
        include_str!("templates/node_types.txt"),
        &[
            ("states", each(tables.states(), "\n", either)),
            ("outcomes", each(tables.grab(), "\n", |word| either(&word.word))),
            ("fields", each(tables.grab(), "\n", fields)),
            ("data", each(keys, "\n", key)),
        ],
    )
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "number",
        Kind::Word => "string",
        Kind::Numbers => "number[]",
    }
}

fn kind_of_term(shown: Shown) -> &'static str {
    match shown {
        Shown::Number(_) => "number",
        Shown::Flag(_) => "true",
        Shown::Word(_) => "string",
    }
}

/// `clients/php/src/Outcome.php`: all words in one enum, because PHP has no union of two enums.
pub fn php_outcome(tables: &Tables) -> String {
    let case = |word: &Word| format!("    case {} = '{}';", capital(&word.word), word.word);
    let cases = each(&tables.words, "\n", case);
    fill(include_str!("templates/php_outcome.txt"), &[("cases", cases)])
}

fn capital(word: &str) -> String {
    let (head, rest) = word.split_at(1);
    head.to_owned() + &rest.to_ascii_lowercase()
}

/// All of `clients/php/src` in one file, for a shop without Composer that copies it. The generated
/// files, each with its name, are taken as they will be.
pub fn php_one_file(generated: [(&str, &str); 2]) -> String {
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
    let uses = uses.into_iter().collect::<Vec<_>>().join("\n");
    let template = include_str!("templates/php_one_file.txt");
    fill(template, &[("uses", uses), ("types", types.join("\n\n"))])
}

/// `clients/go/tables.go`.
pub fn go(tables: &Tables) -> String {
    let settled = tables.settled.join(" ");
    let width = |words: &mut dyn Iterator<Item = &str>| words.map(str::len).max().unwrap_or(0) + 3;
    let of_words = width(&mut tables.words.iter().map(|word| &*word.word));
    let of_mistakes = width(&mut tables.mistakes.iter().map(String::as_str));
    let fields = |word: &Word| {
        let fields = match word.fields().join(" ") {
            fields if fields == settled => "settled".to_owned(),
            fields => format!("\"{fields}\""),
        };
        format!("\t{:of_words$} {fields},", format!("\"{}\":", word.word))
    };
    let mistake = |code: &String| format!("\t{:of_mistakes$} true,", format!("\"{code}\":"));
    fill(
        include_str!("templates/go.txt"),
        &[
            ("fields", each(&tables.words, "\n", fields)),
            ("mistakes", each(&tables.mistakes, "\n", mistake)),
            ("row", tables.row.join(" ")),
            ("settled", settled),
        ],
    )
}

/// `clients/rust/src/tables.rs`.
pub fn rust(tables: &Tables) -> String {
    let defined = |word: &Word| {
        format!("        /// {}\n        {} = \"{}\",", word.says, variant(word), word.word)
    };
    let fields = |word: &Word| {
        format!("            Outcome::{} => &[{}],", variant(word), quoted(word.fields(), "\""))
    };
    fill(
        include_str!("templates/rust.txt"),
        &[
            ("states", each(tables.of_grants(), "\n", defined)),
            ("outcomes", each(&tables.words, "\n", defined)),
            ("fields", each(&tables.words, "\n", fields)),
            ("row_length", tables.row.len().to_string()),
            ("row", quoted(&tables.row, "\"")),
            ("mistakes_length", tables.mistakes.len().to_string()),
            ("mistakes", lines(&tables.mistakes, "\"", "    ")),
        ],
    )
}

/// Variants with more than one capital letter.
const VARIANTS: [(&str, &str); 4] = [
    ("OVERLIMIT", "OverLimit"),
    ("SOLDOUT", "SoldOut"),
    ("NOTOPEN", "NotOpen"),
    ("NOGRANT", "NoGrant"),
];

fn variant(word: &Word) -> String {
    let known = VARIANTS.iter().find(|(of, _)| *of == word.word);
    known.map_or_else(|| capital(&word.word), |(_, name)| (*name).to_owned())
}

/// `Outcome.java` of `clients/java`.
pub fn java_outcome(tables: &Tables) -> String {
    let outcome = |word: &Word| match word.fields() {
        [] => documented(word, ""),
        fields => documented(word, &format!("({})", quoted(fields, "\""))),
    };
    let outcomes = each(&tables.words, ",\n", outcome);
    fill(include_str!("templates/java_outcome.txt"), &[("outcomes", outcomes)])
}

pub fn java_state(tables: &Tables) -> String {
    let states = each(tables.of_grants(), ",\n", |word| documented(word, ""));
    fill(include_str!("templates/java_state.txt"), &[("states", states)])
}

fn documented(word: &Word, fields: &str) -> String {
    format!("    /** {} */\n    {}{fields}", word.says.replace('`', ""), word.word)
}

pub fn java_tables(tables: &Tables) -> String {
    let list = |words: &[String]| each(words, ",\n", |word| format!("            \"{word}\""));
    let parts = [("row", list(&tables.row)), ("mistakes", list(&tables.mistakes))];
    fill(include_str!("templates/java_tables.txt"), &parts)
}
