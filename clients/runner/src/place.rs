//! The servers of the cases: a server with a replica, the same with a Sentinel, or a cluster of
//! three primaries with replicas. Each server is behind a proxy that can break connections.

use std::cell::Cell;
use std::path::Path;

use seckill_harness::launch::connect;
use seckill_harness::link::Link;
use seckill_harness::program::Server;
use seckill_harness::sentinel::Sentinel;
use seckill_harness::wait::holds_in_time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::proxy::Troubles;

/// The servers that clients connect to, in the order in which `main` starts them.
#[derive(Clone, Copy, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// A server with a replica, behind one address.
    #[default]
    Single,
    /// A server and its replica behind two addresses; a Sentinel knows the primary's.
    Sentinel,
    Cluster,
}

pub struct Place {
    pub servers: Vec<Server>,
    pub proxies: Vec<Link>,
    pub troubles: Troubles,
    pub on: On,
    /// Index of the replica, unless it is a cluster.
    pub(crate) replica: Cell<usize>,
    pub(crate) sentinel: Option<Sentinel>,
}

/// A server that does not answer.
pub struct Hanging<'p> {
    pub(crate) server: &'p Server,
    /// The way to it, if it was closed.
    pub(crate) link: Option<&'p Link>,
}

impl Hanging<'_> {
    pub fn wakes(&self) {
        if let Some(link) = self.link {
            link.lead_to(self.server.port());
        }
        // Fails if the server has ended, which the next command finds.
        let _ = self.server.thaw();
    }
}

impl Place {
    /// # Errors
    /// A message that says what does not start.
    pub fn single(module: &Path) -> Result<Place, String> {
        let soon = ["--repl-diskless-sync-delay", "0"];
        let server = Server::start(module, &soon)?;
        let primary = format!("127.0.0.1 {}", server.port());
        let replica = Server::start(module, &[soon, ["--replicaof", &primary]].concat())?;
        let troubles = Troubles::default();
        let proxy = troubles.link()?;
        proxy.lead_to(server.port());
        let place = Place::of(On::Single, vec![server, replica], vec![proxy], troubles);
        place.replica_is_there().map(|()| place)
    }

    pub(crate) fn of(
        on: On,
        servers: Vec<Server>,
        proxies: Vec<Link>,
        troubles: Troubles,
    ) -> Place {
        Place { servers, proxies, troubles, on, replica: Cell::new(1), sentinel: None }
    }

    pub(crate) fn replica_is_there(&self) -> Result<(), String> {
        let port = self.primary().port();
        match holds_in_time(|| run::<i64>(port, "WAIT 1 1").is_ok_and(|replicas| replicas == 1)) {
            true => Ok(()),
            false => Err("The replica does not come.".into()),
        }
    }

    /// The port for clients.
    pub fn port(&self) -> u16 {
        if let Some(sentinel) = &self.sentinel {
            return sentinel.port();
        }
        self.proxies.first().map_or(0, Link::port)
    }

    /// The primary of a server and its replica.
    pub fn primary(&self) -> &Server {
        &self.servers[1 - self.replica.get()]
    }

    /// The server with this key stops answering. In a cluster its replica takes over; if the server
    /// is `gone`, its connections end, too.
    ///
    /// # Errors
    /// A message that says what failed.
    pub fn hang(&self, key: &str, gone: bool) -> Result<Hanging<'_>, String> {
        if self.on == On::Cluster {
            return self.lose(key, gone);
        }
        let server = self.primary();
        server.freeze().map(|()| Hanging { server, link: None })
    }

    pub fn replica(&self) -> &Server {
        &self.servers[self.replica.get()]
    }

    /// The port of the server that has this key.
    ///
    /// # Errors
    /// A message if no node has the key.
    pub fn port_of(&self, key: &str) -> Result<u16, String> {
        match self.on {
            On::Cluster => Ok(self.servers[self.owner(self.slot(key)?)?].port()),
            _ => Ok(self.primary().port()),
        }
    }

    /// Runs a command of another client. Also knows the commands that `clients/cases.md` adds.
    ///
    /// # Errors
    /// A message that says what failed.
    pub fn order(&self, command: &str, key: &str) -> Result<(), String> {
        let command = command.replace("KEY", key);
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["TIMES", times, ..] => self.repeat(times, &words[2..].join(" "), key),
            ["AWAIT", field, value, key] => self.wait_for(field, value, key),
            ["FAILOVER", key] if self.on == On::Cluster => self.promote(key),
            ["FAILOVER", _] if self.on == On::Sentinel => self.ask_for_failover(),
            ["FAILOVER", _] => self.fail_over(),
            ["SLOT", "MOVE", key] => {
                self.open_slot(key)?;
                self.close_slot(key)
            }
            ["SLOT", "OPEN", key] => self.open_slot(key),
            ["SLOT", "CARRY", name, key] => self.carry(&[name.to_owned()], self.slot(key)?),
            ["SLOT", "CLOSE", key] => self.close_slot(key),
            _ => tell(self.port_of(key)?, &command),
        }
    }

    fn repeat(&self, times: &str, command: &str, key: &str) -> Result<(), String> {
        let times: usize = times.parse().map_err(|e| format!("{times}: {e}"))?;
        let mut pipe = redis::pipe();
        for at in 0..times {
            pipe.add_command(words_of(&command.replace('#', &at.to_string())));
        }
        let mut connection = connect(self.port_of(key)?)?;
        pipe.query::<redis::Value>(&mut connection)
            .map(|_| ())
            .map_err(|e| format!("{command}: {e}"))
    }

    fn wait_for(&self, field: &str, value: &str, key: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(value).map_err(|e| format!("{value}: {e}"))?;
        let is_so = || self.status(key).is_ok_and(|status| status[field] == value);
        match holds_in_time(is_so) {
            true => Ok(()),
            false => Err(format!("{field} of {key} does not become {value}")),
        }
    }

    /// # Errors
    /// A message if the key has no sale.
    pub fn status(&self, key: &str) -> Result<Value, String> {
        seckill_crowd::sale::status(&mut connect(self.port_of(key)?)?, key)
    }

    /// Promotes the replica; clients of the old primary stay connected to it.
    fn fail_over(&self) -> Result<(), String> {
        let (old, new) = (self.primary().port(), self.replica().port());
        self.replica_is_there()?;
        tell(new, "REPLICAOF NO ONE")?;
        tell(old, &format!("REPLICAOF 127.0.0.1 {new}"))?;
        self.proxies[0].lead_to(new);
        self.replica.set(1 - self.replica.get());
        self.replica_is_there()
    }
}

/// # Errors
/// The server's error.
pub fn run<T: redis::FromRedisValue>(port: u16, command: &str) -> Result<T, String> {
    words_of(command).query(&mut connect(port)?).map_err(|e| format!("{command}: {e}"))
}

/// Runs a command whose reply is an error or of no interest.
///
/// # Errors
/// The server's error.
pub fn tell(port: u16, command: &str) -> Result<(), String> {
    run::<redis::Value>(port, command).map(drop)
}

fn words_of(command: &str) -> redis::Cmd {
    let mut cmd = redis::Cmd::new();
    command.split(' ').for_each(|word| {
        cmd.arg(word);
    });
    cmd
}
