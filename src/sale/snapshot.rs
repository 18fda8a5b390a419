//! The binary form of a sale: pieces that are saved in a dump, emitted when a log is rewritten and
//! digested to compare nodes.
//!
//! The base has everything but the lists; every further piece is a bounded part of a list. A sale
//! rebuilt from its base alone is lawful with all units available and none granted; each piece of
//! rows then moves units as grants did, and each piece advances the version by one, so that a
//! rewritten log is an ordinary sequence of effects that ends at the sale's version.

use super::admission::{List, LISTS};
use super::amounts::{Amounts, Item, Returned};
use super::bytes::{put_amounts, put_bytes, put_varint, zigzag, Reader};
use super::core::Core;
use super::draw::Draw;
use super::effect::{list_code, Change, Effect};
use super::further::{self, Further};
use super::ledger::{HashKey, Ledger};
use super::limits::{AMOUNTS_PER_PIECE, INTEGER_MAX, ROUND_TOTALS_MAX, USERS_PER_PIECE};
use super::lists;
use super::outcome::Refused;
use super::rounds::{Rounds, Total};
use super::rows;
use super::status::{Refusals, Tallies};
use super::terms::{Terms, TermsChange};
use super::Sale;

/// Version of the form. Older ones stay readable, newer ones are refused.
///
/// 1: a plain sale. 2: adds the outbox and the fences. 3: ends with sections that only some sales
/// have: their number, then a tag and a byte string each, tags ascending. 4: rows of numbered users
/// may be written as numbers, see `numbered`.
pub const FORMAT_VERSION: u8 = 4;

/// The further terms that INIT was told.
const SECTION_TOLD: u8 = 1;
/// The further terms in force.
const SECTION_TERMS: u8 = 2;
/// Users of every list: those in, all places.
const SECTION_LISTS: u8 = 4;
/// What a sale with rounds keeps of them.
const SECTION_ROUNDS: u8 = 5;
/// Packets left, one more than there are (0: none counted); amounts in the list.
const SECTION_DRAW: u8 = 3;

/// What a piece holds. The letter is the one of the effect that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Base,
    RestockIds,
    Fences,
    Listed,
    Amounts,
    Rows,
    Turn,
    /// What a round has left of DRAW LIST, in a sale that repeats.
    Left,
    /// Refusal counters: of one node, so in its dumps but neither replicated nor digested.
    Refusals,
}

impl Kind {
    /// The effect that carries such a piece in a rewritten log; `None` for what is of one node.
    pub fn effect(self, piece: &[u8]) -> Option<Effect<'_>> {
        Some(match self {
            Kind::Base => Effect::Base(piece),
            Kind::RestockIds => Effect::RestockIds(piece),
            Kind::Fences => Effect::Fences(piece),
            Kind::Listed => Effect::Listed(piece),
            Kind::Amounts => Effect::Amounts(piece),
            Kind::Rows => Effect::Rows(piece),
            Kind::Turn => Effect::Turn(piece),
            Kind::Left => Effect::Left(piece),
            Kind::Refusals => return None,
        })
    }

    /// The letter that marks a piece in a dump.
    pub fn letter(self) -> u8 {
        match self {
            Kind::Base => b'B',
            Kind::RestockIds => b'K',
            Kind::Fences => b'J',
            Kind::Listed => b'S',
            Kind::Amounts => b'O',
            Kind::Rows => b'L',
            Kind::Turn => b'Z',
            Kind::Left => b'o',
            Kind::Refusals => b'C',
        }
    }
}

const KINDS: [Kind; 9] = [
    Kind::Base,
    Kind::RestockIds,
    Kind::Fences,
    Kind::Listed,
    Kind::Amounts,
    Kind::Rows,
    Kind::Turn,
    Kind::Left,
    Kind::Refusals,
];

/// What a base says will follow, and where it must end.
#[derive(Clone, Debug)]
pub struct Stated {
    core: Core,
    restocks: u64,
    fences: u64,
    winners: u64,
    amounts: u64,
    /// Users of every list, those in and all places.
    lists: [(u64, u64); LISTS.len()],
}

