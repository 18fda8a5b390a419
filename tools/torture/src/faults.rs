//! The faults. Each function causes a fault and repairs it before it returns.

use seckill_random::Random;

use crate::disks;
use crate::memory;
use crate::promotions::{self, HandOver, Return};
use crate::servers::{self, one_of};
use crate::world::World;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Fault {
    Kill,
    KillPromote,
    KillReplica,
    ReplaceReplica,
    Shutdown,
    PowerCut,
    Handover,
    NetworkCut,
    NetworkOneWay,
    NetworkSlow,
    NetworkLossy,
    HangUp,
    TwoPrimaries,
    Freeze,
    FreezeReplica,
    Tear,
    Rewrite,
    KillRewrite,
    Snapshot,
    Reload,
    DiskFull,
    SlowDisk,
    BrokenDisk,
    BrokenDiskReplica,
    MemoryFull,
    Stall,
    HoldBack,
    TakeOver,
    TakeOverStale,
    CutOff,
    PausedFailover,
    Coordinated,
    FailoverAtOnce,
    Hang,
}

use Fault::*;

impl Fault {
    /// How often the fault is drawn in each setting: a single server with `appendfsync always`, a
    /// primary and a replica if answers count only after WAIT, two that may lose the last changes,
    /// three under Sentinels if answers count only after WAIT 1, and three against advice. The last
    /// setting loses what was answered after WAIT: the replica that is not promoted still answers
    /// WAIT for the old primary.
    pub fn odds(self) -> [usize; 5] {
        match self {
            Freeze | Tear | Rewrite | KillRewrite | Snapshot | Reload | DiskFull | SlowDisk
            | BrokenDisk | MemoryFull | Stall | HoldBack => [1, 1, 1, 1, 0],
            KillReplica | ReplaceReplica | NetworkOneWay | NetworkSlow | NetworkLossy | HangUp
            | FreezeReplica | BrokenDiskReplica => [0, 1, 1, 1, 0],
            KillPromote => [0, 2, 2, 0, 0],
            Handover | NetworkCut | TwoPrimaries => [0, 1, 1, 0, 0],
            Shutdown => [1, 1, 1, 0, 0],
            Kill => [2, 0, 1, 0, 0],
            PowerCut => [2, 0, 2, 0, 0],
            TakeOver | PausedFailover => [0, 0, 0, 3, 0],
            Coordinated => [0, 0, 0, 2, 0],
            TakeOverStale | CutOff => [0, 0, 0, 1, 0],
            FailoverAtOnce => [0, 0, 0, 0, 2],
            Hang => [0, 0, 0, 0, 1],
        }
    }

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Kill => "kill -9, restart",
            KillPromote => "kill -9, replica promoted (REPLICAOF NO ONE)",
            KillReplica => "kill -9 of the replica, restart",
            ReplaceReplica => "kill -9 of the replica, an empty one takes its place",
            Shutdown => "SHUTDOWN, restart",
            PowerCut => "power failure: kill -9, what was not synced is gone, restart",
            Handover => "FAILOVER",
            NetworkCut => "network cut between primary and replica, mended",
            NetworkOneWay => "network cut one way between primary and replicas, mended",
            NetworkSlow => "network slow: 100 ms each way between primary and replicas",
            NetworkLossy => "network lossy: one packet of five between them comes 200 ms later",
            HangUp => "CLIENT KILL of the replicas' connections",
            TwoPrimaries => "network cut, replica promoted, two primaries for a while",
            Freeze => "SIGSTOP, SIGCONT of the primary",
            FreezeReplica => "SIGSTOP, SIGCONT of the replica",
            Tear => "client connections cut in mid-reply",
            Rewrite => "BGREWRITEAOF",
            KillRewrite => "kill -9 of the process that rewrites the log",
            Snapshot => "BGSAVE",
            Reload => "DEBUG RELOAD",
            DiskFull => "disk full",
            SlowDisk => "slow disk: syncs and writes take up to 2 s",
            BrokenDisk => "disk breaks: a sync or a write is EIO, or a write is short, once",
            BrokenDiskReplica => "a replica's disk breaks in one of these ways",
            MemoryFull => "memory full: maxmemory just above what is used, both policies",
            Stall => "DEBUG SLEEP",
            HoldBack => "CLIENT PAUSE WRITE",
            TakeOver => "kill -9, Sentinels promote; it comes back with replicaof",
            TakeOverStale => "kill -9, Sentinels promote; it comes back as a primary",
            CutOff => "primary cut off from all but its clients, Sentinels promote",
            PausedFailover => "CLIENT PAUSE, SENTINEL FAILOVER",
            Coordinated => "SENTINEL FAILOVER COORDINATED (Valkey 9)",
            FailoverAtOnce => "SENTINEL FAILOVER at once",
            Hang => "SIGSTOP until Sentinels have promoted, SIGCONT",
        }
    }

    /// Causes the fault. False if that was impossible here or had no effect.
    pub fn befall(self, world: &mut World<'_>, random: &mut Random) -> Result<bool, String> {
        let primary = world.primary;
        let done = |line: &str| world.ask::<()>(primary, line).map(|()| true);
        match self {
            Kill => servers::kill(world, primary),
            TakeOver => promotions::kill(world, Return::AsReplica),
            TakeOverStale => promotions::kill(world, Return::AsPrimary),
            CutOff => promotions::cut_off(world),
            PausedFailover => promotions::hand_over(world, HandOver::Paused),
            Coordinated => promotions::hand_over(world, HandOver::Coordinated),
            FailoverAtOnce => promotions::hand_over(world, HandOver::AtOnce),
            Hang => promotions::hang(world, random),
            KillPromote => servers::kill_promote(world),
            KillReplica => {
                one_of(world, random).map_or(Ok(false), |replica| servers::kill(world, replica))
            }
            ReplaceReplica => servers::replace_replica(world, random),
            Shutdown => servers::shut_down(world),
            PowerCut => disks::power_cut(world, random),
            Handover => servers::hand_over(world),
            NetworkCut => servers::network_cut(world, random),
            NetworkOneWay => servers::one_way(world, random),
            NetworkSlow => servers::late(world, random, false),
            NetworkLossy => servers::late(world, random, true),
            HangUp => servers::hang_up(world),
            TwoPrimaries => servers::two_primaries(world, random),
            Freeze => servers::freeze(world, Some(primary), random),
            FreezeReplica => servers::freeze(world, one_of(world, random), random),
            Tear => {
                world.tear();
                Ok(true)
            }
            // Refused while another child saves; then there is no fault.
            Rewrite => Ok(world.ask::<String>(primary, "BGREWRITEAOF").is_ok()),
            KillRewrite => servers::kill_rewrite(world, random),
            Snapshot => Ok(world.ask::<String>(primary, "BGSAVE").is_ok()),
            Reload => done("DEBUG RELOAD"),
            DiskFull => disks::full(world, random),
            SlowDisk => disks::slow(world, random),
            BrokenDisk => disks::broken(world, Some(primary), random),
            BrokenDiskReplica => disks::broken(world, one_of(world, random), random),
            MemoryFull => memory::full(world, random),
            Stall => done(&format!("DEBUG SLEEP 0.{}", 1 + random.below(8))),
            HoldBack => done(&format!("CLIENT PAUSE {} WRITE", 50 + random.below(600))),
        }
    }
}
