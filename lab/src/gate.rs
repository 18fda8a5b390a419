//! Blocks a buyer until their turn.
//!
//! A strategy is plain code, one call for each round trip, as in its post. In a rush every gate is
//! open. In the interleaver each buyer stops before every round trip, reports the next one, and
//! continues on request. So every order of the steps can be played.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::told::Verdict;

/// The interleaver's messages to a waiting buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Go,
    /// The process of this buyer ends here and sends nothing more.
    Die,
}

/// A buyer's messages to the interleaver.
#[derive(Debug)]
pub enum Message {
    /// The buyer is before a round trip.
    At {
        who: usize,
        pauses: bool,
    },
    Ended {
        who: usize,
        verdict: Option<Verdict>,
        trouble: Option<String>,
    },
}

/// One line of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `None` for an event that concerns all: a lease that expires.
    pub who: Option<usize>,
    pub text: String,
    /// A round trip, not a line that only explains one.
    pub is_step: bool,
}

/// State that the buyers of one schedule share.
#[derive(Debug, Default)]
pub struct Scene {
    pub lines: Vec<Line>,
    /// The key of the lock whose holder is recorded.
    pub lease: Option<&'static str>,
    /// The last statement of each buyer.
    pub statements: HashMap<usize, String>,
    pub holder: Option<usize>,
    /// Whether the held lock has a lease.
    pub ends: bool,
    pub freed_anothers_lock: bool,
    /// Set when only helpers are left.
    pub buyers_are_gone: bool,
}

pub type SharedScene = Arc<Mutex<Scene>>;

pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to the next round trip.
pub enum Gate {
    Open,
    Held(Turns),
}

/// The buyer's channels to the interleaver.
pub struct Turns {
    pub who: usize,
    pub says: Sender<Message>,
    pub hears: Receiver<Order>,
    pub scene: SharedScene,
    pub pauses: bool,
}

impl Gate {
    /// Waits for the turn; false if the buyer's process ends here.
    pub fn pass(&mut self) -> bool {
        let Gate::Held(turns) = self else { return true };
        let at = Message::At { who: turns.who, pauses: std::mem::take(&mut turns.pauses) };
        // Both calls fail only if the interleaver has ended; then the buyer stops, too.
        turns.says.send(at).is_ok() && turns.hears.recv() == Ok(Order::Go)
    }

    /// Starts a new request, which has not paused yet.
    pub fn begin(&mut self) {
        if let Gate::Held(turns) = self {
            turns.pauses = false;
        }
    }

    /// The next steps are useless until another buyer has made a step.
    pub fn pause(&mut self) {
        if let Gate::Held(turns) = self {
            turns.pauses = true;
        }
    }

    pub fn is_held(&self) -> bool {
        matches!(self, Gate::Held(_))
    }

    /// Adds a step and its reply to the timeline.
    pub fn note(&self, text: impl FnOnce() -> String) {
        let Gate::Held(turns) = self else { return };
        let line = Line { who: Some(turns.who), text: text(), is_step: true };
        lock(&turns.scene).lines.push(line);
    }

    /// Adds the line about a statement that has to wait.
    pub fn asks(&self, statement: &str) {
        let Gate::Held(turns) = self else { return };
        lock(&turns.scene).statements.insert(turns.who, statement.to_owned());
    }

    /// Records the real holder of the lock, which buyers may not know.
    pub fn took_lock(&self, key: &str, ends: bool) {
        let Gate::Held(turns) = self else { return };
        let mut scene = lock(&turns.scene);
        if scene.lease == Some(key) {
            (scene.holder, scene.ends) = (Some(turns.who), ends);
        }
    }

    pub fn freed_lock(&self, key: &str) {
        let Gate::Held(turns) = self else { return };
        let mut scene = lock(&turns.scene);
        if scene.lease == Some(key) {
            let holder = scene.holder.take();
            scene.freed_anothers_lock |= holder.is_some_and(|holder| holder != turns.who);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::{Gate, Message, Order, SharedScene, Turns};

    #[test]
    fn a_new_request_does_not_wait_for_others_because_the_last_one_did() {
        let (says, said) = channel();
        let (orders, hears) = channel();
        let turns = Turns { who: 0, says, hears, scene: SharedScene::default(), pauses: false };
        let mut gate = Gate::Held(turns);
        gate.pause();
        gate.begin();
        assert!(orders.send(Order::Go).is_ok() && gate.pass());
        assert!(matches!(said.recv(), Ok(Message::At { who: 0, pauses: false })));
    }
}
