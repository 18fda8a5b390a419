//! The tables of the page, written from one run.

use std::fmt::Write;

use crate::contender::{Contender, Origin};
use crate::interleave::explore::{Finding, Proof};
use crate::page::databases;
use crate::page::rows::{has_crash, row_of};
use crate::page::schedules::timelines;
use crate::page::summary::{run, verdict};
use crate::page::words::{fact, fault, place, steps, Language};
use crate::report::Report;
use crate::rush::cell::Crowd;
use crate::rush::cell::{Cell, Spread};
use crate::strategies::ALL;
use crate::told::Fault;

/// Each table with the name of its mark.
pub fn all(report: &Report, language: Language) -> Vec<(&'static str, String)> {
    vec![
        ("run", format!("{}\n\n{}", verdict(report, language), run(report, language))),
        ("rows", rows(report, language)),
        ("rush", rush(report, language)),
        ("databases", databases::table(report, language)),
        ("crash", crash(report, language)),
        ("ranking", ranking(report, language)),
        ("facts", facts(report, language)),
        ("timelines", timelines(report, language)),
    ]
}

fn head(table: &mut String, names: &[&str]) {
    let _ = writeln!(table, "| {} |", names.join(" | "));
    let _ = writeln!(table, "|{}", " --- |".repeat(names.len()));
}

fn cells<'r>(report: &'r Report, id: &'r str) -> impl Iterator<Item = &'r Cell> {
    report.cells.iter().filter(move |cell| cell.id == id)
}

fn distinct<'r>(report: &'r Report, id: &'r str) -> impl Iterator<Item = &'r Cell> {
    cells(report, id).filter(|cell| cell.crowd == Crowd::Distinct)
}

/// The median, with the smallest and largest value if they differ.
pub fn spread(spread: Spread) -> String {
    let Spread { least, middle, most } = spread;
    match least == most {
        true => format!("{middle:.0}"),
        false => format!("{middle:.0} ({least:.0}–{most:.0})"),
    }
}

/// The greatest median of a column over all numbers of workers, with that number.
fn worst(report: &Report, id: &str, column: fn(&Cell) -> Spread) -> String {
    let worst = distinct(report, id).max_by(|a, b| column(a).middle.total_cmp(&column(b).middle));
    match worst {
        Some(cell) if column(cell).most > 0.0 => {
            format!("{}, c={}", spread(column(cell)), cell.workers)
        }
        Some(_) => "0".into(),
        None => "-".into(),
    }
}

fn speed(cell: &Cell, language: Language) -> String {
    speed_shown(cell.steady_speed(), language)
}

/// A speed with the smallest and largest value, if the runs agree.
pub fn speed_shown(steady: Option<Spread>, language: Language) -> String {
    match steady {
        Some(speed) => spread(speed),
        None => language.of(("varies", "不稳定")).to_owned(),
    }
}

/// The source of a row, and whether the post recommends it.
fn origin(one: &Contender, language: Language) -> String {
    let place = place(one.seed, language);
    let whose = match one.origin {
        Origin::Recommended => return place,
        Origin::ShownWrong => ("the post calls it wrong", "原文当作反例"),
        Origin::Lab => ("the lab's own", "实验室自己加的"),
    };
    match language {
        Language::English => format!("{place} ({})", language.of(whose)),
        Language::Chinese => format!("{place}（{}）", language.of(whose)),
    }
}

fn happened(one: &Contender, proof: Option<&Proof>, language: Language) -> String {
    let Some(proof) = proof else { return "-".into() };
    let found: Vec<Fault> = proof.findings.iter().map(|finding| finding.fault).collect();
    let plain: Vec<&str> = found
        .iter()
        .filter(|fault| !fault.needs_crash())
        .map(|found| language.of(fault(*found)))
        .collect();
    let crashes = found.iter().any(|fault| fault.needs_crash());
    let exact = one.is_exact();
    let mut said = match (exact, crashes) {
        (true, true) => language.of(("exact while nobody dies", "没有进程崩溃时准确")).to_owned(),
        (true, false) => format!("**{}**", language.of(("exact", "准确"))),
        (false, _) => String::new(),
    };
    if !plain.is_empty() {
        let semicolon = language.of(("; ", "；"));
        let joiner = if said.is_empty() { "" } else { semicolon };
        said = format!("{said}{joiner}{}", plain.join(semicolon));
    }
    let note = language.of(one.note);
    if note.is_empty() {
        said
    } else {
        format!("{said}{}*{note}*", language.of((". ", "。")))
    }
}

