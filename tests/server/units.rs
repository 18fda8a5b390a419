//! Numbered units: copies of a sale have the same numbers.

use crate::support::logs::assert_same_everywhere;
use crate::support::Conn;

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
