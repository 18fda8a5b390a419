//! The servers of the lab: a Redis with the module and a database, both with separate ports and
//! folders. The servers end with the lab.

use std::path::Path;
use std::sync::Arc;

use mysql::{Conn, Opts};
use postgres::{Client, NoTls};
use redis::Connection;
use seckill_harness::mariadb::MariaDb;
use seckill_harness::postgres::Postgres;
use seckill_harness::program::Server;

use crate::buyer::{Buyer, House};
use crate::gate::Gate;
use crate::host::Host;
use crate::session::Session;
use crate::strategies::{TABLES, TABLES_OF_POSTGRES};
use crate::told::Maker;

/// A running database.
enum Database {
    MySql(MariaDb),
    Postgres(Postgres),
}

/// The servers, to open connections to.
pub struct Servers {
    redis: Server,
    database: Option<Database>,
    maker: Option<Maker>,
    pub house: Arc<House>,
    _folder: tempfile::TempDir,
}

impl Servers {
    /// Starts Redis for this many connections, and a database if needed.
    ///
    /// # Errors
    /// A message that says what is missing.
    pub fn start(
        module: &Path,
        connections: usize,
        maker: Option<Maker>,
    ) -> Result<Servers, String> {
        let clients = (connections + 32).to_string();
        let redis = Server::start(module, &["--maxclients", &clients, "--tcp-backlog", "1024"])?;
        let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
        let house =
            House { folder: folder.path().to_owned(), redis_url: redis.url(), ..House::default() };
        let database = maker.map(started).transpose()?;
        Ok(Servers { redis, database, maker, house: Arc::new(house), _folder: folder })
    }

    /// # Errors
    /// The error message of the client library.
    pub fn redis(&self) -> Result<Connection, String> {
        self.redis.connect()
    }

    /// Processor time of all threads of Redis and MariaDB so far, in microseconds.
    pub fn cpu_us(&self) -> u64 {
        let database = match &self.database {
            Some(Database::MySql(database)) => cpu_us(database.pid()),
            _ => 0,
        };
        cpu_us(self.redis.pid()) + database
    }

    /// The servers of the measurement.
    ///
    /// # Errors
    /// The error of a server.
    pub fn host(&self, sql: bool) -> Result<Host, String> {
        let database = match sql {
            true => self.database_version()?,
            false => "no database".into(),
        };
        Ok(Host::here(self.redis.title()?, database))
    }

    /// Name and version, such as MySQL 9.7.4.
    ///
    /// # Errors
    /// The error message of the database.
    pub fn database_version(&self) -> Result<String, String> {
        let (Some(maker), Some(mut session)) = (self.maker, self.sql()?) else {
            return Ok("no database".into());
        };
        let statement = match maker {
            Maker::Postgres => "SHOW server_version",
            _ => "SELECT VERSION()",
        };
        let rows = session.ask(statement).map_err(|stop| format!("{stop:?}"))?.rows;
        let version = rows.concat().into_iter().flatten().next().unwrap_or_default();
        // Debian's build number follows a space or a dash.
        let version = version.split([' ', '-']).next().unwrap_or_default().to_owned();
        Ok(format!("{} {version}", maker.name()))
    }

    /// Whether every COMMIT is synced to disk, as in a shop. The interleaver does not need that.
    /// PostgreSQL, which only the interleaver uses, starts without it.
    ///
    /// # Errors
    /// The error message of the database.
    pub fn be_durable(&self, durable: bool) -> Result<(), String> {
        if !matches!(self.database, Some(Database::MySql(_))) {
            return Ok(());
        }
        let Some(mut session) = self.sql()? else { return Ok(()) };
        let value = u8::from(durable);
        let set = session.ask(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value}"));
        set.map(drop).map_err(|stop| format!("{stop:?}"))
    }

    /// A connection to the lab's database, if there is one.
    ///
    /// # Errors
    /// The error message of the client library.
    pub fn sql(&self) -> Result<Option<Session>, String> {
        self.database.as_ref().map(|database| connect(database, "lab")).transpose()
    }

    /// A process of the shop with its own connections.
    ///
    /// # Errors
    /// As [`Servers::redis`].
    pub fn buyer(&self, gate: Gate, sql: bool) -> Result<Buyer, String> {
        let sql = if sql { self.sql()? } else { None };
        Ok(Buyer::new(gate, self.redis()?, sql, Arc::clone(&self.house)))
    }
}

/// Starts a new database with the lab's tables.
fn started(maker: Maker) -> Result<Database, String> {
    let (database, empty, tables) = match maker {
        Maker::MariaDb => (Database::MySql(MariaDb::start()?), "mysql", &TABLES[..]),
        Maker::MySql => {
            // Without a binary log, as MariaDB by default.
            let server = MariaDb::mysql_with(&["--skip-networking", "--skip-log-bin"])?;
            (Database::MySql(server), "mysql", &TABLES[..])
        }
        Maker::Postgres => {
            let settings = ["listen_addresses=", "fsync=off", "max_connections=200"];
            let server = Postgres::start_with(5432, &settings, |_| Ok(()))?;
            (Database::Postgres(server), "postgres", &TABLES_OF_POSTGRES[..])
        }
    };
    let make = |name: &str, statements: &[&str]| {
        let mut session = connect(&database, name)?;
        statements.iter().try_for_each(|statement| {
            session.ask(statement).map(drop).map_err(|stop| format!("{statement}: {stop:?}"))
        })
    };
    make(empty, &["CREATE DATABASE lab"])?;
    make("lab", tables)?;
    Ok(database)
}

fn connect(database: &Database, name: &str) -> Result<Session, String> {
    match database {
        Database::MySql(server) => {
            let opts = Opts::from_url(&server.url(name)).map_err(|e| e.to_string())?;
            let conn =
                Conn::new(opts).map_err(|e| format!("No connection to the database: {e}"))?;
            Ok(Session::MySql(Box::new(conn)))
        }
        Database::Postgres(server) => {
            let client = Client::connect(&server.url(name), NoTls);
            let client = client.map_err(|e| format!("No connection to PostgreSQL: {e}"))?;
            Ok(Session::Postgres(Box::new(client)))
        }
    }
}

/// Processor time of a process in microseconds, from schedstat, which has nanoseconds. 0 on systems
/// other than Linux.
fn cpu_us(pid: u32) -> u64 {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let time = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.flatten().filter_map(time).sum::<u64>() / 1000
}
