//! RDB and AOF files with altered bytes at start-up. The server refuses to start, or its sales pass
//! AUDIT. No server ends by a signal.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::Instant;

use crate::corpus::{corpus, pick};
use crate::random::Random;
use crate::sound::MISSING_FIELDS;
use crate::support::payload::{assembled, restore, HEADER_BYTES, TRAILER_BYTES};
use crate::support::{Options, Reply, Server};
use crate::{long, rebuild, seed, Figures};

/// Number of sales in each file.
const SALES: usize = 12;

/// The kind of the altered file.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Rdb,
    /// An AOF, before or after a rewrite.
    Aof {
        rewritten: bool,
    },
}

/// A stopped server, its file, and the positions of the module's bytes in it.
struct Prepared {
    server: Server,
    file: PathBuf,
    bytes: Vec<u8>,
    ours: Vec<usize>,
}

fn prepare(form: Form, seed: u64) -> Prepared {
    let mut options = Options::new().line("rdbchecksum no").line("rdbcompression no");
    if let Form::Aof { .. } = form {
        options = options.line("appendonly yes").line("aof-use-rdb-preamble no");
    }
    let mut server = options.start();
    fill(&server, seed);
    let is_rewritten = matches!(form, Form::Aof { rewritten: true });
    if is_rewritten {
        crate::support::logs::rewrite(&server);
    }
    // From here on nothing expires, so that the file agrees with the dumps.
    assert_eq!(server.call("CLIENT PAUSE 60000 WRITE"), "+OK");
    let values = values(&server);
    server.stop(matches!(form, Form::Rdb));
    let file = match form {
        Form::Rdb => server.folder().join("dump.rdb"),
        Form::Aof { .. } => log_file(&server, is_rewritten),
    };
    let bytes = fs::read(&file).expect("the server's file");
    let ours = our_bytes(&bytes, form, &values);
    assert!(ours.len() > 4000, "{} of {} bytes are ours", ours.len(), bytes.len());
    Prepared { server, file, bytes, ours }
}

/// The file of an AOF rewrite, or the growing file.
fn log_file(server: &Server, is_rewritten: bool) -> PathBuf {
    let folder =
        fs::read_dir(server.folder().join("appendonlydir")).expect("the folder of the log");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("a file").path()).collect();
    let end = if is_rewritten { ".base.aof" } else { ".incr.aof" };
    files.retain(|file| file.to_string_lossy().ends_with(end));
    files.pop().expect("a log")
}

/// Adds sales of the corpus and changes them, so that an AOF has all kinds of effects.
fn fill(server: &Server, seed: u64) {
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT like 50 LIMIT 3 HOLD 100000 OUTBOX out"), "+OK");
    let like = conn.cmd("DUMP like").bytes().to_vec();
    for (place, sample) in corpus(seed).iter().take(SALES).enumerate() {
        let dump = [rebuild::dump(&sample.sale), vec![Vec::new()]].concat();
        let restored = conn.pipeline(&[restore(&format!("k{place}"), &assembled(&like, &dump))]);
        assert_eq!(restored.expect("the server lives")[0].to_string(), "+OK");
    }
    for round in 0..30 {
        for line in [
            format!("SECKILL.GRAB like u{} REQ r{round}", round % 9),
            format!("SECKILL.CONFIRM like u{} REQ r{}", round % 9, round / 2),
            format!("SECKILL.EXTEND like u{} 200000 REQ r{}", (round + 1) % 9, round + 1),
            format!("SECKILL.CANCEL like u{} REQ r{}", round % 5, round),
            format!("SECKILL.RESTOCK like {} REQ t{round}", round - 9),
            format!("SECKILL.IMPORT like v{round} 1 REQ i{round}"),
            format!("SECKILL.DENY like ADD d{round} e{round}"),
        ] {
            conn.cmd(&line);
        }
    }
    assert_eq!(conn.call("SECKILL.INIT hall 90 LIMIT 0 HOLD 100000 OUTBOX out NUMBERED"), "+OK");
    for round in 0..15 {
        for line in [
            format!("SECKILL.GRAB hall u{round} QTY 3 REQ r{round}"),
            format!("SECKILL.GRAB hall v{round} UNITS {} {} REQ r{round}", 90 - round, 70 - round),
            format!("SECKILL.CONFIRM hall v{round} REQ r{round} KEEP UNITS {}", 70 - round),
            format!("SECKILL.CANCEL hall u{} REQ r{}", round / 2, round / 2),
            format!("SECKILL.IMPORT hall v{round} 1 REQ r{round} UNITS {}", 90 - round),
            format!("SECKILL.RESTOCK hall 1 REQ t{round}"),
        ] {
            conn.cmd(&line);
        }
    }
    assert_eq!(conn.call("SECKILL.ALTER like LIMIT 9 ADMIT 7"), "+OK");
    assert_eq!(conn.call("SECKILL.PAUSE like"), "+OK");
}

