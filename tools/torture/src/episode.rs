//! One episode: some sales, a crowd, several faults, then the checks.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use seckill_crowd::sale::audit;
use seckill_harness::wait::until;
use serde_json::Value;

use crate::check::{check, check_together};
use crate::crowd::{Crowd, Open};
use crate::disk::Disk;
use crate::faults::Fault;
use crate::history::{Kind, Op};
use crate::library::Flavour;
use crate::read;
use crate::report::Tally;
use crate::sales;
use crate::setting::Setting;
use crate::shared::Shared;
use crate::tls::Tls;
use crate::world::World;
use seckill_random::Random;

/// Client threads. Each library client is a process.
const CLIENTS: usize = 16;
const DRIVERS: usize = 6;

pub struct Episode<'a> {
    pub module: &'a Path,
    pub disks: &'a [Disk],
    pub setting: Setting,
    /// Further settings of all servers, and whether they use TLS between each other.
    pub settings: &'a [String],
    pub has_tls: bool,
    /// Only this fault, if given.
    pub fault: Option<Fault>,
    /// Another library than that of the setting.
    pub flavour: Option<Flavour>,
    pub seed: u64,
    pub lasts: Duration,
    pub tally: &'a mut Tally,
}

impl Episode<'_> {
    pub fn play(&mut self) -> Result<(), String> {
        let mut random = Random(self.seed);
        let shared = Arc::new(Shared::default());
        let tls = if self.has_tls { Some(Tls::make()?) } else { None };
        let setup = self.setting.setup(self.settings, tls);
        let mut world = World::start(self.module, &setup, self.disks, Arc::clone(&shared))?;
        let sales = open(&world, &mut random)?;
        let library = self.setting.library();
        let library = library.map(|library| self.flavour.clone().unwrap_or(library));
        let clients = if library.is_some() { DRIVERS } else { CLIENTS };
        let (shares, seed) = (Arc::clone(&shared), random.number());
        let crowd = Crowd::start(shares, &sales, clients, self.setting, library, seed);
        let befell = self.faults(&mut world, &mut random);
        // Also after a failed fault, because the threads must end.
        let histories = crowd.finish(sales.len())?;
        self.tally.calls += shared.calls.load(Ordering::Relaxed);
        self.tally.by_module += shared.by_module.load(Ordering::Relaxed);
        self.tally.answers += shared.answers.load(Ordering::Relaxed);
        let compared = befell.and_then(|()| self.compare(&mut world, &sales));
        // Differences between the servers at the end.
        self.tally.verdict.violations.extend(compared.err());
        self.tally.tail_ms = self.tally.tail_ms.max(world.tail_ms);
        self.judge(&mut world, &sales, histories)
    }

    fn faults(&mut self, world: &mut World<'_>, random: &mut Random) -> Result<(), String> {
        let started = Instant::now();
        let faults: Vec<Fault> = self.setting.draws(self.fault).collect();
        self.tally.last_faults.clear();
        while started.elapsed() < self.lasts {
            thread::sleep(Duration::from_millis(50 + random.below(350)));
            let fault = faults[random.below(faults.len() as u64) as usize];
            self.tally.last_faults.push(fault.name());
            let befell =
                fault.befall(world, random).map_err(|e| format!("{}: {e}", fault.name()))?;
            *self.tally.faults.entry(fault).or_default() += u64::from(befell);
        }
        Ok(())
    }

    fn judge(
        &mut self,
        world: &mut World<'_>,
        sales: &[Open],
        histories: Vec<Vec<Op>>,
    ) -> Result<(), String> {
        let (primary, mut all) = (world.primary, Vec::new());
        for (sale, ops) in sales.iter().zip(histories) {
            let mut redis = world.connect(primary)?;
            let promise = self.setting.promise();
            let evidence = read::evidence(&mut redis, sale, promise, ops, &world.crownings)?;
            self.tally.met.note(&evidence);
            self.tally.verdict.add(&sale.key, check(&evidence));
            all.push(evidence);
        }
        self.tally.verdict.violations.extend(check_together(&all));
        let refused = world.refused()?;
        if refused > 0 {
            self.violation(format!("{refused} APPLYs were refused."));
        }
        Ok(())
    }

    /// Checks that AUDIT finds no error on any server, and that all servers have equal bytes. A
    /// single server is compared with the data in its files.
    fn compare(&mut self, world: &mut World<'_>, sales: &[Open]) -> Result<(), String> {
        for sale in sales {
            wait_for_quiet(world, sale)?;
        }
        let primary = world.primary;
        let all = |world: &World<'_>, number: usize| -> Result<Vec<Vec<String>>, String> {
            let mut redis = world.connect(number)?;
            sales.iter().map(|sale| read::digests(&mut redis, sale)).collect()
        };
        let mine = all(world, primary)?;
        let mut others = Vec::new();
        for replica in world.replicas() {
            wait_for_same_offset(world, replica)?;
            others.push(all(world, replica)?);
        }
        if others.is_empty() {
            world.kill(primary)?;
            drop(world.reign(|world| world.restart(primary).map(|()| primary))?);
            others.push(all(world, primary)?);
        }
        for other in others.iter().filter(|other| **other != mine) {
            self.violation(format!("The servers differ: digests {mine:?} and {other:?}."));
        }
        for number in std::iter::once(primary).chain(world.replicas()) {
            for sale in sales {
                let audit = audit(&mut world.connect(number)?, &sale.key)?;
                if !audit.ok {
                    self.violation(format!("AUDIT finds {} wrong: {}", sale.key, audit.text));
                }
            }
        }
        Ok(())
    }

    fn violation(&mut self, what: String) {
        self.tally.verdict.violations.push(what);
    }
}

