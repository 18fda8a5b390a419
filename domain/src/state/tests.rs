//! What a sale says of its memory, beside what it is made of: MEMORY USAGE shows the bytes, freeing
//! and defragmenting go by the blocks.

#![cfg(test)]

use super::sale::Extras;
use crate::admission::{Admission, List};
use crate::ledger::Block;
use crate::model::outcome::Outcome;
use crate::parts::Pair;
use crate::request::terms::Terms;
use crate::request::{Amount, Deed, Grab, ListChange, Request, Restock, Settle, Wait, Which};
use crate::rounds::{Rounds, Schedule};
use crate::testing::{at, commit, created, init};
use crate::waitlist::{WaitTerms, Waitlist};
use crate::Sale;

const SCHEDULE: Schedule = Schedule { period_ms: 1000, offset_ms: 0, lasts_ms: 1000, carry: false };

fn bytes_in<T>(room: &Vec<T>) -> usize {
    room.capacity() * size_of::<T>()
}

/// Bytes and number of the blocks that a defragmenter is lent.
fn lent(sale: &mut Sale) -> (usize, usize) {
    let bytes = |block: Block<'_>| match block {
        Block::Page(page) => bytes_in(page),
        Block::Places(places) => bytes_in(places),
        Block::Accounts(accounts) => bytes_in(accounts),
        Block::Slots(slots) => size_of_val(&slots[..]),
    };
    sale.blocks_mut().fold((0, 0), |(sum, count), block| (sum + bytes(block), count + 1))
}

/// Judges and commits, rounds that begin first.
fn make(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) {
    loop {
        let decision = sale.decide(request, &at(clock_ms));
        commit(sale, &decision);
        if decision.outcome != Outcome::NextRound {
            assert!(decision.plan.is_some(), "{:?}", decision.outcome);
            return;
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
    // Itself, and two lists of each index.
    assert_eq!((plain.memory_bytes(), plain.memory_blocks()), (bytes, 1 + 4));
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 9, overtake: 0 });
    let waiting = created(&init(9, Terms { waitlist, ..Terms::default() }), 1);
    let bytes = bytes + size_of::<Extras>();
    // The extras, their amounts, three indexes of users; the index and the leaf of the list.
    let blocks = 1 + 4 + 1 + 1 + 6;
    let list = size_of::<Waitlist>();
    assert_eq!((waiting.memory_bytes(), waiting.memory_blocks()), (bytes + list, blocks + 3));
    let repeating = created(&init(9, Terms { schedule: Some(SCHEDULE), ..Terms::default() }), 1);
    let rounds = size_of::<Rounds>();
    assert_eq!((repeating.memory_bytes(), repeating.memory_blocks()), (bytes + rounds, blocks + 3));
}

/// Winners, users with many grants, users on lists, those who wait, and rounds that are over.
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
        // A user with two grants has two numbers on the heap, those who wait are in a tree.
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

/// What is no block of its own is counted as often as it is there.
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
    // Amounts of a list that nobody has drawn are numbers in a row, what came back is in two trees.
    sale.extras_mut().amounts = (0..1000).collect();
    let (bytes, blocks) = (sale.memory_bytes(), sale.memory_blocks());
    sale.extras_mut().amounts = (0..2000).collect();
    assert_eq!((sale.memory_bytes() - bytes, sale.memory_blocks()), (8000, blocks));
    (0..2000).for_each(|amount| sale.extras_mut().amounts.push(amount));
    let (trees, nodes) = (sale.memory_bytes() - bytes - 8000, sale.memory_blocks() - blocks);
    assert!((2 * 2000 * 16..4 * 2000 * 16).contains(&trees), "{trees}");
    assert!((2 * 2000 / 11..2 * 2000 / 5).contains(&nodes), "{nodes}");
}
