//! Outcomes of requests. An outcome that buyers can meet is a variant with its numbers; a caller's
//! mistake is a `Misuse`.

use core::ffi::CStr;

use serde::{Deserialize, Serialize};

/// States of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Reserved until its deadline.
    Held,
    /// Final.
    Sold,
    /// Cancelled by the buyer.
    Cancelled,
    /// Expired at its deadline.
    Expired,
    /// Expired, and a late payment was refused: final.
    Forfeited,
    /// Refunded after it was sold.
    Refunded,
}

impl State {
    /// The word for callers. A forfeited grant is shown as EXPIRED.
    pub const fn name(self) -> &'static str {
        match self {
            State::Held => "HELD",
            State::Sold => "SOLD",
            State::Cancelled => "CANCELLED",
            State::Expired | State::Forfeited => "EXPIRED",
            State::Refunded => "REFUNDED",
        }
    }

    /// Whether the user has the units (HELD or SOLD).
    pub fn is_live(self) -> bool {
        matches!(self, State::Held | State::Sold)
    }
}

/// A grant as callers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantView {
    /// Its seq, counted from 1.
    pub seq: u64,
    /// Units.
    pub qty: u64,
    /// Its state.
    pub state: State,
    /// Deadline, Unix ms; 0 unless HELD.
    pub deadline: u64,
}

/// A waiter's place on the waiting list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Their ticket.
    pub ticket: u64,
    /// Waiters before them.
    pub ahead: u64,
    /// Units those waiters ask for.
    pub units_ahead: u64,
}

/// State and deadline of a grant made at time `t`.
pub(crate) fn state_at(hold_ms: u64, t: u64) -> (State, u64) {
    match hold_ms {
        0 => (State::Sold, 0),
        ms => (State::Held, t + ms),
    }
}

/// The result of a command, which the command's module turns into a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A plain OK.
    Done,
    /// Units were granted.
    Granted {
        /// The new grant.
        grant: GrantView,
        /// Units available after it.
        available: u64,
    },
    /// The user has used up LIMIT or GRABS; this is their newest live grant.
    Already(GrantView),
    /// This request id was granted before; this is that grant in its current state.
    Replay(GrantView),
    /// The user may have some units, but fewer than they asked for.
    OverLimit {
        /// Units that the user may still have.
        allowance: u64,
    },
    /// No unit is available; `held` units may come back.
    SoldOut {
        /// Units that may come back.
        held: u64,
    },
    /// Fewer units are available than were asked for.
    Short {
        /// Units that are available.
        available: u64,
    },
    /// The sale opens later.
    NotOpen {
        /// Milliseconds until it opens.
        in_ms: u64,
    },
    /// The sale has closed.
    Closed,
    /// The operator paused the sale.
    Paused,
    /// The user is not eligible.
    Denied,
    /// Rejected by SAMPLE or ADMIT, or the waiting list is full.
    Busy,
    /// DENIED or BUSY as MASK shows it: SOLDOUT 1, because app servers cache SOLDOUT 0. Counted as
    /// the true refusal.
    Masked {
        /// Whether it is DENIED, not BUSY.
        is_denied: bool,
        /// Whether it is shown as BUSY, like a full waiting list.
        is_of_list: bool,
    },
    /// The user is on the waiting list: they have just joined it, or were there already.
    Waiting(Place),
    /// Users were added to a list or removed from it.
    Changed {
        /// Number of users for whom the list changed.
        users: u64,
    },
    /// A grant in its state after a CONFIRM, CANCEL, EXTEND or REFUND.
    Stands(GrantView),
    /// The user has no such grant.
    NoGrant,
    /// A request id was cancelled before its GRAB: a fence.
    Fenced,
    /// Units were added or withdrawn.
    Restocked {
        /// Units added, or withdrawn if negative.
        applied: i64,
        /// Units available after it.
        available: u64,
    },
    /// Units were sent or received, by this call or an earlier one.
    Moved {
        /// Units ever sent to that part, or received from it.
        total: u64,
        /// Units available after it.
        available: u64,
    },
    /// Units that the other parts may still have, set by this call or an earlier one.
    Elsewhere {
        /// Units.
        units: u64,
        /// Number of the balancer's pass that set it.
        pass: u64,
    },
    /// Nothing was decided: too many holds of this user are due for one call. Some were expired;
    /// the caller must retry.
    ManyOwnEnding,
    /// CONFIRM RECLAIM, nothing decided: more holds of others are due than one call may expire, and
    /// their units may serve the late payment. The caller must retry.
    ManyEnding,
    /// Never replied: the stored round is over. `pipeline::run` commits the new round and decides
    /// again at the same time.
    NextRound,
    /// The caller made a mistake; nothing changed.
    Misuse(Misuse),
}

/// Refusals, as STATUS and INFO count them: name and meaning. A dump holds eleven counters, so one
/// more needs a new version of its encoding.
pub const REFUSALS: [(&CStr, &str); 11] = [
    (c"already", "calls of users who had all they may have"),
    (c"replayed", "calls whose REQ had been granted before"),
    (c"overlimit", "calls that asked for more than their allowance"),
    (c"soldout", "calls that found nothing available"),
    (c"short", "calls that found less available than they asked for"),
    (c"notopen", "calls before the sale or the round was open"),
    (c"closed", "calls after the sale was closed"),
    (c"paused", "calls while the sale was paused"),
    (c"denied", "calls of users who may not buy"),
    (c"busy", "calls of users who were not admitted, or for whom the waiting list was full"),
    (c"waiting", "calls of users who wait, those that joined the list included"),
];