/// Creates the sales. If losses are allowed, waits until the sales themselves are safe.
fn open(world: &World<'_>, random: &mut Random) -> Result<Vec<Open>, String> {
    let sales = sales::new(random);
    for sale in &sales {
        world.ask::<()>(world.primary, &sale.init())?;
    }
    for replica in world.replicas() {
        wait_for_same_offset(world, replica)?;
    }
    if world.replica().is_some() {
        world.ask::<()>(world.primary, "BGREWRITEAOF")?;
        until("the sales are on the disk", || {
            let rewrites = world.info(world.primary, "persistence", "aof_rewrite_in_progress")?;
            Ok(rewrites == "0")
        })?;
    }
    Ok(sales)
}

/// Waits until no round begins and nothing expires any more.
fn wait_for_quiet(world: &World<'_>, sale: &Open) -> Result<(), String> {
    let status = || seckill_crowd::sale::status(&mut world.connect(world.primary)?, &sale.key);
    let number = |status: &Value, field: &str| status.get(field).and_then(Value::as_u64);
    let mut last_round = None;
    if let Kind::Rounds { every_ms, .. } = sale.terms.kind {
        let now = number(&status()?, "now").unwrap_or_default();
        let line = format!("SECKILL.ALTER {} CLOSEAT {}", sale.key, now + 1);
        world.ask::<()>(world.primary, &line)?;
        last_round = Some(now / every_ms);
    }
    until("no hold is left and no round begins", || {
        let status = status()?;
        let is_last = last_round.is_none_or(|last| number(&status, "round") == Some(last));
        // Users who wait with a time limit may leave at any time.
        let waiting = read::waiting(&mut world.connect(world.primary)?, &sale.key)?;
        let is_settled = waiting.iter().all(|(_, until)| *until == 0);
        Ok(number(&status, "next_deadline") == Some(0) && is_last && is_settled)
    })
}

fn wait_for_same_offset(world: &World<'_>, replica: usize) -> Result<(), String> {
    until("the replica has everything", || {
        let sent = world.info(world.primary, "replication", "master_repl_offset")?;
        Ok(world.info(replica, "replication", "slave_repl_offset")? == sent)
    })
}
