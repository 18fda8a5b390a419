//! A connection to a database, with statements and results as text.

use mysql::prelude::Queryable;
use mysql::Conn;
use postgres::{Client, SimpleQueryMessage};

use crate::told::Stop;

/// A connection to MariaDB, MySQL or PostgreSQL.
pub enum Session {
    MySql(Box<Conn>),
    Postgres(Box<Client>),
}

/// The result of a statement: rows as text, `None` for NULL, and the number of changed rows.
#[derive(Debug, Default)]
pub struct Answer {
    pub rows: Vec<Vec<Option<String>>>,
    pub changed: u64,
}

impl Session {
    /// # Errors
    /// The database's error.
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

    /// The server's id of this connection.
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

    /// The ids of the connections that are waiting for a row lock.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub fn lock_waits(&mut self) -> Result<Vec<u32>, Stop> {
        let statement = match self {
            Session::MySql(_) => "SHOW ENGINE INNODB STATUS",
            // PostgreSQL grants a freed lock at once. pg_stat_activity shows that only after the
            // waiting process has woken up.
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

/// The waiting threads in InnoDB's status.
fn waiting_in(status: &str) -> Vec<u32> {
    // The lines before the first transaction are about old deadlocks.
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
