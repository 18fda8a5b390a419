//! Finds the primary by asking Sentinels.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use redis::{cmd, Client, Connection, ConnectionAddr, RedisConnectionInfo, RedisError};

use super::witness::{Named, Witnesses};
use super::{at, password, reach, Failure};

/// A Sentinel that does not answer within this time counts as unreachable; others are asked, too.
const PATIENCE: Duration = Duration::from_secs(1);

/// The port of a Sentinel that is named without one.
const PORT: u16 = 26379;

/// The variable with the password. No option has it: everybody on the machine can read a command
/// line.
const PASSWORD: &str = "SECKILL_SENTINEL_PASSWORD";

/// The Sentinels' addresses, and the user to log in as.
#[derive(Args, Clone)]
#[command(next_help_heading = "Connection")]
pub struct SentinelOptions {
    /// Ask these Sentinels for the primary: all of them, HOST:PORT, separated by commas. --redis
    /// then gives only database, user and TLS, for the Sentinels, too
    #[arg(long, env = "SECKILL_SENTINEL", value_name = "HOST:PORT,...", value_delimiter = ',')]
    #[arg(global = true)]
    sentinel: Vec<String>,
    /// Name of the primary at the Sentinels; several, separated by commas, if a split is on several
    /// servers
    #[arg(long, env = "SECKILL_SENTINEL_MASTER", value_name = "NAME", value_delimiter = ',')]
    #[arg(default_value = "mymaster", global = true)]
    sentinel_master: Vec<String>,
    /// Log in to the Sentinels as this user
    #[arg(long, env = "SECKILL_SENTINEL_USER", value_name = "NAME", global = true)]
    sentinel_user: Option<String>,
    /// File with the Sentinels' password; by default it is taken from SECKILL_SENTINEL_PASSWORD
    #[arg(long, value_name = "FILE", global = true)]
    sentinel_password_file: Option<PathBuf>,
}

/// The Sentinels to ask for each name of a primary. `server` is the server's URL.
///
/// # Errors
/// An error message if an address is not valid, or the password can't be read.
pub fn all(options: &SentinelOptions, server: &Client) -> Result<Vec<Sentinels>, String> {
    if options.sentinel.is_empty() {
        return Ok(Vec::new());
    }
    let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(user) = &options.sentinel_user {
        login = login.set_username(user);
    }
    if let Some(password) = password(options.sentinel_password_file.as_deref(), PASSWORD)? {
        login = login.set_password(password);
    }
    let asked: Result<Vec<Client>, String> = options
        .sentinel
        .iter()
        .map(|address| {
            let (host, port) = host_and_port(address, PORT)?;
            let there = at(server, &host, port)?.get_connection_info().clone();
            Client::open(there.set_redis_settings(login.clone())).map_err(|e| e.to_string())
        })
        .collect();
    let asked = asked.map_err(|e| format!("--sentinel: {e}"))?;
    if matches!(server.get_connection_info().addr(), ConnectionAddr::Unix(_)) {
        return Err("--sentinel: the primary has no socket, so --redis must not name one".into());
    }
    let of = |master: &String| Sentinels {
        asked: asked.clone(),
        master: master.clone(),
        server: server.clone(),
    };
    Ok(options.sentinel_master.iter().map(of).collect())
}

/// `host`, `host:port`, `[::1]:port`; `port` is that of an address without one.
pub fn host_and_port(address: &str, port: u16) -> Result<(String, u16), String> {
    let whole = || (address.trim_matches(['[', ']']).to_owned(), port);
    let is_bare = address.ends_with(']') || address.matches(':').count() > 1;
    match address.rsplit_once(':') {
        _ if address.is_empty() => Err("an address is missing".into()),
        Some((host, port)) if !is_bare || host.ends_with(']') => {
            let port = port.parse().map_err(|_| format!("{address} is no host:port"))?;
            Ok((host.trim_matches(['[', ']']).to_owned(), port))
        }
        _ => Ok(whole()),
    }
}

