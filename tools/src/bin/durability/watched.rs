//! A primary and its replicas under three Sentinels, all of them some milliseconds apart.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::link::Link;
use seckill_harness::program::Server;
use seckill_harness::sentinel::Trio;

use crate::{command, has_sale, init, DEADLINE, LINK_DELAY, POLL_EVERY};

const LINES: [&str; 2] =
    ["sentinel down-after-milliseconds mymaster 5000", "sentinel failover-timeout mymaster 60000"];
/// From CLIENT PAUSE to SENTINEL FAILOVER, as docs/sentinel.md says.
const PAUSED_FOR: Duration = Duration::from_millis(500);

/// What the operator does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// `SENTINEL FAILOVER`
    AtOnce,
    /// `CLIENT PAUSE 4000 WRITE` on the primary, and `SENTINEL FAILOVER` half a second later.
    PauseFirst,
    /// `SENTINEL FAILOVER mymaster COORDINATED`, which Valkey has since version 9.
    Coordinated,
}

/// The servers, the first of which is the primary, with the links to each of them.
pub struct Watched {
    servers: Vec<Server>,
    links: Vec<Link>,
    sentinels: Trio,
}

impl Watched {
    /// Starts all, with an open sale.
    ///
    /// # Errors
    /// A sentence; also those of all other functions.
    pub fn start(module: &Path, settings: &[&str], replicas: usize) -> Result<Watched, String> {
        let all = [&["--repl-diskless-sync-delay", "0"], settings].concat();
        let servers: Result<Vec<Server>, String> =
            (0..=replicas).map(|_| Server::start(module, &all)).collect();
        let servers = servers?;
        let links: Result<Vec<Link>, String> =
            servers.iter().map(|server| Link::to(server.port(), LINK_DELAY)).collect();
        let links = links?;
        let primary = links[0].port();
        for (server, link) in servers.iter().zip(&links) {
            let own = link.port().to_string();
            command(server, &["CONFIG", "SET", "replica-announce-port", &own])?;
            if own != primary.to_string() {
                command(server, &["REPLICAOF", "127.0.0.1", &primary.to_string()])?;
            }
        }
        let deadline = Instant::now() + DEADLINE;
        while init(&servers[0]).is_err() || !servers.iter().all(has_sale) {
            if Instant::now() > deadline {
                return Err("The replicas do not follow their primary.".into());
            }
            thread::sleep(POLL_EVERY);
        }
        let sentinels = Trio::start(primary, replicas, &LINES)?;
        Ok(Watched { servers, links, sentinels })
    }

    /// The server that sells.
    pub fn primary(&self) -> &Server {
        &self.servers[0]
    }

    /// Returns the new primary, once all Sentinels name it.
    pub fn fail_over(&self, how: How) -> Result<&Server, String> {
        let old = self.links[0].port();
        if how == How::PauseFirst {
            command(self.primary(), &["CLIENT", "PAUSE", "4000", "WRITE"])?;
            thread::sleep(PAUSED_FOR);
        }
        match how {
            How::Coordinated => self.sentinels.fail_over(&["COORDINATED"])?,
            How::AtOnce | How::PauseFirst => self.sentinels.fail_over(&[])?,
        }
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            let named: Vec<u16> =
                self.sentinels.0.iter().filter_map(|one| one.named().ok()).collect();
            let new = self.links.iter().position(|link| Some(&link.port()) == named.first());
            if named.len() == 3 && named.iter().all(|one| *one == named[0] && *one != old) {
                return new.map(|new| &self.servers[new]).ok_or("Who is that?".into());
            }
            thread::sleep(POLL_EVERY);
        }
        Err("No replica was promoted.".into())
    }
}

/// Whether this server's Sentinel takes the word: one that knows no primary of that name says so,
/// and one that does not know the word complains of the word.
pub fn has_coordinated(module: &Path) -> Result<bool, String> {
    let server = Server::start(module, &[])?;
    let sentinel = seckill_harness::sentinel::Sentinel::start(server.port(), 1, &LINES)?;
    let mut asked = redis::cmd("SENTINEL");
    asked.arg("FAILOVER").arg("nobody").arg("COORDINATED");
    let said = asked.query::<redis::Value>(&mut sentinel.connect()?);
    Ok(said.is_err_and(|error| error.to_string().contains("No such master")))
}
