//! A cluster of three primaries with replicas, and its operations: moving slots, failover.

use std::path::Path;

use seckill_harness::cluster::{self, says};
use seckill_harness::launch::free_port;
use seckill_harness::program::Server;
use seckill_harness::wait::until;

use crate::place::{run, tell, Hanging, On, Place};
use crate::proxy::Troubles;

const PRIMARIES: usize = 3;
const NODE_TIMEOUT_MS: &str = "5000";
/// A port without a server.
const NOBODY: u16 = 0;

/// Waits until the only replica of this server has all changes. No other client may write then.
pub(crate) fn catches_up(port: u16) -> Result<(), String> {
    until("the replica has all", || {
        let info: String = run(port, "INFO replication")?;
        let field = |name: &str| Some(info.lines().find_map(|line| line.split_once(name))?.1);
        let told = field("master_repl_offset:");
        let has = field(",offset=").and_then(|rest| rest.split(',').next());
        Ok(told.is_some() && told == has)
    })
}

/// Whether this server knows a primary with the slot, and `name` is in its line of CLUSTER NODES.
fn names_owner(server: &Server, name: &str, slot: usize) -> bool {
    let has = |line: &str| {
        line.split(' ').skip(8).any(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let ends = (first.parse::<usize>(), last.parse::<usize>());
            matches!(ends, (Ok(first), Ok(last)) if (first..=last).contains(&slot))
        })
    };
    let nodes: String = run(server.port(), "CLUSTER NODES").unwrap_or_default();
    nodes.lines().any(|line| line.contains("master") && line.contains(name) && has(line))
}

