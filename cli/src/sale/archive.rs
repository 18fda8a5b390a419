//! The archive of a sale that is over: a file of JSON lines that people and programs can read. The
//! last line has the sale's DUMP payload, from which a server can restore the sale.
//!
//! ```text
//! {"archive":"seckill 1","sale":"sale:phone","at":...,"status":{...}}
//! {"grant":{"seq":1,"user":"alice",...}}
//! {"entry":{"id":"1-0","fields":["event","GRAB",...]}}
//! {"end":{"grants":1,"entries":1},"dump":"..."}
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::prelude::{Engine, BASE64_STANDARD};
use redis::{cmd, Value};
use serde_json::{json, Map};

use super::show::object;
use super::{Archive, Sale};
use crate::connect::Server;
use crate::grants::FIELDS;
use crate::print::say;
use crate::split::{number, said};

const FORMAT: &str = "seckill 1";

/// Entries of the outbox that are read at once.
const PAGE: usize = 1_000;

/// Writes the archive. The sale stays where it is.
///
/// # Errors
/// An error message if the sale is not over, does not add up, or the file is there already.
pub fn export(server: &Server, options: &Archive) -> Result<(), String> {
    let mut sale = Sale::of(server, &options.name)?;
    is_over(&mut sale)?;
    sale.audit()
        .map_err(|why| format!("{} does not add up, nothing is written: {why}", sale.name))?;
    if options.file.exists() {
        return Err(format!("{} is there already", options.file.display()));
    }
    let part = part_of(&options.file);
    let failed = |e: std::io::Error| format!("{}: {e}", part.display());
    let file = File::create_new(&part).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => format!(
            "{} is there already: another export is writing it, or was stopped. Remove it then",
            part.display()
        ),
        _ => failed(e),
    })?;
    let done = written(&mut sale, file).and_then(|counted| {
        fs::rename(&part, &options.file).map_err(|e| e.to_string()).map(|()| counted)
    });
    let (grants, entries) = done.map_err(|why| {
        // What is not whole is of no use, and would be in the way of the next attempt.
        let _ = fs::remove_file(&part);
        format!("{}: {why}", part.display())
    })?;
    say!(
        "{}: {grants} grants and {entries} entries are in {}. The sale is still there: DEL removes \
         it",
        sale.name,
        options.file.display()
    );
    Ok(())
}

/// The name of the archive while it is written. No other file has it: names that differ only behind
/// the last dot have different ones, too.
fn part_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Writes all lines, to the disk.
fn written(sale: &mut Sale, file: File) -> Result<(u64, u64), String> {
    let mut out = BufWriter::new(file);
    let counted = write(sale, &mut out)?;
    let file = out.into_inner().map_err(|e| e.into_error().to_string())?;
    file.sync_all().map_err(|e| e.to_string())?;
    Ok(counted)
}

/// Checks that the sale is over: nothing is held, no waiters, no buyer can buy.
fn is_over(sale: &mut Sale) -> Result<(), String> {
    let status = sale.status()?;
    let field = |name: &str| status.iter().find(|(field, _)| field == name).map(|(_, v)| v);
    let count = |name: &str| field(name).and_then(number).unwrap_or_default();
    let state = field("state").map(super::text).unwrap_or_default();
    let (held, waiting) = (count("held"), count("waiting"));
    if held == 0 && waiting == 0 && ["closed", "soldout", "paused"].contains(&state.as_str()) {
        return Ok(());
    }
    Err(format!(
        "{} is {state}, {held} units are held and {waiting} users wait: an archive is made of a \
         sale that is over. Pause it and let its holds end",
        sale.name
    ))
}

