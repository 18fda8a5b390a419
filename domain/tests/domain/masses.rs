//! Many holds and many fences at once: bounds, batches, order, pieces.

use std::time::{Duration, Instant};

use seckill_domain::admission::List;
use seckill_domain::decide::decide_new;
use seckill_domain::decide::mgrab::{decide_multi_grab, MultiOutcome};
use seckill_domain::draw::Draw;
use seckill_domain::effect::{self, Change, Effect};
use seckill_domain::ledger::Block;
use seckill_domain::limits::{EFFECTS_PER_APPLY_MAX, FENCES_KEPT_MAX, TRIMS_PER_PIECE};
use seckill_domain::outcome::{GrantView, Outcome, State};
use seckill_domain::request::{
    Amount, Deed, Grab, Import, Init, Keeper, Kept, ListChange, Now, Request, Restock, Settle,
    Terms, Which,
};
use seckill_domain::snapshot::Piece;
use seckill_domain::Sale;

use super::oracle::{self, Ask, Every, Op, Pick, Rules, FENCE_MS};
use super::rebuild::{self, encoded};
use super::world::{after_rounds, commit, World};

const START: u64 = 1_000_000;
const NODE_EPOCH: u64 = 500;
const HOLD: u64 = 50;

fn opened(supply: u64) -> Sale {
    let rules = Rules { limit: 0, hold_ms: HOLD, outbox: Some('s'), ..Rules::default() };
    World::open(supply, rules, START, NODE_EPOCH).unwrap().unwrap().sale
}

/// Decides a request at `clock_ms` and commits it, here and on the replica.
fn ask(sale: &mut Sale, replica: &mut Sale, request: &Request<'_>, clock_ms: u64) -> Outcome {
    let now = Now { clock_ms, node_epoch: NODE_EPOCH };
    let version = sale.balances().version;
    let decision = sale.decide(request, &now).unwrap();
    let texts: Vec<Vec<u8>> = decision.changes().iter().map(encoded).collect();
    commit(sale, &decision);
    follow(replica, version, &texts);
    decision.outcome
}

/// Applies `texts` in commands of the size that a primary sends.
fn follow(replica: &mut Sale, mut version: u64, texts: &[Vec<u8>]) {
    for part in texts.chunks(EFFECTS_PER_APPLY_MAX) {
        let changes: Vec<_> = part.iter().map(|text| Change::decode(text).unwrap()).collect();
        replica.apply(version, changes).unwrap();
        version += part.len() as u64;
    }
}

fn grab<'a>(user: &'a [u8], qty: u64) -> Request<'a> {
    Request::Grab(Grab { user, amount: Amount::Exactly(qty), req: None })
}

fn cancel<'a>(user: &'a [u8], req: &'a [u8]) -> Request<'a> {
    Request::Settle(Settle { user, which: Which::Req(req), deed: Deed::Cancel })
}

/// A sale with `count` holds of one unit that are due in one millisecond.
fn all_held(count: u64) -> (Sale, Sale) {
    let mut sale = opened(count);
    let mut replica = sale.clone();
    for number in 0..count {
        let user = format!("user:{}", number % (count / 2)).into_bytes();
        ask(&mut sale, &mut replica, &grab(&user, 1), START);
    }
    assert_eq!((sale.balances().held, sale.balances().available), (count, 0));
    (sale, replica)
}

