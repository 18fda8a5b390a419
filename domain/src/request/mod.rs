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

/// A buyer's GRAB.
#[derive(Clone, Copy, Debug)]
pub struct Grab<'a> {
    pub user: &'a [u8],
    pub amount: Amount,
    pub req: Option<&'a [u8]>,
}

/// An operator's INIT. `id` and `secret` are drawn by the caller from a random source; they are
/// used only when the sale is new.
#[derive(Clone, Debug)]
pub struct Init {
    pub supply: u64,
    pub terms: Terms,
    /// The amounts of DRAW LIST, whose fingerprint is in the terms; else empty.
    pub amounts: Vec<u64>,
    pub id: u64,
    pub secret: [u8; 16],
}

/// An operator's RESTOCK; `delta` is not 0.
#[derive(Clone, Copy, Debug)]
pub struct Restock<'a> {
    pub delta: i64,
    pub req: &'a [u8],
}

/// Which of a user's grants is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// Their only grant.
    Only,
    Seq(u64),
    Req(&'a [u8]),
}

/// What a buyer or the shop does to a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// HELD to SOLD; with `reclaim` also EXPIRED to SOLD, if the units are there.
    Confirm { reclaim: bool },
    /// HELD to CANCELLED.
    Cancel,
    /// A later deadline, `ms` from now.
    Extend { ms: u64 },
    /// SOLD to REFUNDED.
    Refund,
}

/// CONFIRM, CANCEL, EXTEND or REFUND.
#[derive(Clone, Copy, Debug)]
pub struct Settle<'a> {
    pub user: &'a [u8],
    pub which: Which<'a>,
    pub deed: Deed,
}

/// An operator's IMPORT.
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    pub user: &'a [u8],
    pub qty: u64,
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
    pub users: &'a [&'a [u8]],
}

/// All that can be asked of a sale that exists.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    Grab(Grab<'a>),
    Init(Init),
    Restock(Restock<'a>),
    Pause,
    Resume,
    Alter(TermsChange),
    Settle(Settle<'a>),
    Import(Import<'a>),
    List(ListChange<'a>),
}
