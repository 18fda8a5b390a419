//! PostgreSQL.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{to_sql_checked, IsNull, ToSql, Type};
use postgres::{Client, Config, NoTls, Statement};

use rustls::ClientConfig;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::database::{lasts, Database, Dialect, Value};
use super::names::Names;
use super::tls::Tls;
use crate::connect::{is_of_certificate, Failure};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A server that acknowledges nothing for this time counts as unreachable.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// After this time without a word of the server it is asked whether it is there, and then as often.
const PROBE_AFTER: Duration = Duration::from_secs(20);

/// Prepared statements that are kept. Each takes memory of the server, more with each row.
const PREPARED_MAX: usize = 32;

/// Differences of PostgreSQL.
pub const DIALECT: Dialect = Dialect {
    schema: include_str!("postgres.sql"),
    quote: '"',
    begin: "BEGIN",
    place: |number| format!("${number}"),
    name_sale: "ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, stream = EXCLUDED.stream",
    take_in: "ON CONFLICT (id, epoch, rev) DO NOTHING",
    store_epoch: "ON CONFLICT (id, epoch) DO UPDATE SET first_rev = EXCLUDED.first_rev
        WHERE #epochs.first_rev > EXCLUDED.first_rev",
    move_order: "ON CONFLICT (id, born, seq) DO UPDATE SET
        (qty, asked, state, deadline, lost, units, epoch, rev) = (SELECT
            newer.qty, GREATEST(EXCLUDED.asked, #orders.asked), newer.state, newer.deadline,
            newer.lost, newer.units, newer.epoch, newer.rev
            FROM (VALUES
                (EXCLUDED.qty, EXCLUDED.state, EXCLUDED.deadline, FALSE, EXCLUDED.units,
                    EXCLUDED.epoch, EXCLUDED.rev),
                (#orders.qty, #orders.state, #orders.deadline, #orders.lost, #orders.units,
                    #orders.epoch, #orders.rev)
            ) AS newer (qty, state, deadline, lost, units, epoch, rev)
            ORDER BY newer.epoch DESC, newer.rev DESC, newer.lost DESC LIMIT 1)",
    move_unit: "ON CONFLICT (id, number) DO UPDATE SET (born, seq, state, epoch, rev) =
        (EXCLUDED.born, EXCLUDED.seq, EXCLUDED.state, EXCLUDED.epoch, EXCLUDED.rev)
        WHERE (EXCLUDED.epoch, EXCLUDED.rev) > (#units.epoch, #units.rev)",
};

pub struct Postgres {
    client: Client,
    names: Names,
    /// Prepared statements by their text. Statements differ in the number of rows, at most the
    /// entries of a batch. At `PREPARED_MAX` all are dropped.
    prepared: HashMap<String, Statement>,
}

/// The connection options of the URL, with `password` if it comes from elsewhere.
///
/// # Errors
/// An error message if the URL is not valid.
pub fn options(url: &str, password: Option<String>, tls: &Tls) -> Result<Config, String> {
    let mut config: Config = url.parse().map_err(|e| format!("--database: {e}"))?;
    if let Some(password) = password {
        config.password(password);
    }
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    if tls.is_on() && config.get_hosts().iter().any(is_socket) {
        return Err("--database: a socket has no TLS".into());
    }
    config.ssl_mode(if tls.is_on() { SslMode::Require } else { SslMode::Disable });
    config.connect_timeout(CONNECT_WITHIN).tcp_user_timeout(ANSWER_WITHIN);
    // The limit above is for what was sent. A host that goes silent while an answer is awaited is
    // found by probes only; the system begins with them after two hours.
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(PROBE_AFTER).keepalives_interval(PROBE_AFTER);
    }
    config.application_name("seckill orders");
    Ok(config)
}

/// A connection.
///
/// # Errors
/// An error message if no connection is possible.
pub fn connect(
    options: &Config,
    tls: Option<&ClientConfig>,
    names: &Names,
) -> Result<Postgres, Failure> {
    let client = match tls {
        Some(tls) => options.connect(MakeRustlsConnect::new(tls.clone())),
        None => options.connect(NoTls),
    };
    let mut client = client.map_err(|e| {
        let Failure { mut said, heals } = failure("no database", &e);
        if tls.is_none() && e.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) {
            said += " (without TLS; the server may ask for it: sslmode=verify-full)";
        }
        Failure { said, heals }
    })?;
    // Without this every start would print a notice for each table that exists. Not an option of
    // the connection: the URL may have some.
    client.batch_execute("SET client_min_messages = warning").map_err(failed)?;
    Ok(Postgres { client, names: names.clone(), prepared: HashMap::new() })
}

impl Postgres {
    fn prepare(&mut self, statement: &str) -> Result<Statement, Failure> {
        if let Some(prepared) = self.prepared.get(statement) {
            return Ok(prepared.clone());
        }
        let filled = self.names.fill(statement, DIALECT.quote);
        let prepared = self.client.prepare(&filled).map_err(failed)?;
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        self.prepared.insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

impl Database for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>, Failure> {
        let asked = format!(
            "SELECT attname::text FROM pg_attribute
            WHERE attrelid = to_regclass('@{table}') AND attnum > 0 AND NOT attisdropped"
        );
        let rows = self.rows(&asked, &[])?.into_iter().flatten();
        Ok(rows.map(|name| String::from_utf8_lossy(&name.into_bytes()).into_owned()).collect())
    }

    fn run(&mut self, statements: &str) -> Result<(), Failure> {
        self.client.batch_execute(&self.names.fill(statements, DIALECT.quote)).map_err(failed)
    }

    fn change(&mut self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        let prepared = self.prepare(statement)?;
        self.client.execute(&prepared, &given(values)).map_err(failed)
    }

    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Failure> {
        let prepared = self.prepare(statement)?;
        let rows = self.client.query(&prepared, &given(values)).map_err(failed)?;
        let read = |row: &postgres::Row| (0..row.len()).map(|at| taken(row, at)).collect();
        rows.iter().map(read).collect()
    }
}

fn given(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Int(number) => number.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::BYTEA, Type::TEXT].contains(kind)
    }

    to_sql_checked!();
}

