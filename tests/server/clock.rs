//! The clock steps back: nothing recorded is undone or pre-dated, and no hold comes back to life.
//!
//! libfaketime can't be put under a server that is linked with jemalloc (it dies before its first
//! line), so the sale is sent ahead instead: that leaves the server's clock an hour behind.

use crate::support::shop::{check, clock_ms, number};
use crate::support::Server;

const HOUR_MS: i64 = 3_600_000;

/// The change comes as a primary with a clock an hour ahead would have sent it.
#[test]
fn a_sale_an_hour_ahead_judges_by_its_own_time() {
    let server = Server::start();
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("SECKILL.INIT k 5 HOLD 900000 LIMIT 1", "+OK"),
            ("SECKILL.GRAB k a REQ o", "['GRANTED' 1 1 'HELD' T 4]"),
            ("SECKILL.APPLY k 2 Pt3600000", "+OK"),
            ("SECKILL.RESUME k", "+OK"),
        ],
    );
    let now = number(&mut conn, "k", "now");
    assert!(now > clock_ms(&mut conn) + HOUR_MS - 60_000, "T does not go back");
    check(
        &mut conn,
        &[
            ("SECKILL.CONFIRM k a", "['EXPIRED' 1 1 0]"),
            ("SECKILL.GRAB k a REQ o", "['REPLAY' 1 1 'EXPIRED' 0]"),
            ("SECKILL.GRAB k b", "['GRANTED' 2 1 'HELD' T 4]"),
        ],
    );
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
