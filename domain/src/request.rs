//! Requests of callers, parsed and within bounds.

use crate::admission::List;

pub use crate::terms::{Terms, TermsChange, UnitKind};

/// The time of a call. The caller passes it: the domain reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The server's clock, Unix milliseconds.
    pub clock_ms: u64,
    /// Epoch of this node: Unix ms at which it started or was last promoted.
    pub node_epoch: u64,
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

    /// Whether the amount is all or nothing.
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

/// A GRAB of numbered units whose buyer names the numbers.
#[derive(Clone, Debug)]
pub struct Pick<'a> {
    /// The GRAB, whose quantity is the number of named units.
    pub grab: Grab<'a>,
    /// The wanted units.
    pub wish: Wish,
    /// Whether the request says WAIT, too, which is refused.
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

/// An operator's INIT. The caller draws `id` and `secret` from a random source. Both are used only
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

/// The choice of one of a user's grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// The user's only grant.
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
        /// The command that gives the rest back.
        by: Keeper,
        /// The units that the grant keeps.
        kept: Kept<'a>,
    },
}

/// The units that a grant keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept<'a> {
    /// At most this many units, at least 1.
    AtMost(u64),
    /// The numbered units that the request names, all different.
    These(&'a [u32]),
}

/// A command that may keep a part of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// The kept units go from HELD to SOLD.
    Confirm,
    /// The kept units stay HELD.
    Cancel,
    /// The kept units stay SOLD.
    Refund,
}

/// CONFIRM, CANCEL, EXTEND or REFUND.
#[derive(Clone, Copy, Debug)]
pub struct Settle<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The choice of one of the user's grants.
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
    /// Number of the balancer's pass that found these units.
    pub pass: u64,
}

/// A buyer's GRAB with WAIT. It has a request id and an exact amount.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// The GRAB to grant or to put on the waiting list.
    pub grab: Grab<'a>,
    /// Time at which the user stops waiting, Unix ms; 0 for none.
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
