//! Records, accounts, and a ledger as a whole.

#![cfg(test)]

use super::accounts::{Account, Accounts, Holds, ACCOUNTS_PER_BLOCK};
use super::accounts::{LIVE_NODE_BYTES, NODE_BYTES};
use super::record::{read, user, Record, Records, ASKED, RECORD_BYTES_MAX, STATES};
use super::recount::Recount;
use super::*;
use crate::index::Value;
use crate::model::limits::{REQ_BYTES_MAX, USER_BYTES_MAX};

/// The bytes of a record that is second in a chunk whose first grant is at `base_at`, and its base.
fn written(record: &Record<'_>, base_at: u64) -> (Vec<u8>, u64) {
    let mut records = Records::starting(0);
    records.append(&Record { at: base_at, ..*record });
    let seq = records.append(record);
    let (bytes, base_at) = records.get(seq).unwrap();
    (bytes.to_vec(), base_at)
}

/// States and ways to ask survive writing and reading.
#[test]
fn numbers_in_memory_are_offsets() {
    for (number, state) in (0..).zip(STATES) {
        assert_eq!(state as u8, number);
    }
    for (number, asked) in (0..).zip(ASKED) {
        assert_eq!(asked as u8, number);
    }
}

#[test]
fn every_combination_of_parts_round_trips() {
    for bits in 0..64u32 {
        let has = |bit: u32| bits >> bit & 1 == 1;
        let record = Record {
            user: if has(0) { &[0xff; USER_BYTES_MAX] } else { b"u" },
            req: has(1).then_some(ReqTag { id: &[7; REQ_BYTES_MAX], asked: Asked::UpTo }),
            qty: if has(2) { u64::MAX } else { 1 },
            state: if has(3) { State::Refunded } else { State::Held },
            at: if has(4) { 3 } else { u64::MAX >> 1 },
            deadline: if has(5) { (1 << 48) - 1 } else { 0 },
            prev: if has(3) { u32::MAX } else { 0 },
        };
        let (bytes, base_at) = written(&record, 1000);
        assert!(bytes.len() <= RECORD_BYTES_MAX);
        assert_eq!(user(&bytes), record.user);
        let back = read(&mut Reader::new(&bytes), base_at).unwrap();
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
    }
}

#[test]
fn a_plain_grant_costs_three_bytes_beside_its_user() {
    let record = Record {
        user: b"user:000000000001",
        req: None,
        qty: 1,
        state: State::Sold,
        at: 1100,
        deadline: 0,
        prev: 0,
    };
    for base_at in [1000, 1100] {
        assert_eq!(written(&record, base_at).0.len(), record.user.len() + 3);
    }
}

#[test]
fn accounts_are_numbered_and_counted() {
    let mut accounts = Accounts::default();
    let bytes = accounts.heap_bytes();
    for number in 0..2 * ACCOUNTS_PER_BLOCK as u32 + 5 {
        let mut account = Account::default();
        account.add(number + 1, 3, State::Held, 9);
        assert_eq!(accounts.open(account), number);
    }
    for number in [0, 1, 1023, 1024, 1025, 2047, 2048, 2052] {
        assert_eq!(accounts.get(number).newest(), number + 1);
    }
    let rooms: usize = accounts.blocks.iter().map(Vec::capacity).sum();
    assert!((2053..=3 * ACCOUNTS_PER_BLOCK).contains(&rooms));
    let inner = 2053 * (LIVE_NODE_BYTES + NODE_BYTES);
    let lists = rooms * size_of::<Account>() + accounts.blocks.capacity() * 24;
    assert_eq!((bytes, accounts.heap_bytes()), (0, lists + inner));
    // A removed grant no longer counts in its account.
    accounts.change(1024, |account| account.remove(1025, 3, State::Held, 9));
    assert_eq!(accounts.heap_bytes(), lists + inner - LIVE_NODE_BYTES - NODE_BYTES);
    assert_eq!(accounts.get(1024).holding().live_units, 0);
    assert_eq!((accounts.heap_blocks(), accounts.blocks_mut().count()), (3, 3));
}

/// A hold lives while T < deadline.
#[test]
fn holds_are_due_from_their_deadline_on() {
    let mut holds = Holds::default();
    assert!(!holds.are_due(u64::MAX) && holds.is_empty());
    [(9, 2), (7, 5), (9, 1)].into_iter().for_each(|(at, seq)| holds.insert(at, seq));
    assert_eq!((holds.next_deadline(), holds.len()), (Some(7), 3));
    let due = |t| holds.due(t).collect::<Vec<_>>();
    assert_eq!((due(6), due(7), due(8)), (vec![], vec![(7, 5)], vec![(7, 5)]));
    assert_eq!((due(9), due(u64::MAX).len()), (vec![(7, 5), (9, 1), (9, 2)], 3));
    assert_eq!([6, 7, 8].map(|t| holds.are_due(t)), [false, true, true]);
    assert_eq!(holds.heap_bytes(), NODE_BYTES);
}

