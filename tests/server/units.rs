//! Units with numbers: which a buyer gets and is told, who has one, and that every copy of the sale
//! agrees.

use crate::support::assortment::assert_refused_nothing;
use crate::support::logs::rewrite;
use crate::support::payload::restore;
use crate::support::shop::{assert_whole, check, counter, entries, events, number, Entry};
use crate::support::{wait_until, Conn, Options, Server};

const NOT_NUMBERED: &str = "-NOTNUMBERED sale has no numbered units";
const MISMATCH: &str = "-REQMISMATCH request id was used with other arguments";

// Rules: 6692 4929 8d51 e76e c01b 61a1 b3f7 3883 fc14 c4ef 3fa4 8d62 840f
#[test]
fn a_buyer_gets_the_lowest_the_adjacent_or_these_units() {
    let server = Server::sleeping();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
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
            ("SECKILL.GRAB k ann UNITS 3 8 REQ a", MISMATCH),
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
        ],
    );
    assert_eq!(number(&mut conn, "k", "numbered"), 1);
    assert_eq!(counter(&mut conn, "k", "taken"), 1);
    let audit = conn.call("SECKILL.AUDIT k");
    assert!(audit.contains("'units' 6 'differences' []"), "{audit}");
    server.assert_sound("k");
}

#[test]
fn what_a_grab_is_refused() {
    let server = Server::sleeping();
    let mut conn = server.conn();
    let hundred: Vec<String> = (1..=101).map(|unit| unit.to_string()).collect();
    let hundred = hundred.join(" ");
    check(
        &mut conn,
        &[
            (
                "SECKILL.GRAB k u UNITS 1",
                "-NOSALE no sale at this key (the key is the first argument)",
            ),
            ("SECKILL.INIT plain 5", "+OK"),
            ("SECKILL.GRAB plain u UNITS 1", NOT_NUMBERED),
            ("SECKILL.GRAB plain u QTY 1 ADJACENT", NOT_NUMBERED),
            ("SECKILL.INIT k 200 LIMIT 0 NUMBERED", "+OK"),
            ("SECKILL.GRAB k u UPTO 2", "-ERR a sale with NUMBERED takes no UPTO"),
            ("SECKILL.GRAB k u QTY 101", "-ERR QTY must be 1 to 100"),
            (&format!("SECKILL.GRAB k u UNITS {hundred}"), "-ERR QTY must be 1 to 100"),
            (&format!("SECKILL.IMPORT k u 101 REQ r UNITS {hundred}"), "-ERR QTY must be 1 to 100"),
            ("SECKILL.GRAB k u UNITS 201", "-ERR no such unit"),
            ("SECKILL.GRAB k u UNITS 9007199254740991", "-ERR no such unit"),
            ("SECKILL.GRAB k u UNITS 0", "-ERR UNITS must be 1 to 9007199254740991"),
            ("SECKILL.GRAB k u UNITS x", "-ERR UNITS must be 1 to 9007199254740991"),
            ("SECKILL.GRAB k u UNITS", "-ERR syntax error at argument 3"),
            ("SECKILL.GRAB k u UNITS 1 2 1", "-ERR UNITS must be all different"),
            ("SECKILL.GRAB k u UNITS 1 QTY 1", "-ERR UNITS can't be combined with QTY or UPTO"),
            ("SECKILL.GRAB k u QTY 1 UNITS 1", "-ERR UNITS can't be combined with QTY or UPTO"),
            ("SECKILL.GRAB k u UNITS 1 ADJACENT", "-ERR UNITS can't be combined with QTY or UPTO"),
            ("SECKILL.GRAB k u UNITS 1 UNITS 2", "-ERR syntax error at argument 5"),
            ("SECKILL.GRAB k u ADJACENT", "-ERR ADJACENT needs QTY"),
            ("SECKILL.GRAB k u UPTO 2 ADJACENT", "-ERR ADJACENT needs QTY"),
            ("SECKILL.GRAB k u UNITS 1 WAIT", "-ERR WAIT needs a REQ"),
            (
                "SECKILL.GRAB k u UNITS 1 REQ r WAIT",
                "-ERR WAIT can't be combined with ADJACENT or UNITS",
            ),
            (
                "SECKILL.GRAB k u QTY 1 ADJACENT REQ r WAIT UNTIL 0",
                "-ERR WAIT can't be combined with ADJACENT or UNITS",
            ),
            ("SECKILL.GRAB k u UNITS 1 UNTIL 0", "-ERR UNTIL needs WAIT"),
            ("SECKILL.MGRAB u 2 k plain QTY 101 1", "-ERR QTY must be 1 to 100"),
        ],
    );
    assert_eq!(number(&mut conn, "k", "version"), 1, "nothing has changed it");
}

