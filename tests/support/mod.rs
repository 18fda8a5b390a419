//! What tests against a real server share: it spawns servers on free ports, speaks the protocol
//! itself so that replies can be compared exactly, reads the replication stream, and waits on
//! conditions. Every wait has a deadline and says what it waited for.

#![allow(
    dead_code,
    unused_imports,
    reason = "every test binary compiles this module and uses its own part of it"
)]

pub mod bulk;
pub mod client;
pub mod crc64;
pub mod logs;
pub mod other_module;
pub mod payload;
pub mod random;
pub mod reply;
pub mod server;
pub mod shop;
pub mod stream;
pub mod valgrind;
pub mod wait;

pub use client::Conn;
pub use random::Random;
pub use reply::Reply;
pub use server::{Options, Server};
pub use stream::ReplicationStream;
pub use wait::wait_until;
