//! The faults. Each is done and undone here; when it returns, the servers are whole.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::clock::unix_ms;
use crate::promotions::{self, Return};
use crate::world::World;
use seckill_harness::watch::Breaks;
use seckill_random::Random;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Kill,
    KillPromote,
    KillReplica,
    PowerCut,
    Handover,
    NetworkCut,
    TwoPrimaries,
    Freeze,
    FreezeReplica,
    Tear,
    Rewrite,
    Snapshot,
    Reload,
    DiskFull,
    SlowDisk,
    BrokenDisk,
    Stall,
    HoldBack,
    TakeOver,
    TakeOverStale,
    CutOff,
    PausedFailover,
    FailoverAtOnce,
    Hang,
}

use Fault::*;

/// Faults of every server, whatever is promised.
const COMMON: &[Fault] =
    &[Freeze, Tear, Rewrite, Snapshot, Reload, DiskFull, SlowDisk, BrokenDisk, Stall, HoldBack];

/// Further faults of a primary with a replica.
const WITH_REPLICA: &[Fault] =
    &[KillPromote, KillPromote, KillReplica, Handover, NetworkCut, TwoPrimaries, FreezeReplica];

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
    KillReplica,
    FreezeReplica,
];

/// Faults of a single server with `appendfsync always`.
pub fn of_one() -> Vec<Fault> {
    [COMMON, &[Kill, Kill, PowerCut, PowerCut]].concat()
}

/// Faults that a primary with a replica must survive, when WAIT tells what is acknowledged.
pub fn of_two() -> Vec<Fault> {
    [COMMON, WITH_REPLICA].concat()
}

/// Faults of two servers where the last moment may be lost, and the faults that take it.
pub fn of_two_without_promise() -> Vec<Fault> {
    [COMMON, WITH_REPLICA, &[Kill, PowerCut, PowerCut]].concat()
}