impl From<Misuse> for Outcome {
    #[inline]
    fn from(misuse: Misuse) -> Outcome {
        Outcome::Misuse(misuse)
    }
}

impl Outcome {
    /// Sets the units available after the whole step, offers included.
    #[inline]
    pub(crate) fn set_available(&mut self, left: u64) {
        if let Outcome::Granted { available, .. }
        | Outcome::Restocked { available, .. }
        | Outcome::Moved { available, .. } = self
        {
            *available = left;
        }
    }

    /// Index in [`REFUSALS`], if the outcome is a refusal.
    #[inline]
    pub fn refusal(&self) -> Option<usize> {
        Some(match self {
            Outcome::Already(_) => 0,
            Outcome::Replay(_) => 1,
            Outcome::OverLimit { .. } => 2,
            Outcome::SoldOut { .. } => 3,
            Outcome::Short { .. } => 4,
            Outcome::NotOpen { .. } => 5,
            Outcome::Closed => 6,
            Outcome::Paused => 7,
            Outcome::Denied | Outcome::Masked { is_denied: true, .. } => 8,
            Outcome::Busy | Outcome::Masked { .. } => 9,
            Outcome::Waiting(_) => 10,
            _ => return None,
        })
    }
}

/// Mistakes that only the sale's state reveals; parsing finds the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// INIT with other terms on a key that holds a sale.
    SaleExists,
    /// A request id was used with other arguments.
    ReqMismatch,
    /// CLOSEAT is not after OPENAT.
    WindowEmpty,
    /// HOLD is over the longest hold.
    HoldTooLong,
    /// The outbox's name is too long.
    OutboxTooLong,
    /// The sale has another outbox already.
    OutboxSet,
    /// The user has more than one grant and the request names none.
    Ambiguous,
    /// The supply would exceed the largest integer.
    SupplyTooLarge,
    /// The sale has as many grants as a seq can number.
    GrantsFull,
    /// Pieces of the AOF that the sale was rebuilt from are missing.
    Incomplete,
    /// Clock, version or epoch beyond its limit, through a wrong clock or a corrupt dump.
    Exhausted,
    /// DRAW without a packet.
    DrawNoPackets,
    /// DRAW with more packets than a sale can have grants.
    DrawTooManyPackets,
    /// DRAW LIST with more amounts than one INIT takes.
    DrawListTooLong,
    /// DRAW PACKETS with MIN 0.
    DrawMinZero,
    /// The supply is too small to give every packet its minimum.
    DrawSupplyTooSmall,
    /// DRAW with an amount of 0.
    DrawAmountZero,
    /// DRAW UNIFORM whose lower bound is above the upper one.
    DrawRangeEmpty,
    /// The amounts of DRAW LIST don't add up to the supply.
    DrawSumDiffers,
    /// DRAW LIST with EVERY.
    DrawListRepeats,
    /// LIMIT on a sale that draws its amounts.
    DrawTakesNoLimit,
    /// QTY or UPTO on a sale that draws its amounts.
    DrawTakesNoAmount,
    /// EVERY or OFFSET is 0 or too long.
    PeriodOutOfRange,
    /// LASTS is 0 or longer than the period.
    LastsOutOfRange,
    /// IMPORT on a sale with rounds.
    RoundsTakeNoImport,
    /// MOD without a residue.
    ModNoResidue,
    /// MOD with a residue that is not below the modulus.
    ModResidueTooLarge,
    /// MOD with too many residues.
    ModTooManyResidues,
    /// SAMPLE of more than 1000 permille.
    SampleTooLarge,
    /// SALT is too long.
    SaltTooLong,
    /// The list has no room for that many users.
    ListFull,
    /// RESTOCK or IMPORT on a sale whose packets share a fixed supply.
    DrawFixesSupply,
    /// The user's home is another part of the split.
    WrongPart,
    /// The request names another split.
    NotThisSplit,
    /// The sale is not a part of a split.
    NotAPart,
    /// PART's number is not below the number of parts, or there are too many parts.
    PartOutOfRange,
    /// The split has no such part, or it is this part.
    NotAnotherPart,
    /// The split's id is empty or too long.
    SplitIdSize,
    /// The part's share is larger than the total of all parts.
    ShareAboveTotal,
    /// PART with DRAW or EVERY.
    PartTakesNoDraw,
    /// The units sent, received or promised would exceed the largest integer.
    MovedTooMany,
    /// WAITLIST above the largest allowed length.
    WaitlistTooLong,
    /// OFFER above the longest hold.
    OfferTooLong,
    /// A waiting list with neither OFFER nor HOLD.
    OfferNeedsTime,
    /// WAITLIST with DRAW or EVERY.
    WaitlistTakesNoDraw,
}

/// Why an effect was not applied. Replicas and AOFs meet this only if something is corrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not an effect, or one of a newer build.
    Unknown,
    /// It does not follow the sale's current version.
    Gap,
    /// Applying it would break the law or a bound.
    Law,
    /// There is no sale to apply it to, or an INIT met an existing one.
    Place,
}
