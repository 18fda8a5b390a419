//! Drawn amounts. The sum of all amounts is the supply, draws are replicated and never repeated,
//! and a sale with amounts from the caller never exceeds its budget.

use std::thread;

use crate::support::shop::{number, wait_for_no_holds};
use crate::support::{logs, wait_until, Conn, Reply, Server};

/// The amounts of users from `u<first>` on, until nothing is left.
#[track_caller]
fn draw_all(conn: &mut Conn, key: &str, first: usize) -> Vec<i64> {
    let mut amounts = Vec::new();
    for user in first.. {
        let reply = conn.cmd(&format!("SECKILL.GRAB {key} u{user} REQ o"));
        if reply.items()[0].text() != "GRANTED" {
            assert_eq!(reply.to_string(), "['SOLDOUT' 0]");
            return amounts;
        }
        amounts.push(reply.items()[2].int());
    }
    amounts
}

// Rules: 8401 6785
#[test]
fn all_packets_are_the_whole_supply() {
    let (server, mut conn) = Server::start().with_conn();
    for (supply, packets, min) in
        [(1, 1, 1), (7, 1, 7), (10, 10, 1), (30, 10, 3), (31, 10, 3), (10000, 10, 1), (9999, 50, 7)]
    {
        let init = format!("SECKILL.INIT k {supply} DRAW PACKETS {packets} MIN {min}");
        assert_eq!(conn.call(&init), "+OK", "{init}");
        let amounts = draw_all(&mut conn, "k", 0);
        assert_eq!((amounts.len(), amounts.iter().sum::<i64>()), (packets, supply), "{init}");
        assert!(amounts.iter().all(|amount| *amount >= min), "{init} gave {amounts:?}");
        assert_eq!(number(&mut conn, "k", "sold"), supply);
        assert_eq!(number(&mut conn, "k", "packets"), 0);
        server.assert_sound("k");
        assert_eq!(conn.call("DEL k"), "1");
    }
}

// Rules: 3601
#[test]
fn uniform_draws_stay_in_range_and_spend_the_budget() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 1000 DRAW UNIFORM 3 9", "+OK"),
        ("SECKILL.INIT one 10 DRAW UNIFORM 4 4", "+OK"),
    ]);
    assert_eq!(draw_all(&mut conn, "one", 0), [4, 4, 2], "the last is cut");
    let amounts = draw_all(&mut conn, "k", 0);
    assert_eq!(amounts.iter().sum::<i64>(), 1000);
    let (last, others) = amounts.split_last().expect("amounts");
    assert!(others.iter().all(|amount| (3..=9).contains(amount)), "{amounts:?}");
    assert!((1..=9).contains(last), "{amounts:?}");
    for amount in 3..=9 {
        assert!(others.contains(&amount), "{amount} never came");
    }
    conn.check(&[("SECKILL.RESTOCK k 5 REQ r", "[5 5]")]);
    assert_eq!(number(&mut conn, "k", "supply"), 1005);
    assert_eq!(conn.call("SECKILL.IMPORT k imported 5 REQ o"), import_reply(amounts.len() + 1));
    server.assert_sound("k");
}

fn import_reply(seq: usize) -> String {
    format!("['GRANTED' {seq} 5 'SOLD' 0 0]")
}

#[test]
fn a_list_has_at_most_so_many_amounts() {
    let (server, mut conn) = Server::start().with_conn();
    let mut long: Vec<String> =
        ["SECKILL.INIT", "k", "100001", "DRAW", "LIST"].map(String::from).into();
    long.resize(5 + 100_001, "1".to_owned());
    let reply = conn.ask(&long).to_string();
    assert_eq!(reply, "-ERR DRAW LIST takes at most 100000 amounts");
    long.pop();
    long[2] = "100000".to_owned();
    assert_eq!(conn.ask(&long).to_string(), "+OK");
    conn.check(&[("SECKILL.ALTER k LIMIT 0 GRABS 2", "+OK")]);
    server.assert_sound("k");
}

/// A user gets one packet, and a repeated GRAB shows its amount.
#[test]
fn a_replay_shows_the_same_amount() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 100000 DRAW PACKETS 20"), "+OK");
    let first: Vec<Reply> =
        (0..20).map(|user| conn.cmd(&format!("SECKILL.GRAB k u{user} REQ o"))).collect();
    let digest = server.digest("k");
    for (user, granted) in first.iter().enumerate() {
        let (seq, qty) = (granted.items()[1].int(), granted.items()[2].int());
        conn.check(&[
            (&format!("SECKILL.GRAB k u{user} REQ o"), &format!("['REPLAY' {seq} {qty} 'SOLD' 0]")),
            (
                &format!("SECKILL.GRAB k u{user} REQ p"),
                &format!("['ALREADY' {seq} {qty} 'SOLD' 0]"),
            ),
            (&format!("SECKILL.GRAB k u{user}"), &format!("['ALREADY' {seq} {qty} 'SOLD' 0]")),
        ]);
    }
    assert_eq!(server.digest("k"), digest);
}