fn taken(row: &postgres::Row, at: usize) -> Result<Value, Failure> {
    let kind = row.columns().get(at).map(postgres::Column::type_);
    let value = if kind == Some(&Type::INT8) {
        row.try_get::<_, Option<i64>>(at).map(|number| number.map(Value::Int))
    } else if kind == Some(&Type::BYTEA) {
        row.try_get::<_, Option<Vec<u8>>>(at).map(|bytes| bytes.map(Value::Bytes))
    } else {
        row.try_get::<_, Option<String>>(at).map(|text| text.map(Value::Text))
    };
    value.map(|value| value.unwrap_or(Value::Null)).map_err(failed)
}

fn failed(error: postgres::Error) -> Failure {
    failure("the database says", &error)
}

/// The failure with its cause, because the error's own message is unspecific.
fn failure(what: &str, error: &postgres::Error) -> Failure {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let is_refused = error.code().is_some_and(|state| lasts(state.code()));
    // "not support TLS": a server without TLS was asked for it.
    let heals = !is_refused && !is_of_certificate(&cause) && !cause.contains("not support TLS");
    if let Some(answer) = error.as_db_error() {
        let said = format!("{what}: {} ({})", answer.message(), answer.code().code());
        return Failure { said, heals };
    }
    let said = match error.source() {
        Some(cause) => format!("{what}: {error}: {cause}"),
        None => format!("{what}: {error}"),
    };
    Failure { said, heals }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{options, Tls, PROBE_AFTER};

    /// The settings of a URL stay, and a silent host is found.
    #[test]
    fn what_the_url_says_is_kept() {
        let of = |words: &str| {
            let url = format!("postgres://u@db/shop{words}");
            let (url, tls) = Tls::of(&url).expect("no TLS");
            options(&url, None, &tls).expect("options")
        };
        assert_eq!(of("").get_keepalives_idle(), PROBE_AFTER);
        let config = of("?options=-csearch_path%3Dsales&keepalives_idle=7");
        assert_eq!(config.get_options(), Some("-csearch_path=sales"));
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(7));
    }
}
