//! Draws the next step from the current state: often near limits, mostly for existing grants.

use seckill_domain::limits::{INTEGER_MAX, TIME_MS_MAX};
use seckill_domain::parts::Pair;
use seckill_domain::Sale;

use super::cluster::Cluster;
use super::paid;
use super::setup::{any_number, gates, list, rules, SPLIT};
use super::step::Step;
use super::swarm::Swarm;
use super::versions::{NEWER, OLDER, REPLICAS};
use crate::oracle::{
    Ask, Bytes, Deed, GatePatch, Keeper, List, ListPatch, Op, Patch, Pick, Wish, FENCE_MS, HOLD_MAX,
};
use crate::random::Random;

/// Users in one ALLOW or DENY.
const USERS: [&[&[u8]]; 8] = [
    &[b"a"],
    &[b"b", b"c"],
    &[b"a", b"b", b"c", b"d", b"e", b"f", b"g"],
    &[b"12", b"7", b"12"],
    &[b"\0", b"Gq2r3:"],
    &[&[0xff; 256]],
    &[b"f", b"nobody"],
    &[b"d", b"e"],
];

/// Sizes of clock changes in ms: a minute, an hour, a day, the longest hold.
const STEPS_MS: [u64; 4] = [60_000, 3_600_000, 86_400_000, HOLD_MAX];

/// The next step of a run, and its kind.
pub fn next(random: &mut Random, swarm: &Swarm, cluster: &Cluster<'_>) -> (usize, Step) {
    let sale = random.below(cluster.primary.held.len() as u64) as usize;
    let replica = random.below(REPLICAS as u64) as usize;
    let value = &cluster.primary.held[sale].sale;
    let draws = value.terms().draw().is_some();
    let kind = match swarm.next(random) {
        // A sale that draws amounts accepts none.
        0 if draws && !random.once_in(12) => 1,
        kind => kind,
    };
    let step = match kind {
        2 => several(random, cluster),
        8 if !cluster.paid.is_empty() && !random.once_in(3) => paid::import(random, &cluster.paid),
        0..=17 | 19..=22 => Step::Ask { sale, op: command(random, kind, value) },
        18 => between_calls(random, sale, value, cluster),
        23 => Step::Clock(clock(random, cluster, value)),
        24 => Step::Outbox { sale, broken: random.once_in(3) },
        25 => Step::Deliver { replica, count: 1 + random.below(12) as usize },
        26 => Step::Repeat { replica },
        27 => Step::Gap { replica },
        28 => Step::Resync { replica },
        29 => Step::Promote { replica },
        30 => Step::Sync,
        31 => Step::Rewrite,
        32 => Step::Crash { lost: random.below(12) as usize },
        33 if random.once_in(3) => Step::CrashToSave,
        33 => Step::Save,
        34 => Step::Reload,
        35 if random.once_in(3) => Step::Restore { sale },
        35 => Step::Dump { sale },
        36 => Step::Replace { replica, knows: *random.pick(&[OLDER, NEWER]) },
        _ => Step::Setting { version: *random.pick(&[0, OLDER]) },
    };
    (kind, step)
}

/// Few users, so that each sends several commands. Some ids are numbers, some are hard to parse.
fn user(random: &mut Random) -> Bytes {
    match random.below(40) {
        0 => vec![0xff; 256],
        1 => b"\0".to_vec(),
        2 => b"Gq2r3:".to_vec(),
        3..=8 => random.below(1000).to_string().into_bytes(),
        _ => vec![b'a' + random.below(7) as u8],
    }
}

/// Request ids: few, so that each is used several times.
fn req(random: &mut Random) -> Bytes {
    match random.below(40) {
        0 => vec![0xfe; 128],
        1 => b"\r\n".to_vec(),
        2..=6 => vec![b'a'],
        _ => format!("r{}", random.below(30)).into_bytes(),
    }
}

fn some_req(random: &mut Random) -> Option<Bytes> {
    (!random.once_in(3)).then(|| req(random))
}

