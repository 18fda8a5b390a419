//! A primary dies under load and its replica takes over by itself. Replication is asynchronous, so
//! a tail may be lost, and this measures it: as it is on one machine, with a link that broke a
//! moment before, and with buyers who WAIT. What remains is never oversold.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::buyers::{Run, BUYERS, SALE, STREAM};
use crate::check::{check, Found};
use crate::migration::open_sale;
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::{wait_until, Server};

/// After this many milliseconds without a sign a node counts as dead.
const NODE_TIMEOUT_MS: u64 = 1500;
/// Few enough to sell out after the replica took over, if no buyer sends WAIT.
const SUPPLY: u64 = 6000;
/// Grants before the primary dies.
const GRANTS: u64 = 2000;
/// How long the primary goes on selling when its link to the replica is cut.
const CUT_MS: i64 = 100;

/// Waits for this many more grants, and until a replica has those of buyers who asked for WAIT.
fn let_sell(run: &Run, grants: u64) {
    let before = run.grants.load(Ordering::SeqCst);
    wait_until("buyers are served", || run.grants.load(Ordering::SeqCst) >= before + grants);
}

/// Waits for this many answers; each buyer may hold one already.
fn let_ask(run: &Run, calls: u64) {
    let before = run.calls.load(Ordering::SeqCst) + BUYERS;
    wait_until("buyers are answered", || run.calls.load(Ordering::SeqCst) >= before + calls);
}

/// Cuts the replication link: the replica gets nothing more, and the primary goes on.
fn cut_link(primary: &Server) {
    // A replica whose user may not send PSYNC can't come back.
    assert_eq!(primary.call("ACL SETUSER default -psync -sync"), "+OK");
    assert_eq!(primary.call("CLIENT KILL TYPE replica"), "1");
    let since = primary.clock_ms();
    wait_until("some grants are not on the replica", || primary.clock_ms() >= since + CUT_MS);
}

/// Lets buyers buy, kills the primary, lets them go on, and checks.
fn kill_a_primary(what: &str, waits: bool, cuts: bool) -> Found {
    let mut cluster = Cluster::start(NODE_TIMEOUT_MS);
    open_sale(&cluster, &format!("SECKILL.INIT {SALE} {SUPPLY} LIMIT 2 OUTBOX {STREAM}"));
    let owner = cluster.first_owner(cluster.slot(SALE));
    let run = Run::new(cluster.ports(), 0, waits);
    // The new primary has no replica yet: each WAIT there is in vain.
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
