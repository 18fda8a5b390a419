//! The servers: a primary, mostly a replica with a link between them, and a port for clients. Or a
//! primary, two replicas and Sentinels. Each new or restarted primary begins a reign with its own
//! port for clients.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use redis::{Connection, FromRedisValue};

use crate::ask::{command, connect};
use crate::disk::Disk;
use crate::history::Crowning;
use crate::sentinels::Sentinels;
use crate::shared::Shared;
use crate::tls::Tls;
use seckill_harness::client::info_field;
use seckill_harness::link::Link;
use seckill_harness::other_module;
use seckill_harness::program::Server;
use seckill_harness::wait::{unix_ms, until};
use seckill_harness::watch::Watch;
use seckill_harness::Options;

/// Timeout for a server's answer; then the run fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// One-way delay between primary and replica, as across a city.
const DELAY: Duration = Duration::from_millis(2);
/// A port without a listener.
const NOWHERE: u16 = 0;

/// The set-up of the servers.
pub struct Setup {
    pub settings: Vec<String>,
    pub replicas: usize,
    pub has_sentinels: bool,
    /// Servers and Sentinels use TLS between each other.
    pub tls: Option<Tls>,
}

/// Options of every server.
const SETTINGS: &str = "--enable-debug-command yes --appendonly yes --repl-diskless-sync-delay 0 \
    --auto-aof-rewrite-min-size 16mb --maxmemory-policy noeviction";

/// Arguments of the other module: it calls as a script does, and a replica refuses its writes.
const OTHER_MODULE: [&str; 2] = ["FLAGS", "E!S"];

/// All servers of one episode.
pub struct World<'a> {
    servers: Vec<Option<Server>>,
    /// The TLS port of each server, if there is one.
    tls_ports: Vec<Option<u16>>,
    pub disks: &'a [Disk],
    pub primary: usize,
    setup: &'a Setup,
    /// The replica's link to its primary, if there are no Sentinels.
    pub link: Option<Link>,
    pub sentinels: Option<Sentinels>,
    pub door: Link,
    /// The constant address of the current primary, for libraries.
    address: Link,
    shared: Arc<Shared>,
    pub crownings: Vec<Crowning>,
    /// Number of APPLYs that any server has refused.
    refused: u64,
    /// The longest time before a power cut from which changes were lost.
    pub tail_ms: u64,
}