#[test]
fn holds_that_fall_due_together_are_settled_batch_by_batch() {
    const COUNT: u64 = 30_000;
    let (mut sale, mut replica) = all_held(COUNT);
    let now = |clock_ms| Now { clock_ms, node_epoch: NODE_EPOCH };
    assert!(sale.decide_expiry(9999, &now(START + HOLD - 1)).unwrap().changes().is_empty());
    let rev = sale.balances().rev;
    let mut left = COUNT;
    while left > 0 {
        let decision = sale.decide_expiry(2500, &now(START + HOLD)).unwrap();
        let seqs = decision.changes().iter().map(|change| match &change.effect {
            Effect::Expire(expire) => expire.0.len(),
            other => panic!("{other:?}"),
        });
        let sizes: Vec<usize> = seqs.collect();
        assert_eq!(sizes, [1000, 1000, 500], "as many as asked for, in bounded effects");
        let version = sale.balances().version;
        let texts: Vec<Vec<u8>> = decision.changes().iter().map(encoded).collect();
        let plan = decision.plan.as_ref().unwrap();
        let mut entries = 0;
        sale.each_entry(plan, &mut Vec::new(), |_| entries += 1);
        // The first batch frees units, and adds the AVAILABLE entry: the sale is no longer sold
        // out.
        assert_eq!(entries, 2500 + usize::from(left == COUNT));
        sale.commit(plan);
        let mut kinds: Vec<_> = plan.events.iter().map(|event| event.kind).collect();
        kinds.dedup();
        assert!(kinds.len() <= 3, "{kinds:?}");
        follow(&mut replica, version, &texts);
        left -= 2500;
        assert_eq!((sale.balances().held, sale.balances().available), (left, COUNT - left));
    }
    assert!(sale.decide_expiry(2500, &now(START + HOLD)).unwrap().changes().is_empty());
    assert_eq!(sale.balances().rev, rev + COUNT + 1);
    assert_eq!(sale.tallies().expired, COUNT);
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
    assert_eq!(sale.audit().differences, []);
    rebuild::check(&sale).unwrap();
}

/// A GRAB expires no more holds than it needs, earliest deadlines first.
#[test]
fn a_grab_lets_no_more_holds_expire_than_it_needs() {
    const COUNT: u64 = 10_000;
    let (mut sale, mut replica) = all_held(COUNT);
    let mut grab = |qty| {
        let outcome = ask(&mut sale, &mut replica, &grab(b"late", qty), START + HOLD);
        let numbers = (sale.balances().available, sale.tallies().expired);
        (outcome, numbers)
    };
    for (qty, lapsed) in [(1, 1), (7, 8), (1000, 1008)] {
        let (outcome, numbers) = grab(qty);
        assert!(matches!(outcome, Outcome::Granted { available: 0, .. }), "{outcome:?}");
        assert_eq!(numbers, (0, lapsed));
    }
    // A request for more than can become available is refused at once.
    assert_eq!(grab(COUNT + 1), (Outcome::SoldOut { held: COUNT }, (0, 1008)));
    // 1,000 of the needed units, then 1,000 more, then the rest.
    assert_eq!(grab(2500), (Outcome::ManyEnding, (1000, 2008)));
    assert_eq!(grab(COUNT + 1), (Outcome::Short { available: 1000 }, (1000, 2008)));
    assert_eq!(grab(2500), (Outcome::ManyEnding, (2000, 3008)));
    let (outcome, numbers) = grab(2500);
    assert!(matches!(outcome, Outcome::Granted { available: 0, .. }), "{outcome:?}");
    assert_eq!(numbers, (0, 3508));
    assert_eq!(sale.audit().differences, []);
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
}

/// A GRAB with UPTO gets the units that the first batch of expiries frees.
#[test]
fn a_grab_that_takes_less_takes_what_a_part_of_the_holds_frees() {
    const COUNT: u64 = 3000;
    let (mut sale, mut replica) = all_held(COUNT);
    let up_to = |qty| Request::Grab(Grab { user: b"late", amount: Amount::UpTo(qty), req: None });
    let mut ask = |request: &Request<'_>| {
        let outcome = ask(&mut sale, &mut replica, request, START + HOLD);
        (outcome, sale.tallies().expired)
    };
    let granted = |(outcome, expired)| match outcome {
        Outcome::Granted { grant, .. } => (grant.qty, expired),
        other => panic!("{other:?}"),
    };
    assert_eq!(granted(ask(&up_to(9000))), (1000, 1000));
    // Returned units pay off the deficit first.
    let import = |req: &'static [u8], qty| {
        Request::Import(Import { user: b"paid", qty, req, at: None, no_deficit: false, units: &[] })
    };
    assert!(matches!(ask(&import(b"r", 1500)).0, Outcome::Granted { .. }));
    assert_eq!(ask(&up_to(9000)), (Outcome::ManyEnding, 2000));
    assert_eq!(granted(ask(&up_to(9000))), (500, 3000));
    // Nothing more is due: this is the whole rest, not one batch.
    assert_eq!(ask(&up_to(9000)), (Outcome::SoldOut { held: 1500 }, 3000));
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
    assert_eq!(sale.audit().differences, []);
}

