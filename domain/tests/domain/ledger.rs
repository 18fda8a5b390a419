//! The grant log against a plain list: users with many grants, request ids, epochs, memory.

use std::collections::{BTreeMap, BTreeSet};

use seckill_domain::ledger::{Holding, Ledger, Lookup, NewGrant, Slots};
use seckill_domain::outcome::State;
use seckill_domain::record::{Asked, ReqTag};

use super::oracle::{Bytes, Rules};
use super::random::Random;
use super::world::World;

const STATES: [State; 5] =
    [State::Held, State::Sold, State::Cancelled, State::Expired, State::Refunded];

/// A grant of the plain list.
#[derive(Clone, Debug)]
struct Plain {
    user: Bytes,
    req: Option<(Bytes, Asked)>,
    qty: u64,
    state: State,
    at: u64,
    deadline: u64,
    epoch: u64,
}

impl Plain {
    /// A random grant with every kind of field, to one of `users` users.
    fn any(random: &mut Random, seq: u64, users: u64) -> Plain {
        let number = random.below(users);
        // Ids of every length; a number is always in them, so that they differ.
        let length = 8 + (number * 37 % 249) as usize;
        let mut user = number.to_be_bytes().to_vec();
        user.resize(length, b'u');
        let state = STATES[random.below(5) as usize];
        let asked = if random.below(2) == 0 { Asked::Exactly } else { Asked::UpTo };
        let req = (random.below(3) == 0).then(|| {
            let mut id = (seq % 1000).to_be_bytes().to_vec();
            id.extend(seq.to_be_bytes());
            id.resize(16 + (seq % 113) as usize, b'r');
            (id, asked)
        });
        let qty = if random.below(2) == 0 { 1 } else { 1 + random.number() % 100_000 };
        // Times mostly rise; some lie before the first of their chunk.
        let at = 1_000_000 + seq * 10 - random.below(20_000).min(seq * 10);
        let deadline = if random.below(4) == 0 { at + random.below(1 << 40) } else { 0 };
        Plain { user, req, qty, state, at, deadline, epoch: 100 + seq / 900 }
    }

    fn push_to(&self, ledger: &mut Ledger, looked_up: bool) {
        let found = looked_up.then(|| ledger.find(&self.user));
        self.push(ledger, found);
    }

    fn push(&self, ledger: &mut Ledger, found: Option<Lookup>) {
        let req = self.req.as_ref().map(|(id, asked)| ReqTag { id, asked: *asked });
        let new = NewGrant {
            user: &self.user,
            req,
            qty: self.qty,
            state: self.state,
            at: self.at,
            deadline: self.deadline,
            epoch: self.epoch,
        };
        ledger.push(&new, found.map(|user| Slots { user, req: None }).as_ref());
    }
}

fn assert_row(ledger: &Ledger, seq: u64, plain: &Plain) {
    let grant = ledger.grant(seq).unwrap();
    assert_eq!((grant.seq, grant.user, grant.qty), (seq, &plain.user[..], plain.qty));
    assert_eq!((grant.state, grant.at), (plain.state, plain.at));
    assert_eq!((grant.deadline, grant.epoch), (plain.deadline, plain.epoch));
    let req = grant.req.map(|req| (req.id.to_vec(), req.asked));
    assert_eq!(req, plain.req);
    if let Some((id, _)) = &plain.req {
        assert_eq!(ledger.by_req(&plain.user, id), Some(seq));
        assert_eq!(ledger.by_req(b"somebody else", id), None);
        assert_eq!(ledger.by_req(&plain.user, &id[..id.len() - 1]), None);
    }
    let deadline = if plain.state == State::Held { plain.deadline } else { 0 };
    assert_eq!(grant.view().deadline, deadline);
}

/// Compares the holdings of `user` with the grants in the list.
fn assert_user(ledger: &Ledger, user: &[u8], mine: &[(u64, &Plain)]) {
    let newest_first: Vec<u64> = mine.iter().rev().map(|(seq, _)| *seq).collect();
    assert_eq!(ledger.grants_of(user).map(|grant| grant.seq).collect::<Vec<_>>(), newest_first);
    let live = |(_, plain): &&(u64, &Plain)| matches!(plain.state, State::Held | State::Sold);
    let live: Vec<_> = mine.iter().filter(live).collect();
    let last = |grants: Option<u64>| grants.unwrap_or(0) as u32;
    let expected = Holding {
        live_units: live.iter().map(|(_, plain)| plain.qty).sum(),
        live_grants: live.len() as u32,
        newest: last(mine.last().map(|(seq, _)| *seq)),
        newest_live: last(live.last().map(|(seq, _)| *seq)),
    };
    assert_eq!(ledger.holding(&ledger.find(user)), expected);
}

