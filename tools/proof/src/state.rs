//! The whole state.

use super::part::{Part, Tell};
use super::{pairs, Config, PARTS};

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
    /// Decides what to do next.
    Idle,
    /// Reads part after part to find out whether all is sold. `seen` has the values read. With
    /// `Broken::ReadApart` it first reads the units of all parts, then their totals.
    Reading { split: u8, began: u8, next: u8, seen: [Part; PARTS] },
    /// Tells the parts about the units elsewhere.
    Telling { split: u8, told: Vec<Tell> },
    /// Will send this command.
    Ready(Message),
    /// Has read units made twice, and reads the source again before it sends.
    Doubts { split: u8, from: u8, to: u8, total: u8 },
    /// Waits until a replica has its SEND, then sends the RECEIVE.
    Waits { split: u8, from: u8, to: u8, total: u8, is_copied: bool },
}

impl Balancer {
    /// Tells the parts in `told`, if any.
    pub fn telling(split: u8, told: Vec<Tell>) -> Balancer {
        match told.is_empty() {
            true => Balancer::Idle,
            false => Balancer::Telling { split, told },
        }
    }

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

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
        let all = std::array::from_fn(|at| Some(Part::with_share(config.total, at)));
        let balancers = vec![Balancer::Idle; config.balancers];
        State { parts: all, replicas: all, balancers, ..State::default() }
    }

    pub fn part(&self, at: u8) -> Option<&Part> {
        self.parts[usize::from(at)].as_ref()
    }

    /// Sent and received units of two parts; none if one of them is lost.
    fn totals(&self, from: usize, to: usize) -> (u8, u8) {
        let pair = self.parts[from].zip(self.parts[to]);
        pair.map_or((0, 0), |(source, peer)| (source.sent[to], peer.received[from]))
    }

    /// Units that a part received from one that has no record of sending them.
    fn twice(&self, from: usize, to: usize) -> u8 {
        let (sent, received) = self.totals(from, to);
        received.saturating_sub(sent)
    }

    /// Units made twice, of all pairs.
    pub fn twice_now(&self) -> u8 {
        pairs().map(|(from, to)| self.twice(from, to)).sum()
    }

    /// Units made twice since `before`, counted for each pair.
    pub fn made_since(&self, before: &State) -> u8 {
        let made = |(from, to)| self.twice(from, to).saturating_sub(before.twice(from, to));
        pairs().map(made).sum()
    }

    /// Units that were sent and not received.
    pub fn under_way(&self) -> u8 {
        let totals = pairs().map(|(from, to)| self.totals(from, to));
        totals.map(|(sent, received)| sent.saturating_sub(received)).sum()
    }

    /// Sold units, including those of a lost part.
    pub fn sold(&self) -> u8 {
        let lost = self.repair.map_or(0, |repair| repair.sold);
        self.parts.iter().flatten().map(|part| part.sold).sum::<u8>() + lost
    }

    /// Number of times that units may have come back: by a return, by a loss and its repair, or by
    /// being made twice.
    pub fn came_back(&self) -> u8 {
        let repaired = self.repair.map_or(0, |repair| repair.step);
        self.returns + self.failovers + self.losses + repaired + self.made_twice
    }

    /// All sent units that the parts know of.
    pub fn moved(&self) -> u8 {
        self.parts.iter().flatten().flat_map(|part| part.sent).sum()
    }
}
