//! The domain: a sale of countable units to users, each of whom may have so many.
//!
//! Pure: no Redis, no clock, no randomness of its own. `decide` reads and works out a plan,
//! `commit` makes it; a replica and a log `check` what was decided into a plan and commit it by the
//! same function, so they can't come to another result.
//!
//! The rooms are described in ARCHITECTURE.md.

#![forbid(unsafe_code)]

pub mod admission;
mod codec;
mod dedup;
pub mod draw;
mod index;
pub mod ledger;
mod memory;
mod model;
pub mod outbox;
pub mod plan;
pub mod request;
mod rounds;
mod rules;
mod state;
mod testing;

pub use codec::{effect, snapshot};
pub use ledger::record;
pub use memory::bytes;
pub use model::{event, limits, outcome};
pub use request::terms;
pub use rounds::schedule;
pub use rules::{decide, multi_grab};
pub use state::{audit, status, Sale};
