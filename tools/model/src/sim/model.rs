//! The oracle's model of all sales.

use crate::oracle::{Epochs, Op, Oracle};

/// The expected sale; `None` after a change that the oracle can't model.
pub type Model = Option<Oracle>;

/// A request to a sale, kept to replay a history.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A request, as the oracle executed it.
    Op { sale: usize, op: Box<Op>, clock: u64, epochs: Epochs, drawn: Option<u64> },
    /// The sale was replaced by one of its earlier states.
    Arrived { sale: usize, model: Box<Model> },
    /// A change that the oracle does not model.
    Lost { sale: usize },
}

/// How a primary got a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The primary had the sale in memory or in an RDB file.
    Kept,
    /// From an AOF.
    Logged,
    /// From a RESTORE.
    Restored,
}

/// Starts a primary's epoch for a sale.
pub fn begin(model: &mut Model, way: Way) {
    let Some(oracle) = model else { return };
    match way {
        Way::Kept => oracle.reloaded(),
        Way::Logged => oracle.restarted(),
        Way::Restored => oracle.restored(),
    }
}

/// Executes a recorded request on the models.
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
