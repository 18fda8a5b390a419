//! Row 35: the file lock in 003's second scene, with the system's flock.

use std::fs::File;

use rustix::fs::{flock, FlockOperation};

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE};
use crate::strategies::counter::{get_then_decr, goods_books, goods_fill};
use crate::told::{lost, Fault::*, Reason::*, Stop, Told};

/// `fopen("/tmp/lock.txt", "r+")`; the second host has another /tmp.
fn fopen(b: &Buyer, host: usize) -> Result<File, Stop> {
    let file = b.house.folder.join(format!("lock-{host}.txt"));
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(file)
        .map_err(|e| Stop::Trouble(format!("no lock file: {e}")))
}

/// `flock($fp, LOCK_EX)`: waits until the lock is free. Closing the file releases it, and so does a
/// crash.
fn lock_ex(b: &mut Buyer, file: &File) -> Result<(), Stop> {
    // In the interleaver a buyer must not block in the kernel. A waiting buyer retries after
    // another buyer's step.
    while b.gate.is_held() && !try_lock(b, file)? {
        b.gate.pause();
    }
    flock(file, FlockOperation::LockExclusive).map_err(failed)
}

fn try_lock(b: &mut Buyer, file: &File) -> Result<bool, Stop> {
    b.step(|_| {
        let mine = flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok((mine, move || format!("flock -> {}", if mine { "mine" } else { "another has it" })))
    })
}

fn failed(error: rustix::io::Errno) -> Stop {
    Stop::Trouble(format!("flock: {error}"))
}

fn lock_un(b: &mut Buyer, file: &File) -> Result<(), Stop> {
    b.step(|_| {
        flock(file, FlockOperation::Unlock).map_err(failed)?;
        Ok(((), || "flock LOCK_UN".into()))
    })
}

/// `demo3`.
fn demo3(b: &mut Buyer, host: usize) -> Told {
    let file = fopen(b, host)?;
    lock_ex(b, &file)?;
    let told = get_then_decr(b)?;
    lock_un(b, &file)?;
    Ok(told)
}

/// 003, scene 2, `demo3`, with one host for the whole shop (row 35).
pub const L01: Contender = Contender {
    id: "L01",
    seed: "003 第二种场景, demo3",
    rows: "35",
    steps: "flock LOCK_EX; GET; if > 0: DECR; LOCK_UN",
    says: ("slow, FIFO, \"the best\"", "按照FIFO的顺序，最好的一种方案"),
    set_up: goods_fill,
    buy: |b| demo3(b, 0),
    books: goods_books,
    marked: &[CrashLosesUnit],
    note: (
        "the order in which waiters get the lock is the kernel's; exact on one host only",
        "等锁的顺序由内核决定；只在一台机器上准确",
    ),
    ..BASE
};

/// 003, scene 2, with two hosts (row 35): each has another file.
pub const L02: Contender = Contender {
    id: "L02",
    seed: "003 第二种场景, two hosts",
    steps: "the same on two hosts",
    origin: Origin::ShownWrong,
    says: ("fails", "只能针对当前的服务器加锁"),
    buy: |b| {
        let host = b.who % 2;
        demo3(b, host)
    },
    marked: &[Oversold, NegativeCounter, CrashLosesUnit],
    note: ("", ""),
    ..L01
};

/// 003, scene 2, with LOCK_NB, which 003 lacks (row 35). Without LOCK_NB its branch 活动过于火爆 can't be
/// reached.
pub const L03: Contender = Contender {
    id: "L03",
    seed: "003 第二种场景, with LOCK_NB",
    steps: "flock LOCK_EX | LOCK_NB; GET; if > 0: DECR; LOCK_UN",
    origin: Origin::Lab,
    says: ("too hot, try later", "活动过于火爆,请稍后重试"),
    buy: |b| {
        let file = fopen(b, 0)?;
        let mine = try_lock(b, &file)?;
        if !mine {
            return lost(Busy);
        }
        let told = get_then_decr(b)?;
        lock_un(b, &file)?;
        Ok(told)
    },
    marked: &[Undersold, Inversion, CrashLosesUnit],
    note: ("", ""),
    ..L01
};
