//! The domain: sales of countable units to users, with limits per user.
//!
//! Pure: no Redis, no clock, no randomness of its own. `decide` reads a sale and makes a plan, and
//! `commit` applies the plan. A replica or an AOF `check`s the primary's changes into a plan.
//! `commit` applies that plan, too, so the results can't differ.
//!
//! The modules, from the ground up: each uses only those above it in this list.

#![forbid(unsafe_code)]

/// Vocabulary of every module: limits, the numbers and their law, outcomes and events, and bounded
/// encoding of values.
mod model {
    pub mod balances;
    pub mod event;
    pub mod limits;
    pub mod misuse;
    pub mod outcome;
    pub(crate) mod wire;
}

mod memory;

mod index;

pub mod ledger;

mod dedup;

pub mod units;

pub mod numbers;

pub mod draw;

pub mod admission;

pub mod waitlist;

pub mod rounds;

pub mod parts;

pub mod terms;

pub mod request;

/// The sale itself: its state, and its views for callers.
mod state {
    pub mod audit;
    pub(crate) mod extras;
    pub mod rounds;
    pub mod sale;
    pub mod status;
    mod tests;
}

mod draft;

pub mod snapshot;

mod fields;

mod entry;

pub mod effect;

pub mod plan;

pub mod decide;

pub mod outbox;

mod testing;

pub use ledger::record;
pub use model::{event, limits, outcome};
pub use state::sale::Sale;
pub use state::{audit, status};
