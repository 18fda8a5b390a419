//! The lists of a snapshot: restock ids, fences, users, drawn amounts. Each piece is checked as a
//! whole before any of it is taken over.

use std::collections::HashSet;

use crate::admission::users::Listed;
use crate::admission::{List, LISTS};
use crate::codec::effect::{list_of, Effect};
use crate::codec::snapshot::{counts_all, take_number};
use crate::dedup::fences::Fence;
use crate::dedup::restocks::Restocked;
use crate::memory::bytes::take_amounts as take_amounts_of;
use crate::memory::bytes::{unzigzag, Reader};
use crate::model::balances::Balances;
use crate::model::limits::{
    AMOUNTS_PER_PIECE, FENCES_KEPT_MAX, INTEGER_MAX, REQ_BYTES_MAX, RESTOCKS_KEPT_MAX, TIME_MS_MAX,
    USERS_PER_PIECE, USER_BYTES_MAX,
};
use crate::model::outcome::Refused;
use crate::Sale;

/// Whether a piece comes before those that are written behind it. Pieces count as versions, and
/// only in the order in which they are written is there room for all of them.
pub(crate) fn is_in_order(sale: &Sale, piece: &Effect<'_>) -> bool {
    let has_rows = !sale.ledger.is_empty() || sale.older().next().is_some();
    let has_amounts = has_rows || sale.amounts().is_some_and(|list| !list.is_empty());
    let is_filled = |list: &List| sale.extras.iter().any(|it| it.list(*list).places() > 0);
    let has_users = has_amounts || LISTS.iter().any(is_filled);
    match piece {
        Effect::RestockIds(_) => sale.fences.is_empty() && !has_users,
        Effect::Fences(_) => !has_users,
        Effect::Listed(_) => !has_amounts,
        Effect::Amounts(_) => !has_rows,
        _ => true,
    }
}

/// The restock ids of a piece, if it is in order and the sale has none yet.
fn restocks_in(sale: &Sale, piece: &[u8]) -> Result<Vec<Restocked>, Refused> {
    let mut reader = Reader::new(piece);
    let mut kept: Vec<Restocked> = Vec::new();
    let mut ids = HashSet::new();
    while !reader.is_empty() {
        let restock = restock_row(&mut reader).ok_or(Refused::Unknown)?;
        if !ids.insert(restock.req.clone()) || kept.len() == RESTOCKS_KEPT_MAX {
            return Err(Refused::Law);
        }
        kept.push(restock);
    }
    if !sale.restocks.is_empty() || kept.is_empty() {
        return Err(Refused::Law);
    }
    Ok(kept)
}

/// Checks a piece of restock ids. `balances` is where the sale stands after it.
pub(crate) fn check_restocks(
    sale: &Sale,
    piece: &[u8],
    balances: &Balances,
) -> Result<(), Refused> {
    let kept = restocks_in(sale, piece)?;
    match counts_all(balances, kept.len() as u64, sale.fences.len() as u64) {
        true => Ok(()),
        false => Err(Refused::Law),
    }
}

/// Takes over a piece that was checked.
pub(crate) fn take_restocks(sale: &mut Sale, piece: &[u8]) {
    let kept = restocks_in(sale, piece).unwrap_or_default();
    kept.into_iter().for_each(|restock| sale.restocks.push(restock));
}

fn restock_row(reader: &mut Reader<'_>) -> Option<Restocked> {
    let req = reader.bytes().filter(|req| (1..=REQ_BYTES_MAX).contains(&req.len()))?;
    let delta = unzigzag(reader.varint()?);
    let applied = unzigzag(reader.varint()?);
    let available = take_number(reader)?;
    let possible = delta.unsigned_abs() <= INTEGER_MAX
        && delta != 0
        && (delta == applied || (delta < applied && applied <= 0));
    possible.then(|| Restocked { req: req.into(), delta, applied, available })
}

fn fence_row<'a>(reader: &mut Reader<'a>) -> Option<Fence<'a>> {
    let user = reader.bytes().filter(|user| (1..=USER_BYTES_MAX).contains(&user.len()))?;
    let req = reader.bytes().filter(|req| (1..=REQ_BYTES_MAX).contains(&req.len()))?;
    let at = reader.varint().filter(|at| *at <= TIME_MS_MAX)?;
    Some(Fence { user, req, at })
}

