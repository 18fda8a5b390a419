//! A flash sale in one minute: 100 units, 500 connections, 4,000 users who all click at once, and
//! half of them more than once. Exactly 100 of them win, or this program says what went wrong and
//! exits with 1.
//!
//! ```text
//! make demo
//! cargo run --release --example rush -- --clients 2000 --requests 100000
//! cargo run --release --example rush -- --pay
//! ```

#[path = "rush/check.rs"]
mod check;
#[path = "rush/crowd.rs"]
mod crowd;
#[path = "rush/pay.rs"]
mod pay;
#[path = "rush/pay_check.rs"]
mod pay_check;
#[path = "rush/plan.rs"]
mod plan;
#[path = "rush/report.rs"]
mod report;
#[path = "support/mod.rs"]
mod support;
#[path = "rush/wire.rs"]
mod wire;

use std::io::{stderr, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::RangedI64ValueParser;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use redis::{Client, Connection};

use check::{Heard, ServerSide, Winner};
use pay::Crowd;
use plan::Plan;
use support::server::Server;

const CLIENTS_MAX: i64 = 20_000;
const REQUESTS_MAX: i64 = 10_000_000;
/// Connections of the server besides the crowd's.
const OTHER_CLIENTS: usize = 32;
const PAGE: u64 = 1_000;

/// Lets a crowd of users rush at one sale and checks that it sells out exactly.
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
    /// A grab is only a hold, and not everybody pays: in the end all units are paid for
    #[arg(long)]
    pay: bool,
    /// How long a hold lasts, with --pay, in ms
    #[arg(long, default_value_t = 2_000, value_parser = from_to(100, 60_000))]
    hold_ms: u32,
    /// A server that runs already and has the module, as redis://host:port/; otherwise one is
    /// started on a free port
    #[arg(long)]
    url: Option<String>,
    /// The module's file, for the server that is started [default: the one built here, or
    /// $SECKILL_MODULE]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

fn from_to(least: i64, most: i64) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(least..=most)
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(sentence) => {
            println!("{sentence}");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("FAILED: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<String, String> {
    if options.pay && options.requests / 2 < options.stock {
        return Err("--pay needs two users for every unit: only half of them pay in time.".into());
    }
    if options.pay && options.clients > pay::CLIENTS_MAX {
        return Err(format!("--pay works with at most {} --clients.", pay::CLIENTS_MAX));
    }
    support::limits::allow_connections(options.clients as usize)?;
    match &options.url {
        Some(url) => sell(options, url),
        None => {
            let server = start_server(options)?;
            sell(options, &server.url())
        }
    }
}

/// Durable as a shop would have it: what is answered is in the log file, synced every second.
fn start_server(options: &Options) -> Result<Server, String> {
    let module = support::module_file(options.module.clone())?;
    let max_clients = (options.clients as usize + OTHER_CLIENTS).to_string();
    Server::start(
        &module,
        &["--appendonly", "yes", "--maxclients", &max_clients, "--tcp-backlog", "4096"],
    )
}

/// Opens a sale, lets the crowd in, reports, checks, and removes the sale.
fn sell(options: &Options, url: &str) -> Result<String, String> {
    let client = Client::open(url).map_err(|e| format!("--url: {e}"))?;
    let mut control = client.get_connection().map_err(|e| format!("No server at {url}: {e}"))?;
    let key = sale_name();
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
    let bar = progress_bar(plan.clicks, "clicks");
    let experience = crowd::rush(client.get_connection_info(), key, plan, &bar);
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
    let bar = progress_bar(u64::from(stock), "units paid");
    let paid = Crowd { client, key, clients, users, hold_ms }.rush(&bar);
    bar.finish_and_clear();
    let paid = paid?;
    let server = ask_server(control, key)?;
    report::print_paid(&paid, &server);
    pay_check::check(&paid, &server, u64::from(stock), u64::from(users))?;
    let grants = paid.endings.len();
    Ok(format!("OK: {stock} units were granted {grants} times and are all paid for, each once."))
}

/// Redis may be shared, so every run sells under a name of its own.
fn sale_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("sale:rush:{}:{}", since.as_millis(), std::process::id())
}

/// Drawn only when someone can see it.
fn progress_bar(all: u64, what: &str) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(all);
    match ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}  {{per_sec}}")) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Everything the server says about the sale.
fn ask_server(control: &mut Connection, key: &str) -> Result<ServerSide, String> {
    let status: String = redis::cmd("SECKILL.STATUS")
        .arg(key)
        .arg("JSON")
        .query(control)
        .map_err(|e| format!("STATUS failed: {e}"))?;
    let status =
        serde_json::from_str(&status).map_err(|e| format!("STATUS is not valid JSON: {e}"))?;
    let audit: Vec<redis::Value> = redis::cmd("SECKILL.AUDIT")
        .arg(key)
        .query(control)
        .map_err(|e| format!("AUDIT failed: {e}"))?;
    Ok(ServerSide {
        winners: all_winners(control, key)?,
        status,
        audit_ok: audit.get(1) == Some(&redis::Value::Int(1)),
        audit: one_line(&audit),
    })
}

/// Reads the whole list of grants, page by page.
fn all_winners(control: &mut Connection, key: &str) -> Result<Vec<Winner>, String> {
    type Row = (u64, String, u64, String, u64, u64, Option<String>, u64, u64);
    let mut winners = Vec::new();
    let mut cursor = 0;
    loop {
        let (next, rows): (u64, Vec<Row>) = redis::cmd("SECKILL.WINNERS")
            .arg(key)
            .arg(cursor)
            .arg("COUNT")
            .arg(PAGE)
            .arg("STATE")
            .arg("ALL")
            .query(control)
            .map_err(|e| format!("WINNERS failed: {e}"))?;
        for (seq, user, qty, state, ..) in rows {
            winners.push(Winner { seq, user, qty, state });
        }
        if next == 0 {
            return Ok(winners);
        }
        cursor = next;
    }
}

/// A flat map as `name value, name value`.
fn one_line(map: &[redis::Value]) -> String {
    let word = |value: &redis::Value| match value {
        redis::Value::Array(items) if items.is_empty() => "none".into(),
        other => {
            redis::from_redis_value_ref::<String>(other).unwrap_or_else(|_| format!("{other:?}"))
        }
    };
    let pairs: Vec<String> =
        map.chunks(2).map(|pair| pair.iter().map(word).collect::<Vec<_>>().join(" ")).collect();
    pairs.join(", ")
}
