//! Connects a subcommand to its server: by an address, or to the primary that Sentinels name.

mod sentinel;
pub mod witness;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use redis::{
    cmd, Client, ClientTlsConfig, Connection, ConnectionAddr, ConnectionInfo, ConnectionLike,
    IntoConnectionInfo, RedisError, TlsCertificates,
};

pub use sentinel::Sentinels;

/// A server that does not answer within this time counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(5);

/// The port of a server that is named without one.
const PORT: u16 = 6379;

const NO_URL: &str = "--redis: this is no address. It has the form redis://host:port/database, \
    rediss://host:port/database with TLS, or unix:///path/of/the/socket";

/// The variable with the password. No option has it: everybody on the machine can read a command
/// line.
const PASSWORD: &str = "SECKILL_REDIS_PASSWORD";

/// The server and the login. These options stand before or behind the subcommand.
#[derive(Args, Clone)]
#[command(next_help_heading = "Connection")]
pub struct Server {
    /// The server, as redis://host:port/database, with TLS rediss://host:port/database, or
    /// unix:///path/of/the/socket. Several single servers (`split`, `exporter`) are separated by
    /// commas; of a cluster one node is enough
    #[arg(long, env = "SECKILL_REDIS", hide_env_values = true, value_name = "URL", global = true)]
    #[arg(default_value = "redis://127.0.0.1:6379/")]
    redis: String,
    /// Log in as this user; the URL may name one, too
    #[arg(long, env = "SECKILL_REDIS_USER", value_name = "NAME", global = true)]
    redis_user: Option<String>,
    /// File with the password; by default it is taken from SECKILL_REDIS_PASSWORD or the URL
    #[arg(long, value_name = "FILE", global = true)]
    redis_password_file: Option<PathBuf>,
    #[command(flatten)]
    sentinel: sentinel::SentinelOptions,
    #[command(flatten)]
    tls: Tls,
}

/// The server that gets the commands.
#[derive(Clone)]
pub enum Target {
    /// A server with this address.
    Address(Client),
    /// The server that Sentinels name as the primary.
    Primary(Sentinels),
}

impl Target {
    /// The address, or the name that Sentinels know the primary by.
    pub fn name(&self) -> String {
        match self {
            Target::Address(client) => client.get_connection_info().addr().to_string(),
            Target::Primary(sentinels) => sentinels.master().to_owned(),
        }
    }

    /// The user that logs in at the server.
    pub fn user(&self) -> String {
        let client = match self {
            Target::Address(client) => client,
            Target::Primary(sentinels) => sentinels.server(),
        };
        let settings = client.get_connection_info().redis_settings();
        settings.username().unwrap_or("default").to_owned()
    }

    /// A client with this server's user and TLS for another address.
    ///
    /// # Errors
    /// An error message if the client can't be created.
    pub fn at(&self, host: &str, port: u16) -> Result<Client, String> {
        match self {
            Target::Address(client) => at(client, host, port),
            Target::Primary(sentinels) => sentinels.at(host, port),
        }
    }
}

/// A client for another address, with the user and TLS of `client`.
fn at(client: &Client, host: &str, port: u16) -> Result<Client, String> {
    let (host, info) = (host.to_owned(), client.get_connection_info());
    let addr = match info.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            let (insecure, tls_params) = (*insecure, tls_params.clone());
            ConnectionAddr::TcpTls { host, port, insecure, tls_params }
        }
        _ => ConnectionAddr::Tcp(host, port),
    };
    Client::open(info.clone().set_addr(addr)).map_err(|e| e.to_string())
}

/// The reason for a missing connection.
#[derive(Clone, Debug)]
pub struct Failure {
    /// An error message.
    pub said: String,
    /// Whether a retry may succeed. A wrong password stays wrong.
    pub heals: bool,
}

impl Failure {
    /// A failure that may pass: the caller tries again.
    pub fn passing(said: impl Into<String>) -> Failure {
        Failure { said: said.into(), heals: true }
    }

    /// A failure that a retry does not end: an operator must act.
    pub fn lasting(said: impl Into<String>) -> Failure {
        Failure { said: said.into(), heals: false }
    }

    /// The failure for an error reply of Redis.
    pub fn of_redis(error: RedisError) -> Failure {
        Failure { said: format!("Redis says: {}", words(&error)), heals: heals(&error) }
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        failure.said
    }
}

/// Errors that end without an operator: a retry is enough.
const PASSING: [&str; 13] = [
    "ASK",
    "BUSY",
    "CLUSTERDOWN",
    "EXECABORT",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "NOGROUP",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "TRYAGAIN",
];

