//! Servers that form a cluster.

use super::client::{words, Conn};
use super::reply::Reply;
use super::wait::until;

pub const SLOTS: usize = 16_384;

/// The ports of a node: for clients, and for the cluster bus.
pub type Node = (u16, u16);

/// Forms a cluster of these nodes. The first `primaries` nodes share the slots evenly, and each
/// later node is the replica of one of them. Returns when all slots are served and all replicas are
/// in sync.
pub fn form(nodes: &[Node], primaries: usize) -> Result<(), String> {
    for (at, (port, bus)) in nodes.iter().enumerate() {
        tell(*port, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1))?;
        tell(nodes[0].0, &format!("CLUSTER MEET 127.0.0.1 {port} {bus}"))?;
    }
    for (at, (port, _)) in nodes[..primaries].iter().enumerate() {
        let (first, end) = (at * SLOTS / primaries, (at + 1) * SLOTS / primaries);
        tell(*port, &format!("CLUSTER ADDSLOTSRANGE {first} {}", end - 1))?;
    }
    let all = format!("cluster_known_nodes:{}", nodes.len());
    for (port, _) in nodes {
        until("all nodes know each other", || Ok(says(*port, "CLUSTER INFO", &all)))?;
    }
    for ((primary, _), (replica, _)) in nodes.iter().zip(&nodes[primaries..]) {
        let follow = format!("CLUSTER REPLICATE {}", ask(*primary, "CLUSTER MYID")?.text());
        until("the replica is taken", || tell(*replica, &follow).map(|()| true))?;
    }
    nodes.iter().try_for_each(|(port, _)| is_up(*port, nodes.len() - primaries))
}

/// Waits until a node is up and has this many replicas. If it is a replica, it must be in sync.
pub fn is_up(port: u16, replicas: usize) -> Result<(), String> {
    let nodes = || ask(port, "CLUSTER NODES").map_or_else(|error| error, |nodes| nodes.text());
    let up = until("the cluster is up", || {
        let known = nodes().lines().filter(|line| line.contains("slave")).count();
        let is_linked = ["role:master", "master_link_status:up"];
        Ok(known == replicas
            && is_linked.iter().any(|link| says(port, "INFO replication", link))
            && says(port, "CLUSTER INFO", "cluster_state:ok"))
    });
    up.map_err(|why| format!("{why}: {}", nodes()))
}

/// Whether the server's reply contains this text.
pub fn says(port: u16, line: &str, text: &str) -> bool {
    ask(port, line).is_ok_and(|said| said.to_string().contains(text))
}

fn ask(port: u16, line: &str) -> Result<Reply, String> {
    let reply = Conn::open(port).and_then(|mut conn| conn.try_ask(&words(line)));
    match reply.map_err(|error| format!("{line}: {error}"))? {
        Reply::Error(text) => Err(format!("{line}: {}", String::from_utf8_lossy(&text))),
        reply => Ok(reply),
    }
}

fn tell(port: u16, line: &str) -> Result<(), String> {
    ask(port, line).map(drop)
}
