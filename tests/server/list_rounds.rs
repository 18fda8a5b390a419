//! A list of amounts in a sale that repeats: every round begins with it, what comes back stays in
//! the list of its round, and all copies of the sale have the same lists.
//!
//! Rounds are turned by sending the sale ahead, as in `turn`.

use super::turn::{hourly, send_to, PERIOD_MS};
use crate::support::shop::{check, entries, number};
use crate::support::{wait_until, Conn, Options, ReplicationStream, Server};

/// A hold is due when the next round begins.
const HELD: &str = "15 HOLD 7200000 DRAW LIST 5 1 9";
const CARRIED: &str = "15 CARRY DRAW LIST 5 1 9";

/// Goes on selling at the beginning of a round; round 1 begins at `start`.
#[track_caller]
fn turn_to(conn: &mut Conn, start: i64, round: i64) {
    send_to(conn, start + (round - 1) * PERIOD_MS);
    assert_eq!(conn.call("SECKILL.RESUME k"), "+OK");
    assert_eq!(number(conn, "k", "round"), round);
}

/// A server with a sale in round 1, and when that began.
fn begun(terms: &str) -> (Server, Conn, i64) {
    let server = Server::start();
    let mut conn = server.conn();
    let start = hourly(&mut conn, terms);
    turn_to(&mut conn, start, 1);
    (server, conn, start)
}

#[test]
fn every_round_begins_with_the_list() {
    let server = Server::start();
    let mut conn = server.conn();
    let start = hourly(&mut conn, "15 OUTBOX s DRAW LIST 5 1 9");
    for (round, last) in [(1, 9), (2, 9), (4, 9)] {
        turn_to(&mut conn, start, round);
        let amounts = ["a", "b", "c"]
            .map(|user| conn.cmd(&format!("SECKILL.GRAB k {user}")).items()[2].int());
        assert_eq!(amounts, [5, 1, last]);
        check(&mut conn, &[("SECKILL.GRAB k d", "['SOLDOUT' 0]")]);
        assert_eq!(number(&mut conn, "k", "packets"), 0);
    }
    let rounds = "[[4 15 15 3] [2 15 15 3] [1 15 15 3] [0 15 0 0]]";
    check(&mut conn, &[("SECKILL.ROUNDS k", rounds)]);
    let told = entries(&mut conn, "s");
    let turns = told.iter().filter(|entry| entry.text("event") == "ROUND");
    let numbers: Vec<_> =
        turns.map(|entry| (entry.number("round"), entry.number("supply"))).collect();
    assert_eq!(numbers, [(1, 15), (2, 15), (4, 15)]);
    server.assert_sound("k");
}

#[test]
fn an_amount_comes_back_to_the_list_of_its_round() {
    let (server, mut conn, start) = begun(HELD);
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k a", "['GRANTED' 1 5 'HELD' T 10]"),
            ("SECKILL.GRAB k b", "['GRANTED' 2 1 'HELD' T 9]"),
            ("SECKILL.CANCEL k b", "['CANCELLED' 2 1 0]"),
            ("SECKILL.GRAB k c", "['GRANTED' 3 9 'HELD' T 1]"),
        ],
    );
    turn_to(&mut conn, start, 2);
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k d", "['GRANTED' 4 5 'HELD' T 10]"),
            ("SECKILL.CONFIRM k c", "['EXPIRED' 3 9 0]"),
            ("SECKILL.CONFIRM k a SEQ 1 RECLAIM", "['SOLD' 1 5 0]"),
            ("SECKILL.ROUNDS k", "[[2 15 0 1] [1 15 5 1] [0 15 0 0]]"),
            ("SECKILL.REFUND k a", "['REFUNDED' 1 5 0]"),
            ("SECKILL.CONFIRM k c SEQ 3 RECLAIM", "['SOLD' 3 9 0]"),
            ("SECKILL.ROUNDS k", "[[2 15 0 1] [1 15 9 1] [0 15 0 0]]"),
            // The list of this round is none of their business.
            ("SECKILL.GRAB k e", "['GRANTED' 5 1 'HELD' T 9]"),
            ("SECKILL.GRAB k f", "['GRANTED' 6 9 'HELD' T 0]"),
            ("SECKILL.GRAB k g", "['SOLDOUT' 15]"),
        ],
    );
    server.assert_sound("k");
}

