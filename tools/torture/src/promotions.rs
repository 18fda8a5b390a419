//! The faults after which Sentinels promote a replica.

use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::link::Link;
use seckill_harness::program::{release, Server};
use seckill_harness::wait::until;
use seckill_random::Random;

use crate::sentinels::{Sentinels, QUIET};
use crate::world::World;

/// The pause of docs/sentinel.md, and the time from it to the failover: long enough for changes in
/// flight to reach the replicas.
pub const PAUSE: &str = "CLIENT PAUSE 4000 WRITE";
pub const PAUSED_FOR: Duration = Duration::from_millis(500);

/// The way in which the old primary comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// With `replicaof` in its configuration, as docs/sentinel.md requires.
    AsReplica,
    /// Started by its service: it is a primary until Sentinels demote it.
    AsPrimary,
}

/// Kills the primary. A replica is promoted, and the old primary comes back.
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

/// Cuts the primary off from all but its clients until another one is promoted.
pub fn cut_off(world: &mut World<'_>) -> Result<bool, String> {
    let old = world.primary;
    way(world, old)?.cut();
    drop(world.reign(promoted)?);
    way(world, old)?.mend();
    demoted(world)
}

/// The operator's way of a failover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// `SENTINEL FAILOVER` alone.
    AtOnce,
    /// After a `CLIENT PAUSE`.
    Paused,
    /// `SENTINEL FAILOVER ... COORDINATED` of Valkey 9: waits until a replica has all changes.
    Coordinated,
}

impl HandOver {
    /// The words after `SENTINEL FAILOVER mymaster`.
    pub fn words(self) -> &'static [&'static str] {
        if self == HandOver::Coordinated {
            &["COORDINATED"]
        } else {
            &[]
        }
    }
}

pub fn hand_over(world: &mut World<'_>, how: HandOver) -> Result<bool, String> {
    let is_known = how != HandOver::Coordinated || is_valkey_9(world.server(world.primary)?);
    if !is_known || sentinels(world)?.demoted.elapsed() < QUIET {
        return Ok(false);
    }
    let old_door = world.reign(|world| {
        if how == HandOver::Paused {
            world.ask::<()>(world.primary, PAUSE)?;
            thread::sleep(PAUSED_FOR);
        }
        // A Sentinel refuses for a short time if it has no recent news of the replicas.
        until("SENTINEL FAILOVER is accepted", || {
            sentinels(world)?.trio.fail_over(how.words()).map(|()| true)
        })?;
        promoted(world)
    })?;
    drop(old_door);
    demoted(world)
}

/// Whether the server, and its Sentinels, know the word COORDINATED.
pub fn is_valkey_9(server: &Server) -> bool {
    let release = server.title().ok().and_then(|title| release(&title));
    release.is_some_and(|(family, version)| family == "valkey" && version[0] >= 9)
}

/// Freezes the primary until another one is promoted; then it executes what clients had sent.
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

/// Waits until a Sentinel reports a new primary.
fn promoted(world: &mut World<'_>) -> Result<usize, String> {
    let old = sentinels(world)?.way(world.primary);
    let mut found = None;
    until("a replica is promoted", || {
        let sentinels = sentinels(world)?;
        let named = sentinels.trio.names_other_than(old);
        let number = sentinels.ways.iter().position(|way| Some(way.port()) == named);
        let Some(number) = number else { return Ok(false) };
        found = Some(number);
        Ok(world.info(number, "replication", "role")? == "master")
    })?;
    found.ok_or_else(|| "Nobody was promoted.".into())
}

/// Returns when all servers follow the new primary, also the old primary.
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
