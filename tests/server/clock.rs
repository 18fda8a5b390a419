//! The server's clock steps back: no change is undone and no hold becomes valid again. The clock
//! steps forward: due holds expire within a second.

use std::time::{Duration, Instant};

use seckill_model::shorthand::effect;

use crate::support::shop::number;
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Conn, Options, Server};

const HOUR_MS: i64 = 3_600_000;

/// The change comes by APPLY, as from a primary whose clock is an hour ahead.
#[test]
fn a_sale_an_hour_ahead_judges_by_its_own_time() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000 LIMIT 1", "+OK"),
        ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'HELD' T 4]"),
    ]);
    let paused = effect("Pt3600000");
    assert_eq!(conn.ask(&[b"SECKILL.APPLY", &b"k"[..], b"2", &paused]).to_string(), "+OK");
    assert_eq!(conn.call("SECKILL.RESUME k"), "+OK");
    let now = number(&mut conn, "k", "now");
    assert!(now > conn.clock_ms() + HOUR_MS - 60_000, "T does not go back");
    conn.check(&[
        ("SECKILL.CONFIRM k a", "['EXPIRED' 1 1 0]"),
        ("SECKILL.GRAB k a REQ o", "['REPLAY' 1 1 'EXPIRED' 0]"),
        ("SECKILL.GRAB k b", "['GRANTED' 2 1 'HELD' T 4]"),
    ]);
    let row = conn.cmd("SECKILL.USER k b").items()[2].items()[0].clone();
    assert_eq!(row.items()[4].int(), now, "granted at T");
    assert_eq!(row.items()[5].int(), now + 900_000);
    let extended = conn.cmd("SECKILL.EXTEND k b 1000000").items()[3].int();
    assert_eq!(extended, now + 1_000_000);
    conn.check(&[(&format!("SECKILL.ALTER k CLOSEAT {now}"), "+OK")]);
    assert_eq!(conn.call("SECKILL.GRAB k c"), "['CLOSED']");
    conn.check(&[("SECKILL.CONFIRM k b", "['SOLD' 2 1 0]")]);
    server.assert_sound("k");
}

/// A sale that waits for its stream is tried again soon after the clock was set back, too. Its hold
/// is due by T; nobody calls it, and the server's timers stand still until the old time comes again.
#[test]
fn a_refused_expiry_is_tried_again_after_a_step_back() {
    let (server, mut conn) = Options::new().with_own_clock().start().with_conn();
    server.step_clock(2 * HOUR_MS);
    let init = format!("SECKILL.INIT k 5 HOLD {} OUTBOX s", slowed(100));
    conn.check(&[
        (init.as_str(), "+OK"),
        ("SECKILL.GRAB k a", "['GRANTED' 1 1 'HELD' T 4]"),
        ("RENAME s kept", "+OK"),
        ("SET s text", "+OK"),
    ]);
    wait_until("the sweeper is refused", || number(&mut conn, "k", "outbox_error") == 1);
    assert_eq!(conn.call("SECKILL.DENY k ADD x"), "1", "stores T");
    server.step_clock(HOUR_MS);
    assert_eq!(conn.call("RENAME kept s"), "+OK");
    let since = Instant::now();
    wait_until("the hold expires", || number(&mut conn, "k", "held") == 0);
    let most = Duration::from_millis(u64::from(slowed(2500)));
    assert!(since.elapsed() < most, "took {:?}", since.elapsed());
}

/// The server's timers don't follow its clock. A hold of hours expires as soon as the clock has
/// passed its deadline, without another event. Holds made after a step expire in time, too.
#[test]
fn holds_expire_within_a_second_of_a_step() {
    let (server, mut conn) = Options::new().with_own_clock().start().with_conn();
    let hold = |conn: &mut Conn, key: &str, ms: i64| {
        conn.check(&[(&format!("SECKILL.INIT {key} 5 HOLD {ms}"), "+OK")]);
        conn.cmd(&format!("SECKILL.GRAB {key} u"));
    };
    let expires_soon = |conn: &mut Conn, key: &str| {
        let since = Instant::now();
        wait_until(&format!("the hold of {key} expires"), || number(conn, key, "held") == 0);
        let most = Duration::from_millis(u64::from(slowed(1500)));
        assert!(since.elapsed() < most, "{key} took {:?}", since.elapsed());
    };
    hold(&mut conn, "long", 5 * HOUR_MS);
    server.step_clock(6 * HOUR_MS);
    expires_soon(&mut conn, "long");
    hold(&mut conn, "other", 20_000);
    server.step_clock(6 * HOUR_MS + 60_000);
    hold(&mut conn, "short", 100);
    expires_soon(&mut conn, "short");
    expires_soon(&mut conn, "other");
    let before = conn.clock_ms();
    server.step_clock(2 * HOUR_MS);
    // Valkey 9 does not read the clock at every call.
    let mut probes = 0..;
    wait_until("the server's time is the new one", || {
        let key = format!("probe{}", probes.next().unwrap_or(0));
        conn.check(&[(&format!("SECKILL.INIT {key} 1"), "+OK")]);
        number(&mut conn, &key, "created_at") < before - HOUR_MS
    });
    hold(&mut conn, "earlier", 100);
    expires_soon(&mut conn, "earlier");
}
