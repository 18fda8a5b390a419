//! MariaDB and MySQL.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Opts, OptsBuilder, Params};

use super::database::{lasts, Database, Dialect, Value};
use super::names::Names;
use super::tls::Tls;
use crate::connect::{is_of_certificate, Failure};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Longer than the server lets a transaction wait for a lock, which is 50 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The dialect of MySQL and MariaDB. In `move_order` and `move_unit`, `epoch` and `rev` come last,
/// because MySQL assigns from left to right.
pub const DIALECT: Dialect = Dialect {
    schema: include_str!("mysql.sql"),
    begin: "START TRANSACTION",
    place: |_| "?".to_owned(),
    name_sale: "ON DUPLICATE KEY UPDATE name = VALUES(name), stream = VALUES(stream)",
    quote: '`',
    take_in: "ON DUPLICATE KEY UPDATE rev = rev",
    store_epoch: "ON DUPLICATE KEY UPDATE first_rev = LEAST(first_rev, VALUES(first_rev))",
    move_order: "ON DUPLICATE KEY UPDATE
        asked = GREATEST(asked, VALUES(asked)),
        qty = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(qty), qty),
        state = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(state), state),
        deadline = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(deadline), deadline),
        lost = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), FALSE, lost),
        units = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(units), units),
        rev = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(rev), rev),
        epoch = GREATEST(epoch, VALUES(epoch))",
    move_unit: "ON DUPLICATE KEY UPDATE
        born = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(born), born),
        seq = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(seq), seq),
        state = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(state), state),
        rev = IF((VALUES(epoch), VALUES(rev)) > (epoch, rev), VALUES(rev), rev),
        epoch = GREATEST(epoch, VALUES(epoch))",
};

/// Errors of too many connections, of a user and of the server. A retry can help, although the
/// SQLSTATE of the first two means a permanent error.
const TOO_MANY_CONNECTIONS: [u16; 3] = [1203, 1226, 1040];

/// The server requires TLS, and the connection has none.
const NO_TLS: u16 = 3159;

/// MySQL's and MariaDB's error for a wrong password.
const ACCESS_DENIED: u16 = 1045;

pub struct MySql {
    conn: Conn,
    names: Names,
}

/// The connection options of the URL, with `password` if it comes from elsewhere.
///
/// # Errors
/// An error message if the URL is not valid.
pub fn options(url: &str, password: Option<String>, tls: &Tls) -> Result<Opts, String> {
    let opts = Opts::from_url(url).map_err(|e| format!("--database: {e}"))?;
    let password = password.or_else(|| opts.get_pass().map(str::to_owned));
    if tls.is_on() && opts.get_socket().is_some() {
        return Err("--database: a socket has no TLS".into());
    }
    let builder = OptsBuilder::from_opts(opts).pass(password).ssl_opts(tls.for_mysql()?);
    // Without this the client would use the local socket, without TLS.
    let builder = if tls.is_on() { builder.prefer_socket(false) } else { builder };
    let builder = builder.tcp_connect_timeout(Some(CONNECT_WITHIN));
    Ok(builder.read_timeout(Some(ANSWER_WITHIN)).write_timeout(Some(ANSWER_WITHIN)).into())
}

/// A connection.
///
/// # Errors
/// An error message if the database can't be reached.
pub fn connect(options: &Opts, names: &Names) -> Result<MySql, Failure> {
    let has_tls = options.get_ssl_opts().is_some();
    let conn = Conn::new(options.clone()).map_err(|e| match &e {
        mysql::Error::MySqlError(answer)
            if !has_tls && [NO_TLS, ACCESS_DENIED].contains(&answer.code) =>
        {
            let Failure { said, heals } = failure("no database", &e);
            let hint = "without TLS; the server may ask for it: ssl-mode=VERIFY_IDENTITY";
            Failure { said: format!("{said} ({hint})"), heals }
        }
        _ => failure("no database", &e),
    })?;
    Ok(MySql { conn, names: names.clone() })
}

