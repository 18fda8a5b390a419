//! Checks whether the machine is idle: figures from a busy machine mean nothing.

use std::thread;
use std::time::{Duration, Instant};

/// Load average of one minute above which a machine is busy.
pub const QUIET: f64 = 0.3;

/// Longest wait for an idle machine. After compiling, the load average needs about two minutes to
/// fall.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The load average of one minute, as Linux writes it; empty on other systems.
pub fn load_now() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// Whether a machine with this load is idle. False if the load is unknown.
pub fn is_quiet(load: &str) -> bool {
    load.parse::<f64>().is_ok_and(|load| load <= QUIET)
}

/// Waits until the machine is idle, before figures for a page are measured.
///
/// # Errors
/// A message if the machine stays busy.
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
