//! What callers can ask of a sale, parsed and within bounds.

pub mod terms;

use crate::admission::List;
use crate::request::terms::{Terms, TermsChange};

/// The moment a request is judged, given from outside: the domain reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The server's clock, Unix milliseconds.
    pub clock_ms: u64,
    /// Names this run of this primary: Unix ms at which it started or was last promoted.
    pub run: u64,
}

/// How much a GRAB takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Exactly so many units, or none.
    Exactly(u64),
    /// As many as there are and the allowance permits, at most so many, at least 1.
    UpTo(u64),
    /// Neither was said: one unit, or what the sale draws.
    Unsaid,
}

impl Amount {
    /// Units that were asked for.
    pub fn units(self) -> u64 {
        match self {
            Amount::Exactly(units) | Amount::UpTo(units) => units,
            Amount::Unsaid => 1,
        }
    }
}

/// A buyer's GRAB.
#[derive(Clone, Copy, Debug)]
pub struct Grab<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// How much is asked for.
    pub amount: Amount,
    /// The request id, 1 to 128 bytes.
    pub req: Option<&'a [u8]>,
}

/// An operator's INIT. `id` and `secret` are drawn by the caller from a random source; they are
/// used only when the sale is new.
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
    /// Keys what a new sale draws.
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

/// Which of a user's grants is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// Their only grant.
    Only,
    /// The one of this number.
    Seq(u64),
    /// The one of this request id.
    Req(&'a [u8]),
}

/// What a buyer or the shop does to a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// HELD to SOLD; with `reclaim` also EXPIRED to SOLD, if the units are there.
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
}

/// CONFIRM, CANCEL, EXTEND or REFUND.
#[derive(Clone, Copy, Debug)]
pub struct Settle<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// Which of the user's grants.
    pub which: Which<'a>,
    /// What is done to it.
    pub deed: Deed,
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
    /// When it was granted, Unix ms; `None` is now.
    pub at: Option<u64>,
    /// Refuse rather than promise more than the supply.
    pub no_deficit: bool,
}

/// An operator's ALLOW or DENY. Users are 1 to 256 bytes, at most `USERS_PER_COMMAND_MAX`.
#[derive(Clone, Copy, Debug)]
pub struct ListChange<'a> {
    /// `Allow` or `Deny`.
    pub list: List,
    /// ADD, else REMOVE.
    pub add: bool,
    /// The users, 1 to 256 bytes each.
    pub users: &'a [&'a [u8]],
}

/// A balancer's SEND.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The id of the split.
    pub split: &'a [u8],
    /// The part that units go to.
    pub to: u64,
    /// Units that were ever sent to it, after this.
    pub total: u64,
    /// Whether what is not available is promised.
    pub owed: bool,
}

/// A balancer's RECEIVE.
#[derive(Clone, Copy, Debug)]
pub struct Receive<'a> {
    /// The id of the split.
    pub split: &'a [u8],
    /// The part that units come from.
    pub from: u64,
    /// Units that were ever received from it, after this.
    pub total: u64,
}

/// A balancer's ELSEWHERE.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'a> {
    /// The id of the split.
    pub split: &'a [u8],
    /// Units that the other parts may still have.
    pub units: u64,
    /// The pass over all parts that tells so.
    pub pass: u64,
}

/// A buyer's GRAB with WAIT. It has a request id and asks for exactly so much.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// What is to be granted, or else waited for.
    pub grab: Grab<'a>,
    /// First moment at which they wait no more, Unix ms; 0 for none.
    pub until: u64,
}

/// All that can be asked of a sale that exists.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// GRAB: units for a user.
    Grab(Grab<'a>),
    /// INIT, on a key that holds a sale: is it the same one?
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
    /// ELSEWHERE: what the other parts may still have.
    Elsewhere(Elsewhere<'a>),
    /// GRAB with WAIT: units for a user, or a place on the waiting list.
    Wait(Wait<'a>),
}
