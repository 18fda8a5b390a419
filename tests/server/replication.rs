//! The exact replication stream, and that replica and primary are equal after a full resync, a
//! partial one, a promotion and a kill.

use std::thread;

use seckill_domain::effect::{Change, Effect};
use seckill_model::rebuild::encoded;
use seckill_model::shorthand;

use super::persistence::fill;
use crate::support::{logs, wait_until, Options, Random, ReplicationStream, Reply, Server};

const APPLY: &[u8] = b"SECKILL.APPLY";

/// Checks that a replica has an equal sale.
#[track_caller]
fn assert_same(primary: &Server, replica: &Server, key: &str) {
    replica.assert_follows(primary, &[key]);
    assert_eq!(replica.picture(key), primary.picture(key));
    replica.assert_sound(key);
}

/// The only command replicated since the last call: an APPLY to `k` that follows `version`.
#[track_caller]
fn effect(stream: &mut ReplicationStream, server: &Server, version: &str) -> Vec<u8> {
    let commands = stream.taken(server);
    let [command] = &commands[..] else { panic!("one command was expected: {commands:?}") };
    let [name, key, follows, effect] = &command[..] else { panic!("four words: {command:?}") };
    assert_eq!((&name[..], &key[..], &follows[..]), (APPLY, &b"k"[..], version.as_bytes()));
    effect.clone()
}

/// Checks that an effect is that of `said`, except for its time.
#[track_caller]
fn assert_effect(bytes: &[u8], said: &str, line: &str) {
    let replicated = Change::decode(bytes).expect("an effect");
    let timeless = encoded(&Change { elapsed_ms: 0, ..replicated.clone() });
    assert_eq!(timeless, shorthand::effect(said), "{line} replicated {replicated:?}");
}

#[test]
fn an_init_is_replicated_with_its_time_and_identity() {
    let server = Server::start();
    let mut stream = ReplicationStream::attach(&server);
    assert_eq!(server.call("SECKILL.INIT k 10 LIMIT 2 OPENAT 100000000005"), "+OK");
    let effect = effect(&mut stream, &server, "0");
    let status = server.cmd("SECKILL.STATUS k");
    let (created, epoch) = (status.field("created_at"), status.field("epoch"));
    let change = Change::decode(&effect).expect("an effect");
    let Effect::Init(start) = &change.effect else { panic!("no INIT: {change:?}") };
    assert_eq!(format!("{:016x}", start.id), status.field("id").text());
    let said = format!("It{created}e{epoch}s10l2g0h0o100000000005c0:");
    let said = [said.as_bytes(), &start.id.to_be_bytes(), &start.secret].concat();
    assert_eq!(effect, shorthand::effect(&said), "{change:?}");
}

/// A plain grab is replicated in few bytes: seven and the user, and a few more if time has passed.
// Rules: 894a
#[test]
fn a_grab_is_replicated_as_its_effect() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 1000 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k u", "['GRANTED' 1 1 'SOLD' 0 999]"),
    ]);
    let mut stream = ReplicationStream::attach(&server);
    let mut last = conn.cmd("SECKILL.STATUS k").field("last_grant_at").int();
    let mut short = 0;
    for number in 0..40 {
        let version = char::from_digit(2 + number % 34, 36).expect("a digit").to_string();
        let version = if number < 34 { version } else { format!("1{}", number - 34) };
        assert_eq!(conn.cmd("SECKILL.GRAB k alice").items()[0].text(), "GRANTED");
        let at = conn.cmd("SECKILL.STATUS k").field("last_grant_at").int();
        let expected = shorthand::effect(&format!("Gt{}:alice", at - last));
        short += u32::from(at == last);
        last = at;
        let effect = effect(&mut stream, &server, &version);
        assert_eq!(effect, expected);
        assert!(effect.len() <= "alice".len() + 7 + 4, "{effect:?}");
    }
    assert!(short < 40, "time passed");
}

#[test]
fn every_change_is_replicated_once_and_exactly() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 10 LIMIT 9"), "+OK");
    let mut stream = ReplicationStream::attach(&server);
    for (place, (line, said)) in [
        ("SECKILL.GRAB k u QTY 2", "Gq2:u"),
        ("SECKILL.GRAB k u QTY 2 REQ o-7", "Gq2r3:o-7u"),
        ("SECKILL.GRAB k u UPTO 5 REQ o-8", "Gq5r3u1:o-8u"),
        ("SECKILL.GRAB k v UPTO 1", "G:v"),
        ("SECKILL.RESTOCK k 7 REQ r", "Rp7a7:r"),
        ("SECKILL.RESTOCK k -9 REQ r2", "Rm9a7:r2"),
        ("SECKILL.RESTOCK k -9 REQ r3", "Rm9a0:r3"),
        ("SECKILL.PAUSE k", "P"),
        ("SECKILL.RESUME k", "U"),
        ("SECKILL.ALTER k LIMIT 3 CLOSEAT 4102444800000", "Al3c4102444800000"),
        ("SECKILL.ALTER k LIMIT 3 CLOSEAT 0 OPENAT 0", "Al3o0c0"),
    ]
    .into_iter()
    .enumerate()
    {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
        let version = char::from_digit(place as u32 + 1, 36).expect("a digit").to_string();
        assert_effect(&effect(&mut stream, &server, &version), said, line);
    }
}