impl Sale {
    /// Every piece of what replicates, in order, the base first.
    pub fn pieces(&self) -> impl Iterator<Item = (Kind, Vec<u8>)> + '_ {
        let plan = self.plan();
        let base = (Kind::Base, self.write_base(plan.len() as u64));
        core::iter::once(base).chain(plan.into_iter().map(|part| match part {
            Part::RestockIds => (Kind::RestockIds, self.write_restocks()),
            Part::Fences(first, count) => (Kind::Fences, self.write_fences(first, count)),
            Part::Listed(list, first) => (Kind::Listed, self.write_listed(list, first)),
            Part::Amounts(first, count) => (Kind::Amounts, self.write_amounts(first, count)),
            Part::Rows(first, count) => {
                (Kind::Rows, rows::write(self.side_of(first).ledger, first, count))
            }
            Part::Turn(place) => (Kind::Turn, self.write_turn(place)),
            Part::Left(place, first) => (Kind::Left, self.write_left(place, first)),
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
        for list in LISTS {
            let users = self.extras.iter().flat_map(|extras| extras.list(list).iter_from(0));
            let firsts = users.step_by(USERS_PER_PIECE);
            parts.extend(firsts.map(|(first, _)| Part::Listed(list, first)));
        }
        let amounts = match self.repeated() {
            Some(list) => list.told_len(),
            None => self.amounts().map_or(0, Amounts::len),
        };
        let amounts = amounts as usize;
        for first in (0..amounts).step_by(AMOUNTS_PER_PIECE) {
            parts.push(Part::Amounts(first, AMOUNTS_PER_PIECE));
        }
        for (place, ledger) in self.ledgers().enumerate() {
            if place > 0 {
                parts.push(Part::Turn(place));
            }
            parts.extend(rows::cut(ledger).map(|(first, count)| Part::Rows(first, count)));
            let left = (0..self.items_left(place).count()).step_by(AMOUNTS_PER_PIECE);
            parts.extend(left.map(|first| Part::Left(place, first)));
        }
        parts
    }

    /// The ledgers of all rounds that are kept, the oldest first, the stored one last.
    fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        let older = self.rounds().into_iter().flat_map(|rounds| rounds.older.iter());
        older.map(|old| &old.ledger).chain([&self.ledger])
    }

    /// The numbers of the round at this place among all that are kept.
    fn core_at(&self, place: usize) -> &Core {
        let old = self.rounds().and_then(|rounds| rounds.older.get(place));
        old.map_or(&self.core, |old| &old.core)
    }

    /// How the round at this place begins: number, supply, grants before it, epochs.
    fn write_turn(&self, place: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let core = self.core_at(place);
        if let Some(ledger) = self.ledgers().nth(place) {
            let numbers = [core.round, core.supply, ledger.base()];
            numbers.iter().for_each(|number| put_varint(&mut out, *number));
            put_epochs(&mut out, ledger);
            let old = self.rounds().and_then(|rounds| rounds.older.get(place));
            let old = old.and_then(|old| old.returned.as_ref()).map(Returned::begun);
            if let Some(begun) = old.or(self.repeated().map(Amounts::begun)) {
                put_varint(&mut out, begun);
            }
        }
        out
    }

    /// What the round at this place has left of a list that every round begins with. Of a round
    /// that is over only what came back can still be asked for.
    fn items_left(&self, place: usize) -> impl Iterator<Item = Item> + '_ {
        let list = self.repeated();
        let older = list.and_then(|_| self.rounds()).map(|rounds| &rounds.older);
        let is_stored = older.is_some_and(|older| place == older.len());
        let old = older.and_then(|older| older.get(place)).and_then(|old| old.returned.as_ref());
        let returned = old.into_iter().flat_map(|old| old.amounts().iter().copied());
        let stored = list.filter(|_| is_stored).into_iter().flat_map(Amounts::items);
        returned.map(Item::One).chain(stored)
    }

    fn write_left(&self, place: usize, first: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for item in self.items_left(place).skip(first).take(AMOUNTS_PER_PIECE) {
            match item {
                Item::One(amount) => put_varint(&mut out, amount),
                Item::Told(len) => [0, len].iter().for_each(|part| put_varint(&mut out, *part)),
            }
        }
        out
    }

