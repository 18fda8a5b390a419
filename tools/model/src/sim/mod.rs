//! Simulation of the domain: a primary, its replicas, AOF and outbox as models in memory, compared
//! with the oracle. It uses `seckill_domain` alone, no server.
//!
//! A run is a [`Setup`] and a list of [`Step`]s. With both it can be replayed on any machine.
//!
//! * `setup` draws the terms, `swarm` the kinds of steps and their frequencies, `plan` the next
//!   step.
//! * `cluster` has all nodes, `command` the clients' commands, `fault` the faults around them.
//! * `versions` has the rules between older and newer modules.
//! * `node` applies replicated changes, `follower` is a database that reads the outbox and checks
//!   by its entries that waiters are served in order.
//! * `paid` is the IMPORT of paid orders after a primary was lost.
//! * `model` is the expected sale: the oracle, if it models the terms, and the lists.
//! * `sometimes` lists cases that many runs together must reach.
//! * `check` compares with `compare`.

mod check;
mod cluster;
mod command;
mod fault;
mod follower;
mod model;
mod node;
mod paid;
mod plan;
mod setup;
mod sometimes;
mod step;
mod swarm;
pub mod tally;
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

const STEPS_MAX: u64 = 400;

#[derive(Clone, Debug)]
pub struct Failure {
    pub setup: Setup,
    /// All executed steps; the last one failed.
    pub steps: Vec<Step>,
    pub wrong: String,
}

/// Executes the run with this seed and counts its events.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Box<Failure>> {
    let mut random = Random(seed);
    let setup = Setup::draw(&mut random);
    let swarm = Swarm::draw(&mut random, &setup);
    let count = STEPS_MAX / 10 + random.below(STEPS_MAX * 9 / 10);
    let mut steps = Vec::new();
    let lived = guarded(|| {
        let Some(mut cluster) = Cluster::open(&setup, tally)? else { return Ok(()) };
        for _ in 0..count {
            let (kind, step) = plan::next(&mut random, &swarm, &cluster);
            steps.push(step.clone());
            let moved = cluster.step(&step)?;
            cluster.tally.step(kind, moved);
        }
        cluster.finish()
    });
    tally.runs += 1;
    lived.map_err(|wrong| Box::new(Failure { setup, steps, wrong }))
}

/// Executes `steps` again and returns the first failure.
fn replay(setup: &Setup, steps: &[Step]) -> Check {
    guarded(|| {
        let mut tally = Tally::default();
        let Some(mut cluster) = Cluster::open(setup, &mut tally)? else { return Ok(()) };
        steps.iter().try_for_each(|step| cluster.step(step).map(drop))?;
        cluster.finish()
    })
}

/// Leaves steps out of a failure as long as it still fails, by the minimizing delta debugging of
/// Zeller and Hildebrandt (2002). The numbers in steps are kept.
pub fn shrink(failure: &Failure) -> Failure {
    let mut short = failure.clone();
    let mut parts = 2;
    while short.steps.len() > 1 {
        let size = short.steps.len().div_ceil(parts);
        match shorter(&short, size) {
            Some(shorter) => {
                short = shorter;
                parts = (parts - 1).max(2);
            }
            None if size == 1 => break,
            None => parts = (parts * 2).min(short.steps.len()),
        }
    }
    short
}

/// Leaves out `size` steps in a row, if the other steps still fail.
fn shorter(failure: &Failure, size: usize) -> Option<Failure> {
    let Failure { setup, steps, .. } = failure;
    (0..steps.len()).step_by(size).find_map(|start| {
        let end = steps.len().min(start + size);
        let steps = [&steps[..start], &steps[end..]].concat();
        let wrong = replay(setup, &steps).err()?;
        Some(Failure { setup: setup.clone(), steps, wrong })
    })
}

/// The sales of the run with this seed; empty if INIT is refused.
pub fn samples(seed: u64) -> Vec<Sample> {
    let mut random = Random(seed);
    let setup = Setup::draw(&mut random);
    let swarm = Swarm::draw(&mut random, &setup);
    let mut tally = Tally::default();
    let Ok(Some(mut cluster)) = Cluster::open(&setup, &mut tally) else { return Vec::new() };
    for _ in 0..STEPS_MAX / 2 {
        let (_, step) = plan::next(&mut random, &swarm, &cluster);
        if cluster.step(&step).is_err() {
            return Vec::new();
        }
    }
    cluster.samples()
}

/// Turns a panic into a failure.
fn guarded(live: impl FnOnce() -> Check) -> Check {
    catch_unwind(AssertUnwindSafe(live)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}
