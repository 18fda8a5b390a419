//! The binary form of a sale: pieces that are saved in a dump, emitted when a log is rewritten and
//! digested to compare nodes.
//!
//! The base has everything but the lists; every further piece is a bounded part of a list. A sale
//! rebuilt from its base alone is lawful with all units available and none granted; each piece of
//! grants then moves units as grants did, and each piece advances the version by one, so that a
//! rewritten log is an ordinary sequence of effects that ends at the sale's version.
//!
//! The pieces come in this order, `*` any number of them:
//!
//! ```text
//! Base  Pairs?  RestockIds?  Fences*  Listed*  Amounts*  Grants*  (Round  Grants*)*  Waiters*
//! Refusals
//! ```
//! The grants come round by round, the oldest that is kept first; `Refusals` is in dumps alone.

mod base;
mod grants;
mod law;
mod load;
mod order;
pub(crate) mod pieces;
mod round;
mod tests;
mod write;

use serde::{Deserialize, Serialize};

use crate::dedup::fences::Fence;
use crate::model::outcome::Refused;
use crate::model::wire;
use crate::parts::pairs::Pair;
use crate::state::status::Refusals;

use grants::Grants;
use pieces::{ListedUsers, RestockId, StandingWaiter};

pub use base::Base;
pub use load::Loader;
pub use round::RoundStart;

pub(crate) use order::{completes, is_in_order};

/// A piece of a sale.
///
/// The order of the variants, and of the fields of each, is their form: a later version may add
/// variants behind these, fields never. In which order they are written is another matter, see
/// above.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Piece<'a> {
    /// Everything but what the other pieces hold; comes first.
    Base(Box<Base>),
    /// Request ids of RESTOCK that are remembered.
    RestockIds(#[serde(borrow, deserialize_with = "pieces::restock_ids")] Vec<RestockId<'a>>),
    /// Request ids that were cancelled before they were granted.
    Fences(#[serde(deserialize_with = "pieces::fences")] Vec<Fence<'a>>),
    /// Users on the lists and those admitted.
    Listed(ListedUsers<'a>),
    /// What is left of DRAW LIST.
    Amounts(#[serde(deserialize_with = "pieces::amounts")] Vec<u64>),
    /// Grants in seq order.
    Grants(Grants<'a>),
    /// The next of the rounds that are kept: its grants follow.
    Round(RoundStart),
    /// Refusal counters: of one node, so in its dumps but neither replicated nor digested.
    Refusals(Box<Refusals>),
    /// What was sent to other parts of a split and received from them.
    Pairs(#[serde(deserialize_with = "pieces::pairs")] Vec<Pair>),
    /// Entries of the waiting list, in order.
    Waiters(#[serde(borrow, deserialize_with = "pieces::waiters")] Vec<StandingWaiter<'a>>),
}

/// The forms of a piece in a dump. What is here stays readable, and a later version adds its own
/// behind it. `P` is the piece, or lends it.
#[derive(Serialize, Deserialize)]
enum Form<P> {
    V1(P),
}

impl<'a> Piece<'a> {
    /// Appends the bytes of this piece, as dumps and digests have it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        wire::encode(&Form::V1(self), out);
    }

    /// Reads what [`Piece::encode`] wrote, or tells that it is something else.
    pub fn decode(bytes: &'a [u8]) -> Result<Piece<'a>, Refused> {
        let Form::V1(piece) = wire::decode(bytes)?;
        Ok(piece)
    }
}