    fn write_base(&self, pieces: u64) -> Vec<u8> {
        let mut out = vec![FORMAT_VERSION];
        // A sale with rounds writes the epochs of each of them in its place.
        let none = Ledger::new([0; 2]);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.secret);
        put_varint(&mut out, self.told_supply);
        put_terms(&mut out, &self.told_terms);
        put_terms(&mut out, &self.terms);
        let core = &self.core;
        let numbers = [
            self.created_at,
            u64::from(self.paused),
            // What is still to come is announced as it was: the copy awaits it too.
            core.version + self.awaits,
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
            pieces + self.awaits,
        ];
        numbers.iter().for_each(|number| put_varint(&mut out, *number));
        self.tallies.numbers().iter().for_each(|number| put_varint(&mut out, *number));
        put_epochs(&mut out, if self.rounds().is_some() { &none } else { &self.ledger });
        put_outbox(&mut out, &self.told_terms);
        put_outbox(&mut out, &self.terms);
        put_varint(&mut out, self.fences.len() as u64);
        put_varint(&mut out, self.fences.dropped());
        self.put_sections(&mut out);
        out
    }

    /// How many sections there are, then each that has anything in it: tag and bytes.
    fn put_sections(&self, out: &mut Vec<u8>) {
        let sections = [
            (SECTION_TOLD, terms_section(&self.told_terms)),
            (SECTION_TERMS, terms_section(&self.terms)),
            (SECTION_DRAW, self.draw_section()),
            (SECTION_LISTS, self.lists_section()),
            (SECTION_ROUNDS, self.rounds_section()),
        ];
        let written = sections.iter().filter(|(_, section)| !section.is_empty());
        put_varint(out, written.clone().count() as u64);
        for (tag, section) in written {
            out.push(*tag);
            put_bytes(out, section);
        }
    }

    fn draw_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        if self.terms.draw.is_some() {
            put_varint(&mut section, self.core.packets.map_or(0, |packets| packets + 1));
            put_varint(&mut section, self.amounts().map_or(0, Amounts::len));
        }
        section
    }

    fn lists_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        let sizes = LISTS.map(|list| self.list_size(list));
        if sizes.iter().any(|(_, places)| *places > 0) {
            for (users, places) in sizes {
                put_varint(&mut section, users);
                put_varint(&mut section, places);
            }
        }
        section
    }

    /// The stored round, the supply of those to come, how the oldest kept begins, totals.
    fn rounds_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        let Some(rounds) = self.rounds() else { return section };
        put_varint(&mut section, self.core.round);
        put_varint(&mut section, rounds.base_supply);
        put_bytes(&mut section, &self.write_turn(0));
        for total in &rounds.totals {
            for number in [total.round, total.supply, total.sold, total.winners] {
                put_varint(&mut section, number);
            }
        }
        section
    }

    /// How many users a list has, and how many places.
    fn list_size(&self, list: List) -> (u64, u64) {
        let users = self.extras.as_deref().map(|extras| extras.list(list));
        users.map_or((0, 0), |users| (users.len(), users.places()))
    }

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

    fn write_amounts(&self, first: usize, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(list) = self.repeated() {
            put_amounts(&mut out, list.told().iter().copied().skip(first).take(count));
        } else if let Some(list) = self.amounts() {
            put_amounts(&mut out, list.returned().iter().copied().skip(first).take(count));
        }
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
}

/// Fences in one piece: with the longest ids it stays within the bound of a piece.
const FENCES_PER_PIECE: usize = 256;

enum Part {
    RestockIds,
    Fences(usize, usize),
    /// From this place on.
    Listed(List, u64),
    Amounts(usize, usize),
    Rows(u64, usize),
    /// The round at this place among all that are kept.
    Turn(usize),
    /// What that round has left of its list, from this item on.
    Left(usize, usize),
}

fn put_epochs(out: &mut Vec<u8>, ledger: &Ledger) {
    put_varint(out, ledger.epochs().len() as u64);
    for (first, epoch) in ledger.epochs() {
        put_varint(out, (*first).into());
        put_varint(out, *epoch);
    }
}

