//! What the whole run comes to, and where it ran.

use crate::contender::Contender;
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

/// How many of the posts' ways break, and how; from the schedules that were played.
pub fn verdict(report: &Report, language: Language) -> String {
    let rows = || report.proofs.iter().filter_map(|proof| Some((row_of(proof)?, proof)));
    let posts = || rows().filter(|(one, _)| !one.is_ours());
    let breaks = |(one, _): &(&Contender, &Proof)| !one.is_exact();
    let falls = |(one, proof): &(&Contender, &Proof)| one.is_exact() && has_crash(proof);
    let (all, broken, fallen) =
        (posts().count(), posts().filter(breaks).count(), posts().filter(falls).count());
    let holds = posts().filter(|row| !breaks(row) && !falls(row)).map(|(one, _)| one.id);
    let holds = holds.collect::<Vec<_>>().join(", ");
    let ours = rows().filter(|(one, proof)| one.is_ours() && proof.findings.is_empty()).count();
    match language {
        Language::English => format!(
            "Of the {all} ways after the posts {broken} break in some order of their steps, \
             {fallen} more when a process dies or an answer is lost, and {} hold: {holds}. The \
             module's {ours} rows hold.",
            all - broken - fallen
        ),
        Language::Chinese => format!(
            "文章里的 {all} 种写法：{broken} 种在某个次序下出错，另有 {fallen} 种在宕机或应答丢失时出错，\
             {} 种始终不出错：{holds}。本模块的 {ours} 行也都没有出错。",
            all - broken - fallen
        ),
    }
}
