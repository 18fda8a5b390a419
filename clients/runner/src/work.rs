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

use crate::{may_run, Options};

/// A sale that is paused and resumed all the time, so that a listener gets notifications.
const TICKER: &str = "sale:ticker";
const TICK_EVERY: Duration = Duration::from_millis(20);
const TIME_LIMIT_SECONDS: u64 = 60;

/// Commands that Redis 7.0 does not have.
const MORE_WORK: &str = "shop WAITAOF 1 0 9000\nreader WAITAOF 1 0 9000\n";

/// One library: its name, how its program starts, and a command that succeeds if it is installed.
struct Library {
    name: &'static str,
    run: [&'static str; 2],
    present: &'static [&'static str],
}

const LIBRARIES: [Library; 3] = [
    Library {
        name: "redis-py",
        run: ["python3", "work.py"],
        present: &["python3", "-c", "import redis"],
    },
    Library {
        name: "phpredis",
        run: ["php", "work.php"],
        present: &["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"],
    },
    Library {
        name: "ioredis",
        run: ["node", "work.js"],
        present: &["node", "-e", "require('ioredis')"],
    },
];

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
        let done = LIBRARIES.iter().try_for_each(|library| {
            match may_run(told, library.name, library.name, library.present)? {
                true => work_with(library, &server, &work),
                false => Ok(()),
            }
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

fn work_with(library: &Library, server: &Server, work: &Path) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clients");
    let [runtime, program] = library.run;
    // A library may wait forever for a refused reply.
    let output = Command::new("timeout")
        .args([&TIME_LIMIT_SECONDS.to_string(), runtime])
        .arg(folder.join(program))
        .args([format!("127.0.0.1:{}", server.port()), format!("sale:{}", library.name)])
        .arg(work)
        .output()
        .map_err(|e| format!("timeout does not start: {e}"))?;
    if output.status.success() && output.stdout == b"OK\n" {
        println!("{}: every user of redis.conf.example can do their work", library.name);
        return Ok(());
    }
    let (said, why) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{} ({}): {said}{why}", library.name, output.status))
}