/// b and c cancel in time for d to draw the 1 anew: then it is gone in that round, for good.
#[test]
fn a_reclaim_in_an_older_round_needs_that_very_amount() {
    let (server, mut conn, start) = begun("6 HOLD 1000 DRAW LIST 5 1");
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k a", "['GRANTED' 1 5 'HELD' T 1]"),
            ("SECKILL.GRAB k b", "['GRANTED' 2 1 'HELD' T 0]"),
        ],
    );
    send_to(&mut conn, start + 1000);
    check(
        &mut conn,
        &[
            ("SECKILL.RESUME k", "+OK"),
            ("SECKILL.ALTER k HOLD 0", "+OK"),
            ("SECKILL.CONFIRM k a", "['EXPIRED' 1 5 0]"),
            ("SECKILL.CONFIRM k b", "['EXPIRED' 2 1 0]"),
        ],
    );
    // Whichever came back first is drawn first.
    let amount = conn.cmd("SECKILL.GRAB k d").items()[2].int();
    let (gone, free) = if amount == 1 { ("b SEQ 2", "a SEQ 1") } else { ("a SEQ 1", "b SEQ 2") };
    turn_to(&mut conn, start, 2);
    let reclaim = |conn: &mut Conn, whose: &str| {
        conn.cmd(&format!("SECKILL.CONFIRM k {whose} RECLAIM")).items()[0].text()
    };
    check(&mut conn, &[("SECKILL.GRAB k x", "['GRANTED' 4 5 'SOLD' 0 1]")]);
    assert_eq!(reclaim(&mut conn, gone), "EXPIRED");
    assert_eq!(reclaim(&mut conn, free), "SOLD");
    check(&mut conn, &[("SECKILL.REFUND k d", &*format!("['REFUNDED' 3 {amount} 0]"))]);
    assert_eq!(reclaim(&mut conn, gone), "EXPIRED", "once refused it stays so");
    server.assert_sound("k");
}

#[test]
fn what_is_left_is_carried_in_order() {
    let (server, mut conn, start) = begun(CARRIED);
    // Nobody could ask in round 0: that was over when the sale was created.
    assert_eq!(number(&mut conn, "k", "supply"), 15);
    check(
        &mut conn,
        &[
            ("SECKILL.GRAB k a", "['GRANTED' 1 5 'SOLD' 0 10]"),
            ("SECKILL.GRAB k b", "['GRANTED' 2 1 'SOLD' 0 9]"),
            ("SECKILL.REFUND k a", "['REFUNDED' 1 5 0]"),
        ],
    );
    turn_to(&mut conn, start, 3);
    assert_eq!((number(&mut conn, "k", "supply"), number(&mut conn, "k", "packets")), (44, 8));
    let amounts: Vec<i64> =
        (0..8).map(|user| conn.cmd(&format!("SECKILL.GRAB k u{user}")).items()[2].int()).collect();
    assert_eq!(amounts, [9, 5, 5, 1, 9, 5, 1, 9], "left over, then a list for each round");
    check(&mut conn, &[("SECKILL.GRAB k late", "['SOLDOUT' 0]")]);
    server.assert_sound("k");
}

