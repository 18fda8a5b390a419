//! Tests against a real server, one concern a module. One binary, because linking is slow; the
//! tests of a module share nothing and run in parallel, each with servers of its own.

#[path = "../support/mod.rs"]
mod support;

mod aof_rewrite;
mod command_info;
mod commands;
mod concurrency;
mod conf_example;
mod config;
mod digest;
mod errors;
mod golden;
mod hostile;
mod keyspace;
mod memory;
mod no_trace;
mod persistence;
mod readme;
mod replication;
mod resp;
mod restore;