/// The main table: the post's claim, the result, oversold, unsold and double units, and the speed.
fn rows(report: &Report, language: Language) -> String {
    let mut table = String::new();
    head(
        &mut table,
        match language {
            Language::English => &[
                "id",
                "from",
                "what it does",
                "the post says",
                "what happened",
                "too many",
                "too few",
                "users with two",
                "decisions/s, c=50",
            ],
            Language::Chinese => &[
                "编号",
                "出处",
                "做法",
                "原文说",
                "实际",
                "超卖",
                "少卖",
                "一人两件",
                "每秒处理，c=50",
            ],
        },
    );
    for one in ALL {
        let proof = report.proofs.iter().find(|proof| proof.id == one.id);
        let twice = cells(report, one.id).find(|cell| cell.crowd == Crowd::DoubleClicks);
        let twice = twice.map_or("-".into(), |cell| spread(cell.users_with_two));
        let twice = match one.once_per_user {
            true => twice,
            false => language.of(("no rule", "无限购")).to_owned(),
        };
        let fast = distinct(report, one.id).filter(|cell| cell.workers <= 50).last();
        let fast = fast.map_or("-".into(), |cell| match cell.workers {
            50 => speed(cell, language),
            c => format!("{} (c={c})", speed(cell, language)),
        });
        let does = steps(one.steps, language).replace('|', language.of(("or", "或")));
        let _ = writeln!(
            table,
            "| [{id}](#{anchor}) | {} | {does} | {} | {} | {} | {} | {twice} | {fast} |",
            origin(one, language),
            language.of(one.says),
            happened(one, proof, language),
            oversold(report, one, proof, language),
            worst(report, one.id, |cell| cell.undersold),
            id = one.id,
            anchor = one.id.to_lowercase(),
        );
        if one.id == "R10b" {
            let _ = writeln!(table, "{}", exec_row(report, language));
        }
    }
    table
}

/// Oversold units in the rush. If there are none but a schedule shows some, the cell says so.
fn oversold(report: &Report, one: &Contender, proof: Option<&Proof>, language: Language) -> String {
    let met = worst(report, one.id, |cell| cell.oversold);
    let is = |found: &Finding| found.fault == Fault::Oversold;
    match proof.is_some_and(|proof| proof.findings.iter().any(is)) && met == "0" {
        true => language.of(("0 (schedules: yes)", "0（穷举：会）")).to_owned(),
        false => met,
    }
}

/// R11 is a belief about EXEC, not a way to sell: its line has the results of EXEC.
fn exec_row(report: &Report, language: Language) -> String {
    let about: Vec<_> = report.facts.iter().filter(|fact| fact.id.starts_with("R11.")).collect();
    let carried_out = about.iter().filter(|fact| fact.said != "nil").count();
    let said = match language {
        Language::English => format!(
            "carried out in {carried_out} of {} cases: **001 is wrong** in R11.1 and R11.3",
            about.len()
        ),
        Language::Chinese => format!(
            "{} 种情况里执行了 {carried_out} 种：**001 在 R11.1 和 R11.3 说错了**",
            about.len()
        ),
    };
    let says = (
        "EXEC fails if the caller changed none of the watched keys",
        "watch 的键没有被自己修改，exec 返回失败",
    );
    format!(
        "| [R11](#what-readers-ask) | 001 总结 | {} | {} | {said} | - | - | - | - |",
        steps("WATCH; MULTI; touch the watched key, another, none; EXEC", language),
        language.of(says)
    )
}

/// All cells of the rush.
fn rush(report: &Report, language: Language) -> String {
    let mut table = String::new();
    head(
        &mut table,
        match language {
            Language::English => &[
                "id",
                "c",
                "runs",
                "told \"yours\" of N",
                "too many",
                "too few",
                "no record / no winner",
                "counter at the end",
                "wrongly refused",
                "inversions",
                "stuck",
                "decisions/s",
                "sold out after ms",
                "p50 / p99 / max ms",
                "round trips",
                "server µs",
            ],
            Language::Chinese => &[
                "编号",
                "c",
                "次数",
                "返回成功 / N",
                "超卖",
                "少卖",
                "缺记录 / 多记录",
                "最后的库存",
                "错误拒绝",
                "后来者先得",
                "卡死",
                "每秒处理",
                "卖完用时 ms",
                "p50 / p99 / 最大 ms",
                "往返次数",
                "服务端 µs",
            ],
        },
    );
    for cell in &report.cells {
        let _ = writeln!(table, "{}", rush_line(cell, language));
    }
    table
}

fn rush_line(cell: &Cell, language: Language) -> String {
    let crowd = match cell.crowd {
        Crowd::Distinct => "",
        Crowd::DoubleClicks => language.of((", double clicks", "，每人点两次")),
    };
    let ms = |us: u64| us as f64 / 1000.0;
    let smaller = cell.smaller.as_ref().map(|(english, chinese)| match language {
        Language::English => format!(" ({} requests: {english})", cell.requests),
        Language::Chinese => format!("（{} 个请求：{chinese}）", cell.requests),
    });
    format!(
        "| {} | {}{crowd}{} | {} | {} / {} | {} | {} | {} / {} | {} | {} | {} \
         | {} | {} | {:.0} \
         | {:.1} / {:.1} / {:.1} | {:.1} | {:.0} |",
        cell.id,
        cell.workers,
        smaller.unwrap_or_default(),
        cell.repeats,
        spread(cell.told),
        cell.supply,
        spread(cell.oversold),
        spread(cell.undersold),
        spread(cell.no_record),
        spread(cell.no_winner),
        cell.counter.map_or("-".into(), spread),
        spread(cell.wrong_refusals),
        spread(cell.inversions),
        cell.stuck,
        speed(cell, language),
        cell.sold_out_ms.middle,
        ms(cell.p50_us),
        ms(cell.p99_us),
        ms(cell.max_us),
        cell.round_trips,
        cell.server_us,
    )
}

