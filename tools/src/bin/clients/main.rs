//! Runs the programs of `examples/clients/` against servers of its own: what the README shows for
//! PHP, Python, Node and Java is what really happens, and the users of redis.conf.example can do
//! their whole work with each library. A language whose runtime or client library is not here is a
//! failure, unless it is named with --skip.

mod work;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;

use seckill_harness::program::Server;

/// Buys with real client libraries.
#[derive(Parser)]
struct Options {
    /// Leave this language or library out; may be given several times
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,
}

/// One language: how its program is started, and a command that succeeds when that can work.
struct Language {
    name: &'static str,
    library: &'static str,
    run: &'static [&'static str],
    program: &'static str,
    present: &'static [&'static str],
    /// phpredis wants host and port, the others a URL.
    takes_url: bool,
}

const LANGUAGES: [Language; 4] = [
    Language {
        name: "PHP",
        library: "phpredis",
        run: &["php"],
        program: "buy.php",
        present: &["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"],
        takes_url: false,
    },
    Language {
        name: "Python",
        library: "redis-py",
        run: &["python3"],
        program: "buy.py",
        present: &["python3", "-c", "import redis"],
        takes_url: true,
    },
    Language {
        name: "Node",
        library: "node-redis (npm package redis)",
        run: &["node"],
        program: "buy.js",
        present: &["node", "-e", "require('redis')"],
        takes_url: true,
    },
    Language {
        name: "Java",
        library: "Jedis in CLASSPATH",
        run: &["java"],
        program: "Buy.java",
        present: &["javap", "redis.clients.jedis.JedisPooled"],
        takes_url: true,
    },
];

/// Who buys in a sale of one unit, and what they must be told.
const SCENES: [(&str, &str, &str); 4] = [
    ("alice", "order-1", "GRANTED 1 unit, number 1"),
    ("alice", "order-1", "REPLAY 1 unit, number 1"),
    ("alice", "order-2", "ALREADY 1 unit, number 1"),
    ("bob", "order-3", "no unit: SOLDOUT"),
];
const NO_SALE: &str = "mistake: NOSALE no sale at this key";

fn main() -> ExitCode {
    seckill_harness::program::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let server = Server::start(&seckill_harness::program::module_file(None)?, &[])?;
    for language in &LANGUAGES {
        if may_run(options, language.name, language.present, language.library)? {
            play(language, &server)?;
            println!("{}: OK", language.name);
        }
    }
    work::run(options)
}

/// False when it shall be skipped.
///
/// # Errors
/// A sentence that says what is missing.
fn may_run(options: &Options, name: &str, present: &[&str], library: &str) -> Result<bool, String> {
    if options.skip.iter().any(|skipped| skipped.eq_ignore_ascii_case(name)) {
        println!("{name}: SKIPPED, as told");
        return Ok(false);
    }
    if is_present(present) {
        return Ok(true);
    }
    Err(format!("{name}: {library} is not installed: make clients-deps, or --skip {name}"))
}

fn is_present(present: &[&str]) -> bool {
    let Some((program, rest)) = present.split_first() else { return false };
    let quiet =
        Command::new(program).args(rest).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// All scenes in a sale of this language's own, then a mistake.
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/clients");
    let Some((runtime, rest)) = language.run.split_first() else { return Ok(()) };
    let output = Command::new(runtime)
        .args(rest)
        .arg(folder.join(language.program))
        .arg(address)
        .args(words)
        .output()
        .map_err(|e| format!("{runtime} does not start: {e}"))?;
    let said = if success { &output.stdout } else { &output.stderr };
    let said = String::from_utf8_lossy(said);
    if output.status.success() == success && said.trim() == expected {
        return Ok(());
    }
    let (name, all) = (language.name, String::from_utf8_lossy(&output.stderr));
    Err(format!("{name} {}: {} instead of {expected}. {all}", words.join(" "), said.trim()))
}