fn assert_all(ledger: &Ledger, plains: &[Plain]) {
    let mut users: BTreeMap<&[u8], Vec<(u64, &Plain)>> = BTreeMap::new();
    for (seq, plain) in (1..).zip(plains) {
        assert_row(ledger, seq, plain);
        users.entry(&plain.user).or_default().push((seq, plain));
    }
    users.iter().for_each(|(user, mine)| assert_user(ledger, user, mine));
    assert_user(ledger, b"stranger", &[]);
    let is_live = |plain: &&Plain| matches!(plain.state, State::Held | State::Sold);
    let winners: BTreeSet<&Bytes> = plains.iter().filter(is_live).map(|p| &p.user).collect();
    let requests = plains.iter().filter(|plain| plain.req.is_some()).count() as u64;
    let units = |state: State| -> u64 {
        plains.iter().filter(|plain| plain.state == state).map(|plain| plain.qty).sum()
    };
    assert_eq!(ledger.len(), plains.len() as u64);
    assert_eq!(ledger.users(), users.len() as u64);
    assert_eq!(ledger.winners(), winners.len() as u64);
    assert_eq!(ledger.requests(), requests);
    let count = ledger.recount();
    assert_eq!((count.grants, count.holdings_wrong), (ledger.len(), 0));
    assert_eq!((count.users, count.winners), (ledger.users(), ledger.winners()));
    assert_eq!(count.requests, requests);
    assert_eq!((count.held, count.sold), (units(State::Held), units(State::Sold)));
}

/// Random grants with every kind of field, to this many users.
fn grow(grants: u64, users: u64, seed: u64) -> (Ledger, Vec<Plain>) {
    let mut random = Random(seed);
    let mut ledger = Ledger::new([seed, 4]);
    let mut plains = Vec::new();
    assert!(ledger.is_empty() && ledger.grant(1).is_none());
    for seq in 1..=grants {
        let plain = Plain::any(&mut random, seq, users);
        plain.push_to(&mut ledger, seq % 2 == 0);
        assert_eq!(ledger.len(), seq);
        assert_row(&ledger, seq, &plain);
        plains.push(plain);
        if seq.is_power_of_two() {
            assert_all(&ledger, &plains);
        }
    }
    (ledger, plains)
}

#[test]
fn few_users_with_many_grants() {
    let (ledger, plains) = grow(9000, 7, 1);
    assert_all(&ledger, &plains);
    assert_all(&ledger.clone(), &plains);
}

#[test]
fn many_users_with_a_few_grants() {
    let (ledger, plains) = grow(60_000, 30_000, 2);
    assert_all(&ledger, &plains);
}

#[test]
fn epochs_begin_with_their_first_grant() {
    let (ledger, plains) = grow(5000, 50, 3);
    let expected: Vec<(u32, u64)> =
        (0..=5000 / 900).map(|place| (1.max(place as u32 * 900), 100 + place)).collect();
    assert_eq!(ledger.epochs(), expected);
    for (seq, plain) in (1..).zip(&plains) {
        assert_eq!(ledger.epoch_of(seq), plain.epoch);
    }
    assert_eq!(ledger.epoch_of(0), 0);
}

#[test]
fn announced_epochs_ascend_and_count_once_they_grant() {
    let mut ledger = Ledger::new([1, 2]);
    assert!(ledger.all_epochs_granted(0));
    assert!(!ledger.expect_epoch(2, 10), "the first grant is of the first epoch");
    assert!(ledger.expect_epoch(1, 10));
    for (first, epoch) in [(1, 11), (2, 10), (2, 9), (0, 11)] {
        assert!(!ledger.expect_epoch(first, epoch), "{first} {epoch}");
    }
    assert!(ledger.expect_epoch(3, 11));
    assert_eq!((ledger.epoch_of(1), ledger.epoch_of(2), ledger.epoch_of(3)), (10, 10, 11));
    assert_eq!(ledger.epochs(), []);
    let plain = Plain { epoch: 10, ..Plain::any(&mut Random(4), 1, 5) };
    plain.push_to(&mut ledger, false);
    assert_eq!(ledger.epochs(), [(1, 10)]);
    assert!(!ledger.all_epochs_granted(2) && ledger.all_epochs_granted(3));
    plain.push_to(&mut ledger, false);
    Plain { epoch: 11, ..plain }.push_to(&mut ledger, false);
    assert_eq!(ledger.epochs(), [(1, 10), (3, 11)]);
    assert!(ledger.all_epochs_granted(3));
}

