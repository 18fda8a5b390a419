//! The problems of a server before a sale, one message each.

use std::collections::BTreeSet;

use super::look::{Node, Sale};

/// Clocks that differ by more than this open a sale at different moments after a failover, in ms.
const CLOCKS_APART_MS: i64 = 500;

/// Longest time in seconds for which a primary should sell while it is cut off from its replicas.
const LAG_MAX_S: u64 = 5;

/// Bytes of memory that a grant takes with ids of 16 bytes, as measured by `make bench`
/// (install.md, "How much memory"). `GRANT` is the grant with a REQ, `HOLD` the addition for a
/// hold, `ENTRY` an outbox entry.
const GRANT: u64 = 77;
const HOLD: u64 = 40;
const ENTRY: u64 = 323;

/// The faults of one node.
pub fn node(node: &Node) -> Vec<String> {
    if let Some(why) = &node.away {
        return vec![why.clone()];
    }
    let mut faults = Vec::new();
    module(node, &mut faults);
    memory(node, &mut faults);
    log(node, &mut faults);
    users(node, &mut faults);
    replicas(node, &mut faults);
    machine(node, &mut faults);
    faults.extend(node.unread.iter().cloned());
    faults
}

fn module(node: &Node, faults: &mut Vec<String>) {
    let here = env!("CARGO_PKG_VERSION");
    match node.info("seckill_version") {
        "" if node.info.is_empty() => {}
        "" if node.info("role") == "slave" => faults.push(
            "the module seckill is not loaded: this replica copies nothing of a sale, and WAIT \
             counts it all the same. Add loadmodule to its configuration and restart it"
                .into(),
        ),
        "" => faults.push(
            "the module seckill is not loaded: add loadmodule to its configuration and restart it"
                .into(),
        ),
        there if there != here => faults
            .push(format!("the module is {there}, this program {here}: upgrade the older one")),
        _ => {}
    }
    for (field, what) in [
        ("seckill_apply_refused", "changes of its primary or its log were refused"),
        ("seckill_outbox_refused", "outbox entries were left out"),
    ] {
        let count = node.number(field);
        if count > 0 {
            faults.push(format!("{count} {what}: sync this node anew before it is promoted"));
        }
    }
}

fn memory(node: &Node, faults: &mut Vec<String>) {
    match node.info("maxmemory_policy") {
        "" | "noeviction" => {}
        policy if policy.starts_with("allkeys-") => faults.push(format!(
            "maxmemory-policy is {policy}: when memory is short it removes sales. Set noeviction"
        )),
        policy => faults.push(format!(
            "maxmemory-policy is {policy}: when memory is short it removes sales that have an \
             expiry. Set noeviction"
        )),
    }
    if node.info.is_empty() {
        return;
    }
    let (used, limit) = (node.number("used_memory"), node.number("maxmemory"));
    if limit == 0 {
        faults.push(
            "maxmemory is 0: the system ends the server when memory runs out, instead of the \
             server refusing new grants"
                .into(),
        );
    }
    let need: u64 = node.sales.iter().map(bytes).sum();
    if limit > 0 && used + need > limit {
        let largest = node.sales.iter().max_by_key(|sale| bytes(sale));
        let name = largest.map_or("", |sale| sale.name.as_str());
        faults.push(format!(
            "memory: {} are used, what is still to be sold takes about {} more ({name} the most), \
             and maxmemory is {}: raise it, or trim outboxes that are read",
            mib(used),
            mib(need),
            mib(limit)
        ));
    }
}

