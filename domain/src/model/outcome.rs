//! Outcomes of requests. An outcome that buyers can meet is a variant with its numbers; a caller's
//! mistake is a `Misuse`.

use core::ffi::CStr;

use serde::{Deserialize, Serialize};

pub use crate::model::misuse::Misuse;

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
    /// The seq, counted from 1.
    pub seq: u64,
    /// Units.
    pub qty: u64,
    /// The state.
    pub state: State,
    /// Deadline, Unix ms; 0 unless HELD.
    pub deadline: u64,
}

/// A waiter's place on the waiting list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The waiter's ticket.
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
// The tag is a byte of its own, so that `row` is one subtraction.
#[repr(u8)]
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
        /// Whether the outcome is DENIED, not BUSY.
        is_denied: bool,
        /// The refusal that is shown.
        shown: Mask,
    },
    /// The user is on the waiting list: they have just joined it, or were there already.
    Waiting(Place),
    /// Users were added to a list or removed from it.
    Changed {
        /// Number of users for whom the list changed.
        users: u64,
    },
    /// The state of a grant after a CONFIRM, CANCEL, EXTEND or REFUND.
    Stands(GrantView),
    /// The user has no grant that the request names.
    NoGrant,
    /// A request id was cancelled before its GRAB: a fence.
    Fenced,
    /// A requested unit is taken.
    Taken {
        /// The first named unit that is not free, in the caller's order.
        unit: u32,
    },
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
    /// The caller made a mistake; nothing changed.
    Misuse(Misuse),
}

/// A refusal in place of one that MASK hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// SOLDOUT 1.
    SoldOut,
    /// BUSY, like a full waiting list.
    Busy,
    /// TAKEN, although the unit is free.
    Taken(u32),
}

/// An answer to GRAB, written once. From its row come the reply, the counters of STATUS and INFO,
/// the docs in both languages and the tables of the client libraries.
#[derive(Debug)]
pub struct Row {
    /// The first word of the reply.
    pub word: &'static str,
    /// The names of the elements after it: numbers, except for `state`.
    pub fields: &'static [&'static str],
    /// The counter's name in STATUS, INFO and dumps.
    pub counter: &'static CStr,
    /// The meaning of the counter.
    pub counts: &'static str,
    /// The meaning of the answer.
    pub about: &'static str,
    /// The meaning of the answer in Chinese.
    pub about_zh: &'static str,
}

const GRANT: [&str; 5] = ["seq", "qty", "state", "deadline", "available"];
const AS_IT_STANDS: &[&str] = GRANT.split_at(4).0;

/// Every answer to GRAB, in the order of STATUS. The first one is a grant, and the others are
/// refusals: attempts that got nothing new.
pub static OUTCOMES: [Row; 13] = [
    Row {
        word: "GRANTED",
        fields: &GRANT,
        counter: c"granted",
        counts: "calls that got units",
        about: "yours; `available` is what is left",
        about_zh: "抢到了；`available` 是剩余件数",
    },
    Row {
        word: "ALREADY",
        fields: AS_IT_STANDS,
        counter: c"already",
        counts: "calls of users who had all they may have",
        about: "the allowance is used up; this is the user's newest live grant",
        about_zh: "限购额度用完了；这是该用户最新的有效记录",
    },
    Row {
        word: "REPLAY",
        fields: AS_IT_STANDS,
        counter: c"replayed",
        counts: "calls whose REQ had been granted before",
        about: "this request id was granted before; this is that grant as it stands now",
        about_zh: "这个请求号之前抢到过；这是那条记录现在的样子",
    },
    Row {
        word: "OVERLIMIT",
        fields: &["allowance"],
        counter: c"overlimit",
        counts: "calls that asked for more than their allowance",
        about: "some allowance is left, but less than QTY",
        about_zh: "还有额度，但不够 QTY",
    },
    Row {
        word: "SOLDOUT",
        fields: &["held"],
        counter: c"soldout",
        counts: "calls that found nothing available",
        about: "nothing is available; `held` units may come back (0: final until units are added \
                or refunded, or the next round begins)",
        about_zh: "没有可售的；`held` 件还可能释放（0：卖光了，直到补货、退货或下一场开始）",
    },
    Row {
        word: "SHORT",
        fields: &["available"],
        counter: c"short",
        counts: "calls that found less available than they asked for",
        about: "fewer are available than QTY",
        about_zh: "可售的不够 QTY",
    },
    Row {
        word: "NOTOPEN",
        fields: &["ms"],
        counter: c"notopen",
        counts: "calls before the sale or the round was open",
        about: "opens in so many milliseconds",
        about_zh: "距开抢还有这么多毫秒",
    },
    Row {
        word: "CLOSED",
        fields: &[],
        counter: c"closed",
        counts: "calls after the sale was closed",
        about: "the window is over",
        about_zh: "活动结束了",
    },
    Row {
        word: "PAUSED",
        fields: &[],
        counter: c"paused",
        counts: "calls while the sale was paused",
        about: "the operator paused the sale",
        about_zh: "运营暂停了活动",
    },
    Row {
        word: "DENIED",
        fields: &[],
        counter: c"denied",
        counts: "calls of users who may not buy",
        about: "not eligible",
        about_zh: "没有资格",
    },
    Row {
        word: "BUSY",
        fields: &[],
        counter: c"busy",
        counts: "calls of users who were not admitted, or for whom the waiting list was full",
        about: "not let in, see admission; with WAIT also: the list is full",
        about_zh: "没被放行，见准入；带 WAIT 时也可能是候补已满",
    },
    Row {
        word: "WAITING",
        fields: &["ticket", "ahead", "units ahead"],
        counter: c"waiting",
        counts: "calls of users who wait, those that joined the list included",
        about: "on the waiting list, now or since before",
        about_zh: "在候补：刚加入，或者之前就在",
    },
    Row {
        word: "TAKEN",
        fields: &["unit"],
        counter: c"taken",
        counts: "calls for numbered units that somebody has",
        about: "somebody has this unit, the first of those asked for that is not free",
        about_zh: "这个号已被别人占了：所要的号里第一个不可售的",
    },
];

