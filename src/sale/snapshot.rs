//! The binary form of a sale: pieces that are saved in a dump, emitted when a log is rewritten and
//! digested to compare nodes.
//!
//! The base has everything but the lists; every further piece is a bounded part of a list. A sale
//! rebuilt from its base alone is lawful with all units available and none granted; each piece of
//! rows then moves units as grants did, and each piece advances the version by one, so that a
//! rewritten log is an ordinary sequence of effects that ends at the sale's version.

use std::collections::HashSet;

use super::bytes::{put_bytes, put_varint, unzigzag, zigzag, Reader};
use super::core::Core;
use super::effect::{Change, Effect};
use super::fences::Fence;
use super::ledger::{Grant, HashKey, NewGrant};
use super::limits::{
    FENCES_KEPT_MAX, HOLD_MS_MAX, INTEGER_MAX, PIECE_BYTES_MAX, PIECE_BYTES_TARGET, REQ_BYTES_MAX,
    RESTOCKS_KEPT_MAX, ROWS_PER_PIECE_MAX, TIME_MS_MAX, USER_BYTES_MAX,
};
use super::outcome::{Refused, State};
use super::record::{self, Record};
use super::restocks::Restocked;
use super::status::{Refusals, Tallies};
use super::terms::{Terms, TermsChange};
use super::Sale;

/// Version of the form. Older ones stay readable, newer ones are refused.
///
/// 1: a plain sale. 2: adds the outbox and the fences.
pub const FORMAT_VERSION: u8 = 2;

/// What a piece holds. The letter is the one of the effect that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Base,
    RestockIds,
    Fences,
    Rows,
    /// Refusal counters: of one node, so in its dumps but neither replicated nor digested.
    Refusals,
}

impl Kind {
    /// The letter that marks a piece in a dump.
    pub fn letter(self) -> u8 {
        match self {
            Kind::Base => b'B',
            Kind::RestockIds => b'K',
            Kind::Fences => b'J',
            Kind::Rows => b'L',
            Kind::Refusals => b'C',
        }
    }
}

/// What a base says will follow, and where it must end.
#[derive(Clone, Debug)]
pub struct Stated {
    core: Core,
    restocks: u64,
    fences: u64,
    winners: u64,
}

impl Sale {
    /// Every piece of what replicates, in order, the base first.
    pub fn pieces(&self) -> impl Iterator<Item = (Kind, Vec<u8>)> + '_ {
        let plan = self.plan();
        let base = (Kind::Base, self.write_base(plan.len() as u64));
        core::iter::once(base).chain(plan.into_iter().map(|part| match part {
            Part::RestockIds => (Kind::RestockIds, self.write_restocks()),
            Part::Fences(first, count) => (Kind::Fences, self.write_fences(first, count)),
            Part::Rows(first, count) => (Kind::Rows, self.write_rows(first, count)),
        }))
    }

    /// The piece that only a dump holds.
    pub fn refusals_piece(&self) -> (Kind, Vec<u8>) {
        let mut out = Vec::new();
        self.refusals.numbers().iter().for_each(|number| put_varint(&mut out, *number));
        (Kind::Refusals, out)
    }

    /// Cuts the lists into bounded parts. Depends on the grants alone, so that equal sales have
    /// equal pieces.
    fn plan(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        if !self.restocks.is_empty() {
            parts.push(Part::RestockIds);
        }
        for first in (0..self.fences.len()).step_by(FENCES_PER_PIECE) {
            parts.push(Part::Fences(first, FENCES_PER_PIECE));
        }
        let (mut first, mut rows, mut bytes) = (1, 0, 0);
        for seq in 1..=self.ledger.len() {
            rows += 1;
            bytes += self.ledger.grant(seq).map_or(0, |grant| row_bytes_at_most(&grant));
            if rows == ROWS_PER_PIECE_MAX || bytes >= PIECE_BYTES_TARGET {
                parts.push(Part::Rows(first, rows));
                (first, rows, bytes) = (seq + 1, 0, 0);
            }
        }
        if rows > 0 {
            parts.push(Part::Rows(first, rows));
        }
        parts
    }

    fn write_base(&self, pieces: u64) -> Vec<u8> {
        let mut out = vec![FORMAT_VERSION];
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.secret);
        put_varint(&mut out, self.told_supply);
        put_terms(&mut out, &self.told_terms);
        put_terms(&mut out, &self.terms);
        let core = &self.core;
        let numbers = [
            self.created_at,
            u64::from(self.paused),
            core.version,
            core.rev,
            core.t,
            core.epoch,
            core.supply,
            core.available,
            core.held,
            core.sold,
            core.deficit,
            core.grants,
            core.last_grant_at,
            self.ledger.winners(),
            self.restocks.len() as u64,
            pieces,
        ];
        numbers.iter().for_each(|number| put_varint(&mut out, *number));
        self.tallies.numbers().iter().for_each(|number| put_varint(&mut out, *number));
        put_varint(&mut out, self.ledger.epochs().len() as u64);
        for (first, epoch) in self.ledger.epochs() {
            put_varint(&mut out, (*first).into());
            put_varint(&mut out, *epoch);
        }
        put_outbox(&mut out, &self.told_terms);
        put_outbox(&mut out, &self.terms);
        put_varint(&mut out, self.fences.len() as u64);
        put_varint(&mut out, self.fences.dropped());
        out
    }

    fn write_fences(&self, first: usize, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for fence in self.fences.part(first, count) {
            put_bytes(&mut out, fence.user);
            put_bytes(&mut out, fence.req);
            put_varint(&mut out, fence.at);
        }
        out
    }

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

    fn write_rows(&self, first: u64, count: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(PIECE_BYTES_TARGET / 2);
        let base_at = self.ledger.grant(first).map_or(0, |grant| grant.at);
        put_varint(&mut out, first);
        put_varint(&mut out, count as u64);
        put_varint(&mut out, base_at);
        for grant in (first..).take(count).filter_map(|seq| self.ledger.grant(seq)) {
            let row = Record {
                user: grant.user,
                req: grant.req,
                qty: grant.qty,
                state: grant.state,
                at: grant.at,
                deadline: grant.held_until,
                prev: 0,
            };
            record::write(&mut out, &row, base_at);
        }
        out
    }
}

