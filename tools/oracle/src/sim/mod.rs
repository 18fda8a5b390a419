//! The simulation of the domain: a primary, its replicas, its log and its outbox as models in
//! memory over `seckill_domain` alone, beside the oracle of the tests.
//!
//! A run is a [`Setup`] and a list of [`Step`]s. Whoever has both can replay it, on any machine.
//!
//! * `dice` draws numbers, `setup` the terms, `swarm` what a run does how often, `plan` the next
//!   step.
//! * `cluster` is all nodes, `command` what clients do to them, `fault` what happens around them.
//! * `versions` is what older and newer modules take from each other.
//! * `node` applies what was replicated, `follower` is a database that reads the outbox, `turns`
//!   whose turn it was by it.
//! * `paid` is what a shop imports once a primary was lost.
//! * `model` is what a sale should be: the oracle, where it knows the terms, and the lists.
//! * `sometimes` is what must be met now and then.
//! * `check` compares, by `compare`; `shrink` looks for the shortest list of steps that still
//!   fails.

mod check;
mod cluster;
mod command;
mod dice;
mod fault;
mod follower;
mod model;
mod node;
mod paid;
mod plan;
mod setup;
pub mod shrink;
mod sometimes;
mod step;
mod swarm;
pub mod tally;
mod turns;
mod versions;

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::compare::Check;
use crate::random::Random;
use cluster::Cluster;
pub use cluster::Sample;
pub use setup::Setup;
pub use step::Step;
use swarm::Swarm;
use tally::Tally;

/// Steps of one run, at the most.
const STEPS_MAX: u64 = 400;

/// A run that went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    pub setup: Setup,
    /// All that was done, the step that failed the last one.
    pub steps: Vec<Step>,
    pub wrong: String,
}

/// Lives through the run that `seed` names and counts what happened.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Box<Failure>> {
    let mut random = Random(seed);
    let setup = Setup::draw(&mut random);
    let swarm = Swarm::draw(&mut random, &setup);
    let count = STEPS_MAX / 10 + random.below(STEPS_MAX * 9 / 10);
    let mut steps = Vec::new();
    let lived = guarded(|| {
        let Some(mut cluster) = Cluster::open(&setup)? else { return Ok(()) };
        for _ in 0..count {
            let step = plan::next(&mut random, &swarm, &cluster);
            steps.push(step);
            if let Some(step) = steps.last() {
                cluster.step(step, tally)?;
            }
        }
        cluster.finish(tally)
    });
    tally.runs += 1;
    lived.map_err(|wrong| Box::new(Failure { setup, steps, wrong }))
}

/// Runs `steps` again and reports what goes wrong.
pub fn replay(setup: &Setup, steps: &[Step]) -> Check {
    guarded(|| {
        let Some(mut cluster) = Cluster::open(setup)? else { return Ok(()) };
        let mut tally = Tally::default();
        steps.iter().try_for_each(|step| cluster.step(step, &mut tally))?;
        cluster.finish(&mut tally)
    })
}

/// The sales of the run that `seed` names; none when it does not begin.
pub fn samples(seed: u64) -> Vec<Sample> {
    let mut random = Random(seed);
    let setup = Setup::draw(&mut random);
    let swarm = Swarm::draw(&mut random, &setup);
    let Ok(Some(mut cluster)) = Cluster::open(&setup) else { return Vec::new() };
    for _ in 0..STEPS_MAX / 2 {
        let step = plan::next(&mut random, &swarm, &cluster);
        if cluster.step(&step, &mut Tally::default()).is_err() {
            return Vec::new();
        }
    }
    cluster.samples()
}

/// A panic is a failure like any other.
fn guarded(live: impl FnOnce() -> Check) -> Check {
    catch_unwind(AssertUnwindSafe(live)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}