/// The state after a crash at each step.
fn crash(report: &Report, language: Language) -> String {
    let mut table = String::new();
    head(
        &mut table,
        match language {
            Language::English => &["what a crash or a lost answer leaves", "rows"],
            Language::Chinese => &["进程崩溃或响应丢失留下什么", "编号"],
        },
    );
    use Fault::*;
    let kinds = [
        CrashWedges,
        CrashLosesUnit,
        CrashWedgesForLease,
        CrashLocksOut,
        CrashHidesUnit,
        CrashSellsTwice,
    ];
    let has = |proof: &&Proof, kind| proof.findings.iter().any(|finding| finding.fault == kind);
    let ids = |rows: Vec<&str>| if rows.is_empty() { "-".to_owned() } else { rows.join(", ") };
    for kind in kinds {
        let rows = report.proofs.iter().filter(|proof| has(proof, kind));
        let rows = ids(rows.map(|proof| proof.id.as_str()).collect());
        let _ = writeln!(table, "| {} | {rows} |", language.of(fault(kind)));
    }
    let clean =
        |proof: &&Proof| row_of(proof).is_some_and(Contender::is_exact) && !has_crash(proof);
    let rows = report.proofs.iter().filter(clean).map(|proof| proof.id.as_str()).collect();
    let nothing = language.of((
        "nothing: who asks again learns what they have",
        "什么也不留：再问一次就知道结果（幂等）",
    ));
    let _ = writeln!(table, "| **{nothing}** | {} |", ids(rows));
    table
}

/// 004's ranking, and the module.
fn ranking(report: &Report, language: Language) -> String {
    let contenders = [
        ("S01", ("the module", "本模块"), "-"),
        ("R16", ("Redis, DECR", "redis"), "1"),
        ("M06", ("optimistic lock, as 002 prints it", "乐观锁（002 原样）"), "2"),
        ("M11", ("optimistic lock, mended", "乐观锁（改正）"), "2"),
        ("M08", ("stock > 0", "库存大于0"), "3"),
        ("M13", ("distributed lock", "分布式锁"), "4"),
        ("M03", ("FOR UPDATE", "for update"), "5"),
    ];
    let mut table = String::new();
    head(
        &mut table,
        match language {
            Language::English => &[
                "004's place",
                "strategy",
                "row",
                "decisions/s, c=8",
                "decisions/s, c=50",
                "sold out after ms, c=50",
                "p99 ms, c=50",
                "too few, c=50",
                "wrongly refused, c=50",
            ],
            Language::Chinese => &[
                "004 的名次",
                "方案",
                "编号",
                "每秒处理，c=8",
                "每秒处理，c=50",
                "卖完用时 ms，c=50",
                "p99 ms，c=50",
                "少卖，c=50",
                "错误拒绝，c=50",
            ],
        },
    );
    let mut lines: Vec<(f64, String)> = Vec::new();
    for (id, name, place) in contenders {
        let at = |workers: usize| distinct(report, id).find(|cell| cell.workers == workers);
        let show = |cell: Option<&Cell>, f: fn(&Cell) -> String| cell.map_or("-".into(), f);
        let speed = |cell: &Cell| speed(cell, language);
        lines.push((
            at(50).map_or(0.0, |cell| cell.decisions_per_s.middle),
            format!(
                "| {place} | {} | {id} | {} | {} | {} | {} | {} | {} |",
                language.of(name),
                at(8).map_or("-".into(), speed),
                at(50).map_or("-".into(), speed),
                show(at(50), |cell| format!("{:.0}", cell.sold_out_ms.middle)),
                show(at(50), |cell| format!("{:.1}", cell.p99_us as f64 / 1000.0)),
                show(at(50), |cell| spread(cell.undersold)),
                show(at(50), |cell| spread(cell.wrong_refusals)),
            ),
        ));
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    lines.iter().for_each(|(_, line)| table.push_str(&format!("{line}\n")));
    table
}

fn facts(report: &Report, language: Language) -> String {
    let mut table = String::new();
    head(
        &mut table,
        match language {
            Language::English => &["row", "asked", "the server says"],
            Language::Chinese => &["编号", "问", "Redis 返回"],
        },
    );
    for one in &report.facts {
        let _ = writeln!(
            table,
            "| {} | {} | {} |",
            one.id,
            fact(&one.asked, language),
            fact(&one.said, language)
        );
    }
    table
}
