//! Progress of the lab: a bar on a terminal, otherwise a line now and then.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    last_line: Option<Instant>,
}

impl Progress {
    pub fn new(steps: u64) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(steps) } else { ProgressBar::hidden() };
        bar.set_length(steps);
        if let Ok(style) = ProgressStyle::with_template(
            "{elapsed:>4} {bar:30} {pos}/{len}  {msg}  (about {eta} left)",
        ) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar, begun: Instant::now(), last_line: (!terminal).then(Instant::now) }
    }

    /// Begins the next step.
    pub fn at(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        if self.last_line.is_some_and(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            eprintln!("{:>4} s  {done}/{all}  {what}", self.begun.elapsed().as_secs());
        }
    }

    pub fn done(&self) {
        self.bar.inc(1);
    }

    /// Prints a line above the progress bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    pub fn seconds(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }
}
