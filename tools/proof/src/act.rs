//! Executes an action on the state.

use seckill_balance::tell;

use super::action::Action;
use super::part::{Part, Tell};
use super::repair;
use super::state::{Balancer, Command, Message, Repair, State};
use super::{Broken, Config, PARTS};

/// A part's reply to SEND: the total, and whether it was replicated, so that WAIT waits.
type Answer = Option<(u8, bool)>;

pub fn act(config: &Config, state: &State, action: Action) -> State {
    let mut next = state.clone();
    match action {
        Action::Grab(at) => change(&mut next, at, Part::grab),
        Action::Refund(at) => {
            next.returns += 1;
            change(&mut next, at, Part::refund);
        }
        Action::Replicate(at) => replicate(&mut next, at),
        Action::FailOver(at) => fail_over(&mut next, at),
        Action::Lose(at) => lose(&mut next, at),
        Action::Repair => repair::step(config, &mut next),
        Action::Renew => renew(config, &mut next),
        Action::Read(number) => {
            let seen = [Part::default(); PARTS];
            let (split, began) = (next.split, next.came_back());
            *balancer(&mut next, number) = Balancer::Reading { split, began, next: 0, seen };
        }
        Action::Begin(number, message) => {
            *balancer(&mut next, number) = Balancer::Ready(message);
        }
        Action::Doubt { balancer: number, from, to } => {
            let total = next.part(to).map_or(0, |part| part.received[usize::from(from)]);
            let split = next.split;
            *balancer(&mut next, number) = Balancer::Doubts { split, from, to, total };
        }
        Action::Step(number) => step(config, &mut next, number),
        Action::StepLate(number) => {
            keep_late(&mut next, number);
            *balancer(&mut next, number) = Balancer::Idle;
        }
        Action::StepTwice(number) => {
            keep_late(&mut next, number);
            step(config, &mut next, number);
        }
        Action::GiveUp(number) => *balancer(&mut next, number) = Balancer::Idle,
        Action::Deliver(number) => {
            let message = next.late.remove(usize::from(number));
            deliver(config, &mut next, &message);
        }
    }
    if config.failovers == 0 {
        next.replicas = next.parts;
    }
    // During such a repair a part may lack units that it owes, but it sells nothing.
    if action != Action::Repair || !config.is(Broken::RepairInSteps) {
        next.made_twice += next.made_since(state);
    }
    next
}

fn balancer(state: &mut State, number: u8) -> &mut Balancer {
    &mut state.balancers[usize::from(number)]
}

fn change(state: &mut State, at: u8, change: impl FnOnce(&mut Part)) {
    if let Some(part) = &mut state.parts[usize::from(at)] {
        change(part);
    }
}

fn replicate(state: &mut State, at: u8) {
    state.replicas[usize::from(at)] = state.parts[usize::from(at)];
    for one in &mut state.balancers {
        if let Balancer::Waits { from, is_copied, .. } = one {
            *is_copied |= *from == at;
        }
    }
}

/// A client that waits for the old primary gets no reply.
fn fail_over(state: &mut State, at: u8) {
    state.failovers += 1;
    state.lossy = true;
    state.parts[usize::from(at)] = state.replicas[usize::from(at)];
    for one in &mut state.balancers {
        if one.waits_for(at) {
            *one = Balancer::Idle;
        }
    }
}

fn lose(state: &mut State, at: u8) {
    let sold = state.part(at).map_or(0, |part| part.sold);
    state.losses += 1;
    state.lossy = true;
    state.repair = Some(Repair { part: at, step: 0, sold, owes: [0; PARTS], gets: [0; PARTS] });
    state.parts[usize::from(at)] = None;
    state.replicas[usize::from(at)] = None;
}

fn renew(config: &Config, state: &mut State) {
    let fresh = State::first(config);
    let old = std::mem::replace(state, fresh);
    state.split = old.split + 1;
    (state.late, state.balancers, state.messages) = (old.late, old.balancers, old.messages);
}

/// The command that a balancer sends next.
fn outgoing(one: &Balancer) -> Option<Message> {
    match one {
        Balancer::Ready(message) => Some(*message),
        Balancer::Telling { split, told } => {
            told.first().map(|tell| Message { split: *split, command: Command::Elsewhere(*tell) })
        }
        Balancer::Waits { split, from, to, total, .. } => {
            let (from, to, total) = (*from, *to, *total);
            Some(Message { split: *split, command: Command::Receive { from, to, total } })
        }
        _ => None,
    }
}