/// Announces the epochs of a ledger that has no grant yet.
fn take_epochs(reader: &mut Reader<'_>, ledger: &mut Ledger, newest: u64) -> Option<()> {
    for _ in 0..take_number(reader)? {
        let first = u32::try_from(take_number(reader)?).ok()?;
        let epoch = take_number(reader)?;
        if epoch > newest || !ledger.expect_epoch(first, epoch) {
            return None;
        }
    }
    Some(())
}

fn terms_section(terms: &Terms) -> Vec<u8> {
    let mut section = Vec::new();
    further::put(&mut section, &Further::of(terms));
    section
}

/// Reads the sections behind a base, tags ascending.
fn take_sections(reader: &mut Reader<'_>, sale: &mut Sale, stated: &mut Stated) -> Option<()> {
    let mut last = 0;
    for _ in 0..take_number(reader)? {
        let tag = reader.byte()?;
        let section = reader.bytes().filter(|section| !section.is_empty() && tag > last)?;
        last = tag;
        match tag {
            SECTION_TOLD => further::take(section)?.set_in(&mut sale.told_terms),
            SECTION_TERMS => further::take(section)?.set_in(&mut sale.terms),
            SECTION_DRAW => {
                let mut section = Reader::new(section);
                stated.core.packets = take_number(&mut section)?.checked_sub(1);
                stated.amounts = take_number(&mut section)?;
                section.is_empty().then_some(())?;
            }
            SECTION_LISTS => {
                let mut section = Reader::new(section);
                for size in &mut stated.lists {
                    *size = (take_number(&mut section)?, take_number(&mut section)?);
                }
                section.is_empty().then_some(())?;
            }
            SECTION_ROUNDS => take_rounds(section, sale, stated)?,
            _ => return None,
        }
    }
    Some(())
}

/// Reads the rounds of a base. The sale then stands at the beginning of the oldest one kept.
fn take_rounds(section: &[u8], sale: &mut Sale, stated: &mut Stated) -> Option<()> {
    let mut reader = Reader::new(section);
    stated.core.round = take_number(&mut reader)?;
    let mut rounds = Rounds::default();
    rounds.base_supply = take_number(&mut reader)?;
    let is_listed = sale.terms.draw.as_ref().is_some_and(Draw::is_list);
    let oldest = turn_in(reader.bytes()?, sale.ledger.key(), is_listed)?;
    while !reader.is_empty() {
        let mut number = || take_number(&mut reader);
        rounds.totals.push_back(Total {
            round: number()?,
            supply: number()?,
            sold: number()?,
            winners: number()?,
        });
    }
    let rising = rounds.totals.iter().zip(rounds.totals.iter().skip(1));
    let ordered = rising.into_iter().all(|(one, next)| one.round < next.round);
    if !ordered || rounds.totals.len() >= ROUND_TOTALS_MAX || sale.terms.schedule.is_none() {
        return None;
    }
    sale.core.round = oldest.round;
    sale.core.supply = oldest.supply;
    sale.core.grants = oldest.ledger.base();
    sale.ledger = oldest.ledger;
    let extras = sale.extras_mut();
    extras.rounds = Some(Box::new(rounds));
    extras.amounts.begin(oldest.begun);
    Some(())
}

/// How a round begins that a rewritten sale keeps.
struct TurnTo {
    round: u64,
    supply: u64,
    ledger: Ledger,
    /// Amounts of a list that it begins with; 0 in other sales.
    begun: u64,
}

fn turn_in(piece: &[u8], key: HashKey, is_listed: bool) -> Option<TurnTo> {
    let mut reader = Reader::new(piece);
    let (round, supply) = (take_number(&mut reader)?, take_number(&mut reader)?);
    let base = u32::try_from(take_number(&mut reader)?).ok()?;
    let mut ledger = Ledger::starting(key, base, round);
    take_epochs(&mut reader, &mut ledger, INTEGER_MAX)?;
    let begun = if is_listed { take_number(&mut reader)? } else { 0 };
    reader.is_empty().then_some(TurnTo { round, supply, ledger, begun })
}

