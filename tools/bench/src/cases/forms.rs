//! Size of grants on disk: in the AOF, beside SADD, and in an RDB file, beside a set of the same
//! users. Also the server's time to save and to load the RDB file.

use std::fs;
use std::path::Path;

use seckill_crowd::screen::thousands;

use super::sale::AOF;
use super::Bench;
use crate::contenders::{sadd, GRANTED, MODULE, PLENTY, SADD, SALE, SET, USER};
use crate::control::Control;
use crate::figures::{BYTES, MS};
use crate::load::{numbered, random, send, spread, Request, PIPELINED, USERS};
use crate::rows::{beside, Rows, DIRECT, LOADED};

const LOG: &str = "bytes in the log of a plain grant";

/// Commands in one write while a key is filled.
const BLOCK: usize = 1_000;

/// A kind of user ids.
struct Ids {
    name: &'static str,
    /// Different ids, as many as wanted.
    all: fn() -> Box<dyn Iterator<Item = String>>,
    /// The bars of the file's size, and of the time to save and to load it.
    bars: [Option<f64>; 3],
}

/// Kinds of ids: the ids of the other cases, account numbers, and UUIDs. Each digit of the last two
/// kinds is random, so only their alphabet can be compressed.
const KINDS: [Ids; 3] = [
    Ids {
        name: "`user:` ids",
        all: || Box::new(spread(USERS, USERS).map(|number| numbered(USER, number))),
        bars: [Some(0.55), Some(1.3), Some(1.0)],
    },
    Ids { name: "19-digit ids", all: || Box::new(accounts()), bars: [Some(0.85), None, None] },
    Ids { name: "UUIDs", all: || Box::new(uuids()), bars: [Some(0.95), None, None] },
];

/// Numbers of 19 digits that fit into 63 bits.
fn accounts() -> impl Iterator<Item = String> {
    const SMALLEST: u64 = 1_000_000_000_000_000_000;
    random(19, 8 * SMALLEST).map(|number| (SMALLEST + number).to_string())
}

/// UUIDs of version 4: 122 bits of each are random.
fn uuids() -> impl Iterator<Item = String> {
    random(4, u64::MAX).zip(random(5, u64::MAX)).map(|(high, low)| {
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
        let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
        format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
    })
}

/// The RDB file, saving it and loading it.
const FILE: &str = "file";
const SAVE: &str = "SAVE";
const LOAD: &str = "load";

fn case(what: &str, ids: &Ids) -> String {
    format!("{what} of winners with {}", ids.name)
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    log(bench)?;
    KINDS.iter().try_for_each(|ids| files(bench, ids))
}

fn log(bench: &mut Bench) -> Result<(), String> {
    let mut control = bench.server(&AOF)?;
    control.tell(&["SECKILL.INIT", SALE, PLENTY])?;
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
        fill(&mut control, command, key, (ids.all)().take(winners as usize))?;
        if winners_of(&mut control, key)? != winners {
            return Err(format!("{key} has not {winners} {}", ids.name));
        }
        servers.push((who, key, control));
    }
    for round in 0..bench.plan.few_rounds {
        bench.step(&case(FILE, ids), round);
        for (who, key, control) in &mut servers {
            let took = worked_ms(control, &["SAVE"])?;
            bench.figures.add(&case(SAVE, ids), who, MS, took);
            bench.figures.add(&case(FILE, ids), who, BYTES, file_bytes(control)?);
            control.tell(&["FLUSHALL", "SYNC"])?;
            let took = worked_ms(control, &["DEBUG", "RELOAD", "NOSAVE"])?;
            bench.figures.add(&case(LOAD, ids), who, MS, took);
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
        _ => control.status(key, "sold"),
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

pub fn rows(rows: &mut Rows<'_>) {
    let setting = format!("AOF everysec, {}", LOADED);
    let what = ("plain winner", "bytes in the AOF, divided by SADD's; SADD's");
    beside_set(rows, what, &setting, (LOG, BYTES, 1.0), 1.6);
    let [_, winners, _] = rows.plan.sizes;
    let setting = format!("{DIRECT}, {} winners", thousands(winners));
    for ids in &KINDS {
        let bytes = (BYTES, 1e6, "bytes, divided by a set's; the set's MB");
        let time = (MS, 1.0, "server time, divided by a set's; the set's ms");
        let figures = [(FILE, bytes), (SAVE, time), (LOAD, time)];
        for ((name, (unit, scale, figure)), bar) in figures.into_iter().zip(ids.bars) {
            let Some(bar) = bar else { continue };
            let what = format!("{name} of {}", ids.name);
            beside_set(rows, (&what, figure), &setting, (&case(name, ids), unit, scale), bar);
        }
    }
}

/// A sale's figure divided by a set's, followed by the set's figure divided by `scale`.
fn beside_set(
    rows: &mut Rows<'_>,
    what: (&str, &str),
    setting: &str,
    (case, unit, scale): (&str, &str, f64),
    bar: f64,
) {
    let set = rows.figures.spread((case, SADD), unit).map(|set| set.in_parts_of(scale));
    rows.ratio(what, setting, bar, (unit, (case, MODULE), (case, SADD))).note = beside(set);
}
