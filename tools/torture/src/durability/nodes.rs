//! A primary with an open sale, replicas behind a link with delay, and Sentinels for a failover.

use std::path::Path;
use std::thread;
use std::time::Duration;

use seckill_harness::link::Link;
use seckill_harness::program::Server;
use seckill_harness::sentinel::Trio;
use seckill_harness::wait::holds_in_time;
use seckill_harness::Options;

use crate::ask::command;
use crate::promotions::{HandOver, PAUSE, PAUSED_FOR};

pub const KEY: &str = "sale:durability";
pub const POLL_EVERY: Duration = Duration::from_millis(5);
const STOCK: u64 = 100_000_000;
/// One-way delay of a host in the same city.
const LINK_DELAY: Duration = Duration::from_millis(5);
const LINES: [&str; 2] =
    ["sentinel down-after-milliseconds mymaster 5000", "sentinel failover-timeout mymaster 60000"];

/// The servers, with the link to each.
pub struct Nodes {
    servers: Vec<Server>,
    links: Vec<Link>,
    primary: usize,
    sentinels: Option<Trio>,
}

impl Nodes {
    /// Starts the servers, each with `through` before its command line, and creates the sale.
    pub fn start(
        module: &Path,
        settings: &[&str],
        replicas: usize,
        has_sentinels: bool,
        through: &[String],
    ) -> Result<Nodes, String> {
        let all = [&["--repl-diskless-sync-delay", "0"], settings].concat();
        let start = |_| Options::of_program(Some(module), &all).through(through).run();
        let servers = (0..=replicas).map(start).collect::<Result<Vec<_>, _>>()?;
        let way = |server: &Server| Link::to(server.port(), LINK_DELAY);
        let links = servers.iter().map(way).collect::<Result<Vec<_>, _>>()?;
        for (number, (server, link)) in servers.iter().zip(&links).enumerate() {
            tell(server, &format!("CONFIG SET replica-announce-port {}", link.port()))?;
            if number > 0 {
                tell(server, &format!("REPLICAOF 127.0.0.1 {}", links[0].port()))?;
            }
        }
        // INIT also shows that replicas are there: with min-replicas it is refused without them.
        let init = format!("SECKILL.INIT {KEY} {STOCK}");
        let has_sale = |server| tell(server, &format!("SECKILL.STATUS {KEY}")).is_ok();
        if !holds_in_time(|| tell(&servers[0], &init).is_ok() && servers.iter().all(has_sale)) {
            return Err("The sale was not opened, or a replica does not follow.".into());
        }
        let watched = has_sentinels.then(|| Trio::start(links[0].port(), replicas, &LINES));
        Ok(Nodes { servers, links, primary: 0, sentinels: watched.transpose()? })
    }

    pub fn primary(&self) -> &Server {
        &self.servers[self.primary]
    }

    /// Cuts the link from the primary to its replicas.
    pub fn cut_off(&self) {
        self.links[self.primary].cut();
    }

    /// Kills the primary; bytes in flight to the replicas are lost.
    pub fn kill_primary(&self) {
        self.cut_off();
        self.primary().kill();
    }

    /// Promotes a replica. Without one, restarts the primary with its files.
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
    pub fn fail_over(&mut self, how: HandOver) -> Result<(), String> {
        let old = self.links[0].port();
        let sentinels = self.sentinels.as_ref().ok_or("There are no Sentinels.")?;
        if how == HandOver::Paused {
            tell(self.primary(), PAUSE)?;
            thread::sleep(PAUSED_FOR);
        }
        sentinels.fail_over(how.words())?;
        let promoted = || {
            let named = sentinels.agreed().filter(|named| *named != old)?;
            self.links.iter().position(|link| link.port() == named)
        };
        holds_in_time(|| promoted().is_some());
        self.primary = promoted().ok_or("No replica was promoted.")?;
        Ok(())
    }
}

/// Sends a command whose reply must be OK.
pub fn tell(server: &Server, line: &str) -> Result<(), String> {
    let said = command(line.split(' ')).query::<redis::Value>(&mut server.connect()?);
    said.map(drop).map_err(|e| format!("{line} failed: {e}"))
}