/// Checks a turn to the next round that is kept, and moves the numbers along.
pub(super) fn check_turn(sale: &Sale, piece: &[u8], core: &mut Core) -> Result<(), Refused> {
    let list = sale.repeated();
    let next = turn_in(piece, [0; 2], list.is_some()).ok_or(Refused::Unknown)?;
    let epochs = next.ledger.epochs();
    let follows = sale.rounds().is_some()
        && next.round > core.round
        && next.ledger.base() >= core.grants
        && epochs.last().is_none_or(|(_, epoch)| *epoch <= core.epoch)
        && sale.ledger.has_only_epochs_that_granted()
        && leaves_list(sale, core)
        && sale.can_begin(next.supply, next.begun);
    if !follows {
        return Err(Refused::Law);
    }
    let (round, supply, grants) = (next.round, next.supply, next.ledger.base());
    let packets = match list {
        Some(_) => Some(next.begun),
        None => sale.terms.draw.as_ref().and_then(Draw::packets),
    };
    let available = supply;
    *core = Core { round, supply, available, held: 0, sold: 0, packets, grants, ..*core };
    let fits = counts_all(core, sale.restocks.len() as u64, sale.fences.len() as u64);
    if core.is_lawful() && fits && can_be_drawn(sale, core) {
        Ok(())
    } else {
        Err(Refused::Law)
    }
}

/// Whether what a round that is over has left of its list is all that came back to it.
fn leaves_list(sale: &Sale, core: &Core) -> bool {
    let exact = sale.terms.schedule.is_some_and(|schedule| !schedule.carry);
    let grants = core.grants.saturating_sub(sale.ledger.base());
    let list = sale.repeated();
    list.is_none_or(|list| lists::is_told(sale) && list.leaves(core, grants, exact))
}

/// Takes over a turn that was checked.
pub(super) fn take_turn(sale: &mut Sale, piece: &[u8]) {
    let is_listed = sale.repeated().is_some();
    if let Some(next) = turn_in(piece, sale.ledger.key(), is_listed) {
        sale.turn(next.round, next.ledger.base() + 1, (0, false));
        sale.ledger = next.ledger;
        if let Some(list) = sale.amounts_mut().filter(|_| is_listed) {
            list.begin(next.begun);
        }
    }
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
    let repeats = sale.terms.schedule.is_some();
    let rounds_hold = repeats == sale.rounds().is_some()
        && sale.told_terms.schedule == sale.terms.schedule
        && (!repeats || stated.core.deficit == 0)
        && sale.core.round <= stated.core.round
        && sale.core.grants <= stated.core.grants
        && (sale.repeated().is_none() || list_holds(&sale))
        && counts_all(&sale.core, 0, 0)
        && (sale.awaits > 0 || completes(&sale, None, &sale.core));
    let lawful = rounds_hold
        && stated.core.is_lawful()
        && sale.core.is_lawful()
        && draw_holds(&sale, &stated);
    if !reader.is_empty() || !terms_hold || !ordered || !counted || !lawful {
        return Err(Refused::Law);
    }
    Ok((sale, stated))
}

/// Whether nothing is amiss between the pieces once the last one has come: there are as many
/// amounts to draw as packets, no total is of a round to come, and nothing is available while
/// units are owed. `core` is where the sale stands after it.
pub(super) fn completes(sale: &Sale, last: Option<&Effect<'_>>, core: &Core) -> bool {
    let is_in_order = last.is_none_or(|last| lists::is_in_order(sale, last));
    let amounts = lists::amounts_with(sale, last);
    let totals = sale.rounds().and_then(|rounds| rounds.totals.back());
    amounts.is_none_or(|amounts| {
        let grants = core.grants.saturating_sub(sale.ledger.base());
        let undrawn = sale.repeated().map(|list| list.begun().saturating_sub(grants));
        Some(amounts.len) == core.packets
            && amounts.sum == core.available
            && undrawn.is_none_or(|undrawn| undrawn == amounts.undrawn)
    }) && totals.is_none_or(|total| total.round < core.round)
        && (core.deficit == 0 || core.available == 0)
        && lists::is_told(sale)
        && is_in_order
}

/// Whether the rounds of a base can begin with the list that INIT was told.
fn list_holds(sale: &Sale) -> bool {
    let base = sale.rounds().map_or(0, |rounds| rounds.base_supply);
    base == sale.told_supply && sale.can_begin(sale.core.supply, sale.packets_begun().unwrap_or(0))
}

