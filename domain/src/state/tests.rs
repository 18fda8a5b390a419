//! Memory that a sale reports, compared with its real blocks: MEMORY USAGE shows bytes, freeing and
//! defragmenting count blocks.

#![cfg(test)]

use super::extras::Extras;
use crate::admission::{Admission, List};
use crate::decide::NextRound;
use crate::ledger::Block;
use crate::parts::Pair;
use crate::request::{
    Amount, Deed, Grab, ListChange, Request, Restock, Settle, Terms, Wait, Which,
};
use crate::rounds::{Rounds, Schedule};
use crate::testing::{at, commit, created, init};
use crate::waitlist::{WaitTerms, Waitlist};
use crate::Sale;

const SCHEDULE: Schedule = Schedule { period_ms: 1000, offset_ms: 0, lasts_ms: 1000, carry: false };

fn bytes_in<T>(room: &Vec<T>) -> usize {
    room.capacity() * size_of::<T>()
}

/// Bytes and number of the blocks lent to a defragmenter.
fn lent(sale: &mut Sale) -> (usize, usize) {
    let bytes = |block: Block<'_>| match block {
        Block::Page(page) => bytes_in(page),
        Block::Offsets(offsets) => bytes_in(offsets),
        Block::Accounts(accounts) => bytes_in(accounts),
        Block::Slots(slots) => size_of_val(&slots[..]),
    };
    sale.blocks_mut().fold((0, 0), |(sum, count), block| (sum + bytes(block), count + 1))
}

/// Decides and commits a request, after rounds that begin.
fn make(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) {
    loop {
        match sale.decide(request, &at(clock_ms)) {
            Ok(decision) => {
                assert!(decision.plan.is_some(), "{:?}", decision.outcome);
                return commit(sale, &decision);
            }
            Err(NextRound(plan)) => sale.commit(&plan),
        }
    }
}

fn user(number: u64) -> Vec<u8> {
    format!("user:{number:012}").into_bytes()
}

/// `count` grants of one unit, each with a request id, `each` to a user.
fn grab(sale: &mut Sale, count: u64, each: u64, clock_ms: u64) {
    for number in 0..count {
        let (user, req) = (user(number / each), user(clock_ms * 10_000 + number));
        let amount = Amount::Exactly(1);
        make(sale, &Request::Grab(Grab { user: &user, amount, req: Some(&req) }), clock_ms);
    }
}

#[test]
fn an_empty_sale_is_its_structs() {
    let plain = created(&init(9, Terms::default()), 1);
    let bytes = size_of::<Sale>() + size_of::<Terms>();
    // The sale itself, and two lists of each index.
    assert_eq!((plain.memory_bytes(), plain.memory_blocks()), (bytes, 1 + 4));
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 9, overtake: 0 });
    let waiting = created(&init(9, Terms { waitlist, ..Terms::default() }), 1);
    let bytes = bytes + size_of::<Extras>();
    // The extras, their amounts, three indexes of users; the index and the leaf of the waiting
    // list.
    let blocks = 1 + 4 + 1 + 1 + 6;
    let list = size_of::<Waitlist>();
    assert_eq!((waiting.memory_bytes(), waiting.memory_blocks()), (bytes + list, blocks + 3));
    let repeating = created(&init(9, Terms { schedule: Some(SCHEDULE), ..Terms::default() }), 1);
    let rounds = size_of::<Rounds>();
    assert_eq!((repeating.memory_bytes(), repeating.memory_blocks()), (bytes + rounds, blocks + 3));
}

