//! The domain beside what it must agree with: everything here holds `Sale` against something slower
//! and simpler.
//!
//! * `oracle` is the sale as the specification tells it: a list of grants and nothing clever.
//! * `world` puts a primary, a replica that only applies effects and the oracle side by side and
//!   compares them after every step.
//! * `compare` holds a sale against the oracle; `requests` and `replies` stand between the two.
//! * `linear` looks for an order in which one sale can have given what many clients were told at
//!   once.
//! * `rebuild` saves and loads a sale in both binary forms.
//! * `sales` makes sales for tests that are about something else.
//! * `shorthand` is how tests write effects.
//! * `sound` tells whether what came out of altered bytes is a sale like any other.
//! * `turns` holds what an outbox tells of a waiting list to the rules, without the sale's word.
//! * `sim` simulates nodes, logs and faults around the oracle.

pub mod compare;
pub mod linear;
pub mod oracle;
pub mod rebuild;
pub mod replies;
pub mod requests;
pub mod sales;
pub mod shorthand;
pub mod sim;
pub mod sound;
pub mod stored_entry;
pub mod turns;
pub mod world;

use seckill_random as random;
