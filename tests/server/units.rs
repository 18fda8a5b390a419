//! Numbered units: which numbers a buyer gets, who has a number, and that every copy of the sale
//! agrees.

use crate::support::logs::assert_same_everywhere;
use crate::support::shop::{assert_whole, counter, entries, events, number, Entry};
use crate::support::{wait_until, Conn, Server};

// Rules: 6692 4929 8d51 e76e c01b 61a1 b3f7 3883 fc14 c4ef 3fa4 8d62 840f
#[test]
fn a_buyer_gets_the_lowest_the_adjacent_or_these_units() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 10 LIMIT 0 HOLD 900000 NUMBERED OUTBOX s", "+OK"),
        ("SECKILL.INIT k 10 NUMBERED LIMIT 0 OUTBOX s HOLD 900000", "+OK"),
        ("SECKILL.GRAB k ann UNITS 7 3 REQ a", "['GRANTED' 1 2 'HELD' T 8 [3 7]]"),
        ("SECKILL.UNITS k 1", "'..h...h...'"),
        ("SECKILL.GRAB k bob QTY 3 ADJACENT REQ b", "['GRANTED' 2 3 'HELD' T 5 [4 5 6]]"),
        ("SECKILL.GRAB k cy REQ c", "['GRANTED' 3 1 'HELD' T 4 [1]]"),
        ("SECKILL.GRAB k dan ADJACENT QTY 4", "['SHORT' 3]"),
        ("SECKILL.GRAB k dan QTY 4 REQ d", "['GRANTED' 4 4 'HELD' T 0 [2 8 9 10]]"),
        ("SECKILL.GRAB k eve UNITS 10 1", "['TAKEN' 10]"),
        ("SECKILL.GRAB k eve ADJACENT QTY 1", "['SOLDOUT' 10]"),
        ("SECKILL.GRAB k ann UNITS 3 7 REQ a", "['REPLAY' 1 2 'HELD' T [3 7]]"),
        ("SECKILL.GRAB k ann QTY 2 REQ a", "['REPLAY' 1 2 'HELD' T [3 7]]"),
        ("SECKILL.GRAB k ann UNITS 3 8 REQ a", "-REQMISMATCH"),
        ("SECKILL.CONFIRM k bob REQ b", "['SOLD' 2 3 0 [4 5 6]]"),
        ("SECKILL.EXTEND k cy 1 REQ c", "['HELD' 3 1 T [1]]"),
        ("SECKILL.CANCEL k cy REQ c", "['CANCELLED' 3 1 0 [1]]"),
        ("SECKILL.REFUND k bob REQ b", "['REFUNDED' 2 3 0 [4 5 6]]"),
        ("SECKILL.CANCEL k cy REQ never", "['CANCELLED' 0 0 0 []]"),
        ("SECKILL.GRAB k cy REQ never", "['REPLAY' 0 0 'CANCELLED' 0 []]"),
        ("SECKILL.CONFIRM k zoe", "['NOGRANT' 0 0 0 []]"),
        ("SECKILL.UNITS k 1", "'.hh...hhhh'"),
        ("SECKILL.UNITS k 3 COUNT 2", "'h.'"),
        ("SECKILL.UNITS k 11", "''"),
        ("SECKILL.UNIT k 8", "[4 'dan' 4 'HELD' T T 'd' T 0 [2 8 9 10]]"),
        ("SECKILL.UNIT k 4", "nil"),
        ("SECKILL.UNIT k 11", "nil"),
        ("SECKILL.WINNERS k 0 STATE CANCELLED", "[0 [[3 'cy' 1 'CANCELLED' T 0 'c' T 0 [1]]]]"),
        ("SECKILL.USER k ann", "[-1 'OK' [[1 'ann' 2 'HELD' T T 'a' T 0 [3 7]]]]"),
    ]);
    assert_eq!(number(&mut conn, "k", "numbered"), 1);
    assert_eq!(counter(&mut conn, "k", "taken"), 1);
    let audit = conn.call("SECKILL.AUDIT k");
    assert!(audit.contains("'units' 6 'differences' []"), "{audit}");
    server.assert_sound("k");
}

// Rules: 6cfd 651f
#[test]
fn numbers_are_added_imported_and_asked_of_several_sales() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[
        ("SECKILL.INIT {h}k 2 LIMIT 0 NUMBERED", "+OK"),
        ("SECKILL.INIT {h}plain 5 LIMIT 0", "+OK"),
        ("SECKILL.RESTOCK {h}k 3 REQ more", "[3 5]"),
        ("SECKILL.IMPORT {h}k ann 2 REQ a UNITS 5 1", "['GRANTED' 1 2 'SOLD' 0 3 [1 5]]"),
        ("SECKILL.IMPORT {h}k ann 2 UNITS 1 5 REQ a", "['REPLAY' 1 2 'SOLD' 0 [1 5]]"),
        ("SECKILL.IMPORT {h}k bob 2 REQ b UNITS 2 5", "['TAKEN' 5]"),
        (
            "SECKILL.MGRAB cy 2 {h}plain {h}k QTY 1 2 REQ c",
            "['GRANTED' [1 1 'SOLD' 0 4] [2 2 'SOLD' 0 1 [2 3]]]",
        ),
        (
            "SECKILL.MGRAB cy 2 {h}plain {h}k QTY 1 2 REQ c",
            "['REPLAY' [1 1 'SOLD' 0] [2 2 'SOLD' 0 [2 3]]]",
        ),
        ("SECKILL.MGRAB cy 2 {h}plain {h}k QTY 1 2 REQ d", "['REFUSED' 1 ['SHORT' 1]]"),
        ("SECKILL.ALTER {h}k LIMIT 2", "+OK"),
        ("SECKILL.MGRAB cy 2 {h}plain {h}k REQ d", "['REFUSED' 1 ['ALREADY' 2 2 'SOLD' 0 [2 3]]]"),
        ("SECKILL.GRAB {h}k cy REQ e", "['ALREADY' 2 2 'SOLD' 0 [2 3]]"),
    ]);
    server.assert_sound("{h}k");
}

