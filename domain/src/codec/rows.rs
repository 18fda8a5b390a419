//! Grants in a snapshot: rows in pieces, written, checked and taken over.
//!
//! ```text
//! first seq  number of rows  base of their times  rows
//! ```
//! A row has the form of `record`.

use std::collections::HashSet;
use std::hint::black_box;

use crate::codec::snapshot::{can_be_drawn, counts_all};
use crate::draw::amounts::Amounts;
use crate::ledger::record::{self, Asked, Record};
use crate::ledger::{Ledger, Lookup, NewGrant, Places};
use crate::memory::bytes::{put_varint, Reader};
use crate::model::balances::Balances;
use crate::model::limits::{
    HOLD_MS_MAX, INTEGER_MAX, PIECE_BYTES_MAX, PIECE_BYTES_TARGET, REQ_BYTES_MAX,
    ROWS_PER_PIECE_MAX, TIME_MS_MAX,
};
use crate::model::outcome::{Refused, State};
use crate::Sale;

/// Rows that are taken over together: their places in the index are asked for before the first is
/// needed.
const TAKEN_TOGETHER: usize = 64;

/// Longest row without its ids, whatever its neighbours are.
const ROW_BYTES_MAX: usize = 24;

/// Cuts the grants of a ledger into bounded parts: first seq and number. Depends on the grants
/// alone, so that equal sales have equal pieces.
pub(crate) fn cut(ledger: &Ledger) -> impl Iterator<Item = (u64, usize)> + '_ {
    let mut first = ledger.base() + 1;
    core::iter::from_fn(move || {
        let (mut count, mut bytes) = (0, 0);
        if are_short(ledger, first) {
            count = ROWS_PER_PIECE_MAX;
        } else {
            let mut lens = ledger.ids_lens(first);
            while count < ROWS_PER_PIECE_MAX && bytes < PIECE_BYTES_TARGET {
                let Some(len) = lens.next() else { break };
                count += 1;
                bytes += len + ROW_BYTES_MAX;
            }
        }
        let part = (first, count);
        first += count as u64;
        (count > 0).then_some(part)
    })
}

/// Whether so many rows from `first` on are there and so short that they fill a piece by their
/// number: told from their places, without a look at each.
fn are_short(ledger: &Ledger, first: u64) -> bool {
    let before_last = ROWS_PER_PIECE_MAX as u64 - 1;
    let span = ledger.bytes_between(first, first + before_last);
    // A record has its ids and more.
    span.is_some_and(|span| span + before_last * (ROW_BYTES_MAX as u64) < PIECE_BYTES_TARGET as u64)
}

/// A piece of `count` rows from the grant `first` on.
pub(crate) fn write(ledger: &Ledger, first: u64, count: usize) -> Vec<u8> {
    let rows = || ledger.records(first).take(count);
    let base_at = rows().next().map_or(0, |row| row.at);
    let mut out = Vec::with_capacity(PIECE_BYTES_TARGET / 2);
    put_varint(&mut out, first);
    put_varint(&mut out, count as u64);
    put_varint(&mut out, base_at);
    rows().for_each(|row| record::write(&mut out, &Record { prev: 0, ..row }, base_at));
    out
}

/// The beginning of a piece.
struct Head {
    first: u64,
    count: u64,
    base_at: u64,
}

impl Head {
    fn read(reader: &mut Reader<'_>) -> Option<Head> {
        Some(Head { first: reader.varint()?, count: reader.varint()?, base_at: reader.varint()? })
    }
}

/// Checks grant rows that follow those the sale has, and moves the numbers along.
pub(crate) fn check(sale: &Sale, piece: &[u8], balances: &mut Balances) -> Result<(), Refused> {
    let mut reader = Reader::new(piece);
    let head = Head::read(&mut reader).ok_or(Refused::Unknown)?;
    let in_bounds = (1..=ROWS_PER_PIECE_MAX as u64).contains(&head.count);
    if head.first != balances.grants + 1 || !in_bounds || piece.len() > PIECE_BYTES_MAX {
        return Err(Refused::Law);
    }
    check_records(sale, &mut reader, &head, balances)?;
    // Rows that are still to come leave every packet its share, so that is so before them too.
    let fits = can_be_drawn(sale, balances)
        && has_room_for_list(sale, balances)
        && counts_all(balances, sale.restocks.len() as u64, sale.fences.len() as u64);
    match (reader.is_empty(), fits) {
        (true, true) => Ok(()),
        (false, _) => Err(Refused::Unknown),
        (true, false) => Err(Refused::Law),
    }
}

