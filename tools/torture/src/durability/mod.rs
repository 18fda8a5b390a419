//! Measures the losses when a server dies. Prints the table of docs/durability.md.
//!
//! Sixteen buyers send GRABs without a pause and record the acknowledged grants. Then the server is
//! killed with `kill -9` and restarted with its files, or its replica is promoted. An acknowledged
//! grant is lost if the remaining server does not have it.
//!
//! ```text
//! make durability
//! cargo run --release -p seckill-torture --bin torture -- durability --only SENTINEL
//! ```

mod buyers;
mod nodes;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{presets, Table};

use buyers::{Buyers, Wait};
use nodes::Nodes;
use seckill_harness::program::Server;
use seckill_harness::watch::Watch;

use crate::promotions::{is_valkey_9, HandOver};

/// Runs of each case, and acknowledged grants before the server dies.
const RUNS: u64 = 5;
const GRANTS: u64 = 4_000;
/// Time that a primary without its replica continues before the replica is promoted.
const PARTITION: Duration = Duration::from_secs(6);
/// Time that a disk is slow before the process is killed, then the delay of each sync.
const SLOW_FOR: Duration = Duration::from_millis(3_500);
const SLOW_SYNC_MS: u32 = 1_800;

/// Measures the losses under each setting
#[derive(Args)]
pub struct Options {
    /// Only cases that contain this text in one of the columns
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

#[derive(Clone, Copy)]
enum Disaster {
    /// `kill -9`, then a restart with the files.
    Kill,
    /// `kill -9` after an RDB file was saved and half of the grants came after it.
    KillAfterSnapshot,
    /// `kill -9` while each sync is slow, then a restart with the files.
    KillOnSlowDisk,
    /// The primary's host dies; its replica is promoted.
    HostDies(Wait),
    /// The link is cut, the primary continues for some time, then the replica is promoted.
    Partition,
    /// Sentinels promote one of this many replicas on request.
    Failover(usize, HandOver, Wait),
}

use Disaster::{Failover, HostDies, Kill, KillAfterSnapshot, KillOnSlowDisk, Partition};
use HandOver::{AtOnce, Coordinated, Paused};

const SNAPSHOTS: &[&str] = &["--save", "3600 1"];
const NO: &[&str] = &["--appendonly", "yes", "--appendfsync", "no"];
const EVERYSEC: &[&str] = &["--appendonly", "yes", "--appendfsync", "everysec"];
const ALWAYS: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];
/// The settings of docs/sentinel.md for all servers.
const NEAR: &[&str] = &["--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"];

/// A disaster, the setting as named in the table, and the settings of all servers.
type Case = (Disaster, &'static str, &'static [&'static str]);

const CASES: [Case; 17] = [
    (Kill, "no persistence (`save \"\"`, `appendonly no`)", &[]),
    (KillAfterSnapshot, "snapshots only (`save`, `appendonly no`)", SNAPSHOTS),
    (Kill, "`appendfsync no`", NO),
    (Kill, "`appendfsync everysec`", EVERYSEC),
    (Kill, "`appendfsync always`", ALWAYS),
    (HostDies(Wait::No), "nothing more", &[]),
    (HostDies(Wait::Replicas(1)), "the shop sends `WAIT 1 1000` after each GRAB", &[]),
    (
        HostDies(Wait::ReplicaDisk),
        "`WAITAOF 0 1 2000` after each GRAB, `appendfsync always`",
        ALWAYS,
    ),
    (Partition, "nothing more", &[]),
    (Partition, "`min-replicas-to-write 1`, `min-replicas-max-lag 2`", NEAR),
    (KillOnSlowDisk, "`appendfsync everysec`", EVERYSEC),
    (Failover(1, AtOnce, Wait::No), "one replica, nothing more", &[]),
    (
        Failover(1, AtOnce, Wait::No),
        "one replica, `min-replicas-to-write 1`, `min-replicas-max-lag 2`",
        NEAR,
    ),
    (
        Failover(2, AtOnce, Wait::Replicas(1)),
        "two replicas, the same, `WAIT 1 1000` after each GRAB",
        NEAR,
    ),
    (
        Failover(2, AtOnce, Wait::Replicas(2)),
        "two replicas, the same, `WAIT 2 1000` after each GRAB",
        NEAR,
    ),
    (Failover(2, Paused, Wait::No), "two replicas, the same", NEAR),
    (Failover(2, Coordinated, Wait::No), "two replicas, the same", NEAR),
];

impl Disaster {
    fn what(self) -> &'static str {
        match self {
            Kill | KillAfterSnapshot => "kill -9, restart",
            KillOnSlowDisk => "kill -9 on a slow disk (each fdatasync takes 1.8 s), restart",
            HostDies(_) => "host dies, replica promoted",
            Partition => "link cut for 6 s, then replica promoted",
            Failover(_, AtOnce, _) => "`SENTINEL FAILOVER`",
            Failover(_, Paused, _) => {
                "`CLIENT PAUSE 4000 WRITE`, half a second, `SENTINEL FAILOVER`"
            }
            Failover(_, Coordinated, _) => "`SENTINEL FAILOVER mymaster COORDINATED`",
        }
    }

    fn replicas(self) -> usize {
        match self {
            Kill | KillAfterSnapshot | KillOnSlowDisk => 0,
            HostDies(_) | Partition => 1,
            Failover(replicas, ..) => replicas,
        }
    }

    fn wait(self) -> Wait {
        match self {
            HostDies(wait) | Failover(_, _, wait) => wait,
            _ => Wait::No,
        }
    }

    /// Whether docs/reliability.md promises under these settings that nothing acknowledged is lost.
    fn keeps_all(self, settings: &[&str]) -> bool {
        match self {
            Kill => settings == ALWAYS,
            HostDies(wait) => wait != Wait::No,
            Failover(_, AtOnce, wait) => wait == Wait::Replicas(2),
            Failover(_, Paused | Coordinated, _) => true,
            KillAfterSnapshot | KillOnSlowDisk | Partition => false,
        }
    }

    /// Whether servers of this kind support the disaster.
    fn is_offered(self, module: &Path) -> Result<bool, String> {
        match self {
            HostDies(Wait::ReplicaDisk) => Ok(buyers::has_waitaof(&Server::start(module, &[])?)),
            Failover(_, Coordinated, _) => Ok(is_valkey_9(&Server::start(module, &[])?)),
            _ => Ok(true),
        }
    }
}

struct Loss {
    /// Grants that buyers know of.
    acknowledged: u64,
    /// Acknowledged grants that the remaining server lacks.
    lost: u64,
    /// Grants of the remaining server that no buyer knows of.
    unheard: u64,
    /// Speed of the run, to show `lost` as a time.
    grabs_per_second: f64,
}

/// Prints the table of the chosen cases. Returns whether all promises were kept.
pub fn run(options: &Options, module: &Path) -> Result<bool, String> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "what happens",
        "setting",
        "grabs/s",
        "acknowledged",
        "of them lost",
        "lost, as time",
        "granted, answer lost",
    ]);
    let only = options.only.as_deref().unwrap_or_default();
    let mut broken = Vec::new();
    for case @ (disaster, setting, settings) in CASES {
        let what = disaster.what();
        if !what.contains(only) && !setting.contains(only) {
            continue;
        }
        if !disaster.is_offered(module)? {
            eprintln!("{what}, {setting}: skipped, this server has no such command");
            continue;
        }
        eprintln!("{what}, {setting}: {RUNS} runs");
        let losses: Result<Vec<Loss>, String> = (0..RUNS).map(|_| one_run(case, module)).collect();
        let losses = losses?;
        if disaster.keeps_all(settings) && losses.iter().any(|loss| loss.lost > 0) {
            broken.push(format!("VIOLATION: {what}, {setting}: acknowledged grants are lost"));
        }
        table.add_row(row(case, &losses));
    }
    println!("{table}");
    broken.iter().for_each(|line| println!("{line}"));
    Ok(broken.is_empty())
}

