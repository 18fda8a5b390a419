//! MariaDB and MySQL.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Params};

use super::database::{lasts, Database, Dialect, Value};
use crate::connect::Failure;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Longer than the server lets a transaction wait for a lock, which is 50 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Where it differs. In `move_order`, `epoch` and `rev` come last, because it assigns from left to
/// right.
pub const DIALECT: Dialect = Dialect {
    schema: include_str!("mysql.sql"),
    begin: "START TRANSACTION",
    place: |_| "?".to_owned(),
    name_sale: "ON DUPLICATE KEY UPDATE name = VALUES(name), stream = VALUES(stream)",
    take_in: "ON DUPLICATE KEY UPDATE rev = entries.rev",
    learn_epoch: "ON DUPLICATE KEY UPDATE first_rev = LEAST(first_rev, VALUES(first_rev))",
    move_order: "ON DUPLICATE KEY UPDATE
        state = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(state), state),
        deadline = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(deadline), deadline),
        lost = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), FALSE, lost),
        rev = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(rev), rev),
        epoch = GREATEST(epoch, VALUES(epoch))",
};

/// Limits of users and of the server; the first two are of a class that lasts.
const TOO_MANY_CONNECTIONS: [u16; 3] = [1203, 1226, 1040];

/// The server wants TLS and was spoken to without.
const NO_TLS: u16 = 3159;

pub struct MySql(Conn);

/// What the URL says, with the password if it comes from elsewhere.
///
/// # Errors
/// A sentence when the URL is none.
pub fn options(url: &str, password: Option<String>) -> Result<Opts, String> {
    let opts = Opts::from_url(url).map_err(|e| format!("--database: {e}"))?;
    let password = password.or_else(|| opts.get_pass().map(str::to_owned));
    let builder = OptsBuilder::from_opts(opts).pass(password);
    let builder = builder.tcp_connect_timeout(Some(CONNECT_WITHIN));
    Ok(builder.read_timeout(Some(ANSWER_WITHIN)).write_timeout(Some(ANSWER_WITHIN)).into())
}

/// A connection.
///
/// # Errors
/// A sentence when there is none to be had.
pub fn connect(options: &Opts) -> Result<MySql, Failure> {
    Conn::new(options.clone()).map(MySql).map_err(|e| failure("no database", &e))
}

impl Database for MySql {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn run(&mut self, statements: &str) -> Result<(), Failure> {
        let one_by_one = statements.split(';').filter(|statement| !statement.trim().is_empty());
        one_by_one.into_iter().try_for_each(|one| self.0.query_drop(one)).map_err(failed)
    }

    fn change(&mut self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        self.0.exec_drop(statement, given(values)).map_err(failed)?;
        Ok(self.0.affected_rows())
    }

    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Failure> {
        let rows: Vec<mysql::Row> = self.0.exec(statement, given(values)).map_err(failed)?;
        Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(taken).collect()).collect())
    }
}

fn given(values: &[Value]) -> Params {
    let given = |value: &Value| match value {
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.clone()),
        Value::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
        Value::Null => mysql::Value::NULL,
    };
    match values {
        [] => Params::Empty,
        values => Params::Positional(values.iter().map(given).collect()),
    }
}

fn taken(value: mysql::Value) -> Value {
    match value {
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => super::database::int(number),
        mysql::Value::Bytes(bytes) => Value::Bytes(bytes),
        // The tables have nothing else.
        _ => Value::Null,
    }
}

fn failed(error: mysql::Error) -> Failure {
    failure("the database says", &error)
}

/// By the class of what the server answers: rights, names, syntax and values stay wrong.
fn failure(what: &str, error: &mysql::Error) -> Failure {
    let heals = match error {
        mysql::Error::MySqlError(answer) => {
            let is_busy = TOO_MANY_CONNECTIONS.contains(&answer.code);
            is_busy || (answer.code != NO_TLS && !lasts(&answer.state))
        }
        mysql::Error::UrlError(_) => false,
        mysql::Error::IoError(_) | mysql::Error::DriverError(_) | mysql::Error::CodecError(_) => {
            true
        }
        mysql::Error::FromValueError(_) | mysql::Error::FromRowError(_) => false,
    };
    Failure { said: format!("{what}: {error}"), heals }
}
