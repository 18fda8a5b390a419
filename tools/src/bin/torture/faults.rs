//! The faults. Each is done and undone here; when it returns, the servers are whole.

use std::thread;
use std::time::Duration;

use crate::disks;
use crate::links;
use crate::memory;
use crate::promotions::{self, HandOver, Return};
use crate::world::World;
use seckill_random::Random;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Fault {
    Kill,
    KillPromote,
    KillReplica,
    ReplaceReplica,
    Shutdown,
    PowerCut,
    Handover,
    NetworkCut,
    NetworkOneWay,
    NetworkSlow,
    NetworkLossy,
    HangUp,
    TwoPrimaries,
    Freeze,
    FreezeReplica,
    Tear,
    Rewrite,
    KillRewrite,
    Snapshot,
    Reload,
    DiskFull,
    SlowDisk,
    BrokenDisk,
    BrokenDiskReplica,
    MemoryFull,
    Stall,
    HoldBack,
    TakeOver,
    TakeOverStale,
    CutOff,
    PausedFailover,
    Coordinated,
    FailoverAtOnce,
    Hang,
}

use Fault::*;

/// Faults of every server, whatever is promised.
const COMMON: &[Fault] = &[
    Freeze,
    Tear,
    Rewrite,
    KillRewrite,
    Snapshot,
    Reload,
    DiskFull,
    SlowDisk,
    BrokenDisk,
    MemoryFull,
    Stall,
    HoldBack,
];

/// Further faults of servers of which some are replicas.
const OF_REPLICAS: &[Fault] = &[
    KillReplica,
    ReplaceReplica,
    NetworkOneWay,
    NetworkSlow,
    NetworkLossy,
    HangUp,
    FreezeReplica,
    BrokenDiskReplica,
];

/// Further faults of a primary with one replica.
const OF_TWO: &[Fault] = &[KillPromote, KillPromote, Shutdown, Handover, NetworkCut, TwoPrimaries];

/// Further faults of three servers with Sentinels.
const WITH_SENTINELS: &[Fault] = &[
    TakeOver,
    TakeOver,
    TakeOver,
    TakeOverStale,
    CutOff,
    PausedFailover,
    PausedFailover,
    PausedFailover,
    Coordinated,
    Coordinated,
];

/// Faults of a single server with `appendfsync always`.
pub fn of_one() -> Vec<Fault> {
    [COMMON, &[Kill, Kill, Shutdown, PowerCut, PowerCut]].concat()
}

/// Faults that a primary with a replica must survive, when WAIT tells what is acknowledged.
pub fn of_two() -> Vec<Fault> {
    [COMMON, OF_REPLICAS, OF_TWO].concat()
}

/// Faults of two servers where the last moment may be lost, and the faults that take it.
pub fn of_two_without_promise() -> Vec<Fault> {
    [COMMON, OF_REPLICAS, OF_TWO, &[Kill, PowerCut, PowerCut]].concat()
}

/// Faults that a primary with two replicas must survive under Sentinels, when WAIT 1 tells what is
/// acknowledged.
pub fn of_three() -> Vec<Fault> {
    [COMMON, OF_REPLICAS, WITH_SENTINELS].concat()
}

/// Faults that it does not survive: the replica that is not promoted still answers WAIT for the old
/// primary.
pub fn of_three_against_advice() -> Vec<Fault> {
    vec![FailoverAtOnce, FailoverAtOnce, Hang]
}

