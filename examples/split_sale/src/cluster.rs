//! Three servers that form a cluster on the loopback interface, and the program `seckill`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use redis::{cmd, Connection, Value};
use rustix::process::Signal;
use seckill_harness::cluster::{form, SLOTS};
use seckill_harness::process::{command, Process};
use seckill_harness::program::Server;

use crate::{told, Told};

pub const NODES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(30);

/// A cluster without replicas.
pub struct Cluster {
    nodes: Vec<Server>,
    program: PathBuf,
}

impl Cluster {
    /// Starts the cluster. Returns when all slots are served.
    pub fn start(module: &Path, program: PathBuf) -> Told<Cluster> {
        let settings = ["--cluster-enabled", "yes", "--appendonly", "no"];
        let nodes: Told<Vec<Server>> =
            (0..NODES).map(|_| Server::start(module, &settings)).collect();
        let nodes = nodes?;
        // The default bus port of a node.
        let bus = |node: &Server| (node.port(), node.port() + 10_000);
        form(&nodes.iter().map(bus).collect::<Vec<_>>(), NODES)?;
        Ok(Cluster { nodes, program })
    }

    /// A connection to each node.
    pub fn connect(&self) -> Told<Vec<Connection>> {
        self.nodes.iter().map(Server::connect).collect()
    }

    /// The number of the node for each of these keys.
    pub fn nodes_of(&self, keys: &[String]) -> Told<Vec<usize>> {
        let mut conn = self.nodes[0].connect()?;
        let slot = |key| {
            let slot: usize =
                cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut conn).map_err(told)?;
            let owns = |node: &usize| slot < (node + 1) * SLOTS / NODES;
            Ok((0..NODES).find(owns).unwrap_or(NODES - 1))
        };
        keys.iter().map(slot).collect()
    }

    fn split(&self, words: &[&str]) -> Command {
        let mut split = command(self.program.as_os_str());
        split.args(["split", "--redis", &self.nodes[0].url()]).args(words);
        split
    }

    /// Runs `seckill split` and returns its output.
    pub fn run(&self, words: &[&str]) -> Told<String> {
        let output = self.split(words).output();
        let output = output.map_err(|e| format!("{}: {e}", self.program.display()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Runs a balancer during `work`.
    pub fn balanced<T>(&self, name: &str, work: impl FnOnce() -> Told<T>) -> Told<T> {
        let balancer = Process::in_folder(&std::env::temp_dir(), "seckill-balance-")?;
        balancer.spawn(&mut self.split(&["balance", name]))?;
        let done = work()?;
        balancer.signal(Signal::TERM)?;
        let started = Instant::now();
        while balancer.ended().is_none() {
            if started.elapsed() > PATIENCE {
                return Err("The balancer does not stop".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(done)
    }
}

/// `available` and `held` of a reply to PARTS.
pub fn units(parts: &Value) -> Told<(u64, u64)> {
    match parts {
        Value::Array(fields) => match fields.get(4..6) {
            Some([Value::Int(available), Value::Int(held)]) => {
                Ok((*available as u64, *held as u64))
            }
            _ => Err(format!("PARTS says {parts:?}")),
        },
        _ => Err(format!("PARTS says {parts:?}")),
    }
}
