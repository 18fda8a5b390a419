//! The text of every effect, and what is none.

#![cfg(test)]

use super::*;
use crate::draw::Draw;
use crate::ledger::record::Asked;

fn text(change: &Change<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    change.encode(&mut out);
    out
}

fn grant<'a>(user: &'a [u8], req: Option<&'a [u8]>, qty: u64) -> Effect<'a> {
    let req = req.map(|id| ReqTag { id, asked: Asked::Exactly });
    Effect::Grant(Granting { user, req, qty, hold_ms: 0 })
}

#[test]
fn the_text_of_every_effect() {
    let terms = Terms { limit: 2, open_at: 5, close_at: 9, ..Terms::default() };
    let (id, secret) = (0x6162_6364_6566_6768, [b'x'; 16]);
    let drawn = Terms { draw: Some(Draw::list(&[3, 4])), ..Terms::default() };
    let Some(Draw::List { fingerprint, .. }) = drawn.draw else { panic!("no list") };
    let mut drawn_text = b"Is7l1g0h0o0c0x18y2:abcdefghxxxxxxxxxxxxxxxx\x04\x02".to_vec();
    drawn_text.extend_from_slice(&fingerprint);
    drawn_text.extend_from_slice(b"\x03\x04");
    let start = Start { id, secret, supply: 7, terms, amounts: Vec::new() };
    let listed = Start { terms: drawn, amounts: vec![3, 4], ..start.clone() };
    let init = Effect::Init(Box::new(start));
    let alter = TermsChange { limit: Some(3), close_at: Some(0), ..TermsChange::default() };
    let import = Importing { user: b"u", req: b"r", qty: 2, at: 5 };
    let cases: Vec<(Change<'_>, &[u8])> = vec![
        (Change::piece(grant(b"al:ice", None, 1)), b"gal:ice"),
        (Change::piece(grant(b"alice", Some(b"o-7"), 2)), b"Gq2r3:o-7alice"),
        (Change { elapsed_ms: 4, ..Change::piece(grant(b"a", None, 1)) }, b"Gt4:a"),
        (Change { epoch: Some(88), ..Change::piece(grant(b"a", None, 1)) }, b"Ge88:a"),
        (
            Change { elapsed_ms: 1, epoch: Some(2), effect: init },
            b"It1e2s7l2g0h0o5c9:abcdefghxxxxxxxxxxxxxxxx",
        ),
        (Change::piece(Effect::Restock { req: b"r1", delta: -9, applied: -3 }), b"Rm9a3:r1"),
        (Change::piece(Effect::Restock { req: b"r", delta: 9, applied: 9 }), b"Rp9a9:r"),
        (Change::piece(Effect::Pause), b"P"),
        (Change { elapsed_ms: 3, ..Change::piece(Effect::Resume) }, b"Ut3"),
        (Change::piece(Effect::Init(Box::new(listed))), &drawn_text),
        (Change::piece(Effect::Alter(Box::new(alter))), b"Al3c0"),
        (Change::piece(Effect::Rows(b"\0:")), b"L:\0:"),
        (Change::piece(Effect::Expire(Seqs::from_slice(&[7, 12]))), b"D:7,12"),
        (Change::piece(Effect::Settle { seq: 3, to: State::Sold }), b"Cs3"),
        (Change::piece(Effect::Settle { seq: 3, to: State::Cancelled }), b"Xs3"),
        (Change::piece(Effect::Settle { seq: 3, to: State::Refunded }), b"Fs3"),
        (Change::piece(Effect::Settle { seq: 3, to: State::Forfeited }), b"Ns3"),
        (Change::piece(Effect::Reclaim { seq: 3 }), b"Ys3"),
        (Change::piece(Effect::Reimport { seq: 3 }), b"Vs3"),
        (Change::piece(Effect::Extend { seq: 3, ms: 9 }), b"Es3d9"),
        (Change::piece(Effect::Fence { user: b"u", req: b"r" }), b"Wr1:ru"),
        (Change::piece(Effect::Import(import)), b"Mq2a5r1:ru"),
        (Change::piece(Effect::Round { round: 3, supply: 7 }), b"Hn3s7"),
    ];
    for (change, expected) in cases {
        let out = text(&change);
        assert_eq!(out, expected, "{}", String::from_utf8_lossy(&out));
        let back = Change::decode(&out).unwrap();
        assert_eq!(format!("{back:?}"), format!("{change:?}"));
    }
}

#[test]
fn what_is_not_an_effect_is_refused() {
    for text in [
        "",
        "Z",
        "P1",
        "Pz1",
        "Pt",
        "Pt01",
        "Pt1t1",
        "P:",
        "G",
        "Gr9:short",
        "Gq1",
        "R:r",
        "Rp1:r",
        "Rp1m1a1:r",
        "Rp99999999999999999999a1:r",
        "Is1",
        "Is1:short",
        "PT1",
        "Rp18446744073709551615a1:r",
        "D",
        "D:",
        "D:1,",
        "D:01",
        "C",
        "Cs1:",
        "Es1",
        "M:u",
    ] {
        assert!(Change::decode(text.as_bytes()).is_err(), "{text}");
    }
}