/// A drawn amount is limited to the units that the first batch of expiries frees.
#[test]
fn a_drawn_amount_is_cut_to_what_a_part_of_the_holds_frees() {
    let drawing = oracle::Drawing::Uniform { low: 1, high: 2000 };
    let rules = Rules { grabs: 0, hold_ms: HOLD, drawing, ..Rules::default() };
    let mut world = World::open(4000, rules, START, NODE_EPOCH).unwrap().unwrap();
    let import = |number: u64| Op::Import {
        user: b"paid".to_vec(),
        qty: 1999,
        req: number.to_be_bytes().to_vec(),
        at: None,
        no_deficit: false,
    };
    (0..2).for_each(|number| world.step(&import(number)).unwrap());
    let grab = || Op::Grab { user: b"u".to_vec(), ask: Ask::Unsaid, req: None };
    // Two units are left, and then the units of expired holds, one at a time.
    while world.sale.balances().held < 2 {
        world.step(&grab()).unwrap();
    }
    for number in 0..1200u64 {
        let (delta, req) = (1, number.to_be_bytes().to_vec());
        world.step(&Op::Restock { delta, req }).unwrap();
        world.step(&grab()).unwrap();
    }
    world.step(&Op::Wait(HOLD as i64)).unwrap();
    let before = world.sale.tallies().expired;
    let other = Op::Grab { user: b"v".to_vec(), ask: Ask::Unsaid, req: None };
    world.step(&import(2)).unwrap();
    world.step(&other).unwrap();
    assert_eq!(world.sale.tallies().expired - before, 1000);
    // All returned units paid off the deficit.
    let balances = world.sale.balances();
    assert!(balances.available == 0 && balances.deficit > 0, "{balances:?}");
    world.step(&other).unwrap();
    assert!(world.sale.tallies().expired - before < 2000);
}

/// An MGRAB expires, in all its sales together, no more holds than one GRAB. Holds of others and
/// the user's own are limited separately.
#[test]
fn a_grab_of_several_sales_lets_a_part_of_the_holds_expire() {
    let (sale, _) = all_held(1500);
    let now = Now { clock_ms: START + HOLD, node_epoch: NODE_EPOCH };
    let mut sales = [sale.clone(), sale.clone(), sale];
    let mut run = |user: &[u8], quantities: [u64; 3]| {
        let grab = |qty| Grab { user, amount: Amount::Exactly(qty), req: Some(b"r") };
        let parts: Vec<_> = sales.iter().zip(quantities.map(grab)).collect();
        let decided = decide_multi_grab(&parts, &now).unwrap();
        sales.iter_mut().zip(&decided.decisions).for_each(|(sale, it)| commit(sale, it));
        (decided.outcome, [0, 1, 2].map(|place: usize| sales[place].tallies().expired))
    };
    let refused = |index, outcome| MultiOutcome::Refused { index, outcome };
    let many = Outcome::ManyEnding;
    assert_eq!(run(b"late", [900, 200, 1]), (refused(1, many), [900, 100, 0]));
    assert_eq!(run(b"late", [900, 200, 1501]).1, [900, 200, 0]);
    assert_eq!(run(b"late", [1400, 600, 200]), (refused(2, many), [1400, 600, 100]));
    let (outcome, expired) = run(b"late", [1400, 600, 200]);
    assert!(matches!(outcome, MultiOutcome::Granted(_)), "{outcome:?}");
    assert_eq!(expired, [1400, 600, 200]);

    let (terms, own) = (Rules { limit: 9000, hold_ms: HOLD, ..Rules::default() }, grab(b"u", 1));
    let sale = World::open(9000, terms, START, NODE_EPOCH).unwrap().unwrap().sale;
    let (mut replica, mut sale) = (sale.clone(), sale);
    (0..700).for_each(|_| _ = ask(&mut sale, &mut replica, &own, START));
    sales = [sale.clone(), sale.clone(), sale];
    let mut run = |user: &[u8], quantities: [u64; 3]| {
        let grab = |qty| Grab { user, amount: Amount::Exactly(qty), req: Some(b"r") };
        let parts: Vec<_> = sales.iter().zip(quantities.map(grab)).collect();
        let decided = decide_multi_grab(&parts, &now).unwrap();
        sales.iter_mut().zip(&decided.decisions).for_each(|(sale, it)| commit(sale, it));
        (decided.outcome, [0, 1, 2].map(|place: usize| sales[place].tallies().expired))
    };
    assert_eq!(run(b"u", [1; 3]), (refused(1, Outcome::ManyOwnEnding), [700, 300, 0]));
    assert_eq!(run(b"u", [1; 3]), (refused(2, Outcome::ManyOwnEnding), [700, 700, 600]));
    assert!(matches!(run(b"u", [1; 3]).0, MultiOutcome::Granted(_)));
}

