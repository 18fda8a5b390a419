//! Another module runs in the middle of a change: while its stream is opened or created, when a
//! sale's key is created, and while writes are paused. Whatever it calls, a change is made
//! completely or not at all, and replica and AOF agree with the primary.

use crate::support::other_module::said;
use crate::support::shop::{entries, events, number, state_of, wait_for_clock, wait_for_no_holds};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, Options, Server};

const CHANGED: &str = "-TRYAGAIN sale is being changed";
const REFUSED: &str = "-ERR outbox must be a stream that takes more entries";
const GRANTED: &str = "['GRANTED' 2 1 'HELD' T 3]";

/// A primary with another module and an AOF, and its replica.
fn start() -> (Server, Server) {
    let options = Options::new().with_other_module().line("appendonly yes");
    let (server, replica) = (options.start(), Server::start());
    replica.follow(&server);
    // Keys expire only when they are opened.
    assert_eq!(server.call("DEBUG SET-ACTIVE-EXPIRE 0"), "+OK");
    (server, replica)
}

/// Checks that the replica and the AOF have all data of the primary.
#[track_caller]
fn assert_same(server: &Server, replica: &Server, what: &str) {
    let digest = |server: &Server| server.call("DEBUG DIGEST");
    replica.wait_in_sync(server);
    let before = digest(server);
    assert_eq!(digest(replica), before, "{what}");
    replica.assert_took_all();
    assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
    assert_eq!(digest(server), before, "{what}: from the log");
    server.assert_took_all();
}

/// Checks that the replica's sale is equal, and that the AOF gives the replica's data.
#[track_caller]
fn assert_same_but_for_streams(server: &Server, replica: &Server, what: &str) {
    replica.wait_in_sync(server);
    let (sale, all) = (replica.digest("s"), replica.call("DEBUG DIGEST"));
    assert_eq!(sale, server.digest("s"), "{what}");
    assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
    assert_eq!(server.digest("s"), sale, "{what}: from the log");
    assert_eq!(server.call("DEBUG DIGEST"), all, "{what}: the log and the replica");
    for node in [server, replica] {
        node.assert_took_all();
    }
}

/// A sale with a hold, whose stream is missing or has passed its TTL.
fn prepare(conn: &mut Conn, is_over: bool) {
    conn.check(&[
        ("OTHER.OFF", "+OK"),
        ("FLUSHALL", "+OK"),
        ("SECKILL.INIT s 5 HOLD 900000 LIMIT 2 OUTBOX o", "+OK"),
        ("SECKILL.GRAB s holder REQ r", "['GRANTED' 1 1 'HELD' T 4]"),
    ]);
    match is_over {
        true => run_out(conn, "o"),
        false => assert_eq!(conn.call("DEL o"), "1"),
    }
}

/// Waits until the TTL of a key is over. (A server that finds it over at once deletes the key, as
/// DEL does.)
fn run_out(conn: &mut Conn, key: &str) {
    let ms = slowed(50);
    assert_eq!(conn.call(&format!("PEXPIRE {key} {ms}")), "1");
    let over = conn.clock_ms() + i64::from(ms) + 1;
    wait_for_clock(conn, over);
}

/// The other module's call, its reply, and the reply of the GRAB around it.
const CALLS: [(&str, &str, &str); 7] = [
    ("SECKILL.GRAB s intruder", "['GRANTED' 2 1 'HELD' T 3]", CHANGED),
    ("SECKILL.CANCEL s holder", "['CANCELLED' 1 1 0]", CHANGED),
    ("SECKILL.CANCEL s holder REQ none", "['CANCELLED' 0 0 0]", CHANGED),
    ("DEL s", "1", CHANGED),
    ("RENAME s elsewhere", "+OK", CHANGED),
    ("SECKILL.GRAB s holder QTY 2", "['OVERLIMIT' 1]", GRANTED),
    ("EXPIRE s 900", "1", GRANTED),
];

