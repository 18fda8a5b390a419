//! Reference models for the domain: everything here compares `Sale` with something slower and
//! simpler.
//!
//! * `oracle` is a sale as the specification describes it: a list of grants in the simplest code.
//! * `world` runs a primary, a replica that only applies effects, and the oracle. It compares them
//!   after every step.
//! * `compare` compares a sale with the oracle; `requests` and `replies` translate between the two.
//! * `linear` checks whether the replies to concurrent clients are linearizable.
//! * `rebuild` saves a sale and loads it again, in both binary forms.
//! * `sales` creates sales for tests whose subject is something else.
//! * `shorthand` is the notation of effects in tests.
//! * `sound` checks that a sale decoded from altered bytes is a valid sale.
//! * `turns` checks the rules of a waiting list by its outbox entries alone.
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