#[test]
fn what_is_atomic_is_replicated_so() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[("SECKILL.INIT k 10 LIMIT 1", "+OK"), ("SECKILL.INIT l 10 LIMIT 1", "+OK")]);
    let mut stream = ReplicationStream::attach(&server);
    let mut names = |conn: &mut crate::support::Conn, lines: &[&str]| {
        lines.iter().for_each(|line| _ = conn.cmd(line));
        let commands = stream.taken(&server);
        let words = |words: &Vec<Vec<u8>>| {
            let key = words.get(1).map_or(&b""[..], |key| &key[..]);
            format!("{} {}", words[0].escape_ascii(), key.escape_ascii()).trim().to_owned()
        };
        commands.iter().map(words).collect::<Vec<_>>()
    };
    let apply = |key: &str| format!("SECKILL.APPLY {key}");
    let queue = ["MULTI", "SECKILL.GRAB k a", "SECKILL.GRAB l a", "SECKILL.GRAB k a", "EXEC"];
    assert_eq!(names(&mut conn, &queue), ["MULTI", &apply("k"), &apply("l"), "EXEC"]);
    let refused = ["MULTI", "SECKILL.GRAB k a", "SECKILL.GRAB none a", "EXEC"];
    assert_eq!(names(&mut conn, &refused), [""; 0]);
    let script = "for i = 1, 3 do redis.call('SECKILL.GRAB', KEYS[1], 'u' .. i % 2) end";
    let words = ["EVAL", script, "1", "k"];
    assert_eq!(conn.ask(&words).to_string(), "nil");
    assert_eq!(names(&mut conn, &[]), ["MULTI", &apply("k"), &apply("k"), "EXEC"]);
}

#[test]
fn a_full_resync_gives_the_same_sale() {
    let primary = Server::start();
    fill(&primary, "k", 2500);
    for diskless in [false, true] {
        let on = if diskless { "yes" } else { "no" };
        primary.call(&format!("CONFIG SET repl-diskless-sync {on}"));
        let load = if diskless { "swapdb" } else { "disabled" };
        let replica = Options::new().line(&format!("repl-diskless-load {load}")).start();
        assert_eq!(replica.call("SECKILL.INIT old 7"), "+OK");
        replica.follow(&primary);
        assert_same(&primary, &replica, "k");
        assert_eq!(replica.call("EXISTS old"), "0");
    }
}

#[test]
fn a_replica_follows_every_change() {
    let (primary, replica) = Server::pair();
    let last = Server::start();
    last.follow(&replica);
    fill(&primary, "k", 300);
    assert_eq!(primary.call("SECKILL.RESUME k"), "+OK");
    thread::scope(|scope| {
        for number in 0..4 {
            let mut conn = primary.conn();
            scope.spawn(move || {
                let mut random = Random(number);
                for step in 0..300 {
                    let (user, qty) = (random.below(200), 1 + random.below(3));
                    let line = match random.below(20) {
                        0 => {
                            format!("SECKILL.RESTOCK k {} REQ r{number}-{step}", 5 - qty as i64 * 2)
                        }
                        1 => format!("SECKILL.ALTER k LIMIT {}", random.below(30)),
                        2 => "SECKILL.PAUSE k".to_owned(),
                        3..=5 => "SECKILL.RESUME k".to_owned(),
                        6..=12 => format!("SECKILL.GRAB k u{user} UPTO {qty} REQ {step}"),
                        _ => format!("SECKILL.GRAB k u{user} QTY {qty}"),
                    };
                    let reply = conn.cmd(&line);
                    assert!(!reply.is_error(), "{line}: {reply}");
                }
            });
        }
    });
    assert_same(&primary, &replica, "k");
    last.wait_in_sync(&replica);
    assert_same(&primary, &last, "k");
}