/// Winners, users with many grants, users on lists, waiters, and rounds that are over.
#[test]
fn memory_is_that_of_its_blocks_and_little_more() {
    const COUNT: u64 = 6000;
    let terms = || Terms { limit: 0, ..Terms::default() };
    let waitlist = Some(WaitTerms { max: COUNT, offer_ms: 9, overtake: 0 });
    let all = [
        terms(),
        terms(),
        Terms { admission: Admission { allowlist: true, ..Admission::default() }, ..terms() },
        Terms { waitlist, ..terms() },
        Terms { schedule: Some(SCHEDULE), ..terms() },
    ];
    for (kind, terms) in all.into_iter().enumerate() {
        let supply = if kind == 3 { 1 } else { COUNT };
        let mut sale = created(&init(supply, terms), 1);
        if kind == 3 {
            make(
                &mut sale,
                &Request::Grab(Grab { user: b"u", amount: Amount::Unsaid, req: None }),
                1,
            );
        }
        let (bytes, blocks) = (sale.memory_bytes(), sale.memory_blocks());
        match kind {
            0 => grab(&mut sale, COUNT, 1, 2),
            1 => grab(&mut sale, COUNT, 2, 2),
            2 => {
                let users: Vec<Vec<u8>> = (0..COUNT).map(user).collect();
                let users: Vec<&[u8]> = users.iter().map(Vec::as_slice).collect();
                for list in [List::Allow, List::Deny] {
                    let change = ListChange { list, add: true, users: &users };
                    make(&mut sale, &Request::List(change), 2);
                }
            }
            3 => (0..COUNT).for_each(|number| {
                let user = user(number);
                let grab = Grab { user: &user, amount: Amount::Exactly(1), req: Some(b"r") };
                make(&mut sale, &Request::Wait(Wait { grab, until: 0 }), 2);
            }),
            _ => [1, 1001, 2001].into_iter().for_each(|t| grab(&mut sale, COUNT / 3, 1, t)),
        }
        let (more, freed) = (sale.memory_bytes() - bytes, sale.memory_blocks() - blocks);
        let (lent_bytes, lent_blocks) = lent(&mut sale);
        // A user with two grants has two numbers on the heap; waiters are in a tree.
        let most = lent_bytes * if kind == 1 || kind == 3 { 15 } else { 11 } / 10;
        assert!((lent_bytes..most).contains(&more), "{kind}: {more} of {lent_bytes}");
        let most = lent_blocks + lent_blocks / 8 + 12;
        assert!((lent_blocks..most).contains(&freed), "{kind}: {freed} of {lent_blocks}");
        let slots = |block: Block<'_>| match block {
            Block::Slots(slots) => Some(slots.len()),
            _ => None,
        };
        let slots: Vec<usize> = sale.blocks_mut().filter_map(slots).collect();
        assert!(slots.iter().sum::<usize>() >= COUNT as usize);
        let words: Vec<usize> = sale.slots_mut().map(|words| words.len()).collect();
        assert_eq!(words, slots, "{kind}");
    }
}

/// State outside the large blocks is counted with its number of entries.
#[test]
fn memory_is_that_of_what_is_remembered_too() {
    let mut sale = created(&init(9, Terms::default()), 1);
    let before = sale.memory_blocks();
    let grown = |sale: &mut Sale, change: &dyn Fn(&mut Sale, u64)| {
        let bytes = sale.memory_bytes();
        (0..100).for_each(|number| change(sale, number));
        sale.memory_bytes() - bytes
    };
    let restocks = grown(&mut sale, &|sale, number| {
        let req = user(number);
        make(sale, &Request::Restock(Restock { delta: 1, req: &req }), 2);
    });
    assert!((100 * 17..100 * 150).contains(&restocks), "{restocks}");
    assert_eq!(sale.memory_blocks(), before + 100);
    let fences = grown(&mut sale, &|sale, number| {
        let (user, req) = (user(number), user(number));
        let which = Which::Req(&req);
        make(sale, &Request::Settle(Settle { user: &user, which, deed: Deed::Cancel }), 2);
    });
    assert!((200 * 34..200 * 200).contains(&fences), "{fences}");
    assert_eq!(sale.memory_blocks(), before + 200);
    let pairs = grown(&mut sale, &|sale, number| {
        sale.pairs.set(Pair { peer: number as u16, sent: 1, received: 0 });
    });
    assert!((100 * size_of::<Pair>()..200 * size_of::<Pair>()).contains(&pairs), "{pairs}");
    // Undrawn amounts of a list are one array, returned amounts are in two trees.
    sale.extras_mut().amounts = (0..1000).collect();
    let (bytes, blocks) = (sale.memory_bytes(), sale.memory_blocks());
    sale.extras_mut().amounts = (0..2000).collect();
    assert_eq!((sale.memory_bytes() - bytes, sale.memory_blocks()), (8000, blocks));
    (0..2000).for_each(|amount| sale.extras_mut().amounts.push(amount));
    let (trees, nodes) = (sale.memory_bytes() - bytes - 8000, sale.memory_blocks() - blocks);
    assert!((2 * 2000 * 16..4 * 2000 * 16).contains(&trees), "{trees}");
    assert!((2 * 2000 / 11..2 * 2000 / 5).contains(&nodes), "{nodes}");
}

