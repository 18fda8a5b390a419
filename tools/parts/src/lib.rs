//! A split sale in memory, with the balancer's own functions (`seckill-balance`).
//!
//! * `sim` sells a million units at full load and counts what buyers are told.
//! * `proof` goes through all orders of messages, failures and repairs of a small split.

pub mod proof;
pub mod sim;
