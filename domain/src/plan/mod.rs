//! Plans: the result of changes, computed before anything is touched: the numbers after them, and
//! their events.
//!
//! A primary plans its decisions. A replica, an AOF and APPLY first check the changes they are
//! given, see [`Sale::check`], and plan them by the same functions. [`Sale::commit`] applies either
//! plan and can't fail.

mod check;
mod commit;
mod planning;
mod tests;

use core::mem;
use core::ops::Range;

use crate::draft::{check_law, Draft, Touched};
use crate::draw::Draw;
use crate::effect::{Change, Changes, Effect, Init};
use crate::fields::EntryVersion;
use crate::ledger::{HashKey, Ledger, Places};
use crate::memory::put_number;
use crate::model::balances::{Balances, Escrow};
use crate::model::event::{Event, EventKind, Events, Numbers};
use crate::model::limits::AMOUNTS_PER_PIECE;
use crate::model::outcome::Refused;
use crate::numbers::UnitList;
use crate::snapshot::Piece;
use crate::Sale;

pub use check::Loader;
pub(crate) use planning::Planning;

/// All changes to a sale, valid while the sale is at the version they were planned for.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    edition: Edition,
    /// The changes, in order.
    pub changes: Changes<'a>,
    /// The numbers after them.
    pub balances: Balances,
    /// The events, in order. Without an outbox nobody sees the numbers, so consecutive events of
    /// one kind are merged.
    pub events: Events,
    /// The slots of the only new grant, if it was looked up.
    pub(crate) new_grant: Option<Places>,
    /// State that few plans change: a plain grant is planned without the heap.
    pub(crate) touched: Option<Box<Touched>>,
    /// Epoch of this node if it decided the changes; none if they were decided elsewhere.
    pub(crate) run: Option<u64>,
}

/// Identifies a sale at one version. No two sales, versions or loads of a sale have equal editions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edition {
    id: u64,
    version: u64,
    key: HashKey,
}

impl Plan<'_> {
    /// Whether this plan is for `sale` at its current version.
    pub fn is_for(&self, sale: &Sale) -> bool {
        self.edition == Edition::of(sale)
    }

    /// The version before the first change.
    pub fn version(&self) -> u64 {
        self.edition.version
    }

    /// The position of one command's changes, if the first entry of the whole plan goes to
    /// `entries`.
    pub fn position(&self, changes: Range<usize>, entries: Option<EntriesAt>) -> Position {
        let version = self.version() + changes.start as u64;
        let before = self.events.iter().take_while(|event| event.change < changes.start).count();
        let has_some = self.events.get(before).is_some_and(|event| changes.contains(&event.change));
        let own = |first: EntriesAt| {
            let id = first.id.after(before as u64)?;
            Some(EntriesAt { id, ..first })
        };
        Position { version, entries: entries.filter(|_| has_some).and_then(own) }
    }
}

impl Edition {
    fn of(sale: &Sale) -> Edition {
        Edition { id: sale.id, version: sale.balances.version, key: sale.ledger.key() }
    }
}

impl<'a> Plan<'a> {
    /// The plan of changes that lead to this draft, whose events and state it takes; `run` is this
    /// node's epoch if it decided them.
    #[inline(always)]
    pub(crate) fn of(
        draft: &mut Draft<'_>,
        changes: Changes<'a>,
        new_grant: Option<Places>,
        run: Option<u64>,
    ) -> Plan<'a> {
        draft.end();
        let (events, touched) = (mem::take(&mut draft.events), draft.touched.take());
        let (edition, balances) = (Edition::of(draft.sale), draft.balances);
        Plan { edition, changes, balances, events, new_grant, touched, run }
    }

    /// Checks and plans the first change of a sale, and creates the sale. `run` is this node's
    /// epoch if it decided the change. `key` keys the hashes of its indexes.
    pub(crate) fn first(
        change: Change<'a>,
        run: Option<u64>,
        key: HashKey,
    ) -> Result<(Plan<'a>, Sale), Refused> {
        let Effect::Init(start) = &change.effect else { return Err(Refused::Place) };
        let Init { id, supply, terms, amounts, .. } = &**start;
        terms.check().map_err(|_| Refused::Law)?;
        terms.check_supply(*supply, amounts).map_err(|_| Refused::Law)?;
        let is_list = terms.draw().is_some_and(Draw::is_list);
        let has_its_amounts = match is_list {
            true => terms.draw() == Some(&Draw::list(amounts)),
            false => amounts.is_empty(),
        };
        if !has_its_amounts {
            return Err(Refused::Law);
        }
        let packets = terms.draw().and_then(Draw::packets);
        let (supply, available) = (*supply, *supply);
        let escrow = terms.split.as_ref().map(|_| Escrow::of(supply));
        let elsewhere = terms.split.as_ref().map_or(0, |split| split.elsewhere(supply));
        let mut balances =
            Balances { supply, available, packets, elsewhere, ..Balances::default() };
        balances.begin(change.elapsed_ms, change.epoch)?;
        balances.round = terms.schedule.map_or(0, |schedule| schedule.round_at(balances.t));
        // A list counts a version for each of its pieces, as in a rewritten AOF.
        balances.version += amounts.len().div_ceil(AMOUNTS_PER_PIECE) as u64;
        balances.rev = u64::from(terms.outbox.is_some());
        check_law(terms, &balances, escrow.as_ref())?;
        let Balances { epoch, rev, t, round, .. } = balances;
        let numbers = Numbers { epoch, rev, t, supply, available, held: 0, sold: 0, round };
        let event = Event { kind: EventKind::Init, change: 0, numbers, grant: None };
        let sale = begun(start, &balances, run, key);
        let plan = Plan {
            edition: Edition { id: *id, version: 0, key: [0; 2] },
            changes: Changes::from_buf([change]),
            balances,
            events: Events::from_buf([event]),
            new_grant: None,
            touched: None,
            run,
        };
        Ok((plan, sale))
    }
}

