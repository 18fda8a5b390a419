//! Grants in a snapshot: cutting them into pieces, encoding, checking and adding them.

mod tests;

use std::hint::black_box;

use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::pieces::{can_be_drawn, counts_all};
use crate::draft::Draft;
use crate::draw::Amounts;
use crate::ledger::record::{Asked, Record, ReqTag};
use crate::ledger::{Ledger, Lookup, NewGrant, Slots};
use crate::model::balances::Balances;
use crate::model::limits::{
    GRANTS_PER_PIECE_MAX, PIECE_BYTES_TARGET, TIME_MS_MAX, UNITS_MAX, UNITS_PER_GRANT_MAX,
};
use crate::model::outcome::{check, Refused, State};
use crate::model::wire;
use crate::numbers::{Numbers, UnitList};
use crate::units::Free;
use crate::Sale;

/// Grants that are added together: their index slots are prefetched before the first is used.
const ADDED_TOGETHER: usize = 64;

/// Most bytes of an encoded grant without its ids.
const STANDING_BYTES_MAX: usize = 24;

/// Most bytes of the encoded number of a unit.
const UNIT_BYTES_MAX: usize = 4;

/// Grants in seq order.
#[derive(Clone, Debug)]
pub struct Grants<'a> {
    /// Seq of the first grant.
    first: u64,
    grants: Vec<Standing<'a>>,
}

/// A grant in its current state.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Standing<'a> {
    #[serde(with = "wire::user")]
    user: &'a [u8],
    #[serde(borrow)]
    req: Option<ReqTag<'a>>,
    #[serde(deserialize_with = "wire::quantity")]
    qty: u64,
    state: State,
    /// Unix ms of the grant. Encoded as the distance from the first grant's, wrapping around for an
    /// older one.
    at: u64,
    /// Deadline, Unix ms; 0 for a grant that was never held.
    #[serde(deserialize_with = "wire::deadline")]
    deadline: u64,
}

/// Grants in seq order, and the numbers that each has or had last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NumberedGrants<'a> {
    #[serde(borrow)]
    grants: Grants<'a>,
    #[serde(deserialize_with = "numbers")]
    units: Vec<Had>,
}

/// The numbers of a grant, ascending. Encoded as the gaps between its first numbers, doubled, plus
/// 1 for a number that the grant no longer has.
#[derive(Clone, Debug)]
struct Had {
    first: UnitList,
    /// The numbers that the grant has or had last: some of `first`.
    last: UnitList,
}

impl Serialize for Had {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let before = [0].iter().chain(&self.first);
        to.collect_seq(self.first.iter().zip(before).map(|(unit, before)| {
            (unit - before - 1) << 1 | u32::from(self.last.binary_search(unit).is_err())
        }))
    }
}

impl<'de> Deserialize<'de> for Had {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Had, D::Error> {
        let written: UnitList = wire::sequence(from, UNITS_PER_GRANT_MAX, Some::<u32>)?;
        let mut had = Had { first: UnitList::new(), last: UnitList::new() };
        for number in written {
            let before = had.first.last().copied().unwrap_or(0);
            let unit = before + (number >> 1) + 1;
            if u64::from(unit) > UNITS_MAX {
                return Err(D::Error::custom("a number that no unit has"));
            }
            had.first.push(unit);
            if number & 1 == 0 {
                had.last.push(unit);
            }
        }
        match had.last.is_empty() {
            true => Err(D::Error::custom("a grant of no numbers")),
            false => Ok(had),
        }
    }
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Had>, D::Error> {
    wire::sequence(from, GRANTS_PER_PIECE_MAX, Some::<Had>)
}

impl<'a> NumberedGrants<'a> {
    /// Grants with their numbers.
    pub(super) fn of(grants: Grants<'a>, numbers: &Numbers) -> NumberedGrants<'a> {
        let seqs = (grants.first..).take(grants.grants.len());
        let had = |seq| Had { first: numbers.first_of(seq), last: numbers.of(seq) };
        let units = seqs.map(had).collect();
        NumberedGrants { grants, units }
    }

    /// The numbers of each grant, and whether it is live.
    fn each(&self) -> impl Iterator<Item = (&Had, bool)> {
        let live = self.grants.grants.iter().map(|grant| grant.state.is_live());
        self.units.iter().zip(live)
    }

    /// Checks that these grants can follow the sale's and that their numbers are free, and updates
    /// the draft.
    pub(crate) fn check(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        self.grants.check(draft.sale, &mut draft.balances)?;
        check(self.units.len() == self.grants.grants.len())?;
        let rows = (self.grants.first..).zip(&self.grants.grants).zip(&self.units);
        let is_had = |((seq, grant), had): ((u64, &Standing<'_>), &Had)| {
            // The first quantity is kept only for grants with a request id.
            let first = draft.sale.ledger.trimmed_from(seq).unwrap_or(grant.qty);
            let is_first = had.first.len() as u64 == first || grant.req.is_none();
            is_first && had.last.len() as u64 == grant.qty
        };
        check(rows.into_iter().all(is_had))?;
        let all = draft.sale.numbers().map_or(0, |numbers| numbers.units().len());
        self.each().try_for_each(|(had, is_live)| {
            check(had.first.last().is_some_and(|last| *last <= all))?;
            draft.take_units(&had.last, is_live)
        })
    }

    /// Adds these grants, which were checked, and their numbers.
    pub(crate) fn make(&self, sale: &mut Sale) {
        self.grants.make(sale);
        if let Some(numbers) = sale.numbers_mut() {
            for (seq, (had, is_live)) in (self.grants.first..).zip(self.each()) {
                numbers.grant(&had.first, false);
                numbers.keep(seq, &had.last);
                if is_live {
                    numbers.set_live(seq, true);
                }
            }
        }
    }
}

/// The encoding of grants.
#[derive(Deserialize)]
struct Form<'a> {
    #[serde(deserialize_with = "wire::integer")]
    first: u64,
    #[serde(deserialize_with = "wire::moment")]
    base_at: u64,
    #[serde(borrow, deserialize_with = "standings")]
    grants: Vec<Standing<'a>>,
}

fn standings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Standing<'de>>, D::Error> {
    let is_possible = |grant: &Standing<'_>| grant.state != State::Held || grant.deadline != 0;
    wire::sequence(from, GRANTS_PER_PIECE_MAX, |grant| Some(grant).filter(is_possible))
}

impl<'de: 'a, 'a> Deserialize<'de> for Grants<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Grants<'a>, D::Error> {
        let Form { first, base_at, mut grants } = Form::deserialize(from)?;
        for grant in &mut grants {
            grant.at = base_at.wrapping_add(grant.at);
        }
        match grants.iter().all(|grant| grant.at <= TIME_MS_MAX) {
            true => Ok(Grants { first, grants }),
            false => Err(D::Error::custom("a time out of bounds")),
        }
    }
}

