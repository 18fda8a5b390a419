//! `seckill check HOST...`: checks servers before they sell. It only reads.

mod judge;
mod look;

use clap::Args;

use crate::connect::Server;
use crate::print::say;
use look::Node;

/// Which servers.
#[derive(Args)]
pub struct Options {
    /// All nodes, primaries and replicas, as HOST, HOST:PORT or a URL; default: that of --redis;
    /// name the replicas, too: a primary can't see their faults
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
}

/// Prints a message for each fault.
///
/// # Errors
/// If there is a fault.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let nodes: Vec<Node> =
        server.others(&options.hosts)?.iter().map(|target| look::at(target, "/")).collect();
    let mut faults = 0;
    for node in &nodes {
        let found = judge::node(node);
        match found.as_slice() {
            [] => say!("{}: {}: no fault found", node.name, node.what()),
            _ => say!("{}: {}:", node.name, node.what()),
        };
        for fault in &found {
            say!("  - {fault}");
        }
        for note in node.notes() {
            say!("    ({note})");
        }
        faults += found.len();
    }
    let between = judge::between(&nodes);
    for fault in &between {
        say!("- {fault}");
    }
    match faults + between.len() {
        0 => Ok(()),
        1 => Err("1 fault found".into()),
        count => Err(format!("{count} faults found")),
    }
}
