//! Faults of whole servers and of the links between them. Each fault is repaired here.

use std::thread;
use std::time::Duration;

use seckill_harness::link::{Link, Towards};
use seckill_harness::wait::until;
use seckill_random::Random;

use crate::world::World;

/// One-way delay to the other side of the world: a round trip takes 200 ms.
const FAR: Duration = Duration::from_millis(100);
/// One of this many packets is lost. TCP resends it, and later packets wait.
const LOST_ONE_OF: u64 = 5;

/// Sleeps for a random number of these milliseconds.
pub fn pause(random: &mut Random, from: u64, to: u64) {
    thread::sleep(Duration::from_millis(from + random.below(to - from)));
}

pub fn kill(world: &mut World<'_>, number: usize) -> Result<bool, String> {
    world.kill(number)?;
    come_back(world, number)
}

/// Restarts a server with its files. A primary is a primary again.
fn come_back(world: &mut World<'_>, number: usize) -> Result<bool, String> {
    match number == world.primary {
        true => drop(world.reign(|world| world.restart(number).map(|()| number))?),
        false => world.restart(number)?,
    }
    world.follow().map(|()| true)
}

/// Shuts the primary down in order: it pauses writes, waits for its replicas, and syncs its AOF.
pub fn shut_down(world: &mut World<'_>) -> Result<bool, String> {
    let primary = world.primary;
    world.shut_down(primary)?;
    come_back(world, primary)
}

/// Kills the primary with all bytes in flight to the replica. The killed server comes back as the
/// replica of the new primary.
pub fn kill_promote(world: &mut World<'_>) -> Result<bool, String> {
    let (old, Some(new)) = (world.primary, world.replica()) else { return Ok(false) };
    if let Some(link) = &world.link {
        link.cut();
    }
    world.kill(old)?;
    world.reign(|world| world.ask::<()>(new, "REPLICAOF NO ONE").map(|()| new))?;
    world.restart(old)?;
    world.follow().map(|()| true)
}

pub fn one_of(world: &World<'_>, random: &mut Random) -> Option<usize> {
    let replicas: Vec<usize> = world.replicas().collect();
    let at = random.below(replicas.len().max(1) as u64) as usize;
    replicas.get(at).copied()
}

/// Replaces a replica by a new one, which does a full resync.
pub fn replace_replica(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(replica) = one_of(world, random) else { return Ok(false) };
    world.kill(replica)?;
    world.take_files(replica)?;
    come_back(world, replica)
}

/// Kills the child that rewrites the AOF, as the kernel does without memory.
pub fn kill_rewrite(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    // Microseconds for each key, so that the rewrite is slow enough to be killed.
    world.ask::<()>(primary, "CONFIG SET rdb-key-save-delay 200000")?;
    let begun = world.ask::<String>(primary, "BGREWRITEAOF").is_ok();
    pause(random, 20, 500);
    let killed = begun && world.server(primary)?.kill_children();
    world.ask::<()>(primary, "CONFIG SET rdb-key-save-delay 0")?;
    Ok(killed)
}

pub fn hand_over(world: &mut World<'_>) -> Result<bool, String> {
    let (old, Some(new)) = (world.primary, world.replica()) else { return Ok(false) };
    let line = format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 10000", world.port(new)?);
    world.reign(|world| {
        world.ask::<()>(old, &line)?;
        until("FAILOVER is done", || {
            Ok(world.info(new, "replication", "role")? == "master"
                && world.info(old, "replication", "role")? == "slave")
        })?;
        Ok(new)
    })?;
    world.follow().map(|()| true)
}

/// The link by which replicas, and Sentinels if any, reach the primary.
fn way<'w>(world: &'w World<'_>) -> Option<&'w Link> {
    let of_sentinels = world.sentinels.as_ref().map(|all| &all.ways[world.primary]);
    of_sentinels.or(world.link.as_ref())
}

pub fn network_cut(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    cut(world, random, &[Towards::Server, Towards::Caller])
}

/// Cuts one direction: the replicas', so that WAIT is never confirmed, or the primary's.
pub fn one_way(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let all = [Towards::Server, Towards::Caller];
    let one = all[random.below(2) as usize];
    cut(world, random, &[one])
}

fn cut(world: &World<'_>, random: &mut Random, ways: &[Towards]) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    ways.iter().for_each(|to| way.cut_towards(*to));
    pause(random, 100, 1_000);
    way.mend();
    world.wait_for_replicas().map(|()| true)
}

/// Delays all bytes, or loses packets.
pub fn late(world: &World<'_>, random: &mut Random, is_lossy: bool) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    match is_lossy {
        true => way.lose_one_of(LOST_ONE_OF),
        false => way.slow_down(FAR),
    }
    pause(random, 500, 1_500);
    way.lose_one_of(0);
    way.slow_down(Duration::ZERO);
    world.wait_for_replicas().map(|()| true)
}

/// Closes the connection; the replica reconnects and gets the missing changes.
pub fn hang_up(world: &World<'_>) -> Result<bool, String> {
    let ended = world.ask::<u64>(world.primary, "CLIENT KILL TYPE replica")?;
    world.wait_for_replicas().map(|()| ended > 0)
}

/// The old primary still sells to connected clients until the network is back.
pub fn two_primaries(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let (Some(new), Some(link)) = (world.replica(), &world.link) else { return Ok(false) };
    link.cut();
    pause(random, 50, 500);
    let old_door = world.reign(|world| world.ask::<()>(new, "REPLICAOF NO ONE").map(|()| new))?;
    pause(random, 50, 500);
    drop(old_door);
    world.follow().map(|()| true)
}

pub fn freeze(
    world: &World<'_>,
    number: Option<usize>,
    random: &mut Random,
) -> Result<bool, String> {
    let Some(number) = number else { return Ok(false) };
    world.server(number)?.freeze()?;
    pause(random, 50, 1_500);
    world.server(number)?.thaw()?;
    world.wait_for_replicas().map(|()| true)
}