impl Serialize for Grants<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let base_at = self.grants.first().map_or(0, |grant| grant.at);
        let mut form = to.serialize_struct("Form", 3)?;
        form.serialize_field("first", &self.first)?;
        form.serialize_field("base_at", &base_at)?;
        form.serialize_field("grants", &Since { base_at, grants: &self.grants })?;
        form.end()
    }
}

/// Grants with times relative to `base_at`.
struct Since<'r, 'a> {
    base_at: u64,
    grants: &'r [Standing<'a>],
}

impl Serialize for Since<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let since = |grant: &Standing<'_>| grant.at.wrapping_sub(self.base_at);
        to.collect_seq(self.grants.iter().map(|grant| Standing { at: since(grant), ..*grant }))
    }
}

/// Cuts the grants of a ledger into bounded parts: first seq and count. The result depends on the
/// grants and their numbers, if they have any, only, so that equal sales have equal pieces.
pub(super) fn cut<'s>(
    ledger: &'s Ledger,
    numbers: Option<&'s Numbers>,
) -> impl Iterator<Item = (u64, usize)> + 's {
    let mut first = ledger.base() + 1;
    let units = move |seq| numbers.map_or(0, |all| all.first_of(seq).len() * UNIT_BYTES_MAX);
    core::iter::from_fn(move || {
        let (mut count, mut bytes) = (0, 0);
        if numbers.is_none() && are_short(ledger, first) {
            count = GRANTS_PER_PIECE_MAX;
        } else {
            let mut lens = ledger.ids_lens(first);
            while count < GRANTS_PER_PIECE_MAX && bytes < PIECE_BYTES_TARGET {
                let Some(len) = lens.next() else { break };
                bytes += len + STANDING_BYTES_MAX + units(first + count as u64);
                count += 1;
            }
        }
        let part = (first, count);
        first += count as u64;
        (count > 0).then_some(part)
    })
}

/// Whether `GRANTS_PER_PIECE_MAX` grants exist from `first` on and are so short that they make one
/// piece. Only their positions are compared, so no grant is read.
fn are_short(ledger: &Ledger, first: u64) -> bool {
    let before_last = GRANTS_PER_PIECE_MAX as u64 - 1;
    let span = ledger.bytes_between(first, first + before_last);
    // A record is longer than its ids.
    span.is_some_and(|span| {
        span + before_last * (STANDING_BYTES_MAX as u64) < PIECE_BYTES_TARGET as u64
    })
}

