//! Six servers that form a cluster.

use crate::support::cluster::{self, SLOTS};
use crate::support::{Options, Server};

const PRIMARIES: usize = 3;

/// The servers; number `n + 3` is the replica of number `n`.
pub struct Cluster {
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster. Nodes declare another one dead after this many milliseconds.
    #[track_caller]
    pub fn start(node_timeout_ms: u64) -> Cluster {
        let options = Options::new()
            .line("cluster-enabled yes")
            .line(&format!("cluster-node-timeout {node_timeout_ms}"));
        let nodes: Vec<Server> = (0..2 * PRIMARIES).map(|_| options.clone().start()).collect();
        // The default bus port of a node.
        let bus = |node: &Server| (node.port(), node.port() + 10_000);
        cluster::form(&nodes.iter().map(bus).collect::<Vec<_>>(), PRIMARIES).expect("a cluster");
        Cluster { nodes }
    }

    /// The id of a node in the cluster.
    #[track_caller]
    pub fn id(&self, number: usize) -> String {
        self.nodes[number].cmd("CLUSTER MYID").text()
    }

    /// The slot of a key.
    #[track_caller]
    pub fn slot(&self, key: &str) -> i64 {
        self.nodes[0].cmd(&format!("CLUSTER KEYSLOT {key}")).int()
    }

    /// The primary that owned a slot at the start.
    pub fn first_owner(&self, slot: i64) -> usize {
        (0..PRIMARIES).find(|n| (slot as usize) < (n + 1) * SLOTS / PRIMARIES).unwrap_or_default()
    }

    /// The number of the node with this port.
    #[track_caller]
    pub fn with_port(&self, port: u16) -> usize {
        let found = self.nodes.iter().position(|node| node.port() == port);
        found.unwrap_or_else(|| panic!("no node has port {port}"))
    }

    /// Ports of all nodes.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.port()).collect()
    }
}
