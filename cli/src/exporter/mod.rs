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
use redis::{Client, Connection};

use crate::connect::{connect, Server};
use crate::metrics::{self, Family, Kind};
use crate::stop::Stop;
use crate::web::{self, Answer};
use find::Sales;
use read::Snapshot;

/// What was read in the last second is shown again: many who look cost no more than one.
const FRESH: Duration = Duration::from_millis(900);

/// What is watched, and where it is shown.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    server: Server,
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
pub fn run(options: &Options) -> Result<(), String> {
    let client = options.server.client()?;
    let stop = Stop::on_signals()?;
    let listener = web::listen(&options.listen)?;
    let exporter = Exporter {
        client: client.clone(),
        sales: Sales::of(&options.sale),
        most: options.max_sales,
        last: Mutex::new(Last::default()),
    };
    eprintln!("seckill exporter: http://{}/", listener.server_addr());
    let every = Duration::from_secs(options.search_every);
    thread::scope(|scope| {
        scope.spawn(|| exporter.sales.look(&client, every, &stop));
        web::serve(&listener, &stop, &|path| exporter.show(path));
    });
    Ok(())
}

struct Exporter {
    client: Client,
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
    fn show(&self, path: &str) -> Option<Answer> {
        match path {
            "/" => Some(Answer::ok("text/html; charset=utf-8", include_str!("page.html"))),
            "/page.js" => Some(Answer::ok(SCRIPT, include_str!("page.js"))),
            "/live" => Some(match self.snapshot() {
                Ok(snapshot) => Answer::ok(JSON, live::of(&snapshot).to_string()),
                Err(error) => {
                    let body = serde_json::json!({ "error": error }).to_string();
                    Answer { status: 503, kind: JSON, body }
                }
            }),
            "/metrics" => Some(shown(&self.snapshot())),
            "/health" => Some(match self.snapshot() {
                Ok(_) => Answer::ok(web::TEXT, "OK\n"),
                Err(why) => Answer { status: 503, kind: web::TEXT, body: why + "\n" },
            }),
            _ => None,
        }
    }

    /// What the server says now, or said a moment ago.
    fn snapshot(&self) -> Result<Snapshot, String> {
        // A poisoned lock only means that another answer failed.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, read)) = &last.read {
            if at.elapsed() < FRESH {
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

const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";

fn shown(snapshot: &Result<Snapshot, String>) -> Answer {
    metrics::answer(match snapshot {
        Ok(snapshot) => [vec![build(), up(1.0)], families::of(snapshot)].concat(),
        Err(_) => vec![build(), up(0.0)],
    })
}

fn up(up: f64) -> Family {
    let (name, help) = ("seckill_up", "1: the server answers.");
    Family { name, help, kind: Kind::Gauge, rows: vec![(Vec::new(), up)] }
}

fn build() -> Family {
    let (name, help) = ("seckill_exporter_build_info", "This program.");
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    Family { name, help, kind: Kind::Gauge, rows: vec![(version, 1.0)] }
}
