//! The whole state.

use super::part::{Part, Tell};
use super::{Config, PARTS};

/// A command to a part, with its split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    pub split: u8,
    pub command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Command {
    Send { from: u8, to: u8, total: u8, owed: bool },
    Receive { from: u8, to: u8, total: u8 },
    Elsewhere(Tell),
}

/// The state of a balancer, which waits for each reply, or gives up and starts again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Balancer {
    Idle,
    /// Reads part after part to find out whether all is sold. `seen` has the values read. With
    /// `Broken::ReadApart` it first reads the units of all parts, then their totals.
    Reading {
        split: u8,
        began: u8,
        next: u8,
        seen: [Part; PARTS],
    },
    /// Tells the parts about the units elsewhere.
    Telling {
        split: u8,
        told: Vec<Tell>,
    },
    /// Will send this command.
    Ready(Message),
    /// Has read units made twice, and reads the source again before it sends.
    Doubts {
        split: u8,
        from: u8,
        to: u8,
        total: u8,
    },
    /// Waits until a replica has its SEND, then sends the RECEIVE.
    Waits {
        split: u8,
        from: u8,
        to: u8,
        total: u8,
        is_copied: bool,
    },
}

impl Balancer {
    /// Whether the balancer waits until the replica of this part has its SEND.
    pub fn waits_for(&self, part: u8) -> bool {
        matches!(self, Balancer::Waits { from, is_copied: false, .. } if *from == part)
    }
}

/// A lost part and the state of its repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repair {
    pub part: u8,
    /// The next step.
    pub step: u8,
    /// Sold units that the lost part had.
    pub sold: u8,
    /// Units that each peer reports as received from the lost part, and as sent to it.
    pub owes: [u8; PARTS],
    pub gets: [u8; PARTS],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// `None`: the part is lost.
    pub parts: [Option<Part>; PARTS],
    /// The replica of each part; equal to the part if nothing fails over.
    pub replicas: [Option<Part>; PARTS],
    pub balancers: Vec<Balancer>,
    /// Late messages whose sender has given up. Any of them may arrive next.
    pub late: Vec<Message>,
    pub split: u8,
    /// Number of returned units.
    pub returns: u8,
    pub repair: Option<Repair>,
    /// Number of units ever made twice.
    pub made_twice: u8,
    /// Whether a part has lost changes.
    pub lossy: bool,
    pub failovers: u8,
    pub losses: u8,
    pub messages: u8,
}

impl State {
    pub fn first(config: &Config) -> State {
        let parts: Vec<_> = (0..PARTS).map(|at| Some(Part::with_share(config.total, at))).collect();
        let mut all = [None; PARTS];
        all.copy_from_slice(&parts);
        State {
            parts: all,
            replicas: all,
            balancers: vec![Balancer::Idle; config.balancers],
            late: Vec::new(),
            split: 0,
            returns: 0,
            repair: None,
            made_twice: 0,
            lossy: false,
            failovers: 0,
            losses: 0,
            messages: 0,
        }
    }

    pub fn part(&self, at: u8) -> Option<&Part> {
        self.parts[usize::from(at)].as_ref()
    }

    /// Units received from a part that has no record of sending them.
    pub fn twice_now(&self) -> u8 {
        self.pairs().map(|(sent, received)| received.saturating_sub(sent)).sum()
    }

    /// Units made twice since `before`, counted for each pair.
    pub fn made_since(&self, before: &State) -> u8 {
        let twice = |state: &State, from: usize, to: usize| {
            let pair = state.parts[from].zip(state.parts[to]);
            pair.map_or(0, |(source, peer)| peer.received[from].saturating_sub(source.sent[to]))
        };
        let both = (0..PARTS).flat_map(|from| (0..PARTS).map(move |to| (from, to)));
        both.map(|(from, to)| twice(self, from, to).saturating_sub(twice(before, from, to))).sum()
    }

    /// Units that were sent and not received.
    pub fn under_way(&self) -> u8 {
        self.pairs().map(|(sent, received)| sent.saturating_sub(received)).sum()
    }

    /// Sent and received units of each pair of existing parts.
    pub fn pairs(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        let both = (0..PARTS).flat_map(|from| (0..PARTS).map(move |to| (from, to)));
        both.filter_map(|(from, to)| {
            let (source, peer) = (self.parts[from]?, self.parts[to]?);
            Some((source.sent[to], peer.received[from]))
        })
    }

    /// Sold units, including those of a lost part.
    pub fn sold(&self) -> u8 {
        let lost = self.repair.map_or(0, |repair| repair.sold);
        self.parts.iter().flatten().map(|part| part.sold).sum::<u8>() + lost
    }

    /// All sent units that the parts know of.
    pub fn moved(&self) -> u8 {
        self.parts.iter().flatten().flat_map(|part| part.sent).sum()
    }
}
