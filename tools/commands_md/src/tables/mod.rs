//! The tables of the client libraries: which first word of a reply has which fields, and which
//! errors come however often one asks. Taken from the module's own rows, written for each language.

mod node;
mod php;
mod python;

use std::collections::BTreeSet;

use seckill::command::pipeline;
use seckill::command::table::TABLE;
use seckill_domain::outbox;
use seckill_domain::outcome::State;

use crate::commands::ROW;

/// What all languages know.
pub struct Tables {
    /// First words of a reply to GRAB, and the names of all elements, the first being `outcome`.
    outcomes: Vec<(String, Vec<String>)>,
    /// Where a grant may stand.
    states: Vec<&'static str>,
    /// The names of a reply's elements, when it says how a grant stands.
    settled: Vec<String>,
    /// The same of a grant row.
    row: Vec<String>,
    /// The fields of an outbox entry.
    event: Vec<&'static str>,
    /// First words of errors that come however often one asks.
    mistakes: Vec<String>,
}

/// The first word of a reply that says that the user has no such grant.
const NO_GRANT: &str = "NOGRANT";
/// The code of an error that passes.
const PASSES: &str = "TRYAGAIN";
/// Codes of the server's own errors that don't pass.
const SERVER_MISTAKES: [&str; 7] =
    ["BUSYGROUP", "CROSSSLOT", "NOAUTH", "NOGROUP", "NOPERM", "NOSCRIPT", "WRONGPASS"];
/// Fields that have another name where a name says its unit.
const UNITS: [(&str, &str); 4] = [
    ("deadline", "deadline_ms"),
    ("at", "at_ms"),
    ("ms", "opens_in_ms"),
    ("units ahead", "units_ahead"),
];

/// Each file that is written, below `clients/`.
pub fn files() -> Vec<(&'static str, String)> {
    let tables = Tables::of_the_module();
    let php = [("Tables.php", php::tables(&tables)), ("Outcome.php", php::outcomes(&tables))];
    let one_file = php::one_file([(php[0].0, &php[0].1), (php[1].0, &php[1].1)]);
    let [(_, php_tables), (_, php_outcomes)] = php;
    vec![
        ("python/src/seckill/tables.py", python::text(&tables)),
        ("node/tables.js", node::script(&tables)),
        ("node/tables.d.ts", node::types(&tables)),
        ("php/src/Tables.php", php_tables),
        ("php/src/Outcome.php", php_outcomes),
        ("php/Seckill.php", one_file),
    ]
}

impl Tables {
    fn of_the_module() -> Tables {
        let states = [State::Held, State::Sold, State::Cancelled, State::Expired, State::Refunded];
        Tables {
            outcomes: outcomes(),
            states: states.map(State::name).to_vec(),
            settled: reply_forms("SECKILL.CONFIRM")
                .into_iter()
                .find(|f| is_form(f))
                .unwrap_or_default(),
            row: names(ROW),
            event: outbox::FIELDS.map(outbox::Field::name).to_vec(),
            mistakes: mistakes(),
        }
    }
}

/// `[a, b c]` as the names of its elements.
fn names(form: &str) -> Vec<String> {
    let named = |name: &str| {
        let other = UNITS.iter().find(|(ours, _)| *ours == name);
        other.map_or(name, |(_, unit)| unit).to_owned()
    };
    form.trim_matches(['[', ']']).split(", ").map(named).collect()
}

/// Whether it names elements, and does not show numbers.
fn is_form(names: &[String]) -> bool {
    names.iter().skip(1).all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
}

/// The arrays that the reply of a command is said to be.
fn reply_forms(command: &str) -> Vec<Vec<String>> {
    let Some(spec) = TABLE.iter().find(|spec| spec.name == command) else { return Vec::new() };
    spec.reply.lines().filter_map(|line| line.split('`').nth(1)).map(names).collect()
}

fn outcomes() -> Vec<(String, Vec<String>)> {
    let forms = reply_forms("SECKILL.GRAB").into_iter().filter(|form| is_form(form));
    forms.map(|mut form| (std::mem::replace(&mut form[0], "outcome".to_owned()), form)).collect()
}

fn mistakes() -> Vec<String> {
    let errors = TABLE.iter().flat_map(|spec| spec.errors).chain(pipeline::ERRORS);
    let codes = errors.filter_map(|error| error.split(' ').next()).chain(SERVER_MISTAKES);
    codes
        .filter(|code| *code != PASSES)
        .map(str::to_owned)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// A name as Node and PHP write it.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let (head, rest) = word.split_at(1);
        all + &head.to_ascii_uppercase() + rest
    })
}

fn quoted(words: impl IntoIterator<Item: AsRef<str>>, quote: &str) -> String {
    let words = words.into_iter().map(|word| format!("{quote}{}{quote}", word.as_ref()));
    words.collect::<Vec<_>>().join(", ")
}

/// The same, each on a line of its own.
fn lines(words: impl IntoIterator<Item: AsRef<str>>, quote: &str, indent: &str) -> String {
    let lines = words.into_iter().map(|word| format!("{indent}{quote}{}{quote},\n", word.as_ref()));
    lines.collect()
}

fn words(tables: &Tables) -> Vec<&str> {
    tables.outcomes.iter().map(|(word, _)| word.as_str()).collect()
}
