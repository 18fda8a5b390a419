//! Checks that a sale decoded from altered bytes is sound: it obeys the law, survives saving and
//! loading, and works like any other sale.

use std::collections::BTreeSet;

use seckill_domain::admission::List;
use seckill_domain::decide::NextRound;
use seckill_domain::effect::Change;
use seckill_domain::limits::INTEGER_MAX;
use seckill_domain::outcome::{GrantView, Misuse, Outcome, Place, Refused, State, OUTCOMES};
use seckill_domain::plan::Plan;
use seckill_domain::request::{
    Amount, Deed, Elsewhere, Grab, Import, Keeper, Kept, ListChange, Now, Pick, Receive, Request,
    Restock, Send, Settle, TermsChange, Wait, Which, Wish,
};
use seckill_domain::Sale;

use super::oracle::Rules;
use super::random::Random;
use super::rebuild::{self, encoded};
use super::requests::init;

const START: u64 = 1_000_000;

/// Fields of AUDIT for a sale that awaits pieces: their number, and the sums that they would bring.
pub const MISSING_FIELDS: [&str; 4] = ["pieces_missing", "amounts", "sent", "received"];

/// Fails unless `sale` obeys the law, survives saving and loading, and works like any other.
pub fn assert_sound(sale: &Sale, how: &str) {
    assert!(sale.is_lawful(), "{how}: {:?}", sale.balances());
    // A sale whose pieces never come sells nothing. AUDIT names the missing piece.
    let differences = sale.audit().differences;
    let is_of_pieces = |field: &str| !sale.is_whole() && MISSING_FIELDS.contains(&field);
    assert!(differences.iter().all(|one| is_of_pieces(one.field)), "{how}: {differences:?}");
    rebuild::check(sale).unwrap_or_else(|wrong| panic!("{how}: {wrong}"));
    if sale.is_whole() {
        assert_usable(sale.clone(), how);
    } else {
        assert_sells_nothing(sale, how);
    }
}

/// Checks that a sale that awaits pieces refuses every request.
fn assert_sells_nothing(sale: &Sale, how: &str) {
    let now = Now { clock_ms: sale.balances().t, node_epoch: 1 };
    for request in each_request(&split_of(sale)) {
        let decision = sale.decide(&request, &now).unwrap();
        let misuses = [Misuse::Incomplete, Misuse::WrongPart].map(Outcome::Misuse);
        let is_home = sale.is_home(USER);
        assert!(misuses[..2 - usize::from(is_home)].contains(&decision.outcome), "{how}");
        assert!(decision.changes().is_empty(), "{how}");
    }
    assert!(sale.decide_expiry(9, &now).unwrap().changes().is_empty(), "{how}");
}

const USER: &[u8] = b"late buyer";

/// The id of the sale's split. For an ordinary sale an id that no split has.
fn split_of(sale: &Sale) -> Vec<u8> {
    sale.terms().split.as_ref().map_or(b"none".to_vec(), |split| split.id.to_vec())
}

