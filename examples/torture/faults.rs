//! What goes wrong. Each fault is done and undone here; when it returns, the servers are whole.

use std::fs::OpenOptions;
use std::thread;
use std::time::Duration;

use crate::random::Random;
use crate::world::World;

/// One kind of trouble.
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
    Stall,
    HoldBack,
}

use Fault::*;

/// What a single server with `appendfsync always` must survive.
pub const OF_ONE: &[Fault] =
    &[Kill, Kill, Kill, Freeze, Tear, Rewrite, Snapshot, Reload, DiskFull, Stall, HoldBack];

/// What a primary with a replica must survive, when WAIT tells what is acknowledged.
pub const OF_TWO: &[Fault] = &[
    KillPromote,
    KillPromote,
    KillReplica,
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
    Stall,
    HoldBack,
];

/// The same where the last moment may be lost, and what takes it.
pub const OF_TWO_WITHOUT_PROMISE: &[Fault] = &[
    Kill,
    KillPromote,
    KillPromote,
    KillReplica,
    PowerCut,
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
    Stall,
    HoldBack,
];

impl Fault {
    /// As the table names it.
    pub fn name(self) -> &'static str {
        match self {
            Kill => "kill -9, restart",
            KillPromote => "kill -9, replica promoted (REPLICAOF NO ONE)",
            KillReplica => "kill -9 of the replica, restart",
            PowerCut => "kill -9, log cut as by a power failure, restart",
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
            Stall => "DEBUG SLEEP (in place of a slow disk)",
            HoldBack => "CLIENT PAUSE WRITE (in place of a slow disk)",
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
            KillPromote => kill_promote(world),
            KillReplica => kill_replica(world),
            PowerCut => power_cut(world, random),
            Handover => hand_over(world),
            NetworkCut => network_cut(world, random),
            TwoPrimaries => two_primaries(world, random),
            Freeze => freeze(world, Some(primary), random),
            FreezeReplica => freeze(world, world.replica(), random),
            Tear => {
                world.door.tear();
                Ok(true)
            }
            // Refused while another child saves already: no fault then.
            Rewrite => Ok(world.ask::<String>(primary, "BGREWRITEAOF").is_ok()),
            Snapshot => Ok(world.ask::<String>(primary, "BGSAVE").is_ok()),
            Reload => world.ask::<()>(primary, "DEBUG RELOAD").map(|()| true),
            DiskFull => disk_full(world, random),
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
    world.reign(primary, |world| world.restart(primary))?;
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
    world.reign(new, |world| world.ask(new, "REPLICAOF NO ONE"))?;
    world.restart(old)?;
    world.follow()?;
    Ok(true)
}

fn kill_replica(world: &mut World<'_>) -> Result<bool, String> {
    let Some(replica) = world.replica() else { return Ok(false) };
    world.kill(replica)?;
    world.restart(replica)?;
    world.follow()?;
    Ok(true)
}

/// A power failure takes what was written but not yet on the disk. `kill -9` does not, so the end
/// of the log is cut off, at any byte that was written in the last moment.
///
/// Redis (7.0 to 8.10) leaves the whole commands of a transaction that was cut in the log, and runs
/// them at the next restart. So the log has to be written anew here, too, see docs/reliability.md.
fn power_cut(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    let before = world.log_file(primary);
    pause(random, 50, 400);
    world.kill(primary)?;
    let after = world.log_file(primary);
    let (Some((path, from)), Some((same, to))) = (before, after) else { return Ok(false) };
    let was_cut = path == same && from < to;
    if was_cut {
        let length = from + random.below(to - from);
        let cut = OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(length));
        cut.map_err(|e| format!("The log can't be cut: {e}"))?;
    }
    world.reign(primary, |world| world.restart(primary))?;
    world.write_log_anew(primary)?;
    world.follow()?;
    Ok(was_cut)
}

fn hand_over(world: &mut World<'_>) -> Result<bool, String> {
    let (old, Some(new)) = (world.primary, world.replica()) else { return Ok(false) };
    let line = format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 10000", world.server(new)?.port());
    world.reign(new, |world| {
        world.ask::<()>(old, &line)?;
        world.until("FAILOVER is done", || {
            Ok(world.info(new, "replication", "role")? == "master"
                && world.info(old, "replication", "role")? == "slave")
        })
    })?;
    world.follow()?;
    Ok(true)
}

fn network_cut(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(link) = &world.link else { return Ok(false) };
    link.cut();
    pause(random, 100, 1_000);
    link.mend();
    world.wait_for_replica()?;
    Ok(true)
}

/// The old primary goes on selling to who is still connected, until the network is back.
fn two_primaries(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let (Some(new), Some(link)) = (world.replica(), &world.link) else { return Ok(false) };
    link.cut();
    pause(random, 50, 500);
    let old_door = world.reign(new, |world| world.ask(new, "REPLICAOF NO ONE"))?;
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
    world.wait_for_replica()?;
    Ok(true)
}

/// With `appendfsync always` Redis ends itself when it can't write its log; with any other setting
/// it refuses to write until it can.
///
/// Redis (7.0 to 8.10, and Valkey) then cuts the broken end off at a wrong place, if the log was
/// rewritten since the server started: zeros are left in the middle, and no server starts with that
/// log again. So an operator has to do here what docs/reliability.md tells him: mend the log, or
/// write it anew.
fn disk_full(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    if !world.disks[primary].is_limited() {
        return Ok(false);
    }
    world.disks[primary].fill();
    pause(random, 100, 800);
    world.disks[primary].free();
    world.until("the server answers or has ended", || {
        Ok(world.server(primary)?.has_ended() || world.ask::<()>(primary, "PING").is_ok())
    })?;
    if world.server(primary)?.has_ended() {
        world.mend_log(primary)?;
        return kill(world);
    }
    world.write_log_anew(primary)?;
    world.wait_for_replica()?;
    Ok(true)
}
