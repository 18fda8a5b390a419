//! The pieces of a sale: which there are, and those of its lists written.

use super::{put_numbers, Kind};
use crate::admission::{List, LISTS};
use crate::codec::effect::list_code;
use crate::codec::rows;
use crate::draw::amounts::Amounts;
use crate::memory::bytes::{put_amounts, put_bytes, put_varint, zigzag};
use crate::model::limits::{AMOUNTS_PER_PIECE, USERS_PER_PIECE};
use crate::Sale;

/// Fences in one piece: with the longest ids it stays within the bound of a piece.
const FENCES_PER_PIECE: usize = 256;

/// A piece that is to be written.
enum Part {
    RestockIds,
    /// The first and how many, as of amounts and rows.
    Fences(usize, usize),
    /// From this place on.
    Listed(List, u64),
    Amounts(usize, usize),
    Rows(u64, usize),
    /// The round at this place among all that are kept.
    Turn(usize),
}

impl Sale {
    /// Every piece of what replicates, in order, the base first.
    pub fn pieces(&self) -> impl Iterator<Item = (Kind, Vec<u8>)> + '_ {
        let plan = self.layout();
        let base = (Kind::Base, self.write_base(plan.len() as u64));
        core::iter::once(base).chain(plan.into_iter().map(|part| match part {
            Part::RestockIds => (Kind::RestockIds, self.write_restocks()),
            Part::Fences(first, count) => (Kind::Fences, self.write_fences(first, count)),
            Part::Listed(list, first) => (Kind::Listed, self.write_listed(list, first)),
            Part::Amounts(first, count) => (Kind::Amounts, self.write_amounts(first, count)),
            Part::Rows(first, count) => {
                (Kind::Rows, rows::write(self.round_of(first).ledger, first, count))
            }
            Part::Turn(place) => (Kind::Turn, self.write_turn(place)),
        }))
    }

    /// The piece that only a dump holds.
    pub fn refusals_piece(&self) -> (Kind, Vec<u8>) {
        let mut out = Vec::new();
        put_numbers(&mut out, self.refusals.numbers());
        (Kind::Refusals, out)
    }

    /// Cuts the lists into bounded parts. Depends on the grants alone, so that equal sales have
    /// equal pieces.
    fn layout(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        if !self.restocks.is_empty() {
            parts.push(Part::RestockIds);
        }
        for first in (0..self.fences.len()).step_by(FENCES_PER_PIECE) {
            parts.push(Part::Fences(first, FENCES_PER_PIECE));
        }
        for list in LISTS {
            let users = self.extras.iter().flat_map(|extras| extras.list(list).iter_from(0));
            let firsts = users.step_by(USERS_PER_PIECE);
            parts.extend(firsts.map(|(first, _)| Part::Listed(list, first)));
        }
        let amounts = self.amounts().map_or(0, Amounts::len) as usize;
        for first in (0..amounts).step_by(AMOUNTS_PER_PIECE) {
            parts.push(Part::Amounts(first, AMOUNTS_PER_PIECE));
        }
        for (place, ledger) in self.ledgers().enumerate() {
            if place > 0 {
                parts.push(Part::Turn(place));
            }
            parts.extend(rows::cut(ledger).map(|(first, count)| Part::Rows(first, count)));
        }
        parts
    }

    /// The number of the list, then its users: whether each is in, and who.
    fn write_listed(&self, list: List, first: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, list_code(list));
        if let Some(extras) = &self.extras {
            for (_, listed) in extras.list(list).iter_from(first).take(USERS_PER_PIECE) {
                out.push(listed.is_in.into());
                put_bytes(&mut out, listed.user);
            }
        }
        out
    }

    /// The amounts themselves.
    fn write_amounts(&self, first: usize, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(list) = self.amounts() {
            put_amounts(&mut out, list.iter().skip(first).take(count));
        }
        out
    }

    /// User, request id and time of each.
    fn write_fences(&self, first: usize, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for fence in self.fences.part(first, count) {
            put_bytes(&mut out, fence.user);
            put_bytes(&mut out, fence.req);
            put_varint(&mut out, fence.at);
        }
        out
    }

    /// Of each its id, what it asked for, what came of it and what was available then.
    fn write_restocks(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for restock in self.restocks.iter() {
            put_bytes(&mut out, &restock.req);
            put_varint(&mut out, zigzag(restock.delta));
            put_varint(&mut out, zigzag(restock.applied));
            put_varint(&mut out, restock.available);
        }
        out
    }
}
