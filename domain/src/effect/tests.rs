//! Bytes of every effect, and bytes that are refused.

#![cfg(test)]

use core::num::NonZeroU16;
use std::collections::BTreeSet;

use super::*;
use crate::admission::List;
use crate::ledger::record::{Asked, ReqTag};
use crate::model::limits::{
    DRAW_AMOUNTS_MAX, EFFECTS_PER_APPLY_MAX, HOLD_MS_MAX, INTEGER_MAX, TIME_MS_MAX, UNITS_MAX,
    UNITS_PER_GRANT_MAX, USERS_PER_EFFECT_MAX, USER_BYTES_MAX,
};
use crate::model::outcome::State;
use crate::parts::Split;
use crate::request::{Terms, TermsChange};
use crate::terms::tests::{change_and_bytes, terms_and_bytes};
use crate::waitlist::Reason;

fn bytes(change: &Change<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    change.encode(&mut out);
    out
}

fn piece(effect: Effect<'_>) -> Vec<u8> {
    bytes(&Change::untimed(effect))
}

const ALICE: Grant<'_> = Grant { user: b"alice", req: None, qty: 1, hold_ms: 0 };
const PAID: Import<'_> = Import { user: b"u", req: b"r", qty: 2, at: 5 };

const WAITS: Join<'_> = Join { ticket: 7, user: b"w", req: b"r", qty: 2, until: 9 };

fn start(terms: Terms, amounts: &[u64]) -> Effect<'static> {
    let (id, secret, amounts) = (130, [b'x'; 16], amounts.to_vec());
    Effect::Init(Box::new(Init { id, secret, supply: 7, terms, amounts }))
}

fn numbered<E>(of: E, units: &[u32]) -> Box<Numbered<E>> {
    Box::new(Numbered { units: units.into(), of })
}

/// Effects and their bytes, except for those of terms and of numbered units.
fn plain_effects() -> Vec<(Effect<'static>, &'static [u8])> {
    let asked = Some(ReqTag { id: b"o-7", asked: Asked::UpTo });
    let bob = Users { list: List::Deny, add: true, users: vec![b"bob", b"x"] };
    vec![
        (Effect::Grant(ALICE), b"\0\x05alice\0\x01\0"),
        (
            Effect::Grant(Grant { req: asked, qty: 2, hold_ms: 900, ..ALICE }),
            b"\0\x05alice\x01\x03o-7\x01\x02\x84\x07",
        ),
        (Effect::Settle(Settle { seq: 3, to: State::Sold }), b"\x01\x03\x01"),
        (Effect::Settle(Settle { seq: 3, to: State::Cancelled }), b"\x01\x03\x02"),
        (Effect::Settle(Settle { seq: 3, to: State::Forfeited }), b"\x01\x03\x04"),
        (Effect::Settle(Settle { seq: 3, to: State::Refunded }), b"\x01\x03\x05"),
        (Effect::Expire(Expire(Seqs::from_slice(&[7, 300]))), b"\x02\x02\x07\xac\x02"),
        (Effect::Extend(Extend { seq: 3, ms: 9 }), b"\x03\x03\x09"),
        (Effect::Reclaim(Reclaim { seq: 3 }), b"\x04\x03"),
        (Effect::Import(PAID), b"\x05\x01u\x01r\x02\x05"),
        (Effect::Reimport(Reimport { seq: 3 }), b"\x06\x03"),
        (Effect::Fence(Fence { user: b"u", req: b"r" }), b"\x07\x01u\x01r"),
        (Effect::Round(Round { round: 3, supply: 7 }), b"\x08\x03\x07"),
        (Effect::Restock(Restock { req: b"r1", delta: -9, applied: -3 }), b"\x09\x02r1\x11\x05"),
        (Effect::Pause(Pause), b"\x0a"),
        (Effect::Resume(Resume), b"\x0b"),
        (Effect::Users(bob), b"\x0d\x01\x01\x02\x03bob\x01x"),
        (Effect::Admit(Admit { user: b"u" }), b"\x0e\x01u"),
        (Effect::Send(Send { to: 3, total: 300, owed: 0 }), b"\x11\x03\xac\x02\0"),
        (Effect::Send(Send { to: 1023, total: 7, owed: 2 }), b"\x11\xff\x07\x07\x02"),
        (Effect::Receive(Receive { from: 3, total: 300 }), b"\x12\x03\xac\x02"),
        (Effect::Elsewhere(Elsewhere { units: 0, pass: 9 }), b"\x13\0\x09"),
        (Effect::Wait(WAITS), b"\x14\x07\x01w\x01r\x02\x09"),
        (Effect::Leave(Leave { ticket: 7 }), b"\x15\x07"),
        (Effect::Drop(Drop { ticket: 7, reason: Reason::Denied }), b"\x16\x07\x03"),
        (Effect::Offer(Offer { ticket: 300, hold_ms: 9, passed: 7 }), b"\x17\xac\x02\x09\x07"),
        (Effect::Pass(Pass { ticket: 7 }), b"\x18\x07"),
        (Effect::Trim(Trim { seq: 3, returned: 300, to: State::Held }), b"\x19\x03\xac\x02\0"),
        (Effect::Trim(Trim { seq: 3, returned: 1, to: State::Sold }), b"\x19\x03\x01\x01"),
    ]
}

