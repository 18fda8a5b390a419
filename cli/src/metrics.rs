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
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub rows: Vec<(Labels, f64)>,
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
