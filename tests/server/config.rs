//! Configuration, INFO, and the log lines at load.

use seckill_domain::outcome::OUTCOMES;

use crate::support::{Options, Server};

const NAME: &str = "seckill.apply-warnings-per-second";

/// Every setting: name, default, smallest and largest value.
const SETTINGS: [(&str, &str, [&str; 2]); 4] = [
    ("seckill.sweep-interval-ms", "10", ["1", "60000"]),
    ("seckill.sweep-batch", "1000", ["1", "100000"]),
    (NAME, "10", ["0", "1000000"]),
    ("seckill.effects-version", "0", ["0", "1"]),
];

#[test]
fn settings_are_read_and_set_within_bounds() {
    let (_server, mut conn) = Server::start().with_conn();
    let mut known = conn.cmd("CONFIG GET seckill.*").pairs();
    known.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    let shown: Vec<String> = known.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let mut wanted = SETTINGS.map(|(name, default, _)| format!("{name} '{default}'"));
    wanted.sort_unstable();
    assert_eq!(shown, wanted);
    for (name, default, [min, max]) in SETTINGS {
        for value in [min, max, default, max] {
            assert_eq!(conn.call(&format!("CONFIG SET {name} {value}")), "+OK");
            assert_eq!(conn.call(&format!("CONFIG GET {name}")), format!("['{name}' '{value}']"));
        }
        let beyond = format!("{max}0");
        for value in ["-1", &beyond, "many", "9223372036854775808", "1.5"] {
            let reply = conn.call(&format!("CONFIG SET {name} {value}"));
            assert!(reply.starts_with("-ERR CONFIG SET failed"), "{value}: {reply}");
        }
        assert_eq!(conn.call(&format!("CONFIG GET {name}")), format!("['{name}' '{max}']"));
    }
    let unknown = conn.call("CONFIG SET seckill.nothing 1");
    assert!(unknown.starts_with("-ERR Unknown option"), "{unknown}");
}

#[test]
fn settings_come_from_three_places() {
    let value = |server: &Server| server.cmd(&format!("CONFIG GET {NAME}")).items()[1].text();
    let by_line = Options::new().line(&format!("{NAME} 21")).start();
    assert_eq!(value(&by_line), "21");
    let by_argument = Options::new().module_args("apply-warnings-per-second 22").start();
    assert_eq!(value(&by_argument), "22");
    let prefixed = Options::new().module_args(&format!("{NAME} 23")).start();
    assert_eq!(value(&prefixed), "23");
    let both = Options::new().module_args(&format!("{NAME} 24")).line(&format!("{NAME} 25"));
    assert_eq!(value(&both.start()), "25", "the file's line is the last word");
}

#[test]
fn bad_settings_refuse_to_load() {
    for (args, why) in [
        ("nothing 1", "unknown setting; there are: sweep-interval-ms, sweep-batch, apply-"),
        ("apply-warnings-per-second", "a setting has no value"),
        ("apply-warnings-per-second x", "must be an integer from 0 to 1000000"),
        ("apply-warnings-per-second -1", "must be an integer from 0 to 1000000"),
        ("sweep-interval-ms 0", "must be an integer from 1 to 60000"),
        ("sweep-batch 100001", "must be an integer from 1 to 100000"),
        ("apply-warnings-per-second 1000001", "must be an integer from 0 to 1000000"),
        ("apply-warnings-per-second 1 apply-warnings-per-second 1", "is given twice"),
        ("%s%n %s%n", "unknown setting"),
    ] {
        let log = Options::new().module_args(args).try_start().err().expect("must not start");
        assert!(log.contains(why), "{args}:\n{log}");
        assert!(log.contains("Can't load module"), "{args}:\n{log}");
        assert!(!log.contains("BUG REPORT"), "{args}:\n{log}");
    }
    for line in ["1000001", "x", "-1"] {
        let started = Options::new().line(&format!("{NAME} {line}")).try_start();
        let log = started.err().expect("must not start");
        assert!(!log.contains("BUG REPORT"), "{line}:\n{log}");
    }
}

/// Warnings about refused effects are limited, because a replica out of sync refuses all of them.
#[test]
fn warnings_of_refused_effects_are_limited() {
    let server = Options::new().module_args("apply-warnings-per-second 0").start();
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 1"), "+OK");
    for _ in 0..100 {
        conn.cmd("SECKILL.APPLY k 9 gu");
    }
    assert_eq!(server.info("seckill", "seckill_apply_refused"), "100");
    assert_eq!(server.log().matches("SECKILL.APPLY refused").count(), 0);
    assert_eq!(conn.call(&format!("CONFIG SET {NAME} 1000")), "+OK");
    conn.cmd("SECKILL.APPLY k 9 gu");
    assert_eq!(server.log().matches("SECKILL.APPLY refused").count(), 1);
}

