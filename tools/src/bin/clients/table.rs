//! The table of cases, `clients/cases.json`: what every client must tell, whatever breaks.

use std::collections::BTreeSet;
use std::path::Path;

use seckill_harness::program::Server;
use seckill_harness::wait::holds_in_time;
use serde::Deserialize;
use serde_json::{json, Map, Value};

use crate::driver::{Client, Driver};
use crate::proxy::{Proxy, Then};

/// One sale and what happens to it. `KEY` in a command is its key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// Commands; `TIMES n` in front repeats one, with a running number for each `#`.
    setup: Vec<String>,
    #[serde(default)]
    steps: Vec<Step>,
    /// So many users, and the reply to each of them breaks off somewhere.
    #[serde(default)]
    storm: usize,
    /// The sale of the storm is split into so many.
    #[serde(default)]
    parts: usize,
    /// A client that makes a new REQ for each attempt must fail here, and nowhere else.
    #[serde(default)]
    pub catches_the_wrong_client: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Commands of somebody else.
    #[serde(default)]
    before: Vec<String>,
    /// What the client does.
    call: Map<String, Value>,
    /// After so many bytes the replies to it break off, one after the other.
    #[serde(default)]
    cut: Vec<usize>,
    /// Commands of somebody else, at the moment of the first cut.
    #[serde(default)]
    then: Vec<String>,
    /// The replica does not answer meanwhile.
    #[serde(default)]
    stalled: bool,
    /// What the answer must have; other fields are not looked at.
    #[serde(default)]
    expect: Map<String, Value>,
    /// The same of STATUS afterwards.
    #[serde(default)]
    status: Map<String, Value>,
    /// The key of that STATUS, where the sale is split.
    #[serde(default = "whole")]
    of: String,
}

fn whole() -> String {
    "KEY".into()
}

/// One more than the bytes of a reply to a GRAB that is granted.
const CUTS: usize = 46;

/// A server with a replica, and a way to it that breaks.
pub struct Place {
    server: Server,
    replica: Server,
    proxy: Proxy,
}

impl Place {
    /// # Errors
    /// A sentence that says what does not start.
    pub fn start(module: &Path) -> Result<Place, String> {
        let server = Server::start(module, &[])?;
        let primary = format!("127.0.0.1 {}", server.port());
        let replica = Server::start(module, &["--replicaof", &primary])?;
        let port = server.port();
        let is_there = || run::<i64>(port, "WAIT 1 1").is_ok_and(|replicas| replicas == 1);
        match holds_in_time(is_there) {
            true => Ok(Place { proxy: Proxy::to(port)?, server, replica }),
            false => Err("The replica does not come.".into()),
        }
    }

    pub fn port(&self) -> u16 {
        self.proxy.port()
    }

