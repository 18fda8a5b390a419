//! Calls to a sale, beside scripts that do the same work, on fresh servers by turns.

use super::Bench;
use crate::contenders::{
    less, SetUp, ALREADY, CONFIRM, FUNCTION, GRAB, HALL, MODULE, PLAIN, PLAIN_SALE, RECOMMENDED,
    SCRIPT, SOLD_OUT,
};
use crate::figures::SERVER_US;
use crate::load::{spread, PIPELINED, UNITS, USERS};
use crate::rows::{both_times, Bar, Row, Rows, LOADED};

/// Settings: with and without an AOF, pipelined.
pub const LOGGED: &str = "AOF everysec";
pub const UNLOGGED: &str = "no AOF";
pub const THREADED: &str = "AOF everysec, io-threads 2";

/// Commands that do less than a sale.
pub const LESS: &str = "no sale";

/// With an AOF that is never rewritten during the measurement.
pub const AOF: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"];

pub fn case(what: &str, setting: &str) -> String {
    format!("{what}; {setting}")
}

pub fn recommended(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        for setting in [(LOGGED, &AOF[..]), (UNLOGGED, &[])] {
            bench.step(&case(GRAB, setting.0), round);
            by_turns(bench, setting, &RECOMMENDED, USERS)?;
        }
    }
    Ok(())
}

/// The first rows again with I/O threads. The threads need another core than the main thread.
pub fn io_threads(bench: &mut Bench) -> Result<(), String> {
    let settings = [&AOF[..], &["--io-threads", "2", "--server_cpulist", "0-1"]].concat();
    for round in 0..bench.plan.few_rounds {
        bench.step(&case(GRAB, THREADED), round);
        by_turns(bench, (THREADED, &settings), &RECOMMENDED, USERS)?;
    }
    Ok(())
}

pub fn plain(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        for setting in [(LOGGED, &AOF[..]), (UNLOGGED, &[])] {
            bench.step(&case(PLAIN, setting.0), round);
            by_turns(bench, setting, &PLAIN_SALE, USERS)?;
            let mut control = bench.server(setting.1)?;
            for (who, request) in less(&mut control)? {
                let users = spread(bench.plan.calls, USERS);
                let case = case(LESS, setting.0);
                bench.measure((&case, who), &mut control, &request, users, PIPELINED)?;
            }
        }
    }
    Ok(())
}

/// Numbered units, beside a script that keeps seats.
pub(super) fn seats(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        bench.step("seats beside a script", round);
        by_turns(bench, (LOGGED, &AOF), &HALL, UNITS)?;
    }
    Ok(())
}

/// Measures all calls of each contender on a fresh server. The numbers of users are below `below`.
fn by_turns(
    bench: &mut Bench,
    (setting, settings): (&str, &[&str]),
    contenders: &[(&str, SetUp)],
    below: u64,
) -> Result<(), String> {
    // A refused call writes nothing, so the AOF makes no difference.
    let is_measured = |what: &str| setting == LOGGED || ![SOLD_OUT, ALREADY].contains(&what);
    for (who, set_up) in contenders {
        let mut control = bench.server(settings)?;
        for (what, request) in set_up(&mut control, bench.plan.calls)? {
            if is_measured(what) {
                let users = spread(bench.plan.calls, below);
                let case = case(what, setting);
                bench.measure((&case, who), &mut control, &request, users, PIPELINED)?;
            }
        }
    }
    Ok(())
}

pub fn rows(rows: &mut Rows<'_>) {
    for (setting, least, text) in [
        (LOGGED, 4.0, ">= 4 on Redis 7.0, >= 3.5 elsewhere"),
        (UNLOGGED, 4.5, ">= 4.5 on Redis 7.0, >= 3.5 elsewhere"),
    ] {
        let least = if rows.is_redis_7 { least } else { 3.5 };
        row(rows, GRAB, setting, SCRIPT, least).bar = text.to_owned();
    }
    for setting in [LOGGED, UNLOGGED] {
        row(rows, CONFIRM, setting, SCRIPT, 3.5);
    }
    for (setting, least) in [(LOGGED, 2.5), (UNLOGGED, 3.3)] {
        for other in [SCRIPT, FUNCTION] {
            row(rows, PLAIN, setting, other, least);
        }
    }
    row(rows, SOLD_OUT, LOGGED, SCRIPT, 3.5);
    row(rows, ALREADY, LOGGED, SCRIPT, 3.0);
}

/// Another contender's server time for a call, divided by the module's, behind both times.
pub(super) fn row<'r>(
    rows: &'r mut Rows<'_>,
    what: &str,
    setting: &str,
    other: &str,
    bar: f64,
) -> &'r mut Row {
    let (case, setting) = (case(what, setting), format!("{setting}, {LOADED}"));
    let found = rows.figures.ratio(SERVER_US, (&case, other), (&case, MODULE));
    let lead = both_times(rows.figures, &case, other);
    let row = rows.add((what, "server time per call"), &setting, Some(Bar::AtLeast(bar)), found);
    (row.lead, row.unit) = (lead, " x");
    row
}
