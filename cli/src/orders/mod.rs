//! `seckill orders`: writes each order of an outbox into a database exactly once. It also restores
//! in Redis the orders that a failover lost.
//!
//! The program reads through a consumer group and takes over entries that a dead consumer left. One
//! database transaction stores a batch of entries and moves their orders. Only then are the entries
//! acknowledged. So the program may be killed at any moment: a stored entry is not stored twice,
//! and any other is delivered again. The program stores no stream id, because a new primary's ids
//! may be lower.
//!
//! ```text
//! seckill orders --redis redis://127.0.0.1:6379/ --stream sale:drop:orders \
//!     --database postgres://shop@127.0.0.1/shop
//! ```

mod database;
mod entry;
mod gaps;
mod judge;
mod mysql;
mod names;
mod numbers;
mod out;
mod postgres;
mod repair;
mod session;
mod shop;
mod stream;
mod tls;
mod units;
mod writer;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use clap::{Args, ValueEnum};

use crate::connect::Server;
use crate::print::{self, tell};
use crate::stop::Stop;
use crate::web;
use numbers::Numbers;
use out::Out;
use session::Writer;
use shop::Shop;
use writer::Trust;

/// From where, to where, and under which name.
#[derive(Args)]
pub struct Options {
    /// The database, as mysql://user@host/name (MariaDB too; `?socket=/path` uses a local socket)
    /// or postgres://user@host/name; with TLS `?ssl-mode=` or `?sslmode=`, and a file of trusted
    /// authorities `ssl-ca=` or `sslrootcert=`
    #[arg(long, env = "SECKILL_DATABASE", hide_env_values = true, value_name = "URL")]
    #[arg(required_unless_present = "to")]
    database: Option<String>,
    /// Instead of a database: print each entry as a line of JSON, and acknowledge it when the
    /// number of its line comes back on standard input
    #[arg(long, value_enum, conflicts_with = "print_schema")]
    to: Option<Place>,
    /// File with the password; by default it is taken from SECKILL_DATABASE_PASSWORD or the URL
    #[arg(long, value_name = "FILE")]
    database_password_file: Option<PathBuf>,
    /// Key of an outbox stream; may be repeated
    #[arg(long, required_unless_present = "print_schema", value_name = "KEY")]
    stream: Vec<String>,
    /// The consumer group, created if missing; default: orders, with --to stdout: stdout. Each
    /// group gets every entry
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Name of this consumer; must be unique among those that read a stream
    #[arg(long, default_value_t = name_of_host(), value_name = "NAME")]
    name: String,
    /// Milliseconds after which entries are taken over from a consumer that has not acknowledged
    /// them; longer than the slowest transaction
    #[arg(long, default_value_t = 5_000, value_name = "MS")]
    claim_after_ms: u64,
    /// Entries of one transaction
    #[arg(long, default_value_t = 100, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_000))]
    batch: u16,
    /// Prefix of all table names
    #[arg(long, default_value = "seckill_", value_parser = names::prefix)]
    table_prefix: String,
    /// Schema of the tables, for MySQL the database; default: the URL's
    #[arg(long, value_name = "NAME", value_parser = names::schema)]
    schema: Option<String>,
    /// Print the CREATE TABLE statements for this kind of database, and exit
    #[arg(long)]
    print_schema: bool,
    /// Create no tables: they exist already, see --print-schema
    #[arg(long)]
    no_create: bool,
    /// Accept this epoch, or any, if a new epoch takes back orders of the database and neither
    /// Sentinels nor a cluster confirm the primary. Be sure that it is not an old primary that came
    /// back
    #[arg(long, value_name = "EPOCH|any", value_parser = Trust::read)]
    trust_epoch: Option<Trust>,
    /// Address of /metrics and /health; not served by default
    #[arg(long = "web.listen-address", value_name = "ADDRESS", value_parser = web::address)]
    listen: Option<String>,
}

/// The destinations of entries other than a database.
#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// Standard output.
    Stdout,
}

/// The destination of entries.
enum To {
    Database(Box<Shop>),
    Out(Arc<Out>),
}

impl Options {
    /// The database, if the options name one.
    ///
    /// # Errors
    /// An error message if an option or the URL is wrong.
    pub fn shop(&self) -> Result<Option<Shop>, String> {
        match (&self.database, self.to) {
            (Some(url), None) => Shop::of(url, self).map(Some),
            _ => Ok(None),
        }
    }

    fn group(&self) -> &str {
        match (&self.group, self.to) {
            (Some(name), _) => name,
            (None, Some(Place::Stdout)) => "stdout",
            (None, None) => "orders",
        }
    }
}

/// The host's name: a reader that restarts continues with the entries it had.
fn name_of_host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "seckill".to_owned(),
        host => format!("seckill-{host}"),
    }
}

/// Runs until `stop`; the batch under way is finished first.
///
/// # Errors
/// An error message if it can't start, or a request is refused. An unreachable Redis or database is
/// no error: the program waits for it.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let shop = options.shop()?;
    if let (Some(shop), true) = (&shop, options.print_schema) {
        print::out(format_args!("{}", shop.schema()));
        return Ok(());
    }
    let target = server.target()?;
    let stop = Stop::on_signals()?;
    let listener = options.listen.as_deref().map(web::listen).transpose()?;
    // A stream that is named twice has one reader all the same.
    let streams: BTreeSet<&String> = options.stream.iter().collect();
    let numbers: Vec<Numbers> = streams.into_iter().map(|key| Numbers::of(key)).collect();
    tell!(
        "seckill orders: {} of {} as {}, into {}, as {} of group {}",
        options.stream.join(", "),
        target.name(),
        target.user(),
        shop.as_ref().map_or_else(|| "standard output".to_owned(), Shop::place),
        options.name,
        options.group()
    );
    let to = match shop {
        Some(shop) => To::Database(Box::new(shop)),
        None => To::Out(Out::start()),
    };
    thread::scope(|scope| {
        let mut writers = Vec::new();
        for numbers in &numbers {
            let (to, target, stop, has_joined) = (&to, &target, &stop, Cell::default());
            let writer = Writer { options, to, target, stop, numbers, has_joined };
            writers.push(scope.spawn(move || writer.run()));
        }
        if let Some(listener) = &listener {
            web::serve(listener, &stop, &|asked| numbers::show(&numbers, asked));
        }
        let ended = writers.into_iter().filter_map(|writer| writer.join().ok());
        ended.fold(Ok(()), Result::and)
    })
}

/// The metrics of a writer, as Prometheus reads them.
#[cfg(test)]
pub fn families() -> Vec<crate::metrics::Family> {
    numbers::families(&[])
}
