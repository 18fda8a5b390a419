//! Compares a sale with the oracle: its numbers, rows, users, waiting list and part.

use seckill_domain::ledger::Grant;
use seckill_domain::outcome::{Outcome, State, OUTCOMES};
use seckill_domain::record::Asked;
use seckill_domain::request::Now;
use seckill_domain::status::Status;
use seckill_domain::Sale;

use super::oracle::{Bytes, Oracle, Row};
use super::replies::reply;

/// Refusal counters of STATUS. The counters after them are equal on every node.
const REFUSALS: std::ops::Range<usize> = 2..1 + OUTCOMES.len();
const STRANGER: &[u8] = b"nobody grabs as this one";

/// A difference in words.
pub type Check = Result<(), String>;

/// Fails with both values if they differ.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, should: &T) -> Check {
    match is == should {
        true => Ok(()),
        false => Err(format!("{what}: is {is:?}, should be {should:?}")),
    }
}

/// Compares the numbers of STATUS. `of_one_node`: also the counters that each node has for itself.
pub fn verify_numbers(sale: &Sale, oracle: &Oracle, now: &Now, of_one_node: bool) -> Check {
    let (status, clock) = (sale.status(now), now.clock_ms);
    same("state", &status.state, &oracle.state(clock))?;
    for (is, (field, should)) in numbers(&status).zip(oracle.numbers(clock)) {
        if of_one_node || field != "outbox_error" {
            same(field, &is, &should)?;
        }
    }
    let all = status.counters.all().zip(expected_counters(oracle)).enumerate();
    for (place, ((field, is), (_, should))) in all {
        if of_one_node || place != 0 && !REFUSALS.contains(&place) {
            same(field, &is, &should)?;
        }
    }
    let times = [status.round, status.round_ends_at, status.next_round_at];
    same("round", &times, &oracle.round_times(clock))?;
    same("packets", &status.packets, &oracle.packets())?;
    let mut part = oracle.part_numbers();
    let unmet = part.pop();
    if of_one_node {
        same("unmet", &status.unmet_units.map(|units| units as i64), &unmet)?;
    }
    same("part", &part_numbers(sale, &status), &part)?;
    let pairs = sale.part().map_or(&[][..], |part| part.pairs);
    let pairs = pairs.iter().map(|pair| (pair.peer.into(), pair.sent, pair.received));
    same("pairs", &pairs.collect::<Vec<(u64, u64, u64)>>(), &oracle.pairs())?;
    same("the law of a part", &oracle.part_adds_up(), &true)?;
    let totals = sale.round_totals();
    let totals = totals.map(|total| (total.round, total.supply, total.sold, total.winners));
    same("totals", &totals.collect(), &oracle.totals())
}

pub fn verify_rows(sale: &Sale, oracle: &Oracle) -> Check {
    let ledger = sale.ledger();
    same("rows", &ledger.len(), &(oracle.rows.len() as u64))?;
    for row in &oracle.rows {
        let grant = sale.grant(row.seq);
        let is_it = match oracle.is_kept(row) {
            true => grant.is_some_and(|grant| is_row(sale, &grant, row)),
            false => grant.is_none(),
        };
        if !is_it {
            return Err(format!("row: is {grant:?}, should be {row:?}"));
        }
    }
    for seq in [0, ledger.len() + 1, ledger.len() + (1 << 32), u64::MAX] {
        same("a seq that was not granted", &ledger.grant(seq).is_some(), &false)?;
    }
    Ok(())
}

fn is_row(sale: &Sale, grant: &Grant<'_>, row: &Row) -> bool {
    let asked = match grant.req.map(|req| req.asked) {
        None => "",
        Some(Asked::Exactly) => "QTY",
        Some(Asked::UpTo) => "UPTO",
        Some(Asked::Either) => "ANY",
        Some(Asked::Offered) => "OFFER",
    };
    let units = sale.numbers().map(|numbers| [numbers.of(row.seq), numbers.first_of(row.seq)]);
    grant.seq == row.seq
        && grant.user == row.user
        && grant.qty == row.qty
        && sale.first_qty(grant.seq) == Some(row.first)
        && grant.state.name() == row.state
        && grant.at == row.at
        && grant.view().deadline == row.deadline
        && grant.req_id() == row.req.as_deref()
        && asked == row.asked
        && grant.epoch == row.epoch
        && grant.round == row.round
        && (grant.state == State::Forfeited) == row.refused
        && units.is_none_or(|[units, first]| {
            units.into_iter().map(u64::from).eq(row.units.iter().copied())
                && first.into_iter().map(u64::from).eq(row.first_units.iter().copied())
        })
}

/// Compares each user's grants, and checks that another user has none of them.
pub fn verify_users(sale: &Sale, oracle: &Oracle, now: &Now) -> Check {
    let stranger = STRANGER.to_vec();
    for row in &oracle.rows {
        let found = row.req.as_ref().and_then(|req| sale.by_req(&stranger, req));
        same("req of a stranger", &found, &None)?;
    }
    let mut users = oracle.users().into_iter().chain([&stranger]);
    users.try_for_each(|user| verify_user(sale, oracle, user, now))
}