/// Makes the other module call each of `calls` at this event of the stream, during a GRAB.
fn grab_around(event: &str, is_over: bool, calls: &[(&str, &str, &str)]) {
    let (server, replica) = start();
    let mut conn = server.conn();
    for (call, answer, outcome) in calls {
        let what = format!("{call} at {event}");
        prepare(&mut conn, is_over);
        let hook = format!("OTHER.ONCE {event} o {call}");
        conn.check(&[(&hook, "+OK"), ("SECKILL.GRAB s victim", outcome)]);
        let told: Vec<String> = said(&mut conn).iter().map(|said| moments(said)).collect();
        assert_eq!(told, [*answer], "{what}");
        for sale in ["s", "elsewhere"] {
            if conn.call(&format!("EXISTS {sale}")) == "1" {
                server.assert_sound(sale);
                let revs = number(&mut conn, sale, "rev");
                let is_stream = conn.call("TYPE o") == "+stream";
                let last = is_stream.then(|| entries(&mut conn, "o").pop()).flatten();
                let told = last.map_or(2, |entry| entry.number("rev"));
                assert_eq!(told, revs, "{what}: the last entry tells the last change");
            }
        }
        assert_same(&server, &replica, &what);
    }
}

/// A reply as text, with `T` for every time.
fn moments(text: &str) -> String {
    let is_moment = |word: &&str| word.len() == 13 && word.bytes().all(|b| b.is_ascii_digit());
    let words: Vec<&str> =
        text.split(' ').map(|word| if is_moment(&word) { "T" } else { word }).collect();
    words.join(" ")
}

/// An old error: both users got seq 1.
#[test]
fn a_stream_is_made_before_the_sale_is_judged_for_good() {
    // The server crashes if a key is deleted during its `new` event; other keys may be deleted.
    grab_around("new", false, &CALLS);
}

/// Commands that begin a transaction or replace all data. A module's call is a client of its own,
/// so its MULTI delays no other client.
#[test]
fn a_sale_may_go_while_its_stream_is_made() {
    grab_around("new", false, &[("MULTI", "+OK", GRANTED)]);
    let (server, replica) = start();
    let mut conn = server.conn();
    prepare(&mut conn, false);
    conn.check(&[
        ("OTHER.ONCE new o SWAPDB 0 1", "+OK"),
        ("SECKILL.GRAB s victim", CHANGED),
        ("EXISTS s o", "0"),
    ]);
    forget_what_was_made(&mut conn);
    assert_same(&server, &replica, "SWAPDB");
}

/// The stream that was created for a change that was not made. The other module moved the stream to
/// database 1 during its `new` event, so it is empty, and no other node has it.
#[track_caller]
fn forget_what_was_made(conn: &mut Conn) {
    let there = [("SELECT 1", "+OK"), ("TYPE o", "+stream"), ("XLEN o", "0"), ("DEL o", "1")];
    conn.check(&there);
    conn.check(&[("SELECT 0", "+OK")]);
}

/// An older version crashed here (SIGSEGV).
#[test]
fn a_stream_may_run_out_when_it_is_opened() {
    let (server, replica) = start();
    let mut conn = server.conn();
    let further = [("FLUSHALL", "+OK", CHANGED), ("MULTI", "+OK", GRANTED)];
    for (call, answer, outcome) in CALLS.into_iter().chain(further) {
        prepare(&mut conn, true);
        let hook = format!("OTHER.ONCE expired o {call}");
        conn.check(&[(&hook, "+OK"), ("SECKILL.GRAB s victim", outcome)]);
        let told: Vec<String> = said(&mut conn).iter().map(|said| moments(said)).collect();
        assert_eq!(told, [answer], "{call}");
        for sale in ["s", "elsewhere"] {
            if conn.call(&format!("EXISTS {sale}")) == "1" {
                server.assert_sound(sale);
            }
        }
        // The server replicates the DEL of an expired key after its event. So entries written there
        // meanwhile are missing on replicas and in the AOF.
        match call {
            "SECKILL.GRAB s intruder" | "SECKILL.CANCEL s holder" => {
                assert_same_but_for_streams(&server, &replica, call);
            }
            _ => assert_same(&server, &replica, call),
        }
    }
}

