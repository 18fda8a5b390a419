//! Tests against a real server, one concern in each module. All are one program, because linking is
//! slow. Tests share nothing and run in parallel, each with servers of its own.

// A test that can't continue panics with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod admission;
mod aof_rewrite;
mod async_load;
mod audit;
mod broken_outbox;
mod budget;
mod calls;
mod clock;
mod cluster;
mod command_info;
mod commands;
mod concurrency;
mod conf_example;
mod conf_restart;
mod config;
mod crash;
mod deadlines;
mod defrag;
mod digest;
mod due_at_once;
mod epochs;
mod errors;
mod flood;
mod fork;
mod full;
mod golden;
mod holds;
mod homes;
mod hostile;
mod in_between;
mod joining;
mod keep;
mod keyspace;
mod loading;
mod many_ending;
mod memory;
mod mgrab;
mod mistakes;
mod mixed;
mod no_trace;
mod other_modules;
mod outbox;
mod outbox_copies;
mod parts;
mod persistence;
mod promotion;
mod races;
mod readme;
mod real_time;
mod red_packets;
mod replica_signals;
mod replication;
mod resp;
mod restore;
mod round_end;
mod rounds;
mod security;
mod sessions;
mod soak;
mod sweeper;
mod units;
mod waitlist;
mod waitlist_copies;
mod waitlist_parts;
mod waitlist_turns;

use seckill_harness as support;