/// Compares the indexes of a user with the user's grants.
pub fn verify_user(sale: &Sale, oracle: &Oracle, user: &Bytes, now: &Now) -> Check {
    let is: Vec<u64> = sale.grants_of(user).map(|grant| grant.seq).collect();
    same("grants of a user", &is, &oracle.rows_of(user).map(|row| row.seq).collect())?;
    for row in oracle.rows_of(user) {
        let Some(req) = &row.req else { continue };
        same("by req", &sale.by_req(user, req), &Some(row.seq))?;
    }
    same("admission", &sale.admittance(user).name(), &oracle.admission(user).as_str())?;
    let (holding, newest) = (sale.holding_of(user), oracle.rows_now(user).next());
    let live: Vec<&Row> = oracle.rows_now(user).filter(|row| row.is_live()).collect();
    let seq = |row: Option<&Row>| row.map_or(0, |row| row.seq);
    same("live units", &holding.live_units, &live.iter().map(|row| row.qty).sum())?;
    same("live grants", &(holding.live_grants as usize), &live.len())?;
    same("newest", &u64::from(holding.newest), &seq(newest))?;
    same("newest live", &u64::from(holding.newest_live), &seq(live.first().copied()))?;
    let (ledger, t) = (sale.ledger(), sale.time(now));
    let found = ledger.newest_live(&ledger.find(user), t).map(|grant| grant.seq);
    let stays = live.iter().find(|row| !row.is_due(t)).map(|row| row.seq);
    same("newest live and not due", &found, &stays)?;
    same("allowance", &sale.allowance(&holding), &oracle.allowance(user))
}

/// Compares the waiting list, and checks its fairness.
pub fn verify_list(sale: &Sale, oracle: &Oracle, now: &Now) -> Check {
    let status = sale.status(now);
    let terms = ["waitlist", "offer_ms", "overtake"].map(|name| status.term(name));
    let numbers = terms.into_iter().chain([status.waiting]);
    let numbers = numbers.chain([status.waiting_units, status.waiting_since]);
    let numbers: Option<Vec<u64>> = numbers.chain([status.offered]).collect();
    same("list", &numbers, &oracle.list_numbers().map(Vec::from))?;
    let list = sale.waitlist().into_iter().flat_map(|list| list.iter_from(0));
    let list = list.map(|it| (it.ticket, it.user, it.req, it.qty, it.at, it.until));
    let waiters = oracle.waiters();
    let theirs =
        waiters.iter().map(|it| (it.ticket, &it.user[..], &it.req[..], it.qty, it.at, it.until));
    same("waiters", &list.collect::<Vec<_>>(), &theirs.collect::<Vec<_>>())?;
    for waiter in waiters {
        let place = sale.place(&waiter.user, now).map(|it| reply(&Outcome::Waiting(it)));
        same("place", &place, &oracle.place(&waiter.user, now.clock_ms))?;
    }
    same("place of nobody", &sale.place(b"nobody waits as this one", now), &None)?;
    oracle.check_overtaking()
}

/// The numbers of a part in STATUS and PARTS, in the oracle's order.
fn part_numbers(sale: &Sale, status: &Status) -> Vec<i64> {
    let Some(part) = sale.part() else { return Vec::new() };
    let Status { sent, received, elsewhere, .. } = *status;
    let (number, of, pass) = (status.term("part"), status.term("parts"), part.escrow.pass);
    let numbers = [number, of, sent, received, elsewhere, Some(pass)];
    let numbers = numbers.into_iter().flatten().map(|number| number as i64);
    status.put_in.into_iter().chain(numbers).collect()
}

/// The numbers of STATUS, in the oracle's order.
fn numbers(status: &Status) -> impl Iterator<Item = u64> {
    let Status { supply, available, held, sold, deficit, winners, grants, .. } = *status;
    let units = [supply, available, held, sold, deficit, winners, grants];
    let terms = ["limit", "grabs", "hold_ms", "open_at", "close_at"];
    let terms = terms.map(|name| status.term(name).unwrap_or_default());
    let Status { now, next_deadline, created_at, last_grant_at, .. } = *status;
    let times = [now, next_deadline, created_at, last_grant_at];
    let Status { epoch, version, rev, outbox_error, fences_dropped, .. } = *status;
    let changes = [epoch, version, rev, outbox_error, fences_dropped];
    units.into_iter().chain(terms).chain(times).chain(changes)
}

/// The counters of STATUS, as the oracle has them.
pub fn expected_counters(oracle: &Oracle) -> Vec<(&'static str, u64)> {
    let rows = OUTCOMES[1..].iter();
    let refusals = rows.map(|row| (row.counter.to_str().unwrap_or_default(), row.word));
    oracle.counters(&refusals.collect::<Vec<_>>())
}
