//! The commands, a file for each. A command parses all its arguments, then opens its key, then
//! decides.

#![forbid(unsafe_code)]

mod allow_deny;
mod alter;
mod apply;
pub mod args;
mod audit;
mod change;
mod errors;
mod grab;
mod import;
mod init;
mod mgrab;
pub mod options;
mod pause;
pub mod pipeline;
mod reply;
mod restock;
mod rounds;
mod settle;
mod split;
mod status;
pub mod table;
pub mod terms;
mod units;
mod user;
pub mod vocabulary;
mod waitlist;
mod winners;

use crate::server::module::load::{self, Context, RedisString, Status};

/// Sets up the module with all its commands. lib.rs calls it when the server loads the file.
pub fn load(ctx: &Context, args: &[RedisString]) -> Status {
    load::load(ctx, args, &table::TABLE, pipeline::expire)
}
