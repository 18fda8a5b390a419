//! Altered bytes of parts of a split, and changes that no part ever decided.

use seckill_domain::outcome::State;

use super::*;
use crate::oracle::{Deed, List, Part, Pick};

/// Part 0 of three, the home of all these users, but not of `b`.
const PART: Part = Part { number: 0, of: 3, split: "s-1", total: 90 };
const USERS: [&str; 5] = ["a", "c", "d", "e", "erin"];

fn send(to: u64, total: u64, owed: bool) -> Op {
    Op::Send { split: PART.split, to, total, owed }
}

fn receive(from: u64, total: u64) -> Op {
    Op::Receive { split: PART.split, from, total }
}

/// A part with every kind of state, and the texts of its changes.
fn a_part() -> (Sale, Vec<Vec<u8>>) {
    let part = Some(PART);
    let rules = Rules { limit: 9, hold_ms: 40, outbox: Some('s'), part, ..Rules::default() };
    let mut world = World::open(30, rules, START, 500).unwrap().unwrap();
    let mut texts = Vec::new();
    let mut step = |op: Op| {
        if let Some(changes) = world.changes(&op) {
            texts.extend(changes.iter().map(encoded));
        }
        world.step(&op).unwrap();
    };
    for (number, user) in (0u64..).zip(USERS) {
        let (user, req) = (user.as_bytes().to_vec(), Some(format!("o-{number}").into_bytes()));
        step(Op::Wait(9));
        step(Op::Grab { user: user.clone(), ask: Ask::Qty(1 + number), req });
        step(send(1 + number % 2, number * 2, false));
        step(receive(1 + number % 2, number * 3));
        let deed = Deed::Confirm;
        step(Op::Settle { user, pick: Pick::Only, deed });
    }
    step(Op::Restock { delta: -5, req: b"back".to_vec() });
    step(Op::Enlist { list: List::Deny, add: true, users: &[b"d"] });
    step(Op::Grab { user: b"a".to_vec(), ask: Ask::Qty(2), req: None });
    step(Op::Elsewhere { split: PART.split, units: 7, pass: 3 });
    step(send(2, 60, true));
    step(send(2, 60, false));
    assert!(world.sale.balances().deficit > world.sale.balances().supply, "more than it has");
    (world.sale, texts)
}

#[test]
fn every_truncation_and_every_missing_piece_is_refused() {
    let (sale, _) = a_part();
    assert_sound(&sale, "a part");
    let dump = rebuild::dump(&sale);
    assert_eq!(rebuild::letters(&dump), "BPKSLC");
    refuse_truncations(&dump, "a part");
    for at in 0..dump.len() - 1 {
        for altered in fewer_and_more(&dump, at) {
            assert!(!try_load(&altered, "a part"), "piece {at} is missing or doubled");
        }
    }
}