fn write(sale: &mut Sale, out: &mut impl Write) -> Result<(u64, u64), String> {
    let line = |out: &mut dyn Write, value: serde_json::Value| {
        writeln!(out, "{value}").map_err(|e| e.to_string())
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let status = sale.status()?;
    let head = json!({
        "archive": FORMAT,
        "sale": sale.name,
        "at": now.as_millis() as u64,
        "status": object(&status),
    });
    line(out, head)?;
    let mut grants = 0;
    sale.grants("ALL", |row| {
        grants += 1;
        let names = FIELDS.iter().chain(&["units"]).map(|name| (*name).to_owned());
        let fields: Map<_, _> = names.zip(row.iter().map(exact)).collect();
        line(out, json!({ "grant": fields }))
    })?;
    let stream = status.iter().find(|(name, _)| name == "outbox").map(|(_, key)| key.clone());
    let mut entries = 0;
    if let Some(Value::BulkString(stream)) = stream {
        entries = outbox(sale, &stream, |entry| line(out, entry))?;
    }
    let Value::BulkString(dump) = sale.call(cmd("DUMP").arg(&sale.name).clone())? else {
        return Err(format!("there is no sale {}", sale.name));
    };
    let end = json!({
        "end": { "grants": grants, "entries": entries },
        "dump": BASE64_STANDARD.encode(dump),
    });
    line(out, end)?;
    Ok((grants, entries))
}

/// Each entry that the stream still has.
fn outbox(
    sale: &mut Sale,
    stream: &[u8],
    mut take: impl FnMut(serde_json::Value) -> Result<(), String>,
) -> Result<u64, String> {
    let (mut from, mut count) = (b"-".to_vec(), 0);
    loop {
        let mut range = cmd("XRANGE");
        range.arg(stream).arg(&from).arg("+").arg("COUNT").arg(PAGE);
        let reply = sale.call(range)?;
        let Value::Array(rows) = &reply else { return Err(said(&reply)) };
        for row in rows {
            let Value::Array(row) = row else { continue };
            let [Value::BulkString(id), fields] = row.as_slice() else { continue };
            from = [b"(".as_slice(), id].concat();
            count += 1;
            take(json!({ "entry": {
                "id": String::from_utf8_lossy(id),
                "fields": exact(fields),
            }}))?;
        }
        if rows.len() < PAGE {
            return Ok(count);
        }
    }
}

/// The exact value: UTF-8 as text, other bytes as `{"base64": ...}`.
fn exact(value: &Value) -> serde_json::Value {
    match value {
        Value::Array(items) => items.iter().map(exact).collect(),
        Value::BulkString(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
        },
        other => crate::grants::json(other),
    }
}

/// Restores the sale of an archive on a server, for inspection.
///
/// # Errors
/// An error message if the file is incomplete, the key exists already, or the restored sale differs
/// from the archive.
pub fn import(server: &Server, options: &Archive) -> Result<(), String> {
    let (grants, dump) = read(&options.file)?;
    let mut sale = Sale::of(server, &options.name)?;
    let mut restore = cmd("RESTORE");
    restore.arg(&sale.name).arg(0).arg(&dump);
    sale.call(restore).map_err(|why| match why.contains("BUSYKEY") {
        true => format!("{}: there is a key with this name, and it stays", options.name),
        false => why,
    })?;
    let audit = sale.audit()?;
    let mut found = 0;
    sale.grants("ALL", |_| {
        found += 1;
        Ok(())
    })?;
    if found != grants {
        return Err(format!("{} has {found} grants, its archive {grants}", options.name));
    }
    say!("{}: {grants} grants are back. {audit}", options.name);
    Ok(())
}

/// The number of grants in the file, and the sale's DUMP payload.
fn read(file: &Path) -> Result<(u64, Vec<u8>), String> {
    let failed = |why: &str| format!("{} {why}", file.display());
    let opened = File::open(file).map_err(|e| failed(&format!("can't be read: {e}")))?;
    let (mut grants, mut last) = (0, serde_json::Value::Null);
    for (at, line) in BufReader::new(opened).lines().enumerate() {
        let line = line.map_err(|e| failed(&format!("can't be read: {e}")))?;
        let value: serde_json::Value =
            serde_json::from_str(&line).map_err(|_| failed("is no archive, or not whole"))?;
        if at == 0 && value["archive"] != FORMAT {
            return Err(failed("is no archive of a sale that this program knows"));
        }
        grants += u64::from(value.get("grant").is_some());
        last = value;
    }
    let dump = last["dump"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    match dump {
        Some(dump) if last["end"]["grants"] == grants => Ok((grants, dump)),
        _ => Err(failed("is not whole: its end is missing, or some of its grants")),
    }
}