/// Fences in one piece: with the longest ids it stays within the bound of a piece.
const FENCES_PER_PIECE: usize = 256;

enum Part {
    RestockIds,
    Fences(usize, usize),
    Rows(u64, usize),
}

/// An upper bound of a row's size that does not depend on its neighbours.
fn row_bytes_at_most(grant: &Grant<'_>) -> usize {
    grant.user.len() + grant.req_id().map_or(0, <[u8]>::len) + 24
}

fn put_terms(out: &mut Vec<u8>, terms: &Terms) {
    for (_, number) in TermsChange::all_of(terms).fields() {
        put_varint(out, number.unwrap_or(0));
    }
}

fn put_outbox(out: &mut Vec<u8>, terms: &Terms) {
    put_bytes(out, terms.outbox.as_deref().unwrap_or_default());
}

fn take_outbox(reader: &mut Reader<'_>) -> Option<Option<Box<[u8]>>> {
    let name = reader.bytes()?;
    Some((!name.is_empty()).then(|| name.into()))
}

fn take_terms(reader: &mut Reader<'_>) -> Option<Terms> {
    let mut complete = true;
    let change = TermsChange::from_fields(|_| {
        let number = reader.varint().filter(|number| *number <= INTEGER_MAX);
        complete &= number.is_some();
        number
    });
    complete.then(|| Terms::default().altered(&change))
}

/// Reads a base into a sale that has all its units available and no grant yet.
pub fn read_base(piece: &[u8], key: HashKey) -> Result<(Sale, Stated), Refused> {
    let mut reader = Reader::new(piece);
    let format = reader.byte().ok_or(Refused::Unknown)?;
    if !(1..=FORMAT_VERSION).contains(&format) {
        return Err(Refused::Unknown);
    }
    let (sale, stated) = base_fields(&mut reader, format, key).ok_or(Refused::Unknown)?;
    let terms_hold = sale.terms.check().is_ok() && sale.told_terms.check().is_ok();
    let ordered = sale.created_at <= sale.core.t;
    let counted = counts_all(&stated.core, stated.restocks, stated.fences);
    let lawful = stated.core.is_lawful() && sale.core.is_lawful();
    if !reader.is_empty() || !terms_hold || !ordered || !counted || !lawful {
        return Err(Refused::Law);
    }
    Ok((sale, stated))
}

