//! The database of a shop, and the names of its tables.

use ::postgres::config::Host;

use super::database::{Database, Dialect};
use super::names::Names;
use super::tls::Tls;
use super::writer;
use super::{mysql, postgres, Options};
use crate::connect::{password, Failure};

/// The variable with the password. No option has it: everybody on the machine can read a command
/// line.
const PASSWORD: &str = "SECKILL_DATABASE_PASSWORD";

/// The port of PostgreSQL if the URL names none.
const POSTGRES_PORT: u16 = 5432;

/// The client options of a database, and the names of its tables.
pub struct Shop {
    client: Client,
    names: Names,
    may_create: bool,
}

enum Client {
    MySql(Box<::mysql::Opts>),
    Postgres(Box<::postgres::Config>, Option<Box<rustls::ClientConfig>>),
}

impl Shop {
    /// # Errors
    /// An error message if the URL is not of a supported database.
    pub fn of(url: &str, options: &Options) -> Result<Shop, String> {
        let names = Names { schema: options.schema.clone(), prefix: options.table_prefix.clone() };
        let (url, tls) = Tls::of(url)?;
        let password = password(options.database_password_file.as_deref(), PASSWORD)?;
        let client = match url.split("://").next() {
            Some("mysql" | "mariadb") => {
                let url = url.replacen("mariadb://", "mysql://", 1);
                Client::MySql(Box::new(mysql::options(&url, password, &tls)?))
            }
            Some("postgres" | "postgresql") => {
                let config = postgres::options(&url, password, &tls)?;
                Client::Postgres(Box::new(config), tls.for_postgres()?.map(Box::new))
            }
            _ => return Err("--database: mysql://, mariadb:// and postgres:// are known".into()),
        };
        Ok(Shop { client, names, may_create: !options.no_create })
    }

    /// The statements that make the tables.
    pub fn schema(&self) -> String {
        let Dialect { schema, quote, .. } = self.dialect();
        self.names.fill(schema, *quote)
    }

    /// The database, its address and user, without the password, for the start-up line.
    pub fn place(&self) -> String {
        let (name, host, user) = match &self.client {
            Client::MySql(options) => (
                options.get_db_name().map(str::to_owned),
                match options.get_socket() {
                    Some(socket) => socket.to_owned(),
                    None => {
                        format!("{}:{}", options.get_ip_or_hostname(), options.get_tcp_port())
                    }
                },
                options.get_user().map(str::to_owned),
            ),
            Client::Postgres(config, _) => {
                let port = config.get_ports().first().copied().unwrap_or(POSTGRES_PORT);
                let host = match config.get_hosts().first() {
                    Some(Host::Tcp(host)) => format!("{host}:{port}"),
                    Some(Host::Unix(folder)) => folder.display().to_string(),
                    None => String::new(),
                };
                let [name, user] = [config.get_dbname(), config.get_user()];
                (name.map(str::to_owned), host, user.map(str::to_owned))
            }
        };
        let [name, user] = [name, user].map(Option::unwrap_or_default);
        format!("{name} at {host} as {user}")
    }

    fn dialect(&self) -> &'static Dialect {
        match self.client {
            Client::MySql(_) => &mysql::DIALECT,
            Client::Postgres(..) => &postgres::DIALECT,
        }
    }

    /// A connection to a database that has the tables.
    ///
    /// # Errors
    /// If no connection is possible, or the database has other tables of these names.
    pub fn connect(&self) -> Result<Box<dyn Database>, Failure> {
        let mut database: Box<dyn Database> = match &self.client {
            Client::MySql(options) => Box::new(mysql::connect(options, &self.names)?),
            Client::Postgres(config, tls) => {
                Box::new(postgres::connect(config, tls.as_deref(), &self.names)?)
            }
        };
        writer::prepare(&mut *database, &self.names, self.may_create)?;
        Ok(database)
    }
}
