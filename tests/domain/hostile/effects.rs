//! Effects, altered, out of order and too many.

use seckill::sale::bytes::put_varint;
use seckill::sale::effect::{Change, Effect, Granting};
use seckill::sale::limits::{EFFECTS_PER_APPLY_MAX, TIME_MS_MAX};
use seckill::sale::outcome::Refused;
use seckill::sale::request::{Now, Request};
use seckill::sale::Sale;

use super::super::oracle::Rules;
use super::super::random::Random;
use super::super::rebuild;
use super::super::world::World;
use super::{assert_sound, full_sale, scramble, try_apply, EDGES, START};

#[test]
fn every_field_of_every_effect_at_every_edge() {
    let (sale, _) = full_sale(12);
    let numbers = EDGES.map(|edge| edge.to_string());
    let shapes = [
        "Gq#:new",
        "Gt#:new",
        "Ge#:new",
        "Gr#:new",
        "Gr#u1:reqnew",
        "Gr3u#:reqnew",
        "Gu#:new",
        "Gq#t#e#:new",
        "Rp#a#:new",
        "Rm#a#:new",
        "Rp#m#a#:new",
        "Rm#a0:new",
        "Rp1a1t#:new",
        "Rp1a1e#:new",
        "Rp#a#:truck 1",
        "Pt#",
        "Pe#",
        "Ut#e#",
        "Al#",
        "Ag#",
        "Ah#",
        "Ao#",
        "Ac#",
        "Ao#c#",
        "Al#g#h#o#c#t#",
        "A",
        "P",
        "U",
        "G:",
        "g",
        "R:",
        "K:",
        "L:",
        "Le#:",
        "Kt#:",
    ];
    for shape in shapes {
        for number in &numbers {
            let text = shape.replace('#', number).into_bytes();
            let mut other = sale.clone();
            let how = String::from_utf8_lossy(&text).into_owned();
            let version = other.core().version;
            if try_apply(&mut other, version, &[&text], &how) {
                assert_sound(&other, &how);
            }
        }
    }
}

#[test]
fn every_number_of_an_init_at_every_edge() {
    let base = "s5l2g0h0o0c0t1000000e500";
    for letter in ["s", "l", "g", "h", "o", "c", "t", "e"] {
        for edge in EDGES {
            let at = base.find(letter).unwrap();
            let digits = base[at + 1..].chars().take_while(char::is_ascii_digit).count();
            let (before, after) = (&base[..=at], &base[at + 1 + digits..]);
            let text = format!("I{before}{edge}{after}:its id 8secret of 16 byt");
            assert_eq!(text.split_once(':').unwrap().1.len(), 8 + 16);
            let Ok(change) = Change::decode(text.as_bytes()) else { continue };
            if let Ok(sale) = Sale::create(&change, [1, 2]) {
                assert_sound(&sale, &text);
            }
        }
    }
}

#[test]
fn altered_effects_are_refused_or_leave_a_sound_sale() {
    let (sale, texts) = full_sale(12);
    let (mut random, mut applied) = (Random(2), 0);
    let log: Vec<Vec<u8>> = rebuild::log(&sale).into_iter().map(|(_, text)| text).collect();
    let known: Vec<&Vec<u8>> = texts.iter().map(|(_, text)| text).chain(&log).collect();
    for _ in 0..30_000 {
        let mut batch = Vec::new();
        for _ in 0..1 + random.below(3) {
            let mut text = known[random.below(known.len() as u64) as usize].clone();
            (0..random.below(4)).for_each(|_| scramble(&mut text, &mut random));
            batch.push(text);
        }
        let mut other = sale.clone();
        let how = format!("{batch:?}");
        let version = other.core().version;
        if try_apply(&mut other, version, &batch.iter().collect::<Vec<_>>(), &how) {
            assert_sound(&other, &how);
            applied += 1;
        }
    }
    assert!(applied > 1000, "some alterations make another effect: {applied}");
}

/// Pieces are how a log is rewritten, but whoever may APPLY may send them to any sale.
#[test]
fn pieces_for_a_sale_that_is_sold_from() {
    let rows = |first: u64, count: u64| {
        let mut text = b"L:".to_vec();
        [first, count, START].iter().for_each(|number| put_varint(&mut text, *number));
        // One unit SOLD to "u" at the base's time, as often as said.
        (0..count).for_each(|_| text.extend([1, 0, b'u', 0]));
        text
    };
    let restocks = |count: u64| {
        let mut text = b"K:".to_vec();
        (0..count).for_each(|number| text.extend([1, b'a' + number as u8, 2, 2, 9]));
        text
    };
    // One unit SOLD to "u" with each of these one-byte request ids.
    let asked = |first: u64, ids: &[u8]| {
        let mut text = b"L:".to_vec();
        let head = [first, ids.len() as u64, START];
        head.iter().for_each(|number| put_varint(&mut text, *number));
        ids.iter().for_each(|id| text.extend([17, 0, b'u', 0, *id, 0, 0]));
        text
    };
    let mut known = full_sale(12).0;
    let version = known.core().version;
    assert!(try_apply(&mut known, version, &[&asked(13, b"x")], "a request id by rows"));
    let world = World::open(900, Rules::default(), START, 500).unwrap().unwrap();
    let full = || full_sale(12).0;
    let new = || world.sale.clone();
    let cases: [(Sale, Vec<u8>, bool); 13] = [
        (full(), asked(13, b"xy"), true),
        (full(), asked(13, b"xx"), false),
        (known.clone(), asked(14, b"y"), true),
        (known, asked(14, b"x"), false),
        (full(), rows(13, 1), true),
        (full(), rows(13, 300), false),
        (full(), rows(12, 1), false),
        (full(), rows(14, 1), false),
        (full(), restocks(1), false),
        (new(), rows(1, 1), true),
        (new(), rows(1, 2), false),
        (new(), restocks(1), true),
        (new(), restocks(2), false),
    ];
    for (at, (mut sale, text, taken)) in cases.into_iter().enumerate() {
        let (version, how) = (sale.core().version, format!("case {at}"));
        assert_eq!(try_apply(&mut sale, version, &[&text], &how), taken, "{how}");
        assert_sound(&sale, &how);
    }
}

