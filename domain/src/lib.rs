//! The domain: a sale of countable units to users, each of whom may have so many.
//!
//! Pure: no Redis, no clock, no randomness of its own. `decide` reads and works out a plan,
//! `commit` makes it; a replica and a log `check` what was decided into a plan and commit it by the
//! same function, so they can't come to another result.
//!
//! The rooms, from the ground up: each uses those above it in this list alone.

#![forbid(unsafe_code)]

/// What every room speaks of: the bounds, the numbers and their law, outcomes and events; and how
/// values are written and read back within their bounds.
mod model {
    pub mod balances;
    pub mod event;
    pub mod limits;
    pub mod outcome;
    pub(crate) mod wire;
}

mod memory;

mod index;

pub mod ledger;

mod dedup;

pub mod draw;

pub mod admission;

pub mod waitlist;

pub mod rounds;

pub mod parts;

pub mod request;

/// The sale itself: what it keeps, and how it looks from outside.
mod state {
    pub mod audit;
    pub mod rounds;
    pub mod sale;
    pub mod status;
    mod tests;
}

mod draft;

/// Changes and sales as bytes.
mod codec {
    pub mod effect;
    pub mod snapshot;
}

pub mod plan;

pub mod decide;

pub mod outbox;

mod testing;

pub use codec::{effect, snapshot};
pub use ledger::record;
pub use model::{event, limits, outcome};
pub use state::sale::Sale;
pub use state::{audit, status};