/// The other module replaces the sale by one with its name and equal numbers.
#[test]
fn another_sale_of_the_same_name_is_not_the_one_that_was_judged() {
    let (server, replica) = start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT twin 5", "+OK"),
        ("SECKILL.INIT s 5 OUTBOX o", "+OK"),
        ("DEL o", "1"),
        ("OTHER.ONCE new o RENAME twin s", "+OK"),
        ("SECKILL.GRAB s victim", CHANGED),
        ("SECKILL.GRAB s victim", "['GRANTED' 1 1 'SOLD' 0 4]"),
        ("XLEN o", "0"),
    ]);
    assert_same(&server, &replica, "a twin");
}

/// INIT creates its stream; during that the other module may create a sale at INIT's key.
#[test]
fn an_init_finds_its_key_taken() {
    let (server, replica) = start();
    let mut conn = server.conn();
    for (call, kind) in
        [("SECKILL.INIT s 7", "+flashsale"), ("SET s text", "+string"), ("SWAPDB 0 1", "+none")]
    {
        let hook = format!("OTHER.ONCE new o {call}");
        conn.check(&[
            ("OTHER.OFF", "+OK"),
            ("FLUSHALL", "+OK"),
            (&hook, "+OK"),
            ("SECKILL.INIT s 5 OUTBOX o", CHANGED),
            ("TYPE s", kind),
            // A refused call leaves no stream.
            ("EXISTS o", "0"),
        ]);
        assert_eq!(said(&mut conn), ["+OK"]);
        if kind == "+none" {
            forget_what_was_made(&mut conn);
        }
        assert_same(&server, &replica, call);
    }
}

/// The event of a new sale comes before INIT has ended. Calls during it have their effect after the
/// INIT.
#[test]
fn a_sale_is_sold_from_the_moment_it_is_there() {
    let (server, replica) = start();
    let mut conn = server.conn();
    for init in ["SECKILL.INIT s 5", "SECKILL.INIT s 5 OUTBOX o"] {
        conn.check(&[
            ("OTHER.OFF", "+OK"),
            ("FLUSHALL", "+OK"),
            ("OTHER.ONCE new s SECKILL.GRAB s first", "+OK"),
            (init, "+OK"),
            ("SECKILL.GRAB s second", "['GRANTED' 2 1 'SOLD' 0 3]"),
        ]);
        assert_eq!(said(&mut conn), ["['GRANTED' 1 1 'SOLD' 0 4]"]);
        server.assert_sound("s");
        assert_same(&server, &replica, init);
    }
    assert_eq!(events(&mut conn, "o"), ["INIT", "GRANT", "GRANT"]);
}

/// The other module moves a sale to another database during its `new` event. The sale's holds
/// expire there, on a primary and on a promoted replica. (The server asserts that the key still
/// exists.)
#[test]
fn a_sale_that_goes_elsewhere_as_it_comes_is_swept_there() {
    let primary = Options::new().with_other_module().module_args("sweep-interval-ms 60000").start();
    let replica = Options::new().with_other_module().start();
    replica.follow(&primary);
    let mut conn = primary.conn();
    conn.check(&[("SELECT 1", "+OK"), ("SET s text", "+OK"), ("SELECT 0", "+OK")]);
    replica.wait_in_sync(&primary);
    let hook = "OTHER.ONCE new s SWAPDB 0 1";
    let mut other = replica.conn();
    other.check(&[(hook, "+OK")]);
    conn.check(&[("SECKILL.INIT s 5 EVERY 300", "+OK")]);
    replica.wait_in_sync(&primary);
    assert_eq!(said(&mut other), ["+OK"]);
    other.check(&[("TYPE s", "+string"), ("REPLICAOF NO ONE", "+OK")]);
    for (server, conn) in [(&primary, &mut conn), (&replica, &mut other)] {
        if server.port() == primary.port() {
            let sooner = "CONFIG SET seckill.sweep-interval-ms 10";
            conn.check(&[("DEL s", "1"), (hook, "+OK"), (sooner, "+OK")]);
            conn.check(&[("SECKILL.INIT s 5 EVERY 300", "+OK"), ("TYPE s", "+string")]);
        }
        assert_eq!(conn.call("SELECT 1"), "+OK");
        let round = number(conn, "s", "round");
        wait_until("the next round began", || number(conn, "s", "round") > round);
    }
}

