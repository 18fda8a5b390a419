//! The clients' calls and answers, and the final state of the server: the checker's input.
//!
//! Times are numbers of one counter that all threads share. It is read before a call is sent and
//! after its reply has come. So a call that was answered before another was sent has smaller
//! numbers.

pub use seckill_client::State;

use crate::draws::{Draw, Stock};
pub use seckill_model::oracle::{Keeper, ListRules as List};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Grab,
    /// A GRAB of several sales; each sale has its own op.
    Mgrab,
    Confirm,
    Cancel,
    Extend,
    Refund,
    /// CONFIRM, CANCEL or REFUND with KEEP: this many units stay, the rest is returned.
    Keep(Keeper, u64),
    Import,
    /// Reads only: the number of waiters before the user.
    Place,
    Restock,
    Alter,
    Pause,
    Resume,
}

impl Deed {
    /// Whether the request asks for new units; then GRANTED means that this call granted them.
    pub fn is_grab(self) -> bool {
        matches!(self, Deed::Grab | Deed::Mgrab)
    }

    /// Events of the outbox that the change may have.
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

/// One request of a client, retried with one REQ until it is answered.
#[derive(Clone, Debug)]
pub struct Op {
    pub thread: usize,
    pub deed: Deed,
    /// Empty for commands of the operator.
    pub user: String,
    /// The REQ of an order or a restock, or the setting of ALTER, such as `LIMIT 3`. Empty for
    /// PAUSE and RESUME.
    pub req: String,
    pub tries: Vec<Try>,
}

/// One call. Without an answer its outcome is unknown: it may still be executed.
#[derive(Clone, Debug)]
pub struct Try {
    pub invoked: u64,
    pub answered: Option<Answered>,
    /// Number of the primary, counted from the first. If several are possible, the last one.
    pub reign: u64,
    /// The first possible primary: a library does not report which it used.
    pub since: u64,
    /// A library made the call; it reports every attempt without a reply.
    pub by_library: bool,
}

impl Try {
    /// A call to a known primary, not answered yet.
    pub fn new(invoked: u64, reign: u64) -> Try {
        Try { invoked, answered: None, reign, since: reign, by_library: false }
    }

    /// The primary of the call, if it is known.
    pub fn of_one_reign(&self) -> Option<u64> {
        Some(self.reign).filter(|reign| *reign == self.since)
    }
}

#[derive(Clone, Debug)]
pub struct Answered {
    pub returned: u64,
    pub answer: Answer,
    /// Whether the answer counts as acknowledged: always, or only after WAIT.
    pub kept: bool,
}

/// A grant as a reply shows it. Seq 0: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub seq: u64,
    pub qty: u64,
    pub state: State,
    pub deadline: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// GRANTED, with the available units and, if units have numbers, those of the grant.
    Granted { grant: Grant, available: u64, units: Vec<u64> },
    /// REPLAY of this REQ.
    Replay(Grant),
    /// ALREADY: the user's newest live grant, perhaps of another REQ.
    Already(Grant),
    /// The grant after CONFIRM, CANCEL, EXTEND or REFUND.
    Stands(Grant),
    /// SOLDOUT, with the held units.
    SoldOut { held: u64 },
    /// SHORT, with the available units.
    Short { available: u64 },
    /// OVERLIMIT.
    OverLimit,
    /// WAITING, with the ticket and the number of waiters before it.
    Waiting { ticket: u64, ahead: u64 },
    /// NONE: the user does not wait.
    Nowhere,
    /// TAKEN: this number is taken.
    Taken { unit: u64 },
    /// BUSY: the waiting list is full.
    Busy,
    /// PAUSED.
    Paused,
    /// NOTOPEN: between two rounds.
    NotOpen,
    /// MGRAB: another one of its sales refused.
    Elsewhere,
    /// RESTOCK: the change of the supply, and the available units.
    Restocked { applied: i64, available: u64 },
    /// OK.
    Done,
    /// An answer that no client should get.
    Strange(String),
}

/// A grant as in WINNERS and in an outbox entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub seq: u64,
    pub user: String,
    pub qty: u64,
    pub state: State,
    pub at: u64,
    pub deadline: u64,
    pub req: String,
    /// The epoch of the grant.
    pub born: u64,
    /// 0 in a sale without rounds.
    pub round: u64,
    /// The numbers of its units, if units have numbers.
    pub units: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub event: String,
    pub id: String,
    pub epoch: u64,
    pub rev: u64,
    pub t: u64,
    pub stock: Stock,
    pub grant: Option<Row>,
    /// CONFIRM and TRIM: the returned units of the grant.
    pub returned: u64,
    /// RESTOCK: the REQ, and the change of the supply.
    pub restock: Option<(String, i64)>,
    /// INIT and ALTER: the terms from now on.
    pub limits: Option<Limits>,
    /// ROUND: the new round.
    pub round: Option<u64>,
    /// WAIT, OFFER, LEAVE and DROPPED: the waiter.
    pub wait: Option<Waiter>,
}

