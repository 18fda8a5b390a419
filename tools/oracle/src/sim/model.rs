//! What the sales should be, by the oracle.

use crate::oracle::{Op, Oracle};

/// What a sale should be; `None` once something happened that the oracle does not know.
pub type Model = Option<Oracle>;

/// What a sale was asked, to be asked again when a history is gone through anew.
#[derive(Clone, Debug)]
pub enum Heard {
    Op {
        sale: usize,
        op: Box<Op>,
        clock: u64,
        run: u64,
        drawn: Option<u64>,
    },
    /// It was replaced by what it was before.
    Arrived {
        sale: usize,
        model: Box<Model>,
        at: u64,
    },
    /// Something happened that the oracle does not know.
    Lost {
        sale: usize,
    },
}

/// The primary begins anew with a sale that came here at `arrived_at`, 0 when it did not.
pub fn begin(model: &mut Model, arrived_at: u64) {
    match (model, arrived_at) {
        (None, _) => {}
        (Some(oracle), 0) => oracle.restarted(),
        (Some(oracle), at) => oracle.restored(at),
    }
}

/// Goes through what was heard.
pub fn hear(models: &mut [Model], heard: &Heard) {
    match heard {
        Heard::Op { sale, op, clock, run, drawn } => {
            if let Some(oracle) = &mut models[*sale] {
                oracle.ask(op, *clock, *run, *drawn);
            }
        }
        Heard::Arrived { sale, model, at } => {
            models[*sale].clone_from(model);
            begin(&mut models[*sale], *at);
        }
        Heard::Lost { sale } => models[*sale] = None,
    }
}