/// Whether a retry may succeed: yes if the server is unreachable or busy, no if it refuses the
/// request.
pub fn heals(error: &RedisError) -> bool {
    let text = error.to_string();
    if error.is_io_error() {
        return !is_of_certificate(&text);
    }
    let passes = |code| PASSING.contains(&code) || code == "UNBLOCKED";
    error.code().is_some_and(passes) || text.contains("max number of clients")
}

/// Whether a certificate was refused: the server's by this program ("invalid peer certificate"), or
/// this program's by the server ("received fatal alert: CertificateExpired", "UnknownCA"). A retry
/// does not help, because certificates are read at the start.
pub fn is_of_certificate(text: &str) -> bool {
    text.to_lowercase().contains("certificate") || text.contains("UnknownCA")
}

/// TLS, with the names that redis-cli has for it. A certificate is always verified, and must name
/// the host as the URL does.
#[derive(Args, Clone)]
struct Tls {
    /// Use TLS, as rediss:// does
    #[arg(long, global = true)]
    tls: bool,
    /// Trust certificates signed by this one (PEM), not those that the system trusts
    #[arg(long, value_name = "FILE", global = true)]
    cacert: Option<PathBuf>,
    /// Certificate (PEM) of this client, if the server asks for one
    #[arg(long, value_name = "FILE", global = true)]
    cert: Option<PathBuf>,
    /// The private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    key: Option<PathBuf>,
}

impl Tls {
    /// # Errors
    /// An error message if a file can't be read.
    fn certificates(&self) -> Result<TlsCertificates, String> {
        let client_tls = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                Some(ClientTlsConfig { client_cert: read(cert)?, client_key: read(key)? })
            }
            (None, None) => None,
            // clap can't check this: one option may come before the subcommand and one after it.
            _ => return Err("--cert and --key go together: one of them is missing".into()),
        };
        let root_cert = self.cacert.as_deref().map(read).transpose()?;
        Ok(TlsCertificates { client_tls, root_cert })
    }

    /// The address with TLS, if an option or the URL asks for TLS.
    ///
    /// # Errors
    /// An error message if the address can't have TLS: data meant for TLS is never sent in plain
    /// text.
    fn address(&self, addr: &ConnectionAddr) -> Result<Option<ConnectionAddr>, String> {
        match addr {
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                Err("--redis: a certificate is always verified, without #insecure".into())
            }
            ConnectionAddr::TcpTls { .. } => Ok(Some(addr.clone())),
            ConnectionAddr::Tcp(host, port) if self.tls => Ok(Some(ConnectionAddr::TcpTls {
                host: host.clone(),
                port: *port,
                insecure: false,
                tls_params: None,
            })),
            _ if self.tls => Err("--tls: a socket has none".into()),
            _ if self.cacert.is_some() || self.cert.is_some() || self.key.is_some() => {
                Err("--cacert, --cert and --key take a URL with rediss://, or --tls".into())
            }
            _ => Ok(None),
        }
    }
}

impl Server {
    /// The server that the options name, with its password.
    ///
    /// # Errors
    /// An error message if the URL is not valid, or the file can't be read.
    pub fn target(&self) -> Result<Target, String> {
        let client = self.client_of(&self.redis)?;
        Ok(match self.sentinels(&client)?.into_iter().next() {
            Some(sentinels) => Target::Primary(sentinels),
            None => Target::Address(client),
        })
    }

    /// The servers that the options name, with a comma between their addresses, or between the
    /// names of Sentinels.
    ///
    /// # Errors
    /// As `target`.
    pub fn targets(&self) -> Result<Vec<Target>, String> {
        let clients: Result<Vec<Client>, String> =
            self.redis.split(',').map(|url| self.client_of(url)).collect();
        let clients = clients?;
        let named = match clients.first() {
            Some(client) => self.sentinels(client)?,
            None => Vec::new(),
        };
        Ok(match named.is_empty() {
            true => clients.into_iter().map(Target::Address).collect(),
            false => named.into_iter().map(Target::Primary).collect(),
        })
    }

    /// Other servers, as host, host:port or a URL, with this user, password and TLS; without any,
    /// those of `targets`.
    ///
    /// # Errors
    /// As `target`.
    pub fn others(&self, hosts: &[String]) -> Result<Vec<Target>, String> {
        if hosts.is_empty() {
            return self.targets();
        }
        let other = |host: &String| match host.contains("://") {
            true => self.client_of(host).map(Target::Address),
            false => {
                let (host, port) = sentinel::host_and_port(host, PORT)?;
                at(&self.client_of(&self.redis)?, &host, port).map(Target::Address)
            }
        };
        hosts.iter().map(other).collect()
    }