impl Fault {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Kill => "kill -9, restart",
            KillPromote => "kill -9, replica promoted (REPLICAOF NO ONE)",
            KillReplica => "kill -9 of the replica, restart",
            ReplaceReplica => "kill -9 of the replica, an empty one takes its place",
            Shutdown => "SHUTDOWN, restart",
            PowerCut => "power failure: kill -9, what was not synced is gone, restart",
            Handover => "FAILOVER",
            NetworkCut => "network cut between primary and replica, mended",
            NetworkOneWay => "network cut one way between primary and replicas, mended",
            NetworkSlow => "network slow: 100 ms each way between primary and replicas",
            NetworkLossy => "network lossy: one packet of five between them comes 200 ms later",
            HangUp => "CLIENT KILL of the replicas' connections",
            TwoPrimaries => "network cut, replica promoted, two primaries for a while",
            Freeze => "SIGSTOP, SIGCONT of the primary",
            FreezeReplica => "SIGSTOP, SIGCONT of the replica",
            Tear => "client connections cut in mid-reply",
            Rewrite => "BGREWRITEAOF",
            KillRewrite => "kill -9 of the process that rewrites the log",
            Snapshot => "BGSAVE",
            Reload => "DEBUG RELOAD",
            DiskFull => "disk full",
            SlowDisk => "slow disk: syncs and writes take up to 2 s",
            BrokenDisk => "disk breaks: a sync or a write is EIO, or a write is short, once",
            BrokenDiskReplica => "a replica's disk breaks in one of these ways",
            MemoryFull => "memory full: maxmemory just above what is used, both policies",
            Stall => "DEBUG SLEEP",
            HoldBack => "CLIENT PAUSE WRITE",
            TakeOver => "kill -9, Sentinels promote; it comes back with replicaof",
            TakeOverStale => "kill -9, Sentinels promote; it comes back as a primary",
            CutOff => "primary cut off from all but its clients, Sentinels promote",
            PausedFailover => "CLIENT PAUSE, SENTINEL FAILOVER",
            Coordinated => "SENTINEL FAILOVER COORDINATED (Valkey 9)",
            FailoverAtOnce => "SENTINEL FAILOVER at once",
            Hang => "SIGSTOP until Sentinels have promoted, SIGCONT",
        }
    }

    /// Does it. False if it could not be done here, or had no effect.
    ///
    /// # Errors
    /// A sentence when the servers don't come back as they should.
    pub fn befall(self, world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
        let primary = world.primary;
        match self {
            Kill => kill(world, primary),
            TakeOver => promotions::kill(world, Return::AsReplica),
            TakeOverStale => promotions::kill(world, Return::AsPrimary),
            CutOff => promotions::cut_off(world),
            PausedFailover => promotions::hand_over(world, HandOver::Paused),
            Coordinated => promotions::hand_over(world, HandOver::Coordinated),
            FailoverAtOnce => promotions::hand_over(world, HandOver::AtOnce),
            Hang => promotions::hang(world, random),
            KillPromote => kill_promote(world),
            KillReplica => one_of(world, random).map_or(Ok(false), |replica| kill(world, replica)),
            ReplaceReplica => replace_replica(world, random),
            Shutdown => shut_down(world),
            PowerCut => disks::power_cut(world, random),
            Handover => hand_over(world),
            NetworkCut => network_cut(world, random),
            NetworkOneWay => links::one_way(world, random),
            NetworkSlow => links::slow(world, random),
            NetworkLossy => links::lossy(world, random),
            HangUp => links::hang_up(world),
            TwoPrimaries => two_primaries(world, random),
            Freeze => freeze(world, Some(primary), random),
            FreezeReplica => freeze(world, one_of(world, random), random),
            Tear => {
                world.door.tear();
                Ok(true)
            }
            // Refused while another child saves already: no fault then.
            Rewrite => Ok(world.ask::<String>(primary, "BGREWRITEAOF").is_ok()),
            KillRewrite => kill_rewrite(world, random),
            Snapshot => Ok(world.ask::<String>(primary, "BGSAVE").is_ok()),
            Reload => world.ask::<()>(primary, "DEBUG RELOAD").map(|()| true),
            DiskFull => disks::full(world, random),
            SlowDisk => disks::slow(world, random),
            BrokenDisk => disks::broken(world, Some(primary), random),
            BrokenDiskReplica => disks::broken(world, one_of(world, random), random),
            MemoryFull => memory::full(world, random),
            Stall => {
                let line = format!("DEBUG SLEEP 0.{}", 1 + random.below(8));
                world.ask::<()>(primary, &line).map(|()| true)
            }
            HoldBack => {
                let line = format!("CLIENT PAUSE {} WRITE", 50 + random.below(600));
                world.ask::<()>(primary, &line).map(|()| true)
            }
        }
    }
}

