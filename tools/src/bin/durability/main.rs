//! What is lost when a server dies: measured, not guessed. Prints the table of docs/durability.md.
//!
//! Sixteen buyers grab without a pause and write down what was acknowledged. Then the server is
//! killed with `kill -9` and restarted on its files, or its replica is promoted. A grant is lost
//! when it was acknowledged and the server that remains does not know it.
//!
//! ```text
//! cargo run --release -p seckill-tools --bin durability -- --runs 5
//! ```

mod buyers;
mod watched;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::{presets, Table};

use buyers::{listed, Buyers, Wait, KEY};
use seckill_harness::link::Link;
use seckill_harness::program::Server;
use seckill_harness::watch::Watch;
use watched::{How, Watched};

const STOCK: u64 = 100_000_000;
const DEADLINE: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(5);
/// One way. A host in the same city is about so far away.
const LINK_DELAY: Duration = Duration::from_millis(5);
/// How long a primary that lost its replica goes on before somebody promotes the replica.
const PARTITION: Duration = Duration::from_secs(6);

/// How long a disk is slow before the process on it dies, and how long each of its syncs takes.
const SLOW_FOR: Duration = Duration::from_millis(3_500);
const SLOW_SYNC_MS: u32 = 1_800;
/// What docs/sentinel.md says for each server.
const NEAR: [&str; 4] = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"];

/// Measures what is lost with which setting.
#[derive(Parser)]
struct Options {
    /// How often each case is tried
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Only the cases of which this is a part, in either column
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Acknowledged grants before the server dies
    #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(100..))]
    grants: u32,
    /// The module's file [default: the one built here, or $SECKILL_MODULE]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

/// What happens to the server.
#[derive(Clone, Copy)]
enum Disaster {
    /// `kill -9`, then a restart on the same files.
    Kill,
    /// `kill -9` right after a snapshot was taken and half of the grants came after it.
    KillAfterSnapshot,
    /// The primary's host dies; its replica is promoted.
    HostDies,
    /// As before, but every buyer waits until a replica has the grant.
    HostDiesWait,
    /// As before, but every buyer waits until a replica has the grant on its disk.
    HostDiesWaitForDisk,
    /// The link is cut, the primary goes on for a while, then the replica is promoted.
    Partition,
    /// `kill -9` while each sync takes long, then a restart on the same files.
    KillOnSlowDisk,
    /// Sentinels are told to promote one of so many replicas.
    Sentinel { replicas: usize, how: How, wait: Wait },
}

struct Case {
    disaster: Disaster,
    what: &'static str,
    setting: &'static str,
    settings: &'static [&'static str],
}

