//! The stop signals SIGTERM and Ctrl-C. A second signal ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Set by SIGTERM or Ctrl-C.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Registers the signal handlers.
    ///
    /// # Errors
    /// An error message if the signal handlers can't be registered.
    pub fn on_signals() -> Result<Stop, String> {
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // The order matters: the first signal finds the flag unset and sets it, without ending
            // the program.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&told))
                .and_then(|_| flag::register(signal, Arc::clone(&told)))
                .map_err(|e| format!("no signals can be listened to: {e}"))?;
        }
        Ok(Stop(told))
    }

    /// Stops as a signal does.
    pub fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
