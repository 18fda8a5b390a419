//! Grants of which KEEP returned a part: their copies and their memory.

use crate::support::shop::counter;
use crate::support::{logs, Conn, Server};

/// Every copy of a sale has the first quantity of each grant.
#[test]
fn copies_know_what_was_first_granted() {
    let fill = |conn: &mut Conn| {
        conn.check(&[("SECKILL.INIT k 200000 HOLD 900000 LIMIT 0 OUTBOX s", "+OK")]);
        for grant in 0..600 {
            let qty = 2 + grant % 300;
            conn.cmd(&format!("SECKILL.GRAB k u{} QTY {qty} REQ o{grant}", grant % 7));
            let command = ["CANCEL", "CONFIRM"][grant % 2];
            if grant % 3 > 0 {
                conn.cmd(&format!("SECKILL.{command} k u{} REQ o{grant} KEEP 1", grant % 7));
            }
        }
        assert!(counter(conn, "k", "trimmed") > 300);
    };
    logs::assert_same_everywhere(&["k"], fill, |server| {
        server.conn().check(&[
            ("SECKILL.GRAB k u1 QTY 3 REQ o1", "['REPLAY' 2 1 'SOLD' 0]"),
            ("SECKILL.GRAB k u1 QTY 1 REQ o1", "-REQMISMATCH"),
            // IMPORT can take the first quantity again.
            ("SECKILL.IMPORT k u1 3 REQ o1", "['REPLAY' 2 1 'SOLD' 0]"),
            ("SECKILL.REFUND k u1 REQ o1 KEEP 1", "['SOLD' 2 1 0]"),
            ("SECKILL.IMPORT k u2 4 REQ o2", "['REPLAY' 3 4 'SOLD' 0]"),
            ("SECKILL.REFUND k u2 REQ o2 KEEP 2", "['SOLD' 3 2 0]"),
        ]);
    });
}

/// A grant without KEEP needs no additional byte. The data of a KEEP is freed with its grant.
#[test]
fn what_was_never_trimmed_takes_nothing() {
    let (server, mut conn) = Server::start().with_conn();
    let usage = |conn: &mut Conn| conn.cmd("MEMORY USAGE k").int();
    conn.check(&[("SECKILL.INIT k 90000 LIMIT 0", "+OK")]);
    for user in 0..1000 {
        conn.cmd(&format!("SECKILL.GRAB k u{user} QTY 2 REQ o"));
    }
    let before = usage(&mut conn);
    for user in 0..1000 {
        assert_eq!(
            conn.cmd(&format!("SECKILL.CONFIRM k u{user} REQ o KEEP 1")).items()[2].int(),
            2
        );
    }
    assert_eq!(usage(&mut conn), before, "sold at once: nothing was trimmed");
    for user in 0..1000 {
        conn.cmd(&format!("SECKILL.REFUND k u{user} REQ o KEEP 1"));
    }
    let trimmed = usage(&mut conn);
    assert!((before + 1..before + 32_000).contains(&trimmed), "{trimmed} after {before}");
    server.assert_sound("k");
}