fn shifted(number: u64, random: &mut Random) -> u64 {
    number.saturating_add_signed(random.below(5) as i64 - 2)
}

/// A quantity, often near the available units or the user's limit.
fn size(random: &mut Random, sale: &Sale, user: &[u8]) -> u64 {
    let number = match random.below(10) {
        0..=4 => random.between(1, 4),
        5 => any_number(random),
        6 | 7 => shifted(sale.balances().available, random),
        8 => shifted(sale.allowance(&sale.holding_of(user)).unwrap_or(1), random),
        _ => shifted(INTEGER_MAX - sale.balances().supply.min(INTEGER_MAX), random),
    };
    number.clamp(1, INTEGER_MAX)
}

/// An MGRAB, often of one unit each and with one of few request ids, so that some are repeated.
fn several(random: &mut Random, cluster: &Cluster<'_>) -> Step {
    let (user, is_small) = (user(random), random.below(4) > 0);
    let sales = cluster.primary.held.iter();
    let mut qty = |sale| if is_small { 1 } else { size(random, sale, &user) };
    let qty = sales.map(|held| qty(&held.sale)).collect();
    let req = (!random.once_in(3)).then(|| vec![b'm', b'0' + random.below(4) as u8]);
    Step::Several { user, qty, req }
}

/// A command and a second one that runs during it, mostly on one sale and by few users.
fn between_calls(random: &mut Random, sale: usize, value: &Sale, cluster: &Cluster<'_>) -> Step {
    let kind = |random: &mut Random| match random.below(3) {
        0 => random.below(22) as usize,
        _ => *random.pick(&[0, 0, 1, 3, 5, 17]),
    };
    let outer = kind(random);
    let op = command(random, outer, value);
    let other = random.below(cluster.primary.held.len() as u64) as usize;
    let other = if random.once_in(4) { other } else { sale };
    let call = match kind(random) {
        2 => several(random, cluster),
        inner => {
            Step::Ask { sale: other, op: command(random, inner, &cluster.primary.held[other].sale) }
        }
    };
    Step::Between { sale, op, call: Box::new(call) }
}

fn enlist(random: &mut Random, list: List) -> Op {
    let users = random.pick(&USERS);
    Op::Enlist { list, add: random.below(3) > 0, users }
}

fn gate_patch(random: &mut Random) -> GatePatch {
    let wanted = gates(random);
    GatePatch {
        allowlist: random.once_in(2).then_some(wanted.allowlist),
        modulo: random.once_in(2).then_some(wanted.modulo),
        sample: random.once_in(2).then(|| {
            wanted.sample.map(|(permille, salt)| (permille, random.once_in(2).then_some(salt)))
        }),
        admit: random.once_in(2).then_some(wanted.admit),
        mask: Some(wanted.mask),
    }
}

fn grab(random: &mut Random, sale: &Sale) -> Op {
    if sale.terms().is_numbered() && random.once_in(2) {
        return choose(random, sale);
    }
    let user = user(random);
    let qty = size(random, sale, &user);
    if sale.terms().waitlist.is_some() && random.below(3) > 0 {
        return join(random, sale, user, qty);
    }
    let ask = if random.once_in(3) { Ask::UpTo(qty) } else { Ask::Qty(qty) };
    Op::Grab { user, ask, req: some_req(random) }
}

/// A GRAB with UNITS or ADJACENT.
fn choose(random: &mut Random, sale: &Sale) -> Op {
    let wish = match random.below(3) {
        0 => Wish::Adjacent,
        _ => Wish::These(units(random, sale, &[]).into_iter().map(u64::from).collect()),
    };
    let qty = match &wish {
        Wish::Adjacent => random.between(1, 5),
        Wish::These(units) => units.len() as u64,
    };
    Op::Choose { user: user(random), qty, wish, req: some_req(random) }
}

