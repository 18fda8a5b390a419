//! A small red packet demo with a real server. The demo's checkers must find errors: each test
//! changes one fact of a correct round and expects the message about it.

use redis::{Client, Connection};
use serde_json::json;

use crate::amounts::{Amounts, Kind, COINS_BOUND};
use crate::check::{check, Past};
use crate::packets::Packet;
use crate::round::{Event, Grant, Played, Round, Terms};
use seckill_crowd::plan::Click;
use seckill_crowd::sale::{Audit, Row, Winner};
use seckill_crowd::wire::{user_name, Reply};
use seckill_harness::Server;

const OPENED_AT: u64 = 1_000;
const TERMS: Terms = Terms { budget: 200, lasts_ms: 50, amounts: Amounts { seed: 13 } };
/// Winners of both rounds. The third gets the remaining coins, fewer than the amount asked for.
const USERS: [u32; 3] = [0, 1, 2];

fn connect(server: &Server) -> (Client, Connection) {
    let client = Client::open(format!("redis://127.0.0.1:{}/", server.port())).unwrap();
    let connection = client.get_connection().unwrap();
    (client, connection)
}

#[test]
fn a_small_event_pays_its_budget_and_no_more() {
    let server = Server::start();
    let (client, mut control) = connect(&server);
    let event = Event {
        client: &client,
        key: "k",
        budget: 4_000,
        users: 120,
        clients: 20,
        every_ms: 1_500,
        lasts_ms: 600,
        amounts: Amounts { seed: 7 },
    };
    let rounds = event.run(&mut control).unwrap();
    assert_eq!(rounds.iter().map(|round| round.users).collect::<Vec<_>>(), [120, 120, 40]);
    assert_eq!(rounds[0].paid(), 4_000);
    assert_eq!(rounds[1].paid(), 4_000);
    assert!(rounds[2].paid() < 4_000, "40 users of about 80 coins");
    assert_eq!(rounds[2].grants.len(), 40);
    let kinds = [Kind::New, Kind::Regular];
    let users = rounds[2].grants.iter().map(|grant| event.amounts.kind(grant.user));
    let users: Vec<Kind> = users.collect();
    assert!(kinds.iter().all(|kind| users.contains(kind)), "{users:?}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/picture.svg");
    crate::chart::write(&file, &event, &rounds).unwrap();
    let picture = std::fs::read_to_string(file).unwrap();
    let [paid, left] =
        [rounds[2].paid(), 4_000 - rounds[2].paid()].map(seckill_crowd::screen::thousands);
    let third = format!("Round 3: {paid} coins paid to 40 of 40 users, {left} left");
    for text in ["Round 1: 4,000 coins paid to ", " of 120 users, the whole budget", &third] {
        assert!(picture.contains(text), "{text}");
    }
    assert_eq!(picture.matches("seconds after the opening").count(), 3);
    assert!(picture.trim_end().ends_with("</svg>"));
}

#[test]
fn ten_packets_are_a_hundred_yuan() {
    let server = Server::start();
    let (client, mut control) = connect(&server);
    let sentence = crate::packets::run(&client, &mut control, "k").unwrap();
    assert!(sentence.starts_with("OK: 10 packets, 100.00 yuan together"), "{sentence}");
    assert!(sentence.contains("40 people were too late"), "{sentence}");
}

fn click(user: u32, order: u8) -> Click {
    Click { user, order }
}

