//! A client library at work: a process of its language that gets calls and tells answers, a line of
//! JSON each.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use seckill_harness::process::command;
use serde_json::{json, Value};

/// A client library, and one way of using it.
pub struct Client {
    pub name: &'static str,
    /// What `--skip` may name besides.
    pub language: &'static str,
    /// A command that succeeds when it is here.
    pub present: &'static [&'static str],
    /// How the driver starts, below `clients/`.
    pub run: &'static [&'static str],
    pub flavour: &'static str,
    pub resp: u8,
    /// The library decodes strings by itself.
    pub text: bool,
    /// The library puts this before keys, but not before those of calls by name.
    pub prefix: &'static str,
    /// The library repeats a lost call by itself and does not tell.
    pub resends: bool,
}

const PHPREDIS: Client = Client {
    name: "phpredis",
    language: "PHP",
    present: &["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"],
    run: &["php", "php/test/driver.php"],
    flavour: "phpredis",
    resp: 2,
    text: false,
    prefix: "shop:",
    resends: false,
};
const REDIS_PY: Client = Client {
    name: "redis-py",
    language: "Python",
    present: &["python3", "-c", "import redis"],
    run: &["python3", "python/test/driver.py"],
    flavour: "sync",
    prefix: "",
    resends: true,
    ..PHPREDIS
};
const IOREDIS: Client = Client {
    name: "ioredis",
    language: "Node",
    present: &["node", "-e", "require('ioredis')"],
    run: &["node", "node/test/driver.js"],
    flavour: "ioredis",
    resends: true,
    ..PHPREDIS
};
const NODE_REDIS: Client = Client {
    name: "node-redis",
    present: &["node", "-e", "require('redis')"],
    flavour: "node-redis",
    resends: false,
    ..IOREDIS
};
const JEDIS: Client = Client {
    name: "Jedis",
    language: "Java",
    present: &["javap", "redis.clients.jedis.UnifiedJedis"],
    run: &["java", "Driver"],
    flavour: "jedis",
    prefix: "",
    ..PHPREDIS
};

pub const CLIENTS: [Client; 12] = [
    PHPREDIS,
    Client {
        name: "Predis",
        present: &["php", "-r", "exit((include 'Predis/autoload.php') === false ? 1 : 0);"],
        flavour: "predis",
        ..PHPREDIS
    },
    REDIS_PY,
    Client { resp: 3, text: true, ..REDIS_PY },
    Client { flavour: "async", text: true, ..REDIS_PY },
    Client { flavour: "async", resp: 3, ..REDIS_PY },
    IOREDIS,
    Client { resp: 3, ..IOREDIS },
    NODE_REDIS,
    Client { resp: 3, ..NODE_REDIS },
    JEDIS,
    Client { resp: 3, ..JEDIS },
];

/// Makes a new REQ for each attempt, which sells twice.
pub const WRONG: Client = Client { name: "a wrong client", flavour: "wrong", ..REDIS_PY };

impl Client {
    pub fn title(&self) -> String {
        let text = if self.text { ", text" } else { "" };
        format!("{} ({}, RESP{}{text})", self.name, self.flavour, self.resp)
    }
}

pub fn is_present(present: &[&str]) -> bool {
    let Some((program, rest)) = present.split_first() else { return false };
    let quiet =
        Command::new(program).args(rest).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// A running driver, ended when dropped.
pub struct Driver {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    /// # Errors
    /// A sentence when it does not start.
    pub fn start(client: &Client, port: u16) -> Result<Driver, String> {
        let Some((program, rest)) = client.run.split_first() else {
            return Err("No program".into());
        };
        let told = json!({
            "port": port, "flavour": client.flavour, "resp": client.resp, "text": client.text,
            "prefix": client.prefix,
        });
        let mut child = command(program.as_ref())
            .args(rest)
            .arg(told.to_string())
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{program} does not start: {e}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(orders), Some(answers)) => {
                Ok(Driver { child, orders, answers: BufReader::new(answers) })
            }
            _ => Err(format!("{program} has no pipes")),
        }
    }

    /// # Errors
    /// A sentence when it has ended, or tells no JSON.
    pub fn ask(&mut self, order: &str) -> Result<Value, String> {
        let mut line = String::new();
        writeln!(self.orders, "{order}").map_err(|e| format!("The driver is gone: {e}"))?;
        self.answers.read_line(&mut line).map_err(|e| format!("The driver is gone: {e}"))?;
        serde_json::from_str(&line).map_err(|e| format!("The driver says {line:?}: {e}"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = (self.child.kill(), self.child.wait());
    }
}