#[test]
fn only_the_version_that_follows_is_taken() {
    let (sale, texts) = full_sale(12);
    let mut at = Sale::create(&Change::decode(&init_text()).unwrap(), [1, 2]).unwrap();
    let first = at.core().version;
    assert_eq!(texts[0].0, first);
    for (version, text) in &texts {
        let change = [Change::decode(text).unwrap()];
        let wrong = [0, version.wrapping_sub(1), version + 1, version + 2, u64::MAX];
        for wrong in wrong.into_iter().filter(|wrong| wrong != version) {
            let before = rebuild::pieces(&at);
            assert_eq!(at.apply_replicated(wrong, &change), Err(Refused::Gap));
            assert_eq!(rebuild::pieces(&at), before);
        }
        assert_eq!(at.apply_replicated(*version, &change), Ok(()));
        assert_eq!(at.apply_replicated(*version, &change), Err(Refused::Gap), "a repeat");
    }
    assert_eq!(rebuild::pieces(&at), rebuild::pieces(&sale));
}

/// The INIT of [`full_sale`] with twelve grabs.
fn init_text() -> Vec<u8> {
    let head = format!("It{START}e500s31l9g4h0o0c{}:", START * 9);
    [head.as_bytes(), &77u64.to_be_bytes(), &[7; 16]].concat()
}

/// Effects of one APPLY, which is taken as a whole or not at all.
fn apply_all(texts: &[&str]) -> Result<(), Refused> {
    let (mut sale, _) = full_sale(12);
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let how = format!("{texts:?}");
    let version = sale.core().version;
    let applied = try_apply(&mut sale, version, &texts.iter().collect::<Vec<_>>(), &how);
    assert_sound(&sale, &how);
    if applied {
        Ok(())
    } else {
        Err(Refused::Law)
    }
}

#[test]
fn effects_of_one_apply_are_taken_all_or_none() {
    let cases: [(&[&str], bool); 14] = [
        (&["gnew", "gnew", "P", "U", "Rp5a5:x", "Al3"], true),
        (&["Gr1:rnew", "Gr1:rother"], true),
        (&["Gr1:rnew", "Gr1:rnew"], false),
        (&["Gr1:rnew", "Gq2r1u1:rnew"], false),
        (&["Rp5a5:x", "Rp5a5:x"], false),
        (&["Rp5a5:x", "Rm5a5:x"], false),
        (&["Rp5a5:x", "Rm5a5:y"], true),
        (&["Gq9999999:new", "gnew"], false),
        (&["gnew", "Gq9999999:new"], false),
        (&["Rp9999999a9999999:x", "Gq9999999:new"], true),
        (&["Ge9999999999:new", "Ge9999999999:new"], false),
        (&["Ac2000000", "Ao2000000"], false),
        (&["P", "Z"], false),
        (&["P", "I"], false),
    ];
    for (texts, taken) in cases {
        assert_eq!(apply_all(texts).is_ok(), taken, "{texts:?}");
    }
}

#[test]
fn an_apply_is_bounded() {
    let (mut sale, _) = full_sale(12);
    let restock = Effect::Restock { req: b"much", delta: 5000, applied: 5000 };
    let version = sale.core().version;
    assert_eq!(sale.apply_replicated(version, &[Change::piece(restock)]), Ok(()));
    let grant = Granting { user: b"crowd", req: None, qty: 1, found: None };
    let grants = vec![Change::piece(Effect::Grant(grant)); EFFECTS_PER_APPLY_MAX + 1];
    let before = rebuild::pieces(&sale);
    assert!(sale.apply_replicated(version + 1, &grants).is_err());
    assert_eq!(rebuild::pieces(&sale), before);
    assert_eq!(sale.apply_replicated(version + 1, &grants[1..]), Ok(()));
    assert_sound(&sale, "as many effects as one command may carry");
}

/// A clock that is centuries ahead: what can't be recorded is refused, not answered GRANTED.
#[test]
fn a_clock_beyond_its_bound_is_refused() {
    let (sale, _) = full_sale(3);
    for (clock_ms, taken) in [(TIME_MS_MAX, true), (TIME_MS_MAX + 1, false), (u64::MAX, false)] {
        let decision = sale.decide(&Request::Resume, &Now { clock_ms, run: START });
        assert_eq!(decision.changes.len(), usize::from(taken), "{clock_ms}");
        let mut sale = sale.clone();
        sale.commit(&decision.changes, START);
        assert_sound(&sale, "at the last moment of time");
    }
}
