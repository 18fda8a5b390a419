//! What the whole run comes to, and where it ran.

use crate::contender::{Fault, Origin};
use crate::interleave::explore::Proof;
use crate::page::tables::{has_crash, row_of};
use crate::page::words::Language;
use crate::page::Report;

pub fn run(report: &Report, language: Language) -> String {
    let h = &report.host;
    let schedules: usize = report.proofs.iter().map(|proof| proof.schedules).sum();
    match language {
        Language::English => {
            format!(
            "{} and {}, {} cores of {}, {}. One run of {} s: {} schedules played, {} cells of the \
             rush. Load average of the machine when the rush began: {}; when it ended (the lab's \
             own included): {}.",
            h.redis, h.mariadb, h.cores, h.processor, h.date, h.seconds, schedules,
            report.cells.len(), h.load.0, h.load.1
        )
        }
        Language::Chinese => {
            format!(
            "{} 与 {}，{} 核 {}，{}。一次运行 {} 秒：{} 种执行顺序，{} 组压测。压测开始时机器负载 {}，\
             结束时（含压测自身）{}。",
            h.redis, h.mariadb, h.cores, h.processor, h.date, h.seconds, schedules,
            report.cells.len(), h.load.0, h.load.1
        )
        }
    }
}

/// What the schedules say of all rows that are not the module's.
struct Verdict {
    all: usize,
    /// Break in some order of their steps, by whose idea they are.
    recommended: usize,
    shown_wrong: usize,
    lab: usize,
    /// Exact while nobody dies; a crash loses a unit, or stops the sale.
    lose: usize,
    /// Exact, but who asks again after a lost reply is told "no".
    hide: usize,
    holds: String,
    /// The module's rows that hold, and all of them.
    ours: (usize, usize),
}

impl Verdict {
    fn of(report: &Report) -> Verdict {
        let rows = || report.proofs.iter().filter_map(|proof| Some((row_of(proof)?, proof)));
        let posts = || rows().filter(|(one, _)| !one.is_ours());
        let broken =
            |origin| posts().filter(move |(one, _)| !one.is_exact() && one.origin == origin);
        let only_hides = |proof: &Proof| {
            let mut crashes = proof.findings.iter().filter(|found| found.fault.needs_crash());
            crashes.all(|found| found.fault == Fault::CrashHidesUnit)
        };
        let fallen = || posts().filter(|(one, proof)| one.is_exact() && has_crash(proof));
        let holds = posts().filter(|(one, proof)| one.is_exact() && !has_crash(proof));
        let holds: Vec<&str> = holds.map(|(one, _)| one.id).collect();
        let ours = rows().filter(|(one, _)| one.is_ours());
        let clean = rows().filter(|(one, proof)| one.is_ours() && proof.findings.is_empty());
        Verdict {
            all: posts().count(),
            recommended: broken(Origin::Recommended).count(),
            shown_wrong: broken(Origin::ShownWrong).count(),
            lab: broken(Origin::Lab).count(),
            lose: fallen().filter(|(_, proof)| !only_hides(proof)).count(),
            hide: fallen().filter(|(_, proof)| only_hides(proof)).count(),
            holds: holds.join(", "),
            ours: (clean.count(), ours.count()),
        }
    }
}

/// Which ways break, and how; from the schedules that were played.
pub fn verdict(report: &Report, language: Language) -> String {
    let Verdict { all, recommended, shown_wrong, lab, lose, hide, holds, ours } =
        Verdict::of(report);
    let (clean, ours) = ours;
    match language {
        Language::English => format!(
            "**{recommended} ways that a post or a comment recommends break in some order of \
             their steps.** So do {shown_wrong} that the posts themselves show as wrong, and {lab} \
             of the lab's own variants; {all} rows in all. Of those that are exact while nobody \
             dies, a crash makes {lose} lose a unit or stop the sale, and in {hide} a buyer whose \
             reply was lost asks again and is told \"no\". These hold: {holds}. Of the module's \
             {ours} rows {clean} hold."
        ),
        Language::Chinese => format!(
            "**文章或评论推荐的写法里，{recommended} 种在某个执行顺序下出错。**另有文章自己当作反例的 {shown_wrong} 种、\
             实验室自己加的变体 {lab} 种也出错；一共 {all} 行。没有进程崩溃时准确的写法里，进程崩溃会让 {lose} 种丢一件库存或卡住活动；\
             还有 {hide} 种在响应丢失后，抢到的人再问会被说没有。始终不出错：{holds}。本模块的 {ours} 行里 {clean} 行不出错。"
        ),
    }
}