/// Amount and packet come back together; a list gets the amount at its end.
#[test]
fn what_comes_back_is_drawn_again() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT l 60 HOLD 900000 DRAW LIST 10 20 30", "+OK"),
        ("SECKILL.GRAB l a REQ o", "['GRANTED' 1 10 'HELD' T 50]"),
        ("SECKILL.CANCEL l a", "['CANCELLED' 1 10 0]"),
        ("SECKILL.GRAB l b REQ o", "['GRANTED' 2 20 'HELD' T 40]"),
        ("SECKILL.CONFIRM l b", "['SOLD' 2 20 0]"),
        ("SECKILL.REFUND l b", "['REFUNDED' 2 20 0]"),
        ("SECKILL.GRAB l c", "['GRANTED' 3 30 'HELD' T 30]"),
        ("SECKILL.GRAB l d", "['GRANTED' 4 10 'HELD' T 20]"),
        ("SECKILL.GRAB l e", "['GRANTED' 5 20 'HELD' T 0]"),
        ("SECKILL.GRAB l f", "['SOLDOUT' 60]"),
        ("SECKILL.INIT k 100 HOLD 30 DRAW PACKETS 7 MIN 5", "+OK"),
    ]);
    for user in 0..7 {
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB k u{user}")).items()[0].text(), "GRANTED");
    }
    wait_for_no_holds(&server, "k");
    assert_eq!(number(&mut conn, "k", "available"), 100);
    assert_eq!(number(&mut conn, "k", "packets"), 7);
    assert_eq!(conn.call("SECKILL.ALTER k HOLD 0"), "+OK");
    let amounts = draw_all(&mut conn, "k", 100);
    assert_eq!((amounts.len(), amounts.iter().sum::<i64>()), (7, 100));
    assert!(amounts.iter().all(|amount| *amount >= 5), "{amounts:?}");
    for key in ["k", "l"] {
        server.assert_sound(key);
    }
}

fn fill(conn: &mut Conn) {
    conn.check(&[
        ("SECKILL.INIT p 100000 HOLD 900000 OUTBOX s DRAW PACKETS 60 MIN 2", "+OK"),
        ("SECKILL.INIT u 5000 DRAW UNIFORM 10 90", "+OK"),
        ("SECKILL.INIT e 1003 DRAW EQUAL 60", "+OK"),
        ("SECKILL.INIT l 21 HOLD 900000 DRAW LIST 1 2 3 4 5 6", "+OK"),
    ]);
    for user in 0..4 {
        for key in ["p", "u", "e", "l"] {
            assert!(!conn.cmd(&format!("SECKILL.GRAB {key} f{user} REQ o")).is_error());
        }
    }
    for line in ["SECKILL.CANCEL l f1", "SECKILL.CANCEL p f2", "SECKILL.CONFIRM p f3"] {
        assert!(!conn.cmd(line).is_error());
    }
}

const SALES: [&str; 4] = ["p", "u", "e", "l"];

#[test]
fn draws_are_the_same_everywhere() {
    logs::assert_same_everywhere(&SALES, fill, |server| {
        let mut conn = server.conn();
        assert_eq!(conn.call("SECKILL.ALTER l HOLD 0"), "+OK");
        assert_eq!(conn.cmd("SECKILL.GRAB l f0 REQ o").items()[0].text(), "REPLAY");
        for amount in [5, 6, 2] {
            let reply = conn.cmd(&format!("SECKILL.GRAB l next{amount}"));
            assert_eq!(reply.items()[2], Reply::Int(amount), "{reply}");
        }
    });
}

/// A replica has its primary's draws. After its promotion its next draws are those that the primary
/// would have made.
#[test]
fn a_promoted_replica_goes_on_drawing() {
    let (mut primary, replica) = (Server::start(), Server::start());
    let mut conn = primary.conn();
    fill(&mut conn);
    replica.follow(&primary);
    let late = conn.cmd("SECKILL.GRAB p late REQ o");
    replica.wait_in_sync(&primary);
    let next =
        |conn: &mut Conn, key: &str| conn.cmd(&format!("SECKILL.GRAB {key} n")).items()[2].int();
    primary.kill9();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    let mut far = replica.conn();
    let again = far.cmd("SECKILL.GRAB p late REQ o");
    assert_eq!(again.items()[1..4], late.items()[1..4]);
    for key in ["p", "u", "e", "l"] {
        assert!(next(&mut far, key) > 0);
    }
    assert_eq!(far.call("SECKILL.ALTER p HOLD 0"), "+OK");
    draw_all_but_holds(&mut far);
    for key in ["p", "u", "e", "l"] {
        replica.assert_sound(key);
    }
    assert_eq!(number(&mut far, "p", "available"), 0);
    assert_eq!(number(&mut far, "p", "packets"), 0);
    assert_eq!(number(&mut far, "p", "grants"), 61, "60 packets, one of them twice");
    assert_eq!(number(&mut far, "p", "held") + number(&mut far, "p", "sold"), 100_000);
}

