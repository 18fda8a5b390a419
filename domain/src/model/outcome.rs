//! All that can come of a request. What a buyer can meet is a variant with its numbers; what only
//! a mistaken caller meets is a `Misuse`.

use core::ffi::CStr;

use serde::{Deserialize, Serialize};

/// Where a grant stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Reserved until its deadline.
    Held,
    /// Final.
    Sold,
    /// Given back by the buyer.
    Cancelled,
    /// Given back by the clock.
    Expired,
    /// Given back by the clock, and a late payment was refused: it stays so for good.
    Forfeited,
    /// Given back after it was sold.
    Refunded,
}

impl State {
    /// The word callers read. A forfeited grant is an expired one to them.
    pub const fn name(self) -> &'static str {
        match self {
            State::Held => "HELD",
            State::Sold => "SOLD",
            State::Cancelled => "CANCELLED",
            State::Expired | State::Forfeited => "EXPIRED",
            State::Refunded => "REFUNDED",
        }
    }

    /// Whether the user has the units.
    pub fn is_live(self) -> bool {
        matches!(self, State::Held | State::Sold)
    }
}

/// A grant as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantView {
    /// The grant's number, counted from 1.
    pub seq: u64,
    /// Units.
    pub qty: u64,
    /// Where it stands.
    pub state: State,
    /// Unix ms, 0 unless HELD.
    pub deadline: u64,
}

/// An entry's place on the waiting list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its ticket.
    pub ticket: u64,
    /// Entries before it.
    pub ahead: u64,
    /// Units that these ask for.
    pub units_ahead: u64,
}

/// State and deadline of a grant that is made at `t`.
pub(crate) fn state_at(hold_ms: u64, t: u64) -> (State, u64) {
    match hold_ms {
        0 => (State::Sold, 0),
        ms => (State::Held, t + ms),
    }
}

/// What a command came to. The command room turns it into a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A plain OK.
    Done,
    /// Units were granted; `available` is what is left after it.
    Granted {
        /// The new grant.
        grant: GrantView,
        /// Units left after it.
        available: u64,
    },
    /// The allowance is used up; this is the user's newest live grant.
    Already(GrantView),
    /// This request id was granted before; this is that grant as it stands now.
    Replay(GrantView),
    /// Some allowance is left but less than was asked for.
    OverLimit {
        /// Units that are left to the user.
        allowance: u64,
    },
    /// Nothing is available; `held` units may come back.
    SoldOut {
        /// Units that may come back.
        held: u64,
    },
    /// Fewer units are available than were asked for.
    Short {
        /// Units that are available.
        available: u64,
    },
    /// The window opens in so many milliseconds.
    NotOpen {
        /// Milliseconds until it opens.
        in_ms: u64,
    },
    /// The window is over.
    Closed,
    /// The operator paused the sale.
    Paused,
    /// The user is not eligible.
    Denied,
    /// The user is shed: others were lucky or faster.
    Busy,
    /// The user waits: they have joined the list, or are on it already.
    Waiting(Place),
    /// So many users were added to a list or removed.
    Changed {
        /// How many changed.
        users: u64,
    },
    /// A grant as it stands after a CONFIRM, CANCEL, EXTEND or REFUND.
    Stands(GrantView),
    /// The user has no such grant.
    NoGrant,
    /// A request id that was never granted is cancelled in advance.
    Fenced,
    /// Units were added or withdrawn.
    Restocked {
        /// Units that were added, or withdrawn when negative.
        applied: i64,
        /// Units left after it.
        available: u64,
    },
    /// Units were sent or received, now or before.
    Moved {
        /// Units ever sent to that part, or received from it.
        total: u64,
        /// Units left after it.
        available: u64,
    },
    /// What the other parts may still have, now or before.
    Elsewhere {
        /// Units.
        units: u64,
        /// The pass that told so.
        pass: u64,
    },
    /// Nothing was judged: very many holds of this user are due. Some are written, the caller asks
    /// again.
    ManyOwnEnding,
    /// The same with holds of others, which may have what a late payment asks for.
    ManyEnding,
    /// Nothing was judged: the stored round is over. The caller commits the one change and asks
    /// again with the same time.
    NextRound,
    /// The caller made a mistake; nothing happened.
    Misuse(Misuse),
}

