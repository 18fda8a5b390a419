//! The server under valgrind's memcheck: no error, and no leak in the module. The test runs every
//! command, then the server's operations on values, then altered calls, payloads and files. Each
//! server shuts down normally, so that valgrind finds leaks.

use std::process::Command;
use std::time::Instant;

use seckill::command::table::TABLE;

use crate::support::shop::{number, wait_for_no_holds};
use crate::support::{valgrind, wait_until, Options, Server};
use crate::{arguments, files, payloads};

/// Commands of a shop besides those in the sessions of the table.
const SHOP: [&str; 34] = [
    "SECKILL.INIT drop 100 LIMIT 9 HOLD 150 OUTBOX out",
    "SECKILL.GRAB drop alice QTY 2 REQ o1",
    "SECKILL.GRAB drop alice QTY 2 REQ o1",
    "SECKILL.GRAB drop bob UPTO 3",
    "SECKILL.EXTEND drop alice 60000 REQ o1",
    "SECKILL.CONFIRM drop alice REQ o1",
    "SECKILL.REFUND drop alice REQ o1",
    "SECKILL.CANCEL drop carol REQ early",
    "SECKILL.GRAB drop carol REQ early",
    "SECKILL.INIT list 26 DRAW LIST 5 6 7 8 HOLD 150",
    "SECKILL.GRAB list a",
    "SECKILL.GRAB list b REQ r",
    "SECKILL.CANCEL list a",
    "SECKILL.INIT packets 100 DRAW PACKETS 5 MIN 2",
    "SECKILL.GRAB packets a",
    "SECKILL.INIT rounds 5 EVERY 200 HOLD 100",
    "SECKILL.GRAB rounds a",
    "SECKILL.INIT gates 50 ALLOWLIST MOD 2 1 SAMPLE 900 SALT x ADMIT 3 MASK OUTBOX out",
    "SECKILL.ALLOW gates ADD 1 2 3 4 5 a b c",
    "SECKILL.GRAB gates 1",
    "SECKILL.GRAB gates 2",
    "SECKILL.GRAB gates z",
    "SECKILL.ALTER gates ALLOWLIST OFF MOD 0 SAMPLE 1000",
    "SECKILL.GRAB gates z",
    "SECKILL.MGRAB alice 3 drop list gates REQ all",
    "SECKILL.INIT drop 5",
    "SECKILL.GRAB drop",
    "SECKILL.GRAB drop x QTY 99999999999999999999",
    "SECKILL.USER drop alice COUNT 5",
    "SECKILL.WINNERS drop 0 COUNT 2 STATE ALL",
    "SECKILL.STATUS drop JSON",
    "EVAL return{redis.call('SECKILL.GRAB',KEYS[1],'lua'),redis.call('SECKILL.STATUS',KEYS[1])} 1 drop",
    "MEMORY USAGE drop",
    "DEBUG DIGEST",
];

/// The server's own commands on values.
const AROUND: [&str; 16] = [
    "DEBUG RELOAD",
    "RENAME list list2",
    "MOVE list2 1",
    "COPY drop copy",
    "SWAPDB 0 1",
    "SWAPDB 0 1",
    "MULTI",
    "SECKILL.GRAB drop multi",
    "EXEC",
    "DEBUG LOADAOF",
    "OBJECT ENCODING drop",
    "SECKILL.GRAB drop again",
    "UNLINK packets",
    "DEL gates",
    "FLUSHALL ASYNC",
    "SECKILL.INIT last 5",
];

fn wait_for_children(server: &Server) {
    wait_until("no child saves", || {
        let info = |name| server.info("persistence", name);
        let running = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"].map(info);
        running == ["0", "0"] && info("aof_rewrite_scheduled") == "0"
    });
}

/// Runs every command and all operations on values, on a primary and a replica.
fn live() {
    let options = || Options::new().line("appendonly yes").line("aof-use-rdb-preamble no");
    let (mut server, mut replica) = (options().start(), options().start());
    let mut conn = server.conn();
    TABLE.iter().for_each(|spec| drop(conn.cmd(spec.example)));
    conn.cmd("DEL drop");
    replica.follow(&server);
    for line in SHOP {
        conn.cmd(line);
    }
    let mut newer = server.conn().resp3();
    TABLE.iter().for_each(|spec| drop(newer.cmd(spec.example)));
    wait_for_no_holds(&server, "drop");
    let round = number(&mut conn, "rounds", "round");
    wait_until("a round turns by itself", || number(&mut conn, "rounds", "round") > round);
    let dumped = conn.cmd("DUMP drop");
    for key in ["restored", "restored"] {
        let restore = crate::support::payload::restore(key, dumped.bytes());
        assert_eq!(conn.pipeline(&[restore]).expect("it lives")[0].to_string(), "+OK");
    }
    conn.cmd("PEXPIRE restored 1");
    wait_until("the key expires", || conn.call("EXISTS restored") == "0");
    for save in ["BGREWRITEAOF", "BGSAVE"] {
        conn.cmd(save);
        wait_for_children(&server);
    }
    replica.wait_in_sync(&server);
    // A full resync of a replica with data; then it is promoted.
    conn.cmd("DEBUG CHANGE-REPL-ID");
    conn.cmd("CLIENT KILL TYPE replica");
    replica.wait_in_sync(&server);
    replica.cmd("REPLICAOF NO ONE");
    replica.cmd("SECKILL.GRAB drop promoted");
    for line in AROUND {
        conn.cmd(line);
    }
    server.stop(true);
    server.start_again();
    server.stop(false);
    replica.stop(false);
}

#[test]
#[ignore = "long: make memcheck"]
fn memcheck() {
    assert!(Command::new("valgrind").arg("--version").output().is_ok(), "valgrind is missing");
    let since = Instant::now();
    let folder = tempfile::tempdir().expect("a folder");
    std::env::set_var(valgrind::FOLDER, folder.path());
    live();
    arguments::call_all(4000, 1).print("calls", since);
    payloads::alter_payloads(1000, 1).print("payloads", since);
    files::alter_files(files::Form::Rdb, 4, 1).print("files", since);
    let valgrind::Reports { ours, others, ended } = valgrind::reports(folder.path(), "");
    println!("memcheck: {ended} processes, {:.0} s", since.elapsed().as_secs_f64());
    println!(
        "{} reports about the module, {} others; of those not only possibly lost:",
        ours.len(),
        others.len()
    );
    let certain = others.iter().filter(|report| !report.contains("possibly lost"));
    certain.for_each(|report| println!("{report}\n"));
    assert!(ended >= 4, "valgrind saw {ended} processes to their end");
    assert!(ours.is_empty(), "{}", ours.join("\n\n"));
}
