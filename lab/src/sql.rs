//! A buyer's talk with MariaDB: statements as text, as the seeds have them, each one round trip.

use mysql::prelude::{FromRow, Queryable};
use mysql::Conn;

use crate::buyer::{Buyer, Stop};

impl From<mysql::Error> for Stop {
    fn from(error: mysql::Error) -> Stop {
        match error {
            mysql::Error::MySqlError(e) => Stop::Sql(e.code, e.message),
            other => Stop::Trouble(format!("the database says: {other}")),
        }
    }
}

impl Buyer {
    fn conn(&mut self) -> Result<&mut Conn, Stop> {
        self.sql.as_mut().ok_or_else(|| Stop::Trouble("this buyer has no database".into()))
    }

    /// The first row, if there is one.
    pub fn row<R: FromRow>(&mut self, statement: &str) -> Result<Option<R>, Stop> {
        self.step(|buyer| {
            buyer.round_trips += 1;
            let row: Option<mysql::Row> =
                buyer.said(statement, |conn| conn.query_first(statement))?;
            let shown = match &row {
                Some(row) => row_shown(row),
                None => "no row".into(),
            };
            let row = row.map(mysql::from_row_opt::<R>).transpose();
            let row = row.map_err(|e| Stop::Trouble(format!("another row than expected: {e}")))?;
            Ok((row, move || format!("{statement} -> {shown}")))
        })
    }

    /// The first column of the first row, as a number; 0 where there is none.
    pub fn number(&mut self, statement: &str) -> Result<i64, Stop> {
        Ok(self.row::<(Option<i64>,)>(statement)?.and_then(|(number,)| number).unwrap_or(0))
    }

    /// Runs a statement: the number of affected rows.
    pub fn run(&mut self, statement: &str) -> Result<u64, Stop> {
        self.step(|buyer| {
            buyer.round_trips += 1;
            buyer.said(statement, |conn| conn.query_drop(statement))?;
            let rows = buyer.conn()?.affected_rows();
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
        Ok(self.conn()?.query_drop(statement)?)
    }

    /// An exception belongs into the timeline too.
    fn said<T>(
        &mut self,
        statement: &str,
        ask: impl FnOnce(&mut Conn) -> mysql::Result<T>,
    ) -> Result<T, Stop> {
        self.gate.asks(statement);
        let out = ask(self.conn()?).map_err(Stop::from);
        if let Err(Stop::Sql(code, _)) = &out {
            self.gate.note(|| format!("{statement} -> error {code}"));
        }
        out
    }
}

fn row_shown(row: &mysql::Row) -> String {
    let shown = |value: &mysql::Value| value.as_sql(true).trim_matches('\'').to_owned();
    row.clone().unwrap().iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The connections (by the server's number) that wait for a row lock at this moment.
pub fn lock_waits(watch: &mut Conn) -> Result<Vec<u32>, Stop> {
    let status: Option<(String, String, String)> =
        watch.query_first("SHOW ENGINE INNODB STATUS")?;
    let status = status.map(|(_, _, text)| text).unwrap_or_default();
    // What stands before the first transaction tells of deadlocks that are over.
    let now = status.split("---TRANSACTION").skip(1);
    let waiting = now.filter(|part| part.contains("LOCK WAIT"));
    let number = |part: &str| {
        let (_, rest) = part.split_once("thread id ")?;
        rest.split(',').next()?.trim().parse().ok()
    };
    Ok(waiting.filter_map(number).collect())
}
