//! The only way state changes, and the text that is replicated.
//!
//! An effect is one byte string: a letter, fields of one lower-case letter and a decimal number
//! each, and behind a colon the bytes that users chose. `GRAB sale alice QTY 2 REQ o-7` replicates
//! as
//!
//! ```text
//! SECKILL.APPLY sale 1z Gq2r3:o-7alice
//! ```
//! where `1z` is its position, see [`crate::position`], and `r3` says that the first three bytes
//! behind the colon are the request id. The most common effect, one unit sold within the
//! millisecond of the change before it, is just `galice`. Times are absolute: they are written as
//! the distance `t` from the T that the sale stored at that version, which both sides share.
//!
//! | effect | fields |
//! | --- | --- |
//! | `I` init | `s` supply, `l` limit, `g` grabs, `h` hold, `o` open, `c` close, `x` length of
//! | | further terms, `y` length of amounts; id, secret, further terms, amounts, outbox |
//! | `G` grant | `q` qty (1), `r` length of req, `u` 1 if asked with UPTO; req, user |
//! | | `d` hold: HELD until so many ms after T |
//! | `C` confirm, `X` cancel, `F` refund, `N` reclaim refused, `Y` reclaim | `s` seq |
//! | `E` extend | `s` seq, `d` the new deadline in ms after T |
//! | `D` expire | the seqs, with commas |
//! | `M` import | `q` qty (1), `r` length of req, `a` when it was granted; req, user |
//! | `V` import of a known request | `s` seq |
//! | `W` fence | `r` length of req; req, user |
//! | `Q` allow or deny | `l` 1 allow, 2 deny; `p` or `m` (1) added or removed; users, each after |
//! | | its length |
//! | `T` admit | user |
//! | `R` restock | `p` or `m` delta, `a` applied (both without sign); req |
//! | `P` pause, `U` resume | |
//! | `A` alter | `l` `g` `h` `o` `c`: those that were given; `x` length of further terms; further
//! | | terms, outbox |
//! | `H` round | `n` its number, `s` its supply, `l` how often the list is added (DRAW LIST) |
//! | `B` base, `K` restock ids, `J` fences, `S` users of a list, `O` amounts, `L` rows, `Z` next |
//! | | of the rounds kept, `o` what a round has left of a list: pieces of a snapshot, which is |
//! | | how a log is rewritten |
//!
//! Any of them may carry `t` (ms since the stored T, 0 when left out) and `e` (a new epoch).
//! A letter or field that a build does not know is refused, never skipped.

mod read;
mod tests;
mod write;

use smallvec::SmallVec;

use crate::admission::{List, LISTS};
use crate::ledger::record::ReqTag;
use crate::model::outcome::State;
use crate::request::terms::{Terms, TermsChange};

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

