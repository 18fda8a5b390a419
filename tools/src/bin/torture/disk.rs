//! Disks that can be filled up, made of memory.
//!
//! This program runs itself in a mount namespace of its own, so what it mounts is seen by nobody
//! else and vanishes with it, however it ends. That takes root, or a system that lets users have
//! namespaces. Where it can't be had, servers use the ordinary disk and no disk is filled.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seckill_harness::watch::Watch;

/// Tells the program that runs in the namespace where its disks are to be.
const MARK: &str = "SECKILL_TORTURE_DISKS";
/// Where the disks may be, seen from inside only: what lies there is hidden from this program.
const PLACES: [&str; 3] = ["/mnt", "/media", "/srv"];
const SIZE: &str = "size=192m,mode=0755";
const BLOCK: [u8; 4096] = [0; 4096];

/// Runs this program again in a namespace of its own, if that is possible. Comes back if not, and
/// in the one that runs there.
pub fn move_in() {
    if env::var_os(MARK).is_some() {
        return;
    }
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let Some(place) = place() else { return };
    let works = |way: &&&[&str]| {
        let mut probe = Command::new("unshare");
        probe.args(**way).args(["mount", "-t", "tmpfs", "-o", SIZE, "seckill"]).arg(&place);
        let tried = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    let (Some(way), Ok(me)) = (ways.iter().find(works), env::current_exe()) else { return };
    // Comes back only if it fails: then there are no disks.
    let _ = Command::new("unshare")
        .args(*way)
        .arg(me)
        .args(env::args_os().skip(1))
        .env(MARK, place)
        .exec();
}

/// A place that has nothing which this program needs.
fn place() -> Option<PathBuf> {
    let needed = [env::current_exe().ok()?, env::current_dir().ok()?, env::temp_dir()];
    let mut places = PLACES.iter().map(PathBuf::from).filter(|place| place.is_dir());
    places.find(|place| !needed.iter().any(|path| path.starts_with(place)))
}

/// A disk of limited size, if there can be one, that can be slow and forget what was not synced.
pub struct Disk {
    place: PathBuf,
    is_limited: bool,
    /// The library that watches the server's calls to this disk.
    pub watch: Option<Watch>,
}

impl Disk {
    /// Mounts the disk of that number.
    pub fn mount(number: usize) -> Disk {
        let limited = Disk::mount_limited(number);
        let is_limited = limited.is_some();
        Disk { place: limited.unwrap_or_else(env::temp_dir), is_limited, watch: Watch::build() }
    }

    fn mount_limited(number: usize) -> Option<PathBuf> {
        let base = env::var_os(MARK).map(PathBuf::from)?;
        if number == 0 && !mount_on(&base) {
            return None;
        }
        let place = base.join(number.to_string());
        let made = fs::create_dir(&place).is_ok() && mount_on(&place);
        made.then_some(place)
    }

    /// Where servers have their folders.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Whether the disk can be filled up.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Leaves no room.
    pub fn fill(&self) {
        let Ok(mut ballast) = File::create(self.ballast()) else { return };
        while ballast.write_all(&BLOCK).is_ok() {}
    }

    /// Makes room again.
    pub fn free(&self) {
        // Fails when there is none.
        let _ = fs::remove_file(self.ballast());
    }

    fn ballast(&self) -> PathBuf {
        self.place.join("ballast")
    }
}

fn mount_on(place: &Path) -> bool {
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "seckill"]).arg(place).status();
    mount.is_ok_and(|status| status.success())
}
