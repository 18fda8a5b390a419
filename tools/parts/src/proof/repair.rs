//! The repair of a lost part, while all other actions continue.

use super::part::Part;
use super::state::{Repair, State};
use super::{Broken, Config, PARTS};

/// The effect of one command of a repair on the part.
#[derive(Clone, Copy)]
enum Step {
    /// INIT with supply 0, paused.
    Make,
    /// Units that the peer received from the lost part.
    Owe(usize),
    /// IMPORT of units that are sold in the database.
    Import,
    /// Units that the peer sent to the lost part.
    Receive(usize),
    /// RESTOCK of the share.
    Restock,
    Resume,
}

/// First the peers are read one after the other, then one transaction creates the part. A paused
/// part sells nothing, but it can receive, and a balancer would send its units on.
const ALL: [Step; 8] = [
    Step::Make,
    Step::Import,
    Step::Restock,
    Step::Receive(1),
    Step::Receive(2),
    Step::Owe(1),
    Step::Owe(2),
    Step::Resume,
];

/// Number of peers of the lost part. Each is named by its distance after the lost part.
const PEERS: u8 = PARTS as u8 - 1;

/// Number of steps.
pub fn steps(config: &Config) -> u8 {
    match config.broken {
        Some(Broken::LostPartGetsShare) => 1,
        Some(Broken::RepairInSteps) => PEERS + ALL.len() as u8,
        _ => PEERS + 1,
    }
}

/// Executes the next step of the repair, if any.
pub fn step(config: &Config, state: &mut State) {
    let Some(repair) = state.repair.filter(|repair| repair.step < steps(config)) else { return };
    let mut next = Repair { step: repair.step + 1, ..repair };
    let at = usize::from(repair.part);
    if config.is(Broken::LostPartGetsShare) {
        state.parts[at] = Some(Part::with_share(config.total, at));
    } else if repair.step < PEERS {
        let peer = (at + 1 + usize::from(repair.step)) % PARTS;
        let seen = state.parts[peer].unwrap_or_default();
        (next.owes[peer], next.gets[peer]) = (seen.received[at], seen.sent[at]);
    } else {
        let first = usize::from(repair.step - PEERS);
        let count = if config.is(Broken::RepairInSteps) { 1 } else { ALL.len() };
        for step in &ALL[first..first + count] {
            command(config, state, &mut next, *step);
        }
    }
    state.repair = Some(next);
}

fn command(config: &Config, state: &mut State, repair: &mut Repair, step: Step) {
    let at = usize::from(repair.part);
    let part = state.parts[at].get_or_insert(Part::empty(config.total));
    let peer = |distance: usize| (at + distance) % PARTS;
    match step {
        Step::Make => {}
        Step::Owe(distance) => {
            let to = peer(distance);
            part.send(to, repair.owes[to], true, config.broken);
        }
        Step::Import => part.import(std::mem::take(&mut repair.sold)),
        Step::Receive(distance) => {
            let from = peer(distance);
            part.receive(from, repair.gets[from], config.broken);
        }
        Step::Restock => part.restock(Part::with_share(config.total, at).put_in),
        Step::Resume => part.paused = false,
    }
}
