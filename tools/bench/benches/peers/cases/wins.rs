//! GRABs that win, on fresh servers: plain, with a log, with a replica, with terms that cost.

use super::Bench;
use crate::contenders::{Kind, FLOOR_GRANTED, GRAB, PLENTY, SALE, USER};
use crate::control::Control;
use crate::figures::BYTES;
use crate::host::{cores, OTHER_CORE};
use crate::load::Load;
use crate::sender::{self, Template, PIPELINED};

pub const WINS: &str = "winning, no persistence";
pub const AOF: &str = "winning, AOF everysec";
pub const REPLICA: &str = "winning, one replica";
pub const TERMS: &str = "winning, other terms";
pub const CONFIRM: &str = "CONFIRM of holds";

/// Of so many random users out of 10^8 nearly all are distinct; fewer winners than this part of
/// the requests would mean that something else was measured.
const DISTINCT_LEAST: f64 = 0.95;

/// How far the bytes logged by a grant may be from those of its server calls alone.
const SAME_BYTES: f64 = 0.03;

/// Logged, and never rewritten while it is measured.
pub const AOF_SETTINGS: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"];

pub fn plain(bench: &mut Bench) -> Result<(), String> {
    use Kind::{FloorGranted, Function, Grab, Incr, Multi, Noop, Ping, Sadd, Script};
    let all = [Ping, Incr, Sadd, Multi, Script, Function, Noop, FloorGranted, Grab];
    rounds(bench, WINS, &all, &[])
}

pub fn aof(bench: &mut Bench) -> Result<(), String> {
    let all = [Kind::Sadd, Kind::Script, Kind::FloorGranted, Kind::Grab];
    rounds(bench, AOF, &all, &AOF_SETTINGS)?;
    let of = (AOF, FLOOR_GRANTED);
    match bench.figures.ratio(BYTES, of, (AOF, GRAB)) {
        Some(ratio) if (ratio.median - 1.0).abs() > SAME_BYTES => {
            Err(format!("{FLOOR_GRANTED} logs {:.2} as many bytes as {GRAB}", ratio.median))
        }
        _ => Ok(()),
    }
}

pub fn terms(bench: &mut Bench) -> Result<(), String> {
    use Kind::{Grab, GrabHeld, GrabOutbox, GrabReq, Sadd};
    rounds(bench, TERMS, &[Sadd, Grab, GrabReq, GrabHeld, GrabOutbox], &[])
}

fn rounds(
    bench: &mut Bench,
    case: &str,
    contenders: &[Kind],
    settings: &[&str],
) -> Result<(), String> {
    for _ in 0..bench.plan.rounds {
        for kind in contenders {
            bench.step(case, kind.name());
            let mut control = kind.start(&bench.modules, settings)?;
            once(bench, case, *kind, &mut control)?;
        }
    }
    Ok(())
}

/// One contender on a server that has nothing yet.
fn once(bench: &mut Bench, case: &str, kind: Kind, control: &mut Control) -> Result<(), String> {
    let plan = bench.plan;
    let requests = match kind {
        Kind::Ping | Kind::Incr | Kind::Noop => plan.calls,
        Kind::Script | Kind::Function | Kind::Multi | Kind::GrabOutbox => plan.script_calls,
        // No bar is about these.
        _ if [REPLICA, TERMS].contains(&case) => plan.calls,
        _ => plan.wins,
    };
    let words = kind.prepare(control)?;
    let logged_before = logged(control)?;
    let rate = kind.run(control, &words, Load::pipelined(requests))?;
    control.check_no_errors()?;
    rate.note(&mut bench.figures, case, kind.name());
    let winners = kind.winners(control)?.unwrap_or(requests as f64);
    if winners < requests as f64 * DISTINCT_LEAST {
        return Err(format!("{case}, {}: only {winners} of {requests} won", kind.name()));
    }
    if let Some(before) = logged_before {
        let after = logged(control)?.unwrap_or(before);
        bench.figures.add(case, kind.name(), BYTES, (after - before) / winners);
    }
    Ok(())
}

/// Bytes in the log, `None` when there is none.
fn logged(control: &mut Control) -> Result<Option<f64>, String> {
    match control.info("persistence", "aof_enabled")? > 0.0 {
        true => control.info("persistence", "aof_current_size").map(Some),
        false => Ok(None),
    }
}

/// One replica, on the load's core: it slows all contenders alike.
pub fn replica(bench: &mut Bench) -> Result<(), String> {
    for _ in 0..bench.plan.rounds {
        for kind in [Kind::Sadd, Kind::Script, Kind::Grab] {
            bench.step(REPLICA, kind.name());
            let settings = ["--repl-backlog-size", "16mb"];
            let mut control = kind.start(&bench.modules, &settings)?;
            let core = OTHER_CORE.min(cores() - 1).to_string();
            let mut replica = kind.start(&bench.modules, &["--server_cpulist", &core])?;
            replica.tell(&["REPLICAOF", "127.0.0.1", &control.port().to_string()])?;
            replica.wait_for("replication", "master_link_status", "up")?;
            once(bench, REPLICA, kind, &mut control)?;
            let sent = control.info_word("replication", "master_repl_offset")?;
            replica.wait_for("replication", "slave_repl_offset", &sent)?;
        }
    }
    Ok(())
}

/// CONFIRM of random holds, INCR beside it.
pub fn confirm(bench: &mut Bench) -> Result<(), String> {
    let (holds, requests) = (bench.plan.calls, bench.plan.calls / 4);
    let mut held = Kind::GrabHeld.start(&bench.modules, &[])?;
    let mut plain = Kind::Incr.start(&bench.modules, &[])?;
    let incr = Kind::Incr.prepare(&mut plain)?;
    let grab = Template::new(&[&["SECKILL.GRAB", SALE, USER]]);
    for _ in 0..bench.plan.rounds {
        bench.step(CONFIRM, Kind::Incr.name());
        let rate = Load::pipelined(requests).run(&mut plain, &incr)?;
        rate.note(&mut bench.figures, CONFIRM, Kind::Incr.name());
        bench.step(CONFIRM, "CONFIRM");
        held.tell(&["DEL", SALE])?;
        held.tell(&["SECKILL.INIT", SALE, PLENTY, "HOLD", "900000"])?;
        sender::send(held.port(), &grab, sender::shuffled(holds), PIPELINED)?;
        let load = Load { users: holds, ..Load::pipelined(requests) };
        let rate = load.run(&mut held, &["SECKILL.CONFIRM", SALE, USER])?;
        held.check_no_errors()?;
        rate.note(&mut bench.figures, CONFIRM, "CONFIRM");
    }
    Ok(())
}
