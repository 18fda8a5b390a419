//! A single server, a primary behind Sentinel, or a cluster. Connections are opened when needed.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use redis::{
    cmd, Client, Cmd, Connection, ConnectionAddr, ConnectionInfo, ConnectionLike,
    IntoConnectionInfo, RedisError, RedisResult, Value,
};

use crate::answer::{number, text};
use crate::link::{refusal, slot, Link};

/// Most redirections (MOVED and ASK) of one attempt.
const REDIRECTS_MAX: usize = 5;

enum Kind {
    One,
    /// The name of the primary.
    Sentinel(String),
    Cluster,
}

/// A host and its port.
type Address = (String, u16);
/// First and last slot of a range, and its node.
type Range = (u16, u16, Address);

/// The servers of sales: a single server, the primary that Sentinel knows by a name, or a cluster.
pub struct Servers {
    kind: Kind,
    /// The servers to ask first: the server, the Sentinels, or nodes of the cluster.
    seeds: Vec<ConnectionInfo>,
    /// Options for connections to servers with sales; the address is replaced.
    node: ConnectionInfo,
    /// Index of the next seed to ask.
    turn: usize,
    /// All nodes of the cluster at the last read of the slot map.
    nodes: Vec<Address>,
    /// The slot map: ranges of slots with their nodes.
    owners: Vec<Range>,
    connections: HashMap<Address, Connection>,
}

impl Servers {
    /// A single server, or an address that always leads to the primary.
    ///
    /// # Errors
    /// An error if the address is invalid.
    pub fn one(server: impl IntoConnectionInfo) -> RedisResult<Servers> {
        let server = server.into_connection_info()?;
        Ok(Servers::new(Kind::One, vec![server.clone()], server))
    }

    /// The primary that these Sentinels know by this name. `node` has the options for connecting to
    /// it; its address is ignored.
    ///
    /// # Errors
    /// An error if an address is invalid.
    pub fn sentinel<T: IntoConnectionInfo>(
        sentinels: impl IntoIterator<Item = T>,
        name: &str,
        node: impl IntoConnectionInfo,
    ) -> RedisResult<Servers> {
        let seeds = infos(sentinels)?;
        Ok(Servers::new(Kind::Sentinel(name.to_owned()), seeds, node.into_connection_info()?))
    }

    /// A cluster, by some of its nodes. The first one's user, password and protocol are used for
    /// all nodes.
    ///
    /// # Errors
    /// An error if an address is invalid, or there is none.
    pub fn cluster<T: IntoConnectionInfo>(
        nodes: impl IntoIterator<Item = T>,
    ) -> RedisResult<Servers> {
        let seeds = infos(nodes)?;
        let node = seeds.first().cloned().ok_or_else(|| failure("a cluster needs a node"))?;
        Ok(Servers::new(Kind::Cluster, seeds, node))
    }

    fn new(kind: Kind, seeds: Vec<ConnectionInfo>, node: ConnectionInfo) -> Servers {
        Servers {
            kind,
            seeds,
            node,
            turn: 0,
            nodes: Vec::new(),
            owners: Vec::new(),
            connections: HashMap::new(),
        }
    }