/// Whether the version counts at least the INIT and every grant, restock and fence that is kept:
/// each was a change. So it has room for the pieces of the sale, however they are cut.
pub(super) fn counts_all(core: &Core, restocks: u64, fences: u64) -> bool {
    core.version > core.grants.saturating_add(restocks).saturating_add(fences)
}

/// Whether the packets left share what is available, in a sale that counts them.
pub(super) fn can_be_drawn(sale: &Sale, core: &Core) -> bool {
    sale.terms.draw.is_none_or(|draw| draw.is_lawful(core))
}

/// Whether the packets that a base states are those of its terms.
fn draw_holds(sale: &Sale, stated: &Stated) -> bool {
    let Some(draw) = &sale.terms.draw else {
        return stated.core.packets.is_none() && stated.amounts == 0;
    };
    let list = if draw.is_list() { stated.core.packets.unwrap_or(0) } else { 0 };
    sale.told_terms.draw == sale.terms.draw
        && draw.check_numbers(sale.told_supply).is_ok()
        && draw.is_lawful(&stated.core)
        && draw.is_lawful(&sale.core)
        // Fewer only in a sale that itself awaited pieces: its last piece finds that out.
        && stated.amounts <= list
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
        packets: None,
        round: 0,
        grants: number()?,
        last_grant_at: number()?,
    };
    let (winners, restocks) = (number()?, number()?);
    let mut stated = Stated { core, winners, restocks, fences: 0, amounts: 0, lists: [(0, 0); 3] };
    let pieces = number()?;
    let tallies = Tallies::from_numbers(&mut number)?;
    let mut sale = Sale::blank(id, secret, terms, key);
    take_epochs(reader, &mut sale.ledger, core.epoch)?;
    if format >= 2 {
        told_terms.outbox = take_outbox(reader)?;
        sale.terms.outbox = take_outbox(reader)?;
        stated.fences = take_number(reader)?;
        sale.fences.set_dropped(take_number(reader)?);
    }
    sale.told_supply = told_supply;
    sale.told_terms = Box::new(told_terms);
    sale.created_at = created_at;
    sale.paused = paused;
    sale.tallies = tallies;
    sale.core.supply = core.supply;
    if format >= 3 {
        take_sections(reader, &mut sale, &mut stated)?;
    }
    if sale.terms.has_extras() || stated.lists.iter().any(|(_, places)| *places > 0) {
        sale.extras_mut();
    }
    // The INIT was a change, too, and comes before the pieces.
    let version = core.version.checked_sub(pieces).filter(|version| *version > 0)?;
    let packets = sale.packets_begun();
    // Without rounds the round is 0 and no grant came before.
    let Core { round, supply, grants, .. } = sale.core;
    let (available, held, sold) = (supply, 0, 0);
    let numbers = Core { round, supply, available, held, sold, grants, packets, ..core };
    sale.core = Core { version, ..numbers };
    sale.awaits = pieces;
    Some((sale, stated))
}

