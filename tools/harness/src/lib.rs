//! Shared parts of tests against a real server: start servers on free ports, send and compare exact
//! bytes, read the replication stream, and wait on conditions. Every wait has a deadline and a
//! message. The errors of all functions are messages for people.

pub mod assortment;
pub mod bulk;
pub mod calls;
pub mod client;
pub mod cluster;
pub mod conf_example;
pub mod driver;
pub mod launch;
pub mod limits;
pub mod link;
pub mod logs;
pub mod mariadb;
mod options;
pub mod other_module;
pub mod page;
pub mod payload;
pub mod postgres;
pub mod process;
pub mod program;
pub mod reply;
pub mod sentinel;
pub mod server;
pub mod shop;
mod skip;
pub mod stream;
pub mod valgrind;
pub mod wait;
pub mod watch;

pub use client::Conn;
pub use options::module_path;
pub use reply::Reply;
pub use server::{Options, Server};
pub use skip::{skip, skipped};
pub use stream::ReplicationStream;
pub use wait::wait_until;

pub use seckill_random as random;
pub use seckill_random::Random;
