//! The faults. Each function causes a fault and repairs it before it returns.

use seckill_random::Random;

use crate::disks;
use crate::memory;
use crate::promotions::{self, HandOver, Return};
use crate::servers::{self, one_of};
use crate::world::World;

/// A fault a row: its odds, its name in the table, and what causes it.
macro_rules! faults {
    ($world:ident $primary:ident $random:ident
        $($fault:ident $odds:tt $name:literal => $befall:expr;)*) => {
        /// One kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
        pub enum Fault { $($fault),* }

        impl Fault {
            /// How often the fault is drawn in each setting: a single server with
            /// `appendfsync always`, a primary and a replica if answers count only after WAIT, two
            /// that may lose the last changes, three under Sentinels if answers count only after
            /// WAIT 1, and three against advice. The last setting loses what was answered after
            /// WAIT: the replica that is not promoted still answers WAIT for the old primary.
            pub fn odds(self) -> [usize; 5] {
                match self { $(Fault::$fault => $odds),* }
            }

            pub fn name(self) -> &'static str {
                match self { $(Fault::$fault => $name),* }
            }

            /// Causes the fault. False if that was impossible here or had no effect.
            pub fn befall(
                self,
                $world: &mut World<'_>,
                $random: &mut Random,
            ) -> Result<bool, String> {
                let $primary = $world.primary;
                match self { $(Fault::$fault => $befall),* }
            }
        }
    };
}

faults! { world primary random
    Kill [2, 0, 1, 0, 0] "kill -9, restart" => servers::kill(world, primary);
    KillPromote [0, 2, 2, 0, 0] "kill -9, replica promoted (REPLICAOF NO ONE)" =>
        servers::kill_promote(world);
    KillReplica [0, 1, 1, 1, 0] "kill -9 of the replica, restart" =>
        one_of(world, random).map_or(Ok(false), |replica| servers::kill(world, replica));
    ReplaceReplica [0, 1, 1, 1, 0] "kill -9 of the replica, an empty one takes its place" =>
        servers::replace_replica(world, random);
    Shutdown [1, 1, 1, 0, 0] "SHUTDOWN, restart" => servers::shut_down(world);
    PowerCut [2, 0, 2, 0, 0] "power failure: kill -9, what was not synced is gone, restart" =>
        disks::power_cut(world, random);
    Handover [0, 1, 1, 0, 0] "FAILOVER" => servers::hand_over(world);
    NetworkCut [0, 1, 1, 0, 0] "network cut between primary and replica, mended" =>
        servers::network_cut(world, random);
    NetworkOneWay [0, 1, 1, 1, 0] "network cut one way between primary and replicas, mended" =>
        servers::one_way(world, random);
    NetworkSlow [0, 1, 1, 1, 0] "network slow: 100 ms each way between primary and replicas" =>
        servers::late(world, random, false);
    NetworkLossy [0, 1, 1, 1, 0]
        "network lossy: one packet of five between them comes 200 ms later" =>
        servers::late(world, random, true);
    HangUp [0, 1, 1, 1, 0] "CLIENT KILL of the replicas' connections" => servers::hang_up(world);
    TwoPrimaries [0, 1, 1, 0, 0] "network cut, replica promoted, two primaries for a while" =>
        servers::two_primaries(world, random);
    Freeze [1, 1, 1, 1, 0] "SIGSTOP, SIGCONT of the primary" =>
        servers::freeze(world, Some(primary), random);
    FreezeReplica [0, 1, 1, 1, 0] "SIGSTOP, SIGCONT of the replica" =>
        servers::freeze(world, one_of(world, random), random);
    Tear [1, 1, 1, 1, 0] "client connections cut in mid-reply" => {
        world.tear();
        Ok(true)
    };
    // BGREWRITEAOF and BGSAVE are refused while another child saves; then there is no fault.
    Rewrite [1, 1, 1, 1, 0] "BGREWRITEAOF" =>
        Ok(world.ask::<String>(primary, "BGREWRITEAOF").is_ok());
    KillRewrite [1, 1, 1, 1, 0] "kill -9 of the process that rewrites the log" =>
        servers::kill_rewrite(world, random);
    Snapshot [1, 1, 1, 1, 0] "BGSAVE" => Ok(world.ask::<String>(primary, "BGSAVE").is_ok());
    Reload [1, 1, 1, 1, 0] "DEBUG RELOAD" => tell(world, "DEBUG RELOAD");
    DiskFull [1, 1, 1, 1, 0] "disk full" => disks::full(world, random);
    SlowDisk [1, 1, 1, 1, 0] "slow disk: syncs and writes take up to 2 s" =>
        disks::slow(world, random);
    BrokenDisk [1, 1, 1, 1, 0]
        "disk breaks: a sync or a write is EIO, or a write is short, once" =>
        disks::broken(world, Some(primary), random);
    BrokenDiskReplica [0, 1, 1, 1, 0] "a replica's disk breaks in one of these ways" =>
        disks::broken(world, one_of(world, random), random);
    MemoryFull [1, 1, 1, 1, 0]
        "memory full: maxmemory just above what is used, both policies" =>
        memory::full(world, random);
    Stall [1, 1, 1, 1, 0] "DEBUG SLEEP" =>
        tell(world, &format!("DEBUG SLEEP 0.{}", 1 + random.below(8)));
    HoldBack [1, 1, 1, 1, 0] "CLIENT PAUSE WRITE" =>
        tell(world, &format!("CLIENT PAUSE {} WRITE", 50 + random.below(600)));
    TakeOver [0, 0, 0, 3, 0] "kill -9, Sentinels promote; it comes back with replicaof" =>
        promotions::kill(world, Return::AsReplica);
    TakeOverStale [0, 0, 0, 1, 0] "kill -9, Sentinels promote; it comes back as a primary" =>
        promotions::kill(world, Return::AsPrimary);
    CutOff [0, 0, 0, 1, 0] "primary cut off from all but its clients, Sentinels promote" =>
        promotions::cut_off(world);
    PausedFailover [0, 0, 0, 3, 0] "CLIENT PAUSE, SENTINEL FAILOVER" =>
        promotions::hand_over(world, HandOver::Paused);
    Coordinated [0, 0, 0, 2, 0] "SENTINEL FAILOVER COORDINATED (Valkey 9)" =>
        promotions::hand_over(world, HandOver::Coordinated);
    FailoverAtOnce [0, 0, 0, 0, 2] "SENTINEL FAILOVER at once" =>
        promotions::hand_over(world, HandOver::AtOnce);
    Hang [0, 0, 0, 0, 1] "SIGSTOP until Sentinels have promoted, SIGCONT" =>
        promotions::hang(world, random);
}

fn tell(world: &World<'_>, line: &str) -> Result<bool, String> {
    world.ask::<()>(world.primary, line).map(|()| true)
}
