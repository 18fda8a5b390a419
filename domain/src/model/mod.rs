//! What every room speaks of: the bounds, the numbers and their law, outcomes and events.

pub mod balances;
pub mod event;
pub(crate) mod keyed;
pub mod limits;
pub mod outcome;