/// Calls of a late payment expire holds until there are enough units for it. A payment for more
/// units than can become available is refused at once, for good.
#[test]
fn a_late_payment_of_many_units_lets_a_part_of_the_holds_expire() {
    for (withdrawn, answers) in [(0, 3), (1, 1)] {
        let mut sale = opened(2500);
        let mut replica = sale.clone();
        let mut run = |request: &Request<'_>, clock_ms| {
            let outcome = ask(&mut sale, &mut replica, request, clock_ms);
            (outcome, sale.tallies().expired)
        };
        run(&grab(b"user:0", 2500), START);
        for number in 0..2500u64 {
            run(&grab(&number.to_be_bytes(), 1), START + HOLD);
        }
        let units = Request::Restock(Restock { delta: -withdrawn, req: b"r" });
        let cancels = Settle { user: &[0; 8], which: Which::Only, deed: Deed::Cancel };
        if withdrawn > 0 {
            run(&Request::Settle(cancels), START + HOLD);
            run(&units, START + HOLD);
        }
        let mut expired = 1;
        for _ in 1..answers {
            expired += 1000;
            assert_eq!(run(&late_payment(), START + 2 * HOLD), (Outcome::ManyEnding, expired));
        }
        let state = if withdrawn == 0 { State::Sold } else { State::Expired };
        let stands = Outcome::Stands(GrantView { seq: 1, qty: 2500, state, deadline: 0 });
        let expired = if withdrawn == 0 { 2501 } else { 1 };
        assert_eq!(run(&late_payment(), START + 2 * HOLD), (stands, expired));
    }
}

/// EXTEND and CONFIRM remove the old entries of the index of holds.
#[test]
fn a_hold_that_is_extended_again_and_again_takes_no_memory() {
    let mut sale = opened(9);
    let mut replica = sale.clone();
    ask(&mut sale, &mut replica, &grab(b"u", 1), START);
    let before = sale.memory_bytes();
    for number in 1..5000 {
        let (which, deed) = (Which::Seq(1), Deed::Extend { ms: HOLD + number });
        let extend = Request::Settle(Settle { user: b"u", which, deed });
        ask(&mut sale, &mut replica, &extend, START + number);
        assert_eq!(sale.ledger().holds().len(), 1);
        assert_eq!(sale.ledger().holds().next_deadline(), Some(START + HOLD + 2 * number));
    }
    assert_eq!(sale.memory_bytes(), before);
    let (which, deed) = (Which::Only, Deed::Confirm { reclaim: false });
    ask(&mut sale, &mut replica, &Request::Settle(Settle { user: b"u", which, deed }), START);
    assert!(sale.ledger().holds().is_empty() && sale.memory_bytes() < before);
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
}

fn fences_of(sale: &Sale) -> Vec<u8> {
    rebuild::fences_in(&rebuild::pieces(sale)).iter().map(|fence| fence.req[0]).collect()
}

#[test]
fn a_fence_is_kept_for_ten_minutes_and_pruned_by_the_next() {
    let mut sale = opened(9);
    let mut replica = sale.clone();
    for (req, at) in [(b"a", 0), (b"b", 1), (b"a", 2), (b"c", FENCE_MS - 1)] {
        assert_eq!(ask(&mut sale, &mut replica, &cancel(b"u", req), START + at), Outcome::Fenced);
    }
    assert_eq!(fences_of(&sale), b"abc");
    // A node's own clock removes no fence. A fence past its time is set again, and moves after all
    // other fences.
    let late = Request::Grab(Grab { user: b"u", amount: Amount::Exactly(2), req: Some(b"b") });
    let now = |after: u64| Now { clock_ms: START + after, node_epoch: NODE_EPOCH };
    assert!(sale.decide(&late, &now(FENCE_MS)).unwrap().changes().is_empty());
    assert_eq!(sale.decide(&late, &now(FENCE_MS + 1)).unwrap().changes().len(), 1);
    assert_eq!(fences_of(&sale), b"abc");
    ask(&mut sale, &mut replica, &cancel(b"u", b"a"), START + FENCE_MS);
    assert_eq!(fences_of(&sale), b"bca");
    ask(&mut sale, &mut replica, &cancel(b"u", b"d"), START + 2 * FENCE_MS);
    assert_eq!(fences_of(&sale), b"d");
    assert_eq!(sale.status(&now(0)).fences_dropped, 0, "none went before its time");
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
}

