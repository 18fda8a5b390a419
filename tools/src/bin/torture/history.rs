//! The clients' calls and answers, and the server's state afterwards: the checker's input.
//!
//! Moments are numbers of one counter that all threads share. It is read before a call is sent and
//! after its reply has come, so a call that returned before another was invoked has the smaller
//! numbers.

pub use seckill_client::State;

use crate::draws::{Draw, Stock};
use crate::list::{List, Waiter};
pub use seckill_oracle::oracle::Keeper;

/// The requests of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Grab,
    /// A GRAB of several sales. Each of them has an op of its own for it.
    Mgrab,
    Confirm,
    Cancel,
    Extend,
    Refund,
    /// CONFIRM, CANCEL or REFUND with KEEP: this many units are left, the rest is given back.
    Keep(Keeper, u64),
    Import,
    /// Only reads: how many are before the user.
    Place,
    Restock,
    Alter,
    Pause,
    Resume,
}

impl Deed {
    /// Whether it asks for new units. An answer GRANTED then means that this call has granted them.
    pub fn is_grab(self) -> bool {
        matches!(self, Deed::Grab | Deed::Mgrab)
    }

    /// Events of the outbox that the change may appear as.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Deed::Grab => &["GRANT", "OFFER"],
            Deed::Mgrab => &["GRANT"],
            Deed::Confirm => &["CONFIRM", "RECLAIM", "RECLAIM-REFUSED"],
            Deed::Cancel => &["CANCEL"],
            Deed::Extend => &["EXTEND"],
            Deed::Refund => &["REFUND"],
            Deed::Keep(Keeper::Confirm, _) => &["CONFIRM"],
            Deed::Keep(Keeper::Cancel | Keeper::Refund, _) => &["TRIM"],
            Deed::Import => &["IMPORT"],
            Deed::Place => &[],
            Deed::Restock => &["RESTOCK"],
            Deed::Alter => &["ALTER"],
            Deed::Pause => &["PAUSE"],
            Deed::Resume => &["RESUME"],
        }
    }
}

/// One request of a client. It is tried until there is an answer, under the same REQ.
#[derive(Clone, Debug)]
pub struct Op {
    pub thread: usize,
    pub deed: Deed,
    /// Empty for deeds of the operator.
    pub user: String,
    /// The order's REQ, or that of a restock; what ALTER sets, such as `LIMIT 3`; empty for PAUSE
    /// and RESUME.
    pub req: String,
    pub tries: Vec<Try>,
}

/// One call. Without an answer its outcome is unknown: it may yet be executed.
#[derive(Clone, Debug)]
pub struct Try {
    pub invoked: u64,
    pub answered: Option<Answered>,
    /// Which primary it went to, counted from the first; of those that it may have gone to the
    /// last.
    pub reign: u64,
    /// The first of them. A library does not tell which it was.
    pub since: u64,
    /// A library was asked, which tells of every attempt that had no reply.
    pub by_library: bool,
}

impl Try {
    /// One that went to a primary that is known, and is not answered yet.
    pub fn new(invoked: u64, reign: u64) -> Try {
        Try { invoked, answered: None, reign, since: reign, by_library: false }
    }

    /// The primary that it went to, if that is known.
    pub fn of_one_reign(&self) -> Option<u64> {
        Some(self.reign).filter(|reign| *reign == self.since)
    }
}

#[derive(Clone, Debug)]
pub struct Answered {
    pub returned: u64,
    pub answer: Answer,
    /// Whether the answer counts as acknowledged: always, or only if WAIT said so.
    pub kept: bool,
}

/// The answer that a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Granted {
        seq: u64,
        qty: u64,
        state: State,
        deadline: u64,
        available: u64,
        /// The numbers of its units, where units have numbers.
        units: Vec<u64>,
    },
    /// REPLAY of this REQ.
    Replay {
        seq: u64,
        qty: u64,
        state: State,
        deadline: u64,
    },
    /// ALREADY: the user's newest live grant, perhaps of another REQ.
    Already {
        seq: u64,
        qty: u64,
        state: State,
        deadline: u64,
    },
    /// SOLDOUT, with what is held.
    SoldOut {
        held: u64,
    },
    /// SHORT, with what is available.
    Short {
        available: u64,
    },
    /// OVERLIMIT.
    OverLimit,
    /// WAITING, with the ticket and how many are before it.
    Waiting {
        ticket: u64,
        ahead: u64,
    },
    /// NONE: the user does not wait.
    Nowhere,
    /// TAKEN: this number is taken.
    Taken {
        unit: u64,
    },
    /// BUSY: the waiting list is full.
    Busy,
    /// PAUSED.
    Paused,
    /// NOTOPEN: between two rounds.
    NotOpen,
    /// MGRAB: another one of its sales refused.
    Elsewhere,
    /// The grant as CONFIRM, CANCEL, EXTEND or REFUND left it; seq 0: there is none.
    Stands {
        seq: u64,
        qty: u64,
        state: State,
        deadline: u64,
    },
    Restocked {
        applied: i64,
        available: u64,
    },
    /// OK.
    Done,
    /// An answer that no client should get.
    Strange(String),
}