/// Grants that are loaded in bulk equal grants that are added one by one: in their fields, their
/// positions, and in lookups.
#[test]
fn strangers_who_come_together_are_as_if_they_had_come_alone() {
    const COUNT: u64 = 20_000;
    let mut random = Random(11);
    let (mut alone, mut together) = (Ledger::new([3, 4]), Ledger::new([3, 4]));
    let plains = (1..=COUNT).map(|seq| {
        let mut plain = Plain::any(&mut random, seq, COUNT);
        plain.user.splice(..8, seq.to_be_bytes());
        plain
    });
    let plains: Vec<Plain> = plains.collect();
    for (seq, plain) in (1..).zip(&plains) {
        plain.push_to(&mut alone, true);
        if seq == 1 || seq % 900 == 0 {
            assert!(together.expect_epoch(seq, plain.epoch));
        }
    }
    together.begin_bulk_load(COUNT);
    for new in &plains {
        let vacant = together.vacant(&new.user);
        new.push(&mut together, Some(vacant));
    }
    assert!(together.end_bulk_load());
    assert_all(&together, &plains);
    for seq in 1..=COUNT {
        assert_eq!(together.bytes_between(1, seq), alone.bytes_between(1, seq), "{seq}");
    }
    let (mine, its) = (together.heap_bytes(), alone.heap_bytes());
    assert!(mine <= its * 5 / 4, "{mine} and {its} bytes");
}

#[test]
fn a_request_id_belongs_to_its_user() {
    let mut ledger = Ledger::new([1, 2]);
    let pairs: [(&[u8], &[u8]); 6] = [
        (b"ab", b"c"),
        (b"a", b"bc"),
        (b"a", b"c"),
        (b"\0", b"\0"),
        (b"\0\0", b"\0"),
        (b"c", b"ab"),
    ];
    for (place, (user, req)) in pairs.iter().enumerate() {
        assert_eq!(ledger.by_req(user, req), None);
        let new = NewGrant {
            user,
            req: Some(ReqTag { id: req, asked: Asked::Exactly }),
            qty: 1,
            state: State::Sold,
            at: 5,
            deadline: 0,
            epoch: 1,
        };
        ledger.push(&new, None);
        assert_eq!(ledger.len(), place as u64 + 1);
    }
    for (place, (user, req)) in pairs.iter().enumerate() {
        assert_eq!(ledger.by_req(user, req), Some(place as u64 + 1));
    }
}

/// Among this many users with one request id, some share the part of a hash that the index keeps.
#[test]
fn users_with_the_same_request_id_are_kept_apart() {
    let mut ledger = Ledger::new([1, 2]);
    let req = Some(ReqTag { id: b"1", asked: Asked::Exactly });
    for seq in 1..=200_000u64 {
        let user = seq.to_be_bytes();
        assert_eq!(ledger.by_req(&user, b"1"), None);
        let (state, at, deadline) = (State::Sold, 5, 0);
        let new = NewGrant { user: &user, req, qty: 1, state, at, deadline, epoch: 1 };
        ledger.push(&new, None);
    }
    for seq in 1..=200_000u64 {
        assert_eq!(ledger.by_req(&seq.to_be_bytes(), b"1"), Some(seq));
        assert_eq!(ledger.by_req(&seq.to_be_bytes(), b"2"), None);
    }
}

fn push_winner(ledger: &mut Ledger, number: u64) {
    let user = format!("user:{number:012}");
    let user = user.as_bytes();
    let at = 1_700_000_000_000 + number / 100;
    let deadline = 0;
    let new = NewGrant { user, req: None, qty: 1, state: State::Sold, at, deadline, epoch: 1 };
    ledger.push(&new, None);
}

#[test]
fn a_million_winners_take_at_most_forty_bytes_each() {
    let mut ledger = Ledger::new([1, 2]);
    let mut before = ledger.heap_bytes();
    for number in 0..1_000_000u64 {
        push_winner(&mut ledger, number);
        if number % 100 != 0 {
            continue;
        }
        let bytes = ledger.heap_bytes();
        assert!(bytes >= before, "appending gives nothing back");
        // Memory never doubles: it grows by one page, one chunk and a few shards at a time.
        assert!(bytes - before < 400_000, "{before} to {bytes} at {number}");
        before = bytes;
    }
    let each = ledger.heap_bytes() as f64 / 1e6;
    println!("{each:.1} bytes a winner in {} blocks", ledger.heap_blocks());
    assert!((20.0..=40.0).contains(&each), "{each} bytes a winner");
    assert!(ledger.heap_blocks() < 3000);
    assert_eq!(ledger.recount().winners, 1_000_000);
}

#[test]
fn a_small_sale_is_small() {
    let world = World::open(10, Rules::default(), 1000, 500).unwrap().unwrap();
    let empty = world.sale.memory_bytes();
    assert!(empty <= 1256, "{empty} bytes without a grant");
    assert!(world.sale.memory_blocks() < 10);
    let mut ledger = Ledger::new([1, 2]);
    (0..10).for_each(|number| push_winner(&mut ledger, number));
    let bytes = ledger.heap_bytes();
    assert!((10 * 20..2500).contains(&bytes), "{bytes} bytes with ten grants");
}
