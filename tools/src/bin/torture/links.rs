//! Faults of the link between a primary and its replicas: one direction is cut, or all bytes are
//! late.

use std::time::Duration;

use seckill_harness::link::{Link, Towards};
use seckill_random::Random;

use crate::servers::pause;
use crate::world::World;

/// One-way delay to the other side of the world: a round trip takes 200 ms.
const FAR: Duration = Duration::from_millis(100);
/// One of this many packets is lost.
const LOST_ONE_OF: u64 = 5;

/// Cuts one direction: the replicas', so that WAIT is never confirmed, or the primary's.
pub fn one_way(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    let all = [Towards::Server, Towards::Caller];
    way.cut_towards(all[random.below(2) as usize]);
    pause(random, 100, 1_000);
    way.mend();
    world.wait_for_replicas().map(|()| true)
}

/// Delays all bytes.
pub fn slow(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    way.slow_down(FAR);
    pause(random, 500, 1_500);
    way.slow_down(Duration::ZERO);
    world.wait_for_replicas().map(|()| true)
}

/// Loses packets; TCP resends them, and later packets wait.
pub fn lossy(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    way.lose_one_of(LOST_ONE_OF);
    pause(random, 500, 1_500);
    way.lose_one_of(0);
    world.wait_for_replicas().map(|()| true)
}

/// Closes the connection; the replica reconnects and gets the missing changes.
pub fn hang_up(world: &World<'_>) -> Result<bool, String> {
    let ended = world.ask::<u64>(world.primary, "CLIENT KILL TYPE replica")?;
    world.wait_for_replicas().map(|()| ended > 0)
}

/// The link by which replicas, and Sentinels if any, reach the primary.
fn way<'w>(world: &'w World<'_>) -> Option<&'w Link> {
    let of_sentinels = world.sentinels.as_ref().map(|all| &all.ways[world.primary]);
    of_sentinels.or(world.link.as_ref())
}