#[test]
fn the_oldest_of_too_many_fences_goes_first_and_is_counted() {
    let mut sale = opened(9);
    let mut replica = sale.clone();
    // Ids of full length, so that their pieces are as long as they can be.
    let user = |number: u64| format!("{number:0256}").into_bytes();
    let most = FENCES_KEPT_MAX as u64;
    for number in 0..most + 3 {
        ask(&mut sale, &mut replica, &cancel(&user(number), b"r"), START + number / 1000);
    }
    let now = Now { clock_ms: START + 99, node_epoch: NODE_EPOCH };
    assert_eq!(sale.status(&now).fences_dropped, 3);
    let is_fenced = |sale: &Sale, number: u64| {
        let user = user(number);
        let req = Some(&b"r"[..]);
        let grab = Grab { user: &user, amount: Amount::UpTo(1), req };
        let outcome = sale.decide(&Request::Grab(grab), &now).unwrap().outcome;
        matches!(outcome, Outcome::Replay(_))
    };
    for (number, stands) in [(0, false), (2, false), (3, true), (most, true), (most + 2, true)] {
        assert_eq!(is_fenced(&sale, number), stands, "{number}");
    }
    let pieces = rebuild::pieces(&sale);
    assert!(pieces.iter().filter(|(letter, _)| *letter == 'J').count() > 100);
    assert_eq!(rebuild::fences_in(&pieces).len() as u64, most);
    assert_eq!(rebuild::pieces(&replica), pieces);
    rebuild::check(&sale).unwrap();
    let mut loaded = rebuild::load(&rebuild::dump(&sale), 0).unwrap();
    assert!(!is_fenced(&loaded, 2) && is_fenced(&loaded, 3));
    // A loaded sale forgets fences in this order, too.
    let version = loaded.balances().version;
    let fence = Effect::Fence(effect::Fence { user: b"u", req: b"r" });
    loaded.apply(version, [Change::untimed(fence)]).unwrap();
    assert!(!is_fenced(&loaded, 3) && is_fenced(&loaded, 4));
}

/// Winners of an ended round and users on a list are in blocks that are lent to the defragmenter.
#[test]
fn the_bulk_of_the_memory_is_in_blocks_that_can_be_moved() {
    const COUNT: u64 = 30_000;
    let every = Every { period: 1000, offset: 0, lasts: 1000, carry: false };
    let rules = Rules { limit: 0, every: Some(every), ..Rules::default() };
    let mut sale = World::open(9 * COUNT, rules, START, NODE_EPOCH).unwrap().unwrap().sale;
    let mut make = |request: &Request<'_>, clock_ms: u64| _ = made(&mut sale, request, clock_ms);
    let name = |number: u64| format!("user:{number:012}").into_bytes();
    for round in 0..2 {
        for number in 0..COUNT {
            let (user, req) = (name(number / 2), name(number));
            let grab = Grab { user: &user, amount: Amount::Exactly(2), req: Some(&req) };
            make(&Request::Grab(grab), START + round * 1000);
        }
    }
    let users: Vec<Vec<u8>> = (0..COUNT).map(name).collect();
    let users: Vec<&[u8]> = users.iter().map(Vec::as_slice).collect();
    for list in [List::Allow, List::Deny] {
        make(&Request::List(ListChange { list, add: true, users: &users }), START + 1000);
    }
    let all = sale.memory_bytes();
    let lent: usize = sale.blocks_mut().map(bytes_of).sum();
    assert!(lent <= all && lent > all * 8 / 10, "{lent} of {all} bytes");
}

fn bytes_of(block: Block<'_>) -> usize {
    match block {
        Block::Page(page) => page.capacity(),
        Block::Offsets(offsets) => offsets.capacity() * 4,
        // The heap of single accounts is small, and is allocated and freed often.
        Block::Accounts(accounts) => size_of_val(&accounts[..]),
        Block::Slots(slots) => size_of_val(&slots[..]),
    }
}

