//! The faults after which Sentinels promote a replica.

use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::link::Link;
use seckill_random::Random;

use crate::sentinels::{Sentinels, QUIET};
use crate::world::World;

/// The pause of docs/sentinel.md, long enough for changes under way to reach the replicas.
const PAUSED_FOR: Duration = Duration::from_millis(500);

/// How the one that was the primary comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// With `replicaof` in its configuration, as docs/sentinel.md says.
    AsReplica,
    /// Starts it as its service does: it is a primary until Sentinels demote it.
    AsPrimary,
}

/// The primary dies, a replica takes over, and the old primary comes back.
pub fn kill(world: &mut World<'_>, how: Return) -> Result<bool, String> {
    let old = world.primary;
    world.kill(old)?;
    drop(world.reign(promoted)?);
    world.restart(old)?;
    match how {
        Return::AsReplica => world.follow().map(|()| true),
        Return::AsPrimary => demoted(world),
    }
}

/// The primary is cut off from all but its clients until another one has taken over.
pub fn cut_off(world: &mut World<'_>) -> Result<bool, String> {
    let old = world.primary;
    way(world, old)?.cut();
    drop(world.reign(promoted)?);
    way(world, old)?.mend();
    demoted(world)
}

/// How an operator has Sentinels promote another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// `SENTINEL FAILOVER` alone.
    AtOnce,
    /// After a `CLIENT PAUSE`.
    Paused,
    /// `SENTINEL FAILOVER ... COORDINATED` of Valkey 9, which waits by itself until a replica has
    /// all.
    Coordinated,
}

/// `SENTINEL FAILOVER`.
pub fn hand_over(world: &mut World<'_>, how: HandOver) -> Result<bool, String> {
    let is_known = how != HandOver::Coordinated || is_valkey_9(world);
    if !is_known || sentinels(world)?.demoted.elapsed() < QUIET {
        return Ok(false);
    }
    let words: &[&str] = if how == HandOver::Coordinated { &["COORDINATED"] } else { &[] };
    let old_door = world.reign(|world| {
        if how == HandOver::Paused {
            world.ask::<()>(world.primary, "CLIENT PAUSE 4000 WRITE")?;
            thread::sleep(PAUSED_FOR);
        }
        // Refused for a moment where a Sentinel has not heard of the replicas lately.
        world.until("SENTINEL FAILOVER is accepted", || {
            sentinels(world)?.trio.fail_over(words).map(|()| true)
        })?;
        promoted(world)
    })?;
    drop(old_door);
    demoted(world)
}

fn is_valkey_9(world: &World<'_>) -> bool {
    let version = world.info(world.primary, "server", "valkey_version").unwrap_or_default();
    let major = version.split('.').next().and_then(|number| number.parse::<u32>().ok());
    major.is_some_and(|major| major >= 9)
}

/// The primary hangs until another one has taken over, and then executes what clients had sent.
pub fn hang(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let old = world.primary;
    world.server(old)?.freeze()?;
    let old_door = world.reign(promoted)?;
    thread::sleep(Duration::from_millis(random.below(500)));
    world.server(old)?.thaw()?;
    thread::sleep(Duration::from_millis(200));
    drop(old_door);
    demoted(world)
}

/// Waits until a Sentinel names another server, which is a primary then.
fn promoted(world: &mut World<'_>) -> Result<usize, String> {
    let old = sentinels(world)?.way(world.primary);
    let mut found = None;
    world.until("a replica is promoted", || {
        let sentinels = sentinels(world)?;
        let named = sentinels.trio.names_other_than(old);
        let number = sentinels.ways.iter().position(|way| Some(way.port()) == named);
        let Some(number) = number else { return Ok(false) };
        found = Some(number);
        Ok(world.info(number, "replication", "role")? == "master")
    })?;
    found.ok_or_else(|| "Nobody was promoted.".into())
}

/// Returns when all follow the new primary, the old one too, which Sentinels make a replica.
fn demoted(world: &mut World<'_>) -> Result<bool, String> {
    world.wait_for_replicas()?;
    if let Some(sentinels) = &mut world.sentinels {
        sentinels.demoted = Instant::now();
    }
    Ok(true)
}

fn sentinels<'w>(world: &'w World<'_>) -> Result<&'w Sentinels, String> {
    world.sentinels.as_ref().ok_or_else(|| "There are no Sentinels.".into())
}

fn way<'w>(world: &'w World<'_>, number: usize) -> Result<&'w Link, String> {
    sentinels(world).map(|sentinels| &sentinels.ways[number])
}
