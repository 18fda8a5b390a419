//! A Redis that sells, and the database that gets its orders.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mysql::params;
use mysql::prelude::Queryable;
use seckill_harness::mariadb::MariaDb;
use seckill_harness::postgres::Postgres;
use seckill_harness::program::Server;
use seckill_harness::server::module_path;

/// A grant, as Redis and as the database have it: seq, user, qty, state, at, deadline, req, born.
pub type Order = (u64, Vec<u8>, u64, Vec<u8>, u64, u64, Vec<u8>, u64);

/// A number of a numbered sale and the order that has it: number, seq, born, state.
pub type Unit = (u64, u64, u64, Vec<u8>);

enum Database {
    /// The server runs until this value is dropped.
    MySql {
        server: MariaDb,
        socket: PathBuf,
        conn: Mutex<mysql::Conn>,
    },
    Postgres(Postgres, Box<Mutex<postgres::Client>>),
}

pub struct Shop {
    /// None only while Redis is down.
    redis: Option<Server>,
    database: Database,
    folder: tempfile::TempDir,
}

const ORDERS: &str = "SELECT seq, user_id, qty, state, at, deadline, req, born FROM seckill_orders
    WHERE id = :id AND lost = FALSE ORDER BY seq, born";
const LOST: &str =
    "SELECT user_id FROM seckill_orders WHERE lost = TRUE AND state = :state ORDER BY user_id";
const UNITS: &str =
    "SELECT number, seq, born, state FROM seckill_units WHERE id = :id ORDER BY number";
const ENTRIES: &str =
    "SELECT COUNT(*), COUNT(DISTINCT rev), COALESCE(MAX(rev), 0) FROM seckill_kept
    WHERE id = :id";

fn mysql_url(socket: &Path, name: &str) -> String {
    format!("mysql://root@localhost/{name}?socket={}", socket.display())
}

impl Shop {
    /// A MariaDB of its own.
    #[track_caller]
    pub fn with_mariadb() -> Shop {
        Shop::with_server(MariaDb::start().expect("MariaDB"))
    }

    /// A MySQL of its own.
    #[track_caller]
    pub fn with_mysql() -> Shop {
        Shop::with_server(MariaDb::mysql_with(&["--skip-networking"]).expect("MySQL"))
    }

    #[track_caller]
    pub fn with_server(server: MariaDb) -> Shop {
        let socket = server.socket().to_owned();
        let mut conn = mysql::Conn::new(mysql_url(&socket, "").as_str()).expect("a connection");
        for line in ["CREATE DATABASE shop", "USE shop"] {
            conn.query_drop(line).expect(line);
        }
        Shop::with(Database::MySql { server, socket, conn: Mutex::new(conn) })
    }

    #[track_caller]
    pub fn with_postgres() -> Shop {
        Shop::with_postgres_server(Postgres::start().expect("PostgreSQL"))
    }

    #[track_caller]
    pub fn with_postgres_server(server: Postgres) -> Shop {
        let none = postgres::NoTls;
        let mut first = postgres::Client::connect(&server.url("postgres"), none).expect("a client");
        first.batch_execute("CREATE DATABASE shop").expect("a database");
        let client = postgres::Client::connect(&server.url("shop"), none).expect("a client");
        Shop::with(Database::Postgres(server, Box::new(Mutex::new(client))))
    }

    #[track_caller]
    fn with(database: Database) -> Shop {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("redis");
        let settings = ["--unixsocket", socket.to_str().expect("text")];
        let redis = Server::start(&module_path(), &settings).expect("Redis");
        Shop { redis: Some(redis), database, folder }
    }

    pub fn redis_socket(&self) -> PathBuf {
        self.folder.path().join("redis")
    }

    pub fn database_socket(&self) -> PathBuf {
        match &self.database {
            Database::MySql { socket, .. } => socket.clone(),
            Database::Postgres(server, _) => server.socket(),
        }
    }

    fn redis(&self) -> &Server {
        self.redis.as_ref().expect("Redis")
    }

    /// Redis is killed and comes back with its last snapshot.
    #[track_caller]
    pub fn lose_what_was_not_saved(&mut self) {
        let server = self.redis.take().expect("Redis");
        self.redis = Some(server.restart().expect("Redis again"));
    }

    pub fn redis_url(&self) -> String {
        self.redis().url()
    }

    pub fn database_url(&self) -> String {
        match &self.database {
            Database::MySql { socket, .. } => mysql_url(socket, "shop"),
            Database::Postgres(server, _) => server.url("shop"),
        }
    }

