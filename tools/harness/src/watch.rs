//! System calls of a server to its disk. A small library (watch.c) stands before the server's own
//! calls: it makes them slow or fail when it is told to, and notes how much of each file is
//! certainly on the disk. So a disk can be slow or break, and power can fail: bytes that were not
//! synced are gone then.
//!
//! The library is built here, by the compiler that building the module needs, too. Where there is
//! none, or a server does not take the library, disks are neither slow nor lose anything.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

const SOURCE: &str = include_str!("watch.c");
/// The file that tells the library how slow to be, and which calls fail: numbers of 32 bits.
const ORDERS: &str = "orders";
/// How many numbers it has.
const NUMBERS: usize = 5;

/// The single failure of a disk that breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// A sync of a file is an error (EIO).
    Sync,
    /// A write to a file is an error (EIO).
    Write,
    /// A write to a file writes only a half.
    Short,
}

/// The library before one server.
pub struct Watch {
    library: PathBuf,
    /// Where the library notes what is on the disk.
    notes: TempDir,
}

impl Watch {
    /// Builds the library; `None` if that can't be done.
    pub fn build() -> Option<Watch> {
        let notes = tempfile::Builder::new().prefix("seckill-watch-").tempdir().ok()?;
        let (source, library) = (notes.path().join("watch.c"), notes.path().join("watch.so"));
        fs::write(&source, SOURCE).ok()?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
        let built = compiler.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        built.success().then_some(Watch { library, notes })
    }

    /// The words in front of the server's command line. Notes about earlier files are forgotten.
    pub fn words(&self) -> Vec<String> {
        // A note that stays is written again by the first sync of a file with that number.
        self.all_notes().for_each(|note| drop(fs::remove_file(note)));
        let _ = fs::write(self.place(ORDERS), [0; 4 * NUMBERS]);
        let preload = format!("LD_PRELOAD={}", self.library.display());
        let folder = format!("SECKILL_WATCH={}", self.notes.path().display());
        vec!["env".into(), preload, folder]
    }

    /// Whether the server has taken the library: then it has noted something. A server that keeps
    /// a log syncs files already when it starts.
    pub fn works(&self) -> bool {
        self.all_notes().next().is_some()
    }

    /// Notes are named by the number of the file's inode.
    fn all_notes(&self) -> impl Iterator<Item = PathBuf> {
        let files = fs::read_dir(self.notes.path()).into_iter().flatten().flatten();
        let is_note = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        files.map(|file| file.path()).filter(move |path| path.file_name().is_some_and(is_note))
    }

    /// From now on every sync and every write to a file takes this many milliseconds longer.
    pub fn slow_down(&self, sync_ms: u32, write_ms: u32) {
        self.order(0, sync_ms);
        self.order(1, write_ms);
    }

    /// The next call of that kind goes wrong.
    pub fn break_once(&self, how: Breaks) {
        self.order(2 + how as usize, 1);
    }

    /// Whether some call is still to go wrong. From now on none does.
    pub fn mend(&self) -> bool {
        let orders = fs::read(self.place(ORDERS)).unwrap_or_default();
        (2..NUMBERS).for_each(|place| self.order(place, 0));
        orders.get(8..).is_some_and(|left| left.iter().any(|byte| *byte > 0))
    }

    /// Writes one of the numbers.
    fn order(&self, place: usize, number: u32) {
        // The server looks at these very bytes: the file must not get shorter in between.
        let file = OpenOptions::new().write(true).open(self.place(ORDERS));
        let _ = file.and_then(|file| file.write_all_at(&number.to_ne_bytes(), 4 * place as u64));
    }

    /// How many bytes of the file are certainly on the disk, and when the sync that brought them
    /// there began, Unix ms; zeros when it was never synced.
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