const CASES: [Case; 17] = [
    Case {
        disaster: Disaster::Kill,
        what: "kill -9, restart",
        setting: "no persistence (`save \"\"`, `appendonly no`)",
        settings: &[],
    },
    Case {
        disaster: Disaster::KillAfterSnapshot,
        what: "kill -9, restart",
        setting: "snapshots only (`save`, `appendonly no`)",
        settings: &["--save", "3600 1"],
    },
    Case {
        disaster: Disaster::Kill,
        what: "kill -9, restart",
        setting: "`appendfsync no`",
        settings: &["--appendonly", "yes", "--appendfsync", "no"],
    },
    Case {
        disaster: Disaster::Kill,
        what: "kill -9, restart",
        setting: "`appendfsync everysec`",
        settings: &["--appendonly", "yes", "--appendfsync", "everysec"],
    },
    Case {
        disaster: Disaster::Kill,
        what: "kill -9, restart",
        setting: "`appendfsync always`",
        settings: &["--appendonly", "yes", "--appendfsync", "always"],
    },
    Case {
        disaster: Disaster::HostDies,
        what: "host dies, replica promoted",
        setting: "nothing more",
        settings: &[],
    },
    Case {
        disaster: Disaster::HostDiesWait,
        what: "host dies, replica promoted",
        setting: "the shop sends `WAIT 1 1000` after each GRAB",
        settings: &[],
    },
    Case {
        disaster: Disaster::HostDiesWaitForDisk,
        what: "host dies, replica promoted",
        setting: "`WAITAOF 0 1 2000` after each GRAB, `appendfsync always`",
        settings: &["--appendonly", "yes", "--appendfsync", "always"],
    },
    Case {
        disaster: Disaster::Partition,
        what: "link cut for 6 s, then replica promoted",
        setting: "nothing more",
        settings: &[],
    },
    Case {
        disaster: Disaster::Partition,
        what: "link cut for 6 s, then replica promoted",
        setting: "`min-replicas-to-write 1`, `min-replicas-max-lag 2`",
        settings: &NEAR,
    },
    Case {
        disaster: Disaster::KillOnSlowDisk,
        what: "kill -9 on a slow disk (each fdatasync takes 1.8 s), restart",
        setting: "`appendfsync everysec`",
        settings: &["--appendonly", "yes", "--appendfsync", "everysec"],
    },
    Case {
        disaster: Disaster::Sentinel { replicas: 1, how: How::AtOnce, wait: Wait::No },
        what: "`SENTINEL FAILOVER`",
        setting: "one replica, nothing more",
        settings: &[],
    },
    Case {
        disaster: Disaster::Sentinel { replicas: 1, how: How::AtOnce, wait: Wait::No },
        what: "`SENTINEL FAILOVER`",
        setting: "one replica, `min-replicas-to-write 1`, `min-replicas-max-lag 2`",
        settings: &NEAR,
    },
    Case {
        disaster: Disaster::Sentinel { replicas: 2, how: How::AtOnce, wait: Wait::Replicas(1) },
        what: "`SENTINEL FAILOVER`",
        setting: "two replicas, the same, `WAIT 1 1000` after each GRAB",
        settings: &NEAR,
    },
    Case {
        disaster: Disaster::Sentinel { replicas: 2, how: How::AtOnce, wait: Wait::Replicas(2) },
        what: "`SENTINEL FAILOVER`",
        setting: "two replicas, the same, `WAIT 2 1000` after each GRAB",
        settings: &NEAR,
    },
    Case {
        disaster: Disaster::Sentinel { replicas: 2, how: How::PauseFirst, wait: Wait::No },
        what: "`CLIENT PAUSE 4000 WRITE`, half a second, `SENTINEL FAILOVER`",
        setting: "two replicas, the same",
        settings: &NEAR,
    },
    Case {
        disaster: Disaster::Sentinel { replicas: 2, how: How::Coordinated, wait: Wait::No },
        what: "`SENTINEL FAILOVER mymaster COORDINATED`",
        setting: "two replicas, the same",
        settings: &NEAR,
    },
];

/// What one run showed.
struct Loss {
    /// Grants that buyers were told of.
    acknowledged: u64,
    /// Of these, grants that the remaining server does not know.
    lost: u64,
    /// Grants that the remaining server knows and no buyer was told of.
    unheard: u64,
    /// Until the end, so that `lost` can be shown as a span of time.
    grabs_per_second: f64,
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()).map(|table| println!("{table}")))
}

fn run(options: &Options) -> Result<Table, String> {
    let module = seckill_harness::program::module_file(options.module.clone())?;
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
    let chosen = |case: &&Case| case.what.contains(only) || case.setting.contains(only);
    for case in CASES.iter().filter(chosen) {
        if let Some(why) = missing(case, &module)? {
            eprintln!("{}, {}: skipped, {why}", case.what, case.setting);
            continue;
        }
        eprintln!("{}, {}: {} runs", case.what, case.setting, options.runs);
        let losses: Result<Vec<Loss>, String> =
            (0..options.runs).map(|_| one_run(case, &module, u64::from(options.grants))).collect();
        table.add_row(row(case, &losses?));
    }
    Ok(table)
}

