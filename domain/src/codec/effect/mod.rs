//! Effects: the only way in which state changes, and what is replicated.
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

mod tests;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::admission::List;
use crate::codec::snapshot::Piece;
use crate::ledger::record::{Asked, ReqTag};
use crate::model::limits::{DRAW_AMOUNTS_MAX, EFFECTS_PER_APPLY_MAX, USERS_PER_EFFECT_MAX};
use crate::model::outcome::{Refused, State};
use crate::model::wire::{self, End};
use crate::request::{Terms, TermsChange};
use crate::waitlist::Reason;

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
enum Form<E> {
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
    /// Appends the bytes of this change.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let Change { elapsed_ms, epoch, effect } = self;
        let elapsed_ms = *elapsed_ms;
        let form = match *epoch {
            None => Form::V1 { elapsed_ms, effect },
            Some(epoch) => Form::V1Begins { elapsed_ms, epoch, effect },
        };
        let written = postcard::serialize_with_flavor(&form, End(out));
        debug_assert_eq!(written, Ok(()), "a change of ours can be written");
    }

    /// Decodes the output of [`Change::encode`]; refuses other bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Change<'a>, Refused> {
        Ok(match wire::decode(bytes)? {
            Form::V1 { elapsed_ms, effect } => Change { elapsed_ms, epoch: None, effect },
            Form::V1Begins { elapsed_ms, epoch, effect } => {
                Change { elapsed_ms, epoch: Some(epoch), effect }
            }
        })
    }
}

/// The effect of a change. Effects carry results, never requests: applying one decides nothing.
///
/// The order of the variants, and of the fields of each, is the encoding. A later version may
/// append variants, but never fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Effect<'a> {
    /// Units are granted.
    Grant(#[serde(borrow)] Granting<'a>),
    /// CONFIRM, CANCEL, REFUND, or a RECLAIM that is refused for good.
    Settle {
        /// The grant's seq.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
        /// Its new state.
        #[serde(deserialize_with = "settled")]
        to: State,
    },
    /// Holds that expire, at most `EFFECTS_PER_APPLY_MAX`.
    Expire(#[serde(with = "seqs")] Seqs),
    /// A new deadline, `ms` after T.
    Extend {
        /// The grant's seq.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
        /// Milliseconds after T.
        #[serde(deserialize_with = "wire::span")]
        ms: u64,
    },
    /// An expired grant is sold after all.
    Reclaim {
        /// The grant's seq.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
    },
    /// A grant that Redis lost is entered again.
    Import(Importing<'a>),
    /// IMPORT of a known request id: its grant is SOLD now.
    Reimport {
        /// The grant's seq.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
    },
    /// A request id cancelled before it was granted.
    Fence {
        /// The user's id, 1 to 256 bytes.
        #[serde(with = "wire::user")]
        user: &'a [u8],
        /// The request id, 1 to 128 bytes.
        #[serde(with = "wire::req")]
        req: &'a [u8],
    },
    /// A new round begins with `supply` units. It is the only effect of its change.
    Round {
        /// Its number.
        #[serde(deserialize_with = "wire::integer")]
        round: u64,
        /// Units to sell.
        #[serde(deserialize_with = "wire::integer")]
        supply: u64,
    },
    /// Units are added or withdrawn.
    Restock {
        /// The request id, 1 to 128 bytes.
        #[serde(with = "wire::req")]
        req: &'a [u8],
        /// Units asked for; negative: to withdraw.
        #[serde(deserialize_with = "wire::signed")]
        delta: i64,
        /// Units added, or withdrawn if negative.
        #[serde(deserialize_with = "wire::signed")]
        applied: i64,
    },
    /// PAUSE: the sale stops granting.
    Pause,
    /// RESUME: the sale grants again.
    Resume,
    /// ALTER: terms of future grants change.
    Alter(Box<TermsChange>),
    /// ALLOW or DENY.
    Users(UsersChange<'a>),
    /// ADMIT lets a user in.
    Admit {
        /// The user's id, 1 to 256 bytes.
        #[serde(with = "wire::user")]
        user: &'a [u8],
    },
    /// The sale begins.
    Init(Box<Start>),
    /// A piece of a rewritten sale. The base comes first and creates the sale.
    Piece(Piece<'a>),
    /// Units go to another part. An equal total sends nothing: it is replicated so that replicas
    /// acknowledge it.
    Send {
        /// The other part.
        to: u16,
        /// Units ever sent to it, these included.
        #[serde(deserialize_with = "wire::integer")]
        total: u64,
        /// Units of these that were not available, and are promised.
        #[serde(deserialize_with = "wire::integer")]
        owed: u64,
    },
    /// Units come from another part.
    Receive {
        /// The other part.
        from: u16,
        /// Units ever received from it, these included.
        #[serde(deserialize_with = "wire::integer")]
        total: u64,
    },
    /// Units that the other parts may still have.
    Elsewhere {
        /// Units.
        #[serde(deserialize_with = "wire::integer")]
        units: u64,
        /// Number of the balancer's pass that found this.
        #[serde(deserialize_with = "wire::integer")]
        pass: u64,
    },
    /// A user joins the waiting list.
    Wait(Joining<'a>),
    /// A waiter leaves the waiting list.
    Leave {
        /// The waiter's ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
    },
    /// A waiter is dropped from the waiting list.
    Drop {
        /// The waiter's ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
        /// The reason.
        reason: Reason,
    },
    /// A waiter's units are granted to their user, held for `hold_ms`.
    Offer {
        /// The waiter's ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
        /// Milliseconds after T.
        #[serde(deserialize_with = "wire::span")]
        hold_ms: u64,
        /// Ticket of the head that this offer passes; 0 for none.
        #[serde(deserialize_with = "wire::integer")]
        passed: u64,
    },
    /// A grant passes the head of the waiting list.
    Pass {
        /// The head's ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
    },
}

/// The user who joins the list. Once applied, they are a `Waiter`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Joining<'a> {
    /// Their new ticket.
    #[serde(deserialize_with = "wire::integer")]
    pub ticket: u64,
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units.
    #[serde(deserialize_with = "wire::quantity")]
    pub qty: u64,
    /// Time at which they stop waiting, Unix ms; 0 for none.
    #[serde(deserialize_with = "wire::moment")]
    pub until: u64,
}

/// Users who are added to a list or removed, at most `USERS_PER_EFFECT_MAX` of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UsersChange<'a> {
    /// `Allow` or `Deny`.
    #[serde(deserialize_with = "operators_list")]
    pub list: List,
    /// True: added; false: removed.
    pub add: bool,
    /// The users, 1 to 256 bytes each.
    #[serde(borrow, deserialize_with = "users")]
    pub users: Vec<&'a [u8]>,
}

/// The beginning of a sale.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// The sale's id, drawn at random by the primary.
    pub id: u64,
    /// The key of its draws, drawn at random by the primary.
    pub secret: [u8; 16],
    /// Units to sell.
    #[serde(deserialize_with = "wire::integer")]
    pub supply: u64,
    /// The terms of INIT.
    pub terms: Terms,
    /// The amounts of DRAW LIST; else empty.
    #[serde(deserialize_with = "amounts")]
    pub amounts: Vec<u64>,
}

/// A grant about to be recorded.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Granting<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(borrow, deserialize_with = "asked_by_grab")]
    pub req: Option<ReqTag<'a>>,
    /// Units.
    #[serde(deserialize_with = "wire::integer")]
    pub qty: u64,
    /// How long it is held, in ms; 0 if it is sold at once.
    #[serde(deserialize_with = "wire::span")]
    pub hold_ms: u64,
}

impl<'a> Effect<'a> {
    /// The piece that this effect is, except a base.
    pub fn piece(&self) -> Option<&Piece<'a>> {
        match self {
            Effect::Piece(Piece::Base(_)) => None,
            Effect::Piece(piece) => Some(piece),
            _ => None,
        }
    }
}

