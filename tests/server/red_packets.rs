//! Drawn amounts: a list's bound, and copies, which draw what the primary would have drawn.

use crate::support::{logs, Conn, Reply, Server};

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
