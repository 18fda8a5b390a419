//! The tables of the client libraries: the fields of each reply by its first word, and the errors
//! that a retry can't avoid. Generated from the module's own tables, for each language.

mod languages;

use std::collections::BTreeSet;

use seckill::command::pipeline;
use seckill::command::table::{replies, TABLE};
use seckill_domain::outbox;
use seckill_domain::outcome::State;
use seckill_domain::terms::TERMS;

use crate::commands::ROW;
use languages::{
    go, java_outcome, java_state, java_tables, node, node_types, php, php_one_file, php_outcome,
    python, rust,
};

/// The tables that the libraries of all languages have.
struct Tables {
    /// First words of replies: those to GRAB, then [`STATES`].
    words: Vec<Word>,
    /// The elements behind the state in a reply with a grant's state.
    settled: Vec<String>,
    /// The fields of a grant row.
    row: Vec<String>,
    /// The fields of an outbox entry.
    event: [&'static str; outbox::FIELDS.len()],
    /// First words of errors that a retry can't avoid.
    mistakes: Vec<String>,
}

/// The first word of a reply.
struct Word {
    word: String,
    /// The names of all elements; the first is `outcome` or `state`.
    elements: Vec<String>,
    /// Its sentence.
    says: String,
    is_of_a_grant: bool,
}

impl Word {
    fn fields(&self) -> &[String] {
        &self.elements[1..]
    }
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        &self.word
    }
}

/// The states of a grant, and the word for a missing grant, each with its sentence.
const STATES: [(&str, &str); 6] = [
    (State::Held.name(), "Reserved until its deadline."),
    (State::Sold.name(), "Paid, or granted by a sale without holds."),
    (State::Cancelled.name(), "Returned by the buyer, or a REQ with a fence."),
    (State::Expired.name(), "Not paid in time."),
    (State::Refunded.name(), "Returned after it was sold."),
    (NO_GRANT, "The user has no such grant."),
];
const NO_GRANT: &str = "NOGRANT";
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
    let tables = &Tables::of_the_module();
    let (php, php_outcome) = (php(tables), php_outcome(tables));
    let one_file = php_one_file([("Tables.php", &php), ("Outcome.php", &php_outcome)]);
    vec![
        ("python/src/seckill/tables.py", python(tables)),
        ("node/tables.js", node(tables)),
        ("node/tables.d.ts", node_types(tables)),
        ("php/src/Tables.php", php),
        ("php/src/Outcome.php", php_outcome),
        ("php/Seckill.php", one_file),
        ("go/tables.go", go(tables)),
        ("rust/src/tables.rs", rust(tables)),
        ("java/core/src/main/java/example/seckill/Outcome.java", java_outcome(tables)),
        ("java/core/src/main/java/example/seckill/State.java", java_state(tables)),
        ("java/core/src/main/java/example/seckill/Tables.java", java_tables(tables)),
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
        let is_form = |(elements, _): &(Vec<String>, String)| {
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            elements.iter().skip(1).all(|name| name.chars().all(is_name))
        };
        let mut of_grab = reply_forms("SECKILL.GRAB");
        of_grab.retain(is_form);
        let grab = of_grab.into_iter().map(|(mut elements, says)| {
            let word = std::mem::replace(&mut elements[0], "outcome".to_owned());
            Word { word, elements, says, is_of_a_grant: false }
        });
        let settled = reply_forms("SECKILL.CONFIRM").into_iter().find(is_form);
        let elements = settled.map(|(elements, _)| elements).unwrap_or_default();
        let states = STATES.map(|(word, says)| Word {
            word: word.to_owned(),
            elements: elements.clone(),
            says: says.to_owned(),
            is_of_a_grant: true,
        });
        Tables {
            words: grab.chain(states).collect(),
            settled: elements.get(1..).unwrap_or_default().to_vec(),
            row: names(ROW),
            event: outbox::FIELDS.map(outbox::Field::name),
            mistakes: mistakes(),
        }
    }

    fn grab(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(|word| !word.is_of_a_grant)
    }

    /// The states of a grant, and the word for a missing grant.
    fn of_grants(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(|word| word.is_of_a_grant)
    }

    fn states(&self) -> impl Iterator<Item = &str> {
        self.of_grants().map(|word| &*word.word).filter(|word| *word != NO_GRANT)
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