/// If the base announces grants of distinct users, loading looks up no user. A user with two grants
/// is found at the end.
#[test]
fn a_user_who_comes_twice_among_different_ones_is_refused() {
    let rules = Rules { limit: 3, ..Rules::default() };
    for (prefix, suffix) in [("user:", ""), ("user:", "!")] {
        let saved = |last: &str| {
            let mut sale = World::open(9, rules, START, NODE_EPOCH).unwrap().unwrap().sale;
            let mut replica = sale.clone();
            for user in ["1", "2", last] {
                let user = format!("{prefix}{user}{suffix}");
                ask(&mut sale, &mut replica, &grab(user.as_bytes(), 1), START + 5);
            }
            rebuild::dump(&sale)
        };
        let (different, twice) = (saved("3"), saved("1"));
        assert!(rebuild::load(&different, 0).is_ok() && rebuild::load(&twice, 0).is_ok());
        let mixed = [different[0].clone(), twice[1].clone(), twice[2].clone()];
        assert!(rebuild::load(&mixed, 0).is_err(), "{prefix}{suffix}");
    }
}

/// More of a user's own holds are due than one call may expire: each call expires a part.
#[test]
fn very_many_own_holds_end_in_parts() {
    const HOLDS: u64 = 1003;
    let held = Rules { hold_ms: HOLD, outbox: Some('s'), ..Rules::default() };
    let user = || b"u".to_vec();
    let grab = |qty| Op::Grab { user: user(), ask: Ask::Qty(qty), req: None };
    let deed = |deed| Op::Settle { user: user(), pick: Pick::Seq(HOLDS), deed };
    for limit in [0, 5000] {
        let mut world =
            World::open(9000, Rules { limit, ..held }, START, NODE_EPOCH).unwrap().unwrap();
        (0..HOLDS).for_each(|_| world.step(&grab(1)).unwrap());
        world.step(&Op::Wait(HOLD as i64)).unwrap();
        for op in [grab(4000), deed(oracle::Deed::Reclaim), deed(oracle::Deed::Confirm)] {
            let mut world = world.clone();
            world.step(&op).unwrap();
            assert_eq!(world.sale.tallies().expired, 1000, "{limit} {op:?}");
            world.step(&op).unwrap();
            assert_eq!(world.sale.tallies().expired, HOLDS, "{limit} {op:?}");
            rebuild::check(&world.sale).unwrap();
        }
    }
}

/// Holds of an ended round count as well.
#[test]
fn very_many_own_holds_of_an_older_round_end_in_parts() {
    let every = Every { period: 100, offset: START, lasts: 100, carry: false };
    let held = Rules { hold_ms: 150, limit: 5000, every: Some(every), ..Rules::default() };
    for (holds, first) in [(1000, 1001), (1001, 1001)] {
        let mut world = World::open(9000, held, START, NODE_EPOCH).unwrap().unwrap();
        let grab = |qty| Op::Grab { user: b"u".to_vec(), ask: Ask::Qty(qty), req: None };
        (0..holds).for_each(|_| world.step(&grab(1)).unwrap());
        world.step(&Op::Wait(150)).unwrap();
        world.step(&grab(1)).unwrap();
        // With one due hold more than a call may expire, nothing is granted yet.
        assert_eq!((world.sale.tallies().expired, world.sale.balances().grants), (1000, first));
        world.step(&grab(1)).unwrap();
        assert_eq!(
            (world.sale.tallies().expired, world.sale.balances().grants),
            (holds, first + 1)
        );
    }
}

/// A sale with a list of `count` amounts, all of them held and due. Grant 1 has expired; a late
/// payment for it would need the amount of the last due hold.
fn last_due_has_it(count: u64) -> Sale {
    let amounts: Vec<u64> = (1..=count).collect();
    let draw = Some(Draw::list(&amounts));
    let terms = Terms { limit: 0, hold_ms: HOLD, kind: draw.into(), ..Terms::default() };
    let init = Init { supply: amounts.iter().sum(), terms, amounts, id: 1, secret: [7; 16] };
    let now = |clock_ms| Now { clock_ms, node_epoch: NODE_EPOCH };
    let (_, mut sale) = decide_new(&init, &now(START), [1, 2]).unwrap();
    let mut draw = |number: u64, clock_ms| {
        let user = format!("user:{number}").into_bytes();
        let grab = Grab { user: &user, amount: Amount::Unsaid, req: None };
        let decision = sale.decide(&Request::Grab(grab), &now(clock_ms)).unwrap();
        commit(&mut sale, &decision);
    };
    draw(0, START);
    (1..count).for_each(|number| draw(number, START + 1));
    draw(count, START + HOLD);
    assert_eq!((sale.balances().available, sale.tallies().expired), (0, 1));
    assert_eq!(sale.grant(count + 1).unwrap().qty, 1);
    sale
}

