//! State shared by the clients' threads and the thread that causes faults.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::Mutex;

use seckill_harness::process::lock;

#[derive(Default)]
pub struct Shared {
    /// The counter of times, see `history`.
    pub clock: AtomicU64,
    /// The number of the current reign, and the port of its primary for clients.
    pub door: Mutex<(u64, u16)>,
    /// A constant port that leads to the current primary, for libraries.
    pub address: AtomicU16,
    pub calls: AtomicU64,
    /// Number of calls made by the other module in the server.
    pub by_module: AtomicU64,
    pub answers: AtomicU64,
    pub over: AtomicBool,
}

impl Shared {
    pub fn moment(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    pub fn reign(&self) -> u64 {
        lock(&self.door).0
    }

    /// From now on clients connect to this port.
    pub fn open_door(&self, reign: u64, port: u16) {
        *lock(&self.door) = (reign, port);
    }
}