#[test]
fn altered_dumps_and_effects() {
    let (sale, texts) = a_part();
    let loaded = load_altered(&rebuild::dump(&sale), 7, 3, 5000, "a part");
    assert!(loaded > 50, "some alterations make another sale: {loaded}");
    let applied = apply_altered(&sale, texts.clone(), 7, 5000, "a part");
    assert!(applied > 50, "some alterations make another effect: {applied}");
    let kinds = kinds_of(&texts);
    for kind in ["Grant", "Send", "Receive", "Elsewhere", "Restock", "Users"] {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
    assert!(apply_at_edges(&sale, texts) > 50);
}

/// Whether the sale takes these changes as one command.
fn takes(sale: &Sale, effects: &[Effect<'_>]) -> bool {
    let texts: Vec<Vec<u8>> =
        effects.iter().map(|effect| encoded(&Change::untimed(effect.clone()))).collect();
    let texts: Vec<&Vec<u8>> = texts.iter().collect();
    try_apply(&mut sale.clone(), sale.balances().version, &texts, "an effect")
}

#[test]
fn what_no_part_decides_is_refused() {
    let part = Some(PART);
    let mut world =
        World::open(30, Rules { part, ..Rules::default() }, START, 500).unwrap().unwrap();
    for op in [send(1, 5, false), receive(2, 7), Op::Pause, Op::Resume] {
        world.step(&op).unwrap();
    }
    world.step(&Op::Elsewhere { split: PART.split, units: 4, pass: 2 }).unwrap();
    let sale = &world.sale;
    let send = |to, total, owed| Effect::Send(effect::Send { to, total, owed });
    let receive = |from, total| Effect::Receive(effect::Receive { from, total });
    let tell = |units, pass| Effect::Elsewhere(effect::Elsewhere { units, pass });
    assert_eq!(sale.balances().available, 32);
    for effect in [
        send(1, 6, 0),
        send(1, 5, 0),
        send(2, 0, 0),
        send(1, 37, 0),
        send(1, 40, 3),
        receive(2, 8),
        receive(1, 1),
        tell(5, 2),
        tell(0, 3),
    ] {
        assert!(takes(sale, std::slice::from_ref(&effect)), "{effect:?}");
    }
    let grant = |user| Effect::Grant(effect::Grant { user, req: None, qty: 1, hold_ms: 0 });
    assert!(takes(sale, &[grant(b"a")]));
    let of_others = [
        grant(b"b"),
        effect_of(&effect("Mr1a5:rb")),
        effect_of(&effect("Wr1:rb")),
        effect_of(&effect("T:b")),
        effect_of(&effect("Ql2p1:b")),
    ]
    .map(|effect| vec![effect]);
    let impossible = [
        // A smaller total than before, more units than available, and fewer units owed than
        // missing.
        vec![send(1, 4, 0)],
        vec![send(1, 38, 0)],
        vec![send(1, 40, 4)],
        vec![send(1, 40, 2)],
        vec![send(1, 5, 1)],
        vec![send(1, 6, 2)],
        vec![send(1, INTEGER_MAX, INTEGER_MAX)],
        // A SEND to itself, or to no part.
        vec![send(0, 1, 0)],
        vec![send(3, 1, 0)],
        vec![receive(0, 1)],
        vec![receive(3, 1)],
        // Totals that were received before, and totals that can't be counted.
        vec![receive(2, 7)],
        vec![receive(2, 6)],
        vec![receive(1, 0)],
        vec![receive(1, INTEGER_MAX)],
        // A message with older figures than the last one.
        vec![tell(4, 2)],
        vec![tell(3, 2)],
        vec![tell(9, 1)],
        // Two moves in one command.
        vec![send(1, 6, 0), send(2, 1, 0)],
        vec![send(1, 6, 0), receive(2, 8)],
        vec![receive(1, 1), receive(1, 1)],
    ];
    for effects in of_others.into_iter().chain(impossible) {
        assert!(!takes(sale, &effects), "{effects:?}");
    }
    assert!(
        takes(sale, &[send(1, 6, 0), grant(b"a"), tell(0, 9)]),
        "one of each may come together"
    );
    let whole = World::open(30, Rules::default(), START, 500).unwrap().unwrap().sale;
    for effect in [send(1, 1, 0), send(1, 0, 0), receive(1, 1), tell(1, 1)] {
        assert!(!takes(&whole, std::slice::from_ref(&effect)), "{effect:?} of no part");
    }
}

/// The effect of a text, copied so that it outlives the text.
fn effect_of(text: &[u8]) -> Effect<'static> {
    match Change::decode(Box::leak(text.to_vec().into_boxed_slice())) {
        Ok(change) => change.effect,
        Err(why) => panic!("no effect: {why:?}"),
    }
}

/// Grants reach their usual states, whatever the part owes.
#[test]
fn a_part_that_owes_more_than_it_has_goes_on() {
    let (sale, _) = a_part();
    let expired = |sale: &Sale| {
        let seqs = 1..=sale.balances().grants;
        seqs.filter(|seq| sale.grant(*seq).is_some_and(|it| it.state == State::Expired)).count()
    };
    let mut later = sale.clone();
    let now = Now { clock_ms: START * 2, node_epoch: 500 };
    let decision = later.decide_expiry(9, &now).unwrap();
    commit(&mut later, &decision);
    assert!(expired(&later) > expired(&sale));
    assert!(later.balances().deficit < sale.balances().deficit, "what comes back pays");
    assert_sound(&later, "a part that owes");
}
