//! The domain without a server: all its promises, compared with a naive oracle.
//!
//! * `oracle` is the sale as the specification describes it: a plain list of grants.
//! * `world` puts a primary, a replica that only applies effects and the oracle side by side and
//!   compares them after every step.
//! * `draws` compares drawn amounts with the published method, and their sums with the total.
//! * `rebuild` saves and loads a sale in both binary forms.
//! * `enumeration` walks every short sequence of operations, `property` long random ones.
//! * `hostile` loads and applies altered and truncated bytes.
//! * `sound` checks that a loaded or changed sale is lawful and works; `make fuzz` uses it too.
//! * `ledger` compares the grant log with a plain list; `epoch` checks the rules of epochs.
//! * `due` checks the state of a sale between calls: its next due time, and the round of a grant.
//! * `waiting` checks which waiters the list serves and which it drops.
//! * `simulation` is a short piece of `make sim`: nodes, logs and faults around the oracle.
//! * `masses` has sales with the most holds and fences.

// A test that can't go on says so and fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod draws;
mod due;
mod enumeration;
mod epoch;
mod hostile;
mod ledger;
mod masses;
mod property;
mod simulation;
mod waiting;

use seckill_model::{compare, oracle, rebuild, requests, shorthand, sim, sound, world};
use seckill_random as random;
