//! The checker of --pay must find errors: each test changes one fact of a correct sale and expects
//! the message about it.

use std::time::Duration;

use serde_json::json;

use crate::check::ServerSide;
use crate::pay::{Ending, Habit, Paid};
use crate::pay_check::check;
use seckill_crowd::sale::{Audit, Winner};
use seckill_crowd::wire::user_name;

const STOCK: u64 = 3;
const USERS: u64 = 9;

/// Two pay in time, one late; one never pays, one cancels; the others come too late.
fn perfect() -> (Paid, ServerSide) {
    let ends = [(0, 1, "SOLD"), (1, 2, "EXPIRED"), (3, 3, "CANCELLED"), (2, 4, "SOLD")];
    let ends = ends.into_iter().chain([(5, 5, "SOLD")]);
    let ending = |(user, seq, state): (u32, u64, &str)| Ending { user, seq, state: state.into() };
    let endings: Vec<Ending> = ends.map(ending).collect();
    let row = |end: &Ending| {
        let (user, state) = (user_name(end.user), end.state.clone());
        Winner { seq: end.seq, user, qty: 1, state }
    };
    let winners = endings.iter().map(row).collect();
    let counters =
        json!({"granted": 5, "soldout": 6, "cancelled": 1, "expired": 2, "reclaimed": 1});
    let status = json!({"supply": 3, "available": 0, "held": 0, "sold": 3, "winners": 3,
        "grants": 5, "counters": counters});
    let paid = Paid { endings, waits: 2, too_late: 4, took: Duration::ZERO };
    let audit = Audit { ok: true, text: "ok 1".into() };
    (paid, ServerSide { winners, status, audit })
}

#[track_caller]
fn assert_found(sentence: &str, spoil: impl FnOnce(&mut Paid, &mut ServerSide)) {
    let (mut paid, mut server) = perfect();
    spoil(&mut paid, &mut server);
    let found = check(&paid, &server, STOCK, USERS);
    assert!(found.as_ref().is_err_and(|text| text.contains(sentence)), "{found:?}");
}

#[test]
fn a_perfect_sale_passes() {
    let (paid, server) = perfect();
    assert_eq!(check(&paid, &server, STOCK, USERS), Ok(()));
}

#[test]
fn a_unit_that_nobody_paid_for_is_found() {
    assert_found("2 of 3 units were paid for", |paid, _| paid.endings[0].state = "EXPIRED".into());
}

#[test]
fn a_user_without_an_answer_is_found() {
    assert_found("8 users were answered instead of 9", |paid, _| paid.too_late -= 1);
}

#[test]
fn an_answer_that_does_not_fit_is_found() {
    assert_found("user-000003, who Cancels, was told SOLD", |paid, _| {
        paid.endings[2].state = "SOLD".into();
    });
    assert_found("user-000001, who Forgets, was told HELD", |paid, _| {
        paid.endings[1].state = "HELD".into();
    });
}

#[test]
fn a_server_that_disagrees_is_found() {
    assert_found("WINNERS lists 4 grants, the buyers were told of 5", |_, server| {
        server.winners.pop();
    });
    assert_found("WINNERS says", |_, server| server.winners[1].state = "HELD".into());
    assert_found("WINNERS says", |paid, _| paid.endings[1].seq = 9);
    assert_found("STATUS says 1 for /held", |_, server| server.status["held"] = json!(1));
    assert_found("STATUS says 4 for /counters/expired", |_, server| {
        server.status["counters"]["expired"] = json!(4);
    });
    assert_found("AUDIT found a difference: ok 0", |_, server| {
        server.audit = Audit { ok: false, text: "ok 0".into() };
    });
}

#[test]
fn half_of_the_users_pay_in_time() {
    let pays = |user: &u32| Habit::of(*user) == Habit::Pays;
    assert_eq!((0..4_000).filter(pays).count(), 2_000);
}
