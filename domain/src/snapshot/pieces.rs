//! Pieces of lists other than grants: restock ids, fences, users, amounts, pairs and waiters. A
//! piece is checked as a whole before any of it is added.

mod tests;

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize};

use crate::admission::List;
use crate::admission::Listed;
use crate::dedup::{Fence, Restocked};
use crate::ledger::Ledger;
use crate::model::balances::Balances;
use crate::model::limits::{
    AMOUNTS_PER_PIECE, FENCES_KEPT_MAX, FENCES_PER_PIECE, GRANTS_MAX, PARTS_MAX, RESTOCKS_KEPT_MAX,
    TRIMS_PER_PIECE, USERS_PER_PIECE, WAITERS_MAX, WAITERS_PER_PIECE,
};
use crate::model::outcome::{check, Refused};
use crate::model::wire;
use crate::parts::{sums, Pair};
use crate::waitlist::Waiter;
use crate::Sale;

/// Whether the version counts at least INIT, every grant, and all entries of two lists, each of
/// which was a change. Then the version has room for the sale's pieces in any size.
pub fn counts_all(balances: &Balances, listed: u64, also_listed: u64) -> bool {
    balances.version > balances.grants.saturating_add(listed).saturating_add(also_listed)
}

/// Whether the packets left can share the available units, in a sale that counts packets.
pub fn can_be_drawn(sale: &Sale, balances: &Balances) -> bool {
    sale.terms.draw().is_none_or(|draw| draw.is_lawful(balances))
}

/// A restock: its id, the units asked for, the units applied, and the units available then.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RestockId<'a> {
    #[serde(with = "wire::req")]
    req: &'a [u8],
    #[serde(deserialize_with = "wire::signed")]
    delta: i64,
    #[serde(deserialize_with = "wire::signed")]
    applied: i64,
    #[serde(deserialize_with = "wire::integer")]
    available: u64,
}

impl<'a> RestockId<'a> {
    /// The saved form of an applied restock.
    pub(super) fn of(restocked: &'a Restocked) -> RestockId<'a> {
        let Restocked { req, delta, applied, available } = restocked;
        RestockId { req, delta: *delta, applied: *applied, available: *available }
    }

    /// Whether this result is possible for this restock.
    fn is_possible(&self) -> bool {
        let RestockId { delta, applied, .. } = *self;
        delta != 0 && (delta == applied || (delta < applied && applied <= 0))
    }
}

/// Users of a list, none of them on it yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListedUsers<'a> {
    pub(super) list: List,
    #[serde(borrow, deserialize_with = "users")]
    pub(super) users: Vec<Listed<'a>>,
}

/// A waiter in their current state.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StandingWaiter<'a> {
    #[serde(borrow)]
    pub(super) waiter: Waiter<'a>,
    /// Number of times that the entries were passed as the head.
    #[serde(deserialize_with = "wire::integer")]
    passed: u64,
}

/// A grant of which a part was given back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Trimmed {
    #[serde(deserialize_with = "wire::integer")]
    seq: u64,
    /// The units that it had at first.
    #[serde(deserialize_with = "wire::quantity")]
    first: u64,
}

pub(super) fn trims<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Trimmed>, D::Error> {
    wire::sequence(from, TRIMS_PER_PIECE, Some::<Trimmed>)
}

