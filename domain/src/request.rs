//! Requests of callers, parsed and within bounds, and the terms of a sale: all settings that decide
//! who may have how much and when.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::admission::{Admission, AdmissionChange, List};
use crate::draw::Draw;
use crate::model::limits::{HOLD_MS_MAX, OUTBOX_BYTES_MAX, UNITS_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;
use crate::parts::Split;
use crate::rounds::Schedule;
use crate::waitlist::{WaitTerms, WaitTermsChange};

/// The time of a call. The caller passes it: the domain reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The server's clock, Unix milliseconds.
    pub clock_ms: u64,
    /// Epoch of this node: Unix ms at which it started or was last promoted.
    pub run: u64,
}

/// Amount of a GRAB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Exactly this many units, or none (QTY).
    Exactly(u64),
    /// As many as are available and allowed, at most this many and at least 1 (UPTO).
    UpTo(u64),
    /// Neither QTY nor UPTO: one unit, or the drawn amount.
    Unsaid,
}

impl Amount {
    /// Units asked for.
    pub fn units(self) -> u64 {
        match self {
            Amount::Exactly(units) | Amount::UpTo(units) => units,
            Amount::Unsaid => 1,
        }
    }

    /// Whether it is all or nothing.
    pub fn is_exact(self) -> bool {
        !matches!(self, Amount::UpTo(_))
    }
}

/// A buyer's GRAB.
#[derive(Clone, Copy, Debug)]
pub struct Grab<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The amount asked for.
    pub amount: Amount,
    /// The request id, 1 to 128 bytes.
    pub req: Option<&'a [u8]>,
}

/// A GRAB of numbered units whose buyer says which.
#[derive(Clone, Debug)]
pub struct Pick<'a> {
    /// The GRAB, of as many units as they name.
    pub grab: Grab<'a>,
    /// Which units.
    pub wish: Wish,
    /// Whether it says WAIT, too, which is refused.
    pub waits: bool,
}

/// Which numbered units a buyer wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Units next to each other (ADJACENT).
    Adjacent,
    /// Exactly these, all different, in the caller's order (UNITS).
    These(Vec<u32>),
}

/// An operator's INIT. The caller draws `id` and `secret` from a random source; they are used only
/// if the sale is new.
#[derive(Clone, Debug)]
pub struct Init {
    /// Units to sell.
    pub supply: u64,
    /// The terms of grants.
    pub terms: Terms,
    /// The amounts of DRAW LIST, whose fingerprint is in the terms; else empty.
    pub amounts: Vec<u64>,
    /// The id of a new sale.
    pub id: u64,
    /// Key of a new sale's draws.
    pub secret: [u8; 16],
}

/// An operator's RESTOCK; `delta` is not 0.
#[derive(Clone, Copy, Debug)]
pub struct Restock<'a> {
    /// Units to add; negative: to withdraw.
    pub delta: i64,
    /// The request id, 1 to 128 bytes.
    pub req: &'a [u8],
}

/// Which of a user's grants a request means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// Their only grant.
    Only,
    /// The grant of this number.
    Seq(u64),
    /// The grant of this request id.
    Req(&'a [u8]),
}

/// An action on a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed<'a> {
    /// HELD to SOLD; with `reclaim` also EXPIRED to SOLD, if enough units are available.
    Confirm {
        /// Whether an expired grant may be sold after all.
        reclaim: bool,
    },
    /// HELD to CANCELLED.
    Cancel,
    /// A later deadline, `ms` from now.
    Extend {
        /// Milliseconds from now.
        ms: u64,
    },
    /// SOLD to REFUNDED.
    Refund,
    /// A part is given back.
    Keep {
        /// The command that says so.
        by: Keeper,
        /// What the grant is left with.
        kept: Kept<'a>,
    },
}

/// What a grant is left with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept<'a> {
    /// At most so many units, at least 1.
    AtMost(u64),
    /// Those of its numbered units that are here, all different.
    These(&'a [u32]),
}

/// A command that may keep a part of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// HELD to SOLD, with what is left.
    Confirm,
    /// HELD stays HELD.
    Cancel,
    /// SOLD stays SOLD.
    Refund,
}

/// CONFIRM, CANCEL, EXTEND or REFUND.
#[derive(Clone, Copy, Debug)]
pub struct Settle<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// Which of the user's grants.
    pub which: Which<'a>,
    /// The action.
    pub deed: Deed<'a>,
}

/// An operator's IMPORT.
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// Units.
    pub qty: u64,
    /// The request id, 1 to 128 bytes.
    pub req: &'a [u8],
    /// Time of the grant, Unix ms; `None` is now.
    pub at: Option<u64>,
    /// Refuse rather than promise more than the supply.
    pub no_deficit: bool,
    /// The numbers of the units, all different; empty if none are named.
    pub units: &'a [u32],
}

