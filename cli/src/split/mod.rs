//! `seckill split`: one sale made of parts, on a cluster or on single servers.
//!
//! `nodes` calls the node that has a key, and `parts` reads a split. `balance` moves units if
//! `replicas` allows it. Each other file is one subcommand.

mod balance;
mod create;
mod nodes;
mod numbers;
mod operate;
mod parts;
mod repair;
mod replicas;
mod status;
mod winners;

#[cfg(test)]
pub use numbers::families;

use clap::{Args, Subcommand};

use crate::connect::Server;
pub use nodes::{said, Nodes};
pub use parts::{advice, number, one, pairs, seckill};

use parts::Split;

/// Options: the subcommand.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Creates the parts, part 0 last; a second call continues an unfinished one
    Create(create::Options),
    /// Shows the parts and their sums
    Status(status::Options),
    /// Moves units to the parts that need them, until it is stopped
    Balance(balance::Options),
    /// Adds units to all parts alike
    Restock(operate::Restock),
    /// Pauses all parts
    Pause(operate::Name),
    /// Resumes all parts
    Resume(operate::Name),
    /// Changes terms of all parts, as SECKILL.ALTER does
    Alter(operate::Words),
    /// Lists users who may buy, each in their own part, as SECKILL.ALLOW does
    Allow(operate::Words),
    /// Lists users who may not buy, each in their own part, as SECKILL.DENY does
    Deny(operate::Words),
    /// Recounts every part, and compares the parts with each other
    Audit(operate::Name),
    /// Creates lost parts again, from the other parts and the shop's orders
    Repair(repair::Options),
    /// Writes one list of all grants, as CSV or JSON
    Winners(winners::Options),
    /// Removes all parts, part 0 last; a second call continues an unfinished one
    Destroy(operate::Destroy),
}

/// Runs the subcommand.
///
/// # Errors
/// An error message that says what to do.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let nodes = || server.targets().map(Nodes::new);
    let open = |name: &str| Split::open(nodes()?, name);
    match &options.command {
        Command::Create(create) => create::run(nodes()?, create),
        Command::Status(status) => status::run(open(&status.name)?, status),
        Command::Balance(balance) => balance::run(server, balance),
        Command::Restock(restock) => operate::restock(open(&restock.name)?, restock),
        Command::Pause(one) => operate::all(open(&one.name)?, "PAUSE", &[]),
        Command::Resume(one) => operate::all(open(&one.name)?, "RESUME", &[]),
        Command::Alter(alter) => operate::all(open(&alter.name)?, "ALTER", &alter.words),
        Command::Allow(allow) => operate::users(open(&allow.name)?, "ALLOW", &allow.words),
        Command::Deny(deny) => operate::users(open(&deny.name)?, "DENY", &deny.words),
        Command::Audit(one) => operate::audit(open(&one.name)?),
        Command::Repair(repair) => repair::run(Split::open_by_any(nodes()?, &repair.name)?, repair),
        Command::Winners(winners) => winners::run(open(&winners.name)?, winners),
        Command::Destroy(destroy) => operate::destroy(open(&destroy.name)?, destroy),
    }
}
