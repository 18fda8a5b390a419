//! The binary form of a sale: pieces, which are saved in a dump, emitted when an AOF is rewritten,
//! and digested to compare nodes.
//!
//! The base has everything but the lists; every other piece is a bounded part of a list. A sale
//! rebuilt from its base alone obeys the law with all units available and none granted. Each piece
//! of grants then moves units as its grants did. Each piece except `Refusals` advances the version
//! by one, so that a rewritten AOF is an ordinary sequence of effects that ends at the sale's
//! version.
//!
//! The pieces come in this order, `*` any number of them:
//!
//! ```text
//! Base  Pairs?  RestockIds?  Fences*  Listed*  Amounts*  Trims*  Grants*
//! (Round  Trims*  Grants*)*  NumberedGrants*  Waiters*  Refusals
//! ```
//! Grants come round by round, the oldest kept round first; only dumps have `Refusals`.

mod base;
mod grants;
pub(crate) mod pieces;
mod tests;

use serde::{Deserialize, Serialize};

use crate::admission::{List, LISTS};
use crate::dedup::Fence;
use crate::draw::Amounts;
use crate::model::balances::Balances;
use crate::model::limits::{
    AMOUNTS_PER_PIECE, FENCES_PER_PIECE, TRIMS_PER_PIECE, USERS_PER_PIECE, WAITERS_PER_PIECE,
};
use crate::model::outcome::Refused;
use crate::model::wire::{self, End};
use crate::parts::Pair;
use crate::state::status::Refusals;
use crate::Sale;

use grants::{Grants, NumberedGrants};
use pieces::{ListedUsers, RestockId, StandingWaiter, Trimmed};

pub use base::{Base, RoundStart};