/// An operator's ALLOW or DENY. Users are 1 to 256 bytes, at most `USERS_PER_COMMAND_MAX`.
#[derive(Clone, Copy, Debug)]
pub struct ListChange<'a> {
    /// `Allow` or `Deny`.
    pub list: List,
    /// True for ADD, false for REMOVE.
    pub add: bool,
    /// The users, 1 to 256 bytes each.
    pub users: &'a [&'a [u8]],
}

/// A balancer's SEND.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The id of the split.
    pub split: &'a [u8],
    /// The part that gets the units.
    pub to: u64,
    /// Units ever sent to it, this SEND included.
    pub total: u64,
    /// Whether units that are not available are sent as a promise (OWED).
    pub owed: bool,
}

/// A balancer's RECEIVE.
#[derive(Clone, Copy, Debug)]
pub struct Receive<'a> {
    /// The id of the split.
    pub split: &'a [u8],
    /// The part that the units come from.
    pub from: u64,
    /// Units ever received from it, this RECEIVE included.
    pub total: u64,
}

/// A balancer's ELSEWHERE.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'a> {
    /// The id of the split.
    pub split: &'a [u8],
    /// Units that the other parts may still have.
    pub units: u64,
    /// Number of the balancer's pass that found this.
    pub pass: u64,
}

/// A buyer's GRAB with WAIT. It has a request id and an exact amount.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// The GRAB to grant or to put on the waiting list.
    pub grab: Grab<'a>,
    /// Time at which they stop waiting, Unix ms; 0 for none.
    pub until: u64,
}

