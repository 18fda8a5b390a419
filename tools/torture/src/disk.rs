//! Small disks in memory that can be filled up.
//!
//! This program runs itself in its own mount namespace. So its mounts are invisible to others and
//! end with it. That needs root, or a system that allows user namespaces. Without it, servers use
//! the normal disk, and no disk is filled.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seckill_harness::watch::Watch;

/// Environment variable for the program in the namespace: the folder of its disks.
const MARK: &str = "SECKILL_TORTURE_DISKS";
/// Possible folders for the disks. Inside the namespace their files are hidden.
const PLACES: [&str; 3] = ["/mnt", "/media", "/srv"];
const SIZE: &str = "size=192m,mode=0755";
const BLOCK: [u8; 4096] = [0; 4096];

/// Runs this program again in its own namespace, if possible. Returns if that is impossible, and
/// inside the namespace.
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
    // `exec` returns only if it fails; then there are no disks.
    let _ = Command::new("unshare")
        .args(*way)
        .arg(me)
        .args(env::args_os().skip(1))
        .env(MARK, place)
        .exec();
}

/// The first of these folders that has nothing which this program needs.
fn place() -> Option<PathBuf> {
    let needed = [env::current_exe().ok()?, env::current_dir().ok()?, env::temp_dir()];
    let mut places = PLACES.iter().map(PathBuf::from).filter(|place| place.is_dir());
    places.find(|place| !needed.iter().any(|path| path.starts_with(place)))
}

/// A disk of limited size, if possible, which can be slow and lose unsynced bytes.
pub struct Disk {
    /// The folder for servers' folders.
    pub place: PathBuf,
    /// Whether the disk can be filled up.
    pub is_limited: bool,
    /// The library that wraps the server's calls to this disk.
    pub watch: Watch,
}

impl Disk {
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

    pub fn fill(&self) {
        let Ok(mut ballast) = File::create(self.ballast()) else { return };
        while ballast.write_all(&BLOCK).is_ok() {}
    }

    pub fn free(&self) {
        // Fails if the file is missing.
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