// Rules: 4145 5df7
#[test]
fn what_others_are_refused() {
    let server = Server::sleeping();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT plain 5", "+OK"),
            ("SECKILL.IMPORT plain u 1 REQ r UNITS 1", NOT_NUMBERED),
            ("SECKILL.UNITS plain 1", NOT_NUMBERED),
            ("SECKILL.UNIT plain 1", NOT_NUMBERED),
            ("SECKILL.INIT k 10000001 NUMBERED", "-ERR a sale with NUMBERED has at most 10000000 units"),
            (
                "SECKILL.INIT k 5 NUMBERED DRAW EQUAL 5",
                "-ERR NUMBERED can't be combined with DRAW, EVERY or PART",
            ),
            (
                "SECKILL.INIT k 5 EVERY 1000 NUMBERED",
                "-ERR NUMBERED can't be combined with DRAW, EVERY or PART",
            ),
            (
                "SECKILL.INIT k 5 NUMBERED PART 0 OF 2 SPLIT s TOTAL 9",
                "-ERR NUMBERED can't be combined with DRAW, EVERY or PART",
            ),
            ("SECKILL.INIT k 200 LIMIT 0 NUMBERED", "+OK"),
            (
                "SECKILL.INIT k 200 LIMIT 0",
                "-SALEEXISTS a sale with other terms is at this key (RESTOCK and ALTER change a sale)",
            ),
            (
                "SECKILL.ALTER k NUMBERED",
                "-ERR DRAW, EVERY, PART and NUMBERED, and what goes with them, are fixed at INIT",
            ),
            ("SECKILL.IMPORT k u 2 REQ r", "-ERR a sale with NUMBERED takes UNITS, as many as qty"),
            (
                "SECKILL.IMPORT k u 2 REQ r UNITS 1",
                "-ERR a sale with NUMBERED takes UNITS, as many as qty",
            ),
            (
                "SECKILL.CANCEL k u REQ r KEEP 1",
                "-ERR a sale with NUMBERED takes no KEEP n",
            ),
            ("SECKILL.RESTOCK k -1 REQ x", "-ERR a sale with NUMBERED takes no negative delta"),
            (
                "SECKILL.RESTOCK k 9999801 REQ x",
                "-ERR a sale with NUMBERED has at most 10000000 units",
            ),
            ("SECKILL.UNITS k 0", "-ERR first must be 1 to 9007199254740991"),
            ("SECKILL.UNITS k 1 COUNT 10001", "-ERR COUNT must be 1 to 10000"),
            ("SECKILL.UNIT k 0", "-ERR unit must be 1 to 9007199254740991"),
        ],
    );
    assert_eq!(number(&mut conn, "k", "version"), 1, "nothing has changed it");
}

// Rules: 6cfd 651f
#[test]
fn numbers_are_added_imported_and_asked_of_several_sales() {
    let server = Server::sleeping();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
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
            (
                "SECKILL.MGRAB cy 2 {h}plain {h}k REQ d",
                "['REFUSED' 1 ['ALREADY' 2 2 'SOLD' 0 [2 3]]]",
            ),
            ("SECKILL.GRAB {h}k cy REQ e", "['ALREADY' 2 2 'SOLD' 0 [2 3]]"),
        ],
    );
    server.assert_sound("{h}k");
}

