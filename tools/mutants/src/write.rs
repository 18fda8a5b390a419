//! Writes a source file with switches: it contains all mutants, and at run time one of them, or
//! none, is on. So all mutants are built at once.

use std::ops::Range;

use crate::find::{Kind, Place};

/// A place in a file, with its mutants: each has a number and a replacement.
#[derive(Clone, Debug)]
pub struct Switch {
    pub place: Place,
    pub mutants: Vec<(usize, String)>,
}

/// The function that returns whether a mutant is on; a copy stands in each crate. In another mode
/// it records the mutants that a run executes.
pub const FUNCTION: &str = "
#[doc(hidden)]
#[allow(missing_docs)]
pub fn seckill_mutant(number: u32) -> bool {
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var(\"SECKILL_MUTANT\").ok().and_then(|it| it.parse().ok());
    let on = *ON.get_or_init(|| read().unwrap_or(0));
    on == number || (on == u32::MAX && seckill_reached(number))
}
#[cold]
fn seckill_reached(number: u32) -> bool {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static SEEN: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];
    let seen = &SEEN[number as usize];
    if !seen.load(Relaxed) && !seen.swap(true, Relaxed) {
        let path = std::env::var_os(\"SECKILL_REACHED\").unwrap();
        // A server that runs as another user may not write there.
        if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path) {
            file.write_all(format!(\"{number}\\n\").as_bytes()).unwrap();
        }
    }
    false
}
";

/// Environment variable with the number of the mutant that is on.
pub const VARIABLE: &str = "SECKILL_MUTANT";
/// The number for the mode that records executed mutants, and the environment variable with its
/// file.
pub const NOTING: (usize, &str) = (u32::MAX as usize, "SECKILL_REACHED");

/// The source text with all switches.
pub fn with_switches(source: &str, switches: &[Switch]) -> String {
    let mut sorted: Vec<&Switch> = switches.iter().collect();
    // A switch that contains another one comes first.
    sorted.sort_by_key(|it| (it.place.range.start, usize::MAX - it.place.range.end));
    render(source, 0..source.len(), &sorted)
}

/// The text of `range` with the `switches` inside it; others are left out.
fn render(source: &str, range: Range<usize>, switches: &[&Switch]) -> String {
    let (mut text, mut at, mut next) = (String::new(), range.start, 0);
    while let Some(switch) = switches.get(next) {
        let here = &switch.place.range;
        next += 1;
        if here.start < at || here.end > range.end {
            continue;
        }
        text.push_str(&source[at..here.start]);
        text.push_str(&switched(source, switch, &switches[next..]));
        at = here.end;
    }
    text.push_str(&source[at..range.end]);
    text
}

/// The code of a switch. Switches of `inner` may lie inside it.
fn switched(source: &str, switch: &Switch, inner: &[&Switch]) -> String {
    let place = &switch.place;
    let part = |range: &Range<usize>| render(source, range.clone(), inner);
    let on = |number: &usize| format!("crate::seckill_mutant({number})");
    let choice = |broken: &dyn Fn(&str) -> String, whole: String| {
        let arms = switch
            .mutants
            .iter()
            .map(|(number, other)| format!("if {} {{ {} }} else ", on(number), broken(other)));
        format!("({}{{ {whole} }})", arms.collect::<String>())
    };
    match &place.kind {
        Kind::Between { left, operator, right } => {
            let between = |operator: &str| format!("{} {operator} {}", part(left), part(right));
            choice(&between, between(operator))
        }
        Kind::Not { operand } => choice(&|_: &str| part(operand), format!("!{}", part(operand))),
        Kind::Condition => choice(&str::to_owned, part(&place.range)),
        Kind::Statement => {
            let numbers: Vec<String> =
                switch.mutants.iter().map(|(number, _)| on(number)).collect();
            format!("if !({}) {{ {} }}", numbers.join(" || "), part(&place.range))
        }
        Kind::Answer => {
            let answers = switch.mutants.iter();
            let answer = |(number, other): &(usize, String)| {
                format!(" if {} {{ return {other}; }}", on(number))
            };
            answers.map(answer).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::places;

    fn broken(source: &str) -> String {
        let numbered = |(at, place): (usize, Place)| {
            let breaks = place.breaks.iter().enumerate();
            let mutants = breaks.map(|(more, text)| (10 * at + more + 1, text.clone())).collect();
            Switch { place, mutants }
        };
        let switches: Vec<Switch> =
            places(source).unwrap().into_iter().enumerate().map(numbered).collect();
        with_switches(source, &switches).replace("crate::seckill_mutant", "m")
    }

    #[test]
    fn operators_within_operators_are_switched() {
        let source = "fn f(a: i64, b: i64) -> String { g(a / b == 1) }";
        let expected = "fn f(a: i64, b: i64) -> String { g((if m(1) { \
            (if m(11) { a + b } else { a / b }) != 1 } else { \
            (if m(11) { a + b } else { a / b }) == 1 })) }";
        assert_eq!(broken(source), expected);
    }

    #[test]
    fn conditions_statements_and_answers_are_switched() {
        for (source, expected) in [
            (
                "fn f() -> bool { g(); !h }",
                "fn f() -> bool { if m(1) { return true; } if m(2) { return false; } \
                 if !(m(11)) { g(); } (if m(21) { h } else { !h }) }",
            ),
            (
                "fn f() -> X { match a { b if c => d } }",
                "fn f() -> X { match a { b if (if m(1) { true } else if m(2) { false } \
                 else { c }) => d } }",
            ),
            ("const fn f() -> bool { 1 < 2 }", "const fn f() -> bool { 1 < 2 }"),
            ("#[test] fn f() { g() }", "#[test] fn f() { g() }"),
            ("const A: u8 = 1 + 2;", "const A: u8 = 1 + 2;"),
        ] {
            assert_eq!(broken(source), expected);
        }
    }
}
