//! The program `seckill` as its users start it, against real servers.

// A test that can't go on says so and fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod check;
mod exporter;
mod manual;
mod nodes;
mod orders;
mod program;
mod repair;
mod sale;
mod sentinel;
mod shown;
mod silent;
mod split;
mod tls;
mod unread;
mod watch;
mod web;
