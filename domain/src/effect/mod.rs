//! Effects: state changes only by them, and changes are replicated as effects. One file an effect.
//!
//! `GRAB sale alice QTY 2 REQ o-7` replicates as `SECKILL.APPLY sale 1z EFFECT`: `1z` is its
//! position, see [`crate::plan::Position`], and EFFECT the bytes of a [`Change`]. Times are
//! distances from the T that the sale stored at the preceding version. Both sides share that T, so
//! all nodes compute equal times.
//!
//! An AOF may contain anything. Decoding accepts only changes whose numbers and ids are within
//! their bounds; whether a change fits this sale is checked by [`Sale::check`].
//!
//! [`Sale::check`]: super::Sale::check

mod alter;
mod check;
mod extend;
mod fence;
mod grant;
mod import;
mod init;
pub(crate) mod numbered;
mod offer;
mod parts;
mod pause;
mod piece;
mod reclaim;
mod restock;
mod round;
mod settle;
mod tests;
mod trim;
mod users;
mod wait;

use core::slice;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::draft::Draft;
use crate::entry::{Raw, Subject};
use crate::ledger::Slots;
use crate::memory::put_number;
use crate::model::balances::count;
use crate::model::event::{EventKind, Numbers};
use crate::model::outcome::{check, GrantView, Refused, State};
use crate::model::wire::{self, End};
use crate::snapshot::Piece;
use crate::Sale;

use check::list_agrees;

pub use alter::Alter;
pub(crate) use check::{Checker, Others};
pub use extend::Extend;
pub use fence::Fence;
pub use grant::Grant;
pub use import::{Import, Reimport, ReimportNumbered};
pub use init::Init;
pub use numbered::Numbered;
pub use offer::{Offer, Pass};
pub use parts::{Elsewhere, Receive, Send};
pub use pause::{Pause, Resume};
pub use reclaim::Reclaim;
pub use restock::Restock;
pub use round::Round;
pub use settle::{Expire, Seqs, Settle};
pub use trim::{Trim, TrimNumbered};
pub use users::{Admit, Users};
pub use wait::{Drop, Join, Leave};

/// Changes in order. Most commands make one.
pub type Changes<'a> = SmallVec<[Change<'a>; 1]>;

/// One change of a sale: its time, its epoch, and its effect.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// Milliseconds from the sale's stored T to the T of this change.
    pub elapsed_ms: u64,
    /// The new epoch, set by the first change in it.
    pub epoch: Option<u64>,
    /// The effect.
    pub effect: Effect<'a>,
}

/// Versions of a change's bytes. All variants stay readable; a later version is appended. `E` is
/// the effect, owned or borrowed.
#[derive(Serialize, Deserialize)]
enum EffectVersion<E> {
    /// Version 1.
    V1 {
        #[serde(deserialize_with = "wire::integer")]
        elapsed_ms: u64,
        effect: E,
    },
    /// Version 1, for the first change of an epoch.
    V1Begins {
        #[serde(deserialize_with = "wire::integer")]
        elapsed_ms: u64,
        #[serde(deserialize_with = "wire::integer")]
        epoch: u64,
        effect: E,
    },
}

impl<'a> Change<'a> {
    /// A change without a time or an epoch of its own, such as a piece of a rewritten AOF.
    pub fn untimed(effect: impl Into<Effect<'a>>) -> Change<'a> {
        Change { elapsed_ms: 0, epoch: None, effect: effect.into() }
    }

    /// Appends the bytes of this change.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let Change { elapsed_ms, epoch, effect } = self;
        let elapsed_ms = *elapsed_ms;
        let form = match *epoch {
            None => EffectVersion::V1 { elapsed_ms, effect },
            Some(epoch) => EffectVersion::V1Begins { elapsed_ms, epoch, effect },
        };
        let written = postcard::serialize_with_flavor(&form, End(out));
        debug_assert_eq!(written, Ok(()), "a change of ours can be written");
    }

