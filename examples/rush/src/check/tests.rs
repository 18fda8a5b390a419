//! The demo's checker must find errors: each test changes one fact of a correct rush and expects
//! the message about it.

use std::collections::HashSet;

use serde_json::json;

use crate::check::{check, ServerSide};
use seckill_crowd::plan::{Click, Plan};
use seckill_crowd::sale::{Audit, Winner};
use seckill_crowd::wire::{read_reply, user_name, write_grab, Reply};

const STOCK: u64 = 2;
const USERS: u64 = 4;

/// Users 0 and 1 win and ask again, 2 and 3 come too late.
fn perfect() -> (Vec<(Click, Reply)>, ServerSide) {
    let granted =
        |seq| Reply::Granted { seq, qty: 1, state: "SOLD".into(), available: STOCK - seq };
    let click = |user, order| Click { user, order };
    let answers = vec![
        (click(0, 0), granted(1)),
        (click(1, 0), granted(2)),
        (click(0, 0), Reply::Replay { seq: 1, qty: 1, state: "SOLD".into() }),
        (click(1, 1), Reply::Already { seq: 2, qty: 1, state: "SOLD".into() }),
        (click(2, 0), Reply::SoldOut { held: 0 }),
        (click(3, 0), Reply::SoldOut { held: 0 }),
    ];
    let winner = |seq, user| Winner { seq, user: user_name(user), qty: 1, state: "SOLD".into() };
    let counters = json!({"attempts": 6, "granted": 2, "already": 1, "replayed": 1, "soldout": 2});
    let status = json!({"supply": 2, "available": 0, "held": 0, "sold": 2, "winners": 2,
        "grants": 2, "counters": counters});
    let winners = vec![winner(1, 0), winner(2, 1)];
    let audit = Audit { ok: true, text: "ok 1".into() };
    (answers, ServerSide { winners, status, audit })
}

#[track_caller]
fn assert_found(sentence: &str, spoil: impl FnOnce(&mut Vec<(Click, Reply)>, &mut ServerSide)) {
    let (mut answers, mut server) = perfect();
    spoil(&mut answers, &mut server);
    let found = check(&answers, &server, STOCK, USERS);
    assert!(found.as_ref().is_err_and(|text| text.contains(sentence)), "{found:?}");
}

#[test]
fn a_perfect_rush_passes() {
    let (answers, server) = perfect();
    assert_eq!(check(&answers, &server, STOCK, USERS), Ok(()));
}

#[test]
fn an_oversold_or_undersold_sale_is_found() {
    let third = Reply::Granted { seq: 3, qty: 1, state: "SOLD".into(), available: 0 };
    assert_found("3 users were granted a unit instead of 2", |answers, _| answers[4].1 = third);
    assert_found("1 users were granted a unit instead of 2", |answers, _| {
        answers.remove(1);
    });
}

#[test]
fn a_user_who_wins_twice_is_found() {
    assert_found("user-000000 was granted twice", |answers, _| answers[1].0.user = 0);
}

#[test]
fn a_seq_given_twice_is_found() {
    assert_found("not numbered 1 to 2", |answers, _| answers[1].1 = answers[0].1.clone());
}

#[test]
fn a_wrong_rest_is_found() {
    assert_found("After grant 1 of 2 there were 2 left", |answers, _| {
        answers[0].1 = Reply::Granted { seq: 1, qty: 1, state: "SOLD".into(), available: 2 };
    });
}

#[test]
fn an_order_that_is_not_known_again_is_found() {
    let already = Reply::Already { seq: 1, qty: 1, state: "SOLD".into() };
    assert_found("user-000000 sent a granted order again and was told ALREADY", |answers, _| {
        answers[2].1 = already;
    });
}

#[test]
fn a_winner_who_is_sent_away_is_found() {
    assert_found("holds a unit and was told SOLDOUT", |answers, _| {
        answers[2].1 = Reply::SoldOut { held: 0 };
    });
}

#[test]
fn a_grant_of_somebody_else_is_found() {
    assert_found("a grant that is not theirs", |answers, _| answers[2].0.user = 1);
    assert_found("a grant that is not theirs", |answers, _| answers[3].0.user = 2);
}

#[test]
fn an_error_is_found() {
    assert_found("unexpected answer: NOTOPEN 7", |answers, _| {
        answers[5].1 = Reply::NotOpen { in_ms: 7 };
    });
    assert_found("unexpected answer: -ERR syntax error", |answers, _| {
        answers[5].1 = Reply::Unexpected("-ERR syntax error".into());
    });
}

#[test]
fn a_server_that_disagrees_is_found() {
    assert_found("WINNERS lists 1 grants, the replies said 2", |_, server| {
        server.winners.pop();
    });
    assert_found("WINNERS says", |_, server| server.winners[1].user = user_name(3));
    assert_found("STATUS says 7 for /counters/attempts, the replies say 6", |_, server| {
        server.status["counters"]["attempts"] = json!(7);
    });
    assert_found("STATUS says 1 for /available", |_, server| server.status["available"] = json!(1));
    assert_found("AUDIT found a difference: ok 0", |_, server| {
        server.audit = Audit { ok: false, text: "ok 0".into() };
    });
}

#[test]
fn every_user_clicks_and_every_second_one_twice() {
    for (connections, users) in [(1, 1), (1, 9), (3, 8), (500, 4_000), (7, 100), (20, 3)] {
        let plan = Plan::new(connections, users);
        let clicks: Vec<Click> = plan.queues.iter().flatten().copied().collect();
        let who: HashSet<u32> = clicks.iter().map(|click| click.user).collect();
        assert_eq!(who.len() as u32, users);
        assert_eq!(clicks.len() as u32, users + users.div_ceil(2));
        assert_eq!(plan.clicks, clicks.len() as u64);
    }
}

#[test]
fn a_reply_is_read_when_it_is_whole_and_not_before() {
    let whole = b"*6\r\n$7\r\nGRANTED\r\n:3\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:97\r\n";
    for length in 0..whole.len() {
        assert_eq!(read_reply(&whole[..length]), None, "{length} bytes");
    }
    let granted = Reply::Granted { seq: 3, qty: 1, state: "SOLD".into(), available: 97 };
    assert_eq!(read_reply(whole), Some((granted, whole.len())));
    let mut sent = Vec::new();
    write_grab(&mut sent, "sale", Click { user: 7, order: 1 });
    let words = "*5\r\n$12\r\nSECKILL.GRAB\r\n$4\r\nsale\r\n$11\r\nuser-000007\r\n$3\r\nREQ\r\n";
    assert_eq!(String::from_utf8_lossy(&sent), format!("{words}$9\r\norder-7-1\r\n"));
}
