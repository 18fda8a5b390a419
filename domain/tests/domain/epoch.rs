//! A sale's epoch in each epoch of a node. The sale's first change in a node epoch chooses and
//! carries the sale's epoch, which is above all earlier ones.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use seckill_domain::effect::Change;
use seckill_domain::outcome::Refused;
use seckill_domain::request::{Amount, Grab, Now, Request};
use seckill_domain::Sale;

use super::oracle::{Op, Rules};
use super::rebuild::{self, encoded};
use super::shorthand::effect;
use super::world::World;

const CLOCK: u64 = 10_000;

fn opened(node_epoch: u64) -> Sale {
    let rules = Rules { limit: 0, ..Rules::default() };
    World::open(100, rules, CLOCK, node_epoch).unwrap().unwrap().sale
}

/// Grabs on a node whose epoch is `node_epoch`: the epoch that the change carries, and its text.
fn grab(sale: &mut Sale, node_epoch: u64) -> (Option<u64>, Vec<u8>) {
    let request = Request::Grab(Grab { user: b"u", amount: Amount::Exactly(1), req: None });
    commit(sale, &request, node_epoch)
}

fn commit(sale: &mut Sale, request: &Request<'_>, node_epoch: u64) -> (Option<u64>, Vec<u8>) {
    let decision = sale.decide(request, &Now { clock_ms: CLOCK, node_epoch }).unwrap();
    assert_eq!(decision.changes().len(), 1);
    sale.commit(decision.plan.as_ref().unwrap());
    (decision.changes()[0].epoch, encoded(&decision.changes()[0]))
}

fn epochs_of_rows(sale: &Sale) -> Vec<u64> {
    (1..=sale.ledger().len()).map(|seq| sale.ledger().grant(seq).unwrap().epoch).collect()
}

#[test]
fn the_first_change_in_a_node_epoch_carries_the_epoch_and_no_other() {
    let mut sale = opened(500);
    assert_eq!(sale.balances().epoch, 500);
    assert_eq!(grab(&mut sale, 500).0, None, "INIT carried it");
    assert_eq!(grab(&mut sale, 500).1, effect("gu"));
    assert_eq!(grab(&mut sale, 700).0, Some(700));
    assert_eq!(grab(&mut sale, 700).0, None);
    assert_eq!(epochs_of_rows(&sale), [500, 500, 700, 700]);
    assert_eq!(sale.ledger().epochs(), [(1, 500), (3, 700)]);
}

#[test]
fn an_epoch_is_above_the_last_even_when_the_clock_stepped_back() {
    let mut sale = opened(500);
    // A new node epoch begins, even if its number is not above the last epoch.
    for node_epoch in [499, 1, 500] {
        let last = sale.balances().epoch;
        let epoch = grab(&mut sale, node_epoch).0.expect("an epoch");
        assert!(drawn_above(last).contains(&epoch), "{epoch} after {last}");
        assert_eq!(sale.balances().epoch, epoch);
    }
}

/// The range of an epoch that is partly drawn.
fn drawn_above(last: u64) -> RangeInclusive<u64> {
    last + 1..=last + (1 << 32)
}

/// A node whose clock was an hour ahead was primary. Two nodes promoted after it have clocks behind
/// its epoch, and begin two different epochs.
#[test]
fn two_nodes_behind_the_last_epoch_begin_different_ones() {
    let mut sale = opened(500);
    grab(&mut sale, 500 + 3_600_000);
    let dump = rebuild::dump(&sale);
    let epochs = [1, 2].map(|seed| {
        let mut node = rebuild::load(&dump, seed).unwrap();
        grab(&mut node, 600).0.unwrap()
    });
    assert!(epochs.iter().all(|epoch| drawn_above(3_600_500).contains(epoch)), "{epochs:?}");
    assert_ne!(epochs[0], epochs[1]);
}

#[test]
fn a_change_that_grants_nothing_carries_it_too() {
    let mut sale = opened(500);
    assert_eq!(commit(&mut sale, &Request::Pause, 600), (Some(600), effect("Pe600")));
    assert_eq!(commit(&mut sale, &Request::Resume, 600), (None, effect("U")));
    assert_eq!(grab(&mut sale, 600).0, None);
    // An epoch without a grant is not in the list of epochs with grants.
    commit(&mut sale, &Request::Pause, 650);
    commit(&mut sale, &Request::Resume, 700);
    assert_eq!(grab(&mut sale, 700).0, None);
    assert_eq!(sale.ledger().epochs(), [(1, 600), (2, 700)]);
    rebuild::check(&sale).unwrap();
}

