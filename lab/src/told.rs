//! Types of the lab: results of a request, final data of a sale, faults of a schedule.

use serde::{Deserialize, Serialize};

/// The result of a request, or the reason why it has none.
pub type Told = Result<Verdict, Stop>;

/// The answer to a buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// "Yours": this many units, usually one.
    Won(u64),
    /// "Yours, as before": this many units, and no new ones.
    Again(u64),
    Lost(Reason),
    /// A restock by this many units, for a helper.
    Restocked(u64),
    /// A worker or an importer has finished.
    Done,
}

pub fn won() -> Told {
    Ok(Verdict::Won(1))
}

pub fn lost(reason: Reason) -> Told {
    Ok(Verdict::Lost(reason))
}

/// The reason why a buyer got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// 已卖光.
    SoldOut,
    /// 手气不好，再抢购: another buyer changed the number first.
    Conflict,
    /// 系统异常,请重试: another buyer holds the lock.
    Busy,
    /// The shop's own work failed, for example a payment; the unit was returned.
    Failed,
    /// The buyer already has a unit.
    Already,
    /// 活动火爆: rejected on purpose, whatever is left.
    Shed,
    /// The buyer was let in, but nothing was left at the confirmation.
    SoldOutInside,
    /// An exception: the buyer sees HTTP 500.
    Error,
    /// An endless loop.
    Hangs,
}

/// The servers' numbers at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// The number that the shop uses as its stock.
    pub counter: Option<i64>,
    /// Units in the records of winners, if the strategy has any.
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

/// Faults. A row is marked with exactly those that the interleaver finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fault {
    /// More units in "yours" answers than exist.
    Oversold,
    /// A unit is left although a buyer without one was refused.
    Undersold,
    /// Units are left, but also a buyer who comes alone at the end is refused.
    Stuck,
    /// A "yours" answer without a record.
    WinnerWithoutRecord,
    /// A record without a "yours" answer.
    RecordWithoutWinner,
    /// One user has two units, although the strategy checks whether the user has one.
    TwoForOne,
    /// The stock goes below zero.
    NegativeCounter,
    /// Granted, although sent after another buyer's refusal.
    Inversion,
    /// A lock was released by a buyer who did not hold it.
    FreedAnothersLock,
    /// A request that never ends.
    Endless,
    /// "Sold out" is an exception.
    ErrorInsteadOfRefusal,
    /// A buyer waits for a buyer of another product.
    WaitsForAnother,
    /// Let in, and sold out at the confirmation.
    InThenSoldOut,
    /// After a crash: a unit that has no owner and can't be bought.
    CrashLosesUnit,
    /// After a crash: no buyer can buy any more, ever.
    CrashWedges,
    /// After a crash: no buyer can buy until a lease ends.
    CrashWedgesForLease,
    /// After a crash: the interrupted buyer can't buy any more, but others can.
    CrashLocksOut,
    /// After a crash: the buyer has the unit, asks again, and is told "no".
    CrashHidesUnit,
    /// After a crash: the unit is recorded for the interrupted buyer, and sold again.
    CrashSellsTwice,
}

impl Fault {
    /// Whether the fault needs a crash.
    pub fn needs_crash(self) -> bool {
        self >= Fault::CrashLosesUnit
    }
}

/// Settings of a rush that differ from the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct Rush {
    /// Units for sale.
    pub supply: u64,
    /// One request in this many works longer than its lease (0: none).
    pub overlong_every: u64,
    /// The lease of the rush in ms; the post's own would need minutes.
    pub lease_ms: u64,
    /// A smaller number of workers, with the reason.
    pub at_most: Option<(usize, Text)>,
    /// A smaller number of requests, with the reason.
    pub requests: Option<(usize, Text)>,
    /// Percentage of requests that fail after the unit was taken.
    pub fails_percent: u64,
}

impl Rush {
    /// The usual settings.
    pub const USUAL: Rush = Rush {
        supply: 100,
        overlong_every: 0,
        lease_ms: 10_000,
        at_most: None,
        requests: None,
        fails_percent: 0,
    };

    /// The reason why a rush of this row is smaller.
    pub fn smaller(&self) -> Option<Text> {
        self.at_most.or(self.requests).map(|(_, why)| why)
    }
}

/// A text in English and Chinese.
pub type Text = (&'static str, &'static str);

/// The database of the rows in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Maker {
    MariaDb,
    MySql,
    Postgres,
}

impl Maker {
    pub fn name(self) -> &'static str {
        match self {
            Maker::MariaDb => "MariaDB",
            Maker::MySql => "MySQL",
            Maker::Postgres => "PostgreSQL",
        }
    }
}

/// The reason why a request ends without a result.
#[derive(Debug)]
pub enum Stop {
    /// The process died.
    Died,
    /// An uncaught exception of the database: the buyer sees HTTP 500.
    Sql(SqlError),
    /// An error of the lab itself, with its message.
    Trouble(String),
}

/// An exception of the database: its code, such as 1062 or 23505, and its text.
#[derive(Debug)]
pub struct SqlError {
    pub code: String,
    pub text: String,
}

impl SqlError {
    /// Whether the exception is a duplicate key: ER_DUP_ENTRY of MySQL and MariaDB,
    /// unique_violation of PostgreSQL.
    pub fn is_duplicate(&self) -> bool {
        matches!(self.code.as_str(), "1062" | "23505")
    }
}

impl From<mysql::Error> for Stop {
    fn from(error: mysql::Error) -> Stop {
        match error {
            mysql::Error::MySqlError(e) => {
                Stop::Sql(SqlError { code: e.code.to_string(), text: e.message })
            }
            other => Stop::Trouble(format!("the database says: {other}")),
        }
    }
}

impl From<postgres::Error> for Stop {
    fn from(error: postgres::Error) -> Stop {
        match error.as_db_error() {
            Some(e) => Stop::Sql(SqlError {
                code: e.code().code().to_owned(),
                text: e.message().to_owned(),
            }),
            None => Stop::Trouble(format!("the database says: {error}")),
        }
    }
}

impl From<redis::RedisError> for Stop {
    fn from(error: redis::RedisError) -> Stop {
        Stop::Trouble(format!("Redis says: {error}"))
    }
}

impl From<redis::ParsingError> for Stop {
    fn from(error: redis::ParsingError) -> Stop {
        Stop::Trouble(format!("Redis says something else than was expected: {error}"))
    }
}