/// Faults that a primary with two replicas must survive under Sentinels, when WAIT 1 tells what is
/// acknowledged.
pub fn of_three() -> Vec<Fault> {
    [COMMON, WITH_SENTINELS].concat()
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
            PowerCut => "power failure: kill -9, what was not synced is gone, restart",
            Handover => "FAILOVER",
            NetworkCut => "network cut between primary and replica, mended",
            TwoPrimaries => "network cut, replica promoted, two primaries for a while",
            Freeze => "SIGSTOP, SIGCONT of the primary",
            FreezeReplica => "SIGSTOP, SIGCONT of the replica",
            Tear => "client connections cut in mid-reply",
            Rewrite => "BGREWRITEAOF",
            Snapshot => "BGSAVE",
            Reload => "DEBUG RELOAD",
            DiskFull => "disk full",
            SlowDisk => "slow disk: syncs and writes take up to 2 s",
            BrokenDisk => "disk breaks: a sync or a write is EIO, or a write is short, once",
            Stall => "DEBUG SLEEP",
            HoldBack => "CLIENT PAUSE WRITE",
            TakeOver => "kill -9, Sentinels promote; it comes back with replicaof",
            TakeOverStale => "kill -9, Sentinels promote; it comes back as a primary",
            CutOff => "primary cut off from all but its clients, Sentinels promote",
            PausedFailover => "CLIENT PAUSE, SENTINEL FAILOVER",
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
            Kill => kill(world),
            TakeOver => promotions::kill(world, Return::AsReplica),
            TakeOverStale => promotions::kill(world, Return::AsPrimary),
            CutOff => promotions::cut_off(world),
            PausedFailover => promotions::hand_over(world, true),
            FailoverAtOnce => promotions::hand_over(world, false),
            Hang => promotions::hang(world, random),
            KillPromote => kill_promote(world),
            KillReplica => kill_replica(world, random),
            PowerCut => power_cut(world, random),
            Handover => hand_over(world),
            NetworkCut => network_cut(world, random),
            TwoPrimaries => two_primaries(world, random),
            Freeze => freeze(world, Some(primary), random),
            FreezeReplica => freeze(world, one_of(world, random), random),
            Tear => {
                world.door.tear();
                Ok(true)
            }
            // Refused while another child saves already: no fault then.
            Rewrite => Ok(world.ask::<String>(primary, "BGREWRITEAOF").is_ok()),
            Snapshot => Ok(world.ask::<String>(primary, "BGSAVE").is_ok()),
            Reload => world.ask::<()>(primary, "DEBUG RELOAD").map(|()| true),
            DiskFull => disk_full(world, random),
            SlowDisk => slow_disk(world, random),
            BrokenDisk => broken_disk(world, random),
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

fn pause(random: &mut Random, from: u64, to: u64) {
    thread::sleep(Duration::from_millis(from + random.below(to - from)));
}

fn kill(world: &mut World<'_>) -> Result<bool, String> {
    let primary = world.primary;
    world.kill(primary)?;
    world.reign(|world| world.restart(primary).map(|()| primary))?;
    world.follow()?;
    Ok(true)
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

fn kill_replica(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(replica) = one_of(world, random) else { return Ok(false) };
    world.kill(replica)?;
    world.restart(replica)?;
    world.follow()?;
    Ok(true)
}

/// A power failure takes what was written but not synced. `kill -9` does not, so it is cut off the
/// log here: all of it, or what lies behind any byte of it, because the system may have written
/// some by itself.
///
/// Redis (7.0 to 8.10) leaves the whole commands of a transaction that was cut in the log, and runs
/// them at the next restart. So the log has to be written again here, too, see docs/reliability.md.
fn power_cut(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    let Some(watch) = world.watch(primary) else { return Ok(false) };
    pause(random, 50, 400);
    let failed_at = unix_ms();
    world.kill(primary)?;
    let mut files = world.log_files(primary)?;
    let Some(newest) = files.pop() else { return Ok(false) };
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    // A server that was just about to begin a new part of its log: what it lost of the old one
    // would be lost from the middle, and it would not start.
    let in_middle = files.iter().any(|path| watch.synced(path).0 < length(path));
    let (synced, since) = watch.synced(&newest);
    let unsynced = length(&newest).saturating_sub(synced);
    if !in_middle && unsynced > 0 {
        let kept = if random.below(2) == 0 { 0 } else { random.below(unsynced) };
        let file = OpenOptions::new().write(true).open(&newest);
        let cut = file.and_then(|file| file.set_len(synced + kept));
        cut.map_err(|e| format!("The log can't be cut: {e}"))?;
        if since > 0 {
            world.tail_ms = world.tail_ms.max(failed_at.saturating_sub(since));
        }
    }
    world.reign(|world| world.restart(primary).map(|()| primary))?;
    world.write_log_anew(primary)?;
    world.follow()?;
    Ok(!in_middle)
}

/// The server waits for its disk: with `appendfsync always` at every step, else when the sync that
/// runs beside it takes too long.
fn slow_disk(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(watch) = world.watch(world.primary) else { return Ok(false) };
    let most = if random.below(2) == 0 { 100 } else { 2_000 };
    watch.slow_down(random.below(most) as u32, random.below(30) as u32);
    pause(random, 200, 2_500);
    watch.slow_down(0, 0);
    world.wait_for_replicas()?;
    Ok(true)
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

/// With `appendfsync always` Redis ends itself when it can't write its log; with any other setting
/// it refuses to write until it can.
///
/// Redis (7.0 to 8.10, and Valkey) then cuts the broken end off at a wrong place, if the log was
/// rewritten since the server started: zeros are left in the middle, and no server starts with that
/// log again. So an operator has to do here what docs/reliability.md says: mend the log, or
/// write it again.
fn disk_full(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    if !world.disks[primary].is_limited() {
        return Ok(false);
    }
    world.disks[primary].fill();
    pause(random, 100, 800);
    world.disks[primary].free();
    log_went_wrong(world)
}

/// One call to the disk fails or does a part only. What the server does about it is as for a disk
/// that was full.
fn broken_disk(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(watch) = world.watch(world.primary) else { return Ok(false) };
    let all = [Breaks::Sync, Breaks::Write, Breaks::Short];
    watch.break_once(all[random.below(3) as usize]);
    pause(random, 100, 800);
    let went_wrong = !watch.mend();
    log_went_wrong(world).map(|mended| mended && went_wrong)
}

/// The primary can write again. If it has ended its log is mended, else it is written again.
fn log_went_wrong(world: &mut World<'_>) -> Result<bool, String> {
    let primary = world.primary;
    world.until("the server answers or has ended", || {
        Ok(world.server(primary)?.has_ended() || world.ask::<()>(primary, "PING").is_ok())
    })?;
    if world.server(primary)?.has_ended() {
        world.mend_log(primary)?;
        return kill(world);
    }
    world.write_log_anew(primary)?;
    world.wait_for_replicas()?;
    Ok(true)
}
