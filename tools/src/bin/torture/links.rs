//! The way between a primary and its replicas is bad for a while: one direction is cut, or all is
//! late.

use std::time::Duration;

use seckill_harness::link::{Link, Towards};
use seckill_random::Random;

use crate::servers::pause;
use crate::world::World;

/// One way, about as far as to the other side of the world: 200 ms there and back.
const FAR: Duration = Duration::from_millis(100);
/// One of this many packets is lost.
const LOST_ONE_OF: u64 = 5;

/// Bytes of one direction are lost: those of the replicas, so that no WAIT is confirmed, or those
/// of the primary.
pub fn one_way(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    let all = [Towards::Server, Towards::Caller];
    way.cut_towards(all[random.below(2) as usize]);
    pause(random, 100, 1_000);
    way.mend();
    world.wait_for_replicas().map(|()| true)
}

/// All arrives, but late.
pub fn slow(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    way.slow_down(FAR);
    pause(random, 500, 1_500);
    way.slow_down(Duration::ZERO);
    world.wait_for_replicas().map(|()| true)
}

/// Lost packets are sent again; the packets behind them wait.
pub fn lossy(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(way) = way(world) else { return Ok(false) };
    way.lose_one_of(LOST_ONE_OF);
    pause(random, 500, 1_500);
    way.lose_one_of(0);
    world.wait_for_replicas().map(|()| true)
}

/// The connection ends; the replica comes again, and gets what it has missed.
pub fn hang_up(world: &World<'_>) -> Result<bool, String> {
    let ended = world.ask::<u64>(world.primary, "CLIENT KILL TYPE replica")?;
    world.wait_for_replicas().map(|()| ended > 0)
}

/// The way by which replicas, and Sentinels if there are any, reach the primary.
fn way<'w>(world: &'w World<'_>) -> Option<&'w Link> {
    let of_sentinels = world.sentinels.as_ref().map(|all| &all.ways[world.primary]);
    of_sentinels.or(world.link.as_ref())
}