/// Whether the version counts at least the INIT and every grant, restock and fence that is kept:
/// each was a change. So it has room for the pieces of the sale, however they are cut.
fn counts_all(core: &Core, restocks: u64, fences: u64) -> bool {
    core.version > core.grants.saturating_add(restocks).saturating_add(fences)
}

fn base_fields(reader: &mut Reader<'_>, format: u8, key: HashKey) -> Option<(Sale, Stated)> {
    let id = u64::from_be_bytes(reader.array()?);
    let secret = reader.array()?;
    let told_supply = take_number(reader)?;
    let mut told_terms = take_terms(reader)?;
    let terms = take_terms(reader)?;
    let mut number = || take_number(reader);
    let created_at = number()?;
    let paused = match number()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let core = Core {
        version: number()?,
        rev: number()?,
        t: number()?,
        epoch: number()?,
        supply: number()?,
        available: number()?,
        held: number()?,
        sold: number()?,
        deficit: number()?,
        grants: number()?,
        last_grant_at: number()?,
    };
    let mut stated = Stated { core, winners: number()?, restocks: number()?, fences: 0 };
    let pieces = number()?;
    let tallies = Tallies::from_numbers(&mut number)?;
    let mut sale = Sale::blank(id, secret, terms, key);
    for _ in 0..number()? {
        let (first, epoch) = (u32::try_from(number()?).ok()?, number()?);
        if epoch > core.epoch || !sale.ledger.expect_epoch(first, epoch) {
            return None;
        }
    }
    if format >= 2 {
        told_terms.outbox = take_outbox(reader)?;
        sale.terms.outbox = take_outbox(reader)?;
        stated.fences = take_number(reader)?;
        sale.fences.set_dropped(take_number(reader)?);
    }
    sale.told_supply = told_supply;
    sale.told_terms = told_terms;
    sale.created_at = created_at;
    sale.paused = paused;
    sale.tallies = tallies;
    // The INIT was a change, too, and comes before the pieces.
    let version = core.version.checked_sub(pieces).filter(|version| *version > 0)?;
    let (available, held, sold, grants) = (core.supply, 0, 0, 0);
    sale.core = Core { version, available, held, sold, grants, ..core };
    Some((sale, stated))
}

fn take_number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.varint().filter(|number| *number <= INTEGER_MAX)
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

/// Checks a piece of restock ids. `core` is where the sale stands after it.
pub(super) fn check_restocks(sale: &Sale, piece: &[u8], core: &Core) -> Result<(), Refused> {
    let kept = restocks_in(sale, piece)?;
    match counts_all(core, kept.len() as u64, sale.fences.len() as u64) {
        true => Ok(()),
        false => Err(Refused::Law),
    }
}

