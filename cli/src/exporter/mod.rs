//! `seckill exporter`: metrics of sales for Prometheus, and a live page.
//!
//! ```text
//! seckill exporter --redis redis://127.0.0.1:6379/ --sale 'sale:*'
//! ```

mod families;
mod find;
mod history;
mod live;
mod read;
mod rows;
mod stock;
mod target;
#[cfg(test)]
mod watched;

use std::thread;
use std::time::Duration;

use clap::Args;

use crate::connect::Server;
use crate::metrics;
use crate::print::tell;
use crate::stop::Stop;
use crate::web::{self, Answer, Asked, TEXT};
use stock::Stock;
use target::Target;

/// Options: which sales are watched, and where they are shown.
#[derive(Args)]
pub struct Options {
    /// The sales: names of keys, or patterns as in KEYS; may be repeated
    #[arg(long, required = true, value_name = "NAME|PATTERN")]
    sale: Vec<String>,
    /// Show no more sales than this
    #[arg(long, default_value_t = 500, value_name = "N")]
    max_sales: usize,
    /// Seconds from the end of one search for sales to the next
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    search_every: u64,
    /// Address of the pages; `:9847` is this port on all addresses of the machine
    #[arg(long = "web.listen-address", default_value = "127.0.0.1:9847", value_name = "ADDRESS")]
    #[arg(value_parser = web::address)]
    listen: String,
    /// Also serve /stock/NAME: the stock of a sale, as JSON and as events, for buyers' pages
    #[arg(long)]
    stock: bool,
    /// Round the numbers of /stock up to multiples of this
    #[arg(long, default_value_t = 1, value_name = "UNITS", requires = "stock")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    stock_round: u64,
}

/// Serves until `stop`.
///
/// # Errors
/// An error message if it can't start. An unreachable server is no error: the exporter reports it.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let servers = server.targets()?;
    let stop = Stop::on_signals()?;
    let listener = web::listen(&options.listen)?;
    let watch = |one| Target::of(one, &options.sale, options.max_sales);
    let targets: Vec<Target> = servers.into_iter().map(watch).collect();
    for target in &targets {
        tell!(
            "seckill exporter: sales {} of {} as {}, at http://{}/",
            options.sale.join(", "),
            target.name,
            target.server.user(),
            listener.address
        );
    }
    let stock = options.stock.then(|| Stock::of(options.stock_round));
    let exporter = Exporter { targets: &targets, stock };
    let every = Duration::from_secs(options.search_every);
    thread::scope(|scope| {
        for target in &targets {
            scope.spawn(|| target.sales.look(&target.server, every, &stop));
            scope.spawn(|| target.record(&stop));
        }
        if let (Some(stock), Some(first)) = (&exporter.stock, targets.first()) {
            scope.spawn(|| stock.feed(first, &stop));
        }
        web::serve(&listener, &stop, &|asked| exporter.show(asked));
    });
    Ok(())
}

struct Exporter<'a> {
    /// The servers; the first one is the default.
    targets: &'a [Target],
    stock: Option<Stock>,
}

impl Exporter<'_> {
    fn show(&self, asked: &Asked) -> Option<Answer> {
        let named = asked.query("target");
        let is_meant = |one: &&Target| named.as_ref().is_none_or(|name| one.is_called(name));
        let target = self.targets.iter().find(is_meant);
        let Some(target) = target else {
            // A client may not choose a server: only the servers of --redis get the password.
            let text = "target: not one of the servers of --redis.\n";
            return Some(Answer::of(404, TEXT, text));
        };
        match asked.path.as_str() {
            "/" => Some(Answer::ok("text/html; charset=utf-8", include_str!("page.html"))),
            "/page.js" => Some(Answer::ok(SCRIPT, include_str!("page.js"))),
            "/live" => Some(live::of(target, self.targets)),
            "/sale" => live::sale(target, &asked.query("name").unwrap_or_default()),
            "/scrape" if named.is_none() => {
                Some(Answer::of(400, TEXT, "/scrape?target=HOST:PORT, one of those of --redis.\n"))
            }
            "/metrics" | "/scrape" => Some(metrics::answer(asked, target.families())),
            "/health" => Some(target.health()),
            path => {
                let stock = self.stock.as_ref()?;
                stock.show(path.strip_prefix("/stock/")?, self.targets.first()?, asked)
            }
        }
    }
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
/// The media type of the page's data.
const JSON: &str = "application/json";
