//! The reference consumer: writes the orders of an outbox stream into a MariaDB, exactly once in
//! effect, and gives back to Redis what Redis has lost.
//!
//! It reads through a consumer group and takes over what a dead consumer left. One transaction of
//! the database takes in the entries and moves the orders; only after that they are acknowledged.
//! So it may be killed at any moment: what was written is not written again, and what was not is
//! delivered again. It stores no stream id, because a new primary's ids may be lower.
//!
//! ```text
//! cargo run --release -p order_writer -- --redis redis://127.0.0.1:6390/ \
//!     --database 'mysql://root@localhost/shop?socket=/run/mysqld/mysqld.sock' --stream drop:orders
//! ```

mod database;
mod entry;
mod repair;
mod stream;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use mysql::Conn;
use redis::Connection;

use stream::Stream;

/// Between two attempts after Redis or the database could not be reached.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Writes the orders of an outbox stream into a database.
#[derive(Parser)]
struct Options {
    /// The server with the outbox, as redis://host:port/
    #[arg(long)]
    redis: String,
    /// The database, as mysql://user@host/name; `?socket=/path` uses a local socket
    #[arg(long)]
    database: String,
    /// The key of the outbox stream
    #[arg(long)]
    stream: String,
    /// The consumer group; made if it is not there
    #[arg(long, default_value = "orders")]
    group: String,
    /// The name of this consumer; no two that run may have the same
    #[arg(long, default_value_t = format!("writer-{}", std::process::id()))]
    name: String,
    /// Entries that another consumer took so many milliseconds ago and did not acknowledge are
    /// taken over: longer than the slowest transaction takes
    #[arg(long, default_value_t = 5_000)]
    claim_after_ms: u64,
}

/// Runs until it is killed. A lost connection is a new session: nothing is kept in memory.
fn main() -> ExitCode {
    let options = Options::parse();
    if let Err(e) = mysql::Opts::from_url(&options.database) {
        eprintln!("--database: {e}");
        return ExitCode::FAILURE;
    }
    if let Err(e) = redis::Client::open(options.redis.as_str()) {
        eprintln!("--redis: {e}");
        return ExitCode::FAILURE;
    }
    let mut told = String::new();
    loop {
        if let Err(trouble) = session(&options) {
            // While a server is away the trouble stays the same: one line is enough.
            if trouble != told {
                eprintln!("{}: {trouble}; trying again", options.name);
                told = trouble;
            }
        }
        thread::sleep(TRY_AGAIN_AFTER);
    }
}

/// What this consumer had under way when its last session broke comes first, then what others left
/// behind and what is new, in turn.
fn session(options: &Options) -> Result<(), String> {
    let mut redis = connect(&options.redis)?;
    let mut database =
        Conn::new(options.database.as_str()).map_err(|e| format!("No database: {e}"))?;
    database::prepare(&mut database)?;
    let stream = Stream {
        key: options.stream.clone(),
        group: options.group.clone(),
        consumer: options.name.clone(),
    };
    stream.join(&mut redis)?;
    loop {
        let mine = stream.under_way(&mut redis)?;
        if mine.is_empty() {
            break;
        }
        take(&mut redis, &mut database, &stream, &mine)?;
    }
    let turn = Duration::from_millis(options.claim_after_ms);
    loop {
        let left = stream.take_over(&mut redis, options.claim_after_ms)?;
        take(&mut redis, &mut database, &stream, &left)?;
        repair::all(&mut redis, &mut database)?;
        let until = Instant::now() + turn;
        while Instant::now() < until {
            let new = stream.next(&mut redis)?;
            if take(&mut redis, &mut database, &stream, &new)? {
                repair::all(&mut redis, &mut database)?;
            }
        }
    }
}

/// First the database, in one transaction, then the acknowledgement. True when the database found
/// that Redis has lost something.
fn take(
    redis: &mut Connection,
    database: &mut Conn,
    stream: &Stream,
    messages: &[stream::Message],
) -> Result<bool, String> {
    if messages.is_empty() {
        return Ok(false);
    }
    let mut entries = Vec::with_capacity(messages.len());
    for message in messages {
        match entry::read(&message.fields) {
            Some(entry) => entries.push(entry),
            // Somebody else wrote to this stream. It is not ours, and must not come again.
            None => eprintln!("{} is no entry of a sale", message.id),
        }
    }
    let lost = database::write(database, &entries)?;
    stream.acknowledge(redis, messages)?;
    Ok(lost)
}

fn connect(url: &str) -> Result<Connection, String> {
    redis::Client::open(url)
        .and_then(|client| client.get_connection())
        .map_err(|e| format!("No Redis: {e}"))
}