    /// Decodes the output of [`Change::encode`]; refuses other bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Change<'a>, Refused> {
        Ok(match wire::decode(bytes)? {
            EffectVersion::V1 { elapsed_ms, effect } => Change { elapsed_ms, epoch: None, effect },
            EffectVersion::V1Begins { elapsed_ms, epoch, effect } => {
                Change { elapsed_ms, epoch: Some(epoch), effect }
            }
        })
    }
}

/// The work of each effect, in its file. A primary plans the effects that it decides; a node that
/// receives one checks it first. Both come before anything is changed, and a planned effect can't
/// fail.
pub(crate) trait Act {
    /// Whether the effect may free units, or let another waiter be served.
    const FREES: bool = false;

    /// Whether the effect can be checked before the `others` of its command are made.
    fn is_apart<'e>(&'e self, _others: &mut Others<'e>) -> bool {
        true
    }

    /// Refuses an effect that no decision can produce.
    fn check(&self, _checker: &mut Checker<'_>) -> Result<(), Refused> {
        Ok(())
    }

    /// Drafts the effect's numbers and events; by default there are none. Refused if a number would
    /// leave its limits.
    fn plan(&self, _draft: &mut Draft<'_>) -> Result<(), Refused> {
        Ok(())
    }

    /// Changes the sale, except for its numbers, which come from the plan.
    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>);

    /// The stream that the sale's entries go to from now on.
    fn outbox(&self) -> Option<&[u8]> {
        None
    }

    /// The fields of grant `seq` for the outbox entry of an event of this effect.
    fn subject<'e>(&'e self, sale: &'e Sale, seq: u64, _numbers: &Numbers) -> Option<Subject<'e>> {
        let grant = sale.stored_grant(seq)?;
        let req = grant.req_id();
        Some(Subject { user: grant.user, req, at: grant.at, born: grant.epoch })
    }

    /// Appends this effect's own fields to the entry of its event `kind`. The sale's numbers and
    /// the grant's fields are written elsewhere.
    fn put<'e>(&'e self, _sale: &'e Sale, _kind: EventKind, _data: &mut Vec<u8>) -> Raw<'e> {
        Raw::default()
    }
}

/// Results of planning that making the effects needs.
pub(crate) struct Planned<'p> {
    /// The index slots of the only new grant, if known.
    pub new_grant: Option<&'p Slots>,
    /// Available units after each restock to come.
    pub restocked: slice::Iter<'p, u64>,
}

/// Lists the effects once: makes the enum, and passes each call on to the effect's own type.
macro_rules! effects {
    ($($(#[$doc:meta])* $name:ident($(#[$attribute:meta])* $payload:ty),)*) => {
        /// The effect of a change. Effects carry results, never requests: applying one decides
        /// nothing.
        ///
        /// The order of the variants, and of the fields of each, is the encoding: a later version
        /// may append variants, but never fields.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum Effect<'a> {
            $($(#[$doc])* $name($(#[$attribute])* $payload),)*
        }

        /// The names of the effects, in their order.
        #[cfg(test)]
        const EFFECTS: &[&str] = &[$(stringify!($name)),*];

        $(impl<'a> From<$payload> for Effect<'a> {
            #[inline]
            fn from(payload: $payload) -> Effect<'a> {
                Effect::$name(payload)
            }
        })*

        impl<'a> Effect<'a> {
            /// Whether the effect may free units, or let another waiter be served.
            pub(crate) fn frees(&self) -> bool {
                match self {
                    $(Effect::$name(_) => <$payload as Act>::FREES,)*
                }
            }
        }

        impl Act for Effect<'_> {
            fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
                match self {
                    $(Effect::$name(it) => it.is_apart(others),)*
                }
            }

            fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
                match self {
                    $(Effect::$name(it) => it.check(checker),)*
                }
            }

            #[inline]
            fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
                match self {
                    $(Effect::$name(it) => it.plan(draft),)*
                }
            }

            #[inline]
            fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
                match self {
                    $(Effect::$name(it) => it.make(sale, planned),)*
                }
            }

            fn outbox(&self) -> Option<&[u8]> {
                match self {
                    $(Effect::$name(it) => it.outbox(),)*
                }
            }

            #[inline]
            fn subject<'e>(&'e self, at: &'e Sale, seq: u64, of: &Numbers) -> Option<Subject<'e>> {
                match self {
                    $(Effect::$name(it) => it.subject(at, seq, of),)*
                }
            }

            #[inline]
            fn put<'e>(&'e self, at: &'e Sale, of: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
                match self {
                    $(Effect::$name(it) => it.put(at, of, data),)*
                }
            }
        }
    };
}

