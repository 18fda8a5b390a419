//! Full memory: `maxmemory` is just above the used memory of the primary for some seconds.

use redis::Connection;
use seckill_random::Random;

use crate::ask::command;
use crate::servers::pause;
use crate::world::World;

/// Free bytes, enough for a short time of sales.
const ROOM: u64 = 64 * 1024;
/// Keys that may be evicted. Sales and streams have no time to live and must stay.
const SPARE_KEYS: u64 = 200;
const SPARE_BYTES: usize = 2_000;

/// The server refuses commands that need memory, or first evicts keys with a time to live. Then the
/// limit is removed.
pub fn full(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    let mut redis = world.connect(primary)?;
    let policy = ["noeviction", "volatile-ttl"][random.below(2) as usize];
    for number in 0..SPARE_KEYS {
        let (key, value) = (format!("torture:spare:{number}"), "x".repeat(SPARE_BYTES));
        // While its disk fails a server accepts no writes.
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
