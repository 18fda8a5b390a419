//! `seckill split balance` with replicas that don't answer, and the few calls that it makes.

use std::process::Child;

use seckill_harness::{wait_until, Options, Server};

use super::program::{run, seckill};
use super::split::{signal, split, ONCE};

/// Three servers, each with a third of the parts.
struct Three([Server; 3]);

impl Three {
    fn urls(&self) -> String {
        let urls = self.0.each_ref().map(|one| format!("redis://127.0.0.1:{}/", one.port()));
        urls.join(",")
    }

    #[track_caller]
    fn split(&self, words: &[&str]) -> String {
        let output = run(&[&["split", "--redis", &self.urls()], words].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {told}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn balance(&self) -> Child {
        let words = ["split", "--redis", &self.urls(), "balance", "s", "--interval", "5"];
        seckill(&words).spawn().expect("a balancer")
    }
}

/// The number of calls of a command on a server.
#[track_caller]
fn calls(server: &Server, command: &str) -> u64 {
    let line = server.info("commandstats", &format!("cmdstat_{command}"));
    let calls = line.split(',').find_map(|field| field.strip_prefix("calls="));
    calls.map_or(0, |calls| calls.parse().expect("a number"))
}

/// Units that a part received from parts of the first server.
#[track_caller]
fn from_the_first(server: &Server, part: usize) -> i64 {
    let parts = server.cmd(&format!("SECKILL.PARTS s:{{p{part}}}"));
    let rows = parts.items()[9].items().iter();
    rows.filter(|row| row.items()[0].int() % 3 == 0).map(|row| row.items()[2].int()).sum()
}

/// All buyers use a part of the third server. Units of the second server go there, even while the
/// replica of the first server is frozen. Units of the first server go there when its replica
/// answers again.
#[test]
fn a_frozen_replica_holds_up_its_own_node_alone() {
    let three = Three([(); 3].map(|()| Options::new().start()));
    let [first, second, third] = &three.0;
    let replica = Options::new().start();
    replica.follow(first);
    replica.wait_in_sync(first);
    three.split(&["create", "s", "--supply", "6000", "--parts", "6", "LIMIT", "0"]);
    signal(replica.pid(), "STOP");
    let mut balancer = three.balance();
    let users: Vec<String> = (0..200).map(|number| format!("user-{number}")).collect();
    let is_home = |user: &&String| third.cmd(&format!("SECKILL.HOME {user} 6")).int() == 2;
    let user = users.iter().find(is_home).expect("a user");
    let mut sold = 0;
    let mut buy = || {
        let reply = third.cmd(&format!("SECKILL.GRAB s:{{p2}} {user} UPTO 10"));
        match reply.items()[0].text().as_str() {
            "GRANTED" => sold += reply.items()[2].int(),
            _ => assert!(reply.items()[1].int() > 0 || sold == 6_000, "SOLDOUT 0 after {sold}"),
        }
        sold
    };
    wait_until("all is sold but what the first one has", || buy() == 4_000);
    let (looks, waits) = (calls(second, "SECKILL.PARTS"), calls(first, "wait"));
    wait_until("it looks on", || {
        assert_eq!(buy(), 4_000);
        calls(second, "SECKILL.PARTS") > looks + 400
    });
    let in_vain = calls(first, "wait") - waits;
    assert!(in_vain < 10, "{in_vain} WAITs of 1 s in 200 looks each 5 ms");
    let arrived = [(second, 1), (second, 4), (third, 2), (third, 5)]
        .map(|(server, part)| from_the_first(server, part));
    assert_eq!(arrived, [0; 4], "units arrived that no replica knows to have been sent");
    signal(replica.pid(), "CONT");
    wait_until("all is sold", || buy() == 6_000);
    signal(balancer.id(), "TERM");
    assert_eq!(balancer.wait().expect("its end").code(), Some(0));
    assert_eq!(three.split(&["audit", "s"]), "OK: 6000 units put in, 0 under way\n");
}

/// Part 2 has a deficit. Part 0 has the most units, but its replica is frozen, so another part
/// sends units.
#[test]
fn who_can_send_nothing_is_not_counted_on() {
    let three = Three([(); 3].map(|()| Options::new().start()));
    let [first, _, third] = &three.0;
    let replica = Options::new().start();
    replica.follow(first);
    three.split(&["create", "s", "--supply", "6000", "--parts", "6", "LIMIT", "0"]);
    assert_eq!(first.call("SECKILL.RESTOCK s:{p0} 5000 REQ r"), "[5000 6000]");
    replica.wait_in_sync(first);
    signal(replica.pid(), "STOP");
    assert_eq!(third.call("SECKILL.SEND s:{p2} s 5 1500 OWED"), "[1500 0]");
    let mut balancer = three.balance();
    wait_until("it is paid", || third.cmd("SECKILL.STATUS s:{p2}").field("deficit").int() == 0);
    assert_eq!(from_the_first(third, 2), 0);
    signal(balancer.id(), "TERM");
    assert_eq!(balancer.wait().expect("its end").code(), Some(0));
    signal(replica.pid(), "CONT");
}

/// The parts of one node are read and sent together, in one round trip.
#[test]
fn one_node_is_asked_once_for_all_its_parts() {
    let server = Options::new().start();
    let replica = Options::new().start();
    replica.follow(&server);
    let words = ["create", "s", "--supply", "6400", "--parts", "64", "LIMIT", "0"];
    split(&server, &words);
    replica.wait_in_sync(&server);
    for part in 1..40 {
        assert_eq!(server.call(&format!("SECKILL.SEND s:{{p{part}}} s 0 7")), "[7 93]");
    }
    let reads = || server.info("stats", "total_reads_processed").parse::<u64>().expect("a number");
    let before = reads();
    split(&server, &ONCE);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 6400 units put in, 0 under way\n");
    assert_eq!((calls(&server, "SECKILL.SEND"), calls(&server, "SECKILL.RECEIVE")), (78, 39));
    // Up to 32 parts are sent with one WAIT.
    assert_eq!(calls(&server, "wait"), 2);
    // Reads of: the pass, its messages, each AUDIT, the set-up of the connection, the replica.
    let asked = reads() - before;
    assert!(asked < 64 + 30, "{asked} reads");
}