/// A piece of a sale.
///
/// The order of the variants, and of the fields of each, is the encoding: a later version may
/// append variants, but never fields. The order of pieces in a dump is another one, see above.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Piece<'a> {
    /// Everything outside the other pieces; comes first.
    Base(Box<Base>),
    /// Request ids of the last RESTOCKs.
    RestockIds(#[serde(borrow, deserialize_with = "pieces::restock_ids")] Vec<RestockId<'a>>),
    /// Request ids that were cancelled before they were granted.
    Fences(#[serde(deserialize_with = "pieces::fences")] Vec<Fence<'a>>),
    /// Users on the lists, and admitted users.
    Listed(ListedUsers<'a>),
    /// The amounts of DRAW LIST that are left.
    Amounts(#[serde(deserialize_with = "pieces::amounts")] Vec<u64>),
    /// Grants in seq order.
    Grants(Grants<'a>),
    /// The next kept round; its grants follow.
    Round(RoundStart),
    /// Refusal counters, which belong to one node. Its dumps have them, but they are not replicated
    /// or digested.
    Refusals(Box<Refusals>),
    /// Units exchanged with other parts of a split.
    Pairs(#[serde(deserialize_with = "pieces::pairs")] Vec<Pair>),
    /// Waiters in order.
    Waiters(#[serde(borrow, deserialize_with = "pieces::waiters")] Vec<StandingWaiter<'a>>),
    /// First quantities of the round's trimmed grants, in seq order; the grants follow.
    Trims(#[serde(deserialize_with = "pieces::trims")] Vec<Trimmed>),
    /// Grants in seq order, in a sale whose units have numbers.
    NumberedGrants(#[serde(borrow)] NumberedGrants<'a>),
}

/// Versions of a piece's bytes in a dump. All variants stay readable; a later version is appended.
/// `P` is the piece, owned or borrowed.
#[derive(Serialize, Deserialize)]
enum SnapshotVersion<P> {
    V1(P),
}

impl<'a> Piece<'a> {
    /// Appends the bytes of this piece for dumps and digests.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let written = postcard::serialize_with_flavor(&SnapshotVersion::V1(self), End(out));
        debug_assert_eq!(written, Ok(()), "a piece of ours can be written");
    }

    /// Decodes the output of [`Piece::encode`]; refuses other bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Piece<'a>, Refused> {
        let SnapshotVersion::V1(piece) = wire::decode(bytes)?;
        Ok(piece)
    }
}

/// A piece to be encoded.
enum Section {
    Pairs,
    RestockIds,
    /// Fences from this number on.
    Fences(u64),
    /// Users of a list from this index on.
    Listed(List, u64),
    /// Index of the first amount, and the count.
    Amounts(usize, usize),
    Grants(u64, usize),
    /// The round at this index among all kept rounds.
    Round(usize),
    /// Waiters after the first n.
    Waiters(u64),
    /// Trimmed grants of a round, from this seq on.
    Trims(u64),
}

impl Sale {
    /// All replicated pieces in order, the base first.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> + '_ {
        let sections = layout(self);
        let base = Piece::Base(Box::new(Base::of(self, sections.len() as u64)));
        core::iter::once(base).chain(sections.into_iter().map(|section| piece(self, section)))
    }

    /// The piece that occurs in dumps only.
    pub fn refusals_piece(&self) -> Piece<'_> {
        Piece::Refusals(Box::new(self.refusals))
    }
}

fn piece(sale: &Sale, section: Section) -> Piece<'_> {
    match section {
        Section::Pairs => Piece::Pairs(sale.pairs.as_slice().to_vec()),
        Section::RestockIds => Piece::RestockIds(sale.restocks.iter().map(RestockId::of).collect()),
        Section::Fences(first) => {
            let fences = sale.fences.iter_from(first).map(|(_, fence)| fence);
            Piece::Fences(fences.take(FENCES_PER_PIECE).collect())
        }
        Section::Listed(list, first) => Piece::Listed(listed(sale, list, first)),
        Section::Amounts(first, count) => {
            let left = sale.amounts().into_iter().flat_map(Amounts::iter);
            Piece::Amounts(left.skip(first).take(count).collect())
        }
        Section::Grants(first, count) => {
            let grants = Grants::of(sale.ledger_with(first), first, count);
            match sale.numbers() {
                None => Piece::Grants(grants),
                Some(numbers) => Piece::NumberedGrants(NumberedGrants::of(grants, numbers)),
            }
        }
        Section::Round(index) => Piece::Round(RoundStart::of(sale, index)),
        Section::Waiters(first) => {
            Piece::Waiters(pieces::waiters_from(sale, first, WAITERS_PER_PIECE))
        }
        Section::Trims(first) => Piece::Trims(pieces::trims_from(sale.ledger_with(first), first)),
    }
}

/// Cuts the lists into bounded sections. The result depends on the contents only, so that equal
/// sales have equal pieces.
fn layout(sale: &Sale) -> Vec<Section> {
    let mut sections = Vec::new();
    if !sale.pairs.as_slice().is_empty() {
        sections.push(Section::Pairs);
    }
    if !sale.restocks.is_empty() {
        sections.push(Section::RestockIds);
    }
    let firsts = sale.fences.iter_from(0).step_by(FENCES_PER_PIECE);
    sections.extend(firsts.map(|(first, _)| Section::Fences(first)));
    for list in LISTS {
        let users = sale.extras.iter().flat_map(|extras| extras.list(list).iter_from(0));
        let firsts = users.step_by(USERS_PER_PIECE);
        sections.extend(firsts.map(|(first, _)| Section::Listed(list, first)));
    }
    let amounts = sale.amounts().map_or(0, Amounts::len) as usize;
    for first in (0..amounts).step_by(AMOUNTS_PER_PIECE) {
        sections.push(Section::Amounts(first, AMOUNTS_PER_PIECE));
    }
    for (index, ledger) in sale.ledgers().enumerate() {
        if index > 0 {
            sections.push(Section::Round(index));
        }
        let trims = ledger.trims_from(0).step_by(TRIMS_PER_PIECE);
        sections.extend(trims.map(|(first, _)| Section::Trims(first)));
        let cut = grants::cut(ledger, sale.numbers());
        sections.extend(cut.map(|(first, count)| Section::Grants(first, count)));
    }
    let waiting = sale.waitlist().map_or(0, |list| list.len());
    sections.extend((0..waiting).step_by(WAITERS_PER_PIECE).map(Section::Waiters));
    sections
}

fn listed(sale: &Sale, list: List, first: u64) -> ListedUsers<'_> {
    let users = sale.extras.iter().flat_map(|extras| extras.list(list).iter_from(first));
    ListedUsers { list, users: users.map(|(_, user)| user).take(USERS_PER_PIECE).collect() }
}

/// For a list: the users on it, and its entries with removed users included.
fn list_size(sale: &Sale, list: List) -> (u64, u64) {
    let users = sale.extras.as_deref().map(|extras| extras.list(list));
    users.map_or((0, 0), |users| (users.len(), users.records()))
}

/// Whether `piece` may come next. Each piece counts as a version, and the version has room for all
/// of them only in the order of encoding.
pub(crate) fn is_in_order(sale: &Sale, piece: &Piece<'_>) -> bool {
    if sale.waiters().is_some() {
        return matches!(piece, Piece::Waiters(_) | Piece::Refusals(_));
    }
    let has_grants = !sale.ledger.is_empty() || sale.older().next().is_some();
    let has_rows = has_grants || sale.ledger.trims_len() > 0;
    let has_amounts = has_rows || sale.amounts().is_some_and(|list| !list.is_empty());
    let is_filled = |list: &List| sale.extras.iter().any(|it| it.list(*list).records() > 0);
    let has_users = has_amounts || LISTS.iter().any(is_filled);
    match piece {
        Piece::Pairs(_) => sale.restocks.is_empty() && sale.fences.is_empty() && !has_users,
        Piece::RestockIds(_) => sale.fences.is_empty() && !has_users,
        Piece::Fences(_) => !has_users,
        Piece::Listed(_) => !has_amounts,
        Piece::Amounts(_) => !has_rows,
        Piece::Trims(_) => sale.ledger.is_empty(),
        Piece::Base(_) | Piece::Grants(_) | Piece::Round(_) | Piece::Refusals(_) => true,
        Piece::Waiters(_) | Piece::NumberedGrants(_) => true,
    }
}

/// Checks after the last piece. There are as many amounts as packets, and no total is of a later
/// round. Later rounds begin with no more units than this one. Nothing is available while units are
/// owed. Every announced epoch has granted. The units a part sent and received agree with its
/// numbers. `balances` are the numbers after that piece.
pub(crate) fn completes(sale: &Sale, last: Option<&Piece<'_>>, balances: &Balances) -> bool {
    let amounts = amounts_with(sale, last);
    let (rounds, supply) = (sale.rounds(), balances.supply);
    let totals = rounds.and_then(|rounds| rounds.totals.back());
    let have_granted = match last {
        // The grants would be later pieces.
        Some(Piece::Round(next)) => next.epochs.is_empty(),
        Some(Piece::Trims(_)) => false,
        _ => {
            sale.ledger.all_epochs_granted(balances.grants)
                && sale.ledger.last_trim() <= balances.grants
        }
    };
    amounts.is_none_or(|(len, sum)| Some(len) == balances.packets && sum == balances.available)
        && totals.is_none_or(|total| total.round < balances.round)
        && rounds.is_none_or(|rounds| rounds.base_supply <= supply)
        && (balances.deficit == 0 || balances.available == 0)
        && have_granted
        // A piece of pairs was compared with the numbers already.
        && (matches!(last, Some(Piece::Pairs(_))) || sale.pairs_agree())
}

/// The listed amounts, count and sum, after the last piece, which was checked.
fn amounts_with(sale: &Sale, last: Option<&Piece<'_>>) -> Option<(u64, u64)> {
    let list = sale.amounts()?;
    let last: &[u64] = match last {
        Some(Piece::Amounts(amounts)) => amounts,
        _ => &[],
    };
    let sum = list.sum().saturating_add(last.iter().sum());
    Some((list.len() + last.len() as u64, sum))
}
