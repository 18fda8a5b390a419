//! The clock of this machine, which the servers use, too.

use std::time::{SystemTime, UNIX_EPOCH};

/// Current time in Unix ms.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}
