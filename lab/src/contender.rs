//! What a strategy is to the lab: how to open a sale, how one buyer buys, what the books say.

use serde::{Deserialize, Serialize};

use crate::buyer::{Buyer, Stop};
use crate::servers::Maker;

/// What a request ends with, or why it never got an answer.
pub type Told = Result<Verdict, Stop>;

/// What a buyer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// "Yours": so many units, mostly one.
    Won(u64),
    /// "Yours, as you were told before": so many units, and none more.
    Again(u64),
    Lost(Reason),
    /// Not a buyer: somebody put so many units in.
    Restocked(u64),
    /// Not a buyer: a worker or an importer has done its part.
    Done,
}

pub fn won() -> Told {
    Ok(Verdict::Won(1))
}

pub fn lost(reason: Reason) -> Told {
    Ok(Verdict::Lost(reason))
}

/// Why a buyer got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// 已卖光.
    SoldOut,
    /// 手气不好，再抢购: somebody else changed the number first.
    Conflict,
    /// 系统异常,请重试: somebody else holds the lock.
    Busy,
    /// The shop's own work failed, a payment for instance; the unit was given back.
    Failed,
    /// They have one.
    Already,
    /// 活动火爆: turned away on purpose, whatever is left.
    Shed,
    /// They were let in and learnt at the confirmation that nothing is left.
    SoldOutInside,
    /// An exception: the buyer sees HTTP 500.
    Error,
    /// A loop that does not come to an end.
    Hangs,
}

/// What the servers say when all is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// The number that the shop takes for its stock.
    pub counter: Option<i64>,
    /// Units in the records of winners, where the strategy keeps any.
    pub records: Option<u64>,
}

impl Books {
    pub fn counter(counter: i64) -> Result<Books, Stop> {
        Ok(Books { counter: Some(counter), records: None })
    }

    pub fn records(records: u64) -> Result<Books, Stop> {
        Ok(Books { counter: None, records: Some(records) })
    }

    pub fn both(counter: i64, records: u64) -> Result<Books, Stop> {
        Ok(Books { counter: Some(counter), records: Some(records) })
    }
}

/// What can go wrong. A row is marked with all that the interleaver finds, neither more nor less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fault {
    /// More units told "yours" than there are.
    Oversold,
    /// A unit that nobody has, though somebody without one was refused.
    Undersold,
    /// The same, and a buyer who comes alone afterwards is refused too.
    Stuck,
    /// Told "yours", and no record of it.
    WinnerWithoutRecord,
    /// A record of a unit, and nobody was told "yours".
    RecordWithoutWinner,
    /// One user with two units, though the strategy asks "has this user one?".
    TwoForOne,
    /// The stock goes below zero.
    NegativeCounter,
    /// Granted although sent after another's refusal had come back.
    Inversion,
    /// A lock released by somebody who did not hold it.
    FreedAnothersLock,
    /// A request that never ends.
    Endless,
    /// "Sold out" comes as an exception.
    ErrorInsteadOfRefusal,
    /// A buyer waits for the buyer of another product.
    WaitsForAnother,
    /// Let in, and sold out at the confirmation.
    InThenSoldOut,
    /// After a crash: a unit that nobody has and nobody can buy.
    CrashLosesUnit,
    /// After a crash: nobody can buy any more, ever.
    CrashWedges,
    /// After a crash: nobody can buy until a lease ends.
    CrashWedgesForLease,
    /// After a crash: the buyer who was cut off can't buy any more, though others can.
    CrashLocksOut,
    /// After a crash: the buyer has the unit, asks again, and is told "no".
    CrashHidesUnit,
    /// After a crash: the unit is on record for the buyer who was cut off, and sold again.
    CrashSellsTwice,
}

impl Fault {
    /// Whether a process has to die for it.
    pub fn needs_crash(self) -> bool {
        self >= Fault::CrashLosesUnit
    }
}

/// Whose idea a row is, so that no post answers for what it does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A post, or a comment below it, recommends it or says that it works.
    Recommended,
    /// The post itself shows it as wrong, or warns of it.
    ShownWrong,
    /// The lab's own: a variant, or a post's program in a situation that the lab added.
    Lab,
}

