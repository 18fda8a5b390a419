//! `seckill split` on a single server that has all parts.

use std::process::{Child, Command};

use seckill_harness::{wait_until, Options, Server};

use super::program::{run, seckill};

#[track_caller]
pub fn split(server: &Server, words: &[&str]) -> String {
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let output = run(&[&["split", "--redis", &url], words].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {told}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
pub fn refused(server: &Server, words: &[&str]) -> String {
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let output = run(&[&["split", "--redis", &url], words].concat());
    assert_eq!(output.status.code(), Some(1), "{words:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[track_caller]
pub fn create(server: &Server) {
    let words = ["create", "s", "--supply", "4001", "--parts", "4", "LIMIT", "0"];
    assert_eq!(split(server, &words), "4 parts of s: 4001 units\n");
}

/// Users whose home is that part.
pub fn users_of(server: &Server, part: i64) -> Vec<String> {
    let users = (0..200).map(|number| format!("user-{number}"));
    users.filter(|user| server.cmd(&format!("SECKILL.HOME {user} 4")).int() == part).collect()
}

#[track_caller]
pub fn signal(process: u32, name: &str) {
    let told = Command::new("kill").args(["-s", name, &process.to_string()]).status();
    assert!(told.expect("kill runs").success());
}

struct Balancer(Child);

impl Balancer {
    fn start(server: &Server) -> Balancer {
        let url = format!("redis://127.0.0.1:{}/", server.port());
        let words = ["split", "--redis", &url, "balance", "s", "--interval", "5"];
        Balancer(seckill(&words).spawn().expect("a balancer"))
    }

    #[track_caller]
    fn stop(mut self) {
        signal(self.0.id(), "TERM");
        assert_eq!(self.0.wait().expect("its end").code(), Some(0));
    }
}

/// All buyers use part 0, and two balancers move units of other parts there, until a buyer gets
/// SOLDOUT 0. Then all units must be sold. `sold` units were sold before.
#[track_caller]
pub fn sell_the_rest(server: &Server, mut sold: i64, mut in_between: impl FnMut()) {
    let users = users_of(server, 0);
    let balancers = [Balancer::start(server), Balancer::start(server)];
    let mut turn = 0;
    wait_until("all is sold", || {
        let user = &users[turn % users.len()];
        turn += 1;
        let reply = server.cmd(&format!("SECKILL.GRAB s:{{p0}} {user} UPTO 10 REQ {turn}"));
        match reply.items()[0].text().as_str() {
            "GRANTED" => sold += reply.items()[2].int(),
            _ => {
                let rest = reply.items()[1].int();
                assert!(rest > 0 || sold == 4_001, "SOLDOUT 0 after {sold}");
                return rest == 0;
            }
        }
        in_between();
        false
    });
    assert_eq!(sold, 4_001);
    for balancer in balancers {
        balancer.stop();
    }
}

#[test]
fn what_was_begun_goes_on_and_what_is_there_stays() {
    let server = Options::new().start();
    create(&server);
    assert_eq!(server.call("DEL s:{p0} s:{p1}"), "2");
    let missing = refused(&server, &["status", "s"]);
    assert!(missing.contains("was `seckill split create` finished"), "{missing}");
    create(&server);
    create(&server);
    let shares: Vec<i64> = (0..4)
        .map(|part| server.cmd(&format!("SECKILL.PARTS s:{{p{part}}}")).items()[4].int())
        .collect();
    assert_eq!(shares, [1_001, 1_000, 1_000, 1_000]);
    // A part that is lost after the split was complete is not created again with its share.
    assert_eq!(server.call("DEL s:{p2}"), "1");
    let words = ["create", "s", "--supply", "4001", "--parts", "4", "LIMIT", "0"];
    assert!(refused(&server, &words).contains("s:{p2} is missing"));
    // A removal that was interrupted can be finished.
    assert_eq!(split(&server, &["destroy", "s", "--id", "s"]), "4 parts removed\n");
    assert_eq!(server.call("DBSIZE"), "0");
}

/// All buyers use one part. Two balancers move all units of the other parts there, and only then
/// the part replies SOLDOUT 0.
#[test]
fn all_units_come_to_where_they_are_asked_for() {
    let server = Options::new().start();
    create(&server);
    sell_the_rest(&server, 0, || {});
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 0 under way\n");
    let status = split(&server, &["status", "s", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!((&status["sold"], &status["available"]), (&4_001.into(), &0.into()));
    let winners = split(&server, &["winners", "s"]);
    let units = winners.lines().skip(1).map(|row| row.split(',').nth(3).unwrap().parse::<i64>());
    assert_eq!(units.map(Result::unwrap).sum::<i64>(), 4_001);
}

#[test]
fn what_is_done_to_a_split_is_done_to_all_parts() {
    let server = Options::new().start();
    create(&server);
    assert_eq!(split(&server, &["pause", "s"]), "4 parts: OK\n");
    assert!(split(&server, &["status", "s"]).matches("paused").count() == 4);
    assert_eq!(split(&server, &["resume", "s"]), "4 parts: OK\n");
    assert_eq!(split(&server, &["alter", "s", "LIMIT", "2"]), "4 parts: OK\n");
    assert_eq!(split(&server, &["deny", "s", "ADD", "a", "b", "c"]), "3 changed\n");
    let restock = ["restock", "s", "--units", "6", "--req", "r-1"];
    assert_eq!(split(&server, &restock), "6 units\n");
    split(&server, &restock);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4007 units put in, 0 under way\n");
    assert!(refused(&server, &["destroy", "s", "--id", "t"]).contains("nothing was removed"));
    assert_eq!(split(&server, &["destroy", "s", "--id", "s"]), "4 parts removed\n");
    assert_eq!(server.call("DBSIZE"), "0");
}

#[test]
fn a_part_that_refuses_keeps_no_other_from_a_pause() {
    let server = Options::new().start();
    create(&server);
    assert_eq!(server.call("DEL s:{p1}"), "1");
    let told = refused(&server, &["pause", "s"]);
    assert!(told.contains("s:{p1} is missing") && told.ends_with("(3 of 4 parts: OK)\n"), "{told}");
    for part in [0, 2, 3] {
        let state = server.cmd(&format!("SECKILL.STATUS s:{{p{part}}}")).field("state").text();
        assert_eq!(state, "paused", "{part}");
    }
}

pub const ONCE: [&str; 6] = ["balance", "s", "--interval", "5", "--passes", "1"];

/// Sent units are received only after the replica has the SEND.
#[test]
fn what_no_replica_has_stays_under_way() {
    let server = Options::new().start();
    let replica = Options::new().start();
    create(&server);
    replica.follow(&server);
    replica.wait_in_sync(&server);
    assert_eq!(server.call("SECKILL.SEND s:{p0} s 1 5"), "[5 996]");
    replica.wait_in_sync(&server);
    signal(replica.pid(), "STOP");
    split(&server, &ONCE);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 5 under way\n");
    signal(replica.pid(), "CONT");
    wait_until("they arrive", || {
        split(&server, &ONCE);
        split(&server, &["audit", "s"]) == "OK: 4001 units put in, 0 under way\n"
    });
    replica.wait_in_sync(&server);
    assert_eq!(server.digest("s:{p0}"), replica.digest("s:{p0}"));
}

/// Part 1 has received units that part 0 has not sent, as after a failover of part 0.
#[test]
fn units_that_were_made_twice_are_found_and_given_up() {
    let server = Options::new().start();
    create(&server);
    server.call("SECKILL.RESTOCK s:{p0} -998 REQ withdrawn");
    assert_eq!(server.call("SECKILL.RECEIVE s:{p1} s 0 7"), "[7 1007]");
    let found = refused(&server, &["audit", "s"]);
    assert!(found.contains("part 1 received 7 units from part 0, which sent 7 fewer"), "{found}");
    assert!(split(&server, &["status", "s"]).contains("made twice: 7"));
    let numbers = || {
        let status = split(&server, &["status", "s", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
        ["available", "deficit", "made_twice"].map(|name| status[name].as_u64().expect("a number"))
    };
    // Part 0 has only 3 of these units and owes 4. The next pass fills that deficit.
    split(&server, &ONCE);
    assert_eq!(numbers(), [3_007, 4, 0]);
    split(&server, &ONCE);
    let [available, deficit, _] = numbers();
    assert_eq!((available, deficit), (3_003, 0));
    assert_eq!(split(&server, &["audit", "s"]), "OK: 3003 units put in, 0 under way\n");
}

/// Without the right to WAIT or to count replicas, the balancer moves nothing and prints the
/// reason.
#[test]
fn a_user_who_may_not_wait_moves_nothing() {
    let server = Options::new().start();
    let replica = Options::new().start();
    create(&server);
    replica.follow(&server);
    replica.wait_in_sync(&server);
    assert_eq!(server.call("SECKILL.SEND s:{p0} s 1 5"), "[5 996]");
    let rule = "on >pw ~* -@all +info +seckill.parts +seckill.status +seckill.send";
    server.call(&format!("ACL SETUSER b {rule} +seckill.receive"));
    let url = format!("redis://b:pw@127.0.0.1:{}/", server.port());
    for (more, lacks) in [(&["--replicas", "1"][..], "wait"), (&[], "cluster|nodes")] {
        let output = run(&[&["split", "--redis", &url], &ONCE[..], more].concat());
        let told = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert!(told.contains("noperm") && told.contains(lacks), "{told}");
    }
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 5 under way\n");
}

/// Part 2 has the most units and refuses to send, because its outbox is a text. Units that others
/// sent arrive, others give in its place, and the reason is printed once.
#[test]
fn a_part_that_refuses_does_not_stop_the_others() {
    let server = Options::new().start();
    let words = ["create", "s", "--supply", "4001", "--parts", "4", "--outbox", "o", "LIMIT", "0"];
    split(&server, &words);
    assert_eq!(server.call("SECKILL.RESTOCK s:{p2} 5000 REQ r"), "[5000 6000]");
    assert_eq!(server.call("SECKILL.SEND s:{p1} s 3 5"), "[5 995]");
    assert_eq!(server.call("SECKILL.SEND s:{p0} s 3 1500 OWED"), "[1500 0]");
    assert_eq!(server.call("SET o:{p2} text"), "+OK");
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let balance = ["balance", "s", "--interval", "5", "--passes", "20"];
    let output = run(&[&["split", "--redis", &url], &balance[..]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(told.matches("s:{p2}").count(), 1, "{told}");
    let parts = server.cmd("SECKILL.PARTS s:{p3}");
    let rows: Vec<String> = parts.items()[9].items().iter().map(|row| row.to_string()).collect();
    assert!(rows.iter().any(|row| row.starts_with("[1 ")), "{rows:?}");
    let deficit = server.cmd("SECKILL.STATUS s:{p0}").field("deficit").int();
    assert_eq!(deficit, 0, "{told}");
}
