//! The only way state changes, and what is replicated of it.
//!
//! `GRAB sale alice QTY 2 REQ o-7` replicates as `SECKILL.APPLY sale 1z EFFECT`, where `1z` is its
//! position, see [`crate::plan::Position`], and the effect the bytes of a [`Change`]. Times are
//! distances from the T that the sale stored at that version, which both sides share, so that all
//! nodes come to the same moments.
//!
//! What a log says may be anything. Reading it leads to a change that can be, its numbers and ids
//! within their bounds, or to nothing; whether it can be of this sale is what [`Sale::check`]
//! judges.
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

/// One change of a sale: when, in which run, and what.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// Milliseconds from the sale's stored T to the T of this change.
    pub elapsed_ms: u64,
    /// Set by the first change in a run of a primary.
    pub epoch: Option<u64>,
    /// What changed.
    pub effect: Effect<'a>,
}

/// The versions of a change's bytes. What is here stays readable, and a later version adds its own
/// behind it.
/// `E` is the effect, or lends it.
#[derive(Serialize, Deserialize)]
enum Form<E> {
    /// Version 1.
    V1 {
        #[serde(deserialize_with = "wire::integer")]
        elapsed_ms: u64,
        effect: E,
    },
    /// Version 1, of the first change in a run of a primary.
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

    /// Reads what [`Change::encode`] wrote, or tells that it is something else.
    pub fn decode(bytes: &'a [u8]) -> Result<Change<'a>, Refused> {
        Ok(match wire::decode(bytes)? {
            Form::V1 { elapsed_ms, effect } => Change { elapsed_ms, epoch: None, effect },
            Form::V1Begins { elapsed_ms, epoch, effect } => {
                Change { elapsed_ms, epoch: Some(epoch), effect }
            }
        })
    }
}

/// What changed. Effects carry results, never requests: whoever applies one judges nothing.
///
/// The order of the variants, and of the fields of each, is their form: a later version may add
/// variants behind these, fields never.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Effect<'a> {
    /// Units are granted.
    Grant(#[serde(borrow)] Granting<'a>),
    /// CONFIRM, CANCEL, REFUND, or a RECLAIM that is refused for good.
    Settle {
        /// The grant's number.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
        /// Where it stands now.
        #[serde(deserialize_with = "settled")]
        to: State,
    },
    /// Holds that ran out, at most `EFFECTS_PER_APPLY_MAX` of them.
    Expire(#[serde(with = "seqs")] Seqs),
    /// A new deadline, `ms` after T.
    Extend {
        /// The grant's number.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
        /// Milliseconds after T.
        #[serde(deserialize_with = "wire::span")]
        ms: u64,
    },
    /// An expired grant is sold after all.
    Reclaim {
        /// The grant's number.
        #[serde(deserialize_with = "wire::integer")]
        seq: u64,
    },
    /// A grant that Redis lost is entered again.
    Import(Importing<'a>),
    /// An import of a request that is known: its grant is sold now.
    Reimport {
        /// The grant's number.
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
    /// A new round begins with so much supply. Comes alone.
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
        /// Units that were asked for; negative: to withdraw.
        #[serde(deserialize_with = "wire::signed")]
        delta: i64,
        /// Units that were added or withdrawn.
        #[serde(deserialize_with = "wire::signed")]
        applied: i64,
    },
    /// The sale stops selling.
    Pause,
    /// It sells again.
    Resume,
    /// Terms of grants to come change.
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
    /// A piece of a rewritten sale: the base first, which begins it.
    Piece(Piece<'a>),
    /// Units go to another part. The same total again moves nothing: it is there so that replicas
    /// acknowledge it.
    Send {
        /// The other part.
        to: u16,
        /// Units that were ever sent to it.
        #[serde(deserialize_with = "wire::integer")]
        total: u64,
        /// So many of those that go now were not available.
        #[serde(deserialize_with = "wire::integer")]
        owed: u64,
    },
    /// Units come from another part.
    Receive {
        /// The other part.
        from: u16,
        /// Units that were ever received from it.
        #[serde(deserialize_with = "wire::integer")]
        total: u64,
    },
    /// What the other parts may still have.
    Elsewhere {
        /// Units.
        #[serde(deserialize_with = "wire::integer")]
        units: u64,
        /// The pass over all parts that told so.
        #[serde(deserialize_with = "wire::integer")]
        pass: u64,
    },
    /// A user joins the waiting list.
    Wait(Joining<'a>),
    /// An entry leaves the waiting list.
    Leave {
        /// Its ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
    },
    /// An entry of the waiting list is dropped.
    Drop {
        /// Its ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
        /// Why.
        reason: Reason,
    },
    /// What an entry of the waiting list asks for is granted to its user, held for `hold_ms`.
    Offer {
        /// Its ticket.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
        /// Milliseconds after T.
        #[serde(deserialize_with = "wire::span")]
        hold_ms: u64,
        /// Ticket of the head that is passed, 0 for none.
        #[serde(deserialize_with = "wire::integer")]
        passed: u64,
    },
    /// A grant passes the head of the waiting list.
    Pass {
        /// Ticket of the head.
        #[serde(deserialize_with = "wire::integer")]
        ticket: u64,
    },
}

/// What Wait tells of who joins; once it is made, they are a `Waiter` of the list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Joining<'a> {
    /// The ticket that they get.
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
    /// First moment at which they wait no more, Unix ms; 0 for none.
    #[serde(deserialize_with = "wire::moment")]
    pub until: u64,
}

/// Users who are added to a list or removed, at most `USERS_PER_EFFECT_MAX` of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UsersChange<'a> {
    /// `Allow` or `Deny`.
    #[serde(deserialize_with = "operators_list")]
    pub list: List,
    /// Added, else removed.
    pub add: bool,
    /// The users, 1 to 256 bytes each.
    #[serde(borrow, deserialize_with = "users")]
    pub users: Vec<&'a [u8]>,
}

/// How a sale begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// Drawn at random by the primary.
    pub id: u64,
    /// Keys what is drawn; drawn at random by the primary.
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
    /// How long it is held, 0 when it is sold at once.
    #[serde(deserialize_with = "wire::span")]
    pub hold_ms: u64,
}

impl<'a> Effect<'a> {
    /// The further piece of a rewritten sale that it is, if it is one.
    pub fn piece(&self) -> Option<&Piece<'a>> {
        match self {
            Effect::Piece(Piece::Base(_)) => None,
            Effect::Piece(piece) => Some(piece),
            _ => None,
        }
    }
}

/// A grant that the shop's database knows and Redis lost.
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
    /// When it was granted, Unix ms.
    #[serde(deserialize_with = "wire::moment")]
    pub at: u64,
}

/// Seqs of one mass expiry.
pub type Seqs = SmallVec<[u64; 2]>;

impl<'a> Change<'a> {
    /// A change without a time or an epoch of its own: a piece of a rewritten log is one.
    pub fn untimed(effect: Effect<'a>) -> Change<'a> {
        Change { elapsed_ms: 0, epoch: None, effect }
    }
}

/// What a grant can be settled to.
fn settled<'de, D: Deserializer<'de>>(from: D) -> Result<State, D::Error> {
    match State::deserialize(from)? {
        State::Held | State::Expired => Err(D::Error::custom("nobody settles a grant to this")),
        to => Ok(to),
    }
}

/// A list that operators write.
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