/// Round `number` after `past` grants. One user comes too early, and again when all is paid; one
/// asks again, another asks after the end.
fn perfect(number: u64, past: u64) -> (Round, Played) {
    let mut available = TERMS.budget;
    let mut grants = Vec::new();
    for (user, seq) in USERS.into_iter().zip(past + 1..) {
        let asked = TERMS.amounts.asked(number, click(user, 0));
        let qty = asked.min(available);
        available -= qty;
        let after_ms = u64::from(user);
        grants.push(Grant { seq, user, asked, qty, available, after_ms });
    }
    assert!(available == 0 && grants[2].qty < grants[2].asked, "{grants:?}");
    let mut answers = vec![(click(3, 0), Reply::NotOpen { in_ms: 9 })];
    answers.extend(grants.iter().map(|grant| {
        let Grant { seq, qty, available, .. } = *grant;
        (click(grant.user, 0), Reply::Granted { seq, qty, state: "SOLD".into(), available })
    }));
    let told = |user: usize| (grants[user].seq, grants[user].qty, "SOLD".to_owned());
    let (seq, qty, state) = told(0);
    answers.push((click(0, 0), Reply::Replay { seq, qty, state }));
    let (seq, qty, state) = told(1);
    answers.push((click(1, 2), Reply::Already { seq, qty, state }));
    answers.push((click(3, 0), Reply::SoldOut { held: 0 }));
    let row = |grant: &Grant| {
        let (seq, user, qty) = (grant.seq, user_name(grant.user), grant.qty);
        let winner = Winner { seq, user, qty, state: "SOLD".into() };
        Row { winner, at: OPENED_AT + grant.after_ms, round: number }
    };
    let total = |round| [round, TERMS.budget, TERMS.budget, 3];
    let times = |one: u64| one * number;
    let counters = json!({"attempts": times(7), "granted": times(3), "already": times(1),
        "replayed": times(1), "soldout": times(1), "notopen": times(1)});
    let round = Round {
        number,
        opened_at: OPENED_AT,
        users: 4,
        answers,
        early: 1,
        unsent: 0,
        looks: 1,
        rows: grants.iter().map(row).collect(),
        status: json!({"round": number, "supply": TERMS.budget, "available": 0, "held": 0,
            "sold": TERMS.budget, "winners": 3, "grants": past + 3, "counters": counters}),
        totals: (0..=number)
            .rev()
            .map(|round| if round == 0 { [0; 4] } else { total(round) })
            .collect(),
        audit: Audit { ok: true, text: "ok 1".into() },
    };
    (round, Played { number, users: 4, grants })
}

#[track_caller]
fn assert_found(sentence: &str, spoil: impl FnOnce(&mut Round)) {
    let (mut round, _) = perfect(1, 0);
    spoil(&mut round);
    let found = check(&round, &TERMS, &Past::default());
    assert!(found.as_ref().is_err_and(|text| text.contains(sentence)), "{found:?}");
}

/// A grant of the round, by its index.
fn granted(round: &mut Round, place: usize) -> (&mut u64, &mut u64, &mut u64) {
    match &mut round.answers[place].1 {
        Reply::Granted { seq, qty, available, .. } => (seq, qty, available),
        other => panic!("{other:?}"),
    }
}

#[test]
fn perfect_rounds_pass() {
    let (first, played) = perfect(1, 0);
    assert_eq!(check(&first, &TERMS, &Past::default()).as_ref(), Ok(&played.grants));
    let mut past = Past::default();
    past.add(&first, &played, TERMS.budget);
    let (mut second, later) = perfect(2, 3);
    assert_eq!(check(&second, &TERMS, &past).as_ref(), Ok(&later.grants));
    // Before the opening a winner of the first round may get ALREADY for that round; later never.
    let before = Reply::Already { seq: 1, qty: played.grants[0].qty, state: "SOLD".into() };
    second.status["counters"]["already"] = json!(3);
    second.status["counters"]["notopen"] = json!(1);
    second.answers[0] = (click(0, 0), before.clone());
    assert_eq!(check(&second, &TERMS, &past).as_ref(), Ok(&later.grants));
    second.early = 0;
    let found = check(&second, &TERMS, &past);
    assert!(found.is_err_and(|text| text.contains("a grant that is not theirs")));
}

#[test]
fn a_coin_too_many_is_found() {
    assert_found("goes over the budget of 200", |round| *granted(round, 3).1 += 1);
    assert_found("was to get", |round| *granted(round, 1).1 += 1);
    assert_found("was to get", |round| *granted(round, 1).1 -= 1);
    assert_found("coins are left, the reply said", |round| *granted(round, 1).2 += 1);
}

#[test]
fn a_user_who_is_paid_twice_is_found() {
    assert_found("was granted twice in round 1", |round| {
        let again = round.answers[1].clone();
        round.answers.push(again);
    });
}

#[test]
fn a_seq_out_of_order_is_found() {
    assert_found("There is a grant 4 where 3 should be", |round| *granted(round, 3).0 = 4);
}

#[test]
fn a_user_who_is_told_wrong_is_found() {
    assert_found("a grant that is not theirs", |round| round.answers[4].0.user = 1);
    assert_found("a grant that is not theirs", |round| round.answers[5].0.user = 3);
    assert_found("has coins and was told SOLDOUT", |round| round.answers[6].0.user = 0);
    assert_found("was told SOLDOUT 1", |round| round.answers[6].1 = Reply::SoldOut { held: 1 });
    assert_found("and Some(", |round| {
        round.answers.remove(3);
    });
    assert_found("unexpected answer: Unexpected(\"-ERR no\")", |round| {
        round.answers[6].1 = Reply::Unexpected("-ERR no".into());
    });
}

