//! `seckill check HOST...`: checks servers before they sell. It only reads.

mod judge;
mod look;

use clap::Args;

use crate::connect::Server;
use look::Node;

/// Which servers.
#[derive(Args)]
pub struct Options {
    /// All nodes, primaries and replicas, as HOST, HOST:PORT or a URL; default: that of --redis;
    /// name the replicas, too: a primary can't see their faults
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
}

/// Prints a sentence for each fault.
///
/// # Errors
/// When there is one.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let nodes: Vec<Node> =
        server.others(&options.hosts)?.iter().map(|target| look::at(target, "/")).collect();
    let mut faults = 0;
    for node in &nodes {
        let found = judge::node(node);
        match found.as_slice() {
            [] => println!("{}: {}: no fault found", node.name, node.what()),
            _ => println!("{}: {}:", node.name, node.what()),
        }
        found.iter().for_each(|fault| println!("  - {fault}"));
        node.notes().iter().for_each(|note| println!("    ({note})"));
        faults += found.len();
    }
    let between = judge::between(&nodes);
    between.iter().for_each(|fault| println!("- {fault}"));
    match faults + between.len() {
        0 => Ok(()),
        1 => Err("1 fault found".into()),
        count => Err(format!("{count} faults found")),
    }
}
