//! One sale in 16 parts on three primaries, with two balancers. Buyers crowd at one part after the
//! other, while replication, balancers, slots, connections, a primary and a part fail. At the end
//! each unit is accounted for.

mod buyers;
mod judge;
mod program;
mod repair;
mod view;

use std::num::NonZeroU16;
use std::process::Command;
use std::time::Instant;

use buyers::Crowd;
use program::Balancer;
use view::{moved, read_all, View};

use crate::migration::{ways, How, Move};
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::{wait_until, Server};

const NAME: &str = "drop";
const ID: &str = "drop-1";
const OUTBOX: &str = "orders";
const PARTS: NonZeroU16 = NonZeroU16::new(16).expect("some");
/// Initial units of each part.
const SHARE: i64 = 1_000;
const SUPPLY: i64 = SHARE * PARTS.get() as i64;
const LIMIT: i64 = 2;
const TERMS: &str = "LIMIT 2 HOLD 1000";
const NODE_TIMEOUT_MS: u64 = 2_000;
/// Units granted between two faults: more than the initial units of a part, although half of them
/// come back.
const STAGE: u64 = 3_500;
/// Units granted before a replica freezes, fewer than a part's initial units.
const SOLD_BEFORE: u64 = 500;
/// The part that is lost.
const LOST: usize = 9;

fn key(part: usize) -> String {
    format!("{NAME}:{{p{part}}}")
}

fn stream(part: usize) -> String {
    format!("{OUTBOX}:{{p{part}}}")
}

/// The node that owns a part.
fn node_of(cluster: &Cluster, part: usize) -> usize {
    let mut client = Routed::new(&cluster.ports());
    client.cmd(&format!("EXISTS {}", key(part)));
    cluster.with_port(client.owner)
}

fn views(cluster: &Cluster) -> Vec<View> {
    read_all(&mut Routed::new(&cluster.ports()))
}

fn signal(server: &Server, name: &str) {
    let told = Command::new("kill").args(["-s", name, &server.pid().to_string()]).status();
    assert!(told.expect("kill runs").success());
}

fn balancers(cluster: &Cluster) -> [Balancer; 2] {
    [Balancer::start(&cluster.ports()), Balancer::start(&cluster.ports())]
}

/// Freezes the replica of a primary. Units leave this primary's parts, but no balancer may forward
/// them without the replica. Then both balancers are killed, between SEND and RECEIVE.
fn kill_balancers(cluster: &Cluster, crowd: &Crowd, balancers: [Balancer; 2]) -> [Balancer; 2] {
    let node = node_of(cluster, 0);
    let ours: Vec<usize> =
        (0..PARTS.get().into()).filter(|part| node_of(cluster, *part) == node).collect();
    let hot = (0..PARTS.get().into()).find(|part| !ours.contains(part)).expect("another node");
    let replica = &cluster.nodes[node + 3];
    // Most initial units are sold first, because a balancer that finds a replica missing sends
    // nothing more.
    crowd.allow(STAGE, hot);
    crowd.wait_until_left(STAGE - SOLD_BEFORE);
    signal(replica, "STOP");
    let at_cut = views(cluster);
    let arrived_unsafely = |views: &[View]| {
        ours.iter().any(|from| {
            let peers = views.iter().enumerate();
            peers
                .filter(|(to, _)| to != from)
                .any(|(to, view)| view.received[*from] > at_cut[*from].sent[to])
        })
    };
    let from_ours = |views: &[View]| -> i64 {
        let sent = ours.iter().flat_map(|from| &views[*from].sent).sum::<i64>();
        sent - views
            .iter()
            .flat_map(|view| ours.iter().map(|from| view.received[*from]))
            .sum::<i64>()
    };
    let mut under_way = 0;
    wait_until("units leave parts whose replica is frozen", || {
        under_way = from_ours(&views(cluster));
        under_way > 0
    });
    drop(balancers);
    let left = views(cluster);
    assert!(!arrived_unsafely(&left), "units arrived that no replica knows to have been sent");
    assert!(from_ours(&left) >= under_way, "both were killed before a RECEIVE");
    let next = self::balancers(cluster);
    signal(replica, "CONT");
    crowd.wait_until_granted();
    wait_until("what was under way arrives", || {
        let now = views(cluster);
        ours.iter()
            .all(|from| (0..now.len()).all(|to| now[to].received[*from] >= left[*from].sent[to]))
    });
    println!("parts: balancers killed with {under_way} units under way, which arrived later");
    next
}

