//! The client libraries, and how their drivers start.

use std::process::{Command, Stdio};

use seckill_harness::driver::Driver;
use serde_json::json;

use crate::place::On;

/// A client library, and one Redis library for it.
pub struct Client {
    pub name: &'static str,
    /// Another name for `--skip`.
    pub language: &'static str,
    /// A command that succeeds if the library is installed.
    pub present: &'static [&'static str],
    /// The command line of the driver, below `clients/`.
    pub run: &'static [&'static str],
    pub flavour: &'static str,
    pub resp: u8,
    /// The Redis library decodes strings by itself.
    pub text: bool,
    /// The prefix that the Redis library puts before keys, but not before those of unknown
    /// commands.
    pub prefix: &'static str,
    /// The Redis library retries a lost call by itself and does not report it.
    pub resends: bool,
    /// The servers that the client supports: one, Sentinels or a cluster.
    pub on: On,
}

pub const PHPREDIS: Client = Client {
    name: "phpredis",
    language: "PHP",
    present: &["php", "-r", "exit(extension_loaded('redis') ? 0 : 1);"],
    run: &["php", "php/test/driver.php"],
    flavour: "phpredis",
    resp: 2,
    text: false,
    prefix: "shop:",
    resends: false,
    on: On::Single,
};
pub const REDIS_PY: Client = Client {
    name: "redis-py",
    language: "Python",
    present: &["python3", "-c", "import redis"],
    run: &["python3", "python/test/driver.py"],
    flavour: "sync",
    prefix: "",
    ..PHPREDIS
};
pub const IOREDIS: Client = Client {
    name: "ioredis",
    language: "Node",
    present: &["node", "-e", "require('ioredis')"],
    run: &["node", "node/test/driver.js"],
    flavour: "ioredis",
    ..PHPREDIS
};
pub const NODE_REDIS: Client = Client {
    name: "node-redis",
    present: &["node", "-e", "require('redis')"],
    flavour: "node-redis",
    ..IOREDIS
};
pub const JEDIS: Client = Client {
    name: "Jedis",
    language: "Java",
    present: &["javap", "redis.clients.jedis.UnifiedJedis"],
    run: &["java", "Driver"],
    flavour: "Jedis",
    prefix: "",
    ..PHPREDIS
};

const LETTUCE: Client = Client {
    name: "Lettuce",
    present: &["javap", "io.lettuce.core.RedisClient"],
    flavour: "Lettuce",
    resends: true,
    ..JEDIS
};
const REDIS_RS: Client = Client {
    name: "redis-rs",
    language: "Rust",
    // The driver is built together with this program.
    present: &["test", "-x", "target/release/examples/driver"],
    run: &["../target/release/examples/driver"],
    flavour: "redis-rs",
    prefix: "",
    ..PHPREDIS
};

const GO_REDIS: Client = Client {
    name: "go-redis",
    language: "Go",
    present: &["test", "-x", "target/clients/go/driver"],
    run: &["../target/clients/go/driver"],
    flavour: "go-redis",
    ..REDIS_RS
};

const PREDIS: Client = Client {
    name: "Predis",
    present: &["php", "-r", "exit((include 'Predis/autoload.php') === false ? 1 : 0);"],
    flavour: "predis",
    ..PHPREDIS
};
const ASYNC: Client = Client { name: "redis-py asyncio", flavour: "async", ..REDIS_PY };

pub const CLIENTS: &[Client] = &[
    PHPREDIS,
    Client { on: On::Sentinel, ..PHPREDIS },
    Client { on: On::Cluster, ..PHPREDIS },
    PREDIS,
    Client { on: On::Sentinel, ..PREDIS },
    Client { on: On::Cluster, ..PREDIS },
    REDIS_PY,
    Client { resp: 3, text: true, ..REDIS_PY },
    Client { on: On::Sentinel, ..REDIS_PY },
    Client { on: On::Cluster, ..REDIS_PY },
    Client { text: true, ..ASYNC },
    Client { resp: 3, ..ASYNC },
    Client { on: On::Sentinel, ..ASYNC },
    Client { resp: 3, on: On::Cluster, ..ASYNC },
    IOREDIS,
    Client { resp: 3, ..IOREDIS },
    Client { on: On::Sentinel, ..IOREDIS },
    Client { on: On::Cluster, ..IOREDIS },
    NODE_REDIS,
    Client { resp: 3, ..NODE_REDIS },
    Client { on: On::Sentinel, ..NODE_REDIS },
    Client { resp: 3, on: On::Cluster, ..NODE_REDIS },
    JEDIS,
    Client { resp: 3, ..JEDIS },
    Client { on: On::Sentinel, ..JEDIS },
    Client { resp: 3, on: On::Cluster, ..JEDIS },
    LETTUCE,
    Client { resp: 3, ..LETTUCE },
    Client { on: On::Sentinel, ..LETTUCE },
    Client { resends: false, on: On::Cluster, ..LETTUCE },
    REDIS_RS,
    Client { resp: 3, ..REDIS_RS },
    Client { on: On::Sentinel, ..REDIS_RS },
    Client { on: On::Cluster, ..REDIS_RS },
    GO_REDIS,
    Client { resp: 3, ..GO_REDIS },
    Client { on: On::Sentinel, ..GO_REDIS },
    Client { resp: 3, on: On::Cluster, ..GO_REDIS },
];

/// Clients that lack one rule, see `clients/cases.md`.
pub const WRONG: [&str; 29] = [
    "new-req",
    "no-req",
    "keeps",
    "patient",
    "deaf",
    "vague",
    "strict",
    "hopeful",
    "forgets",
    "stays",
    "single",
    "blunt",
    "hasty",
    "counts",
    "keepsake",
    "whole",
    "punctual",
    "stubborn",
    "skims",
    "texts",
    "resigns",
    "trusts",
    "blank",
    "lump",
    "endless",
    "grabs",
    "anywhere",
    "scattered",
    "blind",
];

pub fn wrong(flavour: &'static str, on: On) -> Client {
    Client { name: flavour, flavour, on, ..REDIS_PY }
}

impl Client {
    /// Starts the driver with a client for this port.
    ///
    /// # Errors
    /// A message if it does not start.
    pub fn start(&self, port: u16) -> Result<Driver, String> {
        let told = json!({
            "port": port, "flavour": self.flavour, "resp": self.resp, "text": self.text,
            "prefix": self.prefix, "on": self.on,
        });
        Driver::start(self.run, &told)
    }

    /// Whether the library is installed.
    pub fn is_present(&self) -> bool {
        let (program, rest) = (self.present[0], &self.present[1..]);
        let mut quiet = Command::new(program);
        let ended = quiet.args(rest).stdout(Stdio::null()).stderr(Stdio::null()).status();
        ended.is_ok_and(|status| status.success())
    }

    pub fn title(&self) -> String {
        let text = if self.text { ", text" } else { "" };
        let on = match self.on {
            On::Single => "",
            On::Sentinel => ", Sentinel",
            On::Cluster => ", cluster",
        };
        format!("{} (RESP{}{text}{on})", self.name, self.resp)
    }
}
