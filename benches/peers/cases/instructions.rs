//! Instructions of the server for one call: they don't move with the machine's mood.

use super::Bench;
use crate::callgrind;
use crate::figures::INSTRUCTIONS;

pub const CASE: &str = "instructions";

pub fn run(bench: &mut Bench) -> Result<(), String> {
    bench.step(CASE, "all");
    if !callgrind::is_there() {
        eprintln!("Skipped: instructions per call need valgrind.");
        return Ok(());
    }
    let counts = callgrind::count(&bench.modules.noop, bench.plan.counted_calls)?;
    for (name, each) in counts {
        bench.figures.add(CASE, name, INSTRUCTIONS, each);
    }
    Ok(())
}