#[test]
fn init_is_told_apart_by_the_list_and_the_rounds() {
    let server = Server::start();
    let mut conn = server.conn();
    let other = "-SALEEXISTS a sale with other terms is at this key";
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 15 DRAW LIST 5 1 9 EVERY 3600000", "+OK"),
            ("SECKILL.INIT k 15 EVERY 3600000 LIMIT 0 GRABS 1 DRAW LIST 5 1 9", "+OK"),
            ("SECKILL.INIT k 15 DRAW LIST 5 9 1 EVERY 3600000", other),
            ("SECKILL.INIT k 15 DRAW LIST 5 1 9 EVERY 3600000 CARRY", other),
            ("SECKILL.INIT k 15 DRAW LIST 5 1 9", other),
            ("SECKILL.RESTOCK k 1 REQ r", "-ERR the supply of a sale with DRAW packets is fixed"),
            ("SECKILL.IMPORT k u 1 REQ o", "-ERR the supply of a sale with DRAW packets is fixed"),
            ("SECKILL.INIT j 15 DRAW LIST 5 1 8 EVERY 5", SUM_DIFFERS),
            ("SECKILL.INIT j 15 DRAW LIST 5 1 9 EVERY 0", NO_PERIOD),
        ],
    );
    assert_eq!(conn.call("EXISTS j"), "0");
}

const SUM_DIFFERS: &str = "-ERR supply must be the sum of the DRAW LIST amounts";
const NO_PERIOD: &str = "-ERR EVERY must be 1 to 140737488355327 milliseconds, OFFSET at most that";

/// A turn is a dozen bytes, whatever the list is.
#[test]
fn a_turn_is_replicated_without_the_list() {
    for (terms, turns, firsts) in
        [(HELD, ["Hn1s15l1", "Hn4s15l1"], [5, 5]), (CARRIED, ["Hn1s15l1", "Hn4s55l3"], [5, 1])]
    {
        let server = Server::start();
        let mut conn = server.conn();
        let start = hourly(&mut conn, terms);
        let mut stream = ReplicationStream::attach(&server);
        for ((round, turn), first) in [1, 4].into_iter().zip(turns).zip(firsts) {
            send_to(&mut conn, start + (round - 1) * PERIOD_MS);
            let version = number(&mut conn, "k", "version");
            stream.taken(&server);
            assert_eq!(conn.call("SECKILL.RESUME k"), "+OK");
            let lines = stream.lines(&server);
            let expected = [
                "MULTI".to_owned(),
                format!("SECKILL.APPLY k {version} {turn}"),
                format!("SECKILL.APPLY k {} U", version + 1),
                "EXEC".to_owned(),
            ];
            assert_eq!(lines, expected);
            let drawn = conn.cmd("SECKILL.GRAB k a");
            assert_eq!(drawn.items()[2].int(), first);
            assert_eq!(stream.lines(&server).len(), 1);
        }
        server.assert_sound("k");
    }
}

/// A history that leaves something in every list: in the stored round, in the one before, and in
/// an older one that has a hold.
fn fill(conn: &mut Conn, terms: &str) -> i64 {
    let start = hourly(conn, terms);
    for (round, users) in [(1, ["a", "b"]), (2, ["c", "d"]), (5, ["e", "f"])] {
        turn_to(conn, start, round);
        for user in users {
            assert_eq!(conn.cmd(&format!("SECKILL.GRAB k {user}")).items()[0].text(), "GRANTED");
        }
        let back = conn.cmd(&format!("SECKILL.CANCEL k {}", users[1]));
        assert_eq!(back.items()[0].text(), "CANCELLED");
    }
    start
}

/// What draws from here on: the rest of the stored round's list, in order.
fn drained(conn: &mut Conn) -> Vec<i64> {
    let mut amounts = Vec::new();
    for user in 0.. {
        let reply = conn.cmd(&format!("SECKILL.GRAB k last{user}"));
        if reply.items()[0].text() != "GRANTED" {
            return amounts;
        }
        amounts.push(reply.items()[2].int());
    }
    amounts
}

fn picture(server: &Server) -> (String, String, Vec<String>) {
    let mut lines = server.picture("k");
    lines.retain(|line| !line.starts_with("state"));
    (server.digest("k"), server.call("SECKILL.ROUNDS k"), lines)
}

