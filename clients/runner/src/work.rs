//! All commands of the users of redis.conf.example, through client libraries. Each connects, reads
//! the outbox and listens in its own way.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use seckill_harness::conf_example::{has_more, login, options};
use seckill_harness::{Conn, Server};

use crate::driver::{Client, IOREDIS, PHPREDIS, REDIS_PY};
use crate::{may_run, Options};

/// A sale that is paused and resumed all the time, so that a listener gets notifications.
const TICKER: &str = "sale:ticker";
const TICK_EVERY: Duration = Duration::from_millis(20);
const TIME_LIMIT_SECONDS: u64 = 60;

/// Commands that Redis 7.0 does not have.
const MORE_WORK: &str = "shop WAITAOF 1 0 9000\nreader WAITAOF 1 0 9000\n";

/// The client of each program, and the program's file.
const PROGRAMS: [(Client, &str); 3] =
    [(REDIS_PY, "work.py"), (PHPREDIS, "work.php"), (IOREDIS, "work.js")];

/// Runs all libraries that are not skipped.
///
/// # Errors
/// A message with the failed library and its error.
pub fn run(told: &Options) -> Result<(), String> {
    let server = options().try_start()?;
    let (mut admin, mut operator) = (login(&server, "admin"), login(&server, "operator"));
    let more = if has_more(&mut admin) { MORE_WORK } else { "" };
    let work = server.folder().join("work.txt");
    let lines = [include_str!("../../../examples/clients/work.txt"), more].concat();
    fs::write(&work, lines).map_err(|e| format!("No list of work: {e}"))?;
    operator.check(&[(&format!("SECKILL.INIT {TICKER} 1"), "+OK")]);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let ticker = scope.spawn(|| tick(&mut operator, &is_over));
        let done = PROGRAMS.iter().try_for_each(|(client, program)| match may_run(told, client)? {
            true => work_with(client, program, &server, &work),
            false => Ok(()),
        });
        is_over.store(true, Ordering::Relaxed);
        done.and(ticker.join().map_err(|_| "The ticker panicked.".to_owned()))
    })?;
    // Some libraries hide a refusal; the server's ACL LOG has noted it.
    match admin.cmd("ACL LOG") {
        refused if refused.items().is_empty() => Ok(()),
        refused => Err(format!("Permissions stopped something: {refused}")),
    }
}

fn tick(operator: &mut Conn, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for command in ["SECKILL.PAUSE", "SECKILL.RESUME"] {
            operator.check(&[(&format!("{command} {TICKER}"), "+OK")]);
        }
        thread::sleep(TICK_EVERY);
    }
}

fn work_with(client: &Client, program: &str, server: &Server, work: &Path) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clients");
    // A library may wait forever for a refused reply.
    let output = Command::new("timeout")
        .args([&TIME_LIMIT_SECONDS.to_string(), client.run[0]])
        .arg(folder.join(program))
        .args([format!("127.0.0.1:{}", server.port()), format!("sale:{}", client.name)])
        .arg(work)
        .output()
        .map_err(|e| format!("timeout does not start: {e}"))?;
    if output.status.success() && output.stdout == b"OK\n" {
        println!("{}: every user of redis.conf.example can do their work", client.name);
        return Ok(());
    }
    let (said, why) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{} ({}): {said}{why}", client.name, output.status))
}