/// Different numbers in any order: some of `of`, sometimes others, and rarely an invalid one.
fn units(random: &mut Random, sale: &Sale, of: &[u32]) -> Vec<u32> {
    let mut units: Vec<u32> = of.iter().copied().filter(|_| random.below(3) > 0).collect();
    let all = sale.balances().supply.clamp(1, 40) + u64::from(random.once_in(12));
    let others = if of.is_empty() || random.once_in(6) { random.between(1, 3) } else { 0 };
    units.extend((0..others).map(|_| random.between(1, all) as u32));
    if units.is_empty() {
        units.extend(of.first());
    }
    units.sort_unstable();
    units.dedup();
    let start = random.below(units.len() as u64) as usize;
    units.rotate_left(start);
    units
}

/// The numbers of a grant when it was made.
fn first_units(sale: &Sale, seq: Option<u64>) -> Vec<u32> {
    let numbers = sale.numbers().zip(seq);
    numbers.map_or_else(Vec::new, |(numbers, seq)| numbers.first_of(seq).to_vec())
}

/// A GRAB with WAIT, often for a possible quantity, with or without a time limit.
fn join(random: &mut Random, sale: &Sale, user: Bytes, qty: u64) -> Op {
    let supply = sale.balances().supply.max(1);
    let qty = if random.once_in(6) { qty } else { random.between(1, supply.min(4)) };
    let ask = if qty == 1 && random.once_in(2) { Ask::Unsaid } else { Ask::Qty(qty) };
    let until = match random.below(4) {
        0 => (sale.balances().t + random.below(60)).min(TIME_MS_MAX),
        _ => 0,
    };
    Op::Join { user, ask, req: req(random), until }
}

/// A waiter with the request id and quantity of its entry.
fn some_waiter(random: &mut Random, sale: &Sale) -> Option<(Bytes, Bytes, u64)> {
    let list = sale.waitlist().filter(|list| !list.is_empty())?;
    let place = random.below(list.len()) as usize;
    let waiter = list.iter_from(0).nth(place)?;
    Some((waiter.user.to_vec(), waiter.req.to_vec(), waiter.qty))
}

/// A command to one sale.
fn command(random: &mut Random, kind: usize, sale: &Sale) -> Op {
    match kind {
        0 => grab(random, sale),
        1 => Op::Grab { user: user(random), ask: Ask::Unsaid, req: some_req(random) },
        3 => settle(random, sale, Deed::Confirm),
        4 => settle(random, sale, Deed::Reclaim),
        5 => settle(random, sale, Deed::Cancel),
        6 => {
            let ms = match random.below(6) {
                0 => *random.pick(&[1, HOLD_MAX - 1, HOLD_MAX]),
                _ => random.between(1, 60),
            };
            settle(random, sale, Deed::Extend(ms))
        }
        7 => settle(random, sale, Deed::Refund),
        8 => import(random, sale),
        9 => {
            let size = size(random, sale, b"") as i64;
            let delta = if random.once_in(2) { size } else { -size };
            Op::Restock { delta, req: req(random) }
        }
        10 => Op::Pause,
        11 => Op::Resume,
        12 => Op::Alter(patch(random)),
        13 => Op::Alter(Patch { gates: gate_patch(random), ..Patch::default() }),
        14 => enlist(random, List::Allow),
        15 => enlist(random, List::Deny),
        16 => Op::Init { supply: any_number(random), rules: rules(random) },
        19 => send(random, sale),
        20 => receive(random, sale),
        21 => elsewhere(random, sale),
        22 => keep(random, sale),
        _ => Op::Sweep(random.below(5) as usize),
    }
}

/// The split id in a command, sometimes a wrong one.
fn split(random: &mut Random) -> &'static str {
    if random.once_in(20) {
        "another"
    } else {
        SPLIT
    }
}

