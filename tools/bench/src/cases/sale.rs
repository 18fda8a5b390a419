//! GRABs of a sale, beside scripts that do the same work, on fresh servers by turns.

use super::Bench;
use crate::contenders::{
    function_plain, less, module_plain, module_recommended, script_plain, script_recommended,
    Plain, Recommended, FUNCTION, MODULE, SCRIPT,
};
use crate::control::Control;
use crate::load::{measure, spread, PIPELINED, USERS};

/// Settings: with and without an AOF, pipelined.
pub const LOGGED: &str = "AOF everysec";
pub const UNLOGGED: &str = "no AOF";
pub const THREADED: &str = "AOF everysec, io-threads 2";

/// Names of the calls.
pub const GRAB: &str = "GRAB REQ with HOLD and OUTBOX";
pub const CONFIRM: &str = "CONFIRM of such a hold";
pub const PLAIN: &str = "plain GRAB REQ";
pub const SOLD_OUT: &str = "sold-out GRAB";
pub const ALREADY: &str = "ALREADY";
/// Commands that do less than a sale.
pub const LESS: &str = "no sale";

/// With an AOF that is never rewritten during the measurement.
pub const AOF: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"];

/// The name of the case for a call in this setting.
pub fn case(what: &str, setting: &str) -> String {
    format!("{what}; {setting}")
}

pub fn recommended(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        recommended_once(bench, (LOGGED, &AOF), round)?;
        recommended_once(bench, (UNLOGGED, &[]), round)?;
    }
    Ok(())
}

/// The first rows again with I/O threads. The threads need another core than the main thread.
pub fn io_threads(bench: &mut Bench) -> Result<(), String> {
    let settings = [&AOF[..], &["--io-threads", "2", "--server_cpulist", "0-1"]].concat();
    for round in 0..bench.plan.few_rounds {
        recommended_once(bench, (THREADED, &settings), round)?;
    }
    Ok(())
}

/// Sets a contender up on a fresh server; `SetUpPlain` takes the number of units.
type SetUp = fn(&mut Control) -> Result<Recommended, String>;
type SetUpPlain = fn(&mut Control, u64) -> Result<Plain, String>;

fn recommended_once(
    bench: &mut Bench,
    (setting, settings): (&str, &[&str]),
    round: usize,
) -> Result<(), String> {
    let contenders: [(&str, SetUp); 2] =
        [(MODULE, module_recommended), (SCRIPT, script_recommended)];
    bench.step(&case(GRAB, setting), round);
    for (who, set_up) in contenders {
        let mut control = bench.server(settings)?;
        let Recommended { grab, confirm } = set_up(&mut control)?;
        for (what, request) in [(GRAB, grab), (CONFIRM, confirm)] {
            let users = spread(bench.plan.calls, USERS);
            let rate = measure(&mut control, &request, users, PIPELINED)?;
            rate.note(&mut bench.figures, &case(what, setting), who);
        }
    }
    Ok(())
}

pub fn plain(bench: &mut Bench) -> Result<(), String> {
    for round in 0..bench.plan.rounds {
        plain_once(bench, (LOGGED, &AOF), round)?;
        plain_once(bench, (UNLOGGED, &[]), round)?;
    }
    Ok(())
}

/// A refused call writes nothing, so the AOF makes no difference.
fn plain_once(
    bench: &mut Bench,
    (setting, settings): (&str, &[&str]),
    round: usize,
) -> Result<(), String> {
    let contenders: [(&str, SetUpPlain); 3] =
        [(MODULE, module_plain), (SCRIPT, script_plain), (FUNCTION, function_plain)];
    bench.step(&case(PLAIN, setting), round);
    let users = || spread(bench.plan.calls, USERS);
    for (who, set_up) in contenders {
        let mut control = bench.server(settings)?;
        let Plain { win, late, again } = set_up(&mut control, bench.plan.calls)?;
        for (what, request) in [(PLAIN, win), (SOLD_OUT, late), (ALREADY, again)] {
            if what == PLAIN || setting == LOGGED {
                let rate = measure(&mut control, &request, users(), PIPELINED)?;
                rate.note(&mut bench.figures, &case(what, setting), who);
            }
        }
    }
    let mut control = bench.server(settings)?;
    for (who, request) in less(&mut control)? {
        let rate = measure(&mut control, &request, users(), PIPELINED)?;
        rate.note(&mut bench.figures, &case(LESS, setting), who);
    }
    Ok(())
}
