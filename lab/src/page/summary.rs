//! The summary of a run, and its machine.

use crate::contender::{Contender, Origin};
use crate::interleave::explore::Proof;
use crate::page::rows::{has_crash, row_of};
use crate::page::words::Language;
use crate::report::Report;
use crate::told::Fault;

pub fn run(report: &Report, language: Language) -> String {
    let h = &report.host;
    let schedules: usize = report.proofs.iter().map(|proof| proof.schedules).sum();
    let others: Vec<&str> = report.elsewhere.iter().map(|on| on.database.as_str()).collect();
    let again = match (others.is_empty(), language) {
        (true, _) => String::new(),
        (_, Language::English) => format!("; the schedules in SQL again on {}", others.join(", ")),
        (_, Language::Chinese) => format!("；SQL 的执行顺序又在 {} 上各跑一遍", others.join("、")),
    };
    match language {
        Language::English => {
            format!(
            "{} and {}, {} cores of {}, {}. One run of {} s: {} schedules played, {} cells of the \
             rush{}. Load average of the machine before the run: {}; when the rush ended (the \
             lab's own included): {}.",
            h.redis, h.mariadb, h.cores, h.processor, h.date, h.seconds, schedules,
            report.cells.len(), again, h.load.0, h.load.1
        )
        }
        Language::Chinese => {
            format!(
            "{} 与 {}，{} 核 {}，{}。一次运行 {} 秒：{} 种执行顺序，{} 组压测{}。运行前机器负载 {}，\
             压测结束时（含压测自身）{}。",
            h.redis, h.mariadb, h.cores, h.processor, h.date, h.seconds, schedules,
            report.cells.len(), again, h.load.0, h.load.1
        )
        }
    }
}

/// The results of the schedules for all rows but the module's, by ids.
struct Verdict<'r> {
    all: Vec<&'r str>,
    /// Rows that fail in some order of steps, by their origin.
    recommended: Vec<&'r str>,
    shown_wrong: Vec<&'r str>,
    lab: Vec<&'r str>,
    /// Exact without a crash; a crash loses a unit, or stops the sale.
    lose: Vec<&'r str>,
    /// Exact, but a winner who asks again after a lost reply is told "no".
    hide: Vec<&'r str>,
    holds: Vec<&'r str>,
    /// The module's rows that hold, and all of them.
    ours_hold: Vec<&'r str>,
    ours: Vec<&'r str>,
}

impl Verdict<'_> {
    fn of(report: &Report) -> Verdict<'_> {
        type Row<'r> = (&'static Contender, &'r Proof);
        let of = |is: &dyn Fn(&Contender, &Proof) -> bool| -> Vec<&str> {
            let rows = report.proofs.iter().filter_map(|proof| Some((row_of(proof)?, proof)));
            rows.filter(|(one, proof): &Row<'_>| is(one, proof)).map(|(one, _)| one.id).collect()
        };
        let broken = |origin: Origin| {
            of(&|one, _| !one.is_ours() && !one.is_exact() && one.origin == origin)
        };
        let only_hides = |proof: &Proof| {
            let mut crashes = proof.findings.iter().filter(|found| found.fault.needs_crash());
            crashes.all(|found| found.fault == Fault::CrashHidesUnit)
        };
        let exact = |one: &Contender| !one.is_ours() && one.is_exact();
        Verdict {
            all: of(&|one, _| !one.is_ours()),
            recommended: broken(Origin::Recommended),
            shown_wrong: broken(Origin::ShownWrong),
            lab: broken(Origin::Lab),
            lose: of(&|one, proof| exact(one) && has_crash(proof) && !only_hides(proof)),
            hide: of(&|one, proof| exact(one) && has_crash(proof) && only_hides(proof)),
            holds: of(&|one, proof| exact(one) && !has_crash(proof)),
            ours_hold: of(&|one, proof| one.is_ours() && proof.findings.is_empty()),
            ours: of(&|one, _| one.is_ours()),
        }
    }
}

/// Each number of [`verdict`] with the rows that it counts.
pub fn counted(report: &Report) -> String {
    let v = Verdict::of(report);
    let lines = [
        ("rows that are not the module's", v.all),
        ("recommended by a post or a comment, and break", v.recommended),
        ("shown as wrong by the posts, and break", v.shown_wrong),
        ("the lab's own variants that break", v.lab),
        ("exact; a crash loses a unit or stops the sale", v.lose),
        ("exact; after a lost reply the winner is told no", v.hide),
        ("hold", v.holds),
        ("the module's rows", v.ours),
        ("the module's rows that hold", v.ours_hold),
    ];
    let line =
        |(what, ids): (&str, Vec<&str>)| format!("{:>3}  {what}: {}", ids.len(), ids.join(" "));
    lines.map(line).join("\n")
}

/// The failing rows and their faults, from the schedules.
pub fn verdict(report: &Report, language: Language) -> String {
    let v = Verdict::of(report);
    let [all, recommended, shown_wrong, lab, lose, hide, clean, ours] =
        [v.all, v.recommended, v.shown_wrong, v.lab, v.lose, v.hide, v.ours_hold, v.ours]
            .map(|ids| ids.len());
    let holds = v.holds.join(language.of((", ", "、")));
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
            "**文章或评论推荐的写法里，{recommended} 种在某个执行顺序下出错。** 另有文章自己当作反例的 {shown_wrong} 种、\
             实验室自己加的变体 {lab} 种也出错；一共 {all} 行。没有进程崩溃时准确的写法里，进程崩溃会让 {lose} 种丢一件库存或卡住活动；\
             还有 {hide} 种在响应丢失后，抢到的人再问，返回的是没有抢到。始终不出错：{holds}。本模块的 {ours} 行里 {clean} 行不出错。"
        ),
    }
}
