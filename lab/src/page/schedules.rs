//! The shortest failing schedule of each row, as a timeline.

use std::fmt::Write;

use crate::interleave::explore::{Finding, Proof};
use crate::page::rows::row_of;
use crate::page::words::{fault, place, steps, timeline, Language};
use crate::report::Report;
use crate::told::Fault;

/// The most important fault of a row.
fn chief(proof: &Proof) -> Option<&Finding> {
    use Fault::*;
    let order = [
        Oversold,
        TwoForOne,
        Stuck,
        Undersold,
        Endless,
        InThenSoldOut,
        WaitsForAnother,
        CrashWedges,
        CrashLosesUnit,
        CrashLocksOut,
        ErrorInsteadOfRefusal,
        CrashSellsTwice,
        CrashHidesUnit,
    ];
    order.iter().find_map(|fault| proof.findings.iter().find(|finding| finding.fault == *fault))
}

/// For each row the shortest schedule with its most important fault, or the number of schedules
/// without one.
pub fn timelines(report: &Report, language: Language) -> String {
    let mut text = String::new();
    let colon = language.of((": ", "："));
    for proof in &report.proofs {
        let Some(one) = row_of(proof) else { continue };
        let _ = writeln!(
            text,
            "### {}\n\n{}{colon}{}\n",
            proof.id,
            place(one.seed, language),
            steps(one.steps, language)
        );
        let mut shown: Vec<&Finding> = chief(proof).into_iter().collect();
        // The posts ask twice why another buyer's lock is deleted, and once about a lock that stays
        // forever.
        let asked = [Fault::FreedAnothersLock, Fault::CrashWedges];
        shown.extend(proof.findings.iter().filter(|finding| asked.contains(&finding.fault)));
        for finding in &shown {
            let name = language.of(fault(finding.fault));
            let lines = timeline(&finding.timeline.text(), language);
            let _ = writeln!(text, "{name}{}\n\n```text\n{lines}```\n", colon.trim_end());
        }
        if shown.is_empty() {
            let (all, count) = (proof.complete, proof.schedules);
            let none = match (language, all) {
                (Language::English, true) => format!("None in all {count} schedules."),
                (Language::English, false) => format!(
                    "None in {count} schedules (every order of the small sales, a seeded sample of \
                     the large)."
                ),
                (Language::Chinese, _) => format!("{count} 种执行顺序，没有一种出错。"),
            };
            let _ = writeln!(text, "{none}\n");
        }
    }
    text
}
