//! `seckill orders`: writes what outboxes tell into a database, exactly once in effect, and gives
//! back to Redis what Redis has lost.
//!
//! It reads through a consumer group and takes over what a dead consumer left. One transaction of
//! the database takes in the entries and moves the orders; only after that they are acknowledged.
//! So it may be killed at any moment: what was written is not written again, and what was not is
//! delivered again. It stores no stream id, because a new primary's ids may be lower.
//!
//! ```text
//! seckill orders --redis redis://127.0.0.1:6379/ --stream sale:drop:orders \
//!     --database postgres://shop@127.0.0.1/shop
//! ```

mod database;
mod entry;
mod judge;
mod mysql;
mod numbers;
mod postgres;
mod repair;
mod stream;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::connect::{password, Failure, Server, Target};
use crate::stop::Stop;
use crate::web;
use clap::Args;
use database::{Database, Dialect, Trust};
use judge::Primary;
use numbers::Numbers;
use stream::Stream;

/// Between two attempts after Redis or the database could not be reached.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Never an option: what stands on a command line is for everybody on the machine to read.
const PASSWORD: &str = "SECKILL_DATABASE_PASSWORD";

/// From where, to where, and under which name.
#[derive(Args)]
pub struct Options {
    /// The database, as mysql://user@host/name (MariaDB too; `?socket=/path` uses a local socket)
    /// or postgres://user@host/name
    #[arg(long, env = "SECKILL_DATABASE", hide_env_values = true, value_name = "URL")]
    database: String,
    /// The file that has the password; else it is taken from SECKILL_DATABASE_PASSWORD, or the URL
    #[arg(long, value_name = "FILE")]
    database_password_file: Option<PathBuf>,
    /// The key of an outbox stream; may be given several times
    #[arg(long, required_unless_present = "print_schema", value_name = "KEY")]
    stream: Vec<String>,
    /// The consumer group; made if it is not there
    #[arg(long, default_value = "orders", value_name = "NAME")]
    group: String,
    /// The name of this consumer; no two that run may have the same
    #[arg(long, default_value_t = format!("seckill-{}", std::process::id()), value_name = "NAME")]
    name: String,
    /// Entries that another consumer took so many milliseconds ago and did not acknowledge are
    /// taken over: longer than the slowest transaction takes
    #[arg(long, default_value_t = 5_000, value_name = "MS")]
    claim_after_ms: u64,
    /// Entries of one transaction
    #[arg(long, default_value_t = 100, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_000))]
    batch: u16,
    /// Print the tables that are needed, for this kind of database, and do nothing else
    #[arg(long)]
    print_schema: bool,
    /// Make no tables: they were made from --print-schema
    #[arg(long)]
    no_create: bool,
    /// Believe this epoch, or any, where no Sentinel and no cluster says who is primary and a new
    /// epoch takes back what the database has. Be sure that it is no old primary that came back
    #[arg(long, value_name = "EPOCH|any", value_parser = Trust::read)]
    trust_epoch: Option<Trust>,
    /// Where /metrics and /health are served; nowhere if it is not given
    #[arg(long = "web.listen-address", value_name = "ADDRESS")]
    listen: Option<String>,
}

/// Which database, ready to be connected to.
enum Shop {
    MySql(Box<::mysql::Opts>),
    Postgres(Box<::postgres::Config>),
}

impl Shop {
    /// # Errors
    /// A sentence when the URL is not of a database that is known.
    fn of(options: &Options) -> Result<Shop, String> {
        let url = &options.database;
        let password = password(options.database_password_file.as_deref(), PASSWORD)?;
        match url.split("://").next() {
            Some("mysql" | "mariadb") => {
                let url = url.replacen("mariadb://", "mysql://", 1);
                mysql::options(&url, password).map(|options| Shop::MySql(Box::new(options)))
            }
            Some("postgres" | "postgresql") => {
                postgres::options(url, password).map(|config| Shop::Postgres(Box::new(config)))
            }
            _ => Err("--database: mysql://, mariadb:// and postgres:// are known".into()),
        }
    }

    fn dialect(&self) -> &'static Dialect {
        match self {
            Shop::MySql(_) => &mysql::DIALECT,
            Shop::Postgres(_) => &postgres::DIALECT,
        }
    }

    fn connect(&self) -> Result<Box<dyn Database>, Failure> {
        Ok(match self {
            Shop::MySql(options) => Box::new(mysql::connect(options)?),
            Shop::Postgres(config) => Box::new(postgres::connect(config)?),
        })
    }
}

/// Runs until it is told to stop; then the batch under way is finished.
///
/// # Errors
/// A sentence when it can't begin, or what it asks for is refused. A Redis or a database that is
/// away is waited for.
pub fn run(server: &Server, options: &Options) -> Result<(), String> {
    let shop = Shop::of(options)?;
    if options.print_schema {
        print!("{}", shop.dialect().schema);
        return Ok(());
    }
    let target = server.target()?;
    let stop = Stop::on_signals()?;
    let listener = options.listen.as_deref().map(web::listen).transpose()?;
    let numbers: Vec<Numbers> = options.stream.iter().map(|key| Numbers::of(key)).collect();
    thread::scope(|scope| {
        let mut writers = Vec::new();
        for numbers in &numbers {
            let writer = Writer { options, shop: &shop, target: &target, stop: &stop, numbers };
            writers.push(scope.spawn(move || writer.run()));
        }
        if let Some(listener) = &listener {
            web::serve(listener, &stop, &|asked| numbers::show(&numbers, asked));
        }
        let ended = writers.into_iter().filter_map(|writer| writer.join().ok());
        ended.fold(Ok(()), Result::and)
    })
}