/// Another part, mostly an existing one, with the units moved so far.
fn peer(random: &mut Random, sale: &Sale) -> Pair {
    let Some(part) = sale.part() else { return Pair::default() };
    let peer = random.below(u64::from(part.split.parts.get()) + 1) as u16;
    let known = part.pairs.iter().find(|pair| pair.peer == peer);
    known.copied().unwrap_or(Pair { peer, ..Pair::default() })
}

/// A total: most are a little larger than before, some are equal or smaller.
fn total(random: &mut Random, before: u64) -> u64 {
    let total = match random.below(8) {
        0 => before,
        1 => before.saturating_sub(1),
        2 => any_number(random),
        _ => before + random.between(1, 9),
    };
    total.min(INTEGER_MAX)
}

fn send(random: &mut Random, sale: &Sale) -> Op {
    let pair = peer(random, sale);
    let total = match random.below(3) {
        0 => shifted(pair.sent + sale.balances().available, random).min(INTEGER_MAX),
        _ => total(random, pair.sent),
    };
    Op::Send { split: split(random), to: pair.peer.into(), total, owed: random.once_in(3) }
}

fn receive(random: &mut Random, sale: &Sale) -> Op {
    let pair = peer(random, sale);
    let total = total(random, pair.received);
    Op::Receive { split: split(random), from: pair.peer.into(), total }
}

fn elsewhere(random: &mut Random, sale: &Sale) -> Op {
    let pass = sale.part().map_or(0, |part| part.escrow.pass);
    let units = if random.once_in(2) { 0 } else { any_number(random) };
    Op::Elsewhere { split: split(random), units, pass: shifted(pass, random) }
}

fn patch(random: &mut Random) -> Patch {
    let rules = rules(random);
    Patch {
        limit: random.once_in(2).then_some(rules.limit),
        grabs: random.once_in(2).then_some(rules.grabs),
        hold_ms: random.once_in(2).then_some(rules.hold_ms),
        open_at: random.once_in(4).then_some(rules.open_at),
        close_at: random.once_in(4).then_some(rules.close_at),
        outbox: rules.outbox.filter(|_| random.once_in(3)),
        list: match random.below(6) {
            0 => list_patch(random),
            _ => ListPatch::default(),
        },
        ..Patch::default()
    }
}

fn list_patch(random: &mut Random) -> ListPatch {
    let wanted = list(random);
    ListPatch {
        max: Some(wanted.max),
        offer_ms: random.once_in(2).then_some(wanted.offer_ms),
        overtake: random.once_in(2).then_some(wanted.overtake),
    }
}

/// The seq of an existing grant, more often a late one.
fn some_seq(random: &mut Random, sale: &Sale) -> u64 {
    let grants = sale.balances().grants.max(1);
    match random.below(3) {
        0 => random.between(1, grants),
        _ => grants - random.below(grants.min(8)),
    }
}

fn settle(random: &mut Random, sale: &Sale, deed: Deed) -> Op {
    let waiter = some_waiter(random, sale).filter(|_| random.once_in(3));
    if let Some((user, req, _)) = waiter {
        return Op::Settle { user, pick: Pick::Req(req), deed };
    }
    let known = sale.grant(some_seq(random, sale)).filter(|_| !random.once_in(6));
    let Some(grant) = known else {
        let pick = match random.below(3) {
            0 => Pick::Only,
            1 => Pick::Seq(random.below(40)),
            _ => Pick::Req(req(random)),
        };
        return Op::Settle { user: user(random), pick, deed };
    };
    let pick = match (random.below(4), grant.req_id()) {
        (0, _) => Pick::Only,
        (1 | 2, Some(req)) => Pick::Req(req.to_vec()),
        _ => Pick::Seq(grant.seq),
    };
    Op::Settle { user: grant.user.to_vec(), pick, deed }
}