/// The elements of an answer after its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements<'o> {
    /// None.
    Nothing,
    /// One number.
    Number(u64),
    /// A grant in its current state; for a new grant also the units left after it.
    Grant(&'o GrantView, Option<u64>),
    /// A place on the waiting list.
    Place(&'o Place),
}

impl From<Misuse> for Outcome {
    #[inline]
    fn from(misuse: Misuse) -> Outcome {
        Outcome::Misuse(misuse)
    }
}

impl Outcome {
    /// The index in [`OUTCOMES`], if it is an answer to GRAB.
    #[inline]
    pub fn row(&self) -> Option<usize> {
        Some(match self {
            Outcome::Granted { .. } => 0,
            Outcome::Already(_) => 1,
            Outcome::Replay(_) => 2,
            Outcome::OverLimit { .. } => 3,
            Outcome::SoldOut { .. } => 4,
            Outcome::Short { .. } => 5,
            Outcome::NotOpen { .. } => 6,
            Outcome::Closed => 7,
            Outcome::Paused => 8,
            Outcome::Denied | Outcome::Masked { is_denied: true, .. } => 9,
            Outcome::Busy | Outcome::Masked { .. } => 10,
            Outcome::Waiting(_) => 11,
            Outcome::Taken { .. } => 12,
            _ => return None,
        })
    }

    /// The word and the elements of the reply, if it is an answer to GRAB.
    #[inline]
    pub fn elements(&self) -> Option<(&'static str, Elements<'_>)> {
        let elements = match self {
            Outcome::Granted { grant, available } => Elements::Grant(grant, Some(*available)),
            Outcome::Already(grant) | Outcome::Replay(grant) => Elements::Grant(grant, None),
            Outcome::OverLimit { allowance: number }
            | Outcome::SoldOut { held: number }
            | Outcome::Short { available: number }
            | Outcome::NotOpen { in_ms: number } => Elements::Number(*number),
            Outcome::Waiting(place) => Elements::Place(place),
            Outcome::Taken { unit } => Elements::Number((*unit).into()),
            Outcome::Masked { shown, .. } => return shown.elements(),
            _ => Elements::Nothing,
        };
        Some((OUTCOMES[self.row()?].word, elements))
    }
}

impl Mask {
    fn elements(self) -> Option<(&'static str, Elements<'static>)> {
        let (shown, elements) = match self {
            Mask::SoldOut => (Outcome::SoldOut { held: 1 }, Elements::Number(1)),
            Mask::Busy => (Outcome::Busy, Elements::Nothing),
            Mask::Taken(unit) => (Outcome::Taken { unit }, Elements::Number(unit.into())),
        };
        Some((OUTCOMES[shown.row()?].word, elements))
    }
}

/// The reason why an effect was not applied. On a replica or in an AOF it means corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not an effect, or one of a newer build.
    Unknown,
    /// The effect does not follow the sale's current version.
    Gap,
    /// Applying it would break the law or a bound.
    Law,
    /// There is no sale to apply it to, or an INIT met an existing one.
    Key,
}

/// Refuses if a condition does not hold.
#[inline]
pub(crate) fn check(holds: bool) -> Result<(), Refused> {
    holds.then_some(()).ok_or(Refused::Law)
}