/// Which servers a strategy needs beside a plain Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub sql: bool,
    pub module: bool,
}

/// Where the lab's setting of a rush differs from the usual one.
#[derive(Clone, Copy, Debug)]
pub struct Rush {
    /// Units for sale.
    pub supply: u64,
    /// Every so many-th request works longer than its lease (0: none).
    pub overlong_every: u64,
    /// The lease of the rush in ms, where the seed's own would need minutes.
    pub lease_ms: u64,
    /// Fewer workers, and why.
    pub at_most: Option<(usize, Text)>,
    /// Fewer requests, and why.
    pub requests: Option<(usize, Text)>,
    /// A part of the shop's requests fails after the unit was taken, in percent.
    pub fails_percent: u64,
}

impl Rush {
    /// Why a rush of this row is smaller than the others.
    pub fn smaller(&self) -> Option<Text> {
        self.at_most.or(self.requests).map(|(_, why)| why)
    }
}

/// English and Chinese.
pub type Text = (&'static str, &'static str);

/// One strategy.
pub struct Contender {
    pub id: &'static str,
    /// The post, and where in it.
    pub seed: &'static str,
    /// The rows of the list of systems that this one is.
    pub rows: &'static str,
    pub steps: &'static str,
    /// Whose idea it is.
    pub origin: Origin,
    /// What the post says of it.
    pub says: Text,
    pub needs: Needs,
    pub set_up: fn(&mut Buyer, u64) -> Result<(), Stop>,
    pub buy: fn(&mut Buyer) -> Told,
    pub books: fn(&mut Buyer) -> Result<Books, Stop>,
    /// Somebody else who takes part: who restocks, a worker, an importer.
    pub helper: Option<fn(&mut Buyer) -> Told>,
    /// Nobody gets an answer without the helper.
    pub waits_for_helper: bool,
    /// The key of the lock whose lease may run out.
    pub lease: Option<&'static str>,
    /// Whether it claims that a user buys once.
    pub once_per_user: bool,
    /// The product that buyer B wants is another one than A's.
    pub two_products: bool,
    pub rush: Rush,
    /// What the interleaver must find.
    pub marked: &'static [Fault],
    /// The same on a database where it finds something else.
    pub marked_on: &'static [(Maker, &'static [Fault])],
    /// What else there is to know about the row, where the measurement and the theory differ.
    pub note: Text,
}

/// What most contenders have in common.
pub const BASE: Contender = Contender {
    id: "",
    seed: "",
    rows: "",
    steps: "",
    origin: Origin::Recommended,
    says: ("-", "-"),
    needs: Needs { sql: false, module: false },
    set_up: |_, _| Ok(()),
    buy: |_| lost(Reason::SoldOut),
    books: |_| Ok(Books { counter: None, records: None }),
    helper: None,
    waits_for_helper: false,
    lease: None,
    once_per_user: false,
    two_products: false,
    rush: Rush {
        supply: 100,
        overlong_every: 0,
        lease_ms: 10_000,
        at_most: None,
        requests: None,
        fails_percent: 0,
    },
    marked: &[],
    marked_on: &[],
    note: ("", ""),
};

pub const SQL: Needs = Needs { sql: true, module: false };
pub const MODULE: Needs = Needs { sql: false, module: true };

impl Contender {
    /// Those that the lab calls exact: no buyer too many, none refused while units are left.
    pub fn is_exact(&self) -> bool {
        use Fault::*;
        let harmless = [NegativeCounter, WaitsForAnother, ErrorInsteadOfRefusal];
        self.marked.iter().all(|fault| fault.needs_crash() || harmless.contains(fault))
    }

    /// What the interleaver must find on this database.
    pub fn marked_on(&self, maker: Maker) -> &'static [Fault] {
        let here = self.marked_on.iter().find(|(one, _)| *one == maker);
        here.map_or(self.marked, |(_, marked)| marked)
    }

    /// Whether it runs on this database: what the module's order writer says is of MySQL.
    pub fn runs_on(&self, maker: Maker) -> bool {
        self.needs.sql && (maker != Maker::Postgres || !self.needs.module)
    }

    /// The module's own rows.
    pub fn is_ours(&self) -> bool {
        self.id.starts_with('S')
    }
}