/// KEEP, often for a grant of more than one unit.
fn keep(random: &mut Random, sale: &Sale) -> Op {
    let by = *random.pick(&[Keeper::Confirm, Keeper::Cancel, Keeper::Refund]);
    let units = if random.once_in(12) { any_number(random).max(1) } else { random.between(1, 3) };
    let deed = Deed::Keep(by, units);
    let one = settle(random, sale, deed);
    let has_more = |op: &Op| match op {
        Op::Settle { user, pick: Pick::Req(req), .. } => {
            let grant = sale.by_req(user, req).and_then(|seq| sale.grant(seq));
            grant.is_some_and(|grant| grant.qty > 1)
        }
        Op::Settle { pick: Pick::Seq(seq), .. } => {
            sale.grant(*seq).is_some_and(|grant| grant.qty > 1)
        }
        _ => false,
    };
    let one = if has_more(&one) { one } else { settle(random, sale, deed) };
    match one {
        Op::Settle { user, pick, .. } if sale.terms().is_numbered() && !random.once_in(8) => {
            let seq = match &pick {
                Pick::Only => None,
                Pick::Seq(seq) => Some(*seq),
                Pick::Req(req) => sale.by_req(&user, req),
            };
            let units = self::units(random, sale, &first_units(sale, seq));
            Op::KeepUnits { user, pick, by, units }
        }
        one => one,
    }
}

fn import(random: &mut Random, sale: &Sale) -> Op {
    let known = sale.grant(some_seq(random, sale)).filter(|_| random.once_in(2));
    let no_deficit = random.once_in(3);
    let waiter = some_waiter(random, sale).filter(|_| random.once_in(3));
    if let Some((user, req, qty)) = waiter {
        let qty = qty + random.below(5) / 4;
        return Op::Import { user, qty, req, at: None, no_deficit };
    }
    if let Some((grant, req)) = known.and_then(|grant| grant.req_id().map(|req| (grant, req))) {
        let (user, req) = (grant.user.to_vec(), req.to_vec());
        if sale.terms().is_numbered() {
            let units = units(random, sale, &first_units(sale, Some(grant.seq)));
            return Op::ImportUnits { user, units, req };
        }
        let qty = sale.first_qty(grant.seq).unwrap_or(1) + random.below(5) / 4;
        return Op::Import { user, qty, req, at: None, no_deficit };
    }
    let user = user(random);
    if sale.terms().is_numbered() && !random.once_in(8) {
        return Op::ImportUnits { user, units: units(random, sale, &[]), req: req(random) };
    }
    let qty = size(random, sale, &user);
    let at = random.once_in(3).then(|| random.below(TIME_MS_MAX));
    Op::Import { user, qty, req: req(random), at, no_deficit }
}

/// The next time of the clock: a little later, earlier, or at the next event.
fn clock(random: &mut Random, cluster: &Cluster<'_>, sale: &Sale) -> u64 {
    let clock = cluster.clock;
    let moment = match random.below(20) {
        0..=6 => clock + random.below(20),
        7 | 8 => clock.saturating_sub(random.below(60)),
        9..=13 => shifted(sale.next_due().unwrap_or(clock), random),
        14 => shifted(sale.terms().open_at, random),
        15 => shifted(sale.terms().close_at, random),
        16 => shifted(sale.balances().t + FENCE_MS, random),
        17 => clock + random.below(2000),
        // The clock was set, or the machine slept.
        18 if random.once_in(2) => clock + *random.pick(&STEPS_MS),
        18 if random.once_in(2) => clock.saturating_sub(*random.pick(&STEPS_MS)),
        18 => shifted(sale.balances().t, random),
        _ if random.once_in(20) => *random.pick(&[1, TIME_MS_MAX - 1, TIME_MS_MAX]),
        _ => clock,
    };
    // The oracle counts rounds one by one, so a sale with rounds gets no jump of months.
    let mut sales = cluster.primary.held.iter().map(|held| &held.sale);
    let repeats = sales.any(|sale| sale.terms().schedule.is_some());
    let last = if repeats { clock + 2 * FENCE_MS } else { TIME_MS_MAX };
    moment.clamp(1, last.min(TIME_MS_MAX))
}