/// An account is many small frees: an unused ledger frees one block at a time.
#[test]
fn blocks_are_given_back_one_by_one() {
    let mut accounts = Accounts::default();
    for _ in 0..=2 * ACCOUNTS_PER_BLOCK {
        accounts.open(Account::default());
    }
    let mut free_some = || (accounts.free_some(), accounts.heap_blocks());
    assert_eq!(
        [free_some(), free_some(), free_some(), free_some()],
        [(true, 2), (true, 1), (false, 0), (false, 0)]
    );
}

/// An account of very many live grants is freed in as many steps as it needs.
#[test]
fn an_account_of_many_grants_is_given_back_in_steps() {
    let mut accounts = Accounts::default();
    let mut account = Account::default();
    (1..=100_000).for_each(|seq| account.add(seq, 1, State::Sold, 0));
    [Account::default(), account].into_iter().for_each(|account| _ = accounts.open(account));
    let mut left = 100_000;
    while accounts.free_some() {
        let live = accounts.get(1).live().len();
        assert!(live < left && left - live < 20_000, "{left} {live}");
        left = live;
    }
    assert!(left < 20_000 && accounts.heap_blocks() == 0, "{left}");
}

fn push(ledger: &mut Ledger, user: &str, qty: u64, state: State, req: Option<(&str, Asked)>) {
    let req = req.map(|(id, asked)| ReqTag { id: id.as_bytes(), asked });
    let deadline = if state == State::Held { 9 } else { 0 };
    let user = user.as_bytes();
    ledger.push(&NewGrant { user, req, qty, state, at: 5, deadline, epoch: 1 }, None);
}

/// One user with one grant, one with four, one without a live grant.
fn of_three() -> Ledger {
    let mut ledger = Ledger::starting([1, 2], 5, 0);
    push(&mut ledger, "one", 2, State::Sold, Some(("r", Asked::Exactly)));
    push(&mut ledger, "many", 3, State::Held, None);
    push(&mut ledger, "many", 4, State::Held, Some(("r", Asked::Offered)));
    push(&mut ledger, "many", 5, State::Expired, Some(("s", Asked::Offered)));
    push(&mut ledger, "many", 6, State::Sold, None);
    push(&mut ledger, "none", 7, State::Refunded, None);
    ledger
}

#[test]
fn a_recount_is_that_of_the_grants() {
    let mut ledger = of_three();
    let expected = Recount {
        grants: 6,
        users: 3,
        winners: 2,
        live: 4,
        requests: 3,
        holds: 2,
        held: 7,
        sold: 8,
        offered: 1,
        holdings_wrong: 0,
    };
    assert_eq!(ledger.recount(), expected);
    assert_eq!((ledger.users(), ledger.winners(), ledger.requests()), (3, 2, 3));
    assert_eq!([5, 6, 11, 12].map(|seq| ledger.has(seq)), [false, true, true, false]);
    // An account with a wrong sum, and a user who maps to another grant.
    ledger.accounts.change(0, |account| account.add(9, 5, State::Sold, 0));
    assert_eq!(ledger.recount().holdings_wrong, 2, "the grant and the sum");
    let mut ledger = of_three();
    let hash = ledger.hash_of(0, b"one");
    let [right, wrong] = [6, 11].map(|number| Value { number, marked: false });
    ledger.users.replace(hash, right, wrong);
    let recount = ledger.recount();
    assert_eq!((recount.holdings_wrong, recount.users), (1, 2));
    // A user with four grants but no account: three of them are not found by their user.
    let mut ledger = of_three();
    let hash = ledger.hash_of(0, b"many");
    let right = ledger.users.find(hash, |value| value.marked).unwrap();
    ledger.users.replace(hash, right, Value { number: 7, marked: false });
    assert_eq!(ledger.recount().holdings_wrong, 3);
}

#[test]
fn the_memory_of_a_ledger_is_that_of_its_parts() {
    let empty = Ledger::new([1, 2]);
    assert_eq!((empty.heap_bytes(), empty.heap_blocks()), (0, 4));
    let mut ledger = Ledger::new([1, 2]);
    for number in 0..20_000_u64 {
        // Each grant in an epoch of its own, and held.
        let user = &format!("user:{:012}", number / 2).into_bytes()[..];
        let req = number.to_be_bytes();
        let req = Some(ReqTag { id: &req, asked: Asked::Exactly });
        let (state, epoch) = (State::Held, number + 1);
        let new = NewGrant { user, req, qty: 1, state, at: 5, deadline: 9, epoch };
        ledger.push(&new, None);
    }
    let epochs = ledger.epochs.capacity() * 16;
    assert!(epochs >= 20_000 * 16);
    let indexes = ledger.users.heap_bytes() + ledger.reqs.heap_bytes();
    assert!(indexes >= 30_000 * 8);
    let (records, accounts) = (ledger.records.heap_bytes(), ledger.accounts.heap_bytes());
    // Two live seqs and two holds of each user, and every hold a second time in the ledger's set.
    assert!(records > 20_000 * 25 && accounts >= 10_000 * (size_of::<Account>() + 56 + 192));
    let holds = ledger.holds.heap_bytes();
    assert!((20_000 * 16..20_000 * 40).contains(&holds));
    assert_eq!(ledger.heap_bytes(), records + accounts + epochs + holds + indexes);
    // The lists inside the indexes are not among the lent blocks.
    assert_eq!(ledger.heap_blocks(), ledger.blocks_mut().count() + 4);
}

