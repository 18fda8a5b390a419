//! SIGKILL with `appendfsync always`: all acknowledged changes are there, and the outbox agrees
//! with the sale.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use seckill_harness::program::release;

use crate::support::shop::{assert_whole, entries, number, wait_for_no_holds, Entry};
use crate::support::{logs, skip, wait_until, Conn, Options, Random, Server};

const CLIENTS: u64 = 6;

/// A client's last answer about an order: its state, and whether a later command has no answer.
#[derive(Debug)]
struct Told {
    state: String,
    in_doubt: bool,
}

type Book = HashMap<String, Told>;

/// Grabs, pays and cancels until the connection breaks.
fn trade(conn: &mut Conn, book: &mut Book, name: &str, seed: u64) {
    let mut random = Random(seed);
    let mut users: Vec<String> = Vec::new();
    for step in 0.. {
        let user = match users.len() {
            0 => None,
            many => Some(users[random.below(many as u64) as usize].clone()),
        };
        let (user, line) = match (random.below(5), user) {
            (2, Some(user)) => (user.clone(), format!("SECKILL.CONFIRM k {user} REQ o")),
            (3, Some(user)) => (user.clone(), format!("SECKILL.CANCEL k {user} REQ o")),
            (4, Some(user)) => (user.clone(), format!("SECKILL.EXTEND k {user} 200 REQ o")),
            _ => {
                let user = format!("{name}-{step}");
                (user.clone(), format!("SECKILL.GRAB k {user} REQ o"))
            }
        };
        let words: Vec<&str> = line.split(' ').collect();
        let Ok(reply) = conn.try_ask(&words) else {
            if let Some(told) = book.get_mut(&user) {
                told.in_doubt = true;
            }
            return;
        };
        let place = if line.contains("GRAB") { 3 } else { 0 };
        let state = reply.items()[place].text();
        book.insert(user.clone(), Told { state, in_doubt: false });
        if place == 3 {
            users.push(user);
        }
    }
}

/// Runs clients, kills the server after about `orders` more orders, and returns the clients'
/// records.
fn trade_until_killed(server: &mut Server, round: u64, orders: i64) -> Book {
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (mut conn, stopped) = (server.conn(), &stopped);
                scope.spawn(move || {
                    let mut book = Book::new();
                    let name = format!("{round}-{number}");
                    trade(&mut conn, &mut book, &name, round * 100 + number);
                    assert!(stopped.load(Ordering::SeqCst), "only the kill ends a client");
                    book
                })
            })
            .collect();
        let start = number(&mut server.conn(), "k", "grants");
        wait_until("clients are busy", || {
            number(&mut server.conn(), "k", "grants") >= start + orders
        });
        stopped.store(true, Ordering::SeqCst);
        server.kill9();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    })
}

/// The state of each user's order in WINNERS.
fn listed(server: &Server) -> HashMap<String, String> {
    let (mut conn, mut cursor, mut states) = (server.conn(), 0, HashMap::new());
    loop {
        let page = conn.cmd(&format!("SECKILL.WINNERS k {cursor} COUNT 10000 STATE ALL"));
        for row in page.items()[1].items() {
            states.insert(row.items()[1].text(), row.items()[3].text());
        }
        cursor = page.items()[0].int();
        if cursor == 0 {
            return states;
        }
    }
}

/// Checks that acknowledged states are kept. A hold may have expired since then.
fn assert_kept(book: &Book, states: &HashMap<String, String>) {
    for (user, told) in book {
        let state = states.get(user).unwrap_or_else(|| panic!("the order of {user} is lost"));
        let fits = *state == told.state || (told.state == "HELD" && state == "EXPIRED");
        assert!(fits || told.in_doubt && told.state == "HELD", "{user}: {told:?}, now {state}");
    }
}

/// Checks that the states and numbers after all entries are those of the sale.
fn assert_told(server: &Server, all: &[Entry], states: &HashMap<String, String>) {
    let mut conn = server.conn();
    assert_whole(all);
    assert_eq!(all.first().map(|entry| entry.number("rev")), Some(1));
    assert_eq!(all.len() as i64, number(&mut conn, "k", "rev"), "an entry for every rev");
    let mut told: HashMap<String, String> = HashMap::new();
    for entry in all.iter().filter(|entry| entry.has("user")) {
        told.insert(entry.text("user").to_owned(), entry.text("state").to_owned());
    }
    assert_eq!(told, *states);
    let last = all.last().expect("an entry");
    for name in ["supply", "available", "held", "sold"] {
        assert_eq!(last.number(name), number(&mut conn, "k", name), "{name}");
    }
}

