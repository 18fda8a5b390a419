//! Generated blocks on pages that are otherwise written by hand: the answers to GRAB, the keys of
//! an outbox entry, and the terms on the exporter's page.

use std::fmt::Write;
use std::fs;

use seckill_domain::event::{EventKind, EVENTS};
use seckill_domain::outbox::{DataKey, Of, DATA};
use seckill_domain::outcome::OUTCOMES;
use seckill_domain::terms::TERMS;
use seckill_harness::page::between;

use crate::language::Language;
use crate::place;
use crate::text::each;

/// The marks around a block on a page, and in a program.
const ON_A_PAGE: [&str; 2] = ["<!-- written by make docs -->\n", "<!-- end -->\n"];
const IN_A_PROGRAM: [&str; 2] = ["// Written by `make docs`.\n", "// End.\n"];

/// Each file that has a block, with its generated content.
pub fn files() -> Vec<(String, String)> {
    let all = [
        ("docs/start.md", ON_A_PAGE, answers(Language::English)),
        ("docs/zh/start.md", ON_A_PAGE, answers(Language::Chinese)),
        ("docs/outbox.md", ON_A_PAGE, keys(Language::English)),
        ("docs/zh/outbox.md", ON_A_PAGE, keys(Language::Chinese)),
        ("cli/src/exporter/page.js", IN_A_PROGRAM, terms_of_the_page()),
    ];
    let file = |(name, marks, block): (&str, _, String)| {
        let text = fs::read_to_string(place(name)).unwrap_or_default();
        // A file without these marks becomes empty, and writing an empty file is refused.
        (name.to_owned(), between(&text, marks, &block).unwrap_or_default())
    };
    all.into_iter().map(file).collect()
}

fn answers(language: Language) -> String {
    let head = language.of("| answer | meaning |", "| 返回 | 含义 |");
    let rows = each(&OUTCOMES, "\n", |row| {
        let elements = [&[row.word], row.fields].concat().join(", ");
        let about = language.of(row.about, row.about_zh);
        let (first, rest) = about.split_at(about.chars().next().map_or(0, char::len_utf8));
        let (first, end) = (first.to_uppercase(), language.of(".", "。"));
        format!("| `[{elements}]` | {first}{rest}{end} |")
    });
    format!("\n{head}\n| --- | --- |\n{rows}\n\n")
}

fn keys(language: Language) -> String {
    let head = language.of("| key | of | meaning |", "| 键 | 出现在 | 意思 |");
    let mut text = format!("\n{head}\n| --- | --- | --- |\n");
    for key in DATA {
        let about = language.of(key.about, key.about_zh);
        // Writing to a string can't fail.
        let _ = writeln!(text, "| `{}` | {} | {about} |", key.name, of(key, language));
        if key.name == BEFORE_TERMS {
            let fields = TERMS.iter().filter_map(|term| term.field);
            let names: Vec<_> = fields.map(|(name, _)| format!("`{name}`")).collect();
            let about = language.of(
                "the terms in force; those that are not set are left out",
                "生效的规则；没设的不写",
            );
            let of = ["INIT", "ALTER"].join(language.of(", ", "、"));
            let _ = writeln!(text, "| {} | {of} | {about} |", names.join(" "));
        }
    }
    let words = |transitions: bool| {
        let all = EVENTS.iter().filter(|event| event.kind.is_transition() == transitions);
        all.map(|event| event.name).collect::<Vec<_>>().join(" ")
    };
    let (events, transitions) = (words(false), words(true));
    let _ = match language {
        Language::English => writeln!(
            text,
            "\n`event` is {events}, or a transition, right after the event that caused it (last in \
             the step in a sale with WAITLIST): {transitions}.\n"
        ),
        Language::Chinese => writeln!(
            text,
            "\n`event` 是 {events} 之一，或者是紧跟在引起它的事件后面（有 WAITLIST 时在这一步的最后）的状态转换：{transitions}。\n"
        ),
    };
    text
}

/// The key of `data` after which the terms follow.
const BEFORE_TERMS: &str = "applied";

fn of(key: &DataKey, language: Language) -> String {
    let grants = language.of("grants", "抢购");
    let words = |events: &[EventKind]| events.iter().map(|event| event.name()).collect::<Vec<_>>();
    let all = match key.of {
        Of::All => vec![language.of("all", "全部")],
        Of::Grants(others) => [vec![grants], words(others)].concat(),
        Of::Events(events) => words(events),
    };
    all.join(language.of(", ", "、"))
}

fn terms_of_the_page() -> String {
    let shown = TERMS.iter().filter(|term| term.section().is_some());
    let names: Vec<_> = shown.filter_map(|term| term.field).map(|(name, _)| name).collect();
    let lines: Vec<_> =
        names.chunks(6).map(|some| format!("  '{}',\n", some.join("', '"))).collect();
    format!("const TERMS = [\n{}];\n", lines.concat())
}
