//! A buyer's talk with a database: statements as text, as the seeds have them, each one round trip.

use mysql::prelude::Queryable;
use mysql::Conn;
use postgres::{Client, SimpleQueryMessage};

use crate::buyer::{Buyer, Stop};

/// A connection to MariaDB, MySQL or PostgreSQL.
pub enum Session {
    MySql(Box<Conn>),
    Postgres(Box<Client>),
}

/// What a statement brought: rows as text, `None` for NULL, and how many rows it changed.
#[derive(Debug, Default)]
pub struct Answer {
    pub rows: Vec<Vec<Option<String>>>,
    pub changed: u64,
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

impl Session {
    /// # Errors
    /// What the database says.
    pub fn ask(&mut self, statement: &str) -> Result<Answer, Stop> {
        match self {
            Session::MySql(conn) => {
                let mut result = conn.query_iter(statement)?;
                let mut answer = Answer { rows: Vec::new(), changed: result.affected_rows() };
                for row in result.by_ref() {
                    answer.rows.push(row?.unwrap().iter().map(text).collect());
                }
                Ok(answer)
            }
            Session::Postgres(client) => {
                let mut answer = Answer::default();
                for message in client.simple_query(statement)? {
                    match message {
                        SimpleQueryMessage::Row(row) => answer
                            .rows
                            .push((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect()),
                        SimpleQueryMessage::CommandComplete(changed) => answer.changed = changed,
                        _ => {}
                    }
                }
                Ok(answer)
            }
        }
    }

    /// The server's number of this connection.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub fn number(&mut self) -> Result<u32, Stop> {
        if let Session::MySql(conn) = self {
            return Ok(conn.connection_id());
        }
        let answer = self.ask("SELECT pg_backend_pid()")?;
        let number = answer.rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        number.ok_or_else(|| Stop::Trouble("a connection without a number".into()))
    }

    /// The connections (by the server's number) that wait for a row lock at this moment.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub fn lock_waits(&mut self) -> Result<Vec<u32>, Stop> {
        let statement = match self {
            Session::MySql(_) => "SHOW ENGINE INNODB STATUS",
            // Who frees a lock grants it to the next one in the same step; what pg_stat_activity
            // says follows when that one wakes up.
            Session::Postgres(_) => "SELECT pid FROM pg_locks WHERE NOT granted",
        };
        let rows = self.ask(statement)?.rows;
        let cells = rows.into_iter().filter_map(|row| row.into_iter().next_back().flatten());
        Ok(match self {
            Session::Postgres(_) => cells.filter_map(|pid| pid.parse().ok()).collect(),
            Session::MySql(_) => cells.flat_map(|status| waiting_in(&status)).collect(),
        })
    }
}

/// The threads that InnoDB's report shows waiting.
fn waiting_in(status: &str) -> Vec<u32> {
    // What stands before the first transaction tells of deadlocks that are over.
    let now = status.split("---TRANSACTION").skip(1);
    let waiting = now.filter(|part| part.contains("LOCK WAIT"));
    let number = |part: &str| {
        let (_, rest) = part.split_once("thread id ")?;
        rest.split(',').next()?.trim().parse().ok()
    };
    waiting.filter_map(number).collect()
}

fn text(value: &mysql::Value) -> Option<String> {
    match value {
        mysql::Value::NULL => None,
        mysql::Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

impl Buyer {
    fn session(&mut self) -> Result<&mut Session, Stop> {
        self.sql.as_mut().ok_or_else(|| Stop::Trouble("this buyer has no database".into()))
    }

    /// The rows of a statement, as numbers; NULL is 0.
    fn numbers(&mut self, statement: &str) -> Result<Vec<Vec<i64>>, Stop> {
        self.step(|buyer| {
            buyer.round_trips += 1;
            let rows = buyer.said(statement)?.rows;
            let cell = |cell: &Option<String>| match cell {
                Some(text) => text.parse().map_err(|_| {
                    Stop::Trouble(format!("{statement}: another row than expected: {text}"))
                }),
                None => Ok(0),
            };
            let numbers: Result<Vec<Vec<i64>>, Stop> =
                rows.iter().map(|row| row.iter().map(cell).collect()).collect();
            let numbers = numbers?;
            let shown = match rows.is_empty() {
                true => "no row".into(),
                false => rows.concat().into_iter().map(or_null).collect::<Vec<_>>().join(", "),
            };
            Ok((numbers, move || format!("{statement} -> {shown}")))
        })
    }

    /// The first row, if there is one.
    pub fn row<const N: usize>(&mut self, statement: &str) -> Result<Option<[i64; N]>, Stop> {
        let Some(row) = self.numbers(statement)?.into_iter().next() else { return Ok(None) };
        let wide = |row: Vec<i64>| Stop::Trouble(format!("{statement}: {} columns", row.len()));
        row.try_into().map(Some).map_err(wide)
    }

    /// The first column of all rows.
    pub fn column(&mut self, statement: &str) -> Result<Vec<i64>, Stop> {
        Ok(self.numbers(statement)?.into_iter().filter_map(|row| row.first().copied()).collect())
    }

    /// The first column of the first row; 0 where there is none.
    pub fn number(&mut self, statement: &str) -> Result<i64, Stop> {
        Ok(self.column(statement)?.first().copied().unwrap_or(0))
    }

    /// Runs a statement: the number of affected rows.
    pub fn run(&mut self, statement: &str) -> Result<u64, Stop> {
        self.step(|buyer| {
            buyer.round_trips += 1;
            let rows = buyer.said(statement)?.changed;
            let verb = statement.split(' ').next().unwrap_or_default();
            let shown = match verb {
                "BEGIN" | "COMMIT" | "ROLLBACK" => statement.to_owned(),
                _ => format!("{statement} -> {rows} row{}", if rows == 1 { "" } else { "s" }),
            };
            Ok((rows, move || shown))
        })
    }

    pub fn begin(&mut self) -> Result<(), Stop> {
        self.run("BEGIN")?;
        self.in_transaction = true;
        Ok(())
    }

    pub fn commit(&mut self) -> Result<(), Stop> {
        self.run("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    pub fn rollback(&mut self) -> Result<(), Stop> {
        self.run("ROLLBACK")?;
        self.in_transaction = false;
        Ok(())
    }

    /// Without a turn and without a line: what the lab itself has to say.
    pub fn quietly(&mut self, statement: &str) -> Result<(), Stop> {
        self.session()?.ask(statement).map(drop)
    }

    /// An exception belongs into the timeline too.
    fn said(&mut self, statement: &str) -> Result<Answer, Stop> {
        self.gate.asks(statement);
        let out = self.session()?.ask(statement);
        if let Err(Stop::Sql(error)) = &out {
            self.gate.note(|| format!("{statement} -> error {}", error.code));
        }
        out
    }
}

fn or_null(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "NULL".into())
}