/// MGRAB grants nothing if another module changed one of its sales meanwhile, or if a sale's TTL is
/// over.
#[test]
fn several_sales_are_granted_as_they_were_judged() {
    let (server, replica) = start();
    let mut conn = server.conn();
    for (key, call) in [
        ("ox", "SECKILL.GRAB y intruder"),
        ("oy", "SECKILL.GRAB x intruder"),
        ("oy", "DEL x"),
        ("oy", "DEL ox"),
        ("oy", "RENAME y z"),
    ] {
        let hook = format!("OTHER.ONCE new {key} {call}");
        conn.check(&[
            ("OTHER.OFF", "+OK"),
            ("FLUSHALL", "+OK"),
            ("SECKILL.INIT x 5 OUTBOX ox", "+OK"),
            ("SECKILL.INIT y 5 OUTBOX oy", "+OK"),
            ("DEL ox oy", "2"),
            (&hook, "+OK"),
            ("SECKILL.MGRAB victim 2 x y", CHANGED),
        ]);
        assert_same(&server, &replica, call);
    }
    conn.check(&[
        ("OTHER.OFF", "+OK"),
        ("FLUSHALL", "+OK"),
        ("SECKILL.INIT x 5", "+OK"),
        ("SECKILL.INIT y 5", "+OK"),
        ("OTHER.ONCE expired y DEL x", "+OK"),
    ]);
    run_out(&mut conn, "y");
    conn.check(&[("SECKILL.MGRAB victim 2 x y", "-NOSALE"), ("DBSIZE", "0")]);
    assert_same(&server, &replica, "a sale whose time is over");
}

/// Background expiry creates the stream first, too. A sale that changed meanwhile is handled later.
#[test]
fn an_expiry_by_timer_makes_its_stream_first() {
    let (server, replica) = start();
    let mut conn = server.conn();
    let init = format!("SECKILL.INIT s 5 HOLD {} LIMIT 2 OUTBOX o", slowed(300));
    conn.check(&[
        (&init, "+OK"),
        ("SECKILL.GRAB s holder", "['GRANTED' 1 1 'HELD' T 4]"),
        ("DEL o", "1"),
        ("OTHER.ONCE new o SECKILL.GRAB s holder REQ again", "+OK"),
    ]);
    wait_until("the timer ran", || !said(&mut conn).is_empty());
    wait_for_no_holds(&server, "s");
    assert_eq!(state_of(&mut conn, "s", "holder"), "EXPIRED");
    server.assert_sound("s");
    assert_same(&server, &replica, "the timer");
}

/// A sale that is moved while its stream is created expires its holds in the other database.
#[test]
fn an_expiry_by_timer_follows_its_sale() {
    let (server, replica) = start();
    let mut conn = server.conn();
    let init = format!("SECKILL.INIT s 5 HOLD {} OUTBOX o", slowed(300));
    for call in ["SWAPDB 0 1", "SWAPDB 1 0"] {
        let hook = format!("OTHER.ONCE new o {call}");
        conn.check(&[
            ("OTHER.OFF", "+OK"),
            ("FLUSHALL", "+OK"),
            (&init, "+OK"),
            ("SECKILL.GRAB s holder", "['GRANTED' 1 1 'HELD' T 4]"),
            ("DEL o", "1"),
            (&hook, "+OK"),
        ]);
        wait_until("the timer ran", || !said(&mut conn).is_empty());
        assert_eq!(said(&mut conn), ["+OK"]);
        wait_until("it has run out", || server.info("seckill", "seckill_holds") == "0");
        conn.check(&[("EXISTS s", "0"), ("SELECT 1", "+OK")]);
        assert_eq!(state_of(&mut conn, "s", "holder"), "EXPIRED", "{call}");
        assert_eq!(events(&mut conn, "o"), ["EXPIRE"], "{call}");
        conn.check(&[("SELECT 0", "+OK")]);
        assert_same(&server, &replica, call);
    }
}

