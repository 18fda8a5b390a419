//! Memory that is full: `maxmemory` just above what the primary uses, for seconds.

use redis::Connection;
use seckill_random::Random;

use crate::ask::command;
use crate::servers::pause;
use crate::world::World;

/// Room for a moment of sales.
const ROOM: u64 = 64 * 1024;
/// Keys that may be evicted: sales and streams have no time to live and must not be.
const SPARE_KEYS: u64 = 200;
const SPARE_BYTES: usize = 2_000;

/// The server refuses what takes memory, or first evicts keys that have a time to live. Then there
/// is room again.
pub fn full(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    let mut redis = world.connect(primary)?;
    let policy = ["noeviction", "volatile-ttl"][random.below(2) as usize];
    for number in 0..SPARE_KEYS {
        let (key, value) = (format!("torture:spare:{number}"), "x".repeat(SPARE_BYTES));
        // While its disk fails a server takes no writes.
        let _ = command(["SET", &key, &value, "EX", "1000"]).query::<()>(&mut redis);
    }
    let used: u64 = world.info(primary, "memory", "used_memory")?.parse().unwrap_or_default();
    set(&mut redis, "maxmemory-policy", policy)?;
    set(&mut redis, "maxmemory", &(used + ROOM).to_string())?;
    pause(random, 300, 3_000);
    set(&mut redis, "maxmemory", "0")?;
    set(&mut redis, "maxmemory-policy", "noeviction")?;
    Ok(true)
}

fn set(redis: &mut Connection, name: &str, value: &str) -> Result<(), String> {
    let set = command(["CONFIG", "SET", name, value]).query::<()>(redis);
    set.map_err(|e| format!("CONFIG SET {name} failed: {e}"))
}
