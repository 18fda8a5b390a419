//! Everything at one moment.

use super::part::{Part, Tell};
use super::{Config, PARTS};

/// A command for a part, with the split that it is for.
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

/// Where a balancer stands. It waits for each answer, or gives up and begins again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Balancer {
    Idle,
    /// Reads part after part to tell whether all is sold. `seen` has what it read; with
    /// `Broken::ReadApart` the units of all parts come first and their totals in a second round.
    Reading {
        split: u8,
        began: u8,
        next: u8,
        seen: [Part; PARTS],
    },
    /// Tells the parts that have to be told.
    Telling {
        split: u8,
        told: Vec<Tell>,
    },
    /// Will send this command.
    Ready(Message),
    /// Saw units made twice, and reads the source again before it sends.
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
    /// The balancer waits until the replica of this part has its SEND.
    pub fn waits_for(&self, part: u8) -> bool {
        matches!(self, Balancer::Waits { from, is_copied: false, .. } if *from == part)
    }
}

/// A part that was lost, and how far its repair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repair {
    pub part: u8,
    /// The next step.
    pub step: u8,
    /// Sold units that the repaired part has lost.
    pub sold: u8,
    /// Units that each peer was seen to have received from it, and to have sent to it.
    pub owes: [u8; PARTS],
    pub gets: [u8; PARTS],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// `None`: the part is lost.
    pub parts: [Option<Part>; PARTS],
    /// The replica of each part; equal to the part where nothing fails over.
    pub replicas: [Option<Part>; PARTS],
    pub balancers: Vec<Balancer>,
    /// Messages on their way whose sender has given up, in order: any of them may come next.
    pub late: Vec<Message>,
    pub split: u8,
    /// How many units came back.
    pub returns: u8,
    pub repair: Option<Repair>,
    /// Units made twice, ever.
    pub made_twice: u8,
    /// A part lost history.
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

    /// Units received from a part that does not know to have sent them.
    pub fn twice_now(&self) -> u8 {
        self.pairs().map(|(sent, received)| received.saturating_sub(sent)).sum()
    }

    /// Units that were made since `before`, each pair by itself.
    pub fn made_since(&self, before: &State) -> u8 {
        let twice = |state: &State, from: usize, to: usize| {
            let pair = state.parts[from].zip(state.parts[to]);
            pair.map_or(0, |(source, peer)| peer.received[from].saturating_sub(source.sent[to]))
        };
        let both = (0..PARTS).flat_map(|from| (0..PARTS).map(move |to| (from, to)));
        both.map(|(from, to)| twice(self, from, to).saturating_sub(twice(before, from, to))).sum()
    }

    /// Units under way.
    pub fn under_way(&self) -> u8 {
        self.pairs().map(|(sent, received)| sent.saturating_sub(received)).sum()
    }

    /// Sent and received of each pair whose parts are there.
    pub fn pairs(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        let both = (0..PARTS).flat_map(|from| (0..PARTS).map(move |to| (from, to)));
        both.filter_map(|(from, to)| {
            let (source, peer) = (self.parts[from]?, self.parts[to]?);
            Some((source.sent[to], peer.received[from]))
        })
    }

    /// Units that buyers have, those of a lost part included.
    pub fn sold(&self) -> u8 {
        let lost = self.repair.map_or(0, |repair| repair.sold);
        self.parts.iter().flatten().map(|part| part.sold).sum::<u8>() + lost
    }

    /// Units sent in all, as the parts know.
    pub fn moved(&self) -> u8 {
        self.parts.iter().flatten().flat_map(|part| part.sent).sum()
    }
}