/// What a case needs and this server has not: WAITAOF came with Redis 7.2 and is in every Valkey
/// since 8, COORDINATED with Valkey 9.
fn missing(case: &Case, module: &Path) -> Result<Option<&'static str>, String> {
    let has = match case.disaster {
        Disaster::HostDiesWaitForDisk => Wait::ReplicaDisk.is_offered(&Server::start(module, &[])?),
        Disaster::Sentinel { how: How::Coordinated, .. } => watched::has_coordinated(module)?,
        _ => true,
    };
    Ok((!has).then_some("this server has no such command"))
}

fn row(case: &Case, losses: &[Loss]) -> [String; 7] {
    let span = |number: fn(&Loss) -> u64, unit: &str| {
        let least = losses.iter().map(number).min().unwrap_or_default();
        let most = losses.iter().map(number).max().unwrap_or_default();
        if least == most {
            format!("{least}{unit}")
        } else {
            format!("{least} to {most}{unit}")
        }
    };
    [
        case.what.into(),
        case.setting.into(),
        span(|loss| loss.grabs_per_second as u64, ""),
        span(|loss| loss.acknowledged, ""),
        span(|loss| loss.lost, ""),
        span(|loss| (loss.lost as f64 / loss.grabs_per_second * 1000.0) as u64, " ms"),
        span(|loss| loss.unheard, ""),
    ]
}

fn one_run(case: &Case, module: &Path, grants: u64) -> Result<Loss, String> {
    match case.disaster {
        Disaster::Kill => killed(case, module, grants, false),
        Disaster::KillAfterSnapshot => killed(case, module, grants, true),
        Disaster::HostDies => failed_over(case, module, grants, Wait::No),
        Disaster::HostDiesWait => failed_over(case, module, grants, Wait::Replicas(1)),
        Disaster::HostDiesWaitForDisk => failed_over(case, module, grants, Wait::ReplicaDisk),
        Disaster::Partition => parted(case, module, grants),
        Disaster::KillOnSlowDisk => killed_on_slow_disk(case, module, grants),
        Disaster::Sentinel { replicas, how, wait } => {
            let watched = Watched::start(module, case.settings, replicas)?;
            let buyers = Buyers::start(watched.primary(), wait)?;
            buyers.reach(grants)?;
            let speed = buyers.speed();
            let new = watched.fail_over(how)?;
            // Clients who ask Sentinels have learned of it by now.
            buyers.leave();
            compare(&buyers.winners()?, new, speed)
        }
    }
}

/// Kill and restart; with `snapshot`, one is taken when half of the grants are there.
fn killed(case: &Case, module: &Path, grants: u64, snapshot: bool) -> Result<Loss, String> {
    let server = open_sale(module, case.settings)?;
    let buyers = Buyers::start(&server, Wait::No)?;
    if snapshot {
        buyers.reach(grants / 2)?;
        // SAVE and not BGSAVE, so that the moment is known; the buyers wait meanwhile.
        command(&server, &["SAVE"])?;
    }
    buyers.reach(grants)?;
    let speed = buyers.speed();
    server.kill();
    let told = buyers.winners()?;
    let server = server.restart()?;
    compare(&told, &server, speed)
}

/// As `killed`, but the disk has become slow some seconds before.
fn killed_on_slow_disk(case: &Case, module: &Path, grants: u64) -> Result<Loss, String> {
    let watch = Watch::build().ok_or("There is no cc to build a library with.")?;
    let words = watch.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let server = Server::start_through(&words, module, case.settings)?;
    init(&server)?;
    if !watch.works() {
        return Err("The server does not take the library that makes syncs slow.".into());
    }
    let buyers = Buyers::start(&server, Wait::No)?;
    watch.slow_down(SLOW_SYNC_MS, 0);
    buyers.reach(grants)?;
    thread::sleep(SLOW_FOR);
    let speed = buyers.speed();
    server.kill();
    let told = buyers.winners()?;
    watch.slow_down(0, 0);
    compare(&told, &server.restart()?, speed)
}

