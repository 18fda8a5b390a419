//! One sale of each kind, with all features. Used to compare servers or modules of different
//! versions.

use super::server::Server;
use super::shop::{assert_whole, entries, number};

/// The keys of [`fill`] that hold a sale.
pub const SALES: [&str; 4] = ["plain", "holds", "packets", "rounds"];

/// The outbox of the sale `holds`.
const OUTBOX: &str = "stream";

/// Creates the sales and makes changes of every kind.
#[track_caller]
pub fn fill(server: &Server) {
    let mut conn = server.conn();
    let lines = [
        "SECKILL.INIT plain 1000000 LIMIT 0 GRABS 5000",
        "SECKILL.INIT holds 1000 LIMIT 3 HOLD 900000 OUTBOX stream ADMIT 500 SAMPLE 900 SALT x",
        "SECKILL.INIT packets 1000000 DRAW PACKETS 5000 MIN 2",
        "SECKILL.INIT rounds 1000 EVERY 86400000 LIMIT 2 CARRY",
        "SECKILL.DENY holds ADD mallory eve",
        "SECKILL.CANCEL holds nobody REQ late",
        "SECKILL.IMPORT plain old 3 REQ lost AT 1600000000000",
        "SECKILL.RESTOCK plain 500 REQ more",
        "SECKILL.RESTOCK plain -60 REQ less",
        "SECKILL.ALTER plain LIMIT 700 CLOSEAT 4102444800000",
    ];
    for line in lines {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    let longest = [0xfe; 256];
    for step in 0..100 {
        let (user, req) = (format!("user:{}", step * 2 / 3), format!("order-{step}"));
        let user: &[u8] = if step % 50 == 7 { &longest } else { user.as_bytes() };
        let amount: [&[u8]; 2] = [if step % 2 == 0 { b"QTY" } else { b"UPTO" }, b"3"];
        let grab: [&[u8]; 7] =
            [b"SECKILL.GRAB", b"plain", user, amount[0], amount[1], b"REQ", req.as_bytes()];
        let words = if step % 4 == 0 { &grab[..3] } else { &grab[..] };
        assert_eq!(conn.ask(words).items()[0].text(), "GRANTED");
    }
    buy(server, "early");
}

/// Buys in each sale, then confirms and cancels.
#[track_caller]
pub fn buy(server: &Server, name: &str) {
    let mut conn = server.conn();
    for step in 0..60 {
        for sale in SALES {
            conn.cmd(&format!("SECKILL.GRAB {sale} {name}-{step} REQ {name}-{step}"));
        }
        let deed = ["CONFIRM", "CANCEL", "EXTEND"][step % 3];
        let span = if deed == "EXTEND" { "900001" } else { "" };
        conn.cmd(&format!("SECKILL.{deed} holds {name}-{step} {span}"));
        conn.cmd(&format!("SECKILL.REFUND packets {name}-{}", step / 2));
    }
    let grants = number(&mut conn, "holds", "grants");
    assert!(grants >= 40, "{name}: {grants} grants");
}

/// All state that must be equal on two servers.
#[track_caller]
pub fn state(server: &Server) -> Vec<String> {
    let of = |sale: &&str| {
        server.assert_sound(sale);
        let mut lines = server.picture(sale);
        lines.push(server.digest(sale));
        lines
    };
    let mut lines: Vec<String> = SALES.iter().flat_map(of).collect();
    let stream = entries(&mut server.conn(), OUTBOX);
    assert_whole(&stream);
    lines.extend(stream.iter().map(|entry| format!("{} {}", entry.id, entry.line())));
    lines
}
