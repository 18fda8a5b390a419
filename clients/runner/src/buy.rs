//! Runs the programs of `examples/clients/`, which README.md shows.

use std::path::Path;
use std::process::Command;

use seckill_harness::program::Server;

use crate::driver::{Client, JEDIS, NODE_REDIS, PHPREDIS, REDIS_PY};
use crate::{may_run, Options};

/// The client of each program, and the program's file.
const PROGRAMS: [(Client, &str); 4] =
    [(PHPREDIS, "buy.php"), (REDIS_PY, "buy.py"), (NODE_REDIS, "buy.js"), (JEDIS, "Buy.java")];

/// Buyers of a sale of one unit, with their expected answers.
const SCENES: [(&str, &str, &str); 4] = [
    ("alice", "order-1", "GRANTED 1 unit, number 1"),
    ("alice", "order-1", "REPLAY 1 unit, number 1"),
    ("alice", "order-2", "ALREADY 1 unit, number 1"),
    ("bob", "order-3", "no unit: SOLDOUT"),
];
const NO_SALE: &str = "mistake: NOSALE no sale at this key (the key is the first argument)";

/// # Errors
/// A message that says what is missing or wrong.
pub fn run(options: &Options) -> Result<(), String> {
    let server = Server::start(&seckill_harness::program::module_file(None)?, &[])?;
    for (client, program) in &PROGRAMS {
        if may_run(options, client)? {
            play(client, program, &server)?;
            println!("examples/clients, {}: OK", client.language);
        }
    }
    Ok(())
}

/// Plays all scenes in a separate sale for this language, then an error.
fn play(client: &Client, program: &str, server: &Server) -> Result<(), String> {
    let key = format!("sale:{}", client.language);
    let mut connection = server.connect()?;
    redis::cmd("SECKILL.INIT")
        .arg(&key)
        .arg(1)
        .query::<()>(&mut connection)
        .map_err(|e| format!("INIT failed: {e}"))?;
    // phpredis needs host and port, the others a URL.
    let address = match client.language {
        "PHP" => format!("127.0.0.1:{}", server.port()),
        _ => server.url(),
    };
    let run = [client.run[0], program, address.as_str()];
    for (user, order, expected) in SCENES {
        expect(run, &[&key, user, order], true, expected)?;
    }
    expect(run, &["sale:none", "alice", "order-1"], false, NO_SALE)
}

fn expect(
    [runtime, program, address]: [&str; 3],
    words: &[&str],
    success: bool,
    expected: &str,
) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clients");
    let output = Command::new(runtime)
        .args([program, address])
        .args(words)
        .current_dir(folder)
        .output()
        .map_err(|e| format!("{runtime} does not start: {e}"))?;
    let said = if success { &output.stdout } else { &output.stderr };
    // Jedis adds a line about its logger.
    let said = String::from_utf8_lossy(said);
    let said = said.lines().filter(|line| !line.starts_with("SLF4J:")).collect::<Vec<_>>();
    let said = said.join("\n");
    if output.status.success() == success && said.trim() == expected {
        return Ok(());
    }
    let (words, all) = (words.join(" "), String::from_utf8_lossy(&output.stderr));
    Err(format!("{program} {words}: {} instead of {expected}. {all}", said.trim()))
}