impl Place {
    /// Clients see the proxies' ports; nodes see each other's bus ports.
    ///
    /// # Errors
    /// A message that says what does not start.
    pub fn cluster(module: &Path) -> Result<Place, String> {
        let troubles = Troubles::default();
        let (mut servers, mut proxies, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2 * PRIMARIES {
            let proxy = troubles.link()?;
            let bus = free_port();
            let settings = [
                ["--cluster-enabled", "yes"],
                ["--repl-diskless-sync-delay", "0"],
                ["--cluster-node-timeout", NODE_TIMEOUT_MS],
                ["--cluster-announce-ip", "127.0.0.1"],
                ["--cluster-announce-port", &proxy.port().to_string()],
                ["--cluster-port", &bus.to_string()],
            ];
            let server = Server::start(module, &settings.concat())?;
            proxy.lead_to(server.port());
            nodes.push((server.port(), bus));
            servers.push(server);
            proxies.push(proxy);
        }
        cluster::form(&nodes, PRIMARIES)?;
        let place = Place::of(On::Cluster, servers, proxies, troubles);
        place.settles().map(|()| place)
    }

    /// Waits until all nodes are up and each primary has its replica.
    pub(crate) fn settles(&self) -> Result<(), String> {
        for server in &self.servers {
            cluster::is_up(server.port(), PRIMARIES)?;
        }
        // A moved slot has raised the epoch of one node; a promotion raises it again.
        until("all nodes have one epoch", || {
            let epochs = self.servers.iter().map(|server| {
                let info: String = run(server.port(), "CLUSTER INFO").unwrap_or_default();
                let line = info.lines().find(|line| line.starts_with("cluster_current_epoch"));
                line.map(str::to_owned)
            });
            Ok(epochs.collect::<std::collections::BTreeSet<_>>().len() == 1)
        })
    }

    /// # Errors
    /// The server's error.
    pub(crate) fn slot(&self, key: &str) -> Result<usize, String> {
        run(self.servers[0].port(), &format!("CLUSTER KEYSLOT {key}"))
    }

    /// The number of the node that owns the slot.
    ///
    /// # Errors
    /// A message if no node owns it.
    pub(crate) fn owner(&self, slot: usize) -> Result<usize, String> {
        let owns = |server: &Server| names_owner(server, "myself,master", slot);
        let found = self.servers.iter().position(owns);
        found.ok_or_else(|| format!("nobody has the slot {slot}"))
    }

    fn id(&self, node: usize) -> Result<String, String> {
        run(self.servers[node].port(), "CLUSTER MYID")
    }

    /// The next primary, to which the slot moves.
    fn taker(&self, owner: usize) -> Result<usize, String> {
        let is_primary =
            |node: &usize| says(self.servers[*node].port(), "INFO replication", "role:master");
        let count = self.servers.len();
        let found = (1..count).map(|step| (owner + step) % count).find(is_primary);
        found.ok_or_else(|| "there is no other primary".to_owned())
    }

    pub(crate) fn open_slot(&self, key: &str) -> Result<(), String> {
        let slot = self.slot(key)?;
        let from = self.owner(slot)?;
        let to = self.taker(from)?;
        for (node, does, other) in [(to, "IMPORTING", from), (from, "MIGRATING", to)] {
            let command = format!("CLUSTER SETSLOT {slot} {does} {}", self.id(other)?);
            tell(self.servers[node].port(), &command)?;
        }
        Ok(())
    }

    pub(crate) fn carry(&self, keys: &[String], slot: usize) -> Result<(), String> {
        let from = self.owner(slot)?;
        let to = self.servers[self.taker(from)?].port();
        let command = format!("MIGRATE 127.0.0.1 {to}  0 5000 KEYS {}", keys.join(" "));
        tell(self.servers[from].port(), &command)
    }

    pub(crate) fn close_slot(&self, key: &str) -> Result<(), String> {
        let slot = self.slot(key)?;
        let from = self.owner(slot)?;
        let to = self.taker(from)?;
        let ask = format!("CLUSTER GETKEYSINSLOT {slot} 100");
        loop {
            let keys: Vec<String> = run(self.servers[from].port(), &ask)?;
            if keys.is_empty() {
                break;
            }
            self.carry(&keys, slot)?;
        }
        let settle = format!("CLUSTER SETSLOT {slot} NODE {}", self.id(to)?);
        [to, from].into_iter().try_for_each(|node| tell(self.servers[node].port(), &settle))
    }

    /// The only replica of a node.
    fn replica_of(&self, node: usize) -> Result<usize, String> {
        let id = self.id(node)?;
        let nodes: String = run(self.servers[node].port(), "CLUSTER NODES")?;
        let line = nodes.lines().find(|line| line.contains("slave") && line.contains(&id));
        let replica = line.and_then(|line| line.split(' ').next()).ok_or("it has no replica")?;
        let found = (0..self.servers.len()).find(|at| self.id(*at).is_ok_and(|id| id == replica));
        found.ok_or_else(|| "its replica is none of ours".to_owned())
    }

    /// Freezes the node with this key, and promotes its replica, which has all data. Returns when
    /// all other nodes know. If the node is `gone`, its connections with clients end, too.
    pub(crate) fn lose(&self, key: &str, gone: bool) -> Result<Hanging<'_>, String> {
        self.settles()?;
        let slot = self.slot(key)?;
        let old = self.owner(slot)?;
        let new = self.replica_of(old)?;
        let id = self.id(new)?;
        catches_up(self.servers[old].port())?;
        let hanging = Hanging { server: &self.servers[old], link: Some(&self.proxies[old]) };
        hanging.server.freeze()?;
        if gone {
            self.proxies[old].turn_to(NOBODY);
        }
        let promoted = tell(self.servers[new].port(), "CLUSTER FAILOVER TAKEOVER");
        let others = || (0..self.servers.len()).filter(|node| *node != old);
        let known = promoted.and_then(|()| {
            until("the other nodes know the new primary", || {
                Ok(others().all(|node| names_owner(&self.servers[node], &id, slot)))
            })
        });
        if known.is_err() {
            hanging.wakes();
        }
        known.map(|()| hanging)
    }

    /// Promotes the replica of the node with this key, without a loss.
    pub(crate) fn promote(&self, key: &str) -> Result<(), String> {
        self.settles()?;
        let slot = self.slot(key)?;
        let owner = self.owner(slot)?;
        let port = self.servers[self.replica_of(owner)?].port();
        // A replica that was promoted a short time ago is not elected again, because old votes
        // count. So its primary is paused until the replica has all data, and then it is promoted
        // by TAKEOVER.
        let old = self.servers[owner].port();
        tell(old, "CLIENT PAUSE 20000 WRITE")?;
        catches_up(old)?;
        tell(port, "CLUSTER FAILOVER TAKEOVER")?;
        until("it has the slot", || {
            let is_replica = says(old, "INFO replication", "role:slave");
            Ok(is_replica && self.servers[self.owner(slot)?].port() == port)
        })?;
        tell(old, "CLIENT UNPAUSE")?;
        self.settles()
    }
}