/// Moves the slot of a part that sells between nodes, in each way that this server supports.
fn move_slots(cluster: &Cluster, crowd: &Crowd, hot: usize) -> Vec<How> {
    let slot = cluster.slot(&key(hot));
    let ways = ways(&cluster.nodes[0]);
    for how in &ways {
        let owner = node_of(cluster, hot);
        let next = (owner + 1) % 3;
        crowd.allow(STAGE / 4, hot);
        let step = Move {
            cluster,
            slot,
            keys: [&key(hot), &stream(hot)],
            from: &cluster.nodes[owner],
            to: &cluster.nodes[next],
            ids: [cluster.id(owner), cluster.id(next)],
            let_buy: &|| crowd.let_buy(),
        };
        step.make(*how);
        crowd.wait_until_granted();
    }
    ways
}

/// Closes all client connections again and again, also the balancers'.
fn cut_connections(cluster: &Cluster, crowd: &Crowd, hot: usize) {
    crowd.allow(STAGE, hot);
    for time in 0..60 {
        cluster.nodes[time % 3].call("CLIENT KILL TYPE normal");
        crowd.let_buy();
    }
    crowd.wait_until_granted();
}

/// Kills a primary, whose replica is promoted. The killed server comes back as a replica.
fn kill_primary(cluster: &mut Cluster, crowd: &Crowd, hot: usize) -> u128 {
    let node = node_of(cluster, hot);
    crowd.allow(STAGE, hot);
    crowd.wait_until_left(STAGE / 2);
    cluster.nodes[node].kill9();
    let died = Instant::now();
    let heir = &cluster.nodes[node + 3];
    wait_until("its replica takes over", || heir.info("replication", "role") == "master");
    let away_ms = died.elapsed().as_millis();
    let back = &mut cluster.nodes[node];
    back.start_again();
    wait_until("it follows", || {
        back.info("replication", "role") == "slave"
            && back.info("replication", "master_link_status") == "up"
    });
    crowd.wait_until_granted();
    away_ms
}

/// Deletes a part while buyers use it, and repairs it.
fn lose_a_part(cluster: &Cluster, crowd: &Crowd) -> usize {
    crowd.allow(STAGE, LOST);
    crowd.wait_until_left(STAGE / 2);
    let gone = Routed::new(&cluster.ports()).cmd(&format!("DEL {}", key(LOST)));
    assert_eq!(gone.int(), 1);
    crowd.wait_until_missed(20);
    let imported = repair::repair(cluster, LOST);
    crowd.wait_until_granted();
    imported
}

#[test]
#[ignore = "starts six servers: make cluster-test"]
fn each_unit_of_a_split_sale_is_accounted_for() {
    let began = Instant::now();
    let mut cluster = Cluster::start(NODE_TIMEOUT_MS);
    let (supply, parts) = (SUPPLY.to_string(), PARTS.to_string());
    let create = ["create", NAME, "--supply", &supply, "--parts", &parts, "--id", ID];
    let outbox = ["--outbox", OUTBOX];
    let terms: Vec<&str> = TERMS.split(' ').collect();
    program::run(&cluster.ports(), &[&create[..], &outbox, &terms].concat());
    let crowd = Crowd::new(cluster.ports());
    let mut told = String::new();
    let history = crowd.during(|| {
        let first = balancers(&cluster);
        crowd.allow(STAGE, 1);
        crowd.wait_until_granted();
        let second = kill_balancers(&cluster, &crowd, first);
        let ways = move_slots(&cluster, &crowd, 4);
        cut_connections(&cluster, &crowd, 13);
        let away_ms = kill_primary(&mut cluster, &crowd, 2);
        let imported = lose_a_part(&cluster, &crowd);
        crowd.allow(u64::MAX / 2, 11);
        wait_until("all is sold and everybody knows", || {
            let is_over = |view: &View| view.available + view.held + view.elsewhere == 0;
            views(&cluster).iter().all(is_over)
        });
        crowd.wait_until_heard();
        told = format!(
            "slots moved by {ways:?}; {away_ms} ms until a replica took over; {imported} orders \
             imported into a part made again"
        );
        for balancer in second {
            println!("parts: {}", balancer.stop());
        }
    });
    let views = views(&cluster);
    let (received, under_way) = moved(&views);
    let found = judge::judge(&cluster, &history, &views);
    println!(
        "parts: {found}; {received} units received, {under_way} under way; {told}; {}; {} s",
        history.detours,
        began.elapsed().as_secs()
    );
}
