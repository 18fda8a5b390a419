//! Families as the text that Prometheus reads.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text, DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::families::{Family, Kind};

/// What the text is.
pub const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All of them as one text.
///
/// # Errors
/// Never by itself: text goes into memory.
pub fn of(families: Vec<Family>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All(families)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
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
