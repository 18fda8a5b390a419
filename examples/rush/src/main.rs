//! A flash sale in one minute: 100 units, 500 connections, and 4,000 users who all click at once,
//! half of them more than once. Exactly 100 of them must win; otherwise this program prints the
//! error and exits with 1.
//!
//! ```text
//! make demo
//! cargo run --release -p rush -- --clients 2000 --requests 100000
//! cargo run --release -p rush -- --pay
//! ```

mod check;
mod pay;
mod pay_check;
mod report;

use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedI64ValueParser;
use clap::Parser;
use redis::{Client, Connection};

use check::ServerSide;
use pay::Crowd;
use seckill_crowd::heard::Heard;
use seckill_crowd::plan::Plan;
use seckill_crowd::screen::progress_bar;
use seckill_crowd::wire::write_grab;
use seckill_crowd::{sale, Rush};

const CLIENTS_MAX: i64 = 20_000;
const REQUESTS_MAX: i64 = 10_000_000;

/// Runs a rush of many users at one sale and checks that it sells out exactly.
#[derive(Parser)]
struct Options {
    /// Connections that click at the same time
    #[arg(long, default_value_t = 500, value_parser = from_to(1, CLIENTS_MAX))]
    clients: u32,
    /// Users; each clicks once, and every second one clicks again
    #[arg(long, default_value_t = 4_000, value_parser = from_to(1, REQUESTS_MAX))]
    requests: u32,
    /// Units for sale
    #[arg(long, default_value_t = 100, value_parser = from_to(0, REQUESTS_MAX))]
    stock: u32,
    /// A grab is only a hold, and not all users pay: in the end all units are paid
    #[arg(long)]
    pay: bool,
    /// Length of a hold with --pay, in ms
    #[arg(long, default_value_t = 2_000, value_parser = from_to(100, 60_000))]
    hold_ms: u32,
    /// A running server with the module, as redis://host:port/; otherwise one is started on a free
    /// port
    #[arg(long)]
    url: Option<String>,
}

fn from_to(least: i64, most: i64) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(least..=most)
}

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()).map(|sentence| println!("{sentence}")))
}

fn run(options: &Options) -> Result<String, String> {
    if options.pay && options.requests / 2 < options.stock {
        return Err("--pay needs two users for every unit: only half of them pay in time.".into());
    }
    if options.pay && options.clients > pay::CLIENTS_MAX {
        return Err(format!("--pay works with at most {} --clients.", pay::CLIENTS_MAX));
    }
    seckill_harness::limits::allow_connections(options.clients as usize)?;
    match &options.url {
        Some(url) => sell(options, url),
        None => {
            let module = seckill_harness::program::module_file(None)?;
            let server =
                seckill_harness::program::server_for_crowd(&module, options.clients as usize)?;
            sell(options, &server.url())
        }
    }
}

/// Creates a sale, starts the crowd, reports, checks, and removes the sale.
fn sell(options: &Options, url: &str) -> Result<String, String> {
    let client = Client::open(url).map_err(|e| format!("--url: {e}"))?;
    let mut control = client.get_connection().map_err(|e| format!("No server at {url}: {e}"))?;
    let key = sale::name("rush");
    let mut open = redis::cmd("SECKILL.INIT");
    open.arg(&key).arg(options.stock);
    if options.pay {
        open.arg("HOLD").arg(options.hold_ms);
    }
    let opened: Result<String, _> = open.query(&mut control);
    opened.map_err(|e| format!("The sale can't be opened: {e}"))?;
    let rush = if options.pay { pay_at } else { rush_at };
    let outcome = rush(options, &client, &mut control, &key);
    let removed: Result<u64, _> = redis::cmd("DEL").arg(&key).query(&mut control);
    let sentence = outcome?;
    removed.map_err(|e| format!("The sale can't be removed: {e}"))?;
    Ok(sentence)
}

fn rush_at(
    options: &Options,
    client: &Client,
    control: &mut Connection,
    key: &str,
) -> Result<String, String> {
    let (clients, users, stock) = (options.clients, options.requests, options.stock);
    let plan = Plan::new(clients as usize, users);
    println!(
        "{stock} units, {users} users, {clients} connections, {} clicks: every second user \
         clicks twice.\n",
        plan.clicks
    );
    let bar = progress_bar(plan.clicks, "clicks  {per_sec}");
    let write = |out: &mut Vec<u8>, click| write_grab(out, key, click);
    let rush = Rush {
        server: client.get_connection_info(),
        write: &write,
        from: Instant::now(),
        until: None,
    };
    let experience = seckill_crowd::rush(&rush, plan, &bar);
    bar.finish_and_clear();
    let experience = experience?;
    let server = ask_server(control, key)?;
    let heard = Heard::count(&experience.answers);
    report::print(&experience, &heard, &server);
    check::check(&experience.answers, &server, u64::from(stock), u64::from(users))?;
    let sold = heard.granted;
    Ok(format!("OK: exactly {sold} users hold exactly {sold} units. All replies agree."))
}

fn pay_at(
    options: &Options,
    client: &Client,
    control: &mut Connection,
    key: &str,
) -> Result<String, String> {
    let (clients, users, stock) = (options.clients, options.requests, options.stock);
    let hold_ms = u64::from(options.hold_ms);
    println!("{stock} units, {users} users, {clients} connections, holds of {hold_ms} ms.\n");
    let bar = progress_bar(u64::from(stock), "units paid  {per_sec}");
    let paid = Crowd { client, key, clients, users, hold_ms }.rush(&bar);
    bar.finish_and_clear();
    let paid = paid?;
    let server = ask_server(control, key)?;
    report::print_paid(&paid, &server);
    pay_check::check(&paid, &server, u64::from(stock), u64::from(users))?;
    let grants = paid.endings.len();
    Ok(format!("OK: {stock} units were granted {grants} times and are all paid for, each once."))
}

/// Reads all data of the sale from the server.
fn ask_server(control: &mut Connection, key: &str) -> Result<ServerSide, String> {
    let rows = sale::rows(control, key, None)?;
    Ok(ServerSide {
        winners: rows.into_iter().map(|row| row.winner).collect(),
        status: sale::status(control, key)?,
        audit: sale::audit(control, key)?,
    })
}
