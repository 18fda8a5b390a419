//! A primary that failed and is started again while Sentinels look after it.

use redis::Connection;
use seckill_harness::program::Server;
use seckill_harness::sentinel::Trio;
use seckill_harness::server::module_path;
use seckill_harness::wait_until;

use super::killed::{ask, assert_equal, is_done, writer};
use super::shop::Shop;
use crate::program::{seckill, Running};

const KEY: &str = "sale:stale";
const STREAM: &str = "sale:stale:orders";

/// Long enough for a failover, which takes 3 s, and over before Sentinels demote a primary that came
/// back, which is 8 s later at the earliest.
const HOLD_MS: u64 = 8_000;

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_believes_no_stale_primary() {
    believes_no_stale_primary(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_believes_no_stale_primary() {
    believes_no_stale_primary(&Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_believes_no_stale_primary() {
    believes_no_stale_primary(&Shop::with_postgres());
}

#[test]
fn a_name_that_no_sentinel_knows_and_sentinels_that_are_away_are_told() {
    let nodes = Nodes::start();
    let base = ["split", "--sentinel", &nodes.sentinels];
    let unknown = seckill(&base).args(["--sentinel-master", "other", "status", "x"]).output();
    let unknown = unknown.expect("it runs");
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(1) && said.contains("No such master"), "{said}");
    let known = seckill(&base).args(["status", "x"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&known.stderr).into_owned();
    assert!(known.status.code() == Some(1) && said.contains("there is no such sale"), "{said}");
}

/// One primary, two replicas, three Sentinels.
struct Nodes {
    primary: Option<Server>,
    replicas: [Server; 2],
    watched: Trio,
    /// As `--sentinel` takes them.
    sentinels: String,
}

impl Nodes {
    #[track_caller]
    fn start() -> Nodes {
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

    /// The primary dies, one of the replicas is promoted, and at that moment the old one is started
    /// again as a service starts it. Gives connections to the true primary and to the old one.
    #[track_caller]
    fn fail_over(&mut self) -> (Connection, Connection) {
        let old = self.primary.take().expect("a primary");
        old.kill();
        let mut promoted = None;
        wait_until("a replica is promoted", || {
            promoted = self.replicas.iter().position(|one| role(one) == "master");
            promoted.is_some()
        });
        let old = old.restart().expect("the old primary again");
        let stale = old.connect().expect("a connection");
        self.primary = Some(old);
        let promoted = promoted.expect("which");
        let true_port = self.replicas[promoted].port();
        wait_until("all Sentinels name the new one", || {
            self.watched.0.iter().all(|one| one.named() == Ok(true_port))
        });
        (self.replicas[promoted].connect().expect("a connection"), stale)
    }
}

/// Asked by a new connection: Sentinels close those of a server whose role they change.
fn role(server: &Server) -> String {
    let info = server.connect().ok().and_then(|mut redis| {
        redis::cmd("INFO").arg("replication").query::<String>(&mut redis).ok()
    });
    let info = info.unwrap_or_default();
    info.lines().find_map(|line| line.strip_prefix("role:")).unwrap_or_default().to_owned()
}

fn info(redis: &mut Connection) -> String {
    redis::cmd("INFO").arg("replication").query(redis).expect("INFO")
}

fn held(redis: &mut Connection) -> u64 {
    let redis::Value::BulkString(text) = ask(redis, &format!("SECKILL.STATUS {KEY} JSON")) else {
        panic!("no status");
    };
    let status: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    status["held"].as_u64().expect("a number")
}

fn grab(redis: &mut Connection, users: std::ops::RangeInclusive<u64>) {
    for user in users {
        ask(redis, &format!("SECKILL.GRAB {KEY} u{user} REQ r{user}"));
    }
}

fn confirm(redis: &mut Connection, users: std::ops::RangeInclusive<u64>) {
    for user in users {
        ask(redis, &format!("SECKILL.CONFIRM {KEY} u{user}"));
    }
}

/// Forty hold and twenty of them pay; the primary dies. On the new one fifteen others pay and
/// thirty more buy, while on the old one, which came back, their holds run out and somebody grabs.
fn believes_no_stale_primary(shop: &Shop) {
    let mut nodes = Nodes::start();
    let mut redis = nodes.primary.as_ref().expect("a primary").connect().expect("a connection");
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 500 HOLD {HOLD_MS} OUTBOX {STREAM}"));
    let mut program = seckill(&["orders", "--database", &shop.database_url()]);
    program.args(["--stream", STREAM, "--sentinel", &nodes.sentinels, "--name", "w"]);
    let reader = Running::start(program);
    wait_until("it reads", || is_done(&mut redis, STREAM));
    grab(&mut redis, 1..=40);
    confirm(&mut redis, 1..=20);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    // So that what is about to be lost does not depend on how far the replicas are.
    ask(&mut redis, "WAIT 2 5000");

    let (mut redis, mut stale) = nodes.fail_over();
    confirm(&mut redis, 21..=35);
    grab(&mut redis, 41..=70);
    confirm(&mut redis, 41..=70);
    wait_until("the holds run out on the old one", || held(&mut stale) == 0);
    grab(&mut stale, 91..=95);
    let old = nodes.primary.as_ref().expect("the old one");
    assert_eq!(role(old), "master", "it was demoted too early for this test");
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_right(shop, &mut redis);

    // Who is sent to the old one, and has nobody to ask, stops.
    let (code, said) = super::ended(writer(&old.url(), &shop.database_url(), KEY, "misled"));
    assert!(code == Some(1) && said.contains("an old primary"), "{said}");
    assert_right(shop, &mut redis);

    // Sentinels make it a replica, and nothing changes.
    wait_until("it is demoted", || role(old) == "slave");
    grab(&mut redis, 71..=80);
    confirm(&mut redis, 71..=80);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_right(shop, &mut redis);
    assert_eq!(reader.end("TERM").code(), Some(0));
}

/// The database is where the true primary is, and takes nothing for lost.
#[track_caller]
fn assert_right(shop: &Shop, redis: &mut Connection) {
    assert_equal(shop, redis, KEY);
    for state in ["SOLD", "CLOSED", "HELD", "EXPIRED"] {
        assert_eq!(shop.lost(state), Vec::<Vec<u8>>::new(), "lost and {state}");
    }
}