/// The entries of everything that has a grant end with its numbers.
#[test]
fn the_outbox_tells_the_numbers() {
    let (_server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 LIMIT 0 HOLD 900000 NUMBERED WAITLIST 5 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k ann UNITS 4 2 REQ a", "['GRANTED' 1 2 'HELD' T 3 [2 4]]"),
        ("SECKILL.GRAB k bob QTY 3 REQ b", "['GRANTED' 2 3 'HELD' T 0 [1 3 5]]"),
        ("SECKILL.GRAB k cy QTY 2 REQ c WAIT", "['WAITING' 1 0 0]"),
        ("SECKILL.CONFIRM k bob REQ b", "['SOLD' 2 3 0 [1 3 5]]"),
        ("SECKILL.CANCEL k ann REQ a", "['CANCELLED' 1 2 0 [2 4]]"),
        ("SECKILL.USER k cy", "[-1 'OK' [[3 'cy' 2 'HELD' T T 'c' T 0 [2 4]]]]"),
        ("SECKILL.REFUND k bob REQ b", "['REFUNDED' 2 3 0 [1 3 5]]"),
        ("SECKILL.IMPORT k dan 1 REQ d UNITS 3", "['GRANTED' 4 1 'SOLD' 0 2 [3]]"),
    ]);
    let all = entries(&mut conn, "s");
    assert_whole(&all);
    let told: Vec<String> = all.iter().map(Entry::line).collect();
    let units = |line: &String| {
        let event = line.split_whitespace().next().expect("an event").to_owned();
        let units = line.split_once("units:").map_or("", |(_, units)| units);
        format!("{} {}", event.trim_start_matches("event="), units.split('}').next().unwrap_or(""))
    };
    let told: Vec<String> = told.iter().map(units).collect();
    assert_eq!(
        told,
        [
            "INIT ",
            "GRANT [2,4]",
            "GRANT [1,3,5]",
            "ALLHELD ",
            "WAIT ",
            "CONFIRM [1,3,5]",
            "CANCEL [2,4]",
            "OFFER [2,4]",
            "REFUND [1,3,5]",
            "AVAILABLE ",
            "IMPORT [3]",
        ]
    );
    assert_eq!(events(&mut conn, "s").len(), told.len());
}

/// A hold that is over frees its numbers by itself, and a late payment takes the very same.
#[test]
fn holds_expire_and_are_reclaimed() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 3 LIMIT 0 HOLD 60 NUMBERED", "+OK"),
        ("SECKILL.GRAB k ann UNITS 2 3 REQ a", "['GRANTED' 1 2 'HELD' T 1 [2 3]]"),
    ]);
    wait_until("the hold is over", || conn.call("SECKILL.UNITS k 1") == "'...'");
    conn.check(&[
        ("SECKILL.CONFIRM k ann REQ a RECLAIM", "['SOLD' 1 2 0 [2 3]]"),
        ("SECKILL.GRAB k bob UNITS 1 REQ b", "['GRANTED' 2 1 'HELD' T 0 [1]]"),
    ]);
    wait_until("the hold is over", || conn.call("SECKILL.UNITS k 1") == "'.ss'");
    conn.check(&[
        ("SECKILL.ALTER k HOLD 0", "+OK"),
        ("SECKILL.GRAB k cy UNITS 1 REQ c", "['GRANTED' 3 1 'SOLD' 0 0 [1]]"),
        ("SECKILL.CONFIRM k bob REQ b RECLAIM", "['EXPIRED' 2 1 0 [1]]"),
        ("SECKILL.REFUND k cy REQ c", "['REFUNDED' 3 1 0 [1]]"),
        ("SECKILL.CONFIRM k bob REQ b RECLAIM", "['EXPIRED' 2 1 0 [1]]"),
    ]);
    server.assert_sound("k");
}

/// Numbers that are free, held, sold, given back and taken again, and some that were added.
fn filled(conn: &mut Conn) {
    conn.check(&[("SECKILL.INIT k 3000 LIMIT 0 HOLD 900000 NUMBERED OUTBOX s", "+OK")]);
    for n in 0..900 {
        let granted = conn.cmd(&format!("SECKILL.GRAB k u{n} QTY {} REQ r", n % 4 + 1));
        if n % 7 == 2 {
            let last = granted.items()[6].items()[n % 4].int();
            conn.cmd(&format!("SECKILL.CANCEL k u{n} REQ r KEEP UNITS {last}"));
        }
        if n % 3 == 0 {
            conn.cmd(&format!("SECKILL.CANCEL k u{n} REQ r"));
        }
        if n % 5 == 1 {
            conn.cmd(&format!("SECKILL.CONFIRM k u{n} REQ r"));
        }
    }
    conn.cmd("SECKILL.GRAB k wide QTY 100 REQ r");
    conn.cmd("SECKILL.RESTOCK k 20 REQ x");
    conn.cmd("SECKILL.GRAB k last UNITS 3020 3001 REQ r");
}

#[test]
fn numbers_are_the_same_everywhere() {
    assert_same_everywhere(&["k"], filled, |server| {
        assert_eq!(server.call("SECKILL.GRAB k late UNITS 3020"), "['TAKEN' 3020]");
    });
}
