//! Whether a sale that came out of altered bytes is sound: lawful, saved and loaded as it is, and
//! sold from like any other.

use seckill_domain::admission::List;
use seckill_domain::decide::Decision;
use seckill_domain::effect::Change;
use seckill_domain::limits::INTEGER_MAX;
use seckill_domain::outcome::{GrantView, Misuse, Outcome, Place, Refused, State, OUTCOMES};
use seckill_domain::request::{
    Amount, Deed, Elsewhere, Grab, Import, Keeper, Kept, ListChange, Now, Receive, Request,
    Restock, Send, Settle, Wait, Which,
};
use seckill_domain::Sale;

use super::random::Random;
use super::rebuild;
use super::world::encoded;

const START: u64 = 1_000_000;

/// What AUDIT tells of a sale that awaits pieces: how many, and what they would bring.
pub const MISSING_FIELDS: [&str; 4] = ["pieces_missing", "amounts", "sent", "received"];

/// Fails unless `sale` is lawful, survives saving and loading, and goes on like any other.
pub fn assert_sound(sale: &Sale, how: &str) {
    assert!(sale.is_lawful(), "{how}: {:?}", sale.balances());
    // Whose pieces never come is a sale that sells nothing and says what is missing.
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

/// Whatever is asked of a sale that awaits pieces is refused.
fn assert_sells_nothing(sale: &Sale, how: &str) {
    let now = Now { clock_ms: sale.balances().t, run: 1 };
    let grab = Grab { user: b"somebody", amount: Amount::Exactly(1), req: None };
    let of_user = if sale.is_home(grab.user) { Misuse::Incomplete } else { Misuse::WrongPart };
    for (request, misuse) in [
        (Request::Grab(grab), of_user),
        (Request::Pause, Misuse::Incomplete),
        (Request::Resume, Misuse::Incomplete),
    ] {
        let decision = sale.decide(&request, &now);
        assert_eq!(decision.outcome, Outcome::Misuse(misuse), "{how}");
        assert!(decision.changes().is_empty(), "{how}");
    }
    assert!(sale.decide_expiry(9, &now).changes().is_empty(), "{how}");
}

/// Sells, restocks and pauses: what is answered must be done, and apply elsewhere.
fn assert_usable(mut sale: Sale, how: &str) {
    let mut replica = sale.clone();
    let now = Now { clock_ms: START + 5000, run: START + 5000 };
    let grab = Grab { user: b"late buyer", amount: Amount::UpTo(3), req: Some(b"late") };
    let waits = Grab { amount: Amount::Exactly(1), req: Some(b"waits"), ..grab };
    // Of a sale that is no part any id is another one's.
    let split = sale.terms().split.as_ref().map_or(b"none".to_vec(), |split| split.id.to_vec());
    let split = split.as_slice();
    let requests = [
        Request::Resume,
        Request::Restock(Restock { delta: 1, req: b"late" }),
        Request::Grab(grab),
        Request::Grab(Grab { amount: Amount::Unsaid, req: Some(b"drawn"), ..grab }),
        Request::Pause,
        Request::Restock(Restock { delta: -7, req: b"withdrawn" }),
        Request::Import(Import {
            user: b"late buyer",
            qty: 2,
            req: b"paid",
            at: None,
            no_deficit: false,
            units: &[],
        }),
        Request::Settle(Settle {
            user: b"late buyer",
            which: Which::Req(b"never"),
            deed: Deed::Cancel,
        }),
        Request::Wait(Wait { grab: waits, until: 0 }),
        Request::List(ListChange { list: List::Deny, add: true, users: &[b"late buyer"] }),
        Request::Receive(Receive { split, from: 1, total: 9 }),
        Request::Send(Send { split, to: 1, total: 9, owed: true }),
        Request::Elsewhere(Elsewhere { split, units: 0, pass: INTEGER_MAX }),
    ];
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
    for request in requests {
        make(&mut sale, &mut replica, &request, &now, how);
    }
    for seq in [1, sale.ledger().len() / 2 + 1, sale.ledger().len()] {
        let owner = sale.ledger().grant(seq).map_or(b"nobody".to_vec(), |grant| grant.user.into());
        for deed in DEEDS {
            let settle = Settle { user: &owner, which: Which::Seq(seq), deed };
            make(&mut sale, &mut replica, &Request::Settle(settle), &now, how);
        }
    }
    let decision = sale.decide_expiry(2, &now);
    take(&mut sale, &mut replica, &decision, how);
    assert_eq!(rebuild::pieces(&replica), rebuild::pieces(&sale), "{how}");
    assert_eq!(sale.audit().differences, [], "{how}");
    rebuild::check(&sale).unwrap_or_else(|wrong| panic!("{how}, sold from: {wrong}"));
}

const DEEDS: [Deed; 7] = [
    Deed::Extend { ms: 9000 },
    Deed::Keep { by: Keeper::Cancel, kept: Kept::AtMost(1) },
    Deed::Keep { by: Keeper::Refund, kept: Kept::AtMost(1) },
    Deed::Cancel,
    Deed::Confirm { reclaim: true },
    Deed::Confirm { reclaim: false },
    Deed::Refund,
];

/// What is answered must be done, here and elsewhere.
fn make(sale: &mut Sale, replica: &mut Sale, request: &Request<'_>, now: &Now, how: &str) {
    if let Some(turn) = sale.decide_round(now) {
        take(sale, replica, &turn, how);
    }
    let before = sale.ledger().len();
    let decision = sale.decide(request, now);
    take(sale, replica, &decision, how);
    let granted = matches!(decision.outcome, Outcome::Granted { .. });
    // With a waiting list offers come with it.
    if sale.waitlist().is_none() {
        assert_eq!(sale.ledger().len() - before, u64::from(granted), "{how}");
    }
}

fn take(sale: &mut Sale, replica: &mut Sale, decision: &Decision<'_>, how: &str) {
    let version = sale.balances().version;
    let texts: Vec<Vec<u8>> = decision.changes().iter().map(encoded).collect();
    if let Some(plan) = &decision.plan {
        let events = plan.events.len();
        let mut entries = 0;
        sale.each_entry(plan, &mut Vec::new(), |_| entries += 1);
        assert_eq!(entries, events, "{how}");
        sale.commit(plan);
    }
    assert_eq!(sale.balances().version, version + texts.len() as u64, "{how}");
    if !texts.is_empty() {
        let changes: Vec<_> = texts.iter().map(|text| Change::decode(text).unwrap()).collect();
        assert!(replica.apply(version, changes).is_ok(), "{how}");
    }
}

/// Loads what may be anything; a sale that comes out must be sound.
pub fn try_load(dump: &[Vec<u8>], how: &str) -> bool {
    match rebuild::load(dump, START) {
        Ok(sale) => {
            assert_sound(&sale, how);
            true
        }
        Err(_) => false,
    }
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

/// Applies a base and what follows it, at whatever version the sale then has.
pub fn try_follow(texts: &[Vec<u8>], how: &str) {
    let Ok(base) = Change::decode(&texts[0]) else { return };
    let Ok((mut sale, _)) = Sale::create(base, [1, 2]) else { return };
    for text in &texts[1..] {
        let version = sale.balances().version;
        try_apply(&mut sale, version, &[text], how);
    }
    assert_sound(&sale, how);
}

/// Applies texts that may be anything. What is refused must change nothing.
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