impl<'a> Grants<'a> {
    /// `count` grants from `first` on.
    pub(super) fn of(ledger: &'a Ledger, first: u64, count: usize) -> Grants<'a> {
        let grants = ledger.records(first).take(count).map(|record| {
            let Record { user, req, qty, state, at, deadline, .. } = record;
            Standing { user, req, qty, state, at, deadline }
        });
        // A piece is one of many, so its memory is allocated at once.
        let mut all = Vec::with_capacity(count);
        all.extend(grants);
        Grants { first, grants: all }
    }

    /// Checks that these grants can follow the sale's, and updates `balances`.
    pub(crate) fn check(&self, sale: &Sale, balances: &mut Balances) -> Result<(), Refused> {
        if self.first != balances.grants + 1 || self.grants.is_empty() {
            return Err(Refused::Law);
        }
        if !self.requests_are_new(&sale.ledger) {
            return Err(Refused::Law);
        }
        for grant in &self.grants {
            // Only a sale with a waiting list has offers.
            let is_offer = grant.req.is_some_and(|req| req.asked == Asked::Offered);
            let first = sale.ledger.trimmed_from(balances.grants + 1);
            let fits = grant.is_drawn(sale, balances)
                && (!is_offer || sale.waitlist().is_some())
                && first.is_none_or(|first| first > grant.qty && grant.req.is_some());
            if !fits {
                return Err(Refused::Law);
            }
            balances.add_grant(grant.qty, grant.state)?;
        }
        // Grants still to come leave every packet its share, so this must hold before them.
        let fits = can_be_drawn(sale, balances)
            && has_room_for_list(sale, balances)
            && counts_all(balances, sale.restocks.len() as u64, sale.fences.len() as u64);
        fits.then_some(()).ok_or(Refused::Law)
    }

    /// Adds these grants, which were checked.
    pub(crate) fn make(&self, sale: &mut Sale) {
        if let Some(list) = sale.waitlist_mut() {
            list.offered += self.grants.iter().filter(|grant| grant.is_offer()).count() as u64;
        }
        let (first, ledger) = (sale.ledger.len() + 1, &mut sale.ledger);
        if !ledger.is_bulk_loading() {
            self.grants.chunks(ADDED_TOGETHER).for_each(|part| add(ledger, part));
            return sale.enter_holds(first);
        }
        // The base announces one grant per user, so users are not looked up.
        for grant in &self.grants {
            let vacant = ledger.vacant(grant.user);
            push(ledger, grant, Some(vacant));
        }
    }

    /// Whether no request id occurs twice, here or in the ledger.
    fn requests_are_new(&self, ledger: &Ledger) -> bool {
        let mut all = Vec::with_capacity(self.grants.len());
        for part in self.grants.chunks(ADDED_TOGETHER) {
            let known = all.len();
            all.extend(part.iter().filter_map(|grant| {
                let req = grant.req?.id;
                let hash = ledger.hash_of(ledger.hash_of(0, grant.user), req);
                Some((hash, grant.user, req))
            }));
            let part = &all[known..];
            touch(part.iter().filter_map(|(hash, ..)| ledger.first_look_for_req(*hash)));
            if part.iter().any(|(hash, user, req)| ledger.has_req(user, req, *hash)) {
                return false;
            }
        }
        all.sort_unstable();
        all.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// Prefetches slots. Ids are spread over the whole index. So the slots of several ids are touched
/// before the first is read, and the processor loads them in parallel.
fn touch<'w>(slots: impl Iterator<Item = &'w u64>) {
    black_box(slots.fold(0, |all, word| all ^ word));
}

/// Whether the sale's listed amounts fit in what grants leave: amounts come before grants.
fn has_room_for_list(sale: &Sale, balances: &Balances) -> bool {
    let fits =
        |list: &Amounts| Some(list.len()) <= balances.packets && list.sum() <= balances.available;
    sale.amounts().is_none_or(fits)
}

impl Standing<'_> {
    /// Whether this is an offer that is still held.
    fn is_offer(&self) -> bool {
        self.state == State::Held && self.req.is_some_and(|req| req.asked == Asked::Offered)
    }

    /// Whether the sale can have drawn this amount, or the grant was imported.
    fn is_drawn(&self, sale: &Sale, balances: &Balances) -> bool {
        let imported = self.req.is_some_and(|req| req.asked == Asked::Either);
        sale.terms.draw().is_none_or(|draw| draw.can_draw(self.qty, balances.supply))
            || imported && balances.packets.is_none()
    }
}

/// Appends grants.
fn add(ledger: &mut Ledger, grants: &[Standing<'_>]) {
    let mut hashes = [None; ADDED_TOGETHER];
    for (hash, grant) in hashes.iter_mut().zip(grants) {
        *hash = Some(ledger.hash_of(0, grant.user));
    }
    touch(hashes.iter().flatten().filter_map(|hash| ledger.first_look(*hash)));
    for (grant, hash) in grants.iter().zip(hashes) {
        let found = hash.map(|hash| ledger.find_at(grant.user, hash));
        push(ledger, grant, found);
    }
}

#[inline]
fn push(ledger: &mut Ledger, grant: &Standing<'_>, found: Option<Lookup>) {
    let Standing { user, req, qty, state, at, deadline } = *grant;
    let seq = ledger.len() + 1;
    let (epoch, first) = (ledger.epoch_of(seq), ledger.trimmed_from(seq));
    let new = NewGrant { user, req, qty: first.unwrap_or(qty), state, at, deadline, epoch };
    ledger.push(&new, found.map(|user| Slots { user, req: None }).as_ref());
    if first.is_some() {
        ledger.set_qty(seq, qty);
    }
}

#[cfg(test)]
impl Grants<'_> {
    /// The first grant, `count` times, each of `qty` units.
    pub(crate) fn repeated(&self, count: u64, qty: u64) -> Self {
        let grants = (0..count).map(|_| Standing { qty, ..self.grants[0] }).collect();
        Grants { first: self.first, grants }
    }
}