fn late_payment() -> Request<'static> {
    let deed = Deed::Confirm { reclaim: true };
    Request::Settle(Settle { user: b"user:0", which: Which::Seq(1), deed })
}

#[test]
fn a_late_payment_lets_a_part_of_the_due_holds_expire() {
    let mut sale = last_due_has_it(3500);
    let mut replica = sale.clone();
    for expired in [1001, 2001, 3001] {
        let outcome = ask(&mut sale, &mut replica, &late_payment(), START + 2 * HOLD);
        assert_eq!((outcome, sale.tallies().expired), (Outcome::ManyEnding, expired));
    }
    let outcome = ask(&mut sale, &mut replica, &late_payment(), START + 2 * HOLD);
    let stands = GrantView { seq: 1, qty: 1, state: State::Sold, deadline: 0 };
    assert_eq!((outcome, sale.tallies().expired), (Outcome::Stands(stands), 3501));
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale));
    assert_eq!(sale.audit().differences, []);
    rebuild::check(&sale).unwrap();
}

/// One call does no more work if there are ten times as many due holds and amounts. The shortest of
/// nine times is compared, because other work of the machine only adds to a time.
#[test]
fn a_late_payment_is_no_more_work_in_a_larger_sale() {
    let shortest = |count: u64| {
        let sale = last_due_has_it(count);
        let now = Now { clock_ms: START + 2 * HOLD, node_epoch: NODE_EPOCH };
        let times = (0..9).map(|_| {
            let mut sale = sale.clone();
            let began = Instant::now();
            let decision = sale.decide(&late_payment(), &now).unwrap();
            commit(&mut sale, &decision);
            began.elapsed()
        });
        times.min().unwrap()
    };
    let (small, large) = (shortest(2000), shortest(20_000));
    println!("{small:?} and {large:?}");
    assert!(large < 4 * small, "{small:?} of 2,000 and {large:?} of 20,000");
}

const PERIOD: u64 = 100;

/// A sale with this many kept rounds, each kept because of its one hold. User `u` has the holds of
/// the second half of the rounds, other users have the earlier ones.
fn keeping(rounds: u64) -> Sale {
    let every = Every { period: PERIOD, offset: START, lasts: PERIOD, carry: false };
    let hold_ms = 30 * 24 * 3600 * 1000;
    let rules = Rules { limit: 0, hold_ms, every: Some(every), ..Rules::default() };
    let mut sale = World::open(9, rules, START, NODE_EPOCH).unwrap().unwrap().sale;
    for round in 0..rounds {
        let user = if 2 * round < rounds { round.to_be_bytes().to_vec() } else { b"u".to_vec() };
        let req = round.to_be_bytes();
        let grab = Grab { user: &user, amount: Amount::Exactly(1), req: Some(&req) };
        made(&mut sale, &Request::Grab(grab), START + PERIOD * round);
    }
    assert_eq!((sale.holds_len(), sale.balances().round), (rounds, rounds - 1));
    sale
}

/// Commits the rounds that begin first, then the request.
fn made(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) -> Outcome {
    let now = Now { clock_ms, node_epoch: NODE_EPOCH };
    let decision = after_rounds(sale, request, &now);
    commit(sale, &decision);
    decision.outcome
}