/// While writes are paused the server blocks clients, and it would crash if a module replicated
/// then.
#[test]
fn while_writes_are_paused_a_module_changes_nothing() {
    let (server, replica) = start();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT s 5 HOLD 900000 OUTBOX o", "+OK"),
        ("SECKILL.GRAB s holder", "['GRANTED' 1 1 'HELD' T 4]"),
        ("OTHER.ON keymiss none SECKILL.GRAB s inner", "+OK"),
        ("CLIENT PAUSE 600000 WRITE", "+OK"),
    ]);
    let before = server.call("DEBUG DIGEST");
    for how in ["OTHER.THREAD", "OTHER.CALL"] {
        for line in ["GRAB s u", "MGRAB u 1 s", "CANCEL s holder", "PAUSE s", "INIT t 5"] {
            assert_eq!(conn.call(&format!("{how} SECKILL.{line}")), CHANGED, "{how} {line}");
        }
        assert_eq!(conn.call(&format!("{how} SECKILL.USER s u")), "[1 'OK' []]", "reads go on");
    }
    conn.check(&[("GET none", "nil"), ("MULTI", "+OK"), ("GET none", "+QUEUED")]);
    assert_eq!(conn.call("EXEC"), "[nil]");
    assert_eq!(said(&mut conn), [CHANGED, CHANGED]);
    assert_eq!(server.call("DEBUG DIGEST"), before);
    conn.check(&[("CLIENT UNPAUSE", "+OK"), ("OTHER.OFF", "+OK")]);
    conn.check(&[("OTHER.THREAD SECKILL.GRAB s u", "['GRANTED' 2 1 'HELD' T 3]")]);
    assert_same(&server, &replica, "a pause");
}

/// A refused call changes no sale, creates no stream and raises no last id of a stream.
#[test]
fn a_refused_grab_of_several_leaves_no_stream() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT x 5 LIMIT 2 OUTBOX ox", "+OK"),
        ("SECKILL.INIT y 5 LIMIT 2 OUTBOX oy", "+OK"),
        ("SECKILL.INIT z 5 LIMIT 2 OUTBOX ox", "+OK"),
        ("DEL oy", "1"),
    ]);
    let digests = || ["x", "y", "z"].map(|key| server.digest(key));
    let sales = digests();
    let last = "XADD oy 18446744073709551615-18446744073709551615 f v";
    for spoil in ["SET oy text", last] {
        conn.cmd("DEL oy");
        conn.cmd(spoil);
        let before = conn.call("XINFO STREAM ox");
        for keys in ["3 x z y", "3 y x z"] {
            assert_eq!(conn.call(&format!("SECKILL.MGRAB u {keys}")), REFUSED);
        }
        assert_eq!(conn.call("XINFO STREAM ox"), before, "after {spoil}");
        assert_eq!(digests(), sales, "after {spoil}");
        assert_eq!(number(&mut conn, "y", "outbox_error"), 1);
    }
    conn.check(&[("DEL ox", "1"), ("SECKILL.MGRAB u 2 x y", REFUSED), ("EXISTS ox", "0")]);
    let granted = "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4]]";
    conn.check(&[("DEL oy", "1"), ("SECKILL.MGRAB u 2 x y", granted)]);
    assert_eq!(number(&mut conn, "y", "outbox_error"), 0);
    for key in ["x", "y", "z"] {
        server.assert_sound(key);
    }
}