/// Whichever kind of block is most frequent, a step frees a number of each kind.
#[test]
fn a_ledger_is_given_back_in_as_many_steps_as_it_has_blocks() {
    let of = |count: u64, each: u64, user_len: usize, has_reqs: bool| {
        let mut ledger = Ledger::new([1, 2]);
        for number in 0..count {
            let (user, req) = (format!("{:0user_len$}", number / each), number.to_string());
            push(&mut ledger, &user, 1, State::Sold, has_reqs.then_some((&req, Asked::Exactly)));
        }
        ledger
    };
    // Shards are announced, but no key has come.
    let mut sparse = Ledger::new([1, 2]);
    sparse.begin_bulk_load(1 << 20);
    (0..100).for_each(|number| push(&mut sparse, &number.to_string(), 1, State::Sold, None));
    assert!(sparse.end_bulk_load());
    let mut other = of(100, 1, 5, false);
    (other.reqs, other.users) = (sparse.users.clone(), Default::default());
    for (what, mut ledger) in [
        ("pages", of(5000, 1, 200, false)),
        ("offsets", of(20_000, 1, 5, true)),
        ("accounts", of(12_000, 2, 5, false)),
        ("users", sparse),
        ("requests", other),
    ] {
        let kinds = |ledger: &mut Ledger| {
            let mut counts = [0; 5];
            for block in ledger.records.blocks_mut() {
                counts[usize::from(matches!(block, Block::Offsets(_)))] += 1;
            }
            counts[2] = ledger.accounts.heap_blocks();
            counts[3] = ledger.users.heap_blocks() - 2;
            counts[4] = ledger.reqs.heap_blocks() - 2;
            counts
        };
        let before = kinds(&mut ledger);
        for step in 1.. {
            let is_more = ledger.free_some(1);
            assert_eq!(kinds(&mut ledger), before.map(|count: usize| count.saturating_sub(step)));
            let is_left = before.iter().any(|count| *count > step);
            assert_eq!(is_more, is_left, "{what} {before:?} {step}");
            if !is_left {
                break;
            }
        }
    }
}

/// Random changes between the steps of a recount: the result equals a recount in one go.
#[test]
fn a_recount_in_steps_is_exact_whatever_changes_between() {
    const STATES: [State; 4] = [State::Held, State::Sold, State::Expired, State::Refunded];
    for seed in 0..300u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let mut ledger = Ledger::starting([1, 2], 3, 0);
        let mut requests = 0;
        let mut change = |ledger: &mut Ledger, below: &mut dyn FnMut(u64) -> u64| {
            let state = STATES[below(4) as usize];
            if below(2) == 0 || ledger.is_empty() {
                requests += 1;
                let (req, asked) = (format!("r{requests}"), [Asked::Exactly, Asked::Offered]);
                let req = (below(2) == 0).then_some((&*req, asked[below(2) as usize]));
                push(ledger, &format!("u{}", below(12)), 1 + below(5), state, req);
            } else {
                let seq = ledger.base() + 1 + below(ledger.len() - ledger.base());
                // A grant that is not held is never held again.
                match (ledger.grant(seq).unwrap().state, state) {
                    (State::Held, State::Held) => ledger.set_state(seq, state, 9 + below(5)),
                    (_, State::Held) => ledger.set_state(seq, State::Sold, 0),
                    _ => ledger.set_state(seq, state, 0),
                }
            }
        };
        (0..below(40)).for_each(|_| change(&mut ledger, &mut below));
        let mut counted = None;
        while counted.is_none() {
            counted = ledger.recount_on(7, 1 + below(4));
            if counted.is_none() && below(3) > 0 {
                change(&mut ledger, &mut below);
            }
        }
        let count = counted.map(|(count, _)| count).unwrap();
        assert_eq!(count, ledger.recount(), "seed {seed}");
        assert_eq!(count.holdings_wrong, 0, "seed {seed}");
        let stored = (ledger.users(), ledger.winners(), ledger.requests());
        assert_eq!((count.users, count.winners, count.requests), stored, "seed {seed}");
    }
}