/// A grant as WINNERS lists it, and as an entry of the outbox tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub seq: u64,
    pub user: String,
    pub qty: u64,
    pub state: State,
    pub at: u64,
    pub deadline: u64,
    pub req: String,
    /// The epoch that it was granted in.
    pub born: u64,
    /// 0 in a sale without rounds.
    pub round: u64,
    /// The numbers of its units, where units have numbers.
    pub units: Vec<u64>,
}

/// One entry of the outbox.
#[derive(Clone, Debug)]
pub struct Entry {
    pub event: String,
    pub id: String,
    pub epoch: u64,
    pub rev: u64,
    pub t: u64,
    pub stock: Stock,
    pub grant: Option<Row>,
    /// CONFIRM and TRIM: the units of the grant that came back.
    pub returned: u64,
    /// RESTOCK: the REQ and by how much the supply changed.
    pub restock: Option<(String, i64)>,
    /// INIT and ALTER: what holds from now on.
    pub limits: Option<Limits>,
    /// ROUND: the one that begins.
    pub round: Option<u64>,
    /// WAIT, OFFER, LEAVE and DROPPED: the waiter.
    pub wait: Option<Waiter>,
}

/// The terms that ALTER can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Units a user may have, 0: any.
    pub limit: u64,
    /// Live grants a user may have, 0: any.
    pub grabs: u64,
    /// Milliseconds, 0: sold at once.
    pub hold_ms: u64,
    /// The time of the closing, Unix ms; 0: never.
    pub close_at: u64,
}

impl Limits {
    /// Whether a setting of an ALTER, such as `LIMIT 3`, is in force.
    pub fn are(&self, set: &str) -> bool {
        let told = |(name, value): (&str, u64)| format!("{name} {value}") == set;
        [("LIMIT", self.limit), ("GRABS", self.grabs), ("HOLD", self.hold_ms)].into_iter().any(told)
    }
}

/// How the sale was opened.
#[derive(Clone, Debug)]
pub struct Terms {
    pub supply: u64,
    pub limits: Limits,
    pub kind: Kind,
}

/// The special features of a sale.
#[derive(Clone, Debug)]
pub enum Kind {
    Plain,
    /// Red packets.
    Drawn(Draw),
    /// A sale with a waiting list.
    Listed(List),
    /// Each unit has a number.
    Numbered,
    /// A round begins every this many milliseconds of Unix time and is open for some of them.
    Rounds {
        every_ms: u64,
        lasts_ms: u64,
    },
}

/// The promises of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Everything that was acknowledged is there.
    Everything,
    /// The last acknowledged changes may be missing, and nothing before them.
    AllButTheTail,
}

/// When a server was made the primary.
#[derive(Clone, Copy, Debug)]
pub struct Crowning {
    /// From when on clients were sent to this primary.
    pub began: u64,
    /// A moment just before its promotion, in Unix ms. Its entries have no smaller T.
    pub from_ms: u64,
}

impl Crowning {
    /// These reigns in the history of one sale. An epoch tells no time (a restart draws one above
    /// the last), so each belongs to the reign in which its first change was made.
    pub fn reigns(crownings: &[Crowning], entries: &[Entry]) -> Vec<Reign> {
        let mut later = u64::MAX;
        let mut ends = vec![u64::MAX];
        ends.extend(crownings.iter().skip(1).rev().map(|next| next.from_ms));
        let reigns = crownings.iter().rev().zip(ends).map(|(crowning, end)| {
            let own = |entry: &&Entry| (crowning.from_ms..end).contains(&entry.t);
            let is_new = |entry: &&Entry| match entry.rev {
                1 => true,
                rev => entries[rev as usize - 2].epoch != entry.epoch,
            };
            let first = entries.iter().filter(own).find(is_new).map(|entry| entry.epoch);
            // A reign without a change has no epoch: whatever comes is of the next one.
            later = first.unwrap_or(later);
            Reign { began: crowning.began, epoch_from: later }
        });
        let mut reigns: Vec<Reign> = reigns.collect();
        reigns.reverse();
        reigns
    }
}

/// The time of one primary.
#[derive(Clone, Copy, Debug)]
pub struct Reign {
    /// From when on clients were sent to this primary; the one before is stale then.
    pub began: u64,
    /// All epochs of this reign are at least this, all earlier ones are smaller.
    pub epoch_from: u64,
}

/// One sale, when all is quiet again.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub terms: Terms,
    pub promise: Promise,
    pub ops: Vec<Op>,
    /// One primary after the other.
    pub reigns: Vec<Reign>,
    /// The outbox stream from its first entry on.
    pub entries: Vec<Entry>,
    /// All grants in order of seq.
    pub rows: Vec<Row>,
    /// The numbers of STATUS.
    pub stock: Stock,
    pub deficit: u64,
    pub id: String,
    pub rev: u64,
    /// The tickets of all waiters.
    pub waiting: Vec<u64>,
}

impl Evidence {
    /// The reign that an epoch belongs to.
    pub fn reign_of(&self, epoch: u64) -> u64 {
        let later = self.reigns.partition_point(|reign| reign.epoch_from <= epoch);
        later.saturating_sub(1) as u64
    }
}

/// All calls of an op that were answered.
pub fn answers(op: &Op) -> impl Iterator<Item = (&Try, &Answered)> {
    op.tries.iter().filter_map(|call| call.answered.as_ref().map(|answered| (call, answered)))
}
