//! Tests of the disk library with another program than a server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use seckill_harness::watch::{Breaks, Watch};

/// Appends 100 bytes to a file, with or without a sync.
fn append(words: &[String], file: &Path, how: &str) {
    let (done, said) = try_to_append(words, file, how);
    assert!(done, "{said}");
}

/// Tries to append. Returns whether it succeeded, and the output of `dd`.
fn try_to_append(words: &[String], file: &Path, how: &str) -> (bool, String) {
    let of = format!("of={}", file.display());
    let mut dd = Command::new(&words[0]);
    dd.args(&words[1..]).args(["dd", "if=/dev/zero", "bs=100", "count=1", "oflag=append", &of]);
    let done = dd.arg(format!("conv=notrunc{how}")).output().expect("dd runs");
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn it_is_known_what_is_on_the_disk() {
    let watch = Watch::build();
    let words = watch.words();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log");
    append(&words, &file, "");
    assert_eq!(watch.synced(&file), (0, 0));
    assert!(!watch.works(), "nothing was synced");
    for (how, synced) in [(",fdatasync", 200), ("", 200), (",fsync", 400), ("", 400)] {
        append(&words, &file, how);
        assert_eq!(watch.synced(&file).0, synced);
        assert!(watch.synced(&file).1 > 1_700_000_000_000, "Unix ms");
    }
    assert_eq!(fs::metadata(&file).expect("a file").len(), 500);
    assert!(watch.works());
    watch.words();
    assert!(!watch.works());
    assert_eq!(watch.synced(&file), (0, 0), "another server's files");
}

#[test]
fn a_disk_is_as_slow_as_it_is_told_to_be() {
    let watch = Watch::build();
    let words = watch.words();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log");
    for (delays, how, least) in
        [((400, 0), ",fdatasync", 400), ((0, 300), "", 300), ((300, 200), ",fsync", 500)]
    {
        watch.slow_down(delays.0, delays.1);
        let since = Instant::now();
        append(&words, &file, how);
        assert!(since.elapsed() >= Duration::from_millis(least), "{:?}", since.elapsed());
    }
}

#[test]
fn a_disk_breaks_once() {
    let watch = Watch::build();
    let words = watch.words();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log");
    let length = || fs::metadata(&file).map_or(0, |file| file.len());
    for how in [Breaks::Sync, Breaks::Write] {
        watch.break_once(how);
        let (done, said) = try_to_append(&words, &file, ",fdatasync");
        assert!(!done && said.contains("Input/output error"), "{said}");
        assert_eq!(length(), 100, "{how:?}");
        assert!(!watch.mend(), "it has failed");
    }
    // The first write is done in half; dd writes the rest, which fails.
    watch.break_once(Breaks::Short);
    watch.break_once(Breaks::Write);
    assert!(!try_to_append(&words, &file, ",fdatasync").0);
    assert_eq!(length(), 150, "a half");
    append(&words, &file, ",fdatasync");
    assert_eq!((length(), watch.synced(&file).0), (250, 250), "once");
    watch.break_once(Breaks::Sync);
    append(&words, &file, "");
    assert!(watch.mend(), "nothing was synced");
    append(&words, &file, ",fdatasync");
}
