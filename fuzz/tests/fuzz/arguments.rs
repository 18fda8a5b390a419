//! Calls of every command, made from the grammar in the table and then altered. A live server with
//! a replica gets these calls, and so do the parsers alone. The server does not crash, every sale
//! passes AUDIT, and the replica has equal sales in the end.

use std::time::Instant;

use seckill::command::args::Args;
use seckill::command::table::TABLE;
use seckill::command::terms::Options as Terms;
use seckill::command::vocabulary::{Arg, ArgKind};
use seckill_domain::limits::MOMENT_MS_MIN;

use crate::corpus::{corpus, pick};
use crate::random::Random;
use crate::sound::{scramble, MISSING_FIELDS};
use crate::support::client::encode;
use crate::support::payload::{assembled, restore};
use crate::support::{Conn, Reply, Server};
use crate::{long, rebuild, seed, Figures};

type Call = Vec<Vec<u8>>;

/// Calls in one write, and batches between two AUDITs of all keys.
const BATCH: u64 = 100;
const BATCHES_PER_AUDIT: u64 = 20;

/// Number of initial sales of the corpus.
const SALES: usize = 20;

/// Bytes that often break programs, and numbers near limits.
const NASTY: [&[u8]; 22] = [
    b"",
    b"\0",
    b"-1",
    b"0",
    b"1",
    b"2",
    b"7",
    b"100",
    b"01",
    b"1.5",
    b" 1",
    b"9007199254740991",
    b"9007199254740992",
    b"18446744073709551616",
    b"%s%n",
    b"\r\n+OK\r\n",
    b"\xff\xfe",
    b"OFF",
    b"ALL",
    b"\0\0\0\x05alic",
    b"k0",
    b"stream",
];

fn key(random: &mut Random) -> Vec<u8> {
    match random.below(20) {
        0 => b"string".to_vec(),
        1 => b"missing".to_vec(),
        2 => b"stream".to_vec(),
        3..=6 => format!("new{}", random.below(6)).into_bytes(),
        _ => format!("k{}", random.below(SALES as u64)).into_bytes(),
    }
}

fn value(random: &mut Random, kind: ArgKind) -> Vec<u8> {
    match kind {
        ArgKind::Key => key(random),
        ArgKind::OutboxKey => pick(random, &[&b"stream"[..], b"stream2", b"string"]).to_vec(),
        ArgKind::Integer | ArgKind::Span if random.below(8) > 0 => {
            random.below(12).to_string().into_bytes()
        }
        ArgKind::UnixTime if random.below(8) > 0 => {
            let moment = MOMENT_MS_MIN - 1 + random.below(12);
            moment.to_string().into_bytes()
        }
        ArgKind::Delta if random.below(8) > 0 => {
            pick(random, &[&b"1"[..], b"-1", b"5", b"-7", b"0"]).to_vec()
        }
        ArgKind::Integer | ArgKind::Span | ArgKind::Delta | ArgKind::UnixTime => {
            pick(random, &NASTY).to_vec()
        }
        _ => match random.below(8) {
            0 => pick(random, &NASTY).to_vec(),
            1 => vec![b'x'; [127, 128, 129, 256, 257, 5000][random.below(6) as usize]],
            _ => vec![b'a' + random.below(6) as u8],
        },
    }
}

/// Writes an argument by its grammar, with optional ones now and then.
fn write(random: &mut Random, arg: &Arg, out: &mut Call) {
    if arg.optional && random.below(5) > 1 {
        return;
    }
    let times = if arg.multiple { 1 + random.below(3) } else { 1 };
    for time in 0..times {
        if let Some(token) = arg.token.filter(|_| time == 0) {
            out.push(token.as_bytes().to_vec());
        }
        match arg.kind {
            ArgKind::PureToken => {}
            ArgKind::OneOf => {
                let one = pick(random, arg.children);
                write(random, one, out);
            }
            ArgKind::Block => arg.children.iter().for_each(|child| write(random, child, out)),
            kind => out.push(value(random, kind)),
        }
    }
}

/// Alters a call: words are left out, repeated, swapped, replaced or changed.
fn bend(random: &mut Random, call: &mut Call) {
    for _ in 0..1 + random.below(2) {
        let at = random.below(call.len() as u64) as usize;
        match random.below(7) {
            0 if call.len() > 1 => drop(call.remove(at)),
            1 => call.insert(at, call[at].clone()),
            2 => {
                let to = random.below(call.len() as u64) as usize;
                call.swap(at, to);
            }
            3 => call[at] = pick(random, &NASTY).to_vec(),
            4 => call.push(pick(random, &NASTY).to_vec()),
            5 => call[at] = call[at].to_ascii_lowercase(),
            _ => scramble(&mut call[at], random),
        }
    }
}

/// A call of any command; the name always stays valid.
fn any_call(random: &mut Random, effects: &[Vec<u8>]) -> Call {
    let spec = pick(random, &TABLE);
    let mut call = Vec::new();
    spec.args.iter().for_each(|arg| write(random, arg, &mut call));
    if spec.name.ends_with("APPLY") && random.below(4) > 0 {
        call = vec![key(random), random.below(40).to_string().into_bytes()];
        call.push(pick(random, effects).clone());
    }
    // The server finds the key of an option only at its right position.
    if random.below(3) == 0 && !call.is_empty() {
        bend(random, &mut call);
    }
    call.insert(0, spec.name.as_bytes().to_vec());
    call
}

