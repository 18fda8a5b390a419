//! Reads the sale during a rush: the law must hold at every time, not only in the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use redis::{Client, Connection};

use seckill_crowd::sale::{number, status};

/// Interval of reads: short enough to follow a rush, long enough not to slow it down.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The result of the work, and the number of reads.
pub struct Watched<T> {
    pub outcome: T,
    pub looks: u64,
}

/// Runs `work` and reads the sale until it is done.
///
/// # Errors
/// A message about a forbidden state, or the error of `work`.
pub fn during<T>(
    client: &Client,
    key: &str,
    budget: u64,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<Watched<T>, String> {
    let mut connection = client.get_connection().map_err(|e| format!("No connection: {e}"))?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut looks = 0;
            while !done.load(Ordering::Relaxed) {
                look(&mut connection, key, budget)?;
                looks += 1;
                thread::sleep(LOOK_EVERY);
            }
            Ok(looks)
        });
        let outcome = work();
        done.store(true, Ordering::Relaxed);
        let looks: Result<u64, String> = watcher.join().map_err(|_| "The watcher failed.")?;
        Ok(Watched { outcome: outcome?, looks: looks? })
    })
}

fn look(connection: &mut Connection, key: &str, budget: u64) -> Result<(), String> {
    let status = status(connection, key)?;
    let [supply, available, held, sold] =
        ["/supply", "/available", "/held", "/sold"].map(|path| number(&status, path));
    let (supply, available, held, sold) = (supply?, available?, held?, sold?);
    if supply != budget || sold > budget || available + held + sold != supply {
        return Err(format!(
            "Seen while they clicked: supply {supply}, available {available}, held {held}, sold \
             {sold}, with a budget of {budget}."
        ));
    }
    Ok(())
}
