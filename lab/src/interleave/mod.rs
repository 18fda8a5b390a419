//! The interleaver: plays every order of the steps of a few buyers, with one or two units.

pub mod explore;
pub mod judge;
pub mod setting;
pub mod stage;
pub mod timeline;

use crate::gate::Line;
use crate::told::{Books, Verdict};
use setting::Person;

/// The possible next events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The buyer makes their next step.
    Go(usize),
    /// The lease of the lock expires (by DEL, without waiting).
    LeaseEnds,
    /// The process of this buyer ends.
    Dies(usize),
}

/// The end of one buyer or helper.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub helps: bool,
    pub died: bool,
    /// The first and last step of this buyer in the schedule.
    pub first: Option<usize>,
    pub last: usize,
    pub steps: usize,
    pub verdict: Option<Verdict>,
    pub trouble: Option<String>,
}

impl Outcome {
    pub fn of(person: &Person) -> Outcome {
        Outcome {
            helps: person.helps,
            died: false,
            first: None,
            last: 0,
            steps: 0,
            verdict: None,
            trouble: None,
        }
    }

    /// Units in the answers to buyers.
    pub fn won(&self) -> u64 {
        match self.verdict {
            Some(Verdict::Won(units)) => units,
            _ => 0,
        }
    }

    pub fn restocked(&self) -> u64 {
        match self.verdict {
            Some(Verdict::Restocked(units)) => units,
            _ => 0,
        }
    }
}

/// A played schedule.
#[derive(Clone, Debug)]
pub struct Played {
    pub supply: u64,
    pub people: Vec<Person>,
    pub outcomes: Vec<Outcome>,
    pub books: Books,
    /// The answer to a buyer who came alone at the end.
    pub alone: Option<Verdict>,
    pub waited_for_another: bool,
    pub freed_anothers_lock: bool,
    pub steps: usize,
    pub lines: Vec<Line>,
}

impl Played {
    pub fn wins(&self) -> u64 {
        self.outcomes.iter().map(Outcome::won).sum()
    }
}
