//! More due holds than one call can expire. The call expires some and replies TRYAGAIN.

use seckill_model::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::shop::{counter, number};
use crate::support::{wait_until, Conn, Options, Server};

const OWN: &str = "-TRYAGAIN many holds of this user are ending";
const OTHERS: &str = "-TRYAGAIN many holds are ending";

/// Milliseconds from INIT to the deadline of the holds.
const HOLD_MS: i64 = 300;

/// A server whose background expiry handles one hold a minute, and its replica.
fn servers() -> (Server, Server) {
    let server = Options::new().module_args("sweep-batch 1 sweep-interval-ms 60000").start();
    let replica = Server::start();
    replica.follow(&server);
    (server, replica)
}

fn wait_for(conn: &mut Conn, deadline: i64) {
    wait_until("the holds are due", || conn.clock_ms() > deadline);
}

/// A sale in which one user has this many due holds of one unit.
fn owned(conn: &mut Conn, key: &str, terms: &str, holds: usize) {
    assert_eq!(conn.call(&format!("SECKILL.INIT {key} 9000 {terms}")), "+OK");
    let created = number(conn, key, "created_at");
    grow(conn, key, 0, holds, |_| effect(&format!("Gd{HOLD_MS}:u")));
    wait_for(conn, created + HOLD_MS);
}

/// Checks the number of expired holds; background expiry may have handled one.
#[track_caller]
fn assert_expired(conn: &mut Conn, key: &str, expected: i64) {
    let expired = counter(conn, key, "expired");
    assert!((expected..=expected + 1).contains(&expired), "{expired} of {expected}");
}

#[test]
fn a_call_writes_a_part_of_many_due_holds() {
    let (server, replica) = servers();
    let mut conn = server.conn();
    owned(&mut conn, "k", "LIMIT 8000 OUTBOX s", 3500);
    assert_eq!(conn.call("SECKILL.GRAB k another QTY 8000 REQ r"), OTHERS);
    assert_expired(&mut conn, "k", 1000);
    assert_eq!(conn.call("SECKILL.GRAB k u QTY 8000 REQ r"), OWN);
    assert_expired(&mut conn, "k", 2000);
    assert_eq!(conn.call("SECKILL.CONFIRM k u SEQ 1 RECLAIM"), OWN);
    assert_expired(&mut conn, "k", 3000);
    let granted = conn.call("SECKILL.GRAB k u QTY 8000 REQ r");
    assert_eq!(granted, "['GRANTED' 3501 8000 'SOLD' 0 1000]");
    assert_eq!(counter(&mut conn, "k", "expired"), 3500);
    // A call with the reply TRYAGAIN is not counted as an attempt.
    assert_eq!(counter(&mut conn, "k", "attempts"), 3501);
    replica.assert_follows(&server, &["k"]);
    server.assert_sound("k");
}

#[test]
fn a_grab_of_several_sales_waits_for_each() {
    let (server, _replica) = servers();
    let mut conn = server.conn();
    owned(&mut conn, "{t}a", "LIMIT 8000", 1500);
    owned(&mut conn, "{t}b", "LIMIT 8000", 1500);
    assert_eq!(conn.call("SECKILL.MGRAB u 2 {t}a {t}b REQ r"), OWN);
    assert_expired(&mut conn, "{t}a", 1000);
    assert_eq!(conn.call("SECKILL.MGRAB u 2 {t}a {t}b REQ r"), OWN);
    let granted = conn.call("SECKILL.MGRAB u 2 {t}a {t}b REQ r");
    assert_eq!(granted, "['GRANTED' [1501 1 'SOLD' 0 8999] [1501 1 'SOLD' 0 8999]]");
    for key in ["{t}a", "{t}b"] {
        assert_eq!(counter(&mut conn, key, "expired"), 1500);
        server.assert_sound(key);
    }
}
