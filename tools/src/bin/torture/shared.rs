//! State that the clients' threads share with the thread that makes the faults.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::Mutex;

use seckill_harness::process::lock;

/// State that threads share.
#[derive(Default)]
pub struct Shared {
    /// Numbers moments, see `history`.
    pub clock: AtomicU64,
    /// The door to the primary of the day: which reign it is, and the port.
    pub door: Mutex<(u64, u16)>,
    /// A port that stays and leads to the primary of the day: libraries know no other.
    pub address: AtomicU16,
    pub calls: AtomicU64,
    /// Calls made by the other module in the server.
    pub by_module: AtomicU64,
    pub answers: AtomicU64,
    pub over: AtomicBool,
}

impl Shared {
    /// The next moment.
    pub fn moment(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Which primary clients are sent to.
    pub fn reign(&self) -> u64 {
        lock(&self.door).0
    }

    /// From now on clients go there.
    pub fn open_door(&self, reign: u64, port: u16) {
        *lock(&self.door) = (reign, port);
    }
}
