//! The tables of the client libraries: the fields of each reply by its first word, and the errors
//! that a retry can't avoid. Generated from the module's own tables, for each language.

mod go;
mod java;
mod node;
mod php;
mod python;
mod rust;

use std::collections::BTreeSet;

use seckill::command::pipeline;
use seckill::command::table::{replies, TABLE};
use seckill_domain::outbox;
use seckill_domain::outcome::State;
use seckill_domain::terms::TERMS;

use crate::commands::ROW;

/// The tables that the libraries of all languages have.
pub struct Tables {
    /// First words of a reply to GRAB, and the names of all elements, the first being `outcome`.
    outcomes: Vec<(String, Vec<String>)>,
    /// The sentence of each outcome, in the order of the outcomes.
    sentences: Vec<String>,
    /// The states of a grant.
    states: Vec<&'static str>,
    /// The names of the elements of a reply with a grant's state.
    settled: Vec<String>,
    /// The fields of a grant row.
    row: Vec<String>,
    /// The fields of an outbox entry.
    event: Vec<&'static str>,
    /// First words of errors that a retry can't avoid.
    mistakes: Vec<String>,
}

/// The first word of a reply about a missing grant.
const NO_GRANT: &str = "NOGRANT";
/// The states of a grant, each with its sentence.
const STATES: [(State, &str); 5] = [
    (State::Held, "Reserved until its deadline."),
    (State::Sold, "Paid, or granted by a sale without holds."),
    (State::Cancelled, "Returned by the buyer, or a REQ with a fence."),
    (State::Expired, "Not paid in time."),
    (State::Refunded, "Returned after it was sold."),
];
const NO_GRANT_SENTENCE: &str = "The user has no such grant.";
/// The code of a temporary error.
const PASSES: &str = "TRYAGAIN";
/// Codes of the server's own errors that a retry can't avoid.
const SERVER_MISTAKES: [&str; 7] =
    ["BUSYGROUP", "CROSSSLOT", "NOAUTH", "NOGROUP", "NOPERM", "NOSCRIPT", "WRONGPASS"];
/// Fields whose name in a library has a unit.
const UNITS: [(&str, &str); 4] = [
    ("deadline", "deadline_ms"),
    ("at", "at_ms"),
    ("ms", "opens_in_ms"),
    ("units ahead", "units_ahead"),
];

/// Each generated file, below `clients/`.
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
        ("go/tables.go", go::text(&tables)),
        ("rust/src/tables.rs", rust::text(&tables)),
        ("java/core/src/main/java/example/seckill/Outcome.java", java::outcomes(&tables)),
        ("java/core/src/main/java/example/seckill/State.java", java::states()),
        ("java/core/src/main/java/example/seckill/Tables.java", java::tables(&tables)),
    ]
}

/// `cli/src/terms.rs`: terms that a program can read in STATUS and set by ALTER.
pub fn terms_of_cli() -> String {
    let altered = TERMS.iter().filter(|term| term.is_altered && term.section().is_some());
    let pairs = altered.filter_map(|term| Some((term.option, term.field?.0)));
    let lines: Vec<_> = pairs.map(|(o, field)| format!("    (\"{o}\", \"{field}\"),\n")).collect();
    format!(
        "//! Written from the module's own tables by `make docs`: change those, not this file.\n\n\
         /// Options of ALTER, and the fields of STATUS that show them.\n\
         pub const ALTERED: [(&str, &str); {}] = [\n{}];\n",
        lines.len(),
        lines.concat()
    )
}

impl Tables {
    fn of_the_module() -> Tables {
        let (outcomes, sentences) = outcomes().into_iter().unzip();
        let settled = reply_forms("SECKILL.CONFIRM").into_iter().find(|(form, _)| is_form(form));
        Tables {
            outcomes,
            sentences,
            states: STATES.map(|(state, _)| state.name()).to_vec(),
            settled: settled.map(|(form, _)| form).unwrap_or_default(),
            row: names(ROW),
            event: outbox::FIELDS.map(outbox::Field::name).to_vec(),
            mistakes: mistakes(),
        }
    }
}

/// The names of the elements in a text like `[a, b c]`.
fn names(form: &str) -> Vec<String> {
    let named = |name: &str| {
        let other = UNITS.iter().find(|(ours, _)| *ours == name);
        other.map_or(name, |(_, unit)| unit).to_owned()
    };
    form.trim_matches(['[', ']']).split(", ").map(named).collect()
}

/// Whether the reply has names of elements, not numbers.
fn is_form(names: &[String]) -> bool {
    names.iter().skip(1).all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
}

/// The array replies of a command, each with its sentence.
fn reply_forms(command: &str) -> Vec<(Vec<String>, String)> {
    let Some(spec) = TABLE.iter().find(|spec| spec.name == command) else { return Vec::new() };
    let forms = replies(spec).into_iter().filter_map(|line| {
        let (form, says) = line.strip_prefix('`')?.split_once('`')?;
        Some((names(form), sentence(says.trim_start_matches(": "))))
    });
    forms.collect()
}

fn sentence(says: &str) -> String {
    let (head, rest) = says.split_at(says.len().min(1));
    head.to_ascii_uppercase() + rest + "."
}

fn outcomes() -> Vec<((String, Vec<String>), String)> {
    let forms = reply_forms("SECKILL.GRAB").into_iter().filter(|(form, _)| is_form(form));
    let word = |(mut form, says): (Vec<String>, _)| {
        ((std::mem::replace(&mut form[0], "outcome".to_owned()), form), says)
    };
    forms.map(word).collect()
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

/// A name in camel case, for Node and PHP.
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

/// The words, one on each line.
fn lines(words: impl IntoIterator<Item: AsRef<str>>, quote: &str, indent: &str) -> String {
    let lines = words.into_iter().map(|word| format!("{indent}{quote}{}{quote},\n", word.as_ref()));
    lines.collect()
}

/// The names and sentences of all states, then of a missing grant.
fn states() -> impl Iterator<Item = (&'static str, &'static str)> {
    let states = STATES.iter().map(|(state, says)| (state.name(), *says));
    states.chain([(NO_GRANT, NO_GRANT_SENTENCE)])
}

/// Each first word of replies, its fields (`settled` for a grant's state), and its sentence.
fn all<'t>(
    tables: &'t Tables,
    settled: &'t [String],
) -> impl Iterator<Item = (&'t str, &'t [String], &'t str)> {
    let outcomes = tables.outcomes.iter().zip(&tables.sentences);
    let outcomes = outcomes.map(|((word, fields), says)| (word.as_str(), &fields[1..], &**says));
    outcomes.chain(states().map(move |(word, says)| (word, settled, says)))
}

fn words(tables: &Tables) -> Vec<&str> {
    tables.outcomes.iter().map(|(word, _)| word.as_str()).collect()
}
