//! The actions that are possible in a state.

use super::repair;
use super::state::{Balancer, Command, Message, State};
use super::{pairs, Broken, Config, PARTS};

/// One action. Balancers and messages are named by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Grab(u8),
    Refund(u8),
    /// The replica gets all changes of the part.
    Replicate(u8),
    /// The part fails over to its replica's state.
    FailOver(u8),
    Lose(u8),
    /// The next step of the repair.
    Repair,
    /// The split is deleted and created again under its keys.
    Renew,
    /// A balancer begins a pass.
    Read(u8),
    /// The balancer decides to send this message.
    Begin(u8, Message),
    /// The balancer has read that units were made twice.
    Doubt {
        balancer: u8,
        from: u8,
        to: u8,
    },
    /// The balancer does its next step and gets the reply.
    Step(u8),
    /// The balancer gives up, and its message arrives late.
    StepLate(u8),
    /// The balancer's message arrives now, and again later.
    StepTwice(u8),
    /// The balancer crashes or gets no reply, and starts again.
    GiveUp(u8),
    /// A late message arrives.
    Deliver(u8),
}

pub fn actions(config: &Config, state: &State, actions: &mut Vec<Action>) {
    for at in 0..PARTS as u8 {
        of_part(config, state, at, actions);
    }
    for number in 0..state.late.len() as u8 {
        actions.push(Action::Deliver(number));
    }
    if state.repair.is_some_and(|repair| repair.step < repair::steps(config)) {
        actions.push(Action::Repair);
    }
    if state.split < config.renewals {
        actions.push(Action::Renew);
    }
    for number in 0..config.balancers as u8 {
        of_balancer(config, state, number, actions);
    }
}

fn of_part(config: &Config, state: &State, at: u8, actions: &mut Vec<Action>) {
    let Some(part) = state.part(at) else { return };
    if part.available > 0 && !part.paused {
        actions.push(Action::Grab(at));
    }
    if part.sold > 0 && !part.paused && state.returns < config.refunds {
        actions.push(Action::Refund(at));
    }
    if config.failovers > 0 {
        let replica = state.replicas[usize::from(at)];
        if replica.as_ref() != Some(part) || state.balancers.iter().any(|one| one.waits_for(at)) {
            actions.push(Action::Replicate(at));
        }
        if state.failovers < config.failovers && replica.as_ref() != Some(part) {
            actions.push(Action::FailOver(at));
        }
    }
    if state.losses < config.losses {
        actions.push(Action::Lose(at));
    }
}

fn of_balancer(config: &Config, state: &State, number: u8, actions: &mut Vec<Action>) {
    match &state.balancers[usize::from(number)] {
        Balancer::Idle => begin(config, state, number, actions),
        Balancer::Reading { .. } | Balancer::Doubts { .. } => {
            actions.extend([Action::Step(number), Action::GiveUp(number)]);
        }
        Balancer::Telling { .. } | Balancer::Ready(_) => {
            actions.extend([Action::Step(number), Action::GiveUp(number)]);
            late(config, state, number, actions);
        }
        Balancer::Waits { is_copied, .. } => {
            actions.push(Action::GiveUp(number));
            if *is_copied || config.is(Broken::NoWait) {
                actions.push(Action::Step(number));
                late(config, state, number, actions);
            }
        }
    }
}

fn late(config: &Config, state: &State, number: u8, actions: &mut Vec<Action>) {
    if state.messages < config.late {
        actions.extend([Action::StepLate(number), Action::StepTwice(number)]);
    }
}

/// The moves that a balancer can begin by its last reading, which other actions may have outdated.
fn begin(config: &Config, state: &State, number: u8, actions: &mut Vec<Action>) {
    let pass = state.parts.iter().flatten().map(|part| part.pass).max().unwrap_or_default();
    if pass < config.passes && state.parts.iter().all(Option::is_some) {
        actions.push(Action::Read(number));
    }
    for (from, to) in pairs() {
        let (Some(source), Some(peer)) = (state.parts[from], state.parts[to]) else { continue };
        if from == to {
            continue;
        }
        let (sent, received) = (source.sent[to], peer.received[from]);
        let (from, to) = (from as u8, to as u8);
        let send = |total: u8| {
            let command = Command::Send { from, to, total, owed: false };
            Action::Begin(number, Message { split: state.split, command })
        };
        if source.available > 0 && state.moved() < config.moves {
            actions.push(send(sent + 1));
            if source.available > 1 {
                actions.push(send(sent + source.available));
            }
        }
        if sent > received {
            actions.push(send(sent));
        }
        if received > sent {
            actions.push(Action::Doubt { balancer: number, from, to });
        }
    }
}