/// A server with sales of all kinds of terms and keys of other types, and its replica.
fn begin(seed: u64) -> (Server, Server, Vec<Vec<u8>>) {
    let (server, replica) = (Server::start(), Server::start());
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT like 1"), "+OK");
    let like = conn.cmd("DUMP like").bytes().to_vec();
    let sales = corpus(seed);
    let mut effects = Vec::new();
    for (place, sample) in sales.iter().take(SALES).enumerate() {
        let dump = [rebuild::dump(&sample.sale), vec![Vec::new()]].concat();
        let restored = conn.pipeline(&[restore(&format!("k{place}"), &assembled(&like, &dump))]);
        assert_eq!(restored.expect("the server lives")[0].to_string(), "+OK");
        effects.extend(sample.texts.iter().map(|(_, text)| text.clone()));
    }
    assert_eq!(conn.call("SET string x"), "+OK");
    conn.cmd("XADD stream * a b");
    replica.follow(&server);
    (server, replica, effects)
}

fn keys(conn: &mut Conn) -> Vec<Vec<u8>> {
    conn.cmd("KEYS *").items().iter().map(|key| key.bytes().to_vec()).collect()
}

/// Checks that every sale passes AUDIT. A sale of a base by APPLY may await its pieces.
fn audit(conn: &mut Conn, how: &str) {
    for key in keys(conn) {
        let audit = conn.ask(&[b"SECKILL.AUDIT" as &[u8], &key]);
        if !audit.is_error() {
            let differences = audit.field("differences");
            let only_pieces =
                |row: &Reply| MISSING_FIELDS.contains(&row.items()[0].text().as_str());
            assert!(differences.items().iter().all(only_pieces), "{how}: {audit}");
        }
    }
}

/// Sends random calls; the servers shut down normally.
pub fn call_all(rounds: u64, seed: u64) -> Figures {
    let (mut server, mut replica, effects) = begin(seed);
    let mut conn = server.conn();
    let (mut random, mut figures) = (Random(seed), Figures::default());
    for batch in 0..rounds.div_ceil(BATCH) {
        let calls: Vec<Call> = (0..BATCH).map(|_| any_call(&mut random, &effects)).collect();
        let sent: Vec<Vec<u8>> = calls.iter().map(|call| encode(call)).collect();
        let replies = conn.pipeline(&sent).unwrap_or_else(|error| {
            panic!("seed {seed}, batch {batch}: {error}; {}", server.log());
        });
        replies.iter().for_each(|reply| figures.note(!reply.is_error()));
        if batch % BATCHES_PER_AUDIT == 0 {
            audit(&mut conn, &format!("seed {seed}, batch {batch}"));
            // Room for new sales by INIT.
            conn.cmd(&format!("DEL new{}", random.below(6)));
        }
    }
    audit(&mut conn, &format!("seed {seed}, at the end"));
    // Rounds begin and holds expire by themselves; from here on they don't.
    assert_eq!(conn.call("CLIENT PAUSE 60000 WRITE"), "+OK");
    replica.wait_in_sync(&server);
    let mut other = replica.conn();
    audit(&mut other, "on the replica");
    assert_eq!(other.call("DEBUG DIGEST"), conn.call("DEBUG DIGEST"), "seed {seed}");
    replica.stop(false);
    server.stop(false);
    figures
}

/// Gives random words to the parsers. Fast, because it needs no server.
fn parse_all(rounds: u64, seed: u64) -> Figures {
    let (mut random, mut figures) = (Random(seed), Figures::default());
    for _ in 0..rounds {
        let call = any_call(&mut random, &[b"\0\0\0\x05alice\0\x01\0".to_vec()]);
        let args: Vec<&[u8]> = call[1..].iter().map(Vec::as_slice).collect();
        let words = || Args::after_key(&args);
        let terms = Terms::of_init(&mut words());
        if let Some(stream) = terms.as_ref().ok().and_then(|it| it.change.outbox.as_deref()) {
            // Servers find the stream by the first OUTBOX.
            let name = args.iter().skip(1).position(|arg| arg.eq_ignore_ascii_case(b"OUTBOX"));
            assert_eq!(name.map(|at| args[at + 2]), Some(stream), "{args:?}");
        }
        figures.note(terms.is_ok());
        let takes_one = |args: &mut Args<'_>, _: &[u8]| Ok(args.option().is_some());
        figures.note(words().which(takes_one).is_ok());
        figures.note(words().which(|_, _| Ok(false)).is_ok());
        for row in TABLE.iter().flat_map(|spec| spec.args) {
            let (number, delta) = (words().number(row), words().delta(row));
            assert!(!number.is_ok_and(|number| !row.accepts(number)), "{number:?}");
            assert!(!delta.is_ok_and(|delta| !row.accepts(delta.unsigned_abs())), "{delta:?}");
        }
        let (user, req) = (words().user(), words().req());
        assert!(req.is_err() || user.is_ok());
    }
    figures
}

#[test]
fn any_words() {
    let figures = call_all(20_000, 1);
    assert!(figures.taken > 3000 && figures.refused > 3000, "{figures:?}");
    let figures = parse_all(50_000, 1);
    assert!(figures.taken > 3000 && figures.refused > 3000, "{figures:?}");
}

#[test]
#[ignore = "long: make fuzz"]
fn long_any_words() {
    let since = Instant::now();
    call_all(long(2_000_000), seed()).print("calls on a live server", since);
    let since = Instant::now();
    parse_all(long(5_000_000), seed()).print("parsers", since);
}
