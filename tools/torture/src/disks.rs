//! Faults of disks: full, slow, failing, and power cuts.

use std::fs::{self, OpenOptions};
use std::path::Path;

use seckill_harness::wait::{unix_ms, until};
use seckill_harness::watch::Breaks;
use seckill_random::Random;

use crate::servers::{kill, pause};
use crate::world::World;

/// A power cut loses written bytes that were not synced, but `kill -9` does not. So this truncates
/// the AOF at the last synced byte or at any later byte, because the system may have written some
/// bytes by itself.
///
/// After a cut inside a transaction Redis 7.0 to 8.10 keeps its complete commands in the AOF and
/// executes them at the next restart. So the AOF is rewritten here, too, see docs/reliability.md.
pub fn power_cut(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    let Some(watch) = world.watch(primary) else { return Ok(false) };
    pause(random, 50, 400);
    let failed_at = unix_ms();
    world.kill(primary)?;
    let mut files = world.log_files(primary)?;
    let Some(newest) = files.pop() else { return Ok(false) };
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    // The server had just begun a new AOF file. Unsynced bytes of the old file would be missing in
    // the middle of the AOF, and the server would refuse to start.
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

/// A slow disk. With `appendfsync always` the server waits for it at every step, otherwise only
/// when a background sync takes too long.
pub fn slow(world: &World<'_>, random: &mut Random) -> Result<bool, String> {
    let Some(watch) = world.watch(world.primary) else { return Ok(false) };
    let most = if random.below(2) == 0 { 100 } else { 2_000 };
    watch.slow_down(random.below(most) as u32, random.below(30) as u32);
    pause(random, 200, 2_500);
    watch.slow_down(0, 0);
    world.wait_for_replicas()?;
    Ok(true)
}

/// A full disk. With `appendfsync always` Redis exits if it can't write the AOF. With other
/// settings it refuses writes until it can.
///
/// If the AOF was rewritten since the start, Redis 7.0 to 8.10 and Valkey then truncate it at a
/// wrong place: zeros remain in the middle, and no server starts with that AOF. So this does what
/// docs/reliability.md tells operators: repair or rewrite the AOF.
pub fn full(world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
    let primary = world.primary;
    if !world.disks[primary].is_limited {
        return Ok(false);
    }
    world.disks[primary].fill();
    pause(random, 100, 800);
    world.disks[primary].free();
    log_went_wrong(world, primary)
}

/// One disk call of that server fails or is done in part. The server reacts as to a full disk. A
/// replica that can't write its AOF exits.
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

/// Repairs the AOF if the server has exited, and otherwise rewrites it.
fn log_went_wrong(world: &mut World<'_>, number: usize) -> Result<bool, String> {
    until("the server writes its log or has ended", || {
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
