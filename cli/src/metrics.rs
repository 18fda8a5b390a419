//! Numbers for Prometheus: their names, and the text that it reads.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text, DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::web::{Answer, TEXT};

/// Whether a number may go down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It may.
    Gauge,
    /// It only grows; its name is shown with `_total` behind it.
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

/// A number of a `T`: its name behind a prefix, its kind, what it says, and where it is.
pub type Shown<T> = (&'static str, Kind, &'static str, fn(&T) -> Option<f64>);

/// A family for each line of `table`. Labels tell the things apart that are shown.
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

/// 1 stands for yes.
pub fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// What the text is.
const MEDIA: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All of them as one page.
pub fn answer(families: Vec<Family>) -> Answer {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All(families)));
    let mut text = String::new();
    match text::encode(&mut text, &registry) {
        Ok(()) => Answer::ok(MEDIA, text),
        // Text goes into memory; nothing of ours fails.
        Err(e) => Answer { status: 500, kind: TEXT, body: e.to_string() },
    }
}

#[derive(Debug)]
struct All(Vec<Family>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Family { name, help, kind, rows } in &self.0 {
            let kind = match kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::Counter => MetricType::Counter,
            };
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, number) in rows {
                match labels.as_slice() {
                    [] => put(&mut family, kind, number)?,
                    labels => put(&mut family.encode_family(&labels)?, kind, number)?,
                }
            }
        }
        Ok(())
    }
}

fn put(row: &mut MetricEncoder<'_>, kind: MetricType, number: &f64) -> fmt::Result {
    match kind {
        MetricType::Counter => row.encode_counter::<NoLabelSet, f64, f64>(number, None),
        _ => row.encode_gauge(number),
    }
}
