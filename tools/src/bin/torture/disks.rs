//! Disks that fill up, are slow or break, and power that fails.

use std::fs::{self, OpenOptions};
use std::path::Path;

use seckill_harness::watch::Breaks;
use seckill_random::Random;

use crate::clock::unix_ms;
use crate::servers::{kill, pause};
use crate::world::World;

/// A power failure takes what was written but not synced. `kill -9` does not, so it is cut off the
/// log here: all of it, or what lies behind any byte of it, because the system may have written
/// some by itself.
///
/// Redis (7.0 to 8.10) leaves the whole commands of a transaction that was cut in the log, and runs
/// them at the next restart. So the log has to be written again here, too, see docs/reliability.md.
pub fn power_cut(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
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
pub fn slow(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(watch) = world.watch(world.primary) else { return Ok(false) };
    let most = if random.below(2) == 0 { 100 } else { 2_000 };
    watch.slow_down(random.below(most) as u32, random.below(30) as u32);
    pause(random, 200, 2_500);
    watch.slow_down(0, 0);
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
pub fn full(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    if !world.disks[primary].is_limited() {
        return Ok(false);
    }
    world.disks[primary].fill();
    pause(random, 100, 800);
    world.disks[primary].free();
    log_went_wrong(world, primary)
}

/// One call of that server to its disk fails or does a part only. What the server does about it is
/// as for a disk that was full; and a replica that can't write its log ends itself.
pub fn broken(
    world: &mut World<'_>,
    number: Option<usize>,
    random: &mut Random,
) -> Result<bool, String> {
    let Some(number) = number else { return Ok(false) };
    let Some(watch) = world.watch(number) else { return Ok(false) };
    let all = [Breaks::Sync, Breaks::Write, Breaks::Short];
    watch.break_once(all[random.below(3) as usize]);
    pause(random, 100, 800);
    let went_wrong = !watch.mend();
    log_went_wrong(world, number).map(|mended| mended && went_wrong)
}

/// The server can write again. If it has ended its log is mended, else it is written again.
fn log_went_wrong(world: &mut World<'_>, number: usize) -> Result<bool, String> {
    world.until("the server writes its log or has ended", || {
        let status = || world.info(number, "persistence", "aof_last_write_status");
        Ok(world.server(number)?.has_ended() || status()? == "ok")
    })?;
    if world.server(number)?.has_ended() {
        world.mend_log(number)?;
        return kill(world, number);
    }
    world.write_log_anew(number)?;
    world.wait_for_replicas()?;
    Ok(true)
}