/// Attempts that got nothing new, as STATUS and INFO count them: the name of each, and what it
/// says. Their counters are a part of a dump, whose form of now has eleven: one more comes with a
/// new form.
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
    /// Tells how many units are available after the whole step, what is offered in it included.
    #[inline]
    pub(crate) fn set_available(&mut self, left: u64) {
        if let Outcome::Granted { available, .. }
        | Outcome::Restocked { available, .. }
        | Outcome::Moved { available, .. } = self
        {
            *available = left;
        }
    }

    /// Which of [`REFUSALS`] it is, if it is one.
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
            Outcome::Denied => 8,
            Outcome::Busy => 9,
            Outcome::Waiting(_) => 10,
            _ => return None,
        })
    }
}

/// Mistakes that only the sale itself can see; parsing finds the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// INIT with other terms on a key that holds a sale.
    SaleExists,
    /// A request id came back with other arguments.
    ReqMismatch,
    /// CLOSEAT is not after OPENAT.
    WindowEmpty,
    /// HOLD is over the longest hold.
    HoldTooLong,
    /// The outbox's name is too long.
    OutboxTooLong,
    /// The sale has another outbox already.
    OutboxSet,
    /// The user has more than one grant and none was named.
    Ambiguous,
    /// The supply would exceed the largest integer.
    SupplyTooLarge,
    /// The sale has as many grants as a seq can number.
    GrantsFull,
    /// Pieces of the log that the sale was rebuilt from are missing.
    Incomplete,
    /// The clock, the version or the epoch is beyond its bound: a broken clock, or a dump made so.
    Exhausted,
    /// DRAW with no packet.
    DrawNoPackets,
    /// DRAW with more packets than a sale can have grants.
    DrawTooManyPackets,
    /// DRAW LIST with more amounts than one INIT takes.
    DrawListTooLong,
    /// DRAW PACKETS with MIN 0.
    DrawMinZero,
    /// The supply is too small for every packet to get its least amount.
    DrawSupplyTooSmall,
    /// DRAW with an amount of 0.
    DrawAmountZero,
    /// DRAW UNIFORM with its bounds the wrong way round.
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
    /// MOD with a residue that no number can have.
    ModResidueTooLarge,
    /// MOD with too many residues.
    ModTooManyResidues,
    /// SAMPLE of more than 1000 permille.
    SampleTooLarge,
    /// SALT is too long.
    SaltTooLong,
    /// The list has no room for so many more users.
    ListFull,
    /// RESTOCK or IMPORT on a sale whose packets share a fixed supply.
    DrawFixesSupply,
    /// A user of another part of the split.
    WrongPart,
    /// The id of another split.
    NotThisSplit,
    /// The sale is no part of a split.
    NotAPart,
    /// PART is not one of so many parts, or there are too many of them.
    PartOutOfRange,
    /// The split has no such part, or it is this one.
    NotAnotherPart,
    /// The id of a split has no bytes, or too many.
    SplitIdSize,
    /// The share of a part is more than all parts begin with.
    ShareAboveTotal,
    /// PART with DRAW or EVERY.
    PartTakesNoDraw,
    /// More units would have been sent, received or promised than can be counted.
    MovedTooMany,
    /// WAITLIST of more entries than a list has.
    WaitlistTooLong,
    /// OFFER is over the longest hold.
    OfferTooLong,
    /// A waiting list with neither OFFER nor HOLD.
    OfferNeedsTime,
    /// WAITLIST with DRAW or EVERY.
    WaitlistTakesNoDraw,
}

/// Why an effect was not applied. Replicas and logs meet this only when something is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not an effect, or not one that this build knows.
    Unknown,
    /// It does not follow the version that the sale is at.
    Gap,
    /// Applying it would break the law or a bound.
    Law,
    /// There is no sale to apply it to, or there is one already.
    Place,
}
