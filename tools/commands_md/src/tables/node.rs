//! `clients/node/tables.js`, and its types.

use std::collections::BTreeSet;
use std::fmt::Write;

use seckill_domain::outbox::{Kind, Of, DATA};
use seckill_domain::terms::{Shown, TERMS};

use super::{camel, lines, quoted, words, Tables, NO_GRANT};

fn list(names: &[impl AsRef<str>]) -> String {
    quoted(names.iter().map(|name| camel(name.as_ref())), "'")
}

pub fn script(tables: &Tables) -> String {
    let mut text = format!("{HEAD}'use strict';\n\n");
    let settled = list(&tables.settled);
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "exports.STATES = [{}];\n\
         // Names of a reply's elements, by its first word. Newer modules may add more.\n\
         exports.FIELDS = {{\n",
        quoted(&tables.states, "'")
    );
    for (word, fields) in &tables.outcomes {
        let _ = writeln!(text, "  {word}: [{}],", list(fields));
    }
    for word in tables.states.iter().chain(&[NO_GRANT]) {
        let _ = writeln!(text, "  {word}: [{settled}],");
    }
    let _ = write!(
        text,
        "}};\nexports.ROW = [{}];\nexports.EVENT = [{}];\n\
         // First words of errors that a retry can't avoid.\n\
         exports.MISTAKES = [\n{}];\n",
        list(&tables.row),
        list(&tables.event),
        lines(&tables.mistakes, "'", "  "),
    );
    text
}

pub fn types(tables: &Tables) -> String {
    let mut text = String::from(HEAD);
    let either =
        |words: &[&str]| -> String { words.iter().map(|word| format!("\n  | '{word}'")).collect() };
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "export type State ={};\nexport type Outcome ={};\n\
         /** The fields of each outcome. */\nexport interface Fields {{\n",
        either(&tables.states),
        either(&words(tables))
    );
    for (word, fields) in &tables.outcomes {
        let field = |name: &String| match name.as_str() {
            "state" => "state: State".to_owned(),
            _ => format!("{}: number", camel(name)),
        };
        let fields: Vec<_> = fields.iter().skip(1).map(field).collect();
        let _ = writeln!(text, "  {word}: {{{}}};", fields.join("; "));
    }
    text.push_str(
        "}\n/** Numbers and words of an outbox entry. */\nexport interface EventData {\n",
    );
    let keys = DATA.iter().map(|key| (key.name, kind(key.kind), key.of == Of::All));
    let terms = TERMS.iter().filter_map(|term| term.field);
    let terms = terms.map(|(name, shown)| (name, kind_of_term(shown), false));
    let mut known = BTreeSet::new();
    for (name, kind, is_in_all) in keys.chain(terms).filter(|(name, ..)| known.insert(*name)) {
        let _ = writeln!(text, "  {name}{}: {kind};", if is_in_all { "" } else { "?" });
    }
    text.push_str("  [more: string]: unknown;\n}\n");
    text
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

const HEAD: &str = "\
// Written from the module's own tables by `make docs`: change those, not this file.
";
