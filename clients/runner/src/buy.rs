//! Runs the programs of `examples/clients/`, which README.md shows.

use std::path::Path;
use std::process::Command;

use seckill_harness::program::Server;

use crate::{may_run, Options};

/// One language: how its program starts, and a command that succeeds if it is installed.
struct Language {
    name: &'static str,
    /// The Redis library of the program.
    over: &'static str,
    run: &'static [&'static str],
    present: &'static [&'static str],
    /// phpredis needs host and port, the others a URL.
    takes_url: bool,
}

const LANGUAGES: [Language; 4] = [
    Language {
        name: "PHP",
        over: "phpredis",
        run: &["php", "buy.php"],
        present: &["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"],
        takes_url: false,
    },
    Language {
        name: "Python",
        over: "redis-py",
        run: &["python3", "buy.py"],
        present: &["python3", "-c", "import redis"],
        takes_url: true,
    },
    Language {
        name: "Node",
        over: "node-redis",
        run: &["node", "buy.js"],
        present: &["node", "-e", "require('redis')"],
        takes_url: true,
    },
    Language {
        name: "Java",
        over: "Jedis",
        run: &["java", "Buy.java"],
        present: &["javap", "redis.clients.jedis.UnifiedJedis"],
        takes_url: true,
    },
];

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
    for language in &LANGUAGES {
        if may_run(options, language.over, language.name, language.present)? {
            play(language, &server)?;
            println!("examples/clients, {}: OK", language.name);
        }
    }
    Ok(())
}

/// Plays all scenes in a separate sale for this language, then an error.
fn play(language: &Language, server: &Server) -> Result<(), String> {
    let key = format!("sale:{}", language.name);
    let mut connection = server.connect()?;
    redis::cmd("SECKILL.INIT")
        .arg(&key)
        .arg(1)
        .query::<()>(&mut connection)
        .map_err(|e| format!("INIT failed: {e}"))?;
    for (user, order, expected) in SCENES {
        expect(language, server, &[&key, user, order], true, expected)?;
    }
    expect(language, server, &["sale:none", "alice", "order-1"], false, NO_SALE)
}

fn expect(
    language: &Language,
    server: &Server,
    words: &[&str],
    success: bool,
    expected: &str,
) -> Result<(), String> {
    let address =
        if language.takes_url { server.url() } else { format!("127.0.0.1:{}", server.port()) };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clients");
    let Some((runtime, rest)) = language.run.split_first() else { return Ok(()) };
    let output = Command::new(runtime)
        .args(rest)
        .arg(address)
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
    let (name, all) = (language.name, String::from_utf8_lossy(&output.stderr));
    Err(format!("{name} {}: {} instead of {expected}. {all}", words.join(" "), said.trim()))
}