pub fn pause(random: &mut Random, from: u64, to: u64) {
    thread::sleep(Duration::from_millis(from + random.below(to - from)));
}

pub fn kill(world: &mut World<'_>, number: usize) -> Result<bool, String> {
    world.kill(number)?;
    come_back(world, number)
}

/// A server that has ended starts again on its files. A primary is one again.
fn come_back(world: &mut World<'_>, number: usize) -> Result<bool, String> {
    match number == world.primary {
        true => drop(world.reign(|world| world.restart(number).map(|()| number))?),
        false => world.restart(number)?,
    }
    world.follow().map(|()| true)
}

/// The server ends by itself: it pauses writes, waits until its replicas have all, and syncs its
/// log.
fn shut_down(world: &mut World<'_>) -> Result<bool, String> {
    let primary = world.primary;
    world.shut_down(primary)?;
    come_back(world, primary)
}

/// The primary and all that was on its way to the replica vanish together. It comes back as the
/// replica of the one that was promoted.
fn kill_promote(world: &mut World<'_>) -> Result<bool, String> {
    let (old, Some(new)) = (world.primary, world.replica()) else { return Ok(false) };
    if let Some(link) = &world.link {
        link.cut();
    }
    world.kill(old)?;
    world.reign(|world| world.ask::<()>(new, "REPLICAOF NO ONE").map(|()| new))?;
    world.restart(old)?;
    world.follow()?;
    Ok(true)
}

fn one_of(world: &World<'_>, random: &mut Random) -> Option<usize> {
    let replicas: Vec<usize> = world.replicas().collect();
    let at = random.below(replicas.len().max(1) as u64) as usize;
    replicas.get(at).copied()
}

/// The one that takes its place gets everything anew.
fn replace_replica(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(replica) = one_of(world, random) else { return Ok(false) };
    world.kill(replica)?;
    world.take_files(replica)?;
    come_back(world, replica)
}

/// Kills the child that rewrites, as a system out of memory does.
fn kill_rewrite(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    // Microseconds for each key: slow enough to be met at work.
    world.ask::<()>(primary, "CONFIG SET rdb-key-save-delay 200000")?;
    let begun = world.ask::<String>(primary, "BGREWRITEAOF").is_ok();
    pause(random, 20, 500);
    let killed = begun && world.server(primary)?.kill_children();
    world.ask::<()>(primary, "CONFIG SET rdb-key-save-delay 0")?;
    Ok(killed)
}

fn hand_over(world: &mut World<'_>) -> Result<bool, String> {
    let (old, Some(new)) = (world.primary, world.replica()) else { return Ok(false) };
    let line = format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 10000", world.server(new)?.port());
    world.reign(|world| {
        world.ask::<()>(old, &line)?;
        world.until("FAILOVER is done", || {
            Ok(world.info(new, "replication", "role")? == "master"
                && world.info(old, "replication", "role")? == "slave")
        })?;
        Ok(new)
    })?;
    world.follow()?;
    Ok(true)
}

fn network_cut(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(link) = &world.link else { return Ok(false) };
    link.cut();
    pause(random, 100, 1_000);
    link.mend();
    world.wait_for_replicas()?;
    Ok(true)
}

/// The old primary goes on selling to who is still connected, until the network is back.
fn two_primaries(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let (Some(new), Some(link)) = (world.replica(), &world.link) else { return Ok(false) };
    link.cut();
    pause(random, 50, 500);
    let old_door = world.reign(|world| world.ask::<()>(new, "REPLICAOF NO ONE").map(|()| new))?;
    pause(random, 50, 500);
    drop(old_door);
    world.follow()?;
    Ok(true)
}

fn freeze(world: &World<'_>, number: Option<usize>, random: &mut Random) -> Result<bool, String> {
    let Some(number) = number else { return Ok(false) };
    world.server(number)?.freeze()?;
    pause(random, 50, 1_500);
    world.server(number)?.thaw()?;
    world.wait_for_replicas()?;
    Ok(true)
}
