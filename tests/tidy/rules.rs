//! Each sentence of docs/commands.md has a test. Every sentence of a rule has a number, a digest of
//! its words. Tests name it in a line `// Rules: 1a2b 3c4d` above `#[test]`, and sessions in a line
//! that begins with `#`. If a sentence changes, its number changes, and its tests must be reviewed.
//! Tests name an error by quoting it.

use std::collections::{BTreeMap, BTreeSet};

use super::{assert_none, files_in, sources, Source};

const PAGE: &str = include_str!("../../docs/commands.md");
const MARK: &str = " Rules: ";
/// Files that list errors with the calls that cause them.
const ERRORS: [&str; 2] =
    [include_str!("../server/errors/mistakes.txt"), include_str!("../server/errors/refused.txt")];

/// Errors that no test can cause, with the reason.
const NOT_QUOTED: &[(&str, &str)] = &[
    (
        "ERR a list of users must stay within 3758096384 bytes",
        "takes 3.5 GiB of ids: decide/tests.rs comes to the bound, errors.rs holds the text to it",
    ),
    (
        "ERR a new sale needs random bytes and the system gives none",
        "Linux gives them to everybody once it is up",
    ),
    (
        "ERR status must be representable in the form asked for",
        "all that STATUS has can be written as JSON: serde_json can fail, but not on these values",
    ),
];

/// Each number with the first or last line of its paragraph, and the index of its sentence.
fn rules() -> BTreeMap<&'static str, (usize, &'static str)> {
    let mut rules = BTreeMap::new();
    for line in PAGE.lines() {
        let numbered = line.strip_suffix(" -->").and_then(|line| line.rsplit_once(" <!-- "));
        let Some((rule, numbers)) = numbered else { continue };
        for (at, number) in numbers.split(' ').enumerate() {
            let known = rules.insert(number, (at, rule));
            let is_new = known.is_none_or(|known| known == (at, rule));
            assert!(is_new, "two rules have the number {number}");
        }
    }
    rules
}

/// The errors of all commands.
fn errors() -> BTreeSet<&'static str> {
    let text = |line: &'static str| line.strip_prefix("- `")?.strip_suffix('`');
    let has_code = |text: &&str| text.split(' ').next().is_some_and(|word| word.len() > 2);
    let is_error = |text: &&str| text.starts_with(|letter: char| letter.is_ascii_uppercase());
    PAGE.lines().filter_map(text).filter(has_code).filter(is_error).collect()
}

fn tests() -> Vec<Source> {
    let is_test = |source: &Source| source.is_in("tests/server/") || source.is_in("domain/tests/");
    let sessions = files_in(&["tests/sessions"], "session");
    sources().into_iter().filter(is_test).chain(sessions).collect()
}

/// Each number above a test, with its file and line.
fn named() -> Vec<(String, String)> {
    let mut named = Vec::new();
    for source in tests() {
        for (at, line) in source.lines.iter().enumerate() {
            let line = line.trim().trim_start_matches(['/', '#']);
            let Some(numbers) = line.strip_prefix(MARK) else { continue };
            let below = source.lines[at + 1..].iter().find(|line| !line.trim().starts_with("//"));
            let below = below.map_or("", |line| line.trim());
            let place = source.place(at);
            let is_head = source.lines[..at].iter().all(|line| line.starts_with('#'));
            let is_above = below == "#[test]" || source.is_in("tests/sessions/") && is_head;
            assert!(is_above, "{place}: rules stand above a test");
            named.extend(numbers.split(' ').map(|number| (number.to_owned(), place.clone())));
        }
    }
    named
}

#[test]
fn each_rule_of_the_commands_has_a_test() {
    let (rules, named) = (rules(), named());
    assert!(rules.len() > 150 && errors().len() > 100, "they are found");
    let without = rules.iter().filter(|(number, _)| named.iter().all(|(of, _)| of != *number));
    assert_none(
        "rules of docs/commands.md without a test. Are they new, or were their words changed? Look \
         whether a test holds them, and name the number above it behind `// Rules: `",
        without.map(|(number, (at, rule))| format!("{number}, sentence {}: {rule}", at + 1)).collect(),
    );
    let gone = named.iter().filter(|(number, _)| !rules.contains_key(number.as_str()));
    assert_none(
        "numbers of rules that docs/commands.md does not have (any more)",
        gone.map(|(number, place)| format!("{place}: {number}")).collect(),
    );
}

#[test]
fn each_error_of_the_commands_is_quoted_by_a_test() {
    // A string may continue on the next line.
    let joined = |source: Source| {
        let lines = source.lines.iter().map(|line| line.trim_start().trim_end_matches('\\'));
        lines.collect::<String>()
    };
    let text: String = tests().into_iter().map(joined).chain(ERRORS.map(str::to_owned)).collect();
    let quoted = |error: &str| text.contains(error.trim_end_matches('N'));
    let (known, errors) = (|error: &str| NOT_QUOTED.iter().any(|(of, _)| *of == error), errors());
    let without = errors.iter().filter(|error| !quoted(error) && !known(error));
    assert_none(
        "errors of docs/commands.md that no test quotes",
        without.map(|error| (*error).to_owned()).collect(),
    );
    let stale = NOT_QUOTED.iter().filter(|(error, _)| quoted(error) || !errors.contains(error));
    assert_none(
        "exceptions that are none",
        stale.map(|(error, why)| format!("{error}: {why}")).collect(),
    );
}