fn keep_late(state: &mut State, number: u8) {
    if let Some(message) = outgoing(&state.balancers[usize::from(number)]) {
        state.messages += 1;
        state.late.push(message);
        state.late.sort_unstable();
    }
}

/// Delivers a command to a part, which refuses a command for another split.
fn deliver(config: &Config, state: &mut State, message: &Message) -> Answer {
    if message.split != state.split && !config.is(Broken::NoSplitId) {
        return None;
    }
    match message.command {
        Command::Send { from, to, total, owed } => {
            let part = state.parts[usize::from(from)].as_mut()?;
            Some(part.send(usize::from(to), total, owed, config.broken))
        }
        Command::Receive { from, to, total } => {
            let part = state.parts[usize::from(to)].as_mut()?;
            part.receive(usize::from(from), total, config.broken);
            None
        }
        Command::Elsewhere(told) => {
            change(state, told.part, |part| part.tell(&told, config.broken));
            None
        }
    }
}

fn step(config: &Config, state: &mut State, number: u8) {
    let one = std::mem::replace(balancer(state, number), Balancer::Idle);
    let sends = outgoing(&one);
    let answer = sends.and_then(|message| deliver(config, state, &message));
    let next = match one {
        Balancer::Reading { split, began, next, seen } => {
            read(config, state, (split, began), next, seen)
        }
        Balancer::Telling { split, mut told } => {
            told.remove(0);
            Balancer::telling(split, told)
        }
        Balancer::Ready(Message { split, command }) => answered(config, split, &command, answer),
        Balancer::Doubts { split, from, to, total } => doubt(state, split, (from, to, total)),
        Balancer::Idle | Balancer::Waits { .. } => Balancer::Idle,
    };
    *balancer(state, number) = next;
}

/// After a SEND the balancer waits for a replica, then forwards the units. If the total differs
/// from the requested one, the part may have written nothing. Then the balancer sends the part's
/// total again.
fn answered(config: &Config, split: u8, command: &Command, answer: Answer) -> Balancer {
    let (Command::Send { from, to, total, owed }, Some((now, written))) = (*command, answer) else {
        return Balancer::Idle;
    };
    if owed || now == 0 {
        return Balancer::Idle;
    }
    if now != total && !config.is(Broken::WaitAfterNothing) {
        let command = Command::Send { from, to, total: now, owed };
        return Balancer::Ready(Message { split, command });
    }
    let is_copied = !written || config.failovers == 0;
    Balancer::Waits { split, from, to, total: now, is_copied }
}

fn doubt(state: &State, split: u8, (from, to, total): (u8, u8, u8)) -> Balancer {
    let sent = state.part(from).map(|part| part.sent[usize::from(to)]);
    if sent.is_none_or(|sent| sent >= total) {
        return Balancer::Idle;
    }
    Balancer::Ready(Message { split, command: Command::Send { from, to, total, owed: true } })
}

/// Reads the next part. After the last one the balancer knows which parts to notify.
fn read(
    config: &Config,
    state: &State,
    (split, began): (u8, u8),
    next: u8,
    mut seen: [Part; PARTS],
) -> Balancer {
    let at = usize::from(next) % PARTS;
    let Some(part) = state.parts[at].filter(|_| split == state.split) else {
        return Balancer::Idle;
    };
    let first_round = usize::from(next) < PARTS;
    let rounds = if config.is(Broken::ReadApart) { 2 } else { 1 };
    seen[at] = match first_round {
        true => part,
        false => Part { available: seen[at].available, ..part },
    };
    // Values that no later action reads would only add states.
    let Part { available, deficit, sent, received, elsewhere, pass, paused, .. } = seen[at];
    let none = Part::default();
    seen[at] = Part { available, deficit, sent, received, elsewhere, pass, paused, ..none };
    if usize::from(next) + 1 < PARTS * rounds {
        return Balancer::Reading { split, began, next: next + 1, seen };
    }
    let readings: Vec<_> = seen.iter().map(Part::reading).collect();
    let told = tell(&readings).into_iter();
    Balancer::telling(split, told.map(|one| Tell::of(&one, began, state.came_back())).collect())
}
