//! Servers of different versions together: `make matrix`. One reads the data of another, over the
//! replication link and from an RDB file. Each server decides which data it accepts; one that
//! refuses must log that.
//!
//! `SECKILL_MATRIX` names a folder with an executable file `<family>-<version>/server` for each.

use std::fs;
use std::path::PathBuf;

use seckill_harness::program::release;

use crate::support::assortment::{buy, fill, state};
use crate::support::shop::{number, wait_for_no_holds};
use crate::support::{wait_until, Options, Server};

/// Log lines of servers about an RDB file that they can't read.
const FOREIGN: [&str; 3] =
    ["Can't handle RDB format version", "can't handle RDB format version", "Wrong signature"];
/// The oldest server version that can load the module.
const OLDEST: [u32; 2] = [7, 0];

/// One server of the folder.
struct Kind {
    name: String,
    family: String,
    version: Vec<u32>,
    program: PathBuf,
}

impl Kind {
    fn options(&self) -> Options {
        Options::new().program(&self.program)
    }

    /// Whether `other` is of this family and not older.
    fn is_at_most(&self, other: &Kind) -> bool {
        self.family == other.family && self.version <= other.version
    }
}

/// All servers of the folder by family and version.
fn kinds() -> Vec<Kind> {
    let folder = std::env::var("SECKILL_MATRIX").expect("SECKILL_MATRIX names a folder of servers");
    let kind = |entry: fs::DirEntry| {
        let (path, name) = (entry.path().join("server"), entry.file_name().into_string().ok()?);
        // Other servers may lie there, too: `make orders-test` needs MySQL.
        let (family, version) = release(&name)?;
        path.is_file().then_some(Kind { family, version, program: path, name })
    };
    let entries = fs::read_dir(folder).expect("a folder that can be read");
    let mut kinds: Vec<Kind> = entries.filter_map(|entry| kind(entry.ok()?)).collect();
    kinds.sort_by_key(|kind| (kind.family.clone(), kind.version.clone()));
    assert!(!kinds.is_empty(), "no server in the folder");
    kinds
}

fn supported() -> Vec<Kind> {
    let is_supported = |kind: &Kind| kind.version[..2] >= OLDEST[..];
    kinds().into_iter().filter(is_supported).collect()
}

fn says_foreign(log: &str) -> bool {
    FOREIGN.iter().any(|text| log.contains(text))
}

/// Prints the result of a pair as a line for the table.
fn tell(what: &str, from: &Kind, to: &Kind, outcome: &str) {
    println!("{what} {} {} {outcome}", from.name, to.name);
}

/// Attaches a replica. False if it can't read the primary's RDB file.
fn follows(primary: &Server, replica: &Server) -> bool {
    assert_eq!(replica.call(&format!("REPLICAOF 127.0.0.1 {}", primary.port())), "+OK");
    let mut up = false;
    wait_until("the link is up or refused", || {
        up = replica.info("replication", "master_link_status") == "up";
        up || says_foreign(&replica.log())
    });
    up
}

/// A full resync, changes over the link, due holds, a promotion, and changes after it.
fn replicate(from: &Kind, to: &Kind) -> &'static str {
    let (mut primary, replica) = (from.options().start(), to.options().start());
    fill(&primary);
    if !follows(&primary, &replica) {
        return "refused";
    }
    buy(&primary, "linked");
    let mut conn = primary.conn();
    assert_eq!(conn.call("SECKILL.INIT brief 50 HOLD 50"), "+OK");
    for step in 0..20 {
        assert_eq!(conn.cmd(&format!("SECKILL.GRAB brief u{step}")).items()[3].text(), "HELD");
    }
    wait_for_no_holds(&primary, "brief");
    replica.wait_in_sync(&primary);
    assert_eq!(state(&replica), state(&primary), "{} to {}", from.name, to.name);
    assert_eq!(replica.digest("brief"), primary.digest("brief"));
    replica.assert_took_all();
    let grants = number(&mut conn, "holds", "grants");
    primary.kill9();
    assert_eq!(replica.call("REPLICAOF NO ONE"), "+OK");
    buy(&replica, "promoted");
    assert!(number(&mut replica.conn(), "holds", "grants") > grants, "the promoted one sells");
    state(&replica);
    "equal"
}

/// One server loads an RDB file of another.
fn load(from: &Kind, to: &Kind) -> &'static str {
    let mut writer = from.options().start();
    fill(&writer);
    let before = state(&writer);
    writer.stop(true);
    let file = fs::read(writer.folder().join("dump.rdb")).expect("a snapshot");
    let mut reader = to.options().start();
    reader.stop(false);
    fs::write(reader.folder().join("dump.rdb"), file).expect("a writable folder");
    if let Err(log) = reader.try_start_again() {
        assert!(says_foreign(&log), "{} to {}: {log}", from.name, to.name);
        return "refused";
    }
    assert_eq!(state(&reader), before, "{} to {}", from.name, to.name);
    buy(&reader, "loaded");
    state(&reader);
    "equal"
}

fn each_pair(what: &str, pair: fn(&Kind, &Kind) -> &'static str) {
    let kinds = supported();
    for from in &kinds {
        for to in &kinds {
            let outcome = pair(from, to);
            tell(what, from, to, outcome);
            let must = from.is_at_most(to);
            assert!(!must || outcome == "equal", "{} to {}: {outcome}", from.name, to.name);
        }
    }
}

#[test]
#[ignore = "needs servers of several versions: make matrix"]
fn replicas_of_other_versions_are_equal() {
    each_pair("replica", replicate);
}

#[test]
#[ignore = "needs servers of several versions: make matrix"]
fn snapshots_of_other_versions_load() {
    each_pair("snapshot", load);
}

/// An older server: the module refuses to load with a message, and the server exits normally.
#[test]
#[ignore = "needs servers of several versions: make matrix"]
fn older_servers_refuse_to_load_it() {
    let is_older = |kind: &Kind| kind.version[..2] < OLDEST[..];
    let older: Vec<Kind> = kinds().into_iter().filter(is_older).collect();
    assert!(!older.is_empty(), "no server below the floor in the folder");
    for kind in older {
        // The tests' default settings have lines that an older server does not know.
        let started = kind.options().base("save \"\"").try_start();
        let log = started.err().unwrap_or_else(|| panic!("{} loaded it", kind.name));
        assert!(
            log.contains("seckill needs Redis 7.0 or newer, or Valkey"),
            "{}: {log}",
            kind.name
        );
        assert!(!log.contains("BUG REPORT"), "{}: {log}", kind.name);
        println!("refuses {} {} refused", kind.name, kind.name);
    }
}
