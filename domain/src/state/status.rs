//! What STATUS, its JSON form and INFO show.

use serde::{Deserialize, Serialize, Serializer};

use crate::memory::wire;
use crate::model::balances::Stock;
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::Outcome;
use crate::request::Now;
use crate::Sale;

/// Counts one more. A counter that a broken dump has set to the largest integer stays there, so
/// that the sale can still be saved and loaded.
pub(crate) fn count(counter: &mut u64) {
    *counter = INTEGER_MAX.min(*counter + 1);
}

/// Changes by kind. They replicate, so they are exact on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tallies {
    #[serde(deserialize_with = "wire::integer")]
    pub granted: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub confirmed: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub cancelled: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub expired: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub refunded: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub reclaimed: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub imported: u64,
}

/// Refusals by kind, of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    #[serde(deserialize_with = "wire::integer")]
    pub already: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub replayed: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub overlimit: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub soldout: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub short: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub notopen: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub closed: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub paused: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub denied: u64,
    #[serde(deserialize_with = "wire::integer")]
    pub busy: u64,
}

impl Refusals {
    /// Counts `outcome` if it is a refusal or a replay.
    pub fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Already(_) => &mut self.already,
            Outcome::Replay(_) => &mut self.replayed,
            Outcome::OverLimit { .. } => &mut self.overlimit,
            Outcome::SoldOut { .. } => &mut self.soldout,
            Outcome::Short { .. } => &mut self.short,
            Outcome::NotOpen { .. } => &mut self.notopen,
            Outcome::Closed => &mut self.closed,
            Outcome::Paused => &mut self.paused,
            Outcome::Denied => &mut self.denied,
            Outcome::Busy => &mut self.busy,
            Outcome::Done
            | Outcome::Granted { .. }
            | Outcome::Restocked { .. }
            | Outcome::Changed { .. }
            | Outcome::ManyOwnEnding
            | Outcome::ManyEnding
            | Outcome::NextRound
            | Outcome::Stands(_)
            | Outcome::NoGrant
            | Outcome::Fenced
            | Outcome::Misuse(_) => return,
        };
        count(counter);
    }

    fn numbers(&self) -> [u64; 10] {
        [
            self.already,
            self.replayed,
            self.overlimit,
            self.soldout,
            self.short,
            self.notopen,
            self.closed,
            self.paused,
            self.denied,
            self.busy,
        ]
    }
}

/// The counters of one sale as STATUS shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Counters {
    pub attempts: u64,
    pub granted: u64,
    pub already: u64,
    pub replayed: u64,
    pub overlimit: u64,
    pub soldout: u64,
    pub short: u64,
    pub notopen: u64,
    pub closed: u64,
    pub paused: u64,
    pub denied: u64,
    pub busy: u64,
    pub confirmed: u64,
    pub cancelled: u64,
    pub expired: u64,
    pub refunded: u64,
    pub reclaimed: u64,
    pub imported: u64,
}

impl Counters {
    fn of(tallies: &Tallies, refusals: &Refusals) -> Counters {
        let refused: u64 = refusals.numbers().iter().sum();
        Counters {
            attempts: tallies.granted + refused,
            granted: tallies.granted,
            already: refusals.already,
            replayed: refusals.replayed,
            overlimit: refusals.overlimit,
            soldout: refusals.soldout,
            short: refusals.short,
            notopen: refusals.notopen,
            closed: refusals.closed,
            paused: refusals.paused,
            denied: refusals.denied,
            busy: refusals.busy,
            confirmed: tallies.confirmed,
            cancelled: tallies.cancelled,
            expired: tallies.expired,
            refunded: tallies.refunded,
            reclaimed: tallies.reclaimed,
            imported: tallies.imported,
        }
    }
}

/// The name of a key as JSON has it, which knows text alone.
fn as_text<S: Serializer>(name: &Option<Box<[u8]>>, serializer: S) -> Result<S::Ok, S::Error> {
    name.as_deref().map(String::from_utf8_lossy).serialize(serializer)
}

/// A sale at a glance. The fields, in this order, are those of the STATUS reply. Moments are Unix
/// milliseconds, spans milliseconds; of both, and of what limits users, 0 says that there is none.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    pub state: &'static str,
    pub supply: u64,
    pub available: u64,
    pub held: u64,
    pub sold: u64,
    pub deficit: u64,
    pub winners: u64,
    pub grants: u64,
    pub limit: u64,
    pub grabs: u64,
    pub hold_ms: u64,
    pub open_at: u64,
    pub close_at: u64,
    pub now: u64,
    pub next_deadline: u64,
    pub created_at: u64,
    pub last_grant_at: u64,
    pub id: String,
    pub epoch: u64,
    pub version: u64,
    pub rev: u64,
    #[serde(serialize_with = "as_text")]
    pub outbox: Option<Box<[u8]>>,
    pub outbox_error: u64,
    pub fences_dropped: u64,
    /// Packets left to draw, in sales that count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// The stored round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// When the stored round closes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_ends_at: Option<u64>,
    /// When the next round opens, 0 when the series is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_round_at: Option<u64>,
    pub counters: Counters,
}

impl Sale {
    /// The sale at a glance, at `now`.
    pub fn status(&self, now: &Now) -> Status {
        let balances = &self.balances;
        let schedule = self.terms.schedule.as_ref();
        Status {
            state: self.state_at(self.time(now)),
            supply: balances.supply,
            available: balances.available,
            held: balances.held,
            sold: balances.sold,
            deficit: balances.deficit,
            winners: self.ledger.winners(),
            grants: balances.grants,
            limit: self.terms.limit,
            grabs: self.terms.grabs,
            hold_ms: self.terms.hold_ms,
            open_at: self.terms.open_at,
            close_at: self.terms.close_at,
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
            counters: Counters::of(&self.tallies, &self.refusals),
        }
    }

    fn state_at(&self, t: u64) -> &'static str {
        match self.window(t) {
            Some(Outcome::Closed) => return "closed",
            _ if self.paused => return "paused",
            Some(_) => return "pending",
            None => {}
        }
        match self.balances.stock() {
            Stock::Available => "open",
            Stock::AllHeld => "allheld",
            Stock::SoldOut => "soldout",
        }
    }
}
