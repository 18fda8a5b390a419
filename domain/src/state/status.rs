//! The numbers of STATUS, of its JSON form and of INFO.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::balances::{count, Escrow, Stock};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::OUTCOMES;
use crate::model::wire;
use crate::parts::{Pair, Split};
use crate::request::Now;
use crate::terms::Section;
use crate::waitlist::Waitlist;
use crate::Sale;

/// Whether GRABs are judged at a moment, the operator's pause apart.
pub(crate) enum Window {
    Open,
    /// The sale opens in this many ms.
    OpensIn(u64),
    Closed,
}

/// Changes by kind. These counters are replicated, so they are exact on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tallies {
    /// Grants by GRAB and MGRAB.
    #[serde(deserialize_with = "wire::integer")]
    pub granted: u64,
    /// Holds that were paid in time.
    #[serde(deserialize_with = "wire::integer")]
    pub confirmed: u64,
    /// Holds that were cancelled.
    #[serde(deserialize_with = "wire::integer")]
    pub cancelled: u64,
    /// Holds that expired.
    #[serde(deserialize_with = "wire::integer")]
    pub expired: u64,
    /// Sold grants that were refunded.
    #[serde(deserialize_with = "wire::integer")]
    pub refunded: u64,
    /// Late payments that were accepted.
    #[serde(deserialize_with = "wire::integer")]
    pub reclaimed: u64,
    /// Grants that IMPORT entered.
    #[serde(deserialize_with = "wire::integer")]
    pub imported: u64,
    /// Grants of which a part was given back.
    #[serde(deserialize_with = "wire::integer")]
    pub trimmed: u64,
}

/// Calls that one node refused or answered with a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Number of each refusal, in the order of [`OUTCOMES`], whose first row is no refusal.
    kinds: [u64; OUTCOMES.len() - 1],
    /// Units that were asked of a part of a split and were not available.
    unmet_units: u64,
}

/// The name of `unmet_units` in a dump.
const UNMET: &str = "unmet_units";

/// A dump has at most this many counters, whatever version wrote it.
const COUNTERS_MAX: usize = 64;

/// Name and number of the counters that are not 0, in the order of the table. A newer version may
/// write more counters. An unknown counter is dropped, because refusal counters belong to one node
/// and no number of the sale depends on them.
impl Serialize for Refusals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = OUTCOMES[1..].iter().map(|row| row.counter.to_str().unwrap_or_default());
        let all = names.zip(self.kinds).chain([(UNMET, self.unmet_units)]);
        let all: Vec<(&str, u64)> = all.filter(|(_, number)| *number > 0).collect();
        all.serialize(serializer)
    }
}

/// A counter in a dump.
#[derive(Deserialize)]
struct Counter<'a>(&'a str, #[serde(deserialize_with = "wire::integer")] u64);

impl<'de> Deserialize<'de> for Refusals {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Refusals, D::Error> {
        let all: Vec<Counter<'_>> = wire::sequence(from, COUNTERS_MAX, Some)?;
        let mut refusals = Refusals::default();
        for Counter(name, number) in all {
            let mut rows = OUTCOMES[1..].iter();
            let index = rows.position(|row| row.counter.to_bytes() == name.as_bytes());
            match index.and_then(|index| refusals.kinds.get_mut(index)) {
                Some(counter) => *counter = number,
                None if name == UNMET => refusals.unmet_units = number,
                None => {}
            }
        }
        Ok(refusals)
    }
}

impl Refusals {
    /// Counts a refusal, the first of which has index 0.
    pub fn count(&mut self, index: usize) {
        if let Some(counter) = self.kinds.get_mut(index) {
            count(counter);
        }
    }

    /// Counts units that were asked for and were not available.
    pub fn add_unmet(&mut self, units: u64) {
        self.unmet_units = INTEGER_MAX.min(self.unmet_units.saturating_add(units));
    }
}

/// The counters of one sale as STATUS shows them.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Changes by kind.
    pub tallies: Tallies,
    /// Refusals on this node.
    pub refusals: Refusals,
    /// Offers made to waiters.
    pub offers: u64,
    /// Entries of the waiting list that were dropped.
    pub dropped: u64,
}