/// At least one request of each kind.
fn each_request(split: &[u8]) -> Vec<Request<'_>> {
    let grab = Grab { user: USER, amount: Amount::UpTo(3), req: Some(b"late") };
    let exact = |req| Grab { amount: Amount::Exactly(1), req: Some(req), ..grab };
    let (req, units) = (&b"paid"[..], &[][..]);
    let import = Import { user: USER, qty: 2, req, at: None, no_deficit: false, units };
    let requests = vec![
        Request::Resume,
        Request::Restock(Restock { delta: 1, req: b"late" }),
        Request::Grab(grab),
        Request::Grab(Grab { amount: Amount::Unsaid, req: Some(b"drawn"), ..grab }),
        Request::Pause,
        Request::Restock(Restock { delta: -7, req: b"withdrawn" }),
        Request::Import(import),
        Request::Import(Import { req: b"numbers", units: &[1, 3], ..import }),
        Request::Settle(Settle { user: USER, which: Which::Req(b"never"), deed: Deed::Cancel }),
        Request::Wait(Wait { grab: exact(b"waits"), until: 0 }),
        Request::Pick(Pick { grab: exact(b"picks"), wish: Wish::Adjacent, waits: false }),
        Request::Pick(Pick { grab: exact(b"one"), wish: Wish::These(vec![2]), waits: false }),
        Request::List(ListChange { list: List::Deny, add: true, users: &[USER] }),
        Request::Receive(Receive { split, from: 1, total: 9 }),
        Request::Send(Send { split, to: 1, total: 9, owed: true }),
        Request::Elsewhere(Elsewhere { split, units: 0, pass: INTEGER_MAX }),
        Request::Alter(TermsChange { grabs: Some(9), ..TermsChange::default() }),
        Request::Init(init(1, &Rules { limit: 12_345, ..Rules::default() })),
    ];
    let kinds: BTreeSet<_> = requests.iter().map(kind).collect();
    assert!(kinds.into_iter().eq(0..KINDS), "a request of each kind");
    requests
}

/// Number of request kinds. The match below fails to compile if a kind is missing.
const KINDS: usize = 14;

fn kind(request: &Request<'_>) -> usize {
    match request {
        Request::Grab(_) => 0,
        Request::Init(_) => 1,
        Request::Restock(_) => 2,
        Request::Pause => 3,
        Request::Resume => 4,
        Request::Alter(_) => 5,
        Request::Settle(_) => 6,
        Request::Import(_) => 7,
        Request::List(_) => 8,
        Request::Send(_) => 9,
        Request::Receive(_) => 10,
        Request::Elsewhere(_) => 11,
        Request::Wait(_) => 12,
        Request::Pick(_) => 13,
    }
}

/// Sells, restocks and pauses. Each reply must match the change, also on a replica.
fn assert_usable(mut sale: Sale, how: &str) {
    let mut replica = sale.clone();
    let now = Now { clock_ms: START + 5000, node_epoch: START + 5000 };
    let split = split_of(&sale);
    let grant = GrantView { seq: 1, qty: 1, state: State::Sold, deadline: 0 };
    let refusals = [
        Outcome::Already(grant),
        Outcome::Replay(grant),
        Outcome::OverLimit { allowance: 1 },
        Outcome::SoldOut { held: 0 },
        Outcome::Short { available: 1 },
        Outcome::NotOpen { in_ms: 1 },
        Outcome::Closed,
        Outcome::Paused,
        Outcome::Denied,
        Outcome::Busy,
        Outcome::Waiting(Place { ticket: 1, ahead: 0, units_ahead: 0 }),
        Outcome::Taken { unit: 1 },
    ];
    assert!(refusals.iter().filter_map(Outcome::row).eq(1..OUTCOMES.len()), "all");
    for refusal in &refusals {
        sale.count(refusal, Amount::Unsaid);
    }
    for request in each_request(&split) {
        make(&mut sale, &mut replica, &request, &now, how);
    }
    for seq in [1, sale.ledger().len() / 2 + 1, sale.ledger().len()] {
        let owner = sale.ledger().grant(seq).map_or(b"nobody".to_vec(), |grant| grant.user.into());
        for deed in DEEDS {
            let settle = Settle { user: &owner, which: Which::Seq(seq), deed };
            make(&mut sale, &mut replica, &Request::Settle(settle), &now, how);
        }
    }
    let decision = sale.decide_expiry(2, &now).unwrap();
    decision.plan.iter().for_each(|plan| take(&mut sale, &mut replica, plan, how));
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale), "{how}");
    assert_eq!(sale.audit().differences, [], "{how}");
    rebuild::check(&sale).unwrap_or_else(|wrong| panic!("{how}, sold from: {wrong}"));
}