/// Checks a piece of fences. `balances` is where the sale stands after it.
pub(crate) fn check_fences(sale: &Sale, piece: &[u8], balances: &Balances) -> Result<(), Refused> {
    let mut reader = Reader::new(piece);
    let mut ids = HashSet::new();
    while !reader.is_empty() {
        let fence = fence_row(&mut reader).ok_or(Refused::Unknown)?;
        let is_new = ids.insert((fence.user, fence.req)) && sale.fences.has_room_for(&fence);
        if !is_new || fence.at > balances.t {
            return Err(Refused::Law);
        }
    }
    let fences = sale.fences.len() + ids.len();
    let fits = counts_all(balances, sale.restocks.len() as u64, fences as u64);
    if ids.is_empty() || fences > FENCES_KEPT_MAX || !fits {
        return Err(Refused::Law);
    }
    Ok(())
}

/// Takes over a piece that was checked.
pub(crate) fn take_fences(sale: &mut Sale, piece: &[u8]) {
    let mut reader = Reader::new(piece);
    while let Some(fence) = fence_row(&mut reader) {
        sale.fences.load(&fence);
    }
}

/// The list of a piece and its users, if they are new to it.
fn listed_in<'a>(sale: &Sale, piece: &'a [u8]) -> Result<(List, Vec<Listed<'a>>), Refused> {
    let mut reader = Reader::new(piece);
    let list = reader.varint().and_then(list_of).ok_or(Refused::Unknown)?;
    let known = sale.extras.as_deref().map(|extras| extras.list(list));
    let mut ids = HashSet::new();
    let mut users = Vec::new();
    while !reader.is_empty() {
        let listed = listed_row(&mut reader).ok_or(Refused::Unknown)?;
        let is_new = known.is_none_or(|users| users.is_new(listed.user) && users.has_room_for(1));
        if !is_new || !ids.insert(listed.user) || users.len() == USERS_PER_PIECE {
            return Err(Refused::Law);
        }
        users.push(listed);
    }
    if users.is_empty() {
        return Err(Refused::Law);
    }
    Ok((list, users))
}

fn listed_row<'a>(reader: &mut Reader<'a>) -> Option<Listed<'a>> {
    let is_in = match reader.byte()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let user = reader.bytes().filter(|user| (1..=USER_BYTES_MAX).contains(&user.len()))?;
    Some(Listed { user, is_in })
}

pub(crate) fn check_listed(sale: &Sale, piece: &[u8]) -> Result<(), Refused> {
    listed_in(sale, piece).map(|_| ())
}

/// Takes over a piece that was checked.
pub(crate) fn take_listed(sale: &mut Sale, piece: &[u8]) {
    if let Ok((list, users)) = listed_in(sale, piece) {
        let known = sale.extras_mut().list_mut(list);
        users.iter().for_each(|listed| known.append(listed));
    }
}

/// The amounts of a piece, if the sale has a list and room for them.
fn amounts_in(sale: &Sale, piece: &[u8]) -> Result<Vec<u64>, Refused> {
    let list = sale.amounts().ok_or(Refused::Law)?;
    let amounts = take_amounts_of(piece).ok_or(Refused::Unknown)?;
    let sum = amounts.iter().try_fold(list.sum(), |sum, amount| sum.checked_add(*amount));
    let fits = !amounts.contains(&0)
        && !amounts.is_empty()
        && amounts.len() <= AMOUNTS_PER_PIECE
        && list.len() + amounts.len() as u64 <= sale.balances.packets.unwrap_or(0)
        && sum.is_some_and(|sum| sum <= sale.balances.available);
    fits.then_some(amounts).ok_or(Refused::Law)
}

/// What is listed once the last piece has come: how many amounts, and their sum.
pub(crate) fn amounts_with(sale: &Sale, last: Option<&Effect<'_>>) -> Option<(u64, u64)> {
    let list = sale.amounts()?;
    let further = match last {
        Some(Effect::Amounts(piece)) => amounts_in(sale, piece).unwrap_or_default(),
        _ => Vec::new(),
    };
    let sum = list.sum().saturating_add(further.iter().sum());
    Some((list.len() + further.len() as u64, sum))
}

pub(crate) fn check_amounts(sale: &Sale, piece: &[u8]) -> Result<(), Refused> {
    amounts_in(sale, piece).map(|_| ())
}

/// Takes over a piece that was checked.
pub(crate) fn take_amounts(sale: &mut Sale, piece: &[u8]) {
    let amounts = amounts_in(sale, piece).unwrap_or_default();
    if let Some(list) = sale.amounts_mut() {
        amounts.into_iter().for_each(|amount| list.push(amount));
    }
}
