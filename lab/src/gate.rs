//! Where a buyer waits until it is their turn.
//!
//! A strategy is plain code, one call a round trip, as its seed has it. In a rush every gate is
//! open. In the interleaver each buyer stops before every round trip, says what comes next, and
//! goes on when the interleaver says so: that is how every order of the steps can be played.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::told::Verdict;

/// The interleaver's messages to a waiting buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Go,
    /// The process of this buyer ends here, without another word to any server.
    Die,
}

/// A buyer's messages to the interleaver.
#[derive(Debug)]
pub enum Message {
    /// Stands before a round trip.
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
    /// `None` for what happens to all: a lease that runs out.
    pub who: Option<usize>,
    pub text: String,
    /// A round trip, and not a line that follows from one.
    pub is_step: bool,
}

/// State that the buyers of one schedule share.
#[derive(Debug, Default)]
pub struct Scene {
    pub lines: Vec<Line>,
    /// The key whose holder is watched.
    pub lease: Option<&'static str>,
    /// The statement that each has sent last.
    pub statements: HashMap<usize, String>,
    pub holder: Option<usize>,
    /// Whether the lock that is held ends by itself.
    pub ends: bool,
    pub freed_anothers_lock: bool,
    /// Set when only helpers are left.
    pub buyers_are_gone: bool,
}

pub type SharedScene = Arc<Mutex<Scene>>;

pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a buyer gets to their next round trip.
pub enum Gate {
    Open,
    Held(Turns),
}

/// The buyer's end of the talk with the interleaver.
pub struct Turns {
    pub who: usize,
    pub says: Sender<Message>,
    pub hears: Receiver<Order>,
    pub scene: SharedScene,
    pub pauses: bool,
}

impl Gate {
    /// Waits for the turn; false when the buyer dies here.
    pub fn pass(&mut self) -> bool {
        let Gate::Held(turns) = self else { return true };
        let at = Message::At { who: turns.who, pauses: std::mem::take(&mut turns.pauses) };
        // Sending and receiving fail only when the interleaver is gone; then the buyer stops, too.
        turns.says.send(at).is_ok() && turns.hears.recv() == Ok(Order::Go)
    }

    /// A new request comes: that the last one paused is no matter of its.
    pub fn begin(&mut self) {
        if let Gate::Held(turns) = self {
            turns.pauses = false;
        }
    }

    /// The next steps make no sense before another buyer has moved.
    pub fn pause(&mut self) {
        if let Gate::Held(turns) = self {
            turns.pauses = true;
        }
    }

    pub fn is_held(&self) -> bool {
        matches!(self, Gate::Held(_))
    }

    /// Writes a step and its reply into the timeline.
    pub fn note(&self, text: impl FnOnce() -> String) {
        let Gate::Held(turns) = self else { return };
        let line = Line { who: Some(turns.who), text: text(), is_step: true };
        lock(&turns.scene).lines.push(line);
    }

    /// The timeline's words about a statement that has to wait.
    pub fn asks(&self, statement: &str) {
        let Gate::Held(turns) = self else { return };
        lock(&turns.scene).statements.insert(turns.who, statement.to_owned());
    }

    /// The real holder of the lock, whatever the buyers believe.
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
