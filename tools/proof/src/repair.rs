//! The repair of a lost part, while all other actions continue.

use super::part::Part;
use super::state::{Repair, State};
use super::{Broken, Config, PARTS};

/// The effect of one command of a repair on the part.
type Step = fn(&Config, &mut Part, &mut Repair);

/// First the peers are read one after the other, then one transaction creates the part. A paused
/// part sells nothing, but it can receive, and a balancer would send its units on.
const ALL: [Step; 8] = [
    // INIT with supply 0, paused.
    |_, _, _| {},
    // IMPORT of units that are sold in the database.
    |_, part, repair| part.import(std::mem::take(&mut repair.sold)),
    // RESTOCK of the share.
    |config, part, repair| {
        part.restock(Part::with_share(config.total, usize::from(repair.part)).put_in);
    },
    // RECEIVE of units that the peers sent to the lost part.
    |config, part, repair| receive(config, part, repair, 1),
    |config, part, repair| receive(config, part, repair, 2),
    // SEND of units that the peers received from the lost part.
    |config, part, repair| owe(config, part, repair, 1),
    |config, part, repair| owe(config, part, repair, 2),
    // RESUME.
    |_, part, _| part.paused = false,
];

fn receive(config: &Config, part: &mut Part, repair: &Repair, distance: usize) {
    let from = (usize::from(repair.part) + distance) % PARTS;
    part.receive(from, repair.gets[from], config.broken);
}

fn owe(config: &Config, part: &mut Part, repair: &Repair, distance: usize) {
    let to = (usize::from(repair.part) + distance) % PARTS;
    part.send(to, repair.owes[to], true, config.broken);
}

/// Number of peers of the lost part. Each is named by its distance after the lost part.
const PEERS: u8 = PARTS as u8 - 1;

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
        let part = state.parts[at].get_or_insert(Part::empty(config.total));
        ALL[first..first + count].iter().for_each(|step| step(config, part, &mut next));
    }
    state.repair = Some(next);
}
