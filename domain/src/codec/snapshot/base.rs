//! The base of a sale: everything but its lists.
//!
//! ```text
//! form  id  secret  supply told  numbers  tallies  terms told  terms  epochs
//! fences  fences dropped  sections
//! ```
//! The id has eight bytes, the secret sixteen. The numbers are those of the whole sale, how many
//! there are of what follows, and how many pieces follow. The sections are what only some sales
//! have: their number, then a tag and a byte string each, tags ascending.

use super::law::{completes, counts_all, draw_holds};
use super::sections::take_sections;
use super::turn::{put_epochs, take_epochs};
use super::{put_numbers, take_number, FORMAT_VERSION};
use crate::admission::LISTS;
use crate::ledger::HashKey;
use crate::memory::bytes::{put_bytes, put_varint, Reader};
use crate::memory::wire;
use crate::model::balances::Balances;
use crate::model::outcome::Refused;
use crate::request::terms::Terms;
use crate::state::status::Tallies;
use crate::Sale;

/// What a base says will follow, and where it must end.
#[derive(Clone, Debug)]
pub struct Stated {
    pub(super) balances: Balances,
    pub(super) restocks: u64,
    pub(super) fences: u64,
    pub(super) winners: u64,
    pub(super) amounts: u64,
    /// Users of every list, those in and all places.
    pub(super) lists: [(u64, u64); LISTS.len()],
}

impl Sale {
    /// The base, which `pieces` pieces follow.
    pub(super) fn write_base(&self, pieces: u64) -> Vec<u8> {
        let mut out = vec![FORMAT_VERSION];
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.secret);
        put_varint(&mut out, self.told_supply);
        let balances = &self.balances;
        let numbers = [
            self.created_at,
            u64::from(self.paused),
            // What is still to come is announced as it was: the copy awaits it too.
            balances.version + self.awaits,
            balances.rev,
            balances.t,
            balances.epoch,
            balances.supply,
            balances.available,
            balances.held,
            balances.sold,
            balances.deficit,
            balances.grants,
            balances.last_grant_at,
            self.ledger.winners(),
            self.restocks.len() as u64,
            pieces + self.awaits,
        ];
        put_numbers(&mut out, numbers);
        put_numbers(&mut out, self.tallies.numbers());
        put_terms(&mut out, &self.told_terms);
        put_terms(&mut out, &self.terms);
        // A sale with rounds writes the epochs of each of them in its place.
        let epochs = if self.rounds().is_some() { &[] } else { self.ledger.epochs() };
        put_epochs(&mut out, epochs);
        put_numbers(&mut out, [self.fences.len() as u64, self.fences.dropped()]);
        self.put_sections(&mut out);
        out
    }
}

fn put_terms(out: &mut Vec<u8>, terms: &Terms) {
    let mut bytes = Vec::new();
    wire::encode(terms, &mut bytes);
    put_bytes(out, &bytes);
}

fn take_terms(reader: &mut Reader<'_>) -> Option<Terms> {
    wire::decode(reader.bytes()?).ok()
}

/// Reads a base into a sale that has all its units available and no grant yet.
pub fn read_base(piece: &[u8], key: HashKey) -> Result<(Sale, Stated), Refused> {
    let mut reader = Reader::new(piece);
    let format = reader.byte().ok_or(Refused::Unknown)?;
    if format != FORMAT_VERSION {
        return Err(Refused::Unknown);
    }
    let (sale, stated) = base_fields(&mut reader, key).ok_or(Refused::Unknown)?;
    let terms_hold = sale.terms.check().is_ok() && sale.told_terms.check().is_ok();
    let ordered = sale.created_at <= sale.balances.t;
    let counted = counts_all(&stated.balances, stated.restocks, stated.fences);
    let repeats = sale.terms.schedule.is_some();
    let rounds_hold = repeats == sale.rounds().is_some()
        && sale.told_terms.schedule == sale.terms.schedule
        && (!repeats || stated.balances.deficit == 0)
        && sale.balances.round <= stated.balances.round
        && sale.balances.grants <= stated.balances.grants
        && counts_all(&sale.balances, 0, 0)
        && (sale.awaits > 0 || completes(&sale, None, &sale.balances));
    let lawful = rounds_hold
        && stated.balances.is_lawful()
        && sale.balances.is_lawful()
        && draw_holds(&sale, &stated);
    let holds = reader.is_empty() && terms_hold && ordered && counted && lawful;
    holds.then_some((sale, stated)).ok_or(Refused::Law)
}

fn base_fields(reader: &mut Reader<'_>, key: HashKey) -> Option<(Sale, Stated)> {
    let id = u64::from_be_bytes(reader.array()?);
    let secret = reader.array()?;
    let told_supply = take_number(reader)?;
    let mut number = || take_number(reader);
    let created_at = number()?;
    let paused = match number()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let balances = Balances {
        version: number()?,
        rev: number()?,
        t: number()?,
        epoch: number()?,
        supply: number()?,
        available: number()?,
        held: number()?,
        sold: number()?,
        deficit: number()?,
        packets: None,
        round: 0,
        grants: number()?,
        last_grant_at: number()?,
    };
    let (winners, restocks) = (number()?, number()?);
    let lists = [(0, 0); LISTS.len()];
    let mut stated = Stated { balances, winners, restocks, fences: 0, amounts: 0, lists };
    let pieces = number()?;
    let tallies = Tallies::from_numbers(&mut number)?;
    let told_terms = take_terms(reader)?;
    let terms = take_terms(reader)?;
    let mut sale = Sale::blank(id, secret, terms, key);
    take_epochs(reader, &mut sale.ledger, balances.epoch)?;
    stated.fences = take_number(reader)?;
    sale.fences.set_dropped(take_number(reader)?);
    sale.told_supply = told_supply;
    sale.told_terms = Box::new(told_terms);
    sale.created_at = created_at;
    sale.paused = paused;
    sale.tallies = tallies;
    sale.balances.supply = balances.supply;
    take_sections(reader, &mut sale, &mut stated)?;
    if sale.terms.has_extras() || stated.lists.iter().any(|(_, places)| *places > 0) {
        sale.extras_mut();
    }
    // The INIT was a change, too, and comes before the pieces.
    let version = balances.version.checked_sub(pieces).filter(|version| *version > 0)?;
    let packets = sale.packets_begun();
    // Without rounds the round is 0 and no grant came before.
    let Balances { round, supply, grants, .. } = sale.balances;
    let (available, held, sold) = (supply, 0, 0);
    let numbers = Balances { round, supply, available, held, sold, grants, packets, ..balances };
    sale.balances = Balances { version, ..numbers };
    sale.awaits = pieces;
    Some((sale, stated))
}