/// Whether the amounts listed so far are no more than what rows leave: they came before them.
fn has_room_for_list(sale: &Sale, balances: &Balances) -> bool {
    let fits =
        |list: &Amounts| Some(list.len()) <= balances.packets && list.sum() <= balances.available;
    sale.amounts().is_none_or(fits)
}

fn check_records(
    sale: &Sale,
    reader: &mut Reader<'_>,
    head: &Head,
    balances: &mut Balances,
) -> Result<(), Refused> {
    let mut ids = HashSet::new();
    for _ in 0..head.count {
        let row = record::read(reader, head.base_at).ok_or(Refused::Unknown)?;
        check_row(sale, &row, balances)?;
        if let Some(req) = row.req {
            let known = sale.ledger.by_req(row.user, req.id).is_some();
            if known || !ids.insert((row.user, req.id)) {
                return Err(Refused::Law);
            }
        }
        balances.place(row.qty, row.state)?;
    }
    Ok(())
}

fn check_row(sale: &Sale, row: &Record<'_>, balances: &Balances) -> Result<(), Refused> {
    let drawn = sale.terms.draw.is_none_or(|draw| draw.can_draw(row.qty, balances.supply));
    let imported = row.req.is_some_and(|req| req.asked == Asked::Either);
    match is_possible(row) && (drawn || imported && balances.packets.is_none()) {
        true => Ok(()),
        false => Err(Refused::Law),
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

/// Takes over a piece of rows that was checked.
pub(crate) fn take(sale: &mut Sale, piece: &[u8]) {
    let mut reader = Reader::new(piece);
    let Some(head) = Head::read(&mut reader) else { return };
    let ledger = &mut sale.ledger;
    let rows = (0..head.count).map_while(|_| record::read(&mut reader, head.base_at));
    match ledger.is_bulk_loading() {
        true => gather(ledger, rows),
        false => take_records(ledger, rows),
    }
}

/// Appends rows whose users are gathered: none of them is looked up.
fn gather<'a>(ledger: &mut Ledger, rows: impl Iterator<Item = Record<'a>>) {
    for row in rows {
        let stranger = ledger.stranger(row.user);
        push_row(ledger, &row, Some(stranger));
    }
}

fn take_records<'a>(ledger: &mut Ledger, mut rows: impl Iterator<Item = Record<'a>>) {
    let mut together: Vec<Record<'_>> = Vec::with_capacity(TAKEN_TOGETHER);
    loop {
        together.extend(rows.by_ref().take(TAKEN_TOGETHER));
        if together.is_empty() {
            return;
        }
        push(ledger, &together);
        together.clear();
    }
}

/// Appends rows. Where a user is looked for is nowhere near where the one before was, so all places
/// are touched before the first is looked at: the processor fetches them side by side.
fn push(ledger: &mut Ledger, rows: &[Record<'_>]) {
    let mut hashes = [None; TAKEN_TOGETHER];
    for (hash, row) in hashes.iter_mut().zip(rows) {
        *hash = Some(ledger.hash_of(row.user));
    }
    let touched = hashes.iter().flatten().filter_map(|hash| ledger.first_look(*hash));
    black_box(touched.fold(0, |all, word| all ^ word));
    for (row, hash) in rows.iter().zip(hashes) {
        let found = hash.map(|hash| ledger.find_at(row.user, hash));
        push_row(ledger, row, found);
    }
}

#[inline]
fn push_row(ledger: &mut Ledger, row: &Record<'_>, found: Option<Lookup>) {
    let new = NewGrant {
        user: row.user,
        req: row.req,
        qty: row.qty,
        state: row.state,
        at: row.at,
        held_until: row.deadline,
        epoch: ledger.epoch_of(ledger.len() + 1),
    };
    ledger.push(&new, found.map(|user| Places { user, req: None }));
}