fn row((disaster, setting, _): Case, losses: &[Loss]) -> [String; 7] {
    let span = |number: fn(&Loss) -> u64, unit: &str| {
        let least = losses.iter().map(number).min().unwrap_or_default();
        let most = losses.iter().map(number).max().unwrap_or_default();
        match least == most {
            true => format!("{least}{unit}"),
            false => format!("{least} to {most}{unit}"),
        }
    };
    [
        disaster.what().into(),
        setting.into(),
        span(|loss| loss.grabs_per_second as u64, ""),
        span(|loss| loss.acknowledged, ""),
        span(|loss| loss.lost, ""),
        span(|loss| (loss.lost as f64 / loss.grabs_per_second * 1000.0) as u64, " ms"),
        span(|loss| loss.unheard, ""),
    ]
}

/// Starts buyers, causes the disaster, and compares the buyers' grants with the remaining sale.
fn one_run((disaster, _, settings): Case, module: &Path) -> Result<Loss, String> {
    let watch = matches!(disaster, KillOnSlowDisk).then(Watch::build);
    let through = watch.as_ref().map_or(Vec::new(), Watch::words);
    let has_sentinels = matches!(disaster, Failover(..));
    let mut nodes = Nodes::start(module, settings, disaster.replicas(), has_sentinels, &through)?;
    let buyers = Buyers::start(nodes.primary(), disaster.wait())?;
    if let KillAfterSnapshot = disaster {
        buyers.reach(GRANTS / 2)?;
        // SAVE instead of BGSAVE gives an exact time; buyers wait during it.
        nodes::tell(nodes.primary(), "SAVE")?;
    }
    if let Some(watch) = &watch {
        if !watch.works() {
            return Err("The server does not take the library that makes syncs slow.".into());
        }
        watch.slow_down(SLOW_SYNC_MS, 0);
    }
    buyers.reach(GRANTS)?;
    match disaster {
        KillOnSlowDisk => thread::sleep(SLOW_FOR),
        Partition => {
            nodes.cut_off();
            let over = Instant::now() + PARTITION;
            while Instant::now() < over && !buyers.all_gave_up() {
                thread::sleep(nodes::POLL_EVERY);
            }
        }
        _ => {}
    }
    let grabs_per_second = buyers.speed();
    let told = if let Failover(_, how, _) = disaster {
        nodes.fail_over(how)?;
        // By now clients that ask Sentinels know the new primary.
        buyers.leave();
        buyers.winners()?
    } else {
        nodes.kill_primary();
        let told = buyers.winners()?;
        if let Some(watch) = &watch {
            watch.slow_down(0, 0);
        }
        nodes.come_back()?;
        told
    };
    let kept = buyers::listed(nodes.primary())?;
    Ok(Loss {
        acknowledged: told.len() as u64,
        lost: told.difference(&kept).count() as u64,
        unheard: kept.difference(&told).count() as u64,
        grabs_per_second,
    })
}