#[test]
fn a_broken_link_goes_on_where_it_broke() {
    let (primary, replica) = Server::pair();
    fill(&primary, "k", 100);
    assert_eq!(primary.call("SECKILL.RESUME k"), "+OK");
    replica.wait_in_sync(&primary);
    let fulls = primary.info("stats", "sync_full");
    for round in 1..=3 {
        thread::scope(|scope| {
            let mut conn = primary.conn();
            scope.spawn(move || {
                for step in 0..300 {
                    conn.cmd(&format!("SECKILL.GRAB k r{round}-{step}"));
                }
            });
            assert_eq!(primary.call("CLIENT KILL TYPE replica"), "1");
        });
        wait_until("the link was taken up again", || {
            primary.info("stats", "sync_partial_ok") == round.to_string()
        });
        assert_same(&primary, &replica, "k");
    }
    assert_eq!(primary.info("stats", "sync_full"), fulls, "no full resync was needed");
    assert_eq!(primary.cmd("SECKILL.STATUS k").field("grants"), Reply::Int(1000));
}

fn replica_with_log(primary: &Server) -> Server {
    let options = Options::new().line("appendonly yes").line("appendfsync always");
    let replica = options.start();
    replica.follow(primary);
    logs::wait_for_rewrite(&replica);
    replica
}

/// A replica's own AOF holds what APPLY propagates. Restarted alone after SIGKILL, it has
/// everything that its primary sent.
#[test]
fn a_replica_keeps_a_log_of_its_own() {
    let primary = Server::start();
    fill(&primary, "k", 50);
    let mut replica = replica_with_log(&primary);
    fill(&primary, "later", 400);
    primary.call("SECKILL.RESUME k");
    primary.call("SECKILL.GRAB k one-more");
    replica.wait_in_sync(&primary);
    replica.kill9();
    replica.start_again();
    assert_eq!(replica.info("replication", "role"), "master");
    for key in ["k", "later"] {
        assert_eq!(replica.digest(key), primary.digest(key));
        assert_eq!(replica.picture(key), primary.picture(key));
        replica.assert_sound(key);
    }
}

#[test]
fn a_promoted_replica_sells_on_and_survives_a_kill() {
    let mut primary = Server::start();
    fill(&primary, "k", 200);
    let mut replica = replica_with_log(&primary);
    assert_eq!(primary.call("SECKILL.RESUME k"), "+OK");
    assert_eq!(primary.cmd("SECKILL.GRAB k before").items()[1], Reply::Int(201));
    replica.wait_in_sync(&primary);
    let epoch = replica.cmd("SECKILL.STATUS k").field("epoch").int();
    primary.kill9();

    let promoted_at = replica.clock_ms();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    let mut conn = replica.conn();
    assert_eq!(conn.call("SECKILL.GRAB k user:1 REQ order-2"), "['REPLAY' 3 1 'SOLD' 0]");
    assert_eq!(conn.cmd("SECKILL.GRAB k after REQ o").items()[1], Reply::Int(202));
    let run = conn.cmd("SECKILL.STATUS k").field("epoch").int();
    assert!(run > epoch && run >= promoted_at, "a promotion begins a run named by its time");
    for step in 0..100 {
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB k p{step}")).items()[1], Reply::Int(203 + step));
    }
    let before = (replica.digest("k"), replica.picture("k"));
    replica.kill9();
    replica.start_again();
    assert_eq!((replica.digest("k"), replica.picture("k")), before);
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    replica.assert_sound("k");

    let follower = Server::start();
    follower.follow(&replica);
    assert_same(&replica, &follower, "k");
}