pub(super) fn waiters<'de, D>(from: D) -> Result<Vec<StandingWaiter<'de>>, D::Error>
where
    D: Deserializer<'de>,
{
    wire::sequence(from, WAITERS_PER_PIECE, Some::<StandingWaiter<'de>>)
}

pub(super) fn restock_ids<'de, D>(from: D) -> Result<Vec<RestockId<'de>>, D::Error>
where
    D: Deserializer<'de>,
{
    wire::sequence(from, RESTOCKS_KEPT_MAX, |id: RestockId<'de>| id.is_possible().then_some(id))
}

pub(super) fn fences<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Fence<'de>>, D::Error> {
    wire::sequence(from, FENCES_PER_PIECE, Some::<Fence<'de>>)
}

fn users<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Listed<'de>>, D::Error> {
    wire::sequence(from, USERS_PER_PIECE, Some::<Listed<'de>>)
}

pub(super) fn amounts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    let drawable = |wire::Integer(amount)| (amount > 0).then_some(amount);
    wire::sequence(from, AMOUNTS_PER_PIECE, drawable)
}

pub(super) fn pairs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Pair>, D::Error> {
    wire::sequence(from, usize::from(PARTS_MAX) - 1, Some::<Pair>)
}

/// Checks restock ids: the sale has none yet. `balances` are the numbers after them.
pub(crate) fn check_restock_ids(
    sale: &Sale,
    kept: &[RestockId<'_>],
    balances: &Balances,
) -> Result<(), Refused> {
    let ids: HashSet<&[u8]> = kept.iter().map(|restock| restock.req).collect();
    let differ = ids.len() == kept.len() && !kept.is_empty();
    let fits = counts_all(balances, kept.len() as u64, sale.fences.len() as u64);
    check(sale.restocks.is_empty() && differ && fits)
}

/// Checks the pairs of a part: the sale has none yet. `balances` are the numbers after them.
pub(crate) fn check_pairs(sale: &Sale, added: &[Pair], balances: &Balances) -> Result<(), Refused> {
    let escrow = sale.escrow.ok_or(Refused::Law)?;
    let has_moved = |pair: &Pair| pair.sent > 0 || pair.received > 0;
    let are_others = added.iter().all(|pair| has_moved(pair) && sale.has_other_part(pair.peer));
    let ascend = added.is_sorted_by(|a, b| a.peer < b.peer);
    let agree = sums(added) == (escrow.sent, escrow.received);
    let fits = counts_all(balances, added.len() as u64, 0);
    let is_first = sale.pairs.as_slice().is_empty() && !added.is_empty();
    check(is_first && are_others && ascend && agree && fits)
}

/// Checks fences. `balances` are the numbers after them.
pub(crate) fn check_fences(
    sale: &Sale,
    added: &[Fence<'_>],
    balances: &Balances,
) -> Result<(), Refused> {
    let ids: HashSet<_> = added.iter().map(|fence| (fence.user, fence.req)).collect();
    let differ = ids.len() == added.len() && !added.is_empty();
    let is_new = |fence: &Fence<'_>| sale.fences.has_room_for(fence) && fence.at <= balances.t;
    let fences = sale.fences.len() + added.len();
    let fits = counts_all(balances, sale.restocks.len() as u64, fences as u64);
    check(differ && added.iter().all(is_new) && fences <= FENCES_KEPT_MAX && fits)
}

/// Checks users, none of whom is on the list yet.
pub(crate) fn check_listed(sale: &Sale, piece: &ListedUsers<'_>) -> Result<(), Refused> {
    let known = sale.extras.as_deref().map(|extras| extras.list(piece.list));
    let ids: HashSet<&[u8]> = piece.users.iter().map(|listed| listed.user).collect();
    let differ = ids.len() == piece.users.len() && !ids.is_empty();
    let is_new = |user: &&[u8]| known.is_none_or(|users| users.is_new(user));
    let has_room = known.is_none_or(|users| users.has_room_for(ids.len()));
    check(differ && has_room && ids.iter().all(is_new))
}

/// Checks amounts, if the sale has a list and room for them.
pub(crate) fn check_amounts(sale: &Sale, added: &[u64]) -> Result<(), Refused> {
    let list = sale.amounts().ok_or(Refused::Law)?;
    let sum = added.iter().try_fold(list.sum(), |sum, amount| sum.checked_add(*amount));
    let fits = list.len() + added.len() as u64 <= sale.balances.packets.unwrap_or(0)
        && sum.is_some_and(|sum| sum <= sale.balances.available);
    check(!added.is_empty() && fits)
}

/// Checks trimmed grants, which are still to come in this round. `balances` are the numbers after
/// them. A grant's quantity is compared with its first quantity when the grant is loaded.
pub(crate) fn check_trims(
    sale: &Sale,
    added: &[Trimmed],
    balances: &Balances,
) -> Result<(), Refused> {
    let ascend = added.is_sorted_by(|a, b| a.seq < b.seq);
    let last = sale.ledger.last_trim().max(balances.grants);
    let follow = added.first().is_some_and(|it| it.seq > last);
    let within = added.last().is_some_and(|it| it.seq <= GRANTS_MAX);
    check(ascend && follow && within && sale.terms.draw().is_none())
}

/// Checks waiters: they follow the sale's, and their requests were not granted. `balances` are the
/// numbers after them.
pub(crate) fn check_waiters(
    sale: &Sale,
    added: &[StandingWaiter<'_>],
    balances: &Balances,
) -> Result<(), Refused> {
    let list = sale.waitlist().ok_or(Refused::Law)?;
    let users: HashSet<&[u8]> = added.iter().map(|it| it.waiter.user).collect();
    let differ = users.len() == added.len() && !added.is_empty();
    let newest = list.len().checked_sub(1).and_then(|last| list.nth(last));
    let tickets = || newest.into_iter().chain(added.iter().map(|it| it.waiter.ticket));
    let ascend = tickets().zip(tickets().skip(1)).all(|(one, next)| one < next);
    let last = tickets().last().unwrap_or_default();
    let oldest = list.nth(0).or(tickets().next()).unwrap_or_default();
    let spans = last.saturating_sub(oldest) < u64::from(u32::MAX);
    let is_new = |it: &StandingWaiter<'_>| {
        let Waiter { user, req, at, qty, .. } = it.waiter;
        let is_unknown = list.find(user).is_none() && sale.ledger.by_req(user, req).is_none();
        at <= balances.t && sale.is_home(user) && is_unknown && sale.may_grant(qty)
    };
    let all = list.len() + added.len() as u64;
    let kept = (sale.restocks.len() + sale.fences.len()) as u64;
    let fits = all <= WAITERS_MAX && last <= list.totals.last_ticket && sale.terms.offer_ms() > 0;
    let counted = counts_all(balances, kept, all);
    check(differ && ascend && spans && fits && counted && added.iter().all(is_new))
}

/// `count` waiters after the first `first`.
pub(super) fn waiters_from(sale: &Sale, first: u64, count: usize) -> Vec<StandingWaiter<'_>> {
    let Some(list) = sale.waitlist() else { return Vec::new() };
    let Some(ticket) = list.nth(first) else { return Vec::new() };
    let waiters = list.iter_from(ticket).take(count);
    waiters.map(|waiter| StandingWaiter { passed: list.passed(waiter.ticket), waiter }).collect()
}

/// Trimmed grants of a round, from seq `first` on.
pub(super) fn trims_from(ledger: &Ledger, first: u64) -> Vec<Trimmed> {
    let trims = ledger.trims_from(first).take(TRIMS_PER_PIECE);
    trims.map(|(seq, first)| Trimmed { seq, first }).collect()
}

/// Adds trimmed grants that were checked.
pub(crate) fn add_trims(sale: &mut Sale, added: &[Trimmed]) {
    added.iter().for_each(|it| sale.ledger.expect_trim(it.seq, it.first));
}

/// Adds waiters that were checked.
pub(crate) fn add_waiters(sale: &mut Sale, added: &[StandingWaiter<'_>]) {
    let Some(list) = sale.waitlist_mut() else { return };
    for StandingWaiter { waiter, passed } in added {
        list.join(waiter);
        list.pass(waiter.ticket, *passed);
    }
}

/// Adds restock ids that were checked.
pub(crate) fn add_restock_ids(sale: &mut Sale, kept: &[RestockId<'_>]) {
    for RestockId { req, delta, applied, available } in kept.iter().copied() {
        sale.restocks.push(Restocked { req: req.into(), delta, applied, available });
    }
}

/// Adds users that were checked.
pub(crate) fn add_listed(sale: &mut Sale, piece: &ListedUsers<'_>) {
    let known = sale.extras_mut().list_mut(piece.list);
    piece.users.iter().for_each(|listed| known.append(listed));
}

/// Adds amounts that were checked.
pub(crate) fn add_amounts(sale: &mut Sale, added: &[u64]) {
    if let Some(list) = sale.amounts_mut() {
        added.iter().for_each(|amount| list.push(*amount));
    }
}
