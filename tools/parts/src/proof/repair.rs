//! A lost part is made again, step by step, while everything else goes on.

use super::part::Part;
use super::state::State;
use super::{Broken, Config, PARTS};

/// How many steps there are.
pub fn steps(config: &Config) -> u8 {
    if config.is(Broken::LostPartGetsShare) {
        1
    } else {
        8
    }
}

/// What it owes comes first, its units last: what is paused sells nothing, but a balancer may send
/// from it what it seems to have.
const OWES_FIRST: [Step; 8] = [
    Step::Make,
    Step::Owe(1),
    Step::Owe(2),
    Step::Import,
    Step::Receive(1),
    Step::Receive(2),
    Step::Restock,
    Step::Resume,
];

const OWES_LAST: [Step; 8] = [
    Step::Make,
    Step::Import,
    Step::Restock,
    Step::Receive(1),
    Step::Receive(2),
    Step::Owe(1),
    Step::Owe(2),
    Step::Resume,
];

#[derive(Clone, Copy)]
enum Step {
    /// With supply 0, paused.
    Make,
    /// What the next part, or the one after it, received from this one.
    Owe(usize),
    /// What the database knows to be sold.
    Import,
    /// What the next part, or the one after it, sent to this one.
    Receive(usize),
    /// Its share.
    Restock,
    Resume,
}

/// Does the next step of the repair.
pub fn step(config: &Config, state: &mut State) {
    let Some((at, number, sold)) = state.repair else { return };
    let at = usize::from(at);
    state.repair = Some((at as u8, number + 1, sold));
    let share = Part::with_share(config.total, at);
    if config.is(Broken::LostPartGetsShare) {
        state.parts[at] = Some(share);
        return;
    }
    let order = if config.is(Broken::RepairOwesLast) { OWES_LAST } else { OWES_FIRST };
    let peers = state.parts;
    let Some(part) = &mut state.parts[at] else {
        state.parts[at] = Some(Part::empty(config.total));
        return;
    };
    match order[usize::from(number)] {
        Step::Make => {}
        Step::Owe(distance) => {
            let to = (at + distance) % PARTS;
            let received = peers[to].map_or(0, |peer| peer.received[at]);
            part.send(to, received, true, config.broken);
        }
        Step::Import => {
            part.import(sold);
            state.repair = Some((at as u8, number + 1, 0));
        }
        Step::Receive(distance) => {
            let from = (at + distance) % PARTS;
            let sent = peers[from].map_or(0, |peer| peer.sent[at]);
            part.receive(from, sent, config.broken);
        }
        Step::Restock => part.restock(share.put_in),
        Step::Resume => part.paused = false,
    }
}