/// No call does more work when very many rounds are kept. The shortest of many times is compared.
#[test]
fn rounds_that_are_kept_are_not_walked() {
    let shortest = |sale: &Sale, work: &dyn Fn(&mut Sale)| {
        let times = (0..9).map(|_| {
            let mut sale = sale.clone();
            let began = Instant::now();
            (0..200).for_each(|_| work(&mut sale));
            began.elapsed()
        });
        times.min().unwrap()
    };
    let grab = |sale: &mut Sale| {
        let grab = Grab { user: b"u", amount: Amount::Exactly(1), req: Some(b"new") };
        let t = sale.balances().t;
        made(sale, &Request::Grab(grab), t);
    };
    let asks = |sale: &mut Sale| {
        let now = Now { clock_ms: sale.balances().t, node_epoch: NODE_EPOCH };
        assert_eq!(sale.grants_of(b"u").take(4).count(), 4);
        assert!(sale.by_req(b"u", b"never").is_none() && sale.status(&now).next_deadline > 0);
    };
    let settle = |sale: &mut Sale| {
        let (t, which) = (sale.balances().t, Which::Seq(3));
        let deed = Deed::Extend { ms: 30 * 24 * 3600 * 1000 };
        made(sale, &Request::Settle(Settle { user: b"u", which, deed }), t);
    };
    let winners = |sale: &mut Sale| {
        assert_eq!(sale.grants_after(0).take(10).filter(|(_, it)| it.is_some()).count(), 10);
    };
    let (few, many) = (keeping(10), keeping(10_000));
    for (what, most, work) in [
        ("GRAB", 4, &grab as &dyn Fn(&mut Sale)),
        ("USER and STATUS", 4, &asks),
        ("EXTEND", 4, &settle),
        ("WINNERS", 4, &winners),
    ] {
        let (few, many) = (shortest(&few, work), shortest(&many, work));
        println!("{what}: {few:?} with 10 rounds, {many:?} with 10,000");
        assert!(many < most * few, "{what}: {few:?} with 10 rounds, {many:?} with 10,000");
    }
}

/// Saving takes time for each trimmed grant, not for all before it again with each piece. The
/// shortest of nine times is compared.
#[test]
fn the_last_trimmed_grants_are_saved_as_fast_as_the_first() {
    const PIECES: usize = 16;
    let count = (PIECES * TRIMS_PER_PIECE) as u64;
    let mut sale = opened(2 * count);
    for seq in 1..=count {
        let user = seq.to_be_bytes();
        let grab = Grab { user: &user, amount: Amount::Exactly(2), req: Some(b"o") };
        made(&mut sale, &Request::Grab(grab), START);
        let deed = Deed::Keep { by: Keeper::Cancel, kept: Kept::AtMost(1) };
        let settle = Settle { user: &user, which: Which::Seq(seq), deed };
        made(&mut sale, &Request::Settle(settle), START);
    }
    let mut shortest = [Duration::MAX; PIECES];
    for _ in 0..9 {
        let mut pieces = sale.pieces();
        assert!(matches!(pieces.next(), Some(Piece::Base(_))));
        for time in &mut shortest {
            let began = Instant::now();
            assert!(matches!(pieces.next(), Some(Piece::Trims(_))));
            *time = began.elapsed().min(*time);
        }
    }
    let (first, last) = (shortest[0], shortest[PIECES - 1]);
    println!("{first:?} for the first piece, {last:?} for the last");
    assert!(last < 3 * first, "{first:?} for the first piece, {last:?} for the last");
}

/// A kept round is dropped when its last hold ends, whatever its position. In rounds before the
/// previous one only held grants and their request ids are known.
#[test]
fn a_round_goes_with_its_last_hold() {
    let mut sale = keeping(6);
    let bytes = sale.memory_bytes();
    let t = sale.balances().t;
    let seqs = |sale: &Sale| sale.grants_of(b"u").map(|grant| grant.seq).collect::<Vec<_>>();
    assert_eq!(seqs(&sale), [6, 5, 4]);
    let settle = |seq, deed| Request::Settle(Settle { user: b"u", which: Which::Seq(seq), deed });
    assert_eq!(sale.by_req(b"u", &3u64.to_be_bytes()), Some(4));
    let confirms = Deed::Confirm { reclaim: false };
    assert!(matches!(made(&mut sale, &settle(4, confirms), t), Outcome::Stands(_)));
    assert_eq!((seqs(&sale), sale.by_req(b"u", &3u64.to_be_bytes())), (vec![6, 5], None));
    assert_eq!(made(&mut sale, &settle(4, confirms), t), Outcome::NoGrant);
    let kept: Vec<u64> = sale.grants_after(0).map(|(seq, _)| seq).collect();
    assert_eq!((kept, sale.holds_len()), (vec![1, 2, 3, 5, 6], 5));
    while sale.free_some() {}
    assert!(sale.memory_bytes() < bytes);
    assert_eq!(sale.audit().differences, []);
    rebuild::check(&sale).unwrap();
}