impl<'a> World<'a> {
    pub fn start(
        module: &Path,
        setup: &'a Setup,
        disks: &'a [Disk],
        shared: Arc<Shared>,
    ) -> Result<World<'a>, String> {
        let mut settings: Vec<String> = SETTINGS.split(' ').map(str::to_owned).collect();
        settings.extend_from_slice(&setup.settings);
        let other_module = other_module::path().display().to_string();
        settings.extend(["--loadmodule".into(), other_module]);
        settings.extend(OTHER_MODULE.map(str::to_owned));
        let (from_ms, mut servers, mut tls_ports) = (unix_ms(), Vec::new(), Vec::new());
        for disk in &disks[..=setup.replicas] {
            let (tls, port) = setup.tls.as_ref().map(Tls::settings).unzip();
            let tls = tls.into_iter().flatten();
            let tls = tls.flat_map(|(name, value)| [format!("--{name}"), value]);
            let own: Vec<String> = settings.iter().cloned().chain(tls).collect();
            let options = Options::of_program(Some(module), &own);
            servers.push(Some(options.below(&disk.place).through(&disk.watch.words()).run()?));
            tls_ports.push(port);
        }
        let port = servers[0].as_ref().map_or(0, Server::port);
        let (door, address) = (Link::to(port, Duration::ZERO)?, Link::to(port, Duration::ZERO)?);
        shared.open_door(0, door.port());
        shared.address.store(address.port(), Ordering::SeqCst);
        let crownings = vec![Crowning { began: shared.moment(), from_ms }];
        let mut world = World {
            servers,
            tls_ports,
            disks,
            primary: 0,
            setup,
            link: None,
            sentinels: None,
            door,
            address,
            shared,
            crownings,
            refused: 0,
            tail_ms: 0,
        };
        match setup.has_sentinels {
            true => world.watch_over()?,
            false => world.follow()?,
        }
        Ok(world)
    }

    pub fn server(&self, number: usize) -> Result<&Server, String> {
        self.servers[number].as_ref().ok_or_else(|| "A server is gone.".into())
    }

    pub fn replicas(&self) -> impl Iterator<Item = usize> {
        let primary = self.primary;
        (0..=self.setup.replicas).filter(move |number| *number != primary)
    }

    pub fn replica(&self) -> Option<usize> {
        self.replicas().next()
    }

    /// The port by which other servers and Sentinels reach this one, without a link.
    pub fn port(&self, number: usize) -> Result<u16, String> {
        let port = self.server(number)?.port();
        Ok(self.tls_ports[number].unwrap_or(port))
    }

    /// Sends a command to a server directly.
    pub fn ask<T: FromRedisValue>(&self, number: usize, line: &str) -> Result<T, String> {
        let mut connection = self.connect(number)?;
        let reply = command(line.split(' ')).query(&mut connection);
        reply.map_err(|e| format!("{line} failed: {e}"))
    }

    /// A connection without the clients' port and the link.
    pub fn connect(&self, number: usize) -> Result<Connection, String> {
        let port = self.server(number)?.port();
        connect(port, PATIENCE).map_err(|e| format!("A server does not answer: {e}."))
    }

    pub fn info(&self, number: usize, section: &str, field: &str) -> Result<String, String> {
        let info: String = self.ask(number, &format!("INFO {section}"))?;
        let found = info_field(&info, field).map(str::to_owned);
        found.ok_or_else(|| format!("INFO {section} has no {field}."))
    }

    /// Kills a server with SIGKILL; its files stay. The clients' port of a primary is closed.
    /// Otherwise clients would reach the restarted server without noticing the new reign.
    pub fn kill(&mut self, number: usize) -> Result<(), String> {
        if !self.server(number)?.has_ended() {
            self.count_refused(number)?;
        }
        self.server(number)?.kill();
        self.shut_doors(number);
        Ok(())
    }

    /// Closes the clients' port of a primary that has ended.
    fn shut_doors(&self, number: usize) {
        if number == self.primary {
            self.door.close();
            self.address.turn_to(NOWHERE);
        }
    }

    /// Cuts the next reply to each client in its middle.
    pub fn tear(&self) {
        self.door.tear();
        self.address.tear();
    }

    /// Shuts a server down in order. The server refuses at first while it starts a new AOF.
    pub fn shut_down(&mut self, number: usize) -> Result<(), String> {
        self.count_refused(number)?;
        until("the server has ended", || {
            let has_ended = self.server(number)?.has_ended();
            if !has_ended {
                // No reply comes except an error.
                let _ = self.ask::<()>(number, "SHUTDOWN");
            }
            Ok(has_ended)
        })?;
        self.shut_doors(number);
        Ok(())
    }

    /// Deletes all files that an ended server would load at its start.
    pub fn take_files(&self, number: usize) -> Result<(), String> {
        let folder = self.server(number)?.folder();
        // A replica keeps a received RDB file only while it loads it.
        let _ = fs::remove_file(folder.join("dump.rdb"));
        let log = fs::remove_dir_all(folder.join("appendonlydir"));
        log.map_err(|e| format!("The log stays: {e}"))
    }

    pub fn restart(&mut self, number: usize) -> Result<(), String> {
        let server = self.servers[number].take().ok_or("A server is gone.")?;
        self.servers[number] = Some(server.restart()?);
        match &self.sentinels {
            Some(sentinels) => self.announce(number, sentinels.way(number)),
            None => Ok(()),
        }
    }

    /// Makes replicas follow the primary, and Sentinels watch them, over links that can be cut.
    fn watch_over(&mut self) -> Result<(), String> {
        let way = |number| Link::to(self.port(number)?, DELAY);
        let ways: Result<Vec<Link>, String> = (0..self.servers.len()).map(way).collect();
        let ways = ways?;
        for replica in self.replicas() {
            self.announce(replica, ways[replica].port())?;
            self.ask::<()>(replica, &format!("REPLICAOF 127.0.0.1 {}", ways[0].port()))?;
        }
        self.announce(0, ways[0].port())?;
        self.sentinels = Some(Sentinels::start(ways, self.setup.tls.as_ref())?);
        self.wait_for_replicas()
    }

    /// Makes a server announce its link's port to Sentinels and replicas.
    fn announce(&self, number: usize, port: u16) -> Result<(), String> {
        self.ask(number, &format!("CONFIG SET replica-announce-port {port}"))
    }

    /// Truncates the broken end of an ended server's AOF.
    pub fn mend_log(&self, number: usize) -> Result<(), String> {
        let log = self.server(number)?.folder().join("appendonlydir/appendonly.aof.manifest");
        let mut mender = Command::new("redis-check-aof");
        let mended =
            mender.arg("--fix").arg(log).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut mended = mended.map_err(|e| format!("redis-check-aof does not start: {e}"))?;
        if let Some(mut answers) = mended.stdin.take() {
            // The program asks only if the AOF is broken; otherwise it reads no answer.
            let _ = answers.write_all(b"y\n");
        }
        mended.wait().map(drop).map_err(|e| format!("redis-check-aof failed: {e}"))
    }

    pub fn write_log_anew(&self, number: usize) -> Result<(), String> {
        let field = |name| self.info(number, "persistence", name);
        until("the log is written anew", || {
            // Refused while the disk is still full or another child saves.
            let begun = self.ask::<String>(number, "BGREWRITEAOF").is_ok();
            until("no log is being written", || {
                let waits = field("aof_rewrite_scheduled")? != "0";
                Ok(!waits && field("aof_rewrite_in_progress")? == "0")
            })?;
            Ok(begun && field("aof_last_bgrewrite_status")? == "ok")
        })
    }

    /// The library between the server and its disk, if it is loaded.
    pub fn watch(&self, number: usize) -> Option<&'a Watch> {
        Some(&self.disks[number].watch).filter(|watch| watch.works())
    }

    /// Adds the server's refused APPLYs and outbox entries, because a restart resets the counters.
    fn count_refused(&mut self, number: usize) -> Result<(), String> {
        for field in ["seckill_apply_refused", "seckill_outbox_refused"] {
            let refused: u64 = self.info(number, "seckill", field)?.parse().unwrap_or(0);
            self.refused += refused;
        }
        Ok(())
    }

    /// APPLYs and entries that any server has refused. Called once at the end.
    pub fn refused(&mut self) -> Result<u64, String> {
        for number in 0..self.servers.len() {
            self.count_refused(number)?;
        }
        Ok(self.refused)
    }

    /// Begins a reign after `crown` has made a server the primary and returned its number. Clients
    /// are sent to it. Returns the old port for clients, behind which a deposed primary may still
    /// answer.
    pub fn reign(
        &mut self,
        crown: impl FnOnce(&mut Self) -> Result<usize, String>,
    ) -> Result<Link, String> {
        let from_ms = unix_ms();
        let number = crown(self)?;
        self.primary = number;
        let port = self.server(number)?.port();
        let door = Link::to(port, Duration::ZERO)?;
        // No client that has seen the new reign gets an answer from the old primary.
        self.address.turn_to(NOWHERE);
        self.crownings.push(Crowning { began: self.shared.moment(), from_ms });
        self.shared.open_door(self.crownings.len() as u64 - 1, door.port());
        self.address.turn_to(port);
        Ok(std::mem::replace(&mut self.door, door))
    }

    /// Makes the others follow the primary, over a new link if there are no Sentinels. Returns when
    /// they do.
    pub fn follow(&mut self) -> Result<(), String> {
        let port = match &self.sentinels {
            Some(sentinels) => sentinels.way(self.primary),
            None if self.setup.replicas == 0 => return Ok(()),
            None => {
                let link = Link::to(self.port(self.primary)?, DELAY)?;
                self.link.insert(link).port()
            }
        };
        for replica in self.replicas() {
            self.ask::<()>(replica, &format!("REPLICAOF 127.0.0.1 {port}"))?;
        }
        self.wait_for_replicas()
    }

    /// Returns when all replicas follow the primary, and Sentinels, if any, know them.
    pub fn wait_for_replicas(&self) -> Result<(), String> {
        for (place, replica) in self.replicas().enumerate() {
            until("the replica follows", || {
                let is_up = self.info(replica, "replication", "master_link_status")? == "up";
                let field = format!("slave{place}");
                let slave = self.info(self.primary, "replication", &field).unwrap_or_default();
                Ok(is_up && slave.contains("state=online"))
            })?;
        }
        let Some(sentinels) = &self.sentinels else { return Ok(()) };
        until("Sentinels agree", || Ok(sentinels.are_settled(self.primary)))
    }

    /// The growing files of a server's AOF, the newest last.
    pub fn log_files(&self, number: usize) -> Result<Vec<PathBuf>, String> {
        let folder = self.server(number)?.folder().join("appendonlydir");
        let files = fs::read_dir(folder).map_err(|e| format!("No log: {e}"))?.flatten();
        let numbered = files.filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let number = name.strip_suffix(".incr.aof")?.rsplit('.').next()?.parse::<u64>();
            Some((number.ok()?, file.path()))
        });
        let by_number: BTreeMap<u64, PathBuf> = numbered.collect();
        Ok(by_number.into_values().collect())
    }
}
