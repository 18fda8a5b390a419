//! `seckill exporter`: what sales are doing, for Prometheus and on a page of its own.
//!
//! ```text
//! seckill exporter --redis redis://127.0.0.1:6379/ --sale 'sale:*'
//! ```

mod families;
mod find;
mod live;
mod read;
#[cfg(test)]
mod watched;

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use redis::Connection;

use crate::connect::{connect, Server, Target};
use crate::metrics::{self, Family, Kind};
use crate::stop::Stop;
use crate::web::{self, Answer, Asked};
use find::Sales;
use read::Snapshot;

/// What was read in the last second is shown again: many who look cost no more than one.
const FRESH: Duration = Duration::from_millis(900);

/// Pages show a reading for so many times what it took: what they have read takes half a percent of
/// the server's time at most, whatever there is to read.
const PAGES_REST: u32 = 200;

/// But not longer than this: a server that was slow once is looked at again.
const PAGES_REST_AT_MOST: Duration = Duration::from_secs(5);

/// What is watched, and where it is shown.
#[derive(Args)]
pub struct Options {
    /// The sales: names of keys, or patterns as KEYS has them; may be given several times
    #[arg(long, required = true, value_name = "NAME|PATTERN")]
    sale: Vec<String>,
    /// Show no more sales than this
    #[arg(long, default_value_t = 500, value_name = "N")]
    max_sales: usize,
    /// Seconds from the end of one search for sales to the next
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    search_every: u64,
    /// Where the page, /metrics and /health are served
    #[arg(long = "web.listen-address", default_value = "127.0.0.1:9847", value_name = "ADDRESS")]
    listen: String,
}

/// Serves until it is told to stop.
///
/// # Errors
/// A sentence when it can't begin. A server that is away is no error: that is what it shows.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let client = server.target()?;
    let stop = Stop::on_signals()?;
    let listener = web::listen(&options.listen)?;
    let exporter = Exporter {
        client: client.clone(),
        sales: Sales::of(&options.sale),
        most: options.max_sales,
        last: Mutex::new(Last::default()),
    };
    eprintln!("seckill exporter: http://{}/", listener.address);
    let every = Duration::from_secs(options.search_every);
    thread::scope(|scope| {
        scope.spawn(|| exporter.sales.look(&client, every, &stop));
        web::serve(&listener, &stop, &|asked| exporter.show(asked));
    });
    Ok(())
}

struct Exporter {
    client: Target,
    sales: Sales,
    most: usize,
    last: Mutex<Last>,
}

/// The connection, and what was read by it.
#[derive(Default)]
struct Last {
    redis: Option<Connection>,
    read: Option<(Instant, Result<Snapshot, String>)>,
}

impl Exporter {
    fn show(&self, asked: &Asked) -> Option<Answer> {
        match asked.path.as_str() {
            "/" => Some(Answer::ok("text/html; charset=utf-8", include_str!("page.html"))),
            "/page.js" => Some(Answer::ok(SCRIPT, include_str!("page.js"))),
            "/live" => Some(match self.snapshot(fresh_for_pages) {
                Ok(snapshot) => Answer::ok(JSON, live::of(&snapshot).to_string()),
                Err(error) => {
                    let body = serde_json::json!({ "error": error }).to_string();
                    Answer::of(503, JSON, body)
                }
            }),
            "/metrics" => Some(shown(asked, &self.snapshot(|_| FRESH))),
            "/health" => Some(Answer::health(self.snapshot(|_| FRESH).err())),
            _ => None,
        }
    }

    /// What the server says now, or said a moment ago; `fresh_for` is told how long reading took.
    fn snapshot(&self, fresh_for: fn(Duration) -> Duration) -> Result<Snapshot, String> {
        // A poisoned lock only means that another answer failed.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, read)) = &last.read {
            let took = read.as_ref().map_or(Duration::ZERO, |snapshot| snapshot.took);
            if at.elapsed() < fresh_for(took) {
                return read.clone();
            }
        }
        let read = self.read(&mut last.redis);
        last.read = Some((Instant::now(), read.clone()));
        read
    }

    /// By a new connection if the last one broke.
    fn read(&self, connection: &mut Option<Connection>) -> Result<Snapshot, String> {
        let names = self.sales.names();
        let mut redis = match connection.take() {
            Some(redis) => redis,
            None => connect(&self.client)?,
        };
        let snapshot = read::snapshot(&mut redis, &names, self.most)?;
        *connection = Some(redis);
        Ok(snapshot)
    }
}

fn fresh_for_pages(took: Duration) -> Duration {
    (took * PAGES_REST).clamp(FRESH, PAGES_REST_AT_MOST)
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";

fn shown(asked: &Asked, snapshot: &Result<Snapshot, String>) -> Answer {
    let families = match snapshot {
        Ok(snapshot) => [vec![build(), up(1.0)], families::of(snapshot)].concat(),
        Err(_) => vec![build(), up(0.0)],
    };
    metrics::answer(asked, families)
}

fn up(up: f64) -> Family {
    Family::of("seckill_up", Kind::Gauge, "1: the server answers.", &[(vec![], &up)], |up| {
        Some(*up)
    })
}

fn build() -> Family {
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    families::info("seckill_exporter_build_info", "This program.", &[(version, &())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_asks_less_often_of_a_server_that_takes_longer() {
        for (took_ms, fresh_ms) in [(0, 900), (3, 900), (10, 2_000), (60_000, 5_000)] {
            let fresh = fresh_for_pages(Duration::from_millis(took_ms));
            assert_eq!(fresh, Duration::from_millis(fresh_ms), "{took_ms} ms");
        }
    }
}