/// The entries of everything that has a grant end with its numbers.
#[test]
fn the_outbox_tells_the_numbers() {
    let server = Server::sleeping();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 5 LIMIT 0 HOLD 900000 NUMBERED WAITLIST 5 OUTBOX s", "+OK"),
            ("SECKILL.GRAB k ann UNITS 4 2 REQ a", "['GRANTED' 1 2 'HELD' T 3 [2 4]]"),
            ("SECKILL.GRAB k bob QTY 3 REQ b", "['GRANTED' 2 3 'HELD' T 0 [1 3 5]]"),
            ("SECKILL.GRAB k cy QTY 2 REQ c WAIT", "['WAITING' 1 0 0]"),
            ("SECKILL.CONFIRM k bob REQ b", "['SOLD' 2 3 0 [1 3 5]]"),
            ("SECKILL.CANCEL k ann REQ a", "['CANCELLED' 1 2 0 [2 4]]"),
            ("SECKILL.USER k cy", "[-1 'OK' [[3 'cy' 2 'HELD' T T 'c' T 0 [2 4]]]]"),
            ("SECKILL.REFUND k bob REQ b", "['REFUNDED' 2 3 0 [1 3 5]]"),
            ("SECKILL.IMPORT k dan 1 REQ d UNITS 3", "['GRANTED' 4 1 'SOLD' 0 2 [3]]"),
        ],
    );
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
    let server = Server::start();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 3 LIMIT 0 HOLD 60 NUMBERED", "+OK"),
            ("SECKILL.GRAB k ann UNITS 2 3 REQ a", "['GRANTED' 1 2 'HELD' T 1 [2 3]]"),
        ],
    );
    wait_until("the hold is over", || conn.call("SECKILL.UNITS k 1") == "'...'");
    check(
        &mut conn,
        &[
            ("SECKILL.CONFIRM k ann REQ a RECLAIM", "['SOLD' 1 2 0 [2 3]]"),
            ("SECKILL.GRAB k bob UNITS 1 REQ b", "['GRANTED' 2 1 'HELD' T 0 [1]]"),
        ],
    );
    wait_until("the hold is over", || conn.call("SECKILL.UNITS k 1") == "'.ss'");
    check(
        &mut conn,
        &[
            ("SECKILL.ALTER k HOLD 0", "+OK"),
            ("SECKILL.GRAB k cy UNITS 1 REQ c", "['GRANTED' 3 1 'SOLD' 0 0 [1]]"),
            ("SECKILL.CONFIRM k bob REQ b RECLAIM", "['EXPIRED' 2 1 0 [1]]"),
            ("SECKILL.REFUND k cy REQ c", "['REFUNDED' 3 1 0 [1]]"),
            ("SECKILL.CONFIRM k bob REQ b RECLAIM", "['EXPIRED' 2 1 0 [1]]"),
        ],
    );
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

/// The state that tells two sales apart, beside the digest.
fn picture(server: &Server) -> (String, Vec<String>, String) {
    (server.digest("k"), server.picture("k"), server.call("SECKILL.UNITS k 1 COUNT 10000"))
}

#[test]
fn numbers_survive_every_way_of_saving_and_replicas_have_them() {
    for preamble in ["yes", "no"] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let sleeps = "sweep-interval-ms 60000";
        let options = Options::new().line("appendonly yes").line(&preamble).module_args(sleeps);
        let mut server = options.start();
        let replica = Server::start();
        replica.follow(&server);
        let mut conn = server.conn();
        filled(&mut conn);
        let before = picture(&server);
        wait_until("the replica has it all", || picture(&replica) == before);
        assert_refused_nothing(&replica);
        assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before, "from the log as it was written");
        rewrite(&server);
        assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
        assert_eq!(picture(&server), before, "from a rewritten log");
        assert_eq!(server.call("DEBUG RELOAD"), "+OK");
        assert_eq!(picture(&server), before, "from a snapshot");
        let payload = server.cmd("DUMP k").bytes().to_vec();
        assert_eq!(server.call("DEL k"), "1");
        let restored = server.conn().pipeline(&[restore("k", &payload)]).expect("a reply");
        assert_eq!(restored[0].to_string(), "+OK");
        assert_eq!(picture(&server), before, "from a payload");
        server.stop(false);
        server.start_again();
        assert_eq!(picture(&server), before, "after a restart");
        let mut conn = server.conn();
        let taken = conn.cmd("SECKILL.GRAB k late UNITS 3020").to_string();
        assert_eq!(taken, "['TAKEN' 3020]");
        server.assert_sound("k");
    }
}