/// The sale that begins this way, with these numbers.
fn begun(start: &Init, balances: &Balances, run: Option<u64>, key: HashKey) -> Sale {
    let mut sale = Sale::blank(start.id, start.secret, start.terms.clone(), key);
    sale.initial_supply = start.supply;
    if let Some(amounts) = sale.amounts_mut() {
        *amounts = start.amounts.iter().copied().collect();
    }
    sale.begin_numbers(start.supply);
    sale.created_at = balances.t;
    if let Some(rounds) = sale.rounds_mut() {
        rounds.base_supply = start.supply;
        sale.ledger = Ledger::starting(key, 0, balances.round);
    }
    sale.balances = *balances;
    sale.escrow = sale.terms.split.as_ref().map(|_| Escrow::of(start.supply));
    sale.run = run.unwrap_or_default();
    sale
}

impl Sale {
    /// The numbers that a grant has or had last after a plan. `None` if units have no numbers.
    pub(crate) fn units_after(&self, plan: Option<&Plan<'_>>, seq: u64) -> Option<UnitList> {
        let touched = plan.and_then(|plan| plan.touched.as_ref());
        let changed = touched.and_then(|touched| touched.units_of(seq)).cloned();
        changed.or_else(|| Some(self.numbers()?.of(seq)))
    }

    /// Creates a sale from its first change: an INIT, or the base of a rewritten AOF, which has no
    /// events. `key` keys the hashes of its indexes. Refuses other changes and changes that break
    /// the law.
    pub fn create<'a>(
        change: Change<'a>,
        key: HashKey,
    ) -> Result<(Sale, Option<Plan<'a>>), Refused> {
        if let Effect::Piece(Piece::Base(base)) = &change.effect {
            let mut sale = base.begin(key)?;
            sale.arrive();
            return Ok((sale, None));
        }
        Plan::first(change, None, key).map(|(plan, sale)| (sale, Some(plan)))
    }
}

/// The id of a stream's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// Milliseconds: the part before the dash.
    pub ms: u64,
    /// The part after the dash, which counts within the millisecond.
    pub seq: u64,
}

impl StreamId {
    /// The id `count` ids later; none after the largest id.
    pub fn after(self, count: u64) -> Option<StreamId> {
        match self.seq.checked_add(count) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => {
                Some(StreamId { ms: self.ms.checked_add(1)?, seq: self.seq.wrapping_add(count) })
            }
        }
    }
}

/// The first entry's id and the version of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntriesAt {
    /// Version of the entries.
    pub version: EntryVersion,
    /// Id of the first entry.
    pub id: StreamId,
}

/// The position of one replicated command's changes in their sale, and of its entries in the
/// outbox.
///
/// As text: the version before the first change in base 36 and, if the changes have entries, after
/// colons, the version of these and the stream id of the first: `1z` or `1z:1:1763805600000-0`.
/// Further entries take the following ids, so that every node appends equal entries under equal
/// ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The version before the first change.
    pub version: u64,
    /// The first entry's id and version, if there are entries.
    pub entries: Option<EntriesAt>,
}

impl Position {
    /// Appends the text.
    pub fn encode(&self, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let (mut text, mut start, mut rest) = ([0; DIGITS_MAX], DIGITS_MAX, self.version);
        loop {
            start -= 1;
            text[start] = DIGITS[(rest % 36) as usize];
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&text[start..]);
        if let Some(EntriesAt { version, id }) = self.entries {
            put_number(out, ":", version.number());
            put_number(out, ":", id.ms);
            put_number(out, "-", id.seq);
        }
    }

    /// Parses the output of [`Position::encode`]; none for other text.
    pub fn decode(text: &[u8]) -> Option<Position> {
        let mut parts = text.split(|byte| *byte == b':');
        let version = number(parts.next()?, 36)?;
        let entries = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => None,
            (Some(b"1"), Some(id), None) => {
                Some(EntriesAt { version: EntryVersion::V1, id: stream_id(id)? })
            }
            _ => return None,
        };
        Some(Position { version, entries })
    }
}

/// Digits of the largest number in base 36.
const DIGITS_MAX: usize = 13;

fn stream_id(text: &[u8]) -> Option<StreamId> {
    let dash = text.iter().position(|byte| *byte == b'-')?;
    let (ms, seq) = (number(&text[..dash], 10)?, number(&text[dash + 1..], 10)?);
    // No entry can have the id 0-0.
    (ms > 0 || seq > 0).then_some(StreamId { ms, seq })
}

/// A number without a sign, an upper-case digit or a leading zero.
fn number(text: &[u8], base: u32) -> Option<u64> {
    if text.is_empty() || (text.len() > 1 && text[0] == b'0') {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(base).filter(|_| !byte.is_ascii_uppercase())?;
        number.checked_mul(base.into())?.checked_add(digit.into())
    })
}