    /// The database behind a port of the loopback interface.
    pub fn database_at(&self, port: u16) -> String {
        match &self.database {
            // Otherwise a client would use the local socket.
            Database::MySql { .. } => {
                format!("mysql://root@127.0.0.1:{port}/shop?prefer_socket=false")
            }
            Database::Postgres(..) => format!("postgres://postgres@127.0.0.1:{port}/shop"),
        }
    }

    pub fn connect(&self) -> redis::Connection {
        self.redis().connect().expect("a connection")
    }

    /// Runs statements.
    #[track_caller]
    pub fn run(&self, lines: &[&str]) {
        for line in lines {
            match &self.database {
                Database::MySql { conn, .. } => {
                    conn.lock().unwrap().query_drop(line).expect(line);
                }
                Database::Postgres(_, client) => {
                    client.lock().unwrap().batch_execute(line).expect(line);
                }
            }
        }
    }

    /// The names of all tables and views in this schema, in order.
    pub fn tables(&self, schema: &str) -> Vec<String> {
        let asked = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'
            ORDER BY 1"
        );
        match &self.database {
            Database::MySql { conn, .. } => conn.lock().unwrap().query(asked).expect("the tables"),
            Database::Postgres(_, client) => {
                let rows = client.lock().unwrap().query(&asked, &[]).expect("the tables");
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// The folder of the data of MariaDB or MySQL.
    pub fn data(&self) -> PathBuf {
        match &self.database {
            Database::MySql { server, .. } => server.data(),
            Database::Postgres(..) => panic!("it keeps them to itself"),
        }
    }

    /// Whether the database is PostgreSQL, whose default schema is `public`; the other databases
    /// have `shop`.
    pub fn is_postgres(&self) -> bool {
        matches!(self.database, Database::Postgres(..))
    }

    /// All orders of a sale that are not lost.
    pub fn orders(&self, id: &str) -> Vec<Order> {
        match &self.database {
            Database::MySql { conn, .. } => {
                let mut conn = conn.lock().unwrap();
                conn.exec(ORDERS, params! { id }).expect("the orders")
            }
            Database::Postgres(_, client) => {
                let mut client = client.lock().unwrap();
                let rows = client.query(&ORDERS.replace(":id", "$1"), &[&id]).expect("the orders");
                let number = |row: &postgres::Row, at| row.get::<usize, i64>(at) as u64;
                let order = |row: &postgres::Row| {
                    let state: String = row.get(3);
                    (
                        number(row, 0),
                        row.get(1),
                        number(row, 2),
                        state.into_bytes(),
                        number(row, 4),
                        number(row, 5),
                        row.get(6),
                        number(row, 7),
                    )
                };
                rows.iter().map(order).collect()
            }
        }
    }

    /// All unit numbers of a sale that belong to an order, ascending.
    pub fn units(&self, id: &str) -> Vec<Unit> {
        match &self.database {
            Database::MySql { conn, .. } => {
                conn.lock().unwrap().exec(UNITS, params! { id }).expect("the units")
            }
            Database::Postgres(_, client) => {
                let mut client = client.lock().unwrap();
                let rows = client.query(&UNITS.replace(":id", "$1"), &[&id]).expect("the units");
                let number = |row: &postgres::Row, at| row.get::<usize, i64>(at) as u64;
                let unit = |row: &postgres::Row| {
                    let state: String = row.get(3);
                    (number(row, 0), number(row, 1), number(row, 2), state.into_bytes())
                };
                rows.iter().map(unit).collect()
            }
        }
    }

    /// The users of lost orders in this state, in order.
    pub fn lost(&self, state: &str) -> Vec<Vec<u8>> {
        match &self.database {
            Database::MySql { conn, .. } => {
                let mut conn = conn.lock().unwrap();
                conn.exec(LOST, params! { "state" => state }).expect("the orders")
            }
            Database::Postgres(_, client) => {
                let mut client = client.lock().unwrap();
                let rows = client.query(&LOST.replace(":state", "$1"), &[&state]);
                rows.expect("the orders").iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// Entries of a sale: their number, the number of different revs, and the last rev.
    pub fn entries(&self, id: &str) -> (u64, u64, u64) {
        match &self.database {
            Database::MySql { conn, .. } => {
                let mut conn = conn.lock().unwrap();
                let row = conn.exec_first(ENTRIES, params! { id }).expect("the entries");
                row.expect("a row")
            }
            Database::Postgres(_, client) => {
                let mut client = client.lock().unwrap();
                let row = client.query_one(&ENTRIES.replace(":id", "$1"), &[&id]).expect("a row");
                let number = |at| row.get::<usize, i64>(at) as u64;
                (number(0), number(1), number(2))
            }
        }
    }
}