/// An effect that does not follow the last one, is unknown, or breaks the law is refused as a
/// whole, counted and logged.
// Rules: 894a ddb9 7f5f
#[test]
fn apply_refuses_what_does_not_fit() {
    let server = Options::new().line("seckill.apply-warnings-per-second 1000").start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 3 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'SOLD' 0 2]"),
        ("SECKILL.RESTOCK k 1 REQ r", "[1 3]"),
    ]);
    let digest = server.digest("k");
    let said = |said: &[&str]| said.iter().map(shorthand::effect).collect::<Vec<_>>();
    let init = format!("It1e1s10l1g0h0o0c0:{}", "x".repeat(24));
    let unknown = b"\0\0\x60b".to_vec();
    let newer = b"\x02\0\0\x01b\0\x01\0".to_vec();
    let longer = [shorthand::effect("gb"), vec![0]].concat();
    let refused: [(&str, Vec<Vec<u8>>); 30] = [
        ("2", said(&["gb"])),
        ("4", said(&["gb"])),
        ("0", said(&["gb"])),
        ("03", said(&["gb"])),
        ("-3", said(&["gb"])),
        ("", said(&["gb"])),
        ("3", vec![vec![]]),
        ("3", vec![unknown.clone()]),
        ("3", vec![newer]),
        ("3", vec![longer]),
        ("3", vec![b"gb".to_vec()]),
        ("3", said(&["g"])),
        ("3", said(&["Gq0:b"])),
        ("3", said(&["Gq4:b"])),
        ("3", said(&["Gq9007199254740992:b"])),
        ("3", said(&["Gr1:oa"])),
        ("3", said(&["Gu2r1:pa"])),
        ("3", said(&["Gt140737488355328:b"])),
        ("3", said(&["Ge1:b"])),
        ("3", said(&["Rp1a1:r"])),
        ("3", said(&["Rm4a4:r2"])),
        ("3", said(&["Rp9007199254740991a9007199254740991:r2"])),
        ("3", said(&["Ah2592000001"])),
        ("3", said(&["Ao5c5"])),
        ("3", said(&[&init])),
        ("3", vec![b"\0\0\x15\0".to_vec()]),
        ("3", [said(&["gb"]), vec![unknown]].concat()),
        ("3", said(&["gb", "Gq3:c"])),
        ("3", said(&["Gr1:pb", "Gr1:pb"])),
        ("3", said(&["P", &init])),
    ];
    for (count, (version, effects)) in refused.iter().enumerate() {
        let mut words = vec![APPLY, b"k", version.as_bytes()];
        words.extend(effects.iter().map(Vec::as_slice));
        let reply = conn.ask(&words).to_string();
        let error = "-ERR effects must follow the version of the sale and keep its law";
        assert_eq!(reply, error, "{version} {effects:?}");
        assert_eq!(server.digest("k"), digest, "{version} {effects:?}");
        let counted = server.info("seckill", "seckill_apply_refused");
        assert_eq!(counted, (count + 1).to_string(), "{version} {effects:?}");
    }
    assert_eq!(server.log().matches("SECKILL.APPLY refused").count(), refused.len());
    let grant = shorthand::effect("gb");
    let wrong = conn.ask(&[APPLY, b"missing", b"5", &grant]).to_string();
    assert_eq!(wrong, "-NOSALE no sale at this key (the key is the first argument)");
    let late = conn.ask(&[APPLY, b"k2", b"1", &shorthand::effect(&init)]);
    assert!(late.is_error(), "an INIT follows 0");
    assert_eq!(conn.call("EXISTS missing k2"), "0");
    assert_eq!(server.info("seckill", "seckill_apply_refused"), "32");
    let (two, pause) = (shorthand::effect("Gq2:c"), shorthand::effect("P"));
    let taken = conn.ask(&[APPLY, b"k", b"3", &grant, &two, &pause]).to_string();
    assert_eq!(taken, "+OK");
    assert!(conn.ask(&[APPLY, b"k", b"3", &grant]).is_error(), "a repeat");
    let status = conn.cmd("SECKILL.STATUS k");
    assert_eq!((status.field("grants"), status.field("available")), (Reply::Int(3), Reply::Int(0)));
    server.assert_sound("k");
}

/// A replica out of sync refuses effects, reports that, and is correct after a resync.
#[test]
fn a_replica_that_diverged_is_seen() {
    let (primary, replica) = Server::pair();
    assert_eq!(primary.call("SECKILL.INIT k 10"), "+OK");
    replica.wait_in_sync(&primary);
    replica.conn().check(&[
        ("CONFIG SET replica-read-only no", "+OK"),
        ("SECKILL.GRAB k stranger", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k another", "['GRANTED' 2 1 'SOLD' 0 8]"),
    ]);
    let diverged = replica.digest("k");
    primary.conn().check(&[
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k b", "['GRANTED' 2 1 'SOLD' 0 8]"),
        ("SECKILL.INIT fine 1", "+OK"),
    ]);
    replica.wait_in_sync(&primary);
    assert_eq!(replica.digest("k"), diverged);
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "2");
    replica.wait_for_log("SECKILL.APPLY refused: it does not follow the sale's version");
    assert_eq!(replica.digest("fine"), primary.digest("fine"), "other sales go on");
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    assert_eq!(replica.call("FLUSHALL"), "+OK");
    let again = Server::start();
    again.follow(&primary);
    assert_same(&primary, &again, "k");
}

/// Reads on a replica change nothing there. Refusals are counted on the node that replied them.
#[test]
fn refusal_counters_are_of_one_node() {
    let (primary, replica) = Server::pair();
    primary.conn().check(&[
        ("SECKILL.INIT k 1", "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'SOLD' 0 0]"),
        ("SECKILL.GRAB k b", "['SOLDOUT' 0]"),
    ]);
    replica.wait_in_sync(&primary);
    let counter = |server: &Server, name: &str| {
        server.cmd("SECKILL.STATUS k").field("counters").field(name).int()
    };
    let all =
        |server: &Server| ["attempts", "granted", "soldout"].map(|name| counter(server, name));
    assert_eq!(all(&primary), [2, 1, 1]);
    assert_eq!(all(&replica), [1, 1, 0], "changes are exact everywhere, refusals are not sent");
    assert_eq!(primary.digest("k"), replica.digest("k"));
}
