//! The longest wait of other clients: PINGs of one client while another client's command does its
//! largest possible work.

mod deeds;
pub(super) mod scenes;

pub use deeds::{COUNTED, NUMBERED};

use seckill_crowd::screen::thousands;

use super::Bench;
use crate::contenders::MODULE;
use crate::control::Control;
use crate::figures::{Figures, Place, Spread, MAX_MS, MS};
use crate::pings::{Pings, IDLE};
use crate::plan::Plan;

/// The bar: the longest wait of a PING, in ms above an idle server.
pub const BAR_MS: f64 = 10.0;

/// The work that runs beside the PINGs, on a scene of this size.
type Act = fn(&mut Control, u64) -> Result<(), String>;

/// A sale, and the deeds that are measured on it.
pub struct Scene {
    /// Size of the scene, in grants, waiters or the like.
    size: fn(&Plan) -> u64,
    set_up: fn(&Bench, u64) -> Result<Control, String>,
    /// True if all rounds of all deeds use one scene. Otherwise each round has its own.
    lasts: bool,
    /// Each with its name, in which `#` stands for the size.
    deeds: &'static [(&'static str, Act)],
}

/// All deeds by name, in order.
pub fn names(plan: &Plan) -> Vec<String> {
    let of = |scene: &'static Scene| {
        let size = (scene.size)(plan);
        scene.deeds.iter().map(move |(deed, _)| name(deed, size))
    };
    COUNTED.iter().chain(&NUMBERED).flat_map(of).collect()
}

fn name(deed: &str, size: u64) -> String {
    deed.replace('#', &thousands(size))
}

pub fn run(bench: &mut Bench, scenes: &'static [Scene]) -> Result<(), String> {
    for scene in scenes {
        let size = (scene.size)(&bench.plan);
        let mut kept = None;
        for round in 0..bench.plan.few_rounds {
            for (deed, act) in scene.deeds {
                let name = name(deed, size);
                bench.step(&name, round);
                let mut control = match kept.take() {
                    Some(control) => control,
                    None => (scene.set_up)(bench, size)?,
                };
                measure(bench, &mut control, &name, |control| act(control, size))?;
                kept = scene.lasts.then_some(control);
            }
        }
    }
    Ok(())
}

/// PINGs to the server before the deed and during it.
fn measure(
    bench: &mut Bench,
    control: &mut Control,
    name: &str,
    act: impl FnOnce(&mut Control) -> Result<(), String>,
) -> Result<(), String> {
    let port = control.port();
    let idle = Pings::alone(port)?;
    let beside = Pings::beside(port, || act(control)).map_err(|e| format!("{name}: {e}"))?;
    for (who, mut took) in [(IDLE, idle), (MODULE, beside)] {
        bench.figures.add(name, who, MS, took.p999_ms());
        bench.figures.add(name, who, MAX_MS, took.max_ms());
    }
    Ok(())
}

/// The p99.9 and the maximum of PINGs during a deed, in milliseconds above the p99.9 of PINGs
/// before it.
pub fn above_idle(figures: &Figures, name: &str) -> Option<[Spread; 2]> {
    let (beside, idle): (Place<'_>, Place<'_>) = ((name, MODULE), (name, IDLE));
    let p999 = figures.difference((beside, MS), (idle, MS))?;
    let longest = figures.difference((beside, MAX_MS), (idle, MS))?;
    Some([p999, longest])
}
