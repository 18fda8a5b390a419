//! Written from the module's own tables by `make docs`: change those, not this file.

use crate::answer::words;

words! {
    /// How a grant stands.
    State {
        /// Reserved until its deadline.
        Held = "HELD",
        /// Paid, or granted by a sale without holds.
        Sold = "SOLD",
        /// Returned by the buyer, or a REQ with a fence.
        Cancelled = "CANCELLED",
        /// Not paid in time.
        Expired = "EXPIRED",
        /// Returned after it was sold.
        Refunded = "REFUNDED",
        /// The user has no such grant.
        NoGrant = "NOGRANT",
    }
}

words! {
    /// The first word of a reply. The last six are of CONFIRM, CANCEL, EXTEND and REFUND.
    Outcome {
        /// Yours; `available` is what is left.
        Granted = "GRANTED",
        /// The allowance is used up; this is the user's newest live grant.
        Already = "ALREADY",
        /// This request id was granted before; this is that grant as it stands now.
        Replay = "REPLAY",
        /// Some allowance is left, but less than QTY.
        OverLimit = "OVERLIMIT",
        /// Nothing is available; `held` units may come back (0: final until units are added or refunded, or the next round begins).
        SoldOut = "SOLDOUT",
        /// Fewer are available than QTY.
        Short = "SHORT",
        /// Opens in so many milliseconds.
        NotOpen = "NOTOPEN",
        /// The window is over.
        Closed = "CLOSED",
        /// The operator paused the sale.
        Paused = "PAUSED",
        /// Not eligible.
        Denied = "DENIED",
        /// Not let in, see admission; with WAIT also: the list is full.
        Busy = "BUSY",
        /// On the waiting list, now or since before.
        Waiting = "WAITING",
        /// Somebody has this unit, the first of those asked for that is not free.
        Taken = "TAKEN",
        /// Reserved until its deadline.
        Held = "HELD",
        /// Paid, or granted by a sale without holds.
        Sold = "SOLD",
        /// Returned by the buyer, or a REQ with a fence.
        Cancelled = "CANCELLED",
        /// Not paid in time.
        Expired = "EXPIRED",
        /// Returned after it was sold.
        Refunded = "REFUNDED",
        /// The user has no such grant.
        NoGrant = "NOGRANT",
    }
}

impl Outcome {
    /// The words after the outcome; there may be more.
    pub(crate) const fn fields(self) -> &'static [&'static str] {
        match self {
            Outcome::Granted => &["seq", "qty", "state", "deadline_ms", "available"],
            Outcome::Already => &["seq", "qty", "state", "deadline_ms"],
            Outcome::Replay => &["seq", "qty", "state", "deadline_ms"],
            Outcome::OverLimit => &["allowance"],
            Outcome::SoldOut => &["held"],
            Outcome::Short => &["available"],
            Outcome::NotOpen => &["opens_in_ms"],
            Outcome::Closed => &[],
            Outcome::Paused => &[],
            Outcome::Denied => &[],
            Outcome::Busy => &[],
            Outcome::Waiting => &["ticket", "ahead", "units_ahead"],
            Outcome::Taken => &["unit"],
            Outcome::Held => &["seq", "qty", "deadline_ms"],
            Outcome::Sold => &["seq", "qty", "deadline_ms"],
            Outcome::Cancelled => &["seq", "qty", "deadline_ms"],
            Outcome::Expired => &["seq", "qty", "deadline_ms"],
            Outcome::Refunded => &["seq", "qty", "deadline_ms"],
            Outcome::NoGrant => &["seq", "qty", "deadline_ms"],
        }
    }
}

/// The fields of a row of USER and WINNERS.
pub(crate) const ROW: [&str; 9] =
    ["seq", "user", "qty", "state", "at_ms", "deadline_ms", "req", "epoch", "round"];

/// First words of errors that a retry can't avoid.
pub(crate) const MISTAKES: [&str; 15] = [
    "AMBIGUOUS",
    "BUSYGROUP",
    "CROSSSLOT",
    "ERR",
    "NOAUTH",
    "NOGROUP",
    "NOPERM",
    "NOSALE",
    "NOSCRIPT",
    "NOTNUMBERED",
    "REQMISMATCH",
    "SALEEXISTS",
    "WRONGPART",
    "WRONGPASS",
    "WRONGTYPE",
];
