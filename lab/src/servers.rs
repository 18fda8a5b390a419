//! The servers of the lab: one Redis with the module, one MariaDB, both on ports and in folders of
//! their own, both ended with the lab.

use std::path::Path;
use std::sync::Arc;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts};
use redis::Connection;
use seckill_harness::mariadb::MariaDb;
use seckill_harness::program::Server;

use crate::buyer::{Buyer, House};
use crate::gate::Gate;
use crate::page::Host;
use crate::strategies::TABLES;

/// Where the connections come from.
pub struct Servers {
    redis: Server,
    database: Option<MariaDb>,
    pub house: Arc<House>,
    _folder: tempfile::TempDir,
}

impl Servers {
    /// Starts Redis, for so many connections, and MariaDB if it is needed.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn start(module: &Path, connections: usize, sql: bool) -> Result<Servers, String> {
        let clients = (connections + 32).to_string();
        let redis = Server::start(module, &["--maxclients", &clients, "--tcp-backlog", "1024"])?;
        let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
        let house =
            House { folder: folder.path().to_owned(), redis_url: redis.url(), ..House::default() };
        let database = if sql { Some(with_tables()?) } else { None };
        Ok(Servers { redis, database, house: Arc::new(house), _folder: folder })
    }

    /// # Errors
    /// A sentence with what the client library says.
    pub fn redis(&self) -> Result<Connection, String> {
        self.redis.connect()
    }

    /// Processor time that the servers have used so far, all threads, in microseconds.
    pub fn cpu_us(&self) -> u64 {
        cpu_us(self.redis.pid())
            + self.database.as_ref().map_or(0, |database| cpu_us(database.pid()))
    }

    /// What the figures are figures of.
    ///
    /// # Errors
    /// A sentence with what a server says.
    pub fn host(&self, sql: bool) -> Result<Host, String> {
        let info: String = redis::cmd("INFO")
            .arg("server")
            .query(&mut self.redis()?)
            .map_err(|e| e.to_string())?;
        let version = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let redis = match version("valkey_version:") {
            Some(valkey) => format!("Valkey {valkey}"),
            None => format!("Redis {}", version("redis_version:").unwrap_or_default()),
        };
        let mariadb = match self.sql()? {
            Some(mut conn) if sql => conn
                .query_first::<String, _>("SELECT VERSION()")
                .map_err(|e| e.to_string())?
                .unwrap_or_default(),
            _ => "none".into(),
        };
        Ok(Host::here(redis, format!("MariaDB {mariadb}")))
    }

    /// From now on every commit is on the disk, as in a shop; the interleaver had waived it.
    ///
    /// # Errors
    /// A sentence with what the database says.
    pub fn be_durable(&self) -> Result<(), String> {
        match self.sql()? {
            Some(mut conn) => conn
                .query_drop("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
                .map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }

    /// A connection to the lab's database, if there is one.
    ///
    /// # Errors
    /// A sentence with what the client library says.
    pub fn sql(&self) -> Result<Option<Conn>, String> {
        self.database.as_ref().map(|database| connect(database, "lab")).transpose()
    }

    /// A process of the shop, with connections of its own.
    ///
    /// # Errors
    /// As [`Servers::redis`].
    pub fn buyer(&self, gate: Gate, sql: bool) -> Result<Buyer, String> {
        let sql = if sql { self.sql()? } else { None };
        Ok(Buyer::new(gate, self.redis()?, sql, Arc::clone(&self.house)))
    }
}

fn with_tables() -> Result<MariaDb, String> {
    let database = MariaDb::start()?;
    let mut conn = connect(&database, "mysql")?;
    for statement in ["CREATE DATABASE lab", "USE lab"].iter().chain(&TABLES) {
        conn.query_drop(statement).map_err(|e| format!("{statement}: {e}"))?;
    }
    Ok(database)
}

fn connect(database: &MariaDb, name: &str) -> Result<Conn, String> {
    let opts = Opts::from_url(&database.url(name)).map_err(|e| e.to_string())?;
    Conn::new(opts).map_err(|e| format!("No connection to MariaDB: {e}"))
}

/// The first number of a thread's schedstat: nanoseconds on a processor. 0 where Linux is not.
fn cpu_us(pid: u32) -> u64 {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let time = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.flatten().filter_map(time).sum::<u64>() / 1000
}