/// Starts a killed server as docs/failover.md says. After a torn write Redis truncates the AOF. If
/// that is inside a transaction, a MULTI remains at its end, and later commands are lost at the
/// next start. So the AOF is rewritten after each truncation. If the server dies during that
/// rewrite, its next start fails but repairs the file.
fn come_back(server: &mut Server) {
    let logged = server.log().len();
    if let Err(log) = server.try_start_again() {
        assert!(log.contains("the truncated file is not the last file"), "{log}");
        server.start_again();
    }
    if server.log()[logged..].contains("Truncating the AOF") {
        logs::rewrite(server);
    }
}

/// Redis 8.2 and newer with `io-threads` above 1: docs/reliability.md, "What was found in servers".
fn replies_before_it_writes(server: &Server) -> bool {
    let release = release(&server.title().expect("a version"));
    let is_new =
        release.is_some_and(|(family, version)| family == "redis" && version >= vec![8, 2]);
    is_new && server.call("CONFIG GET io-threads") != "['io-threads' '1']"
}

/// Kills a server under load again and again, each time after another number of orders.
pub fn kill_again_and_again(rounds: u64, options: Options) {
    let mut server = options.line("appendonly yes").line("appendfsync always").start();
    if replies_before_it_writes(&server) {
        return skip("this server sends replies before it writes the AOF");
    }
    let init = "SECKILL.INIT k 10000000 HOLD 150 OUTBOX s";
    assert_eq!(server.call(init), "+OK");
    let (mut random, mut book) = (Random(rounds), Book::new());
    for round in 0..rounds {
        let orders = 50 + random.below(400) as i64;
        book.extend(trade_until_killed(&mut server, round, orders));
        come_back(&mut server);
        server.assert_took_all();
        assert_kept(&book, &listed(&server));
        server.assert_sound("k");
    }
    wait_for_no_holds(&server, "k");
    let states = listed(&server);
    assert_kept(&book, &states);
    assert_told(&server, &entries(&mut server.conn(), "s"), &states);
    server.assert_sound("k");
}

#[test]
fn kill_9_loses_nothing_that_was_acknowledged() {
    kill_again_and_again(4, Options::new());
}

/// The AOF is rewritten all the time, in both forms.
#[test]
fn kill_9_amid_rewrites_loses_nothing() {
    for preamble in ["yes", "no"] {
        let options = Options::new()
            .line("auto-aof-rewrite-min-size 64kb")
            .line("auto-aof-rewrite-percentage 10")
            .line(&format!("aof-use-rdb-preamble {preamble}"));
        kill_again_and_again(2, options);
    }
}

/// A crash cuts the last write inside a transaction. Later grants of sales with and without an
/// outbox survive the next crash. The outbox has no entry of a lost grant.
#[test]
fn a_log_cut_within_a_transaction_comes_back_whole() {
    let mut server = Options::new().line("appendonly yes").line("appendfsync always").start();
    let grab = |server: &Server, name: &str| {
        for (number, key) in (0..20).map(|number| (number, ["k", "plain"][number % 2])) {
            let reply = server.cmd(&format!("SECKILL.GRAB {key} {name}-{number}"));
            assert_eq!(reply.items()[0].text(), "GRANTED");
        }
    };
    server
        .conn()
        .check(&[("SECKILL.INIT k 1000 OUTBOX s", "+OK"), ("SECKILL.INIT plain 1000", "+OK")]);
    grab(&server, "before");
    assert_eq!(server.cmd("SECKILL.GRAB k torn").items()[0].text(), "GRANTED");
    server.kill9();
    let path = server.folder().join("appendonlydir/appendonly.aof.1.incr.aof");
    let log = std::fs::read(&path).expect("the log");
    let apply = log.windows(13).rposition(|bytes| bytes == b"SECKILL.APPLY").expect("an APPLY");
    std::fs::write(&path, &log[..apply + 5]).expect("a writable log");
    come_back(&mut server);
    grab(&server, "after");
    server.kill9();
    come_back(&mut server);
    let mut conn = server.conn();
    for key in ["k", "plain"] {
        assert_eq!(number(&mut conn, key, "grants"), 20, "{key}");
        server.assert_sound(key);
    }
    assert_told(&server, &entries(&mut conn, "s"), &listed(&server));
}