/// Every request to a sale that exists.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// GRAB: units for a user.
    Grab(Grab<'a>),
    /// INIT on a key that holds a sale: compared with that sale.
    Init(Init),
    /// RESTOCK: more units, or fewer.
    Restock(Restock<'a>),
    /// PAUSE: no GRAB sells until RESUME.
    Pause,
    /// RESUME: GRAB sells again.
    Resume,
    /// ALTER: the terms of grants to come.
    Alter(TermsChange),
    /// CONFIRM, CANCEL, EXTEND or REFUND.
    Settle(Settle<'a>),
    /// IMPORT: a grant that Redis lost.
    Import(Import<'a>),
    /// ALLOW or DENY.
    List(ListChange<'a>),
    /// SEND: units go to another part of the split.
    Send(Send<'a>),
    /// RECEIVE: units come from another part of the split.
    Receive(Receive<'a>),
    /// ELSEWHERE: units that the other parts may still have.
    Elsewhere(Elsewhere<'a>),
    /// GRAB with WAIT: units for a user, or a place on the waiting list.
    Wait(Wait<'a>),
    /// GRAB with ADJACENT or UNITS: numbered units for a user.
    Pick(Pick<'a>),
}

/// The terms of grants to come. 0 always means "none". Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Units a user may have in live grants.
    #[serde(deserialize_with = "wire::integer")]
    pub limit: u64,
    /// Live grants a user may have.
    #[serde(deserialize_with = "wire::integer")]
    pub grabs: u64,
    /// How long a grant stays reserved before it returns by itself, in milliseconds.
    #[serde(deserialize_with = "wire::integer")]
    pub hold_ms: u64,
    /// Time from which GRAB is accepted.
    #[serde(deserialize_with = "wire::integer")]
    pub open_at: u64,
    /// Time from which GRAB is no longer accepted.
    #[serde(deserialize_with = "wire::integer")]
    pub close_at: u64,
    /// The stream that gets an entry for every change.
    #[serde(deserialize_with = "name")]
    pub outbox: Option<Box<[u8]>>,
    /// What a grant takes of the units. Fixed at INIT.
    pub kind: UnitKind,
    /// When rounds begin, in a repeating sale. Fixed at INIT.
    pub schedule: Option<Schedule>,
    /// Who is admitted to the sale.
    pub admission: Admission,
    /// The split and the number of the part, if the sale is one. Fixed at INIT.
    pub split: Option<Box<Split>>,
    /// Terms of the waiting list, if the sale has one.
    pub waitlist: Option<WaitTerms>,
}

/// What a grant takes of a sale's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnitKind {
    /// So many as the caller names.
    Counted,
    /// So many as are drawn.
    Drawn(Draw),
    /// Units of which each has a number.
    Numbered,
}

impl From<Option<Draw>> for UnitKind {
    fn from(draw: Option<Draw>) -> UnitKind {
        draw.map_or(UnitKind::Counted, UnitKind::Drawn)
    }
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            limit: 1,
            grabs: 0,
            hold_ms: 0,
            open_at: 0,
            close_at: 0,
            outbox: None,
            kind: UnitKind::Counted,
            schedule: None,
            admission: Admission::default(),
            split: None,
            waitlist: None,
        }
    }
}

/// Terms that ALTER changes, in the units of [`Terms`]; `None` leaves a term unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsChange {
    /// LIMIT.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub limit: Option<u64>,
    /// GRABS.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub grabs: Option<u64>,
    /// HOLD.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub hold_ms: Option<u64>,
    /// OPENAT.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub open_at: Option<u64>,
    /// CLOSEAT.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub close_at: Option<u64>,
    /// OUTBOX, which can be set once.
    #[serde(deserialize_with = "name")]
    pub outbox: Option<Box<[u8]>>,
    /// ALLOWLIST, MOD, SAMPLE, ADMIT, MASK.
    pub admission: AdmissionChange,
    /// WAITLIST, OFFER, OVERTAKE.
    pub waitlist: WaitTermsChange,
}

impl Terms {
    /// The id of the split that it is a part of.
    pub(crate) fn split_id(&self) -> Option<&[u8]> {
        self.split.as_ref().map(|split| &*split.id)
    }

    /// The terms after `change`.
    pub fn altered(&self, change: &TermsChange) -> Terms {
        Terms {
            limit: change.limit.unwrap_or(self.limit),
            grabs: change.grabs.unwrap_or(self.grabs),
            hold_ms: change.hold_ms.unwrap_or(self.hold_ms),
            open_at: change.open_at.unwrap_or(self.open_at),
            close_at: change.close_at.unwrap_or(self.close_at),
            outbox: change.outbox.clone().or_else(|| self.outbox.clone()),
            kind: self.kind,
            schedule: self.schedule,
            admission: self.admission.altered(&change.admission),
            split: self.split.clone(),
            waitlist: WaitTerms::altered(self.waitlist, &change.waitlist),
        }
    }

    /// How amounts are drawn, if callers don't name them.
    #[inline]
    pub fn draw(&self) -> Option<&Draw> {
        match &self.kind {
            UnitKind::Drawn(draw) => Some(draw),
            UnitKind::Counted | UnitKind::Numbered => None,
        }
    }

    /// Whether each unit has a number.
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.kind == UnitKind::Numbered
    }

    /// Whether the terms limit a user's units or grants.
    pub fn limits_users(&self) -> bool {
        self.limit != 0 || self.grabs != 0
    }

    /// Whether a sale on these terms has state that a plain sale has not.
    pub fn has_extras(&self) -> bool {
        let has_list = self.waitlist.is_some();
        let is_counted = self.kind == UnitKind::Counted;
        has_list || !is_counted || self.schedule.is_some() || !self.admission.is_open()
    }

    /// How long an offer to a waiter stands, in ms; 0 if no term says it.
    pub fn offer_ms(&self) -> u64 {
        let offer_ms = self.waitlist.map_or(0, |list| list.offer_ms);
        if offer_ms > 0 {
            offer_ms
        } else {
            self.hold_ms
        }
    }

    /// Whether these terms are consistent. INIT, ALTER, APPLY and loading share this check.
    pub fn check(&self) -> Result<(), Misuse> {
        if self.close_at != 0 && self.close_at <= self.open_at {
            return Err(Misuse::WindowEmpty);
        }
        if self.hold_ms > HOLD_MS_MAX {
            return Err(Misuse::HoldTooLong);
        }
        if self.outbox.as_ref().is_some_and(|key| key.len() > OUTBOX_BYTES_MAX) {
            return Err(Misuse::OutboxTooLong);
        }
        // A drawn amount above LIMIT could never be granted.
        if self.draw().is_some() && self.limit != 0 {
            return Err(Misuse::DrawTakesNoLimit);
        }
        if let Some(schedule) = &self.schedule {
            schedule.check()?;
            if self.draw().is_some_and(Draw::is_list) {
                return Err(Misuse::DrawListRepeats);
            }
        }
        if let Some(split) = &self.split {
            split.check()?;
            if self.draw().is_some() || self.schedule.is_some() {
                return Err(Misuse::PartTakesNoDraw);
            }
        }
        if let Some(list) = &self.waitlist {
            list.check(self.hold_ms)?;
            if self.draw().is_some() || self.schedule.is_some() {
                return Err(Misuse::WaitlistTakesNoDraw);
            }
        }
        if self.is_numbered() && (self.schedule.is_some() || self.split.is_some()) {
            return Err(Misuse::NumberedTakesNoDraw);
        }
        self.admission.check()
    }

    /// Whether a sale can begin with `supply` units on these terms. `amounts` are those of DRAW
    /// LIST.
    pub fn check_supply(&self, supply: u64, amounts: &[u64]) -> Result<(), Misuse> {
        if let Some(split) = &self.split {
            split.check_share(supply)?;
        }
        if self.is_numbered() && supply > UNITS_MAX {
            return Err(Misuse::TooManyUnits);
        }
        self.draw().map_or(Ok(()), |draw| draw.check(supply, amounts))
    }
}

/// The name of a stream, if any.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<[u8]>>, D::Error> {
    let name: Option<&[u8]> = Option::deserialize(from)?;
    match name.is_none_or(|name| (1..=OUTBOX_BYTES_MAX).contains(&name.len())) {
        true => Ok(name.map(Box::from)),
        false => Err(D::Error::custom("a name of no bytes, or of too many")),
    }
}
