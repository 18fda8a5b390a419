//! A cluster of three primaries with a replica each: `make cluster-test`. Slots move and primaries
//! die while buyers buy. The tests print their measurements and fail if a promise is broken.

// A test that can't continue panics with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod buyers;
mod check;
mod failover;
mod migration;
mod nodes;
mod parts;
mod routed;
mod routing;

use seckill_harness as support;
