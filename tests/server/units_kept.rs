//! Parts of a grant of numbered units: what KEEP UNITS gives back, and what IMPORT takes again.

use crate::keep::assert_no_trace;
use crate::support::shop::{counter, entries, Entry};
use crate::support::{wait_until, Server};

const NONE: &str = "-ERR KEEP UNITS must name a unit of the grant";

// Rules: 93db
#[test]
fn a_part_is_given_back_by_name() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 10 LIMIT 0 HOLD 900000 NUMBERED OUTBOX s", "+OK"),
        ("SECKILL.GRAB k ann UNITS 7 2 3 5 REQ a", "['GRANTED' 1 4 'HELD' T 6 [2 3 5 7]]"),
        ("SECKILL.CANCEL k ann REQ a KEEP UNITS 9 7 3 2", "['HELD' 1 3 T [2 3 7]]"),
        ("SECKILL.UNITS k 1", "'.hh...h...'"),
        ("SECKILL.GRAB k bob UNITS 5 REQ b", "['GRANTED' 2 1 'HELD' T 6 [5]]"),
    ]);
    assert_no_trace(
        &server,
        &[
            ("SECKILL.CANCEL k ann REQ a KEEP UNITS 2 3 7 9", "['HELD' 1 3 T [2 3 7]]"),
            ("SECKILL.CANCEL k ann REQ a KEEP UNITS 5 9", NONE),
            ("SECKILL.CONFIRM k ann REQ a KEEP UNITS 5 9", NONE),
            ("SECKILL.REFUND k ann REQ a KEEP UNITS 5 9", "['HELD' 1 3 T [2 3 7]]"),
            // The id is known with what was asked for, and by nothing else.
            ("SECKILL.GRAB k ann UNITS 3 2 7 5 REQ a", "['REPLAY' 1 3 'HELD' T [2 3 7]]"),
            ("SECKILL.GRAB k ann QTY 4 REQ a", "['REPLAY' 1 3 'HELD' T [2 3 7]]"),
            ("SECKILL.GRAB k ann UNITS 2 3 7 REQ a", "-REQMISMATCH"),
            ("SECKILL.GRAB k ann QTY 3 REQ a", "-REQMISMATCH"),
            ("SECKILL.CANCEL k ann REQ never KEEP UNITS 2", "['NOGRANT' 0 0 0 []]"),
            ("SECKILL.CANCEL k bob SEQ 1 KEEP UNITS 2", "['NOGRANT' 0 0 0 []]"),
        ],
    );
    conn.check(&[
        ("SECKILL.CONFIRM k ann keep units 7 2 SEQ 1", "['SOLD' 1 2 0 [2 7]]"),
        ("SECKILL.CONFIRM k ann SEQ 1 KEEP UNITS 2", "['SOLD' 1 2 0 [2 7]]"),
        ("SECKILL.REFUND k ann REQ a KEEP UNITS 3 7", "['SOLD' 1 1 0 [7]]"),
        ("SECKILL.UNITS k 1", "'....h.s...'"),
        ("SECKILL.REFUND k ann REQ a KEEP UNITS 2", NONE),
        ("SECKILL.REFUND k ann REQ a", "['REFUNDED' 1 1 0 [7]]"),
        ("SECKILL.REFUND k ann REQ a KEEP UNITS 2", "['REFUNDED' 1 1 0 [7]]"),
        ("SECKILL.WINNERS k 0 STATE REFUNDED", "[0 [[1 'ann' 1 'REFUNDED' T 0 'a' T 0 [7]]]]"),
        ("SECKILL.CONFIRM k bob REQ b KEEP UNITS 5 6", "['SOLD' 2 1 0 [5]]"),
    ]);
    let told: Vec<String> = entries(&mut conn, "s").iter().map(Entry::line).collect();
    let trims: Vec<&str> =
        told.iter().filter_map(|line| Some(line.split_once("returned:")?.1)).collect();
    assert_eq!(
        trims,
        [
            "1,units:[2,3,7]} user=ann req=a",
            "1,units:[2,7]} user=ann req=a",
            "1,units:[7]} user=ann req=a",
        ]
    );
    assert_eq!(counter(&mut conn, "k", "trimmed"), 3);
    server.assert_sound("k");
}

/// Some of a grant's first numbers are imported: an expired grant then has these alone, a held one
/// its own numbers as well.
// Rules: e11a
#[test]
fn some_of_the_first_numbers_are_imported() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 6 LIMIT 0 HOLD 60 NUMBERED", "+OK"),
        ("SECKILL.GRAB k ann QTY 3 REQ a", "['GRANTED' 1 3 'HELD' T 3 [1 2 3]]"),
    ]);
    wait_until("the hold is over", || conn.call("SECKILL.UNITS k 1") == "'......'");
    conn.check(&[
        ("SECKILL.ALTER k HOLD 900000", "+OK"),
        ("SECKILL.IMPORT k ann 2 REQ a UNITS 3 4", "-REQMISMATCH"),
        ("SECKILL.IMPORT k ann 2 REQ a UNITS 3 1", "['REPLAY' 1 2 'SOLD' 0 [1 3]]"),
        ("SECKILL.IMPORT k ann 3 REQ a UNITS 3 1 2", "['REPLAY' 1 2 'SOLD' 0 [1 3]]"),
        ("SECKILL.GRAB k ann QTY 3 REQ a", "['REPLAY' 1 2 'SOLD' 0 [1 3]]"),
        ("SECKILL.GRAB k cy UNITS 4 5 6 REQ c", "['GRANTED' 2 3 'HELD' T 1 [4 5 6]]"),
        ("SECKILL.CANCEL k cy REQ c KEEP UNITS 4", "['HELD' 2 1 T [4]]"),
        ("SECKILL.GRAB k dan UNITS 5 REQ d", "['GRANTED' 3 1 'HELD' T 2 [5]]"),
        ("SECKILL.IMPORT k cy 2 REQ c UNITS 4 5", "['TAKEN' 5]"),
        ("SECKILL.IMPORT k cy 1 REQ c UNITS 6", "['REPLAY' 2 2 'SOLD' 0 [4 6]]"),
        ("SECKILL.UNITS k 1", "'s.sshs'"),
        // A repair imports what was kept, and trims a grant that has survived whole.
        ("SECKILL.IMPORT k dan 1 REQ d UNITS 5", "['REPLAY' 3 1 'SOLD' 0 [5]]"),
        ("SECKILL.REFUND k cy REQ c KEEP UNITS 6", "['SOLD' 2 1 0 [6]]"),
        ("SECKILL.IMPORT k cy 1 REQ c UNITS 4", "['REPLAY' 2 1 'SOLD' 0 [6]]"),
        ("SECKILL.REFUND k cy REQ c", "['REFUNDED' 2 1 0 [6]]"),
        ("SECKILL.IMPORT k cy 1 REQ c UNITS 6", "['REPLAY' 2 1 'REFUNDED' 0 [6]]"),
    ]);
    assert_eq!(conn.call("DEBUG RELOAD"), "+OK");
    conn.check(&[
        ("SECKILL.GRAB k cy UNITS 4 5 6 REQ c", "['REPLAY' 2 1 'REFUNDED' 0 [6]]"),
        ("SECKILL.UNITS k 1", "'s.s.s.'"),
    ]);
    server.assert_sound("k");
}