    /// The server to ask first for a slot.
    fn place(&mut self, slot: u16, ends: Instant) -> RedisResult<Address> {
        match &self.kind {
            Kind::One => address(&self.node),
            Kind::Sentinel(name) if self.connections.is_empty() => {
                let ask = cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name).clone();
                self.first(ends, |_, _, connection| {
                    let reply = connection.req_command(&ask)?;
                    host_and_port(reply.as_sequence().unwrap_or_default())
                        .ok_or_else(|| failure("this sentinel does not know the primary"))
                })
            }
            Kind::Sentinel(_) => {
                let known = self.connections.keys().next().cloned();
                known.ok_or_else(|| failure("no connection"))
            }
            Kind::Cluster => {
                if self.owners.is_empty() {
                    (self.owners, self.nodes) = self.first(ends, |_, asked, connection| {
                        let map = connection.req_command(cmd("CLUSTER").arg("SLOTS"))?;
                        owners(&map, &asked.0).ok_or_else(|| failure("no map of a cluster"))
                    })?;
                }
                let owner = self.owners.iter().find(|(from, to, _)| (*from..=*to).contains(&slot));
                match owner.or(self.owners.first()) {
                    // A node that does not own the slot replies with the owner.
                    Some((_, _, owner)) => Ok(owner.clone()),
                    None => Err(failure("this cluster has no slots")),
                }
            }
        }
    }

    /// Asks seeds and known nodes, one after the other, until one answers.
    fn first<T>(
        &mut self,
        ends: Instant,
        ask: impl Fn(&Servers, &Address, &mut Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let known = self.nodes.iter().map(|node| self.info(node));
        let all: Vec<ConnectionInfo> = self.seeds.iter().cloned().chain(known).collect();
        let mut why = failure("nobody to ask");
        for _ in 0..all.len() {
            self.turn = (self.turn + 1) % all.len();
            let info = all[self.turn].clone();
            // A server that does not answer must leave time for the others.
            let within = left(ends)? / 2;
            let asked = address(&info).and_then(|address| {
                let mut connection = connect(info, within)?;
                connection.set_read_timeout(Some(within))?;
                ask(self, &address, &mut connection)
            });
            match asked {
                Ok(told) => {
                    // The server that answered last is asked first next time.
                    self.turn = (self.turn + all.len() - 1) % all.len();
                    return Ok(told);
                }
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// The connection options for this node.
    fn info(&self, (host, port): &Address) -> ConnectionInfo {
        let address = match self.node.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.clone(),
                port: *port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.clone(), *port),
        };
        self.node.clone().set_addr(address)
    }

    fn ask(
        &mut self,
        at: &Address,
        commands: &[Cmd],
        asking: bool,
        ends: Instant,
    ) -> RedisResult<Vec<Value>> {
        let mut connection = match self.connections.remove(at) {
            Some(connection) => connection,
            None if matches!(self.kind, Kind::One) => connect(self.node.clone(), left(ends)?)?,
            None => connect(self.info(at), left(ends)?)?,
        };
        // After an error the connection is closed, because late replies may still come.
        let replies = exchange(&mut connection, commands, asking, ends)?;
        self.connections.insert(at.clone(), connection);
        Ok(replies)
    }
}

impl Link for Servers {
    fn send(&mut self, key: &[u8], commands: &[Cmd], within: Duration) -> RedisResult<Vec<Value>> {
        let (ends, slot) = (Instant::now() + within, slot(key));
        let mut at = self.place(slot, ends)?;
        let mut asking = false;
        for redirects in 0.. {
            let replies = self.ask(&at, commands, asking, ends)?;
            let redirect = replies.iter().find_map(|reply| redirect(reply, &at.0));
            let Some((code, to)) = redirect.filter(|_| self.is_cluster()) else {
                return Ok(replies);
            };
            if redirects == REDIRECTS_MAX {
                return Ok(replies);
            }
            (at, asking) = (to, code == "ASK");
            if !asking {
                self.owners.insert(0, (slot, slot, at.clone()));
            }
        }
        Err(failure("too many redirections"))
    }

    fn drop_connections(&mut self) {
        self.connections.clear();
        self.owners.clear();
        // A seed that is cut off from the others still names the primary of yesterday.
        self.turn += 1;
    }

    fn is_cluster(&self) -> bool {
        matches!(self.kind, Kind::Cluster)
    }
}

/// Sends the commands together and reads a reply for each.
fn exchange(
    connection: &mut Connection,
    commands: &[Cmd],
    asking: bool,
    ends: Instant,
) -> RedisResult<Vec<Value>> {
    let mut bytes = Vec::new();
    for command in commands {
        if asking {
            cmd("ASKING").write_packed_command(&mut bytes);
        }
        command.write_packed_command(&mut bytes);
    }
    connection.set_write_timeout(Some(left(ends)?))?;
    connection.send_packed_command(&bytes)?;
    let mut replies = Vec::new();
    for _ in commands {
        if asking {
            receive(connection, ends)?;
        }
        replies.push(receive(connection, ends)?);
    }
    Ok(replies)
}

fn receive(connection: &mut Connection, ends: Instant) -> RedisResult<Value> {
    loop {
        connection.set_read_timeout(Some(left(ends)?))?;
        let reply = connection.recv_response()?;
        // RESP3 may have pushes between replies.
        if !matches!(reply, Value::Push { .. }) {
            return Ok(reply);
        }
    }
}

fn connect(info: ConnectionInfo, within: Duration) -> RedisResult<Connection> {
    Client::open(info)?.get_connection_with_timeout(within)
}

/// The remaining time. A socket timeout of 0 would mean none.
fn left(ends: Instant) -> RedisResult<Duration> {
    let left = ends.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(RedisError::from(io::Error::from(io::ErrorKind::TimedOut)));
    }
    Ok(left)
}

fn failure(why: &'static str) -> RedisError {
    RedisError::from(io::Error::other(why))
}

fn infos<T: IntoConnectionInfo>(
    all: impl IntoIterator<Item = T>,
) -> RedisResult<Vec<ConnectionInfo>> {
    all.into_iter().map(IntoConnectionInfo::into_connection_info).collect()
}

fn address(info: &ConnectionInfo) -> RedisResult<Address> {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Ok((host.clone(), *port))
        }
        // A Unix socket is its own name.
        other => Ok((other.to_string(), 0)),
    }
}

/// MOVED or ASK, and its address. Without a host it is the host of the node that replied.
fn redirect(reply: &Value, host: &str) -> Option<(String, Address)> {
    let (code, text) = refusal(reply)?;
    if code != "MOVED" && code != "ASK" {
        return None;
    }
    let (to, port) = text.split(' ').nth(1)?.rsplit_once(':')?;
    let to = if to.is_empty() { host } else { to };
    Some((code, (to.to_owned(), port.parse().ok()?)))
}

fn host_and_port(words: &[Value]) -> Option<Address> {
    let (host, port) = (text(words.first()?)?, text(words.get(1)?)?);
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    Some((String::from_utf8(host.to_vec()).ok()?, port))
}

/// The owner of each slot, and all nodes, from CLUSTER SLOTS. A node without a host has that of the
/// asked node.
fn owners(map: &Value, host: &str) -> Option<(Vec<Range>, Vec<Address>)> {
    let (mut owners, mut nodes) = (Vec::new(), Vec::new());
    for range in map.as_sequence()? {
        let [from, to, members @ ..] = range.as_sequence()? else { return None };
        for (at, member) in members.iter().enumerate() {
            let [name, port, ..] = member.as_sequence()? else { return None };
            let name = text(name).filter(|name| !name.is_empty()).unwrap_or(host.as_bytes());
            let name = String::from_utf8(name.to_vec()).ok()?;
            let node = (name, number(port)?.try_into().ok()?);
            if at == 0 {
                let (from, to) = (number(from)?.try_into().ok()?, number(to)?.try_into().ok()?);
                owners.push((from, to, node.clone()));
            }
            nodes.push(node);
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    Some((owners, nodes))
}