/// The values of all sales, as in an RDB file after their type.
fn values(server: &Server) -> Vec<Vec<u8>> {
    let mut conn = server.conn();
    let keys = conn.cmd("KEYS *");
    let mut ask = |verb: &[u8], key: &Reply| conn.ask(&[verb, key.bytes()]);
    // The server saves streams itself. Besides the stream of `like` there are those of sales of the
    // corpus, once one of their holds has expired.
    let mut sales = keys.items().to_vec();
    sales.retain(|key| ask(b"TYPE", key).to_string() == "+flashsale");
    let dumps = sales.iter().map(|key| ask(b"DUMP", key).bytes().to_vec());
    dumps.map(|dump| dump[HEADER_BYTES..dump.len() - TRAILER_BYTES].to_vec()).collect()
}

/// Positions of bytes that only the module reads: in an RDB file those of the sales, in an AOF the
/// operands of APPLY. The server's own bytes are not altered.
fn our_bytes(bytes: &[u8], form: Form, values: &[Vec<u8>]) -> Vec<usize> {
    if let Form::Rdb = form {
        let place = |value: &Vec<u8>| {
            let start = bytes.windows(value.len()).position(|part| part == value);
            let start = start.expect("the snapshot holds what was dumped");
            start..start + value.len()
        };
        return values.iter().flat_map(place).collect();
    }
    let (name, mut ours, mut at) = (b"SECKILL.APPLY\r\n", Vec::new(), 0);
    while let Some(found) = bytes[at..].windows(name.len()).position(|part| part == name) {
        let start = at + found + name.len();
        let end = bytes[start..].windows(3).position(|part| part == b"\r\n*").unwrap_or(0);
        ours.extend(start..start + end);
        at = start;
    }
    ours
}

/// Starts the server with altered bytes. True if it started.
fn start(prepared: &mut Prepared, random: &mut Random, how: &str) -> bool {
    let mut altered = prepared.bytes.clone();
    for _ in 0..1 + random.below(3) {
        let place = *pick(random, &prepared.ours);
        altered[place] = match random.below(3) {
            0 => altered[place] ^ 1 << random.below(8),
            1 => altered[place].wrapping_add(1),
            _ => random.number() as u8,
        };
    }
    fs::write(&prepared.file, altered).expect("a writable file");
    let server = &mut prepared.server;
    let logged = server.log().len();
    let came_up = server.try_start_again().is_ok();
    if came_up {
        check_sales(server, how);
        server.stop(false);
    } else {
        let ended = server.ended().unwrap_or_else(|| panic!("{how}: it hangs"));
        assert_eq!(ended.signal(), None, "{how}: {}", server.log().split_off(logged));
    }
    let log = server.log().split_off(logged);
    for sign in ["CRASHED", "BUG REPORT", "failed inside"] {
        assert!(!log.contains(sign), "{how}: {log}");
    }
    came_up
}

/// Checks that every sale passes AUDIT. A sale whose pieces are missing in the AOF may await them;
/// it sells nothing.
fn check_sales(server: &Server, how: &str) {
    let mut conn = server.conn();
    let keys = conn.cmd("KEYS *");
    for key in keys.items().iter().map(|key| key.bytes().to_vec()) {
        let audit = conn.ask(&[b"SECKILL.AUDIT" as &[u8], &key]);
        if audit.is_error() {
            continue;
        }
        let differences = audit.field("differences");
        let only_pieces = |row: &Reply| MISSING_FIELDS.contains(&row.items()[0].text().as_str());
        assert!(differences.items().iter().all(only_pieces), "{how}: {audit}");
    }
}

/// Starts servers with altered files; they shut down normally.
pub fn alter_files(form: Form, rounds: u64, seed: u64) -> Figures {
    let mut prepared = prepare(form, seed);
    let (mut random, mut figures) = (Random(seed), Figures::default());
    for round in 0..rounds {
        let how = format!("{form:?}, seed {seed}, round {round}");
        figures.note(start(&mut prepared, &mut random, &how));
    }
    fs::write(&prepared.file, &prepared.bytes).expect("a writable file");
    prepared.server.start_again();
    check_sales(&prepared.server, "as it was");
    prepared.server.stop(false);
    figures
}

const FORMS: [Form; 3] = [Form::Rdb, Form::Aof { rewritten: false }, Form::Aof { rewritten: true }];

#[test]
fn altered_files() {
    for form in FORMS {
        let figures = alter_files(form, 12, 1);
        assert_eq!(figures.taken + figures.refused, 12);
    }
}

#[test]
#[ignore = "long: make fuzz"]
fn long_altered_files() {
    for form in FORMS {
        let since = Instant::now();
        alter_files(form, long(400), seed()).print(&format!("starts from {form:?}"), since);
    }
}