    /// The Sentinels of each name; none if no Sentinel is given.
    fn sentinels(&self, server: &Client) -> Result<Vec<Sentinels>, String> {
        sentinel::all(&self.sentinel, server)
    }

    fn client_of(&self, url: &str) -> Result<Client, String> {
        // The library's message is for programmers, and the URL may contain a password.
        let info: ConnectionInfo = url.into_connection_info().map_err(|_| NO_URL)?;
        let tls = self.tls.address(info.addr())?;
        let mut settings = info.redis_settings().clone().set_skip_set_lib_name();
        if let Some(user) = &self.redis_user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password(self.redis_password_file.as_deref(), PASSWORD)? {
            settings = settings.set_password(password);
        } else if settings.username().is_some() && settings.password().is_none() {
            // Without a password no AUTH would be sent, and every call would run as user default.
            settings = settings.set_password("");
        }
        let info = info.set_redis_settings(settings);
        let client = match tls {
            None => Client::open(info),
            Some(addr) => Client::build_with_tls(info.set_addr(addr), self.tls.certificates()?),
        };
        client.map_err(|e| format!("--redis: {e}"))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// A password from its file, or from the environment.
///
/// # Errors
/// An error message if the file can't be read.
pub fn password(file: Option<&Path>, variable: &str) -> Result<Option<String>, String> {
    let Some(file) = file else { return Ok(std::env::var(variable).ok()) };
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Connects, with a time limit for each answer.
///
/// # Errors
/// If no connection is possible.
pub fn connect(target: &Target) -> Result<Connection, Failure> {
    connect_within(target, PATIENCE)
}

/// Connects within `patience`, and waits `patience` for each answer.
///
/// # Errors
/// As `connect`.
pub fn connect_within(target: &Target, patience: Duration) -> Result<Connection, Failure> {
    match target {
        Target::Address(client) => reach(client, patience),
        Target::Primary(sentinels) => sentinels.connect(patience),
    }
}

/// Connects within `patience`, and waits `patience` for each answer.
///
/// # Errors
/// As `connect`.
pub fn reach(client: &Client, patience: Duration) -> Result<Connection, Failure> {
    let opened = client.get_connection_with_timeout(patience).and_then(|connection| {
        connection.set_read_timeout(Some(patience))?;
        connection.set_write_timeout(Some(patience))?;
        Ok(connection)
    });
    // Certificates are shown with the first command, and a server that refuses one says so in its
    // answer. Whether this user may PING does not matter.
    let is_tls = matches!(client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. });
    let greeted = opened.and_then(|mut connection| match is_tls.then(|| cmd("PING")) {
        Some(ping) => connection.req_command(&ping).map(|_| connection),
        None => Ok(connection),
    });
    let at = client.get_connection_info().addr();
    greeted.map_err(|error| {
        // A port without TLS answers in plain text, or waits for the end of a line.
        let is_plain = error.is_timeout() || error.to_string().contains("corrupt message");
        let hint = if is_tls && is_plain { " (does this port speak TLS?)" } else { "" };
        let said = format!("no Redis at {at}: {}{hint}", words(&error));
        Failure { said, heals: heals(&error) }
    })
}

/// The message for an error of the client library or an error reply of Redis.
pub fn words(error: &RedisError) -> String {
    let detail = error.detail().unwrap_or_default();
    let text = error.to_string();
    match error.code() {
        Some("NOAUTH") => "it wants a password: --redis-user and --redis-password-file".into(),
        Some("WRONGPASS") => "it refuses this user and password (WRONGPASS)".into(),
        Some("NOPERM") => format!("this user may not do that (NOPERM {detail})"),
        Some("READONLY") => "it is a replica (READONLY): name the primary, or --sentinel".into(),
        // An error reply to AUTH comes wrapped, without its code.
        _ if text.contains("WRONGPASS") || text.contains("Password authentication failed") => {
            "it refuses this user and password (WRONGPASS)".into()
        }
        Some(code) => format!("{code} {detail}"),
        None if error.is_connection_refusal() => "nothing listens there".into(),
        None if error.is_timeout() => "no answer in time".into(),
        None if error.is_connection_dropped() => {
            "it closed the connection (each time? A port with TLS takes rediss://)".into()
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{heals, words};

    #[test]
    fn who_names_a_replica_is_told_so_and_may_wait_for_a_failover() {
        let reply = b"-READONLY You can't write against a read only replica.\r\n";
        let reply = redis::parse_redis_value(reply).expect("a reply");
        let error = reply.extract_error().expect_err("an error");
        assert!(words(&error).ends_with("the primary, or --sentinel") && heals(&error));
    }
}
