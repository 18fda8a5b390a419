//! The domain without a server: everything that it promises, against a naive oracle.
//!
//! * `oracle` is the sale as the specification tells it: a list of grants and nothing clever.
//! * `world` puts a primary, a replica that only applies effects and the oracle side by side and
//!   compares them after every step.
//! * `draws` holds drawn amounts against the published method, and their sums against the total.
//! * `rebuild` saves and loads a sale in both binary forms.
//! * `enumeration` walks every short sequence of operations, `property` long random ones.
//! * `hostile` alters and truncates what is loaded and applied.
//! * `sound` tells whether what came out is a sale like any other; `make fuzz` uses it too.
//! * `ledger` holds the grant log against a plain list, `epoch` the rules of runs and epochs.
//! * `due` is what a sale says between calls: what is due next, and in which round a grant is.
//! * `waiting` is whom the waiting list serves, and whom it drops.
//! * `simulation` is a short piece of `make sim`: nodes, logs and faults around the oracle.
//! * `masses` brings many holds and fences to their bounds, and loads what older builds wrote.

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

use seckill_oracle::{compare, oracle, rebuild, replies, requests, shorthand, sim, sound, world};
use seckill_random as random;
