//! The words of the lab: results of a request, books of a sale, faults of a schedule.

use serde::{Deserialize, Serialize};

/// The end of a request, or why it never got an answer.
pub type Told = Result<Verdict, Stop>;

/// The answer to a buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// "Yours": this many units, mostly one.
    Won(u64),
    /// "Yours, as you were told before": this many units, and none more.
    Again(u64),
    Lost(Reason),
    /// Not a buyer: somebody put this many units in.
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
    /// 手气不好，再抢购: another buyer changed the number first.
    Conflict,
    /// 系统异常,请重试: another buyer holds the lock.
    Busy,
    /// The shop's own work failed, a payment for instance; the unit was given back.
    Failed,
    /// The buyer has one.
    Already,
    /// 活动火爆: turned away on purpose, whatever is left.
    Shed,
    /// The buyer was let in, and the confirmation says that nothing is left.
    SoldOutInside,
    /// An exception: the buyer sees HTTP 500.
    Error,
    /// A loop that does not come to an end.
    Hangs,
}

/// The servers' numbers when all is over.
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

/// Faults. A row is marked with all that the interleaver finds, neither more nor less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fault {
    /// More units told "yours" than there are.
    Oversold,
    /// A unit that is left, though a buyer without one was refused.
    Undersold,
    /// Refused while units are left, and a buyer who comes alone afterwards is refused, too.
    Stuck,
    /// Told "yours", and no record of it.
    WinnerWithoutRecord,
    /// A record of a unit, and no buyer was told "yours".
    RecordWithoutWinner,
    /// One user with two units, though the strategy asks "has this user one?".
    TwoForOne,
    /// The stock goes below zero.
    NegativeCounter,
    /// Granted although sent after another's refusal had come back.
    Inversion,
    /// A lock released by a buyer who did not hold it.
    FreedAnothersLock,
    /// A request that never ends.
    Endless,
    /// "Sold out" comes as an exception.
    ErrorInsteadOfRefusal,
    /// A buyer waits for the buyer of another product.
    WaitsForAnother,
    /// Let in, and sold out at the confirmation.
    InThenSoldOut,
    /// After a crash: a unit that has no owner and can't be bought.
    CrashLosesUnit,
    /// After a crash: no buyer can buy any more, ever.
    CrashWedges,
    /// After a crash: no buyer can buy until a lease ends.
    CrashWedgesForLease,
    /// After a crash: the buyer who was cut off can't buy any more, though others can.
    CrashLocksOut,
    /// After a crash: the buyer has the unit, asks again, and is told "no".
    CrashHidesUnit,
    /// After a crash: the unit is on record for the buyer who was cut off, and sold again.
    CrashSellsTwice,
}

impl Fault {
    /// Whether a process has to die for this fault.
    pub fn needs_crash(self) -> bool {
        self >= Fault::CrashLosesUnit
    }
}

/// Where the lab's setting of a rush differs from the usual one.
#[derive(Clone, Copy, Debug)]
pub struct Rush {
    /// Units for sale.
    pub supply: u64,
    /// One request of this many works longer than its lease (0: none).
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
    /// The usual one.
    pub const USUAL: Rush = Rush {
        supply: 100,
        overlong_every: 0,
        lease_ms: 10_000,
        at_most: None,
        requests: None,
        fails_percent: 0,
    };

    /// Why a rush of this row is smaller than the others.
    pub fn smaller(&self) -> Option<Text> {
        self.at_most.or(self.requests).map(|(_, why)| why)
    }
}

/// English and Chinese.
pub type Text = (&'static str, &'static str);

/// Which database the rows in SQL run on.
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

/// Why a request ends without an answer of its own.
#[derive(Debug)]
pub enum Stop {
    /// The process died.
    Died,
    /// The database threw an exception. It is not caught, so the buyer sees HTTP 500.
    Sql(SqlError),
    /// The lab itself is in trouble, and says why.
    Trouble(String),
}

/// An exception of the database: its code, 1062 or 23505 for instance, and its text.
#[derive(Debug)]
pub struct SqlError {
    pub code: String,
    pub text: String,
}

impl SqlError {
    /// A row with this key is there: ER_DUP_ENTRY of MySQL and MariaDB, unique_violation of
    /// PostgreSQL.
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