#[test]
fn a_refusal_spends_no_epoch() {
    let mut sale = opened(500);
    let now = Now { clock_ms: CLOCK, node_epoch: 600 };
    let request = Request::Grab(Grab { user: b"u", amount: Amount::Exactly(101), req: None });
    for _ in 0..2 {
        let decision = sale.decide(&request, &now).unwrap();
        assert!(decision.changes().is_empty());
        sale.count(&decision.outcome, Amount::Unsaid);
    }
    assert_eq!(sale.balances().epoch, 500);
    assert_eq!(grab(&mut sale, 600).0, Some(600));
}

#[test]
fn a_sale_that_was_loaded_begins_a_new_epoch() {
    let mut sale = opened(500);
    grab(&mut sale, 500);
    let dump = rebuild::dump(&sale);
    // After a server's start: a node epoch that is new, or that the clock can't distinguish from
    // the last one.
    for (node_epoch, expected) in
        [(600, 600..=600), (500, drawn_above(500)), (400, drawn_above(500))]
    {
        let mut loaded = rebuild::load(&dump, 1).unwrap();
        assert_eq!(loaded.balances().epoch, 500, "loading is no change");
        assert!(expected.contains(&grab(&mut loaded, node_epoch).0.unwrap()));
        assert_eq!(grab(&mut loaded, node_epoch).0, None);
    }
    // A sale from a dump or an AOF may have a copy, whatever the clocks say.
    let log = rebuild::log(&sale);
    for node_epoch in [400, 500, 900] {
        let copies = [1, 2].into_iter().flat_map(|seed| {
            let mut restored = rebuild::load(&dump, seed).unwrap();
            restored.arrive();
            [restored, rebuild::replay(&log, seed).unwrap()]
        });
        let epochs = copies.map(|mut copy| {
            assert_eq!(rebuild::pieces(&copy), rebuild::pieces(&sale), "arrival is not content");
            let epoch = grab(&mut copy, node_epoch).0.unwrap();
            assert_eq!(grab(&mut copy, node_epoch).0, None);
            assert_eq!(epochs_of_rows(&copy), [500, epoch, epoch]);
            assert!(drawn_above(500).contains(&epoch) && epoch != node_epoch, "{epoch}");
            epoch
        });
        assert_eq!(epochs.collect::<BTreeSet<_>>().len(), 4, "each has its own");
    }
}

#[test]
fn a_promoted_replica_begins_a_new_epoch_and_the_old_primary_is_told_apart() {
    let mut world =
        World::open(9, Rules { limit: 0, ..Rules::default() }, CLOCK, 500).unwrap().unwrap();
    world.step(&op_grab("a")).unwrap();
    // The primary grants once more and dies before the replica gets it.
    let mut lost = world.sale.clone();
    assert_eq!(grab(&mut lost, 500).0, None);
    world.step(&Op::Promote).unwrap();
    world.step(&op_grab("b")).unwrap();
    let taken = world.sale.ledger().grant(2).unwrap();
    let lost = lost.ledger().grant(2).unwrap();
    assert_eq!((taken.seq, taken.epoch), (2, 507));
    assert_eq!((lost.seq, lost.epoch), (2, 500), "the same seq, but not the same grant");
    for op in [op_grab("c"), Op::Promote, Op::Promote, op_grab("d"), op_grab("e")] {
        world.step(&op).unwrap();
    }
    assert_eq!(epochs_of_rows(&world.sale), [500, 507, 507, 521, 521]);
}

fn op_grab(user: &str) -> Op {
    Op::Grab { user: user.as_bytes().to_vec(), ask: super::oracle::Ask::Qty(1), req: None }
}

#[test]
fn a_replica_refuses_an_epoch_that_does_not_rise() {
    let sale = opened(500);
    let version = sale.balances().version;
    for (text, applied) in [
        ("Ge499:u", Err(Refused::Law)),
        ("Ge500:u", Err(Refused::Law)),
        ("Pe0", Err(Refused::Law)),
        ("Ge501:u", Ok(())),
        ("Pe9007199254740991", Ok(())),
        ("Pe9007199254740992", Err(Refused::Unknown)),
    ] {
        let mut replica = sale.clone();
        let outcome = Change::decode(&effect(text))
            .and_then(|change| replica.apply(version, [change]))
            .map(drop);
        assert_eq!(outcome, applied, "{text}");
        if applied.is_err() {
            assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
        }
    }
}