/// Effects of numbered units and their bytes.
fn numbered_effects() -> Vec<(Effect<'static>, &'static [u8])> {
    vec![
        (numbered(ALICE, &[1]).into(), b"\x1a\x01\0\x05alice\0\x01\0"),
        (numbered(ALICE, &[300, 301, 303]).into(), b"\x1a\x03\xab\x02\0\x01\x05alice\0\x01\0"),
        (
            numbered(Offer { ticket: 300, hold_ms: 9, passed: 7 }, &[2]).into(),
            b"\x1b\x01\x01\xac\x02\x09\x07",
        ),
        (numbered(PAID, &[1, 2]).into(), b"\x1c\x02\0\0\x01u\x01r\x02\x05"),
        (
            Box::new(TrimNumbered {
                units: [2, 5][..].into(),
                of: Trim { seq: 3, returned: 1, to: State::Sold },
            })
            .into(),
            b"\x1d\x02\x01\x02\x03\x01\x01",
        ),
        (
            Box::new(ReimportNumbered { units: [300][..].into(), seq: 3 }).into(),
            b"\x1e\x01\xab\x02\x03",
        ),
    ]
}

/// INIT and ALTER, and their bytes.
fn effects_of_terms() -> impl Iterator<Item = (Effect<'static>, Vec<u8>)> {
    let begins = terms_and_bytes().into_iter().map(|(terms, bytes)| {
        let amounts: &[u64] = if terms.draw().is_some() { &[3, 4] } else { &[] };
        let tail = if amounts.is_empty() { &b"\0"[..] } else { b"\x02\x03\x04" };
        let head = &b"\x0f\x82\x01xxxxxxxxxxxxxxxx\x07"[..];
        (start(terms, amounts), [head, bytes, tail].concat())
    });
    let (change, bytes) = change_and_bytes();
    let alter = (Effect::Alter(Alter(Box::new(change))), [b"\x0c", bytes].concat());
    begins.chain([alter])
}

/// `snapshot` and its tests have the bytes of pieces.
#[test]
fn the_bytes_of_every_effect() {
    let cases = [plain_effects(), numbered_effects()].concat().into_iter();
    let cases = cases.map(|(effect, bytes)| (effect, bytes.to_vec())).chain(effects_of_terms());
    let cases: Vec<_> = cases.collect();
    let tags: BTreeSet<u8> = cases.iter().map(|(_, bytes)| bytes[0]).collect();
    let all = EFFECTS.iter().zip(0..).filter(|(name, _)| **name != "Piece");
    assert!(all.map(|(_, tag)| tag).eq(tags), "each effect has its case");
    for (effect, expected) in cases {
        for (elapsed_ms, epoch, head) in
            [(0, None, &b"\0\0"[..]), (300, None, b"\0\xac\x02"), (4, Some(88), b"\x01\x04\x58")]
        {
            let change = Change { elapsed_ms, epoch, effect: effect.clone() };
            let out = bytes(&change);
            assert_eq!(out, [head, &expected].concat(), "{change:?}");
            let back = Change::decode(&out).unwrap();
            assert_eq!(format!("{back:?}"), format!("{change:?}"));
        }
    }
}

/// A plain grant, the AOF's most frequent line, costs eight bytes plus the user.
#[test]
fn a_plain_grant_is_short() {
    let grant = Grant { user: b"user:000000000042", ..ALICE };
    assert_eq!(piece(Effect::Grant(grant)).len(), grant.user.len() + 7);
    let later = Change { elapsed_ms: 16_383, ..Change::untimed(Effect::Grant(grant)) };
    assert_eq!(bytes(&later).len(), grant.user.len() + 8);
}