#[test]
fn info_shows_what_this_node_did() {
    let (_server, mut conn) = Server::start().with_conn();
    let section = |conn: &mut crate::support::Conn| {
        let info = conn.cmd("INFO seckill").text();
        let lines = info.lines().filter(|line| line.contains(':'));
        lines.map(|line| line.trim_start_matches("seckill_").to_owned()).collect::<Vec<_>>()
    };
    let expected = |sales: u64, counts: &[(&str, u64)]| {
        let answers = OUTCOMES.iter().map(|row| row.counter.to_str().expect("plain text"));
        let others = ["expired", "offers", "dropped", "apply_refused", "outbox_refused"];
        let mut lines =
            vec![format!("version:{}", env!("CARGO_PKG_VERSION")), format!("sales:{sales}")];
        let sweeper =
            ["holds:0", "waiters:0", "expiry_lag_ms:0", "expiry_lag_max_ms:0", "sweeper_backlog:0"];
        lines.extend(sweeper.map(str::to_owned));
        lines.extend(answers.chain(others).map(|name| {
            let count = counts.iter().find(|(counted, _)| *counted == name);
            format!("{name}:{}", count.map_or(0, |(_, count)| *count))
        }));
        lines
    };
    assert_eq!(section(&mut conn), expected(0, &[]));
    for line in [
        "SECKILL.INIT k 5 LIMIT 3",
        "SECKILL.GRAB k a QTY 2 REQ o",
        "SECKILL.GRAB k b QTY 2",
        "SECKILL.GRAB k a QTY 2 REQ o",
        "SECKILL.GRAB k a QTY 2",
        "SECKILL.GRAB k c QTY 2",
        "SECKILL.GRAB k b",
        "SECKILL.GRAB k b",
        "SECKILL.GRAB k d",
        "SECKILL.PAUSE k",
        "SECKILL.GRAB k d",
        "SECKILL.ALTER k CLOSEAT 100000000000",
        "SECKILL.GRAB k d",
        "SECKILL.ALTER k CLOSEAT 0 OPENAT 4102444800000",
        "SECKILL.GRAB k d",
        "SECKILL.INIT l 5",
    ] {
        assert!(!conn.cmd(line).is_error(), "{line}");
    }
    assert!(conn.cmd("SECKILL.APPLY k 9 gu").is_error());
    let refused = ["already", "replayed", "overlimit", "soldout", "short", "notopen"];
    let once = refused.into_iter().chain(["closed", "paused", "apply_refused"]);
    let counts: Vec<_> = once.map(|name| (name, 1)).chain([("granted", 3)]).collect();
    assert_eq!(section(&mut conn), expected(2, &counts));
    let everything = conn.cmd("INFO everything").text();
    assert!(everything.contains("seckill_granted:3"), "the section is in INFO everything");
}

#[test]
fn the_log_warns_of_a_policy_that_evicts_sales() {
    let warning = "the server may evict a sale with all its grants";
    for (policy, warned) in [
        ("allkeys-lru", true),
        ("allkeys-random", true),
        ("volatile-lru", false),
        ("noeviction", false),
    ] {
        let server = Options::new().line(&format!("maxmemory-policy {policy}")).start();
        assert_eq!(server.log().contains(warning), warned, "{policy}");
    }
}

#[test]
fn the_module_can_be_loaded_later_but_not_unloaded() {
    let server = Options::new().without_module().line("enable-module-command yes").start();
    let mut conn = server.conn();
    let path = crate::support::server::module_path().display().to_string();
    conn.check(&[
        (&format!("MODULE LOAD {path}"), "+OK"),
        ("SECKILL.INIT k 1", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 0]"),
    ]);
    let modules = conn.cmd("MODULE LIST");
    let ours = modules.items().iter().find(|one| one.field("name").text() == "seckill");
    assert!(ours.is_some(), "{modules}");
    let reply = conn.call("MODULE UNLOAD seckill");
    assert!(reply.starts_with("-ERR Error unloading module"), "{reply}");
    assert_eq!(conn.call("SECKILL.GRAB k a"), "['ALREADY' 1 1 'SOLD' 0]");
}