    /// Which server it is.
    ///
    /// # Errors
    /// A sentence when it does not say.
    pub fn title(&self) -> Result<String, String> {
        let info: String = run(self.server.port(), "INFO server")?;
        let said = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
        Ok(match (said("valkey_version:"), said("redis_version:")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, version) => format!("Redis {}", version.unwrap_or_default()),
        })
    }

    /// What is wrong with this client in this case, if something is.
    ///
    /// # Errors
    /// A sentence that says so.
    pub fn play(
        &self,
        client: &Client,
        driver: &mut Driver,
        at: usize,
        case: &Case,
    ) -> Result<(), String> {
        let name = format!("{}:{at}:{}", client.title().replace(' ', "_"), self.server.pid());
        let whole = format!("{}{name}", client.prefix);
        // A case that failed may have left the server without memory.
        self.prepare("CONFIG SET maxmemory 0", &whole)?;
        for command in &case.setup {
            self.prepare(command, &whole)?;
        }
        for step in &case.steps {
            self.step(client, driver, step, &name, &whole)?;
        }
        match case.storm {
            0 => Ok(()),
            users => self.storm(driver, users, case.parts, [&name, &whole]),
        }
    }

    fn prepare(&self, command: &str, key: &str) -> Result<(), String> {
        let command = command.replace("KEY", key);
        let Some((times, command)) = command.strip_prefix("TIMES ").and_then(|c| c.split_once(' '))
        else {
            return run::<redis::Value>(self.server.port(), &command).map(|_| ());
        };
        let times: usize = times.parse().map_err(|e| format!("{times}: {e}"))?;
        let mut connection = self.server.connect()?;
        let mut pipe = redis::pipe();
        for at in 0..times {
            let words = command.replace('#', &at.to_string());
            pipe.add_command(words_of(&words));
        }
        pipe.query::<redis::Value>(&mut connection)
            .map(|_| ())
            .map_err(|e| format!("{command}: {e}"))
    }

    fn step(
        &self,
        client: &Client,
        driver: &mut Driver,
        step: &Step,
        name: &str,
        whole: &str,
    ) -> Result<(), String> {
        for command in &step.before {
            self.prepare(command, whole)?;
        }
        let (port, key) = (self.server.port(), whole.to_owned());
        let commands = step.then.clone();
        let then: Then = Box::new(move || {
            for command in commands {
                if let Err(why) = run::<redis::Value>(port, &command.replace("KEY", &key)) {
                    eprintln!("{why}");
                }
            }
        });
        let mut order = step.call.clone();
        order.entry("key").or_insert_with(|| json!("KEY"));
        let order = json!(order).to_string().replace("KEY", name);
        self.proxy.cut(step.cut.iter().copied(), Some(then));
        if step.stalled {
            self.replica.freeze()?;
        }
        let answer = driver.ask(&order);
        if step.stalled {
            self.replica.thaw()?;
        }
        let (answer, unbroken) = (answer?, self.proxy.mend());
        if unbroken > 0 {
            return Err(format!("{order}: {unbroken} replies did not break off, {answer}"));
        }
        let mut expected = step.expect.clone();
        if client.resends {
            expected.remove("lost");
        }
        let expected = json!(expected).to_string().replace("KEY", whole);
        let expected: Value = serde_json::from_str(&expected).unwrap_or_default();
        fits(&expected, &answer).map_err(|why| format!("{order}: {why} in {answer}"))?;
        if step.status.is_empty() {
            return Ok(());
        }
        let of = step.of.replace("KEY", whole);
        let status: String = run(port, &format!("SECKILL.STATUS {of} JSON")).unwrap_or_default();
        let status: Value = serde_json::from_str(&status).unwrap_or(Value::Null);
        fits(&json!(step.status), &status).map_err(|why| format!("{order}: STATUS: {why}"))
    }

    /// Nobody is told anything else than what the sale knows of them.
    fn storm(
        &self,
        driver: &mut Driver,
        users: usize,
        parts: usize,
        [name, whole]: [&str; 2],
    ) -> Result<(), String> {
        let mut told = BTreeSet::new();
        for user in 0..users {
            self.proxy.cut([user % CUTS], None);
            let mut order = json!({"call": "grab", "key": name, "user": format!("user-{user}")});
            if parts > 0 {
                order["parts"] = json!(parts);
            }
            let answer = driver.ask(&order.to_string())?;
            self.proxy.mend();
            match (answer["won"].as_bool(), answer["outcome"].as_str(), answer["seq"].as_u64()) {
                (Some(true), _, Some(seq)) => {
                    told.insert((seq, format!("user-{user}"), 1));
                }
                (Some(false), Some("SOLDOUT"), _) => {}
                _ => return Err(format!("{order}: {answer}")),
            }
        }
        let mut known = BTreeSet::new();
        let keys = match parts {
            0 => vec![whole.to_owned()],
            _ => (0..parts).map(|part| format!("{whole}:{{p{part}}}")).collect(),
        };
        for key in keys {
            let ask = format!("SECKILL.WINNERS {key} 0 COUNT 10000 STATE ALL");
            let (_, rows): (u64, Vec<Vec<redis::Value>>) = run(self.server.port(), &ask)?;
            let row = |row: &Vec<redis::Value>| {
                Some((number(row.first()?)?, text(row.get(1)?)?, number(row.get(2)?)?))
            };
            let rows: Option<Vec<(u64, String, u64)>> = rows.iter().map(row).collect();
            known.extend(rows.ok_or("WINNERS is no list of grants")?);
        }
        if known == told {
            return Ok(());
        }
        let (sold, heard) = (known.difference(&told), told.difference(&known));
        Err(format!(
            "sold but not told {:?}, told but not sold {:?}",
            sold.collect::<Vec<_>>(),
            heard.collect::<Vec<_>>()
        ))
    }
}

/// # Errors
/// What is wrong with the file.
pub fn cases() -> Result<Vec<Case>, String> {
    let text = include_str!("../../../../clients/cases.json");
    serde_json::from_str(text).map_err(|e| format!("clients/cases.json: {e}"))
}

fn run<T: redis::FromRedisValue>(port: u16, command: &str) -> Result<T, String> {
    let answer = redis::Client::open(format!("redis://127.0.0.1:{port}/"))
        .and_then(|client| client.get_connection())
        .and_then(|mut connection| words_of(command).query(&mut connection));
    answer.map_err(|e| format!("{command}: {e}"))
}

fn words_of(command: &str) -> redis::Cmd {
    let mut cmd = redis::Cmd::new();
    command.split(' ').for_each(|word| {
        cmd.arg(word);
    });
    cmd
}

fn number(value: &redis::Value) -> Option<u64> {
    redis::from_redis_value_ref(value).ok()
}

fn text(value: &redis::Value) -> Option<String> {
    redis::from_redis_value_ref(value).ok()
}

/// Whether all that is expected is there; objects may have more.
fn fits(expected: &Value, actual: &Value) -> Result<(), String> {
    match (expected, actual) {
        (Value::Object(fields), Value::Object(_)) => fields.iter().try_for_each(|(name, field)| {
            fits(field, &actual[name]).map_err(|why| format!("{name}: {why}"))
        }),
        (Value::Array(items), Value::Array(there)) if items.len() == there.len() => {
            items.iter().zip(there).try_for_each(|(item, there)| fits(item, there))
        }
        _ if expected == actual => Ok(()),
        _ => Err(format!("{actual} instead of {expected}")),
    }
}