#[derive(Clone, Debug)]
pub struct Waiter {
    pub ticket: u64,
    pub user: String,
    pub req: String,
    pub qty: u64,
    pub until: u64,
    pub reason: String,
}

/// The terms that ALTER can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Units of a user; 0 for no limit.
    pub limit: u64,
    /// Live grants of a user; 0 for no limit.
    pub grabs: u64,
    /// Milliseconds of a hold; 0: units are sold at once.
    pub hold_ms: u64,
    /// End of the sale in Unix ms; 0 for never.
    pub close_at: u64,
}

impl Limits {
    /// Whether a setting of ALTER, such as `LIMIT 3`, is in force.
    pub fn are(&self, set: &str) -> bool {
        let told = |(name, value): (&str, u64)| format!("{name} {value}") == set;
        [("LIMIT", self.limit), ("GRABS", self.grabs), ("HOLD", self.hold_ms)].into_iter().any(told)
    }
}

#[derive(Clone, Debug)]
pub struct Terms {
    pub supply: u64,
    pub limits: Limits,
    pub kind: Kind,
}

/// The special features of a sale.
#[derive(Clone, Debug)]
pub enum Kind {
    /// None.
    Plain,
    /// Red packets.
    Drawn(Draw),
    /// A sale with a waiting list.
    Listed(List),
    /// Numbered units.
    Numbered,
    /// Rounds of this many milliseconds, each open for a part of them.
    Rounds { every_ms: u64, lasts_ms: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every acknowledged change is kept.
    Everything,
    /// The last acknowledged changes may be lost, and none before them.
    AllButTheTail,
}

#[derive(Clone, Copy, Debug)]
pub struct Crowning {
    /// The time from which clients were sent to this primary.
    pub began: u64,
    /// A time just before the promotion, in Unix ms. Entries of the new primary have no smaller T.
    pub from_ms: u64,
}

impl Crowning {
    /// The reigns in the history of one sale. An epoch is no time (a restart draws one above the
    /// last), so each epoch belongs to the reign of its first change.
    pub fn reigns(crownings: &[Crowning], entries: &[Entry]) -> Vec<Reign> {
        // The first entry of each epoch, by place: the history of a broken server has gaps in rev.
        let first_ones = entries.chunk_by(|one, next| one.epoch == next.epoch).map(|of| &of[0]);
        let first_ones: Vec<&Entry> = first_ones.collect();
        let mut later = u64::MAX;
        let mut ends = vec![u64::MAX];
        ends.extend(crownings.iter().skip(1).rev().map(|next| next.from_ms));
        let reigns = crownings.iter().rev().zip(ends).map(|(crowning, end)| {
            let own = crowning.from_ms..end;
            let first = first_ones.iter().find(|entry| own.contains(&entry.t));
            // A reign without a change has no epoch; entries belong to the next reign.
            later = first.map_or(later, |entry| entry.epoch);
            Reign { began: crowning.began, epoch_from: later }
        });
        let mut reigns: Vec<Reign> = reigns.collect();
        reigns.reverse();
        reigns
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Reign {
    /// The time from which clients were sent to this primary. The previous primary is stale then.
    pub began: u64,
    /// The smallest epoch of this reign; all earlier epochs are smaller.
    pub epoch_from: u64,
}

#[derive(Clone, Debug)]
pub struct Evidence {
    pub terms: Terms,
    pub promise: Promise,
    pub ops: Vec<Op>,
    pub reigns: Vec<Reign>,
    /// The outbox stream from its first entry on.
    pub entries: Vec<Entry>,
    /// All grants in the order of seq.
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
    pub fn reign_of(&self, epoch: u64) -> u64 {
        let later = self.reigns.partition_point(|reign| reign.epoch_from <= epoch);
        later.saturating_sub(1) as u64
    }
}

pub fn answers(op: &Op) -> impl Iterator<Item = (&Try, &Answered)> {
    op.tries.iter().filter_map(|call| call.answered.as_ref().map(|answered| (call, answered)))
}
