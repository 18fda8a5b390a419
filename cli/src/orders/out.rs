//! Entries as lines of JSON on standard output. A reader acknowledges an entry by writing the
//! number of its line to standard input, for example when a broker has stored it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{stdin, stdout, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::stream::Message;
use crate::connect::Failure;
use crate::print::tell;

/// The reader of the printed lines.
#[derive(Default)]
pub struct Out {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the last line.
    last: u64,
    /// Lines whose number has not been acknowledged yet.
    open: HashSet<u64>,
    /// Standard input has ended: no number comes back any more.
    is_over: bool,
}

impl Out {
    /// Reads standard input until it ends or the program ends.
    pub fn start() -> Arc<Out> {
        let out = Arc::new(Out::default());
        let listening = Arc::clone(&out);
        thread::spawn(move || {
            for line in stdin().lines() {
                match line.as_deref().map(|line| line.trim().parse::<u64>()) {
                    Ok(Ok(number)) => drop(listening.lock().open.remove(&number)),
                    Ok(Err(_)) => tell!("standard input: no number of a line: {line:?}"),
                    Err(_) => break,
                }
                listening.came.notify_all();
            }
            listening.lock().is_over = true;
            listening.came.notify_all();
        });
        out
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints entries of a stream, and returns the numbers of their lines.
    ///
    /// # Errors
    /// If standard output is closed.
    pub fn print(&self, stream: &str, entries: &[&Message]) -> Result<Vec<u64>, Failure> {
        let mut state = self.lock();
        let mut numbers = Vec::with_capacity(entries.len());
        let mut lines = String::new();
        for entry in entries {
            state.last += 1;
            let number = state.last;
            lines += &line(number, stream, &entry.fields);
            state.open.insert(number);
            numbers.push(number);
        }
        // One write under the lock, so that lines of several streams don't mix.
        let mut out = stdout().lock();
        let printed = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
        printed.map_err(|e| Failure::lasting(format!("nobody reads standard output: {e}")))?;
        Ok(numbers)
    }

    /// Waits for `moment`, then returns those of `numbers` that are not acknowledged.
    ///
    /// # Errors
    /// If standard input has ended, so that nothing more can be acknowledged.
    pub fn still_open(&self, numbers: &[u64], moment: Duration) -> Result<Vec<u64>, Failure> {
        let is_open = |state: &State| numbers.iter().any(|number| state.open.contains(number));
        let mut state = self.lock();
        if is_open(&state) && !state.is_over {
            let waited = self.came.wait_timeout(state, moment);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let open: Vec<u64> =
            numbers.iter().copied().filter(|number| state.open.contains(number)).collect();
        match state.is_over && (!open.is_empty() || numbers.is_empty()) {
            true => Err(Failure::lasting(
                "standard input has ended: the numbers of lines are to come back there",
            )),
            false => Ok(open),
        }
    }
}

/// An entry as a JSON object. `data` is JSON already. A value that is not UTF-8 is written in
/// hexadecimal digits, and `_hex` is added to its name: `user_hex`.
fn line(number: u64, stream: &str, fields: &[Vec<u8>]) -> String {
    let mut line = format!("{{\"line\":{number},\"stream\":{}", quoted(stream));
    for pair in fields.chunks_exact(2) {
        let name = String::from_utf8_lossy(&pair[0]);
        // Writing to a string can't fail.
        let _ = match std::str::from_utf8(&pair[1]) {
            Ok(json) if name == "data" => write!(line, ",\"data\":{json}"),
            Ok(text) => write!(line, ",{}:{}", quoted(&name), quoted(text)),
            Err(_) => {
                let digits: String = pair[1].iter().map(|byte| format!("{byte:02x}")).collect();
                write!(line, ",{}:\"{digits}\"", quoted(&format!("{name}_hex")))
            }
        };
    }
    line + "}\n"
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_is_an_object_whatever_users_chose() {
        let fields: [&[u8]; 8] =
            [b"event", b"GRANT", b"data", b"{\"rev\":2}", b"user", b"a\"\n", b"req", b"\xff\x00"];
        let text = line(7, "s:o", &fields.map(<[u8]>::to_vec));
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let expected = serde_json::json!({
            "line": 7, "stream": "s:o", "event": "GRANT", "data": {"rev": 2}, "user": "a\"\n",
            "req_hex": "ff00",
        });
        assert_eq!(read, expected);
    }
}
