//! Whether the machine has other work: figures of a busy one are not printed as if they meant
//! something.

use std::thread;
use std::time::{Duration, Instant};

/// The load average of the last minute above which a machine is busy.
pub const QUIET: f64 = 0.3;

/// The compiler's own load needs about two minutes to leave the average.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The load average of the last minute, as Linux writes it; empty elsewhere.
pub fn load_now() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// Whether a machine with this load has no other work. Where the load is not known it has.
pub fn is_quiet(load: &str) -> bool {
    load.parse::<f64>().is_ok_and(|load| load <= QUIET)
}

/// Waits until the machine is quiet, for the figures of a page.
///
/// # Errors
/// A message, when it stays busy.
pub fn wait_until_quiet() -> Result<(), String> {
    wait(PATIENCE, load_now)
}

fn wait(patience: Duration, load: impl Fn() -> String) -> Result<(), String> {
    let deadline = Instant::now() + patience;
    let mut told = false;
    loop {
        let now = load();
        if is_quiet(&now) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(format!(
                "This machine has other work: its load is {now}, above {QUIET}, and the page \
                 would print figures of that. End the other work, or say --busy."
            ));
        }
        if !std::mem::replace(&mut told, true) {
            eprintln!("The load is {now}: waiting up to 5 minutes until it is {QUIET} or less.");
        }
        thread::sleep(LOOK_EVERY.min(patience));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_refused_in_words_and_a_quiet_one_taken() {
        let refused = wait(Duration::ZERO, || "0.31".into());
        assert!(refused.is_err_and(|why| why.contains("load is 0.31, above 0.3")));
        assert_eq!(wait(Duration::ZERO, || "0.30".into()), Ok(()));
        assert!(wait(Duration::ZERO, String::new).is_err());
    }
}