/// Time of the next due change: a hold of any round expires, or a round begins.
#[test]
fn what_is_due_next() {
    let holding = |close_at| Terms {
        schedule: Some(SCHEDULE),
        hold_ms: 1500,
        limit: 0,
        close_at,
        ..Terms::default()
    };
    for (close_at, next) in [(0, Some(2000)), (2001, Some(2000)), (2000, None), (1999, None)] {
        let mut sale = created(&init(9, holding(close_at)), 1);
        assert_eq!(
            (sale.next_deadline(), sale.next_due(), sale.holds_len()),
            (None, Some(1000), 0)
        );
        assert_eq!((sale.next_look(1), sale.next_look(1)), (Some(1000), None));
        sale.forget_look();
        assert_eq!(sale.next_look(1), Some(1000));
        grab(&mut sale, 2, 1, 700);
        grab(&mut sale, 1, 1, 1100);
        // Twice held until 2200 in the previous round, and once until 2600 in this one.
        assert_eq!((sale.next_deadline(), sale.holds_len()), (Some(2200), 3));
        assert_eq!(sale.next_round_at(&at(1100)), next);
        assert_eq!(sale.next_due(), Some(next.unwrap_or(2200)));
        sale.look_at = Some(2200);
        assert_eq!(sale.next_look(1), next);
        sale.awaits = 1;
        sale.forget_look();
        assert_eq!((sale.next_look(1), sale.is_whole()), (None, false));
    }
    // The clock determines the next round, even if no call has begun it.
    let sale = created(&init(9, holding(0)), 1);
    assert_eq!(
        [at(1), at(999), at(1000), at(5500)].map(|now| sale.next_round_at(&now)),
        [Some(1000), Some(1000), Some(2000), Some(6000)]
    );
    let mut plain = created(&init(9, Terms { hold_ms: 50, ..Terms::default() }), 1);
    assert_eq!(
        (plain.next_look(1), plain.next_round_at(&at(1)), plain.next_due()),
        (None, None, None)
    );
    grab(&mut plain, 1, 1, 7);
    assert_eq!((plain.next_look(1), plain.next_due()), (Some(57), Some(57)));
}

/// Grants are found in their round, and a page of grants continues across rounds.
#[test]
fn rounds_have_their_grants() {
    let terms = Terms { schedule: Some(SCHEDULE), limit: 0, ..Terms::default() };
    let mut sale = created(&init(9, terms), 1);
    assert_eq!((sale.next_seq(0), sale.seqs_of_round(0)), (None, None));
    for (count, t) in [(2, 500), (3, 1500), (1, 2500)] {
        grab(&mut sale, count, 1, t);
    }
    let found = [0, 1, 2, 3, 5, 6, 7].map(|seq| sale.grant(seq).map(|grant| grant.round));
    assert_eq!(found, [None, None, None, Some(1), Some(1), Some(2), None]);
    assert_eq!(
        [0, 2, 3, 4, 5, 6].map(|seq| sale.next_seq(seq)),
        [Some(3), Some(3), Some(4), Some(5), Some(6), None]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|round| sale.seqs_of_round(round)),
        [None, Some((3, 5)), Some((6, 6)), None]
    );
    let totals: Vec<_> =
        sale.round_totals().map(|it| (it.round, it.supply, it.sold, it.winners)).collect();
    assert_eq!(totals, [(2, 9, 1, 1), (1, 9, 3, 3), (0, 9, 2, 2)]);
}