impl MySql {
    fn filled(&self, statement: &str) -> String {
        self.names.fill(statement, DIALECT.quote)
    }
}

impl Database for MySql {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, Failure> {
        let schema = match &self.names.schema {
            Some(schema) => format!("'{schema}'"),
            None => "DATABASE()".to_owned(),
        };
        let asked = format!(
            "SELECT column_name FROM information_schema.columns
            WHERE table_schema = {schema} AND table_name = '#{table}'"
        );
        self.conn.query(self.filled(&asked)).map_err(failed)
    }

    fn run(&mut self, statements: &str) -> Result<(), Failure> {
        let statements = self.filled(statements);
        let one_by_one = statements.split(';').filter(|statement| !statement.trim().is_empty());
        one_by_one.into_iter().try_for_each(|one| self.conn.query_drop(one)).map_err(failed)
    }

    fn change(&mut self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        self.conn.exec_drop(self.filled(statement), given(values)).map_err(failed)?;
        Ok(self.conn.affected_rows())
    }

    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Failure> {
        let rows: Result<Vec<mysql::Row>, _> =
            self.conn.exec(self.filled(statement), given(values));
        let rows = rows.map_err(failed)?;
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
        // The tables have no other types.
        _ => Value::Null,
    }
}

fn failed(error: mysql::Error) -> Failure {
    failure("the database says", &error)
}

/// Classifies an error by its SQLSTATE: errors of rights, names, syntax and values don't go away by
/// a retry.
fn failure(what: &str, error: &mysql::Error) -> Failure {
    let heals = match error {
        mysql::Error::MySqlError(answer) => {
            let is_busy = TOO_MANY_CONNECTIONS.contains(&answer.code);
            is_busy || (answer.code != NO_TLS && !lasts(&answer.state))
        }
        mysql::Error::TlsError(_)
        | mysql::Error::UrlError(_)
        | mysql::Error::DriverError(DriverError::TlsNotSupported) => false,
        // A refusal by TLS arrives as an I/O error.
        other if is_of_certificate(&other.to_string()) => false,
        mysql::Error::IoError(_) | mysql::Error::DriverError(_) | mysql::Error::CodecError(_) => {
            true
        }
        mysql::Error::FromValueError(_) | mysql::Error::FromRowError(_) => false,
    };
    let said = match error {
        mysql::Error::MySqlError(answer) => {
            format!("{what}: {} ({}, {})", answer.message, answer.code, answer.state)
        }
        // The library puts the name of a type around each of these texts.
        mysql::Error::IoError(text) => format!("{what}: {text}"),
        mysql::Error::DriverError(text) => format!("{what}: {text}"),
        mysql::Error::TlsError(text) => format!("{what}: {text}"),
        other => format!("{what}: {other}"),
    };
    Failure { said, heals }
}

#[cfg(test)]
mod tests {
    use mysql::DriverError::{ConnectTimeout, TlsNotSupported};
    use mysql::MySqlError;

    use super::failure;

    #[test]
    fn errors_are_in_words() {
        let said = failure("no database", &ConnectTimeout.into()).said;
        assert_eq!(said, "no database: Could not connect: connection timeout");
    }

    #[test]
    fn a_server_without_tls_is_not_tried_again() {
        assert!(!failure("no database", &TlsNotSupported.into()).heals);
        assert!(failure("no database", &ConnectTimeout.into()).heals);
    }

    /// Two nodes of Galera wrote the same rows, a lock was not given, a primary became read-only: a
    /// new connection takes the whole batch again.
    #[test]
    fn what_another_server_or_moment_may_take_is_tried_again() {
        for (code, state) in [(1213, "40001"), (1205, "HY000"), (1047, "08S01"), (1290, "HY000")] {
            let message = "no".to_owned();
            let answer = MySqlError { state: state.into(), message, code };
            assert!(failure("the database says", &answer.into()).heals, "{code}");
        }
    }
}