/// Sentinels that watch a primary.
#[derive(Clone)]
pub struct Sentinels {
    asked: Vec<Client>,
    master: String,
    /// User, database and TLS for the primary; Sentinels give the address.
    server: Client,
}

impl Sentinels {
    /// The primary's name at the Sentinels.
    pub fn master(&self) -> &str {
        &self.master
    }

    /// User, database and TLS for the primary.
    pub fn server(&self) -> &Client {
        &self.server
    }

    /// A client for the primary at this address, with the primary's user and TLS.
    ///
    /// # Errors
    /// An error message if the client can't be created.
    pub fn at(&self, host: &str, port: u16) -> Result<Client, String> {
        at(&self.server, host, port)
    }

    /// Begins to ask all Sentinels for the primary, periodically.
    pub fn witnesses(&self) -> Witnesses {
        let master = self.master.clone();
        Witnesses::ask(&self.asked, PATIENCE, move |redis| named(redis, &master))
    }

    /// Connects to the server that most answering Sentinels name, if its role is primary.
    ///
    /// # Errors
    /// If no Sentinel names a primary that answers.
    pub fn connect(&self, patience: Duration) -> Result<Connection, Failure> {
        let answers: Vec<Result<Named, Failure>> = thread::scope(|scope| {
            let ask = |client| scope.spawn(move || self.ask(client));
            let asked: Vec<_> = self.asked.iter().map(ask).collect();
            asked.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let mut votes: HashMap<(String, u16), usize> = HashMap::new();
        for named in answers.iter().flatten() {
            *votes.entry((named.host.clone(), named.port)).or_default() += 1;
        }
        let Some(((host, port), _)) = votes.into_iter().max_by_key(|(_, count)| *count) else {
            let none = Failure::passing("no Sentinel answers");
            let why = answers.into_iter().filter_map(Result::err);
            return Err(why.min_by_key(|failure| failure.heals).unwrap_or(none));
        };
        let client = self.at(&host, port).map_err(Failure::lasting)?;
        let mut redis = reach(&client, patience)?;
        let info: Result<String, RedisError> = cmd("INFO").arg("replication").query(&mut redis);
        // Without the right for INFO the first write shows whether the server is a primary.
        match info {
            Ok(info) if !info.contains("role:master") => {
                let said = format!("{host}:{port}, named by Sentinel, is no primary yet");
                Err(Failure::passing(said))
            }
            _ => Ok(redis),
        }
    }

    fn ask(&self, client: &Client) -> Result<Named, Failure> {
        let mut redis = reach(client, PATIENCE)?;
        named(&mut redis, &self.master).map_err(|e| Failure {
            said: format!("Sentinel {} says: {e}", client.get_connection_info().addr()),
            heals: super::heals(&e),
        })
    }
}

/// The primary that this Sentinel names.
fn named(redis: &mut Connection, master: &str) -> Result<Named, RedisError> {
    let mut fields: HashMap<String, String> =
        cmd("SENTINEL").arg("MASTER").arg(master).query(redis)?;
    let mut field = |name: &str| fields.remove(name).unwrap_or_default();
    let (host, port, id) = (field("ip"), field("port"), field("runid"));
    // With the flags s_down, o_down or failover_in_progress this Sentinel may soon name another
    // primary.
    let is_sure = field("flags") == "master" && !id.is_empty();
    Ok(Named { host, port: port.parse().unwrap_or_default(), id, is_sure })
}

#[cfg(test)]
mod tests {
    use super::host_and_port;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        for (address, host, port) in [
            ("a.example", "a.example", 26379),
            ("a.example:5", "a.example", 5),
            ("10.0.0.1:26380", "10.0.0.1", 26380),
            ("::1", "::1", 26379),
            ("[::1]", "::1", 26379),
            ("[::1]:7", "::1", 7),
        ] {
            assert_eq!(
                host_and_port(address, super::PORT),
                Ok((host.to_owned(), port)),
                "{address}"
            );
        }
        assert!(host_and_port("a:b", 1).is_err() && host_and_port("", 1).is_err());
    }
}