const LONG_HOLD: &str = "15 HOLD 2592000000 DRAW LIST 5 1 9";

#[test]
fn lists_survive_reload_and_rewrite() {
    let carried = [9, 1, 5, 1, 9, 5, 1, 9, 5, 1, 9, 1];
    for (preamble, carry, rest) in [
        ("yes", "", &carried[10..]),
        ("no", "", &carried[10..]),
        ("yes", " CARRY", &carried[..]),
        ("no", " CARRY", &carried[..]),
    ] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let server = Options::new().line("appendonly yes").line(&preamble).start();
        let mut conn = server.conn();
        fill(&mut conn, &format!("{LONG_HOLD}{carry}"));
        let before = picture(&server);
        assert_eq!(conn.call("DEBUG RELOAD"), "+OK");
        assert_eq!(picture(&server), before);
        assert_eq!(conn.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before, "from effects");
        conn.cmd("BGREWRITEAOF");
        wait_until("the log is rewritten", || {
            server.info("persistence", "aof_rewrite_in_progress") == "0"
                && server.info("persistence", "aof_rewrite_scheduled") == "0"
        });
        assert_eq!(conn.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before, "from a rewritten log, {preamble}");
        assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
        // The older round has its own: the 1 that b gave back stays there.
        check(
            &mut conn,
            &[
                ("SECKILL.CANCEL k a", "['CANCELLED' 1 5 0]"),
                ("SECKILL.CANCEL k b", "['NOGRANT' 0 0 0]"),
            ],
        );
        assert_eq!(drained(&mut conn), rest, "{preamble}{carry}");
        server.assert_sound("k");
    }
}

/// The promoted replica has the lists of all rounds, and begins the next.
#[test]
fn a_promoted_replica_goes_on_with_the_lists() {
    let carried = [9, 1, 5, 1, 9, 5, 1, 9, 5, 1, 9, 1, 5, 1, 9];
    for (carry, amounts) in [("", &carried[12..]), (" CARRY", &carried[..])] {
        let (mut primary, replica) = (Server::start(), Server::start());
        replica.follow(&primary);
        let mut conn = primary.conn();
        let start = fill(&mut conn, &format!("{LONG_HOLD}{carry}"));
        replica.wait_in_sync(&primary);
        assert_eq!(picture(&replica), picture(&primary));
        assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
        primary.kill9();
        assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
        let mut conn = replica.conn();
        check(
            &mut conn,
            &[
                ("SECKILL.CONFIRM k a", "['SOLD' 1 5 0]"),
                ("SECKILL.CANCEL k c", &*format!("['CANCELLED' 3 {} 0]", first_of_round_2(carry))),
            ],
        );
        turn_to(&mut conn, start, 6);
        assert_eq!(drained(&mut conn), amounts, "{carry}");
        replica.assert_sound("k");
    }
}

/// With CARRY the 9 that round 1 has left comes first.
fn first_of_round_2(carry: &str) -> i64 {
    if carry.is_empty() {
        5
    } else {
        9
    }
}

/// A hundred thousand amounts, turned as fast as three are, and kept once.
#[test]
fn a_long_list_is_kept_once() {
    let server = Server::start();
    let mut conn = server.conn();
    let list = vec!["7"; 100_000].join(" ");
    let start = hourly(&mut conn, &format!("700000 CARRY DRAW LIST {list}"));
    let told = conn.cmd("MEMORY USAGE k").int();
    assert!((800_000..900_000).contains(&told), "{told}");
    for round in 1..=50 {
        turn_to(&mut conn, start, round);
    }
    assert_eq!(number(&mut conn, "k", "packets"), 5_000_000);
    let turned = conn.cmd("MEMORY USAGE k").int();
    assert!(turned < told + 50_000, "{turned} of {told}");
    assert_eq!(conn.call("DEBUG RELOAD"), "+OK");
    assert_eq!(number(&mut conn, "k", "packets"), 5_000_000);
    server.assert_sound("k");
}
