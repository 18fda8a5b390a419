//! Size of grants on disk: in the AOF, beside SADD, and in an RDB file, beside a set of the same
//! users. Also the server's time to save and to load the RDB file.

use std::fs;
use std::path::Path;

use super::sale::AOF;
use super::Bench;
use crate::contenders::{sadd, GRANTED, MODULE, PLENTY, SADD, SALE, SET, USER};
use crate::control::Control;
use crate::figures::{BYTES, MS};
use crate::load::{random, send, spread, Request, PIPELINED, USERS};

pub const LOG: &str = "bytes in the log of a plain grant";

/// Commands in one write while a key is filled.
const BLOCK: usize = 1_000;

/// A kind of user ids.
pub struct Ids {
    pub name: &'static str,
    /// Makes this many different ids.
    make: fn(u64) -> Box<dyn Iterator<Item = String>>,
}

/// Kinds of ids: the ids of the other cases, account numbers, and UUIDs. Each digit of the last two
/// kinds is random, so only their alphabet can be compressed.
pub const KINDS: [Ids; 3] = [
    Ids { name: "`user:` ids", make: |count| named(spread(count, USERS)) },
    Ids { name: "19-digit ids", make: |count| numbered(random(19, NUMBERS).take(count as usize)) },
    Ids { name: "UUIDs", make: |count| Box::new(uuids().take(count as usize)) },
];

/// Count of 19-digit numbers that fit into 63 bits, without the smallest one.
const NUMBERS: u64 = 8_000_000_000_000_000_000;
const SMALLEST: u64 = 1_000_000_000_000_000_000;

fn named(numbers: impl Iterator<Item = u64> + 'static) -> Box<dyn Iterator<Item = String>> {
    Box::new(numbers.map(|number| format!("user:{number:012}")))
}

fn numbered(numbers: impl Iterator<Item = u64> + 'static) -> Box<dyn Iterator<Item = String>> {
    Box::new(numbers.map(|number| (SMALLEST + number).to_string()))
}

/// UUIDs of version 4: 122 bits of each are random.
fn uuids() -> impl Iterator<Item = String> {
    random(4, u64::MAX).zip(random(5, u64::MAX)).map(|(high, low)| {
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
        let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
        format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
    })
}

/// The name of the case that measures the RDB file, saving and loading.
pub fn file(ids: &Ids) -> String {
    format!("file of winners with {}", ids.name)
}

pub fn save(ids: &Ids) -> String {
    format!("SAVE of winners with {}", ids.name)
}

pub fn load(ids: &Ids) -> String {
    format!("load of winners with {}", ids.name)
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    log(bench)?;
    KINDS.iter().try_for_each(|ids| files(bench, ids))
}

fn log(bench: &mut Bench) -> Result<(), String> {
    let mut control = bench.server(&AOF)?;
    control.tell(&["SECKILL.INIT", SALE, &PLENTY.to_string()])?;
    let calls = bench.plan.calls;
    let grab = Request::new(&["SECKILL.GRAB", SALE, USER], GRANTED);
    for (who, request) in [(MODULE, grab), (SADD, sadd())] {
        let before = control.info("persistence", "aof_current_size")?;
        send(control.port(), &request, spread(calls, USERS), PIPELINED)?;
        let after = control.info("persistence", "aof_current_size")?;
        bench.figures.add(LOG, who, BYTES, (after - before) / calls as f64);
    }
    Ok(())
}

/// A sale and a set, each on its own server, saved and loaded by turns.
fn files(bench: &mut Bench, ids: &Ids) -> Result<(), String> {
    let [_, winners, _] = bench.plan.sizes;
    let sides = [(SADD, "SADD", SET), (MODULE, "SECKILL.GRAB", SALE)];
    let mut servers = Vec::new();
    for (who, command, key) in sides {
        let mut control = bench.server(&[])?;
        if who == MODULE {
            control.tell(&["SECKILL.INIT", key, &winners.to_string()])?;
        }
        fill(&mut control, command, key, (ids.make)(winners))?;
        if winners_of(&mut control, key)? != winners {
            return Err(format!("{key} has not {winners} {}", ids.name));
        }
        servers.push((who, key, control));
    }
    for round in 0..bench.plan.few_rounds {
        bench.step(&file(ids), round);
        for (who, key, control) in &mut servers {
            let took = worked_ms(control, &["SAVE"])?;
            bench.figures.add(&save(ids), who, MS, took);
            bench.figures.add(&file(ids), who, BYTES, file_bytes(control)?);
            control.tell(&["FLUSHALL", "SYNC"])?;
            let took = worked_ms(control, &["DEBUG", "RELOAD", "NOSAVE"])?;
            bench.figures.add(&load(ids), who, MS, took);
            if winners_of(control, key)? != winners {
                return Err(format!("{key} was not loaded as it was"));
            }
        }
    }
    Ok(())
}

fn fill(
    control: &mut Control,
    command: &str,
    key: &str,
    users: impl Iterator<Item = String>,
) -> Result<(), String> {
    let mut users = users.peekable();
    while users.peek().is_some() {
        let mut block = redis::pipe();
        for user in users.by_ref().take(BLOCK) {
            block.cmd(command).arg(key).arg(user).ignore();
        }
        control.run(&block)?;
    }
    Ok(())
}

fn winners_of(control: &mut Control, key: &str) -> Result<u64, String> {
    match key {
        SET => control.ask(&["SCARD", SET]),
        _ => {
            let text: String = control.ask(&["SECKILL.STATUS", key, "JSON"])?;
            let status: serde_json::Value =
                serde_json::from_str(&text).map_err(|e| e.to_string())?;
            status["sold"].as_u64().ok_or_else(|| format!("STATUS says {text}"))
        }
    }
}

/// Milliseconds that the server's main thread needs for a command.
fn worked_ms(control: &mut Control, words: &[&str]) -> Result<f64, String> {
    let before = control.worked_seconds()?;
    control.tell(words)?;
    Ok((control.worked_seconds()? - before) * 1e3)
}

fn file_bytes(control: &mut Control) -> Result<f64, String> {
    let mut setting = |name: &str| -> Result<String, String> {
        let found: Vec<String> = control.ask(&["CONFIG", "GET", name])?;
        found.into_iter().nth(1).ok_or_else(|| format!("CONFIG GET {name} says nothing"))
    };
    let file = Path::new(&setting("dir")?).join(setting("dbfilename")?);
    let found = fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(found.len() as f64)
}