/// Bytes that the remaining units will take, one grant for each unit.
fn bytes(sale: &Sale) -> u64 {
    // A hold that is paid writes a second entry.
    let entries = u64::from(sale.outbox) * (1 + u64::from(sale.hold));
    sale.available * (GRANT + u64::from(sale.hold) * HOLD + entries * ENTRY)
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn log(node: &Node, faults: &mut Vec<String>) {
    let mut set = |name: &str, wrong: &str, sentence: &str| {
        if node.config(name) == wrong {
            faults.push(format!("{name} is {wrong}: {sentence}"));
        }
    };
    // If only the file sets appendonly, a server with data in a snapshot starts empty.
    let sentence =
        "a restart loses all grants since the last snapshot. CONFIG SET appendonly yes, \
        while it runs, and only then the same in its configuration";
    set("appendonly", "no", sentence);
    set("appendfsync", "no", "a power failure loses what the system had not written yet");
    set("no-appendfsync-on-rewrite", "yes", "nothing is forced to the disk during a rewrite");
    let threads = node.config("io-threads");
    let replies_early = node.info("valkey_version").is_empty() && redis_version(node) >= (8, 2);
    if node.config("appendonly") == "yes" && !matches!(threads, "" | "1") && replies_early {
        faults.push(format!(
            "io-threads is {threads}: this server may send a reply before it writes the log, so a \
             crash loses grants that were answered, also with appendfsync always. Set io-threads 1"
        ));
    }
    for (field, what) in [
        ("aof_last_write_status", "the log could not be written"),
        ("aof_last_bgrewrite_status", "the log could not be rewritten"),
        ("rdb_last_bgsave_status", "the last snapshot could not be written"),
    ] {
        if node.info(field) == "err" {
            faults.push(format!("{what}: look at the disk and the server's log"));
        }
    }
    let delayed = node.number("aof_delayed_fsync");
    if delayed > 0 {
        faults.push(format!(
            "the disk was too slow {delayed} times: a crash of the process can lose more than a \
             second of grants then"
        ));
    }
}

fn users(node: &Node, faults: &mut Vec<String>) {
    let Some((flags, commands)) = &node.default_user else { return };
    let has = |flag: &str| flags.iter().any(|one| one == flag);
    if has("on") && has("nopass") {
        faults.push(
            "user default has no password: everybody who reaches the port may do all that it may. \
             Give it one, or take the users of redis.conf.example"
                .into(),
        );
    }
    // The AOF is replayed as user default. A transaction is dropped if this user may not call EXEC.
    let may_exec = commands.contains("+@all") || commands.contains("+exec");
    let logs = node.config("appendonly") == "yes";
    if logs && !may_exec && !is_replayed_whatever(node) {
        faults.push(
            "user default may not EXEC: this server drops every transaction of its log at a \
             restart, sales among them. Write `user default off resetpass ~* &* +@all`: nobody can \
             log in as it"
                .into(),
        );
    }
}

/// Whether the server replays its AOF without checking rights (redis 14545, valkey 3984). The
/// oldest versions seen to do so are Redis 8.6.2 and Valkey 9.1.2.
fn is_replayed_whatever(node: &Node) -> bool {
    match node.info("valkey_version") {
        "" => redis_version(node) >= (8, 6),
        valkey => version(valkey) >= (9, 1),
    }
}

/// Major and minor version.
fn redis_version(node: &Node) -> (u32, u32) {
    version(node.info("redis_version"))
}

fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn replicas(node: &Node, faults: &mut Vec<String>) {
    if node.info("role") == "slave" && node.info("master_link_status") != "up" {
        faults.push("this replica is not connected to its primary".into());
    }
    let wanted = node.config("min-replicas-to-write").parse::<u64>();
    let lag = node.config("min-replicas-max-lag").parse::<u64>().unwrap_or_default();
    let has_replicas = node.number("connected_slaves") > 0 || node.info("role") == "slave";
    match wanted {
        Ok(0) if has_replicas => faults.push(
            "min-replicas-to-write is 0: a primary that is cut off from its replicas goes on \
             selling what the new primary sells again. Set 1, on every node"
                .into(),
        ),
        Ok(wanted) if wanted > 0 && lag > LAG_MAX_S => faults.push(format!(
            "min-replicas-max-lag is {lag}: a primary that is cut off sells on for so many \
             seconds. Set 2"
        )),
        _ => {}
    }
}

fn machine(node: &Node, faults: &mut Vec<String>) {
    let Some(machine) = &node.machine else { return };
    // By default Redis switches huge pages off for its own process.
    let is_off = node.config("disable-thp") == "yes";
    if machine.huge_pages.as_deref() == Some("always") && !is_off {
        faults.push(
            "transparent huge pages are on: a snapshot copies 2 MB for each byte that changes, and \
             buyers wait. echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
                .into(),
        );
    }
    match machine.overcommit.as_deref() {
        None | Some("1") => {}
        Some(other) => faults.push(format!(
            "vm.overcommit_memory is {other}: a snapshot or a rewrite can fail although there is \
             memory. sysctl vm.overcommit_memory=1"
        )),
    }
}

/// Problems of the servers together.
pub fn between(nodes: &[Node]) -> Vec<String> {
    let mut faults = Vec::new();
    let there: Vec<&Node> = nodes.iter().filter(|node| node.away.is_none()).collect();
    let known = there.iter().filter_map(|node| Some((node, node.clock?)));
    let clocks: Vec<(&&Node, (i64, i64))> = known.collect();
    let first = clocks.iter().min_by_key(|(_, (ahead, _))| *ahead);
    let last = clocks.iter().max_by_key(|(_, (ahead, _))| *ahead);
    if let (Some((behind, (low, wrong_low))), Some((ahead, (high, wrong_high)))) = (first, last) {
        if high - low - wrong_low - wrong_high > CLOCKS_APART_MS {
            faults.push(format!(
                "the clock of {} is {} ms ahead of that of {}: sales open and holds end at other \
                 moments after a failover. Start chrony or ntpd",
                ahead.name,
                high - low,
                behind.name
            ));
        }
        let here = clocks.iter().max_by_key(|(_, (ahead, _))| ahead.abs());
        if let (Some((node, (ahead, wrong))), true) = (here, faults.is_empty()) {
            if ahead.abs() - wrong > CLOCKS_APART_MS {
                faults.push(format!(
                    "the clock of {} differs from this machine's by {} ms",
                    node.name,
                    ahead.abs()
                ));
            }
        }
    }
    let mut differ = |what: &str, values: BTreeSet<String>| {
        if values.len() > 1 {
            let values: Vec<String> = values.into_iter().collect();
            faults.push(format!("{what} differ between nodes: {}", values.join(", ")));
        }
    };
    let modules = there.iter().map(|node| node.info("seckill_version").to_owned());
    differ("versions of the module", modules.filter(|version| !version.is_empty()).collect());
    let versions = there.iter().map(|node| node.what());
    let servers = versions.filter_map(|what| Some(what.split(',').next()?.to_owned()));
    differ("versions of the server", servers.collect());
    let names = there.iter().flat_map(|node| node.config.keys());
    let settings = names.filter(|name| name.starts_with("seckill.") || *name == "appendfsync");
    for name in settings.cloned().collect::<BTreeSet<_>>() {
        let values = there.iter().filter_map(|node| node.config.get(&name).cloned());
        differ(&format!("values of {name}"), values.collect());
    }
    for primary in there.iter().filter(|node| node.info("role") == "master") {
        let count = primary.number("connected_slaves") as usize;
        let known = there.iter().filter(|node| is_replica_of(node, primary)).count();
        if count > known && nodes.len() > 1 {
            faults.push(format!(
                "{} has {count} replicas and {known} of them were named here: name all, a primary \
                 can't see whether they have the module",
                primary.name
            ));
        }
    }
    faults
}

/// Whether `node` is a replica of `primary`, by the id of what both replicate: many primaries have
/// the same port.
fn is_replica_of(node: &Node, primary: &Node) -> bool {
    node.info("role") == "slave" && node.info("master_replid") == primary.info("master_replid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::look::{self, Machine};

    /// A primary without a fault, except for `change`.
    fn changed(change: impl Fn(&mut Node)) -> Vec<String> {
        let mut one = Node { name: "a".into(), clock: Some((0, 1)), ..Node::default() };
        let pairs = |all: &[(&str, &str)]| {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        one.info = pairs(&[
            ("redis_version", "7.0.15"),
            ("role", "master"),
            ("maxmemory_policy", "noeviction"),
            ("maxmemory", "1073741824"),
            ("used_memory", "1048576"),
            ("seckill_version", env!("CARGO_PKG_VERSION")),
        ]);
        one.config = pairs(&[("appendonly", "yes"), ("disable-thp", "no")]);
        one.default_user = Some((vec!["off".into()], "+@all".into()));
        let quiet = Some("1".to_owned());
        one.machine = Some(Machine { huge_pages: Some("madvise".into()), overcommit: quiet });
        change(&mut one);
        [node(&one), between(&[one])].concat()
    }

    #[track_caller]
    fn only(said: &str, change: impl Fn(&mut Node)) {
        let faults = changed(change);
        assert!(faults.len() == 1 && faults[0].contains(said), "{said}: {faults:?}");
    }

    /// Problems that a test can't plant in a server: of the system, of versions, of clocks.
    #[test]
    fn each_fault_of_a_machine_is_found() {
        assert_eq!(changed(|_| {}), Vec::<String>::new());
        let folder = tempfile::tempdir().expect("a folder");
        for (file, text) in [
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            ("proc/sys/vm/overcommit_memory", "0\n"),
        ] {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().expect("its folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        let planted = || look::machine(folder.path());
        let overcommit = |node: &mut Node| {
            node.machine = Some(Machine { huge_pages: None, ..planted() });
        };
        only("vm.overcommit_memory is 0", overcommit);
        let pages = |node: &mut Node| {
            node.machine = Some(Machine { overcommit: None, ..planted() });
        };
        only("transparent huge pages are on", pages);
        let off = |node: &mut Node| {
            pages(node);
            node.config.insert("disable-thp".into(), "yes".into());
        };
        assert_eq!(changed(off), Vec::<String>::new());
        only("the clock of a differs from this machine's by 900 ms", |node| {
            node.clock = Some((-900, 5));
        });
        only("the module is 0.0.9", |node| {
            node.info.insert("seckill_version".into(), "0.0.9".into());
        });
        only("3 outbox entries were left out", |node| {
            node.info.insert("seckill_outbox_refused".into(), "3".into());
        });
        for (field, said) in [
            ("aof_last_write_status", "the log could not be written"),
            ("aof_last_bgrewrite_status", "the log could not be rewritten"),
            ("rdb_last_bgsave_status", "the last snapshot could not be written"),
        ] {
            only(said, |node| drop(node.info.insert(field.into(), "err".into())));
        }
        only("the disk was too slow 2 times", |node| {
            node.info.insert("aof_delayed_fsync".into(), "2".into());
        });
    }

    #[test]
    fn nodes_are_compared() {
        let of = |name: &str, version: &str, ahead: i64| {
            let mut node = Node { name: name.into(), clock: Some((ahead, 1)), ..Node::default() };
            node.info.insert("seckill_version".into(), version.into());
            node.config.insert("seckill.sweep-batch".into(), version.len().to_string());
            node
        };
        let faults = between(&[of("a", "0.1.0", 0), of("b", "0.10.0", 700)]);
        for said in ["the clock of b is 700 ms ahead", "0.1.0, 0.10.0", "seckill.sweep-batch"] {
            assert!(faults.iter().any(|fault| fault.contains(said)), "{said}: {faults:?}");
        }
        assert_eq!(faults.len(), 3, "{faults:?}");
    }

    /// Two primaries and all replicas have one port. The replica of the second one is not named.
    #[test]
    fn a_replica_is_known_by_what_it_replicates() {
        let of = |name: &str, role: &str, replid: &str| {
            let mut node = Node { name: name.into(), ..Node::default() };
            for (field, value) in [
                ("role", role),
                ("master_replid", replid),
                ("connected_slaves", "1"),
                ("tcp_port", "6379"),
                ("master_port", "6379"),
            ] {
                node.info.insert(field.into(), value.into());
            }
            node
        };
        let faults = between(&[
            of("first", "master", "1a"),
            of("second", "master", "2b"),
            of("replica", "slave", "1a"),
        ]);
        assert!(faults.len() == 1, "{faults:?}");
        assert!(faults[0].starts_with("second has 1 replicas and 0 of them"), "{faults:?}");
    }

    #[test]
    fn rights_of_default_matter_where_the_log_is_loaded_with_them() {
        let lose = |field: &str, version: &str| {
            let faults = changed(|node| {
                node.default_user = Some((vec!["off".into()], "-@all".into()));
                node.info.insert(field.into(), version.into());
            });
            faults.iter().any(|fault| fault.contains("user default may not EXEC"))
        };
        for version in ["7.0.15", "7.2.4", "7.4.1", "8.0.2", "8.2.2"] {
            assert!(lose("redis_version", version), "Redis {version}");
        }
        assert!(lose("valkey_version", "8.1.8"));
        assert!(!lose("redis_version", "8.6.2") && !lose("redis_version", "8.10.2"));
        assert!(!lose("valkey_version", "9.1.2"));
    }

    #[test]
    fn io_threads_matter_where_they_reply_before_the_log_is_written() {
        let lose = |field: &str, version: &str, threads: &str| {
            let faults = changed(|node| {
                node.info.insert(field.into(), version.into());
                node.config.insert("io-threads".into(), threads.into());
            });
            faults.iter().any(|fault| fault.contains(&format!("io-threads is {threads}:")))
        };
        assert!(lose("redis_version", "8.2.2", "4") && lose("redis_version", "8.10.2", "2"));
        assert!(!lose("redis_version", "8.10.2", "1") && !lose("redis_version", "7.0.15", "4"));
        assert!(!lose("redis_version", "8.0.2", "4") && !lose("valkey_version", "9.1.2", "4"));
    }

    #[test]
    fn servers_of_two_versions_are_found() {
        let of = |version: &str| {
            let mut node = Node { name: version.into(), ..Node::default() };
            node.info.insert("redis_version".into(), version.into());
            node
        };
        let faults = between(&[of("7.0.15"), of("8.10.2")]);
        let said = ["versions of the server differ between nodes: Redis 7.0.15, Redis 8.10.2"];
        assert_eq!(faults, said);
    }

    #[test]
    fn a_hold_with_an_outbox_is_counted_with_both_entries() {
        let sale = Sale { name: "s".into(), available: 10, hold: true, outbox: true };
        assert_eq!(bytes(&sale), 10 * (GRANT + HOLD + 2 * ENTRY));
    }
}