fn draw_all_but_holds(conn: &mut Conn) {
    for user in 0.. {
        let reply = conn.cmd(&format!("SECKILL.GRAB p end{user}"));
        if reply.items()[0].text() == "SOLDOUT" {
            return;
        }
    }
}

/// The secret is in every copy. So a copy draws the amounts that the primary would have drawn, and
/// repeats none.
#[test]
fn a_copy_draws_what_the_primary_would_have() {
    let (mut primary, replica, third) = (Server::start(), Server::start(), Server::start());
    let mut conn = primary.conn();
    // A range so wide that an amount comes twice in one of 1,000,000 runs.
    let init = "SECKILL.INIT k 9007199254740991 DRAW UNIFORM 1 100000000000";
    assert_eq!(conn.call(init), "+OK");
    let draw = |conn: &mut Conn, users: std::ops::Range<i64>| -> Vec<i64> {
        let grab = |user: i64| {
            let reply = conn.cmd(&format!("SECKILL.GRAB k u{user}"));
            assert_eq!(reply.items()[1], Reply::Int(user + 1), "seq runs on");
            reply.items()[2].int()
        };
        users.map(grab).collect()
    };
    let mut drawn = draw(&mut conn, 0..100);
    replica.follow(&primary);
    let payload = conn.cmd("DUMP k").bytes().to_vec();
    let restore: [&[u8]; 4] = [b"RESTORE", b"k", b"0", &payload];
    assert_eq!(third.conn().ask(&restore).to_string(), "+OK");
    replica.wait_in_sync(&primary);
    primary.kill9();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    let next = draw(&mut replica.conn(), 100..200);
    assert_eq!(draw(&mut third.conn(), 100..200), next);
    drawn.extend(&next);
    drawn.sort_unstable();
    assert!(drawn.windows(2).all(|two| two[0] != two[1]), "{drawn:?}");
    // Another sale has another secret.
    let mut conn = replica.conn();
    assert_eq!(conn.call("DEL k"), "1");
    assert_eq!(conn.call(init), "+OK");
    let others = draw(&mut conn, 0..100);
    assert!(others.iter().all(|amount| drawn.binary_search(amount).is_err()), "{others:?}");
}

/// Amounts from the caller: a budget of 1,000,000 coins is never exceeded, with any number of
/// clients.
#[test]
fn a_budget_is_never_overspent() {
    const BUDGET: i64 = 1_000_000;
    const CONNECTIONS: u64 = 100;
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call(&format!("SECKILL.INIT k {BUDGET} LIMIT 0 GRABS 1")), "+OK");
    let paid: i64 = thread::scope(|scope| {
        let buyers: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let mut conn = server.conn();
                scope.spawn(move || spend(&mut conn, number))
            })
            .collect();
        wait_until("the budget is spent", || {
            let sold = number(&mut conn, "k", "sold");
            assert!(sold <= BUDGET, "{sold}");
            sold == BUDGET
        });
        buyers.into_iter().map(|buyer| buyer.join().expect("a buyer")).sum()
    });
    assert_eq!(paid, BUDGET);
    let (mut cursor, mut listed) = (0, 0);
    loop {
        let page = conn.cmd(&format!("SECKILL.WINNERS k {cursor} COUNT 10000"));
        listed += page.items()[1].items().iter().map(|row| row.items()[2].int()).sum::<i64>();
        cursor = page.items()[0].int();
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(listed, BUDGET);
    server.assert_sound("k");
}

/// Grabs for one user after the other until nothing is left. Every call is sent twice, with two
/// amounts.
fn spend(conn: &mut Conn, number: u64) -> i64 {
    let mut random = crate::support::Random(number);
    let mut paid = 0;
    for user in 0.. {
        let (amount, other) = (1 + random.below(2500), 1 + random.below(2500));
        let order = format!("SECKILL.GRAB k {number}-{user} REQ o UPTO");
        let reply = conn.cmd(&format!("{order} {amount}"));
        if reply.items()[0].text() != "GRANTED" {
            assert_eq!(reply.to_string(), "['SOLDOUT' 0]");
            return paid;
        }
        let granted = reply.items()[2].int();
        assert!((1..=amount as i64).contains(&granted), "{reply}");
        let again = conn.cmd(&format!("{order} {other}"));
        assert_eq!(again.items()[2], Reply::Int(granted), "{again}");
        paid += granted;
    }
    paid
}
