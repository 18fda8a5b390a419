//! A primary with an open sale, its replicas some milliseconds away, and Sentinels for a failover.

use std::path::Path;
use std::thread;
use std::time::Duration;

use seckill_harness::link::Link;
use seckill_harness::program::Server;
use seckill_harness::sentinel::{Sentinel, Trio};
use seckill_harness::wait::holds_in_time;
use seckill_harness::Options;

use crate::ask::command;

pub const KEY: &str = "sale:durability";
pub const POLL_EVERY: Duration = Duration::from_millis(5);
const STOCK: u64 = 100_000_000;
/// One way. A host in the same city is about so far away.
const LINK_DELAY: Duration = Duration::from_millis(5);
const LINES: [&str; 2] =
    ["sentinel down-after-milliseconds mymaster 5000", "sentinel failover-timeout mymaster 60000"];
/// From CLIENT PAUSE to SENTINEL FAILOVER, as docs/sentinel.md says.
const PAUSED_FOR: Duration = Duration::from_millis(500);

/// The operator's way of a failover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// `SENTINEL FAILOVER`
    AtOnce,
    /// `CLIENT PAUSE 4000 WRITE` on the primary, and `SENTINEL FAILOVER` half a second later.
    PauseFirst,
    /// `SENTINEL FAILOVER mymaster COORDINATED`, which Valkey has since version 9.
    Coordinated,
}

/// The servers, with the links by which others reach each of them.
pub struct Nodes {
    servers: Vec<Server>,
    links: Vec<Link>,
    primary: usize,
    sentinels: Option<Trio>,
}

impl Nodes {
    /// Starts the servers, each with `through` before its command line, and opens the sale.
    ///
    /// # Errors
    /// A sentence; also those of all other functions.
    pub fn start(
        module: &Path,
        settings: &[&str],
        replicas: usize,
        has_sentinels: bool,
        through: &[String],
    ) -> Result<Nodes, String> {
        let all = [&["--repl-diskless-sync-delay", "0"], settings].concat();
        let through: Vec<&str> = through.iter().map(String::as_str).collect();
        let start = |_| Options::of_program(Some(module), &all).through(&through).run();
        let servers = (0..=replicas).map(start).collect::<Result<Vec<_>, _>>()?;
        let way = |server: &Server| Link::to(server.port(), LINK_DELAY);
        let links = servers.iter().map(way).collect::<Result<Vec<_>, _>>()?;
        for (number, (server, link)) in servers.iter().zip(&links).enumerate() {
            tell(server, &format!("CONFIG SET replica-announce-port {}", link.port()))?;
            if number > 0 {
                tell(server, &format!("REPLICAOF 127.0.0.1 {}", links[0].port()))?;
            }
        }
        // Also proves that the replicas are there: with min-replicas INIT is refused until then.
        let init = format!("SECKILL.INIT {KEY} {STOCK}");
        let has_sale = |server| tell(server, &format!("SECKILL.STATUS {KEY}")).is_ok();
        if !holds_in_time(|| tell(&servers[0], &init).is_ok() && servers.iter().all(has_sale)) {
            return Err("The sale was not opened, or a replica does not follow.".into());
        }
        let watched = has_sentinels.then(|| Trio::start(links[0].port(), replicas, &LINES));
        Ok(Nodes { servers, links, primary: 0, sentinels: watched.transpose()? })
    }

    /// The server that sells.
    pub fn primary(&self) -> &Server {
        &self.servers[self.primary]
    }

    /// Nothing comes from the primary to its replicas any more.
    pub fn cut_off(&self) {
        self.links[self.primary].cut();
    }

    /// The primary and all that is on its way to the replicas vanish together.
    pub fn kill_primary(&self) {
        self.cut_off();
        self.primary().kill();
    }

    /// A replica is promoted; where there is none, the primary restarts on its files.
    pub fn come_back(&mut self) -> Result<(), String> {
        if self.servers.len() == 1 {
            let restarted = self.servers.remove(0).restart()?;
            self.servers.push(restarted);
            return Ok(());
        }
        self.primary = 1;
        tell(self.primary(), "REPLICAOF NO ONE")
    }

    /// Returns once all Sentinels name the new primary.
    pub fn fail_over(&mut self, how: How) -> Result<(), String> {
        let old = self.links[0].port();
        let sentinels = self.sentinels.as_ref().ok_or("There are no Sentinels.")?;
        if how == How::PauseFirst {
            tell(self.primary(), "CLIENT PAUSE 4000 WRITE")?;
            thread::sleep(PAUSED_FOR);
        }
        sentinels.fail_over(if how == How::Coordinated { &["COORDINATED"] } else { &[] })?;
        let promoted = || {
            let named: Vec<u16> = sentinels.0.iter().filter_map(|one| one.named().ok()).collect();
            let new = *named.first()?;
            let agree = named.len() == 3 && named.iter().all(|one| *one == new) && new != old;
            self.links.iter().position(|link| agree && link.port() == new)
        };
        let mut new = None;
        holds_in_time(|| {
            new = promoted();
            new.is_some()
        });
        self.primary = new.ok_or("No replica was promoted.")?;
        Ok(())
    }
}

/// Whether this server's Sentinel takes the word: one that knows no primary of that name says so,
/// and one that does not know the word complains of the word.
pub fn has_coordinated(module: &Path) -> Result<bool, String> {
    let server = Server::start(module, &[])?;
    let sentinel = Sentinel::start(server.port(), 1, &LINES)?;
    let asked = command("SENTINEL FAILOVER nobody COORDINATED".split(' '));
    let said = asked.query::<redis::Value>(&mut sentinel.connect()?);
    Ok(said.is_err_and(|error| error.to_string().contains("No such master")))
}

/// Sends a command whose answer is just OK.
pub fn tell(server: &Server, line: &str) -> Result<(), String> {
    let said = command(line.split(' ')).query::<redis::Value>(&mut server.connect()?);
    said.map(drop).map_err(|e| format!("{line} failed: {e}"))
}