/// Encoding accepts values beyond every bound, decoding refuses them.
#[test]
fn what_can_not_be_is_refused() {
    let long = [b'x'; USER_BYTES_MAX + 1];
    let over = INTEGER_MAX + 1;
    let req = |id| Some(ReqTag { id, asked: Asked::Exactly });
    let of_import = Some(ReqTag { id: b"r", asked: Asked::Either });
    let amounts = vec![1; DRAW_AMOUNTS_MAX as usize + 1];
    let many: Seqs = (0..=EFFECTS_PER_APPLY_MAX as u64).collect();
    let crowd = vec![&b"u"[..]; USERS_PER_EFFECT_MAX + 1];
    let of = |id: &[u8], total| {
        let split = Split { part: 0, parts: NonZeroU16::MIN, id: id.into(), total };
        Terms { split: Some(Box::new(split)), ..Terms::default() }
    };
    let users = |list, users| Effect::Users(Users { list, add: true, users });
    let refused = [
        Effect::Grant(Grant { user: b"", ..ALICE }),
        Effect::Grant(Grant { user: &long, ..ALICE }),
        Effect::Grant(Grant { req: req(b""), ..ALICE }),
        Effect::Grant(Grant { req: req(&long[..129]), ..ALICE }),
        Effect::Grant(Grant { req: of_import, ..ALICE }),
        Effect::Grant(Grant { qty: over, ..ALICE }),
        Effect::Grant(Grant { hold_ms: HOLD_MS_MAX + 1, ..ALICE }),
        Effect::Settle(Settle { seq: 1, to: State::Held }),
        Effect::Settle(Settle { seq: 1, to: State::Expired }),
        Effect::Settle(Settle { seq: over, to: State::Sold }),
        Effect::Expire(Expire(many)),
        Effect::Extend(Extend { seq: 1, ms: HOLD_MS_MAX + 1 }),
        Effect::Import(Import { user: b"", ..PAID }),
        Effect::Import(Import { req: b"", ..PAID }),
        Effect::Import(Import { at: TIME_MS_MAX + 1, ..PAID }),
        Effect::Fence(Fence { user: b"", req: b"r" }),
        Effect::Round(Round { round: over, supply: 1 }),
        Effect::Restock(Restock { req: b"", delta: 1, applied: 1 }),
        Effect::Restock(Restock { req: b"r", delta: -(over as i64), applied: 0 }),
        Effect::Restock(Restock { req: b"r", delta: i64::MIN, applied: 0 }),
        Effect::Alter(Alter(Box::new(TermsChange { limit: Some(over), ..TermsChange::default() }))),
        Effect::Alter(Alter(Box::new(TermsChange {
            outbox: Some([].into()),
            ..TermsChange::default()
        }))),
        users(List::Admitted, vec![b"u"]),
        users(List::Allow, vec![b"u", b""]),
        users(List::Allow, crowd),
        Effect::Admit(Admit { user: &long }),
        start(Terms { grabs: over, ..Terms::default() }, &[]),
        start(of(b"", 9), &[]),
        start(of(&long[..65], 9), &[]),
        start(of(b"s", over), &[]),
        Effect::Send(Send { to: 1, total: over, owed: 0 }),
        Effect::Send(Send { to: 1, total: 1, owed: over }),
        Effect::Receive(Receive { from: 1, total: over }),
        Effect::Elsewhere(Elsewhere { units: over, pass: 1 }),
        Effect::Elsewhere(Elsewhere { units: 0, pass: over }),
        start(Terms::default(), &amounts),
        numbered(ALICE, &[]).into(),
        numbered(ALICE, &[1, UNITS_MAX as u32 + 1]).into(),
        numbered(ALICE, &(1..=UNITS_PER_GRANT_MAX as u32 + 1).collect::<Vec<_>>()).into(),
    ];
    for effect in refused {
        let out = piece(effect.clone());
        assert_eq!(Change::decode(&out).err(), Some(Refused::Unknown), "{effect:?}");
    }
    let last = UNITS_MAX as u32;
    let most: Vec<u32> = (last - UNITS_PER_GRANT_MAX as u32 + 1..=last).collect();
    assert!(Change::decode(&piece(numbered(ALICE, &most).into())).is_ok());
    for (ms, taken) in [(HOLD_MS_MAX, true), (HOLD_MS_MAX + 1, false)] {
        assert_eq!(Change::decode(&piece(Effect::Extend(Extend { seq: 1, ms }))).is_ok(), taken);
    }
}

/// An ALTER can't change the draw or the schedule, nor name a term twice: nothing is read after its
/// terms.
#[test]
fn an_alter_says_nothing_more() {
    let alter = piece(Effect::Alter(Alter(Box::new(TermsChange {
        limit: Some(3),
        ..TermsChange::default()
    }))));
    assert!(Change::decode(&alter).is_ok());
    let draw = b"\x01\x02\x02";
    for more in [&draw[..], b"\x01\x64\0\x64\0", b"\0", b"\x01\x03", &alter[2..]] {
        let out = [&alter[..], more].concat();
        assert_eq!(Change::decode(&out).err(), Some(Refused::Unknown), "{more:?}");
    }
}

#[test]
fn what_is_not_an_effect_is_refused() {
    let grant = piece(Effect::Grant(ALICE));
    for len in 0..grant.len() {
        assert!(Change::decode(&grant[..len]).is_err(), "cut off after {len}");
    }
    let refused: [&[u8]; 12] = [
        // A byte after the end.
        b"\0\0\0\x05alice\0\x01\0\0",
        // A later version.
        b"\x02\0\x0a",
        b"\x7f\0\x0a",
        // A later effect.
        b"\0\0\x60",
        // Neither a flag nor a tag.
        b"\0\0\0\x05alice\x02\x01\0",
        b"\0\0\0\x05alice\x01\x03o-7\x09\x01\0",
        b"\0\0\x0d\x01\x02\x01\x01u",
        // More seqs, or a longer user, than any memory holds.
        b"\0\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x07",
        b"\0\0\x02\xff\xff\xff\x7f\x07",
        b"\0\0\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01u",
        b"\0\0\x0e\xff\xff\xff\xff\x0fu",
        // Longer than a 64-bit number.
        b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0a",
    ];
    for bytes in refused {
        assert_eq!(Change::decode(bytes).err(), Some(Refused::Unknown), "{bytes:?}");
    }
}
