//! Metrics for Prometheus, and their text formats.

use std::fmt::Write;

use procfs::process::Process;
use procfs::WithCurrentSystemInfo;

use crate::web::{Answer, Asked, OPENMETRICS};

/// Whether a number may go down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that may fall.
    Gauge,
    /// A number that only grows. Its name gets the suffix `_total`.
    Counter,
}

/// Names and values of labels.
pub type Labels = Vec<(&'static str, String)>;

/// All numbers of one name.
#[derive(Clone, Debug)]
pub struct Family {
    /// Without `_total`.
    pub name: String,
    pub help: &'static str,
    pub kind: Kind,
    pub rows: Vec<(Labels, f64)>,
}

/// A number of a `T` for Prometheus: its name after the prefix, its kind, its description, its
/// value.
pub type Shown<T> = (&'static str, Kind, &'static str, fn(&T) -> Option<f64>);

/// A family for each line of `table`. Labels distinguish the items of `all`.
pub fn families<T>(prefix: &str, table: &[Shown<T>], all: &[(Labels, &T)]) -> Vec<Family> {
    let family = |&(name, kind, help, number): &Shown<T>| {
        Family::of(format!("{prefix}{name}"), kind, help, all, number)
    };
    table.iter().map(family).collect()
}

impl Family {
    /// One row for each of `all` that has the number.
    pub fn of<T>(
        name: impl Into<String>,
        kind: Kind,
        help: &'static str,
        all: &[(Labels, &T)],
        number: impl Fn(&T) -> Option<f64>,
    ) -> Family {
        let row = |(labels, one): &(Labels, &T)| Some((labels.clone(), number(one)?));
        Family { name: name.into(), help, kind, rows: all.iter().filter_map(row).collect() }
    }

    /// One row for each of `all` and each of the `words` of one more label with a number.
    pub fn by_word<T>(
        name: &str,
        kind: Kind,
        help: &'static str,
        (label, words): (&'static str, &[&str]),
        all: &[(Labels, &T)],
        number: impl Fn(&T, &str) -> Option<f64>,
    ) -> Family {
        let mut rows = Vec::new();
        for (labels, one) in all {
            for word in words {
                let labels = [labels.as_slice(), &[(label, (*word).to_owned())]].concat();
                rows.extend(number(one, word).map(|number| (labels, number)));
            }
        }
        Family { name: name.to_owned(), help, kind, rows }
    }
}

/// 1 means yes.
pub fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// The two text formats of Prometheus, which differ in the names of counters and in the last line.
const TEXT_0_0_4: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS_1: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One page with `families` and the metrics of this process, in the requested format.
pub fn answer(asked: &Asked, families: Vec<Family>) -> Answer {
    let all = [families, process()].concat();
    match asked.accepts(OPENMETRICS) {
        true => Answer::ok(OPENMETRICS_1, text(&all, true)),
        false => Answer::ok(TEXT_0_0_4, text(&all, false)),
    }
}

fn text(families: &[Family], is_openmetrics: bool) -> String {
    let mut text = String::new();
    for Family { name, help, kind, rows } in families {
        let (word, sample) = match kind {
            Kind::Counter => ("counter", format!("{name}_total")),
            Kind::Gauge => ("gauge", name.clone()),
        };
        let family = if is_openmetrics { name } else { &sample };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing into memory can't fail.
        let _ = writeln!(text, "# HELP {family} {help}\n# TYPE {family} {word}");
        for (labels, number) in rows {
            text.push_str(&sample);
            for (at, (label, value)) in labels.iter().enumerate() {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                let _ = write!(text, "{}{label}=\"{value}\"", if at == 0 { '{' } else { ',' });
            }
            let _ = writeln!(text, "{} {number}", if labels.is_empty() { "" } else { "}" });
        }
    }
    if is_openmetrics {
        text.push_str("# EOF\n");
    }
    text
}

/// Numbers of this process as the system reports them: memory, processor time, open files.
#[derive(Default)]
struct Of {
    cpu: Option<f64>,
    resident: Option<f64>,
    virt: Option<f64>,
    files: Option<f64>,
    most_files: Option<f64>,
    started: Option<f64>,
}

/// The metrics of a process, named as in Prometheus' own client libraries.
const OF_PROCESS: &[Shown<Of>] = &[
    ("cpu_seconds", Kind::Counter, "Processor time this process has used, in seconds.", |p| p.cpu),
    ("resident_memory_bytes", Kind::Gauge, "Memory this process has in RAM.", |p| p.resident),
    ("virtual_memory_bytes", Kind::Gauge, "Memory this process has reserved.", |p| p.virt),
    ("open_fds", Kind::Gauge, "Files and connections this process has open.", |p| p.files),
    ("max_fds", Kind::Gauge, "Files and connections it may have open.", |p| p.most_files),
    ("start_time_seconds", Kind::Gauge, "Unix time at which this process started.", |p| p.started),
];

/// The metrics of this process; none on a system without /proc.
fn process() -> Vec<Family> {
    let Ok(me) = Process::myself() else { return Vec::new() };
    let mut of = Of { files: me.fd_count().ok().map(|count| count as f64), ..Of::default() };
    if let Ok(stat) = me.stat() {
        let ticks = (stat.utime + stat.stime) as f64;
        of.cpu = Some(ticks / procfs::ticks_per_second() as f64);
        of.resident = Some(stat.rss_bytes().get() as f64);
        of.virt = Some(stat.vsize as f64);
        let ticks = stat.starttime as f64 / procfs::ticks_per_second() as f64;
        of.started = procfs::boot_time_secs().ok().map(|boot| boot as f64 + ticks);
    }
    if let Ok(limits) = me.limits() {
        of.most_files = match limits.max_open_files.soft_limit {
            procfs::process::LimitValue::Value(most) => Some(most as f64),
            procfs::process::LimitValue::Unlimited => None,
        };
    }
    families("process_", OF_PROCESS, &[(Labels::new(), &of)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two texts of one counter and one gauge, with a label that contains every escaped
    /// character.
    #[test]
    fn both_texts_are_as_prometheus_reads_them() {
        let labels = vec![("sale", "a\"b\\c\nd".to_owned())];
        let counter = Family {
            name: "x_calls".into(),
            help: "Calls.",
            kind: Kind::Counter,
            rows: vec![(labels, 2.0)],
        };
        let gauge = Family {
            name: "x_up".into(),
            help: "1: up.",
            kind: Kind::Gauge,
            rows: vec![(vec![], 0.5)],
        };
        let all = [counter, gauge];
        let rows = "x_calls_total{sale=\"a\\\"b\\\\c\\nd\"} 2\n";
        let up = "# HELP x_up 1: up.\n# TYPE x_up gauge\nx_up 0.5\n";
        let old = "# HELP x_calls_total Calls.\n# TYPE x_calls_total counter\n";
        assert_eq!(text(&all, false), format!("{old}{rows}{up}"));
        let new = "# HELP x_calls Calls.\n# TYPE x_calls counter\n";
        assert_eq!(text(&all, true), format!("{new}{rows}{up}# EOF\n"));
    }
}