effects! {
    /// Units are granted.
    Grant(#[serde(borrow)] Grant<'a>),
    /// CONFIRM, CANCEL, REFUND, or a RECLAIM that is refused for good.
    Settle(Settle),
    /// Holds that expired.
    Expire(Expire),
    /// A hold gets a later deadline.
    Extend(Extend),
    /// Sells an expired grant after all (RECLAIM).
    Reclaim(Reclaim),
    /// A grant that Redis lost is entered again.
    Import(Import<'a>),
    /// An import of a request that is known.
    Reimport(Reimport),
    /// A request id cancelled before it was granted.
    Fence(Fence<'a>),
    /// A new round begins.
    Round(Round),
    /// Units are added or withdrawn.
    Restock(Restock<'a>),
    /// PAUSE: the sale stops granting.
    Pause(Pause),
    /// RESUME: the sale grants again.
    Resume(Resume),
    /// ALTER: terms of future grants change.
    Alter(Alter),
    /// ALLOW or DENY.
    Users(Users<'a>),
    /// ADMIT lets a user in.
    Admit(Admit<'a>),
    /// The sale begins.
    Init(Box<Init>),
    /// A piece of a rewritten sale.
    Piece(Piece<'a>),
    /// Sends units to another part.
    Send(Send),
    /// Receives units from another part.
    Receive(Receive),
    /// Units that the other parts may still have.
    Elsewhere(Elsewhere),
    /// A user joins the waiting list.
    Wait(Join<'a>),
    /// A waiter leaves the waiting list.
    Leave(Leave),
    /// A waiter is dropped from the waiting list.
    Drop(Drop),
    /// A waiter is granted the units that they ask for.
    Offer(Offer),
    /// A grant passes the head of the waiting list.
    Pass(Pass),
    /// A part of a grant is given back.
    Trim(Trim),
    /// Numbered units are granted.
    GrantNumbered(#[serde(borrow)] Box<Numbered<Grant<'a>>>),
    /// Numbered units are granted to a waiter.
    OfferNumbered(Box<Numbered<Offer>>),
    /// A grant of numbered units that Redis lost is entered again.
    ImportNumbered(#[serde(borrow)] Box<Numbered<Import<'a>>>),
    /// A part of a grant of numbered units is given back.
    TrimNumbered(Box<TrimNumbered>),
    /// An import of a request that is known, of numbered units.
    ReimportNumbered(Box<ReimportNumbered>),
}

impl Effect<'_> {
    /// Whether the effect is a further piece of a sale that is being rebuilt.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(self, Effect::Piece(piece) if !matches!(piece, Piece::Base(_)))
    }
}

impl<A: Act> Act for Box<A> {
    const FREES: bool = A::FREES;

    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        (**self).is_apart(others)
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        (**self).check(checker)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        (**self).plan(draft)
    }

    fn make(&self, sale: &mut Sale, planned: &mut Planned<'_>) {
        (**self).make(sale, planned);
    }

    fn subject<'e>(&'e self, sale: &'e Sale, seq: u64, numbers: &Numbers) -> Option<Subject<'e>> {
        (**self).subject(sale, seq, numbers)
    }

    fn put<'e>(&'e self, sale: &'e Sale, kind: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        (**self).put(sale, kind, data)
    }
}