impl Counters {
    /// GRABs and MGRABs that were decided: grants and refusals together.
    pub fn attempts(&self) -> u64 {
        self.tallies.granted + self.refusals.kinds.iter().sum::<u64>()
    }

    /// All counters with their names, in the order of STATUS.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Tallies { granted, confirmed, cancelled, expired, refunded, .. } = self.tallies;
        let Tallies { reclaimed, imported, trimmed, .. } = self.tallies;
        let names = OUTCOMES.iter().map(|row| row.counter.to_str().unwrap_or_default());
        let changes = [
            ("confirmed", confirmed),
            ("cancelled", cancelled),
            ("expired", expired),
            ("refunded", refunded),
            ("reclaimed", reclaimed),
            ("imported", imported),
            ("trimmed", trimmed),
            ("offers", self.offers),
            ("dropped", self.dropped),
        ];
        [("attempts", self.attempts())]
            .into_iter()
            .chain(names.zip([granted].into_iter().chain(self.refusals.kinds)))
            .chain(changes)
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.all())
    }
}

/// A key's name for JSON, which has text only.
fn as_text<S: Serializer>(name: &Option<Box<[u8]>>, serializer: S) -> Result<S::Ok, S::Error> {
    name.as_deref().map(String::from_utf8_lossy).serialize(serializer)
}

/// The terms that STATUS shows in one section, by name.
#[derive(Clone, Debug)]
pub struct Shown(Vec<(&'static str, u64)>);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// A sale at a glance. The fields, in this order, are those of the STATUS reply. Times are Unix
/// milliseconds, spans are milliseconds; 0 in a time, a span or a limit means none.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `pending`, `open`, `allheld`, `soldout`, `paused` or `closed`.
    pub state: &'static str,
    /// Units of the sale: available, held and sold together.
    pub supply: u64,
    /// Units that can be granted now.
    pub available: u64,
    /// Units in held grants.
    pub held: u64,
    /// Units in sold grants.
    pub sold: u64,
    /// Units promised beyond the supply.
    pub deficit: u64,
    /// Users with a live grant.
    pub winners: u64,
    /// Grants so far, whatever their state.
    pub grants: u64,
    /// Terms of every sale.
    #[serde(flatten)]
    pub sale_terms: Shown,
    /// Time of this status.
    pub now: u64,
    /// Earliest deadline of a hold.
    pub next_deadline: u64,
    /// Time of INIT.
    pub created_at: u64,
    /// Time of the newest grant.
    pub last_grant_at: u64,
    /// Id drawn at INIT, as text.
    pub id: String,
    /// The epoch of the last change.
    pub epoch: u64,
    /// Changes so far.
    pub version: u64,
    /// Outbox entries so far: the number of the last one.
    pub rev: u64,
    #[serde(serialize_with = "as_text")]
    /// The stream that entries go to.
    pub outbox: Option<Box<[u8]>>,
    /// Whether the outbox refused the last entry.
    pub outbox_error: u64,
    /// Fences forgotten early to make room for newer ones.
    pub fences_dropped: u64,
    /// Packets left to draw, in a sale with a fixed number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Number of the current round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// When the current round closes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_ends_at: Option<u64>,
    /// When the next round opens, 0 when the series is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_round_at: Option<u64>,
    /// Terms of a part of a split.
    #[serde(flatten)]
    pub part_terms: Shown,
    /// The share of this part and the restocks that were applied to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_in: Option<i64>,
    /// Units ever sent to other parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Units ever received from other parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// Units that the other parts may still have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<u64>,
    /// Units that refused calls asked for on this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet_units: Option<u64>,
    /// Terms of the waiting list.
    #[serde(flatten)]
    pub list_terms: Shown,
    /// Number of waiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// Units that the waiters ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_units: Option<u64>,
    /// Time at which the first waiter joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<u64>,
    /// Offers that are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<u64>,
    /// Terms of numbered units.
    #[serde(flatten)]
    pub unit_terms: Shown,
    /// Counters of grants and refusals.
    pub counters: Counters,
}

/// A part's numbers for a balancer, read in one step.
#[derive(Clone, Copy, Debug)]
pub struct PartView<'s> {
    /// The split and the number of the part.
    pub split: &'s Split,
    /// Units put in and exchanged in all.
    pub escrow: Escrow,
    /// Units exchanged with each other part.
    pub pairs: &'s [Pair],
}

