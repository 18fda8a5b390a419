//! Numbered units: the numbers that a buyer gets, the owner of a number, and equal copies of the
//! sale.

use crate::support::logs::assert_same_everywhere;
use crate::support::shop::{assert_whole, entries, events, Entry};
use crate::support::{Conn, Server};

/// Entries about a grant end with its numbers.
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

/// A sale with free, held, sold, returned, sold again, and added numbers.
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