/// The primary and all that is on its way to the replica vanish together.
fn failed_over(case: &Case, module: &Path, grants: u64, wait: Wait) -> Result<Loss, String> {
    let pair = Pair::start(module, case.settings)?;
    let buyers = Buyers::start(&pair.primary, wait)?;
    buyers.reach(grants)?;
    let speed = buyers.speed();
    pair.link.cut();
    pair.primary.kill();
    let told = buyers.winners()?;
    command(&pair.replica, &["REPLICAOF", "NO", "ONE"])?;
    compare(&told, &pair.replica, speed)
}

/// The link is cut, the buyers go on until the primary stops them or the time is over.
fn parted(case: &Case, module: &Path, grants: u64) -> Result<Loss, String> {
    let pair = Pair::start(module, case.settings)?;
    let buyers = Buyers::start(&pair.primary, Wait::No)?;
    buyers.reach(grants)?;
    pair.link.cut();
    let over = Instant::now() + PARTITION;
    while Instant::now() < over && !buyers.all_gave_up() {
        thread::sleep(POLL_EVERY);
    }
    let speed = buyers.speed();
    pair.primary.kill();
    let told = buyers.winners()?;
    command(&pair.replica, &["REPLICAOF", "NO", "ONE"])?;
    compare(&told, &pair.replica, speed)
}

/// Holds what buyers were told against what the remaining server knows.
fn compare(told: &HashSet<String>, server: &Server, speed: f64) -> Result<Loss, String> {
    let kept = listed(server)?;
    Ok(Loss {
        acknowledged: told.len() as u64,
        lost: told.difference(&kept).count() as u64,
        unheard: kept.difference(told).count() as u64,
        grabs_per_second: speed,
    })
}

/// A primary with an open sale and, at the other end of a link, its replica.
struct Pair {
    primary: Server,
    replica: Server,
    link: Link,
}

impl Pair {
    fn start(module: &Path, settings: &[&str]) -> Result<Pair, String> {
        // What refuses writes without replicas is for the primary alone.
        let own = if settings.contains(&"--appendonly") { settings } else { &[] };
        let replica = Server::start(module, own)?;
        let mut all = vec!["--repl-diskless-sync-delay", "0"];
        all.extend(settings);
        let primary = Server::start(module, &all)?;
        let link = Link::to(primary.port(), LINK_DELAY)?;
        command(&replica, &["REPLICAOF", "127.0.0.1", &link.port().to_string()])?;
        // Also proves that the replica is there: with min-replicas it is refused until then.
        let deadline = Instant::now() + DEADLINE;
        while init(&primary).is_err() || !has_sale(&replica) {
            if Instant::now() > deadline {
                return Err("The replica does not follow its primary.".into());
            }
            thread::sleep(POLL_EVERY);
        }
        Ok(Pair { primary, replica, link })
    }
}

fn open_sale(module: &Path, settings: &[&str]) -> Result<Server, String> {
    let server = Server::start(module, settings)?;
    init(&server)?;
    Ok(server)
}

/// Opens the sale; the same again changes nothing.
pub fn init(server: &Server) -> Result<(), String> {
    command(server, &["SECKILL.INIT", KEY, &STOCK.to_string()])
}

pub fn has_sale(server: &Server) -> bool {
    command(server, &["SECKILL.STATUS", KEY]).is_ok()
}

pub fn command(server: &Server, words: &[&str]) -> Result<(), String> {
    let mut connection = server.connect()?;
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(word);
    }
    let name = words.first().copied().unwrap_or_default();
    let reply: Result<redis::Value, _> = command.query(&mut connection);
    reply.map(drop).map_err(|e| format!("{name} failed: {e}"))
}
