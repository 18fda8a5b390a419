//! `seckill check`: each fault is planted in a real server, is found, and is gone after its repair.

use seckill_harness::server::module_path;
use seckill_harness::{cluster, program, wait_until, Conn, Options};

use super::program::seckill;

/// The output of `seckill check` without lines that depend on this machine, and its exit code.
#[track_caller]
fn check(words: &[&str]) -> (Vec<String>, Option<i32>) {
    let mut program = seckill(&[&["check"], words].concat());
    let ran = program.env("SECKILL_REDIS_PASSWORD", "secret").output().expect("it runs");
    let said = String::from_utf8(ran.stdout).expect("text");
    let faults = said.lines().filter_map(|line| line.trim_start().strip_prefix("- "));
    let faults = faults.map(str::to_owned);
    let is_machine = |fault: &String| fault.contains("overcommit") || fault.contains("huge pages");
    (faults.filter(|fault| !is_machine(fault)).collect(), ran.status.code())
}

/// A server without a fault of its own, and its administrator, who logs in as default.
fn well() -> (program::Server, Conn) {
    let settings = ["--appendonly", "yes", "--maxmemory", "1gb", "--requirepass", "secret"];
    let server = program::Server::start(&module_path(), &settings[..4]).expect("a server");
    let mut conn = Conn::open(server.port()).expect("a connection");
    assert_eq!(conn.call("CONFIG SET requirepass secret"), "+OK");
    let mut admin = Conn::open(server.port()).expect("a connection");
    assert_eq!(admin.call("AUTH secret"), "+OK");
    (server, admin)
}

#[test]
fn each_fault_of_a_server_is_found() {
    let (server, mut admin) = well();
    let host = format!("127.0.0.1:{}", server.port());
    let (faults, _) = check(&[&host]);
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(admin.call("SECKILL.INIT large 40000000 HOLD 60000"), "+OK");
    let (faults, code) = check(&[&host]);
    assert!(faults.len() == 1 && faults[0].contains("(large the most)"), "{faults:?}");
    assert_eq!(code, Some(1));
    assert_eq!(admin.call("DEL large"), "1");
    for (plant, mend, said) in [
        ("maxmemory-policy allkeys-lru", "maxmemory-policy noeviction", "it removes sales. Set"),
        ("maxmemory-policy volatile-ttl", "maxmemory-policy noeviction", "that have an expiry"),
        ("maxmemory 0", "maxmemory 1gb", "maxmemory is 0"),
        ("appendfsync no", "appendfsync everysec", "appendfsync is no"),
        ("no-appendfsync-on-rewrite yes", "no-appendfsync-on-rewrite no", "during a rewrite"),
        ("min-replicas-to-write 1", "min-replicas-to-write 0", "min-replicas-max-lag is 10"),
        ("appendonly no", "appendonly yes", "appendonly is no"),
    ] {
        assert_eq!(admin.call(&format!("CONFIG SET {plant}")), "+OK");
        let (faults, code) = check(&[&host]);
        assert!(faults.len() == 1 && faults[0].contains(said), "{plant}: {faults:?}");
        assert_eq!(code, Some(1), "{plant}");
        assert_eq!(admin.call(&format!("CONFIG SET {mend}")), "+OK");
    }
    assert_eq!(check(&[&host]).0, Vec::<String>::new());
    assert!(admin.cmd("SECKILL.APPLY large 99 x").is_error());
    assert!(check(&[&host]).0[0].contains("changes of its primary or its log were refused"));
}

#[test]
fn rights_are_looked_at() {
    let (server, mut admin) = well();
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(admin.call("ACL SETUSER other on >secret ~* &* +@all"), "+OK");
    let as_other = |host: &str| check(&[host, "--redis-user", "other"]).0;
    assert_eq!(as_other(&host), Vec::<String>::new());
    assert_eq!(admin.call("ACL SETUSER default nopass"), "+OK");
    assert!(as_other(&host)[0].contains("user default has no password"));
    let mut other = Conn::open(server.port()).expect("a connection");
    assert_eq!(other.call("AUTH other secret"), "+OK");
    assert_eq!(other.call("ACL SETUSER default off resetpass -@all"), "+OK");
    let is_mended = other.call("INFO server").contains("valkey_version:9")
        || other.call("INFO server").contains("redis_version:8.10");
    let faults = as_other(&host);
    match is_mended {
        true => assert_eq!(faults, Vec::<String>::new()),
        false => assert!(faults[0].contains("user default may not EXEC"), "{faults:?}"),
    }
    assert_eq!(other.call("ACL SETUSER default off resetpass +@all"), "+OK");
    assert_eq!(as_other(&host), Vec::<String>::new());
    assert_eq!(other.call("ACL SETUSER other -config"), "+OK");
    let faults = as_other(&host);
    assert!(faults[0].starts_with("CONFIG GET could not be asked"), "{faults:?}");
}

