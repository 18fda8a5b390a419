//! Disk calls of a server. A small preloaded library (watch.c) wraps the server's writes and syncs.
//! The library can delay calls or make them fail, and it records how much of each file was synced.
//! So tests can have a slow or failing disk, or a power cut that loses unsynced bytes. If a server
//! does not load the library, disks stay normal.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::other_module;

/// The file with the library's settings: delays and failing calls, numbers of 32 bits.
const ORDERS: &str = "orders";
/// The number of settings in that file.
const NUMBERS: usize = 5;

/// A single failure of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// fsync of a file fails with EIO.
    Sync,
    /// A write to a file fails with EIO.
    Write,
    /// A write to a file writes only half of the bytes.
    Short,
}

/// The library of one server.
pub struct Watch {
    library: PathBuf,
    /// The folder of the library's records about synced bytes.
    notes: TempDir,
}

impl Watch {
    pub fn build() -> Watch {
        let notes = tempfile::Builder::new().prefix("seckill-watch-").tempdir();
        Watch { library: other_module::built("watch"), notes: notes.expect("a folder") }
    }

    /// The command that runs the server's command line with the library. Deletes records about
    /// earlier files.
    pub fn words(&self) -> Vec<String> {
        // A record that can't be deleted is overwritten by the next sync of a file with that inode.
        self.all_notes().for_each(|note| drop(fs::remove_file(note)));
        let _ = fs::write(self.place(ORDERS), [0; 4 * NUMBERS]);
        let preload = format!("LD_PRELOAD={}", self.library.display());
        let folder = format!("SECKILL_WATCH={}", self.notes.path().display());
        vec!["env".into(), preload, folder]
    }

    /// Whether the server has loaded the library: then there is a record. A server with an AOF
    /// syncs files at its start.
    pub fn works(&self) -> bool {
        self.all_notes().next().is_some()
    }

    /// All records. Each is named by the inode number of its file.
    fn all_notes(&self) -> impl Iterator<Item = PathBuf> {
        let files = fs::read_dir(self.notes.path()).into_iter().flatten().flatten();
        let is_note = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        files.map(|file| file.path()).filter(move |path| path.file_name().is_some_and(is_note))
    }

    /// From now on every sync and every write of a file takes this many milliseconds longer.
    pub fn slow_down(&self, sync_ms: u32, write_ms: u32) {
        self.order(0, sync_ms);
        self.order(1, write_ms);
    }

    /// Makes the next call of that kind fail.
    pub fn break_once(&self, how: Breaks) {
        self.order(2 + how as usize, 1);
    }

    /// Cancels failures that have not occurred yet. Returns whether there were any.
    pub fn mend(&self) -> bool {
        let orders = fs::read(self.place(ORDERS)).unwrap_or_default();
        (2..NUMBERS).for_each(|place| self.order(place, 0));
        orders.get(8..).is_some_and(|left| left.iter().any(|byte| *byte > 0))
    }

    fn order(&self, place: usize, number: u32) {
        // The server has this file mapped, so it must never be shorter.
        let file = OpenOptions::new().write(true).open(self.place(ORDERS));
        let _ = file.and_then(|file| file.write_all_at(&number.to_ne_bytes(), 4 * place as u64));
    }

    /// How many bytes of the file are synced, and when that sync began (Unix ms). Zeros if it was
    /// never synced.
    pub fn synced(&self, file: &Path) -> (u64, u64) {
        let note = fs::metadata(file).map(|file| self.place(&file.ino().to_string()));
        let text = note.and_then(fs::read_to_string).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    fn place(&self, name: &str) -> PathBuf {
        self.notes.path().join(name)
    }
}
