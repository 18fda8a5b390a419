//! Six servers that form a cluster.

use crate::support::{wait_until, Options, Server};

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// The servers; number `n + 3` is the replica of number `n`.
pub struct Cluster {
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster whose nodes take another one for dead after this many milliseconds.
    #[track_caller]
    pub fn start(node_timeout_ms: u64) -> Cluster {
        let options = Options::new()
            .line("cluster-enabled yes")
            .line(&format!("cluster-node-timeout {node_timeout_ms}"));
        let nodes: Vec<Server> = (0..2 * PRIMARIES).map(|_| options.clone().start()).collect();
        let cluster = Cluster { nodes };
        for (number, node) in cluster.nodes.iter().enumerate() {
            assert_eq!(node.call(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1)), "+OK");
            let meet = format!("CLUSTER MEET 127.0.0.1 {}", node.port());
            assert_eq!(cluster.nodes[0].call(&meet), "+OK");
        }
        for number in 0..PRIMARIES {
            let range = number * SLOTS / PRIMARIES..(number + 1) * SLOTS / PRIMARIES;
            let line = format!("CLUSTER ADDSLOTSRANGE {} {}", range.start, range.end - 1);
            assert_eq!(cluster.nodes[number].call(&line), "+OK");
        }
        cluster.attach_replicas();
        cluster
    }

    fn attach_replicas(&self) {
        let count = format!("cluster_known_nodes:{}", self.nodes.len());
        self.wait_for("all nodes know each other", |node| {
            node.cmd("CLUSTER INFO").text().contains(&count)
        });
        for number in 0..PRIMARIES {
            let id = self.id(number);
            let replica = &self.nodes[number + PRIMARIES];
            wait_until("the replica is taken", || {
                replica.call(&format!("CLUSTER REPLICATE {id}")) == "+OK"
            });
        }
        for replica in &self.nodes[PRIMARIES..] {
            wait_until("the replica follows", || {
                replica.info("replication", "role") == "slave"
                    && replica.info("replication", "master_link_status") == "up"
            });
        }
        self.wait_for("the cluster is up and knows its replicas", |node| {
            let nodes = node.cmd("CLUSTER NODES").text();
            let replicas = nodes.lines().filter(|line| line.contains("slave")).count();
            replicas == PRIMARIES && node.cmd("CLUSTER INFO").text().contains("cluster_state:ok")
        });
    }

    fn wait_for(&self, what: &str, condition: impl Fn(&Server) -> bool) {
        for node in &self.nodes {
            wait_until(what, || condition(node));
        }
    }

    /// The name that the cluster gives a node.
    #[track_caller]
    pub fn id(&self, number: usize) -> String {
        self.nodes[number].cmd("CLUSTER MYID").text()
    }

    /// The slot of a key.
    #[track_caller]
    pub fn slot(&self, key: &str) -> i64 {
        self.nodes[0].cmd(&format!("CLUSTER KEYSLOT {key}")).int()
    }

    /// The primary that was given a slot at the start.
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
