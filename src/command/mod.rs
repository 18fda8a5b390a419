//! The language: what callers say and are told. A file for each command, each of which parses all
//! its arguments, then opens its key, then decides.

mod access;
mod allow_deny;
mod alter;
mod apply;
pub mod args;
mod audit;
pub mod docs;
pub mod errors;
mod expire;
mod grab;
mod help;
mod import;
mod init;
mod mgrab;
mod pause;
mod pipeline;
mod reply;
mod restock;
mod rounds;
mod settle;
mod status;
pub mod table;
pub mod terms;
mod user;
mod winners;

use crate::server::module::load::{self, Context, RedisString, Status};

/// Sets the module up with all its commands: what lib.rs calls when the server loads the file.
pub fn load(ctx: &Context, args: &[RedisString]) -> Status {
    load::load(ctx, args, &table::TABLE, expire::run)
}
