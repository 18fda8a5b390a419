//! Reads are as current as changes. Histories of many clients, with the times of sending and of
//! replies, must be linearizable: the oracle gives every reply in some order.

use std::collections::HashMap;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use seckill_model::linear::{linearization, Call, Found, Told};
use seckill_model::oracle::{Ask, Deed, ListRules, Op, Oracle, Pick, Rules};

use crate::support::{Conn, Random, Reply, Server};

const CLIENTS: usize = 12;
const CALLS: usize = 200;
/// Few calls: without a valid order the search visits all possible orders.
const FEW_CALLS: usize = 40;
const USERS: u64 = 8;
/// Number of request ids. Each belongs to one user, and several clients send it.
const REQUESTS: u64 = 48;
const SUPPLY: u64 = 6;
/// Longer than a history: no hold expires.
const HOLD_MS: u64 = 600_000;

/// Terms for the oracle, and as words of INIT.
fn sales() -> [(Rules, &'static str); 3] {
    let rules = Rules { hold_ms: HOLD_MS, ..Rules::default() };
    let list = |overtake| Some(ListRules { max: 5, offer_ms: 0, overtake });
    [
        (Rules { limit: 3, ..rules }, "LIMIT 3"),
        (Rules { limit: 3, list: list(0), ..rules }, "LIMIT 3 WAITLIST 5 OVERTAKE 0"),
        (Rules { grabs: 2, list: list(2), ..rules }, "LIMIT 0 GRABS 2 WAITLIST 5 OVERTAKE 2"),
    ]
}

/// A client's next call, and its words.
fn draw(random: &mut Random, waits: bool) -> (Call, String) {
    let number = random.below(REQUESTS);
    let (user, id) = (format!("u{}", number % USERS), format!("o{number}"));
    let (name, req) = (user.clone().into_bytes(), id.clone().into_bytes());
    let settle = |deed, word: &str| {
        let (user_, pick) = (name.clone(), Pick::Req(req.clone()));
        let op = Op::Settle { user: user_, pick, deed };
        (Call::Change(op), format!("SECKILL.{word} k {user} REQ {id}"))
    };
    match random.below(100) {
        0..=17 => {
            let qty = 1 + number % 3;
            let (ask, line) = (Ask::Qty(qty), format!("SECKILL.GRAB k {user} QTY {qty} REQ {id}"));
            match waits && !number.is_multiple_of(4) {
                true => (
                    Call::Change(Op::Join { user: name, ask, req, until: 0 }),
                    format!("{line} WAIT"),
                ),
                false => (Call::Change(Op::Grab { user: name, ask, req: Some(req) }), line),
            }
        }
        18..=25 => settle(Deed::Confirm, "CONFIRM"),
        26..=37 => settle(Deed::Cancel, "CANCEL"),
        38..=43 => settle(Deed::Refund, "REFUND"),
        44..=47 => {
            let (delta, id) = (1 - (number % 3) as i64, random.below(90));
            let delta = if delta == 0 { 2 } else { delta };
            let op = Op::Restock { delta, req: id.to_string().into_bytes() };
            (Call::Change(op), format!("SECKILL.RESTOCK k {delta} REQ {id}"))
        }
        48 => (Call::Change(Op::Pause), "SECKILL.PAUSE k".into()),
        49..=51 => (Call::Change(Op::Resume), "SECKILL.RESUME k".into()),
        52..=65 => (Call::Status, "SECKILL.STATUS k".into()),
        66..=78 => (Call::User(name), format!("SECKILL.USER k {user}")),
        79..=88 => (Call::Place(name), format!("SECKILL.PLACE k {user}")),
        89..=93 => (Call::Winners { cursor: 3, count: 7 }, "SECKILL.WINNERS k 3 COUNT 7".into()),
        _ => (Call::Winners { cursor: 0, count: 100 }, "SECKILL.WINNERS k 0".into()),
    }
}

/// The elements of a reply, joined by spaces.
fn flat(reply: &Reply) -> String {
    match reply {
        Reply::Array(items) => {
            let texts = items.iter().map(flat).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join(" ")
        }
        Reply::Nil => "nil".into(),
        Reply::Int(number) => number.to_string(),
        Reply::Error(text) => String::from_utf8_lossy(text).split(' ').take(1).collect(),
        other => other.text(),
    }
}

/// The fields of STATUS, with those of `counters`.
fn fields(reply: &Reply) -> String {
    let field = |(name, value): (String, Reply)| match name.as_str() {
        "counters" => fields(&value),
        _ => format!("{name}={}", flat(&value)),
    };
    reply.pairs().into_iter().map(field).collect::<Vec<_>>().join(" ")
}

/// Twelve clients make this many calls at once. Returns all replies.
fn history(server: &Server, waits: bool, calls: usize, seed: u64) -> Vec<Told> {
    let (begin, all_here) = (Instant::now(), Barrier::new(CLIENTS));
    let moment = || begin.elapsed().as_nanos() as u64;
    let mut monitor = server.conn();
    assert_eq!(monitor.call("MONITOR"), "+OK");
    let client = |mut conn: Conn, number: usize| {
        let mut random = Random(seed ^ (number as u64) << 32);
        conn.cmd(&format!("ECHO {number}"));
        all_here.wait();
        let ask = |_| {
            let (call, line) = draw(&mut random, waits);
            let sent = moment();
            let reply = conn.cmd(&line);
            let answered = moment();
            let reply = if call == Call::Status { fields(&reply) } else { flat(&reply) };
            Told { sent, answered, call, reply, place: 0 }
        };
        (number..calls).step_by(CLIENTS).map(ask).collect::<Vec<_>>()
    };
    let mut told: Vec<Vec<Told>> = thread::scope(|scope| {
        let start = |number| {
            let (conn, client) = (server.conn(), &client);
            scope.spawn(move || client(conn, number))
        };
        let threads: Vec<_> = (0..CLIENTS).map(start).collect();
        threads.into_iter().map(|one| one.join().expect("a client")).collect()
    });
    server.conn().cmd("ECHO end");
    places(&mut monitor, &mut told);
    told.into_iter().flatten().collect()
}

/// Adds to each call its position in MONITOR. A client's ECHO shows which connection it has.
fn places(monitor: &mut Conn, told: &mut [Vec<Told>]) {
    let mut calls: Vec<_> = told.iter_mut().map(|calls| calls.iter_mut()).collect();
    let mut clients = HashMap::new();
    for place in 1.. {
        let line = monitor.read().expect("a call").text();
        let words: Vec<&str> = line.split([' ', '"']).filter(|word| !word.is_empty()).collect();
        match words[2..] {
            [_, "ECHO", "end"] => break,
            [address, "ECHO", number] => {
                let number: usize = number.parse().expect("a client's number");
                clients.insert(address.to_owned(), number);
            }
            [address, ..] => {
                calls[clients[address]].next().expect("a call of this client").place = place;
            }
            [] => panic!("{line}"),
        }
    }
}

/// Runs a history of one sale.
fn played(
    server: &Server,
    (rules, words): (Rules, &str),
    calls: usize,
    seed: u64,
) -> (Oracle, u64, Vec<Told>) {
    let clock = server.clock_ms() as u64;
    let init = format!("SECKILL.INIT k {SUPPLY} HOLD {HOLD_MS} {words}");
    server.conn().check(&[("FLUSHALL", "+OK"), (&init, "+OK")]);
    let told = history(server, rules.list.is_some(), calls, seed);
    let sale = Oracle::init(SUPPLY, rules, clock, clock).expect("terms that are taken");
    (sale, clock, told)
}

#[test]
fn each_call_takes_effect_between_its_sending_and_its_answer() {
    let server = Server::start();
    for seed in 0..8 {
        for sale in sales() {
            let (oracle, clock, told) = played(&server, sale, CALLS, seed);
            match linearization(&oracle, clock, &told) {
                Found::Order(_) => {}
                Found::NoOrder(why) | Found::Undecided(why) => {
                    panic!("{}, seed {seed}: {why}", sale.1)
                }
            }
        }
    }
}

/// An earlier call of this kind with an outdated reply. Between the two calls a grant was sent and
/// answered that the reply would have to show.
fn stale(told: &[Told], at: usize) -> Option<String> {
    let now = &told[at];
    let shows = |grant: &Told| match (&now.call, &grant.call) {
        (
            Call::User(user),
            Call::Change(Op::Grab { user: whose, .. } | Op::Join { user: whose, .. }),
        ) => user == whose,
        (Call::Status, _) => true,
        (Call::Winners { cursor: 0, .. }, _) => true,
        _ => false,
    };
    let is_between = |before: &Told, grant: &Told| {
        grant.reply.starts_with("GRANTED")
            && shows(grant)
            && before.answered < grant.sent
            && grant.answered < now.sent
    };
    let before = told.iter().filter(|before| before.call == now.call);
    let mut stale = before.filter(|before| told.iter().any(|grant| is_between(before, grant)));
    stale.next().map(|before| before.reply.clone())
}

#[test]
fn a_stale_read_fits_nowhere() {
    let server = Server::start();
    let mut planted = [0; 3];
    for seed in 0..300 {
        if !planted.contains(&0) {
            break;
        }
        let sale = sales()[seed as usize % 3];
        let (oracle, clock, told) = played(&server, sale, FEW_CALLS, seed);
        for (kind, planted) in planted.iter_mut().enumerate().filter(|(_, planted)| **planted == 0)
        {
            let is_kind = |call: &Call| match call {
                Call::Status => kind == 0,
                Call::User(_) => kind == 1,
                Call::Winners { .. } => kind == 2,
                _ => false,
            };
            let places = (0..told.len()).filter(|at| is_kind(&told[*at].call));
            let found = places.filter_map(|at| Some((at, stale(&told, at)?))).next();
            let Some((at, reply)) = found else { continue };
            let mut spoilt = told.clone();
            spoilt[at].reply = reply;
            match linearization(&oracle, clock, &spoilt) {
                Found::Order(_) => panic!("{:?} at {at} was not missed", told[at].call),
                Found::NoOrder(_) => *planted += 1,
                Found::Undecided(_) => {}
            }
        }
    }
    assert!(!planted.contains(&0), "each kind of read was spoilt: {planted:?}");
}