/// The next number, within the bounds of an integer.
pub(super) fn take_number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.varint().filter(|number| *number <= INTEGER_MAX)
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
                let (mut sale, stated) = read_base(piece, key)?;
                // Every grant is of another winner, or that is found out.
                if sale.rounds().is_none() && stated.winners == stated.core.grants {
                    sale.ledger.begin_gathering(stated.winners);
                }
                Ok(Loader { sale, stated })
            }
            _ => Err(Refused::Unknown),
        }
    }

    /// Adds one further piece.
    pub fn add(&mut self, marked: &[u8]) -> Result<(), Refused> {
        let (letter, piece) = marked.split_first().ok_or(Refused::Unknown)?;
        let kind = KINDS.into_iter().find(|kind| kind.letter() == *letter);
        match kind.ok_or(Refused::Unknown)? {
            Kind::Base => Err(Refused::Unknown),
            Kind::Refusals => self.refusals(piece),
            kind => self.piece(kind.effect(piece).ok_or(Refused::Unknown)?),
        }
    }

    fn refusals(&mut self, piece: &[u8]) -> Result<(), Refused> {
        let mut reader = Reader::new(piece);
        let mut number = || take_number(&mut reader);
        self.sale.refusals = Refusals::from_numbers(&mut number).ok_or(Refused::Unknown)?;
        match reader.is_empty() {
            true => Ok(()),
            false => Err(Refused::Unknown),
        }
    }

    fn piece(&mut self, effect: Effect<'_>) -> Result<(), Refused> {
        self.sale.apply(&[Change::piece(effect)]).map(|_| ())
    }

    /// The sale, if it is the one that the base announced. `arrived_at` is when it was loaded,
    /// Unix ms: its next epoch is not before it.
    pub fn finish(self, arrived_at: u64) -> Result<Sale, Refused> {
        let Loader { mut sale, mut stated } = self;
        if !sale.ledger.end_gathering() {
            return Err(Refused::Law);
        }
        stated.core.version = stated.core.version.saturating_sub(sale.awaits);
        let restocks = sale.restocks.len() as u64;
        let complete = sale.core == stated.core
            && sale.ledger.winners() == stated.winners
            && restocks == stated.restocks
            && sale.fences.len() as u64 == stated.fences
            && sale.amounts().map_or(0, Amounts::len) == stated.amounts
            && LISTS.map(|list| sale.list_size(list)) == stated.lists
            && sale.ledger.has_only_epochs_that_granted();
        sale.arrived_at = arrived_at;
        if complete {
            Ok(sale)
        } else {
            Err(Refused::Law)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::decide::decide_new;
    use crate::sale::request::{Init, Now};

    fn base_of(terms: Terms) -> Vec<u8> {
        let init = Init { supply: 7, terms, amounts: Vec::new(), id: 1, secret: [7; 16] };
        let decision = decide_new(&init, &Now { clock_ms: 5, run: 1 });
        let (sale, _) = Sale::create(&decision.changes[0], [1, 2]).unwrap();
        let (_, base) = sale.pieces().next().unwrap();
        base
    }

    #[test]
    fn older_forms_of_a_plain_sale_stay_readable() {
        let newest = base_of(Terms::default());
        // Form 2 has no sections, form 1 neither outboxes nor fences: a plain sale has none of
        // them, so the older forms are the newest one, shorter.
        let mut second = newest[..newest.len() - 1].to_vec();
        second[0] = 2;
        let mut first = newest[..newest.len() - 5].to_vec();
        first[0] = 1;
        for form in [&newest, &second, &first] {
            let (sale, _) = read_base(form, [1, 2]).unwrap();
            assert_eq!(sale.core().supply, 7);
            assert!(sale.extras.is_none());
        }
        let mut newer = newest;
        newer[0] = FORMAT_VERSION + 1;
        assert_eq!(read_base(&newer, [1, 2]).err(), Some(Refused::Unknown));
    }

    #[test]
    fn sections_that_are_unknown_empty_or_out_of_order_are_refused() {
        let plain = base_of(Terms::default());
        let plain = &plain[..plain.len() - 1];
        let broken: [&[u8]; 6] = [
            &[1, 9, 1, 0],
            &[1, 1, 0],
            &[2, 3, 2, 0, 0, 3, 2, 0, 0],
            &[1, 2, 3, 3, 9, 9],
            &[0, 0],
            &[1],
        ];
        for sections in broken {
            let base = [plain, sections].concat();
            assert!(read_base(&base, [1, 2]).is_err(), "{sections:?}");
        }
    }

    #[test]
    fn a_base_with_every_section_is_refused_when_cut_or_altered_to_break_the_law() {
        let draw = Some(crate::sale::draw::Draw::Packets { packets: 3, min: 2 });
        let schedule = crate::sale::schedule::Schedule {
            period_ms: 10,
            offset_ms: 3,
            lasts_ms: 5,
            carry: true,
        };
        let base = base_of(Terms { draw, schedule: Some(schedule), ..Terms::default() });
        assert!(read_base(&base, [1, 2]).is_ok());
        for len in 0..base.len() {
            assert!(read_base(&base[..len], [1, 2]).is_err(), "{len}");
        }
        for place in 0..base.len() {
            for bit in 0..8 {
                let mut altered = base.clone();
                altered[place] ^= 1 << bit;
                if let Ok((sale, _)) = read_base(&altered, [1, 2]) {
                    assert!(sale.core().is_lawful());
                    assert_eq!(sale.audit().differences, []);
                }
            }
        }
    }
}