/// A grant that the shop's database has and Redis lost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Importing<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units.
    #[serde(deserialize_with = "wire::integer")]
    pub qty: u64,
    /// Time of the grant, Unix ms.
    #[serde(deserialize_with = "wire::moment")]
    pub at: u64,
}

/// Seqs of holds that expire together.
pub type Seqs = SmallVec<[u64; 2]>;

impl<'a> Change<'a> {
    /// A change without a time or an epoch of its own, such as a piece of a rewritten AOF.
    pub fn untimed(effect: Effect<'a>) -> Change<'a> {
        Change { elapsed_ms: 0, epoch: None, effect }
    }
}

/// Reads a state that Settle may lead to.
fn settled<'de, D: Deserializer<'de>>(from: D) -> Result<State, D::Error> {
    match State::deserialize(from)? {
        State::Held | State::Expired => Err(D::Error::custom("nobody settles a grant to this")),
        to => Ok(to),
    }
}

/// Reads a list that operators may change.
fn operators_list<'de, D: Deserializer<'de>>(from: D) -> Result<List, D::Error> {
    match List::deserialize(from)? {
        List::Admitted => Err(D::Error::custom("no operator admits")),
        list => Ok(list),
    }
}

fn asked_by_grab<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ReqTag<'de>>, D::Error> {
    match Option::deserialize(from)? {
        Some(ReqTag { asked: Asked::Either | Asked::Offered, .. }) => {
            Err(D::Error::custom("no GRAB asks so"))
        }
        req => Ok(req),
    }
}

fn users<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'de [u8]>, D::Error> {
    wire::sequence(from, USERS_PER_EFFECT_MAX, |wire::User(user)| Some(user))
}

fn amounts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    wire::sequence(from, DRAW_AMOUNTS_MAX as usize, |wire::Integer(amount)| Some(amount))
}

mod seqs {
    use super::*;

    pub fn serialize<S: Serializer>(seqs: &Seqs, to: S) -> Result<S::Ok, S::Error> {
        seqs.as_slice().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Seqs, D::Error> {
        wire::sequence(from, EFFECTS_PER_APPLY_MAX, |wire::Integer(seq)| Some(seq))
    }
}
