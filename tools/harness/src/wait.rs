//! Waiting on conditions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::valgrind;

/// Longest wait for any condition. The limit is long, because several servers share two cores. A
/// passing test never waits that long.
const DEADLINE: Duration = Duration::from_secs(30);

/// [`DEADLINE`], longer for servers that run under valgrind.
pub fn deadline() -> Duration {
    DEADLINE * valgrind::times_slower()
}

const PAUSE: Duration = Duration::from_millis(2);

/// Returns as soon as `condition` holds; panics with `what` if the deadline passes.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(holds_in_time(condition), "waited {:?} in vain until {what}", deadline());
}

/// Returns as soon as `condition` holds; an error of it means that it does not hold yet.
pub fn until(
    what: &str,
    mut condition: impl FnMut() -> Result<bool, String>,
) -> Result<(), String> {
    let mut trouble = String::new();
    let holds = holds_in_time(|| {
        let held = condition();
        held.unwrap_or_else(|why| {
            trouble = why;
            false
        })
    });
    holds.then_some(()).ok_or_else(|| format!("Waited in vain until {what}. {trouble}"))
}

/// Whether `condition` comes to hold before the deadline.
pub fn holds_in_time(condition: impl FnMut() -> bool) -> bool {
    holds_within(deadline(), condition)
}

/// Whether `condition` comes to hold in this time.
pub fn holds_within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The clock of this machine, which the servers use, too, in Unix ms.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

/// Sets its flag when it is dropped, also in a panic. So a thread that waits for the flag ends with
/// its test.
pub struct SetAtEnd<'f>(pub &'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