/// The reader of one stream.
struct Writer<'a> {
    options: &'a Options,
    shop: &'a Shop,
    target: &'a Target,
    stop: &'a Stop,
    numbers: &'a Numbers,
}

impl Writer<'_> {
    /// A lost connection is a new session: nothing is kept in memory.
    ///
    /// # Errors
    /// A sentence when something is refused that no waiting heals. Then all stop.
    fn run(&self) -> Result<(), String> {
        let mut told = String::new();
        while !self.stop.is_told() {
            let Err(trouble) = self.session() else { return Ok(()) };
            self.numbers.is_well.store(false, Ordering::Relaxed);
            self.numbers.failures.fetch_add(1, Ordering::Relaxed);
            let Failure { said, heals } = trouble;
            if !heals {
                self.stop.tell();
                return Err(format!("{}: {said}", self.numbers.stream));
            }
            // While a server is away the trouble stays the same: one line is enough.
            if said != told {
                eprintln!("{}: {}: {said}; trying again", self.options.name, self.numbers.stream);
                told = said;
            }
            thread::sleep(TRY_AGAIN_AFTER);
        }
        Ok(())
    }

    /// What this consumer had under way when its last session broke comes first, then what others
    /// left behind and what is new, in turn. Ends well when it is told to stop.
    fn session(&self) -> Result<(), Failure> {
        let mut database = self.shop.connect()?;
        if !self.options.no_create {
            database.run(self.shop.dialect().schema)?;
        }
        let found = Primary::find(self.target, &self.numbers.stream, self.stop)?;
        let Some(mut primary) = found else { return Ok(()) };
        let stream = Stream {
            key: self.numbers.stream.clone(),
            group: self.options.group.clone(),
            consumer: self.options.name.clone(),
            batch: usize::from(self.options.batch),
        };
        stream.join(&mut primary.redis)?;
        let trust = match primary.is_judged() {
            true => Trust::Any,
            false => self.options.trust_epoch.unwrap_or(Trust::None),
        };
        let (numbers, stop) = (self.numbers, self.stop);
        let mut session = Session { numbers, stop, primary, database, stream, trust, epoch: 0 };
        loop {
            let mine = session.stream.under_way(&mut session.primary.redis)?;
            if mine.is_empty() {
                break;
            }
            session.take(&mine)?;
        }
        let turn = Duration::from_millis(self.options.claim_after_ms);
        let mut told = repair::Told::default();
        while !self.stop.is_told() {
            let claim_after_ms = self.options.claim_after_ms;
            let left = session.stream.take_over(&mut session.primary.redis, claim_after_ms)?;
            session.take(&left)?;
            session.repair(&mut told)?;
            let until = Instant::now() + turn;
            while Instant::now() < until && !self.stop.is_told() {
                session.primary.still()?;
                let new = session.stream.next(&mut session.primary.redis)?;
                self.numbers.is_well.store(true, Ordering::Relaxed);
                if session.take(&new)? {
                    session.repair(&mut told)?;
                }
            }
        }
        Ok(())
    }
}

/// Both connections.
struct Session<'a> {
    numbers: &'a Numbers,
    stop: &'a Stop,
    primary: Primary,
    database: Box<dyn Database>,
    stream: Stream,
    trust: Trust,
    /// The newest epoch that was written in this session, 0 before the first.
    epoch: u64,
}

impl Session<'_> {
    /// First the database, in one transaction, then the acknowledgement. True when the database
    /// found that Redis has lost something.
    fn take(&mut self, messages: &[stream::Message]) -> Result<bool, Failure> {
        let mut lost = false;
        // What was taken over may be more than a batch.
        for messages in messages.chunks(self.stream.batch) {
            let mut entries = Vec::with_capacity(messages.len());
            for message in messages {
                match entry::read(&message.fields) {
                    Some(entry) => entries.push(entry),
                    // Somebody else wrote to this stream. It is not ours, and must not come again.
                    None => eprintln!("{} is no entry of a sale", message.id),
                }
            }
            let (all, ours) = (messages.len() as u64, entries.len() as u64);
            let epoch = entries.iter().map(|entry| entry.epoch).max().unwrap_or_default();
            if epoch > self.epoch {
                self.primary.new_epoch(self.stop)?;
                self.epoch = epoch;
            }
            let (stream, trust) = (self.stream.key.as_bytes(), self.trust);
            let written = match entries.as_slice() {
                [] => database::Written::default(),
                entries => database::write(&mut *self.database, stream, entries, trust)?,
            };
            lost |= written.lost;
            self.stream.acknowledge(&mut self.primary.redis, messages)?;
            self.numbers.count(written.new, ours - written.new.min(ours), all - ours);
        }
        Ok(lost)
    }

    fn repair(&mut self, told: &mut repair::Told) -> Result<(), Failure> {
        let key = self.stream.key.as_bytes();
        let done = repair::all(&mut self.primary.redis, &mut *self.database, key, told)?;
        self.numbers.repaired.fetch_add(done, Ordering::Relaxed);
        Ok(())
    }
}

/// What a writer shows to Prometheus.
#[cfg(test)]
pub fn families() -> Vec<crate::metrics::Family> {
    numbers::families(&[])
}
