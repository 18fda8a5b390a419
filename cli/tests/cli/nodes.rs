//! Servers with Sentinels above them.

use redis::Connection;
use seckill_harness::program::Server;
use seckill_harness::sentinel::Trio;
use seckill_harness::server::module_path;
use seckill_harness::wait_until;

fn ask(redis: &mut Connection, line: &str) {
    let mut command = redis::Cmd::new();
    command.arg(line.split(' ').collect::<Vec<_>>());
    command.query::<()>(redis).unwrap_or_else(|e| panic!("{line}: {e}"));
}

/// One primary, two replicas, three Sentinels.
pub struct Nodes {
    pub primary: Option<Server>,
    replicas: [Server; 2],
    watched: Trio,
    /// The addresses in the form of `--sentinel`.
    pub sentinels: String,
}

impl Nodes {
    #[track_caller]
    pub fn start() -> Nodes {
        let settings = ["--appendonly", "yes", "--repl-diskless-sync-delay", "0"];
        let start = || Server::start(&module_path(), &settings).expect("Redis");
        let (primary, replicas) = (start(), [start(), start()]);
        for replica in &replicas {
            let line = format!("REPLICAOF 127.0.0.1 {}", primary.port());
            ask(&mut replica.connect().expect("a connection"), &line);
        }
        for replica in &replicas {
            let mut redis = replica.connect().expect("a connection");
            wait_until("the replica follows", || {
                info(&mut redis).contains("master_link_status:up")
            });
        }
        let lines = [
            "sentinel down-after-milliseconds mymaster 1500",
            "sentinel failover-timeout mymaster 10000",
        ];
        let watched = Trio::start(primary.port(), 2, &lines).expect("Sentinels");
        let sentinels = watched.addresses();
        Nodes { primary: Some(primary), replicas, watched, sentinels }
    }

    /// The primary dies, and one of the replicas is promoted. At that moment the old primary is
    /// started again, as a service manager would. Returns connections to the true primary and to
    /// the old one.
    #[track_caller]
    pub fn fail_over(&mut self) -> (Connection, Connection) {
        self.kill_primary();
        let old = self.primary.take().expect("a primary").restart().expect("the old one again");
        let stale = old.connect().expect("a connection");
        self.primary = Some(old);
        (self.promoted(), stale)
    }

    /// The primary dies, and one of the replicas is promoted.
    #[track_caller]
    pub fn kill_primary(&self) {
        self.primary.as_ref().expect("a primary").kill();
        wait_until("a replica is promoted", || self.new_primary().is_some());
    }

    /// The former primary, once all Sentinels name it.
    #[track_caller]
    pub fn promoted(&self) -> Connection {
        let promoted = self.new_primary().expect("which");
        wait_until("all Sentinels name the new one", || {
            self.watched.0.iter().all(|one| one.named() == Ok(promoted.port()))
        });
        promoted.connect().expect("a connection")
    }

    pub fn new_primary(&self) -> Option<&Server> {
        self.replicas.iter().find(|one| role(one) == "master")
    }

    /// Starts the dead server again, with `replicaof` in its configuration.
    #[track_caller]
    pub fn return_as_replica(&mut self) -> &Server {
        let port = self.new_primary().expect("which").port();
        let old = self.primary.take().expect("a primary").restart().expect("the old one again");
        let mut redis = old.connect().expect("a connection");
        ask(&mut redis, &format!("REPLICAOF 127.0.0.1 {port}"));
        self.primary.insert(old)
    }
}

/// The role of a server, read over a new connection: Sentinels close connections when they change a
/// role.
pub fn role(server: &Server) -> String {
    let info = server.connect().ok().and_then(|mut redis| {
        redis::cmd("INFO").arg("replication").query::<String>(&mut redis).ok()
    });
    let info = info.unwrap_or_default();
    info.lines().find_map(|line| line.strip_prefix("role:")).unwrap_or_default().to_owned()
}

fn info(redis: &mut Connection) -> String {
    redis::cmd("INFO").arg("replication").query(redis).expect("INFO")
}
