//! A primary dies under load, and its replica is promoted automatically. Replication is
//! asynchronous, so the last changes may be lost, and this test measures how many: on one machine,
//! with a link that broke shortly before, and with buyers who send WAIT. The remaining sale is
//! never oversold.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::buyers::{Run, BUYERS, SALE, STREAM};
use crate::check::{check, Found};
use crate::migration::open_sale;
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::{wait_until, Server};

/// A node without an answer for this many milliseconds counts as dead.
const NODE_TIMEOUT_MS: u64 = 1500;
/// A supply that sells out after the promotion, if no buyer sends WAIT.
const SUPPLY: u64 = 6000;
/// Grants before the primary dies.
const GRANTS: u64 = 2000;
/// Milliseconds that the primary sells after its link to the replica is cut.
const CUT_MS: i64 = 100;

/// Waits for this many more grants, and for the replica if buyers send WAIT.
fn let_sell(run: &Run, grants: u64) {
    let before = run.grants.load(Ordering::SeqCst);
    wait_until("buyers are served", || run.grants.load(Ordering::SeqCst) >= before + grants);
}

/// Waits for this many answers. Each buyer may already have one under way.
fn let_ask(run: &Run, calls: u64) {
    let before = run.calls.load(Ordering::SeqCst) + BUYERS;
    wait_until("buyers are answered", || run.calls.load(Ordering::SeqCst) >= before + calls);
}

/// Cuts the replication link. The primary continues without its replica.
fn cut_link(primary: &Server) {
    // A replica can't reconnect when its user may not send PSYNC.
    assert_eq!(primary.call("ACL SETUSER default -psync -sync"), "+OK");
    assert_eq!(primary.call("CLIENT KILL TYPE replica"), "1");
    let since = primary.clock_ms();
    wait_until("some grants are not on the replica", || primary.clock_ms() >= since + CUT_MS);
}

/// Runs buyers, kills the primary, lets buyers continue, and checks the result.
fn kill_a_primary(what: &str, waits: bool, cuts: bool) -> Found {
    let mut cluster = Cluster::start(NODE_TIMEOUT_MS);
    open_sale(&cluster, &format!("SECKILL.INIT {SALE} {SUPPLY} LIMIT 2 OUTBOX {STREAM}"));
    let owner = cluster.first_owner(cluster.slot(SALE));
    let run = Run::new(cluster.ports(), 0, waits);
    // The new primary has no replica yet, so each WAIT there times out.
    let (before, after) = if waits { (GRANTS / 4, 2 * BUYERS) } else { (GRANTS, 2 * GRANTS) };
    let (mut away_ms, mut per_second) = (0, 0.0);
    let history = run.during(|| {
        let started = Instant::now();
        let_sell(&run, before);
        per_second = before as f64 / started.elapsed().as_secs_f64();
        if cuts {
            cut_link(&cluster.nodes[owner]);
        }
        cluster.nodes[owner].kill9();
        let died = Instant::now();
        let_ask(&run, 1);
        away_ms = died.elapsed().as_millis();
        let_ask(&run, after);
    });
    let mut client = Routed::new(&cluster.ports());
    let found = check(&mut client, &history, 2);
    assert_eq!(cluster.with_port(client.owner), owner + 3, "its replica took over");
    println!(
        "failover, {what}: {per_second:.0} grants/s; {} grants acknowledged, {} of them lost; {} \
         granted but not told; {away_ms} ms without an answer",
        found.told, found.lost, found.unheard
    );
    assert!(found.told as u64 >= before, "it sold before");
    assert!(found.grants as u64 > before, "it sells again");
    found
}

#[test]
#[ignore = "starts six servers: make cluster-test"]
fn a_dead_primary_costs_at_most_what_was_on_its_way() {
    kill_a_primary("no WAIT", false, false);
    let cut = kill_a_primary("no WAIT, link cut 100 ms before", false, true);
    assert!(cut.lost > 0, "the measurement must be able to see a loss");
}

#[test]
#[ignore = "starts six servers: make cluster-test"]
fn who_waits_for_a_replica_loses_nothing() {
    for (what, cuts) in [("WAIT 1", false), ("WAIT 1, link cut 100 ms before", true)] {
        let found = kill_a_primary(what, true, cuts);
        assert_eq!(found.lost, 0, "a grant that a replica had is lost");
    }
}