#[test]
fn a_grant_outside_of_the_round_is_found() {
    for at in [OPENED_AT - 1, OPENED_AT + TERMS.lasts_ms] {
        assert_found("Grant 3 was made while the round was not open", |round| {
            round.rows[2].at = at
        });
    }
    assert_found("WINNERS says", |round| round.rows[2].round = 2);
}

#[test]
fn a_server_that_disagrees_is_found() {
    assert_found("WINNERS lists 2 grants, the replies said 3", |round| {
        round.rows.pop();
    });
    assert_found("WINNERS says", |round| round.rows[1].winner.qty += 1);
    assert_found("STATUS says 7 for /sold", |round| round.status["sold"] = json!(7));
    assert_found("STATUS says 2 for /round", |round| round.status["round"] = json!(2));
    assert_found("STATUS says 0 for /counters/notopen", |round| {
        round.status["counters"]["notopen"] = json!(0);
    });
    assert_found("ROUNDS says", |round| round.totals[0][2] += 1);
    assert_found("ROUNDS says", |round| {
        round.totals.remove(0);
    });
    assert_found("AUDIT found a difference: ok 0", |round| {
        round.audit = Audit { ok: false, text: "ok 0".into() };
    });
}

#[test]
fn amounts_are_those_of_the_app() {
    let (mut least, mut most, mut new) = (u64::MAX, 0, 0);
    for user in 0..30_000 {
        let asked = TERMS.amounts.asked(1, click(user, 0));
        let is_new = TERMS.amounts.kind(user) == Kind::New;
        assert_eq!(is_new, asked >= 100, "{asked}");
        (least, most, new) = (least.min(asked), most.max(asked), new + u64::from(is_new));
    }
    assert_eq!((least, most < COINS_BOUND), (20, true));
    assert!((5_500..6_500).contains(&new), "{new} of 30,000 are new");
}

/// Ten people open a packet of 1,000 fen each, one asks again, and forty are too late.
fn perfect_packets() -> Vec<(Click, Reply)> {
    let granted = |user: u32| {
        let (seq, state) = (u64::from(user) + 1, "SOLD".into());
        Reply::Granted { seq, qty: 1_000, state, available: 10_000 - seq * 1_000 }
    };
    let mut answers: Vec<(Click, Reply)> =
        (0..10).map(|user| (click(user, 0), granted(user))).collect();
    answers.extend((10..50).map(|user| (click(user, 0), Reply::SoldOut { held: 0 })));
    answers.push((click(0, 0), Reply::Replay { seq: 1, qty: 1_000, state: "SOLD".into() }));
    answers
}

#[track_caller]
fn assert_packets_found(sentence: &str, spoil: impl FnOnce(&mut Vec<(Click, Reply)>)) {
    let mut answers = perfect_packets();
    spoil(&mut answers);
    let found = crate::packets::check(&answers);
    assert!(found.as_ref().is_err_and(|text| text.contains(sentence)), "{found:?}");
}

#[test]
fn wrong_packets_are_found() {
    let packet = |person: u32| Packet { seq: u64::from(person) + 1, person, fen: 1_000 };
    assert_eq!(crate::packets::check(&perfect_packets()), Ok((0..10).map(packet).collect()));
    let set = |answers: &mut Vec<(Click, Reply)>, place: usize, fen: u64, left: u64| {
        let (seq, state) = (place as u64 + 1, "SOLD".into());
        answers[place].1 = Reply::Granted { seq, qty: fen, state, available: left };
    };
    assert_packets_found("Ada got packet 1 of 999 fen", |all| set(all, 0, 999, 9_000));
    assert_packets_found("More was given than there is", |all| set(all, 9, 1_001, 0));
    assert_packets_found("Zoe got packet 10 of 0 fen", |all| {
        all[9].0.user = 49;
        set(all, 9, 0, 1_000);
    });
    assert_packets_found("9 packets were opened, 1000 fen are left", |all| drop(all.remove(9)));
    assert_packets_found("Ada opened two packets", |all| all[1].0.user = 0);
    assert_packets_found("39 people were too late instead of 40", |all| drop(all.remove(10)));
    assert_packets_found("Ada was told SoldOut", |all| all[10].0.user = 0);
    assert_packets_found("Aiko was told Replay", |all| all[50].0.user = 1);
}