/// A replica that is connected, one that the primary refuses, and a primary without min-replicas.
#[test]
fn a_pair_that_is_not_in_order_is_found() {
    let (server, mut admin) = well();
    let host = format!("127.0.0.1:{}", server.port());
    let (replica, mut there) = well();
    let second = format!("127.0.0.1:{}", replica.port());
    for conn in [&mut admin, &mut there] {
        assert_eq!(conn.call("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2"), "+OK");
        assert_eq!(conn.call("CONFIG SET masterauth secret"), "+OK");
    }
    let line = format!("REPLICAOF 127.0.0.1 {}", server.port());
    assert_eq!(there.call(&line), "+OK");
    wait_until("it is in sync", || there.call("INFO replication").contains("link_status:up"));
    let both = || check(&[&host, &second]).0;
    assert_eq!(both(), Vec::<String>::new());
    for conn in [&mut admin, &mut there] {
        assert_eq!(conn.call("CONFIG SET min-replicas-to-write 0"), "+OK");
    }
    let faults = both();
    let is_said = |fault: &String| fault.starts_with("min-replicas-to-write is 0");
    assert!(faults.len() == 2 && faults.iter().all(is_said), "{faults:?}");
    for conn in [&mut admin, &mut there] {
        assert_eq!(conn.call("CONFIG SET min-replicas-to-write 1"), "+OK");
    }
    assert_eq!(there.call("CONFIG SET masterauth wrong"), "+OK");
    assert_eq!(admin.call("CLIENT KILL TYPE replica"), "1");
    wait_until("it is cut off", || there.call("INFO replication").contains("link_status:down"));
    assert_eq!(both(), ["this replica is not connected to its primary"]);
}

/// The module is missing on a replica in sync, or on a server; or a server does not answer.
#[test]
fn a_node_without_the_module_is_found() {
    let (server, mut admin) = well();
    let host = format!("127.0.0.1:{}", server.port());
    let primary = format!("127.0.0.1 {}", server.port());
    let settings = ["--replicaof", &primary, "--masterauth", "secret", "--maxmemory", "1gb"];
    let settings = [&settings[..], &["--appendonly", "yes", "--requirepass", "secret"]].concat();
    let replica = Options::of_program(None, &settings[..8]).run().expect("a server");
    let mut there = Conn::open(replica.port()).expect("a connection");
    wait_until("it is in sync", || there.call("INFO replication").contains("link_status:up"));
    assert_eq!(there.call("CONFIG SET requirepass secret"), "+OK");
    assert_eq!(admin.call("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2"), "+OK");
    assert_eq!(there.call("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2"), "+OK");
    wait_until("the replica counts", || {
        admin.call("INFO replication").contains("min_slaves_good_slaves:1")
    });
    assert_eq!(admin.call("SECKILL.INIT sale 9"), "+OK");
    let second = format!("redis://127.0.0.1:{}/", replica.port());
    let (faults, code) = check(&[&host, &second]);
    assert!(faults.len() == 1 && faults[0].contains("this replica copies nothing"), "{faults:?}");
    assert_eq!(code, Some(1));
    let (faults, _) = check(&[&host, "127.0.0.1:1"]);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("nothing listens there"), "{faults:?}");
    assert!(faults[1].contains("has 1 replicas and 0 of them were named"), "{faults:?}");
    assert_eq!(there.call("REPLICAOF NO ONE"), "+OK");
    let (faults, _) = check(&[&second]);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("the module seckill is not loaded: add"), "{faults:?}");
}

/// A replica of a cluster is asked about its sales as a replica is.
#[test]
fn a_cluster_with_its_replicas_is_in_order() {
    let settings = ["--appendonly", "yes", "--maxmemory", "1gb", "--cluster-enabled", "yes"];
    let start = || program::Server::start(&module_path(), &settings).expect("a server");
    let nodes = [start(), start()];
    let ports = nodes.each_ref().map(|node| (node.port(), node.port() + 10_000));
    cluster::form(&ports, 1).expect("a cluster");
    let hosts = nodes.each_ref().map(|node| format!("127.0.0.1:{}", node.port()));
    let mut admin = nodes.each_ref().map(|node| Conn::open(node.port()).expect("a connection"));
    for conn in &mut admin {
        assert_eq!(conn.call("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2"), "+OK");
        assert_eq!(conn.call("ACL SETUSER check on >secret ~* &* +@all"), "+OK");
        assert_eq!(conn.call("ACL SETUSER default resetpass"), "+OK");
    }
    // The server counts its replicas anew once a second.
    wait_until("a replica counts", || admin[0].call("SECKILL.INIT sale 9") == "+OK");
    wait_until("the replica has it", || admin[1].call("DBSIZE") == "1");
    let (faults, _) = check(&[&hosts[0], &hosts[1], "--redis-user", "check"]);
    assert_eq!(faults, Vec::<String>::new());
}