const DEEDS: [Deed<'_>; 8] = [
    Deed::Extend { ms: 9000 },
    Deed::Keep { by: Keeper::Refund, kept: Kept::These(&[1, 2, 3]) },
    Deed::Keep { by: Keeper::Cancel, kept: Kept::AtMost(1) },
    Deed::Keep { by: Keeper::Refund, kept: Kept::AtMost(1) },
    Deed::Cancel,
    Deed::Confirm { reclaim: true },
    Deed::Confirm { reclaim: false },
    Deed::Refund,
];

/// Applies the changes of a request to the sale and its replica.
fn make(sale: &mut Sale, replica: &mut Sale, request: &Request<'_>, now: &Now, how: &str) {
    while let Err(NextRound(plan)) = sale.decide(request, now) {
        take(sale, replica, &plan, how);
    }
    let before = sale.ledger().len();
    let decision = sale.decide(request, now).unwrap();
    decision.plan.iter().for_each(|plan| take(sale, replica, plan, how));
    let granted = matches!(decision.outcome, Outcome::Granted { .. });
    // With a waiting list, offers may be in the plan, too.
    if sale.waitlist().is_none() {
        assert_eq!(sale.ledger().len() - before, u64::from(granted), "{how}");
    }
}

fn take(sale: &mut Sale, replica: &mut Sale, plan: &Plan<'_>, how: &str) {
    let version = sale.balances().version;
    let texts: Vec<Vec<u8>> = plan.changes.iter().map(encoded).collect();
    let mut entries = 0;
    sale.each_entry(plan, &mut Vec::new(), |_| entries += 1);
    assert_eq!(entries, plan.events.len(), "{how}");
    sale.commit(plan);
    assert_eq!(sale.balances().version, version + texts.len() as u64, "{how}");
    let changes: Vec<_> = texts.iter().map(|text| Change::decode(text).unwrap()).collect();
    assert!(replica.apply(version, changes).is_ok(), "{how}");
}

/// Loads a dump of any bytes; if a sale results, it must be sound.
pub fn try_load(dump: &[Vec<u8>], how: &str) -> bool {
    let loaded = rebuild::load(dump, START);
    loaded.iter().for_each(|sale| assert_sound(sale, how));
    loaded.is_ok()
}

/// Alters, inserts, removes or repeats a few bytes.
pub fn scramble(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(5) {
        0 => bytes[at] = random.number() as u8,
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes.insert(at, random.number() as u8),
        3 => drop(bytes.remove(at)),
        _ => {
            let end = bytes.len().min(at + 1 + random.below(9) as usize);
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

/// Applies a base and the changes after it, at the version that the sale then has.
pub fn try_follow(texts: &[Vec<u8>], how: &str) {
    let Ok(base) = Change::decode(&texts[0]) else { return };
    let Ok((mut sale, _)) = Sale::create(base, [1, 2]) else { return };
    for text in &texts[1..] {
        let version = sale.balances().version;
        try_apply(&mut sale, version, &[text], how);
    }
    assert_sound(&sale, how);
}

/// Applies any texts. A refused text must change nothing.
pub fn try_apply(sale: &mut Sale, version: u64, texts: &[&Vec<u8>], how: &str) -> bool {
    let changes: Result<Vec<Change<'_>>, Refused> =
        texts.iter().map(|text| Change::decode(text)).collect();
    let Ok(changes) = changes else { return false };
    let (pieces, refusals) = (rebuild::pieces(sale), rebuild::refusals(sale));
    let applied = sale.apply(version, changes).map(drop);
    if applied.is_err() {
        assert_eq!(rebuild::pieces(sale), pieces, "{how}: refused, but {texts:?} changed it");
    } else {
        let moved = sale.balances().version - version;
        assert_eq!(moved, texts.len() as u64, "{how}: {texts:?}");
    }
    assert_eq!(rebuild::refusals(sale), refusals);
    applied.is_ok()
}