/// Takes over a piece that was checked.
pub(super) fn take_restocks(sale: &mut Sale, piece: &[u8]) {
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

/// Checks a piece of fences. `core` is where the sale stands after it.
pub(super) fn check_fences(sale: &Sale, piece: &[u8], core: &Core) -> Result<(), Refused> {
    let mut reader = Reader::new(piece);
    let mut ids = HashSet::new();
    while !reader.is_empty() {
        let fence = fence_row(&mut reader).ok_or(Refused::Unknown)?;
        let is_new = ids.insert((fence.user, fence.req)) && sale.fences.has_room_for(&fence);
        if !is_new || fence.at > core.t {
            return Err(Refused::Law);
        }
    }
    let fences = sale.fences.len() + ids.len();
    let fits = counts_all(core, sale.restocks.len() as u64, fences as u64);
    if ids.is_empty() || fences > FENCES_KEPT_MAX || !fits {
        return Err(Refused::Law);
    }
    Ok(())
}

/// Takes over a piece that was checked.
pub(super) fn take_fences(sale: &mut Sale, piece: &[u8]) {
    let mut reader = Reader::new(piece);
    while let Some(fence) = fence_row(&mut reader) {
        sale.fences.load(&fence);
    }
}

/// First seq, number of rows, and base of their times; then the rows.
fn rows_head(reader: &mut Reader<'_>) -> Option<(u64, u64, u64)> {
    Some((reader.varint()?, reader.varint()?, reader.varint()?))
}

/// Checks grant rows that follow those the sale has, and moves the numbers along.
pub(super) fn check_rows(sale: &Sale, piece: &[u8], core: &mut Core) -> Result<(), Refused> {
    let mut reader = Reader::new(piece);
    let (first, count, base_at) = rows_head(&mut reader).ok_or(Refused::Unknown)?;
    let in_bounds = (1..=ROWS_PER_PIECE_MAX as u64).contains(&count);
    if first != core.grants + 1 || !in_bounds || piece.len() > PIECE_BYTES_MAX {
        return Err(Refused::Law);
    }
    let mut ids = HashSet::new();
    for _ in 0..count {
        let row = record::read(&mut reader, base_at).ok_or(Refused::Unknown)?;
        if !is_possible(&row) {
            return Err(Refused::Law);
        }
        if let Some(req) = row.req {
            let known = sale.ledger.by_req(row.user, req.id).is_some();
            if known || !ids.insert((row.user, req.id)) {
                return Err(Refused::Law);
            }
        }
        core.place(row.qty, row.state)?;
    }
    let fits = counts_all(core, sale.restocks.len() as u64, sale.fences.len() as u64);
    match (reader.is_empty(), fits) {
        (true, true) => Ok(()),
        (false, _) => Err(Refused::Unknown),
        (true, false) => Err(Refused::Law),
    }
}

/// Takes over a piece of rows that was checked.
pub(super) fn take_rows(sale: &mut Sale, piece: &[u8]) {
    let mut reader = Reader::new(piece);
    let Some((_, count, base_at)) = rows_head(&mut reader) else { return };
    for row in (0..count).map_while(|_| record::read(&mut reader, base_at)) {
        let new = NewGrant {
            user: row.user,
            req: row.req,
            qty: row.qty,
            state: row.state,
            at: row.at,
            held_until: row.deadline,
            epoch: sale.ledger.epoch_of(sale.ledger.len() + 1),
        };
        sale.ledger.push(&new, None);
    }
}

fn is_possible(row: &Record<'_>) -> bool {
    row.prev == 0
        && (1..=INTEGER_MAX).contains(&row.qty)
        && row.at <= TIME_MS_MAX
        && row.deadline <= TIME_MS_MAX + HOLD_MS_MAX
        && row.req.is_none_or(|req| req.id.len() <= REQ_BYTES_MAX)
        && (row.state != State::Held || row.deadline != 0)
}

/// Puts a dump together, piece by piece, and checks at the end that it is the sale it said.
pub struct Loader {
    sale: Sale,
    stated: Stated,
}

impl Loader {
    /// Starts with the base, marked with its letter as every piece of a dump is.
    pub fn start(marked: &[u8], key: HashKey) -> Result<Loader, Refused> {
        match marked.split_first() {
            Some((b'B', piece)) => {
                let (sale, stated) = read_base(piece, key)?;
                Ok(Loader { sale, stated })
            }
            _ => Err(Refused::Unknown),
        }
    }

    /// Adds one further piece.
    pub fn add(&mut self, marked: &[u8]) -> Result<(), Refused> {
        match marked.split_first() {
            Some((b'K', piece)) => self.piece(Effect::RestockIds(piece)),
            Some((b'J', piece)) => self.piece(Effect::Fences(piece)),
            Some((b'L', piece)) => self.piece(Effect::Rows(piece)),
            Some((b'C', piece)) => {
                let mut reader = Reader::new(piece);
                let mut number = || reader.varint().filter(|number| *number <= INTEGER_MAX);
                self.sale.refusals = Refusals::from_numbers(&mut number).ok_or(Refused::Unknown)?;
                if reader.is_empty() {
                    Ok(())
                } else {
                    Err(Refused::Unknown)
                }
            }
            _ => Err(Refused::Unknown),
        }
    }

    fn piece(&mut self, effect: Effect<'_>) -> Result<(), Refused> {
        self.sale.apply(&[Change::piece(effect)]).map(|_| ())
    }

    /// The sale, if it is the one that the base announced. `arrived_at` is the clock of a restore,
    /// 0 when the server loads its own file at start.
    pub fn finish(self, arrived_at: u64) -> Result<Sale, Refused> {
        let Loader { mut sale, stated } = self;
        let restocks = sale.restocks.len() as u64;
        let complete = sale.core == stated.core
            && sale.ledger.winners() == stated.winners
            && restocks == stated.restocks
            && sale.fences.len() as u64 == stated.fences
            && sale.ledger.has_only_epochs_that_granted();
        sale.arrived_at = arrived_at;
        if complete {
            Ok(sale)
        } else {
            Err(Refused::Law)
        }
    }
}