impl Status {
    /// A term, by its name; none if the sale does not have this term.
    pub fn term(&self, name: &str) -> Option<u64> {
        let all = [&self.sale_terms, &self.part_terms, &self.list_terms, &self.unit_terms];
        let mut all = all.into_iter().flat_map(|shown| &shown.0);
        all.find_map(|(known, number)| (*known == name).then_some(*number))
    }
}

impl Sale {
    /// The sale as a part; `None` if it is not one.
    pub fn part(&self) -> Option<PartView<'_>> {
        let split = self.terms.split.as_deref()?;
        Some(PartView { split, escrow: self.escrow?, pairs: self.pairs.as_slice() })
    }

    fn shown(&self, at: Section) -> Shown {
        Shown(self.terms.shown(at).collect())
    }

    /// Offers made and entries dropped so far.
    #[inline]
    pub fn list_totals(&self) -> (u64, u64) {
        self.waitlist().map_or((0, 0), |list| (list.totals.offers, list.totals.dropped))
    }

    /// The sale at a glance, at `now`.
    pub fn status(&self, now: &Now) -> Status {
        let balances = &self.balances;
        let schedule = self.terms.schedule.as_ref();
        let (split, escrow) = (self.terms.split.as_deref(), self.escrow.as_ref());
        Status {
            state: self.state_at(self.time(now)),
            supply: balances.supply,
            available: balances.available,
            held: balances.held,
            sold: balances.sold,
            deficit: balances.deficit,
            winners: self.ledger.winners(),
            grants: balances.grants,
            sale_terms: self.shown(Section::Sale),
            now: self.time(now),
            next_deadline: self.next_deadline().unwrap_or(0),
            created_at: self.created_at,
            last_grant_at: balances.last_grant_at,
            id: String::from_utf8_lossy(&self.id_text()).into_owned(),
            epoch: balances.epoch,
            version: balances.version,
            rev: balances.rev,
            outbox: self.terms.outbox.clone(),
            outbox_error: u64::from(self.outbox_failed),
            fences_dropped: self.fences.dropped(),
            packets: balances.packets,
            round: schedule.map(|_| balances.round),
            round_ends_at: schedule.map(|schedule| schedule.end(balances.round)),
            next_round_at: schedule.map(|_| self.next_round_at(now).unwrap_or(0)),
            part_terms: self.shown(Section::Part),
            put_in: escrow.map(|escrow| escrow.put_in),
            sent: escrow.map(|escrow| escrow.sent),
            received: escrow.map(|escrow| escrow.received),
            elsewhere: escrow.map(|_| balances.elsewhere),
            unmet_units: split.map(|_| self.refusals.unmet_units),
            list_terms: self.shown(Section::List),
            waiting: self.waitlist().map(Waitlist::len),
            waiting_units: self.waitlist().map(Waitlist::units),
            waiting_since: self.waitlist().map(|list| list.first().map_or(0, |first| first.at)),
            offered: self.waitlist().map(|list| list.offered),
            unit_terms: self.shown(Section::Units),
            counters: Counters {
                tallies: self.tallies,
                refusals: self.refusals,
                offers: self.waitlist().map_or(0, |list| list.totals.offers),
                dropped: self.waitlist().map_or(0, |list| list.totals.dropped),
            },
        }
    }

    fn state_at(&self, t: u64) -> &'static str {
        match self.window_at(t) {
            Window::Closed => return "closed",
            _ if self.paused => return "paused",
            Window::OpensIn(_) => return "pending",
            Window::Open => {}
        }
        match self.stock() {
            Stock::Available => "open",
            Stock::AllHeld => "allheld",
            Stock::SoldOut => "soldout",
        }
    }
}
