//! What a sale should be: the oracle, where it knows the terms, and what needs no oracle.

use std::collections::BTreeSet;

use seckill::sale::admission::List;

use crate::oracle::{Bytes, Op, Oracle};

/// What a sale should be.
#[derive(Clone, Debug)]
pub struct Model {
    /// Knows sales that neither draw nor repeat nor admit.
    pub oracle: Option<Oracle>,
    pub allowed: BTreeSet<Bytes>,
    pub denied: BTreeSet<Bytes>,
}

/// What a sale was asked, to be asked again when a history is gone through anew.
#[derive(Clone, Debug)]
pub enum Heard {
    Op {
        sale: usize,
        op: Op,
        clock: u64,
        run: u64,
    },
    List {
        sale: usize,
        list: List,
        add: bool,
        users: Vec<Bytes>,
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

impl Model {
    /// The list that ALLOW or DENY changes.
    pub fn list(&mut self, list: List) -> &mut BTreeSet<Bytes> {
        match list {
            List::Deny => &mut self.denied,
            _ => &mut self.allowed,
        }
    }

    /// How many of `users` change places, after they did.
    pub fn change(&mut self, list: List, add: bool, users: &[Bytes]) -> u64 {
        let list = self.list(list);
        let changed = users.iter().filter(|user| match add {
            true => list.insert((*user).clone()),
            false => list.remove(*user),
        });
        changed.count() as u64
    }

    /// The primary begins anew with a sale that came here at `arrived_at`, 0 when it was loaded.
    pub fn begin(&mut self, arrived_at: u64) {
        match (&mut self.oracle, arrived_at) {
            (None, _) => {}
            (Some(oracle), 0) => oracle.restarted(),
            (Some(oracle), at) => oracle.restored(at),
        }
    }
}

/// Goes through what was heard.
pub fn hear(models: &mut [Model], heard: &Heard) {
    match heard {
        Heard::Op { sale, op, clock, run } => {
            if let Some(oracle) = &mut models[*sale].oracle {
                oracle.ask(op, *clock, *run);
            }
        }
        Heard::List { sale, list, add, users } => {
            models[*sale].change(*list, *add, users);
        }
        Heard::Arrived { sale, model, at } => {
            models[*sale] = (**model).clone();
            models[*sale].begin(*at);
        }
        Heard::Lost { sale } => models[*sale].oracle = None,
    }
}
