//! Red packets, faster than in reality. An hourly event with a budget of 1,000,000 coins once paid
//! out 15,000,000, because its app read the total, compared, and added. Here a round is a few
//! seconds long. Every answer is checked, and the program exits with 1 after one coin too many.
//!
//! ```text
//! make demo-redpacket
//! cargo run --release -p red_packet -- --users 100000 --clients 1000
//! cargo run --release -p red_packet -- --packets
//! ```

mod amounts;
mod chart;
mod check;
mod event;
mod packets;
mod report;
mod round;
#[cfg(test)]
mod tests;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedI64ValueParser;
use clap::Parser;
use redis::{Client, Connection};

use amounts::Amounts;
use round::Event;
use seckill_crowd::sale;

const CLIENTS_MAX: i64 = 20_000;
const USERS_MAX: i64 = 1_000_000;
const COINS_MAX: i64 = 1 << 53;

/// Runs an hourly event, with seconds instead of hours, for a crowd of users. Checks that no round
/// pays a coin more than its budget.
#[derive(Parser)]
struct Options {
    /// Coins in the budget of one round
    #[arg(long, default_value_t = 1_000_000, value_parser = from_to::<u64>(1, COINS_MAX - 1))]
    budget: u64,
    /// Users of a round; to the last one only a third of them come
    #[arg(long, default_value_t = 30_000, value_parser = from_to::<u32>(1, USERS_MAX))]
    users: u32,
    /// Connections that click at the same time
    #[arg(long, default_value_t = 300, value_parser = from_to::<u32>(1, CLIENTS_MAX))]
    clients: u32,
    /// Time from the opening of one round to that of the next, in ms
    #[arg(long, default_value_t = 5_000, value_parser = from_to::<u32>(1_000, 3_600_000))]
    every_ms: u32,
    /// Time that a round is open, in ms: at least 700 less than --every-ms
    #[arg(long, default_value_t = 3_000, value_parser = from_to::<u32>(1, 3_600_000))]
    lasts_ms: u32,
    /// Seed of the users' amounts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File for the picture
    #[arg(long, value_name = "FILE", default_value = "target/red-packets.svg")]
    svg: PathBuf,
    /// Instead of the event, show 10 random packets of together 100.00 yuan, for 50 people
    #[arg(long)]
    packets: bool,
    /// A running server with the module, as redis://host:port/; otherwise one is started on a free
    /// port
    #[arg(long)]
    url: Option<String>,
}

fn from_to<T>(least: i64, most: i64) -> RangedI64ValueParser<T>
where
    T: TryFrom<i64> + Clone + Send + Sync + 'static,
    <T as TryFrom<i64>>::Error: Send + Sync + 'static + std::error::Error,
{
    RangedI64ValueParser::new().range(least..=most)
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()).map(|sentence| println!("{sentence}")))
}

fn run(options: &Options) -> Result<String, String> {
    if options.lasts_ms.saturating_add(event::BREAK_MS) > options.every_ms {
        let least = event::BREAK_MS;
        return Err(format!("--lasts-ms must be at least {least} less than --every-ms."));
    }
    let clients = options.clients.max(packets::PEOPLE) as usize;
    seckill_harness::limits::allow_connections(clients)?;
    match &options.url {
        Some(url) => play(options, url),
        None => {
            let module = seckill_harness::program::module_file(None)?;
            let server = seckill_harness::program::server_for_crowd(&module, clients)?;
            play(options, &server.url())
        }
    }
}

/// Runs the event or the packets, and removes the sale.
fn play(options: &Options, url: &str) -> Result<String, String> {
    let client = Client::open(url).map_err(|e| format!("--url: {e}"))?;
    let mut control = client.get_connection().map_err(|e| format!("No server at {url}: {e}"))?;
    let key = sale::name("red-packet");
    let outcome = match options.packets {
        true => packets::run(&client, &mut control, &key),
        false => hold_event(options, &client, &mut control, &key),
    };
    let removed: Result<u64, _> = redis::cmd("DEL").arg(&key).query(&mut control);
    let sentence = outcome?;
    removed.map_err(|e| format!("The sale can't be removed: {e}"))?;
    Ok(sentence)
}

fn hold_event(
    options: &Options,
    client: &Client,
    control: &mut Connection,
    key: &str,
) -> Result<String, String> {
    let event = Event {
        client,
        key,
        budget: options.budget,
        users: options.users,
        clients: options.clients,
        every_ms: options.every_ms,
        lasts_ms: options.lasts_ms,
        amounts: Amounts { seed: options.seed },
    };
    let rounds = event.run(control)?;
    chart::write(&options.svg, &event, &rounds)?;
    println!("The picture: {}\n", options.svg.display());
    Ok(report::sentence(&event, &rounds))
}
