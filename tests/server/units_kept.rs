//! Parts of a grant of numbered units: KEEP UNITS returns some, and IMPORT takes them again.

use crate::keep::assert_no_trace;
use crate::support::shop::{counter, entries, Entry};
use crate::support::Server;

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
            // The request id matches only the requested numbers.
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
