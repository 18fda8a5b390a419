//! Instructions of the server for one call: they don't move with the machine's mood.

use super::Bench;
use crate::figures::INSTRUCTIONS;
use seckill_bench::callgrind;

pub const CASE: &str = "instructions";
/// The same with an append-only file.
pub const LOGGED: &str = "instructions, AOF everysec";

pub fn run(bench: &mut Bench) -> Result<(), String> {
    bench.step(CASE, "all");
    if !callgrind::is_there() {
        eprintln!("Skipped: instructions per call need valgrind.");
        return Ok(());
    }
    let (modules, calls) = (&bench.modules, bench.plan.counted_calls);
    let (module, noop) = (&modules.seckill, Some(modules.noop.as_path()));
    let plain = callgrind::count(module, noop, calls)?;
    bench.step(LOGGED, "all");
    let logged = callgrind::count_logged(module, noop, calls)?;
    for (case, counts) in [(CASE, plain), (LOGGED, logged)] {
        for (name, each) in counts {
            bench.figures.add(case, name, INSTRUCTIONS, each);
        }
    }
    Ok(())
}
