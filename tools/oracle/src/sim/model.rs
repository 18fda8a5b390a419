//! The oracle's model of all sales.

use crate::oracle::{Epochs, Op, Oracle};

/// The expected sale; `None` once something happened that the oracle does not know.
pub type Model = Option<Oracle>;

/// A request to a sale, kept so that a history can be replayed.
#[derive(Clone, Debug)]
pub enum Heard {
    Op {
        sale: usize,
        op: Box<Op>,
        clock: u64,
        epochs: Epochs,
        drawn: Option<u64>,
    },
    /// The sale was replaced by an earlier state of itself.
    Arrived {
        sale: usize,
        model: Box<Model>,
    },
    /// A change that the oracle has not made.
    Lost {
        sale: usize,
    },
}

/// How a primary came by a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The sale was there, or in a snapshot.
    Kept,
    /// In a log.
    Logged,
    /// By a RESTORE, at some time.
    Restored,
}

/// The primary begins again with a sale.
pub fn begin(model: &mut Model, way: Way) {
    let Some(oracle) = model else { return };
    match way {
        Way::Kept => oracle.reloaded(),
        Way::Logged => oracle.restarted(),
        Way::Restored => oracle.restored(),
    }
}

/// Goes through what was heard.
pub fn hear(models: &mut [Model], heard: &Heard) {
    match heard {
        Heard::Op { sale, op, clock, epochs, drawn } => {
            if let Some(oracle) = &mut models[*sale] {
                oracle.ask(op, *clock, *epochs, *drawn);
            }
        }
        Heard::Arrived { sale, model } => {
            models[*sale].clone_from(model);
            begin(&mut models[*sale], Way::Restored);
        }
        Heard::Lost { sale } => models[*sale] = None,
    }
}