/// What changed. Effects carry results, never requests: whoever applies one judges nothing.
#[derive(Clone, Debug)]
pub enum Effect<'a> {
    /// The sale begins.
    Init(Box<Start>),
    /// Units are granted.
    Grant(Granting<'a>),
    /// Units are added or withdrawn.
    Restock {
        /// The request id, 1 to 128 bytes.
        req: &'a [u8],
        /// Units that were asked for; negative: to withdraw.
        delta: i64,
        /// Units that were added or withdrawn.
        applied: i64,
    },
    /// The sale stops selling.
    Pause,
    /// It sells again.
    Resume,
    /// Terms of grants to come change.
    Alter(Box<TermsChange>),
    /// Holds that ran out, at most `EFFECTS_PER_APPLY_MAX` of them.
    Expire(Seqs),
    /// CONFIRM, CANCEL, REFUND, or a RECLAIM that is refused for good.
    Settle {
        /// The grant's number.
        seq: u64,
        /// Where it stands now.
        to: State,
    },
    /// An expired grant is sold after all.
    Reclaim {
        /// The grant's number.
        seq: u64,
    },
    /// A new deadline, `ms` after T.
    Extend {
        /// The grant's number.
        seq: u64,
        /// Milliseconds after T.
        ms: u64,
    },
    /// A grant that Redis lost is entered again.
    Import(Importing<'a>),
    /// An import of a request that is known: its grant is sold now.
    Reimport {
        /// The grant's number.
        seq: u64,
    },
    /// A request id cancelled before it was granted.
    Fence {
        /// The user's id, 1 to 256 bytes.
        user: &'a [u8],
        /// The request id, 1 to 128 bytes.
        req: &'a [u8],
    },
    /// ALLOW or DENY.
    Users(UsersChange<'a>),
    /// ADMIT lets a user in.
    Admit {
        /// The user's id, 1 to 256 bytes.
        user: &'a [u8],
    },
    /// A new round begins with so much supply. Comes alone.
    Round {
        /// Its number.
        round: u64,
        /// Units to sell.
        supply: u64,
    },
    /// First piece of a rewritten sale: everything but rows and restock ids.
    Base(&'a [u8]),
    /// Restock ids of a rewritten sale.
    RestockIds(&'a [u8]),
    /// Fences of a rewritten sale.
    Fences(&'a [u8]),
    /// Users on a list of a rewritten sale.
    Listed(&'a [u8]),
    /// Amounts of a rewritten sale that draws from a list.
    Amounts(&'a [u8]),
    /// Grant rows of a rewritten sale.
    Rows(&'a [u8]),
    /// The next of the rounds that a rewritten sale keeps: its rows follow.
    Turn(&'a [u8]),
}

/// Users who are added to a list or removed, at most `USERS_PER_EFFECT_MAX` of them.
#[derive(Clone, Debug)]
pub struct UsersChange<'a> {
    /// `Allow` or `Deny`.
    pub list: List,
    /// Added, else removed.
    pub add: bool,
    /// The users, 1 to 256 bytes each.
    pub users: Vec<&'a [u8]>,
}

/// How a sale begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// Drawn at random by the primary.
    pub id: u64,
    /// Keys what is drawn; drawn at random by the primary.
    pub secret: [u8; 16],
    /// Units to sell.
    pub supply: u64,
    /// The terms of INIT.
    pub terms: Terms,
    /// The amounts of DRAW LIST; else empty.
    pub amounts: Vec<u64>,
}

/// A grant about to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Granting<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    pub req: Option<ReqTag<'a>>,
    /// Units.
    pub qty: u64,
    /// How long it is held, 0 when it is sold at once.
    pub hold_ms: u64,
}

impl Effect<'_> {
    /// Whether it is a further piece of a rewritten sale.
    pub fn is_piece(&self) -> bool {
        matches!(
            self,
            Effect::RestockIds(_)
                | Effect::Fences(_)
                | Effect::Listed(_)
                | Effect::Amounts(_)
                | Effect::Turn(_)
                | Effect::Rows(_)
        )
    }
}

impl Granting<'_> {
    /// State and deadline of the grant when it is made at `t`.
    pub fn state_at(&self, t: u64) -> (State, u64) {
        match self.hold_ms {
            0 => (State::Sold, 0),
            ms => (State::Held, t + ms),
        }
    }
}

/// A grant that the shop's database knows and Redis lost.
#[derive(Clone, Copy, Debug)]
pub struct Importing<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    pub req: &'a [u8],
    /// Units.
    pub qty: u64,
    /// When it was granted, Unix ms.
    pub at: u64,
}

/// Seqs of one mass expiry.
pub type Seqs = SmallVec<[u64; 2]>;

impl<'a> Change<'a> {
    /// A change without a time or an epoch of its own: a piece of a rewritten log is one.
    pub fn piece(effect: Effect<'a>) -> Change<'a> {
        Change { elapsed_ms: 0, epoch: None, effect }
    }
}

/// The number that stands for a list in effects and snapshots.
pub fn list_code(list: List) -> u64 {
    match list {
        List::Allow => 1,
        List::Deny => 2,
        List::Admitted => 3,
    }
}

/// Inverse of [`list_code`].
pub fn list_of(code: u64) -> Option<List> {
    LISTS.into_iter().find(|list| list_code(*list) == code)
}
