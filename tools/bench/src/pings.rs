//! Waits of other clients: PINGs on one connection, one each millisecond.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::launch::connect;

/// Name of the PINGs to a server that does nothing else.
pub const IDLE: &str = "idle";
const IDLE_PINGS: usize = 1_000;
const EVERY: Duration = Duration::from_millis(1);

/// Microseconds of each PING.
pub struct Pings(Vec<f64>);

impl Pings {
    /// Sends PINGs to an idle server.
    pub fn alone(port: u16) -> Result<Pings, String> {
        Pings::while_it(port, |took| took < IDLE_PINGS)
    }

    /// Sends PINGs from before `deed` begins until it ends.
    pub fn beside(port: u16, deed: impl FnOnce() -> Result<(), String>) -> Result<Pings, String> {
        let (begun, done) = (Barrier::new(2), AtomicBool::new(false));
        thread::scope(|scope| {
            let pinging = scope.spawn(|| {
                let pinged = Pings::while_it(port, |took| took < 1);
                begun.wait();
                pinged?;
                Pings::while_it(port, |took| took == 0 || !done.load(Ordering::SeqCst))
            });
            begun.wait();
            let did = deed();
            done.store(true, Ordering::SeqCst);
            let pinged = pinging.join().map_err(|_| "The PINGs failed inside.".to_owned())?;
            did.and(pinged)
        })
    }

    /// Sends PINGs while `goes_on` returns true for their number.
    fn while_it(port: u16, goes_on: impl Fn(usize) -> bool) -> Result<Pings, String> {
        let mut connection = connect(port)?;
        let mut ping = || {
            let pong = redis::cmd("PING").query::<String>(&mut connection);
            pong.map_err(|e| format!("PING failed: {e}"))
        };
        ping()?;
        let mut took = Vec::new();
        while goes_on(took.len()) {
            thread::sleep(EVERY);
            let start = Instant::now();
            ping()?;
            took.push(start.elapsed().as_secs_f64() * 1e6);
        }
        Ok(Pings(took))
    }

    pub fn p999_ms(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        let place = (self.0.len() as f64 * 0.999) as usize;
        self.0[place.min(self.0.len() - 1)] / 1e3
    }

    pub fn max_ms(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max) / 1e3
    }
}
