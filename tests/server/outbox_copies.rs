//! Replicas and AOF loading create outbox entries themselves, from each change and their own state:
//! equal bytes and equal ids. If a stream refuses an entry there, the change is still made and INFO
//! counts it.

use seckill_model::shorthand::effect;

use crate::support::shop::{entries, events, number, wait_for_no_holds};
use crate::support::{logs, Conn, Options, ReplicationStream, Server};

const REFUSED: &str = "-ERR effects must follow the version of the sale and keep its law";

/// The sale and its stream: digests, every entry with its id, and the server's data about the
/// stream.
fn picture(server: &Server) -> Vec<String> {
    let mut conn = server.conn();
    let info = ["entries-added", "last-generated-id", "max-deleted-entry-id"];
    let stream = conn.cmd("XINFO STREAM s");
    let info = info.iter().map(|name| stream.field(name).to_string());
    let all = [server.digest("k"), server.digest("s"), conn.call("XRANGE s - +")];
    all.into_iter().chain(info).chain(server.picture("k")).collect()
}

fn refusals(server: &Server) -> [String; 2] {
    ["apply", "outbox"].map(|what| server.info("seckill", &format!("seckill_{what}_refused")))
}

/// Changes of every kind; some are expiries.
fn sell(conn: &mut Conn) {
    for step in 0..40 {
        conn.cmd(&format!("SECKILL.GRAB k u{step} QTY {} REQ o\\{step}\"", 1 + step % 2));
        conn.cmd(&format!("SECKILL.{} k u{}", ["CONFIRM", "CANCEL", "EXTEND"][step % 3], step / 2));
    }
    for line in [
        "SECKILL.REFUND k u0",
        "SECKILL.RESTOCK k -3 REQ r",
        "SECKILL.PAUSE k",
        "SECKILL.RESUME k",
        "SECKILL.ALTER k LIMIT 5 MASK",
        "SECKILL.IMPORT k lost 90 REQ i",
        "SECKILL.CONFIRM k u7 REQ o\\7\" RECLAIM",
        "SECKILL.DENY k ADD nobody",
    ] {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

#[test]
fn replicas_and_logs_write_the_same_entries_under_the_same_ids() {
    // With `everysec`, SIGKILL may lose what the server has not written while it waits for the
    // disk.
    let always = || Options::new().line("appendonly yes").line("appendfsync always");
    let mut server = always().start();
    let (mut replica, last) = (always().line("aof-use-rdb-preamble no").start(), Server::start());
    replica.follow(&server);
    last.follow(&replica);
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 40 HOLD 60 LIMIT 0 OUTBOX s"), "+OK");
    sell(&mut conn);
    wait_for_no_holds(&server, "k");
    assert!(conn.cmd("XTRIM s MAXLEN 20").int() > 20);
    assert_eq!(conn.call("XGROUP CREATE s readers 0"), "+OK");
    sell(&mut conn);
    wait_for_no_holds(&server, "k");
    let before = picture(&server);
    replica.wait_in_sync(&server);
    last.wait_in_sync(&replica);
    assert_eq!(picture(&replica), before);
    assert_eq!(picture(&last), before, "of a replica's replica");
    for server in [&server, &replica] {
        logs::assert_survives(server, picture);
    }
    // After a rewrite, changes are in the AOF as commands again.
    sell(&mut conn);
    wait_for_no_holds(&server, "k");
    replica.wait_in_sync(&server);
    let before = picture(&server);
    for server in [&mut server, &mut replica] {
        server.kill9();
        server.start_again();
        assert_eq!(picture(server), before, "after a kill");
        assert_eq!(refusals(server), ["0", "0"]);
    }
}

/// Entries of others, and ids ahead of the clock, are copied in the primary's order.
#[test]
fn what_others_write_into_the_stream_is_copied_in_order() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 9 LIMIT 0 OUTBOX s", "+OK"),
        ("XADD s 9999999999999-7 a b", "'9999999999999-7'"),
        ("SECKILL.GRAB k u REQ 1", "['GRANTED' 1 1 'SOLD' 0 8]"),
        ("XADD s 9999999999999-18446744073709551614 a b", "'9999999999999-18446744073709551614'"),
        ("SECKILL.GRAB k u REQ 2 QTY 8", "['GRANTED' 2 8 'SOLD' 0 0]"),
        ("MULTI", "+OK"),
        ("XADD s * c d", "+QUEUED"),
        ("SECKILL.RESTOCK k 1 REQ r", "+QUEUED"),
        ("DEL s", "+QUEUED"),
        ("SECKILL.GRAB k v", "+QUEUED"),
        ("EXEC", "['10000000000000-1' [1 1] 1 ['GRANTED' 3 1 'SOLD' 0 0]]"),
    ]);
    let all: Vec<String> =
        conn.cmd("XRANGE s - +").items().iter().map(|one| one.items()[0].text()).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(events(&mut conn, "s"), ["GRANT", "SOLDOUT"]);
    let before = picture(&server);
    replica.wait_in_sync(&server);
    assert_eq!(picture(&replica), before);
    assert_eq!(refusals(&replica), ["0", "0"]);
}

/// Entry ids of one change are consecutive, also across the end of a millisecond.
#[test]
fn the_second_entry_of_a_change_takes_the_next_id() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 1 OUTBOX s", "+OK"),
        ("XADD s 9999999999999-18446744073709551614 a b", "'9999999999999-18446744073709551614'"),
        ("SECKILL.GRAB k u", "['GRANTED' 1 1 'SOLD' 0 0]"),
    ]);
    let ids: Vec<String> = entries(&mut conn, "s").into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids[2..], ["9999999999999-18446744073709551615", "10000000000000-0"]);
    let before = picture(&server);
    replica.wait_in_sync(&server);
    assert_eq!(picture(&replica), before);
}

/// Another client has written to the replica's stream. The change is made; the entry is left out,
/// logged and counted. A missing stream is created again.
#[test]
fn a_stream_that_takes_no_copy_does_not_stop_the_sale() {
    let server = Server::start();
    let logged = Options::new().line("appendonly yes").line("appendfsync always");
    let mut replica = logged.line("replica-read-only no").start();
    replica.follow(&server);
    logs::wait_for_rewrite(&replica);
    let (mut conn, mut far) = (server.conn(), replica.conn());
    assert_eq!(conn.call("SECKILL.INIT k 9 LIMIT 0 OUTBOX s"), "+OK");
    replica.wait_in_sync(&server);
    let ahead = "XADD s 9999999999999-0 by hand";
    assert_eq!(far.call(ahead), "'9999999999999-0'");
    let steps: [(&[&str], &str, &str, u64); 4] = [
        (&[], "GRAB k u REQ 1", "['GRANTED' 1 1 'SOLD' 0 8]", 1),
        (&[], "GRAB k u REQ 2 QTY 8", "['GRANTED' 2 8 'SOLD' 0 0]", 3),
        (&["DEL s", "SET s text"], "RESTOCK k 1 REQ r", "[1 1]", 5),
        (&["DEL s"], "GRAB k u REQ 3", "['GRANTED' 3 1 'SOLD' 0 0]", 5),
    ];
    for (by_hand, line, answer, left_out) in steps {
        by_hand.iter().for_each(|line| assert!(!far.cmd(line).is_error(), "{line}"));
        assert_eq!(conn.call(&format!("SECKILL.{line}")), answer);
        replica.wait_in_sync(&server);
        assert_eq!(refusals(&replica), ["0".to_owned(), left_out.to_string()], "after {line}");
        assert_eq!(replica.digest("k"), server.digest("k"), "after {line}");
    }
    replica.wait_for_log("SECKILL.APPLY left entries out");
    assert_eq!(refusals(&server), ["0", "0"]);
    let (own, all) = (entries(&mut far, "s"), entries(&mut conn, "s"));
    assert_eq!(own[..], all[all.len() - 2..], "the GRANT and its SOLDOUT");
    // The replica's own AOF gives equal data.
    let before = (replica.digest("k"), replica.digest("s"));
    replica.kill9();
    replica.start_again();
    assert_eq!((replica.digest("k"), replica.digest("s")), before);
}

/// Accepted entries have the primary's ids, also after entries that were left out.
#[test]
fn entries_behind_one_that_is_left_out_are_copied() {
    let (server, replica) = (Server::start(), Options::new().line("replica-read-only no").start());
    replica.follow(&server);
    let (mut conn, mut far) = (server.conn(), replica.conn());
    conn.check(&[
        ("SECKILL.INIT k 1 OUTBOX s", "+OK"),
        ("XADD s 9999999999999-7 a b", "'9999999999999-7'"),
    ]);
    replica.wait_in_sync(&server);
    assert_eq!(far.call("XADD s 9999999999999-8 by hand"), "'9999999999999-8'");
    assert_eq!(conn.call("SECKILL.GRAB k u"), "['GRANTED' 1 1 'SOLD' 0 0]");
    replica.wait_in_sync(&server);
    assert_eq!(refusals(&replica), ["0", "1"]);
    let (own, all) = (entries(&mut far, "s"), entries(&mut conn, "s"));
    assert_eq!(all.last().map(|entry| entry.id.as_str()), Some("9999999999999-9"));
    assert_eq!(own.last(), all.last(), "the SOLDOUT behind the GRANT");
}

/// MGRAB replicates one command for each sale, in one transaction and in the order of their
/// entries.
#[test]
fn several_sales_are_one_command_each() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT x 1 OUTBOX s", "+OK"),
        ("SECKILL.INIT y 5", "+OK"),
        ("SECKILL.INIT z 5 OUTBOX s", "+OK"),
    ]);
    let mut stream = ReplicationStream::attach(&server);
    let granted = "['GRANTED' [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 4] [1 1 'SOLD' 0 0]]";
    assert_eq!(conn.call("SECKILL.MGRAB u 3 z y x"), granted);
    let ids: Vec<String> = entries(&mut conn, "s").into_iter().map(|entry| entry.id).collect();
    let told: Vec<String> = entries(&mut conn, "s")
        .iter()
        .map(|entry| format!("{} {}", entry.text("sale"), entry.text("event")))
        .collect();
    assert_eq!(told[2..], ["z GRANT", "x GRANT", "x SOLDOUT"]);
    let heads: Vec<String> = stream
        .lines(&server)
        .iter()
        .map(|line| line.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    let apply = |key: &str, id: &str| format!("SECKILL.APPLY {key} 1:1:{id}");
    let (z, x) = (apply("z", &ids[2]), apply("x", &ids[3]));
    assert_eq!(heads, ["MULTI", &z, "SECKILL.APPLY y 1", &x, "EXEC"]);
}

/// The reply to an APPLY with this key, position and effects in the notation of tests.
fn apply(conn: &mut Conn, line: &str) -> String {
    let mut words = vec![b"SECKILL.APPLY".to_vec()];
    for (place, word) in line.split(' ').enumerate() {
        words.push(if place < 2 { word.into() } else { effect(word) });
    }
    conn.ask(&words).to_string()
}

/// A command must agree with its sale whether there are entries, and in which form. Otherwise it
/// changes nothing.
#[test]
fn an_apply_that_does_not_fit_its_outbox_is_refused() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 LIMIT 0 OUTBOX s", "+OK"),
        ("SECKILL.INIT plain 5", "+OK"),
        ("XTRIM s MAXLEN 0", "1"),
    ]);
    let before = [server.digest("k"), server.digest("plain"), conn.call("XINFO STREAM s")];
    let refused = [
        "k 1 gu",
        "k 1:2:9999999999999-0 gu",
        "k 1:1:0-0 gu",
        "k 1:1 gu",
        "k 2:1:9999999999999-0 gu",
        "plain 1:1:9999999999999-0 gu",
        "k 1:1:9999999999999-0 T:u",
        "k 1:1:9999999999999-0 gu A:t",
    ];
    for line in refused {
        assert_eq!(apply(&mut conn, line), REFUSED, "{line}");
    }
    assert_eq!([server.digest("k"), server.digest("plain"), conn.call("XINFO STREAM s")], before);
    assert_eq!(refusals(&server), [refused.len().to_string(), "0".to_owned()]);
    assert_eq!(apply(&mut conn, "k 1:1:9999999999999-0 gu gv Gq3:w"), "+OK");
    assert_eq!(conn.call("XLEN s"), "4");
    let ids: Vec<String> = entries(&mut conn, "s").into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ["0", "1", "2", "3"].map(|seq| format!("9999999999999-{seq}")));
    assert_eq!(events(&mut conn, "s"), ["GRANT", "GRANT", "GRANT", "SOLDOUT"]);
    assert_eq!(number(&mut conn, "k", "rev"), 5);
}

/// A setting limits the version of effects for older modules. So far there is one version.
// Rules: ddb9
#[test]
fn the_version_of_the_effects_governs_the_form_of_entries() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 5 LIMIT 0 OUTBOX s"), "+OK");
    let name = "seckill.effects-version";
    assert_eq!(conn.call(&format!("CONFIG GET {name}")), format!("['{name}' '0']"));
    let mut stream = ReplicationStream::attach(&server);
    for (step, version) in ["0", "1"].iter().enumerate() {
        assert_eq!(conn.call(&format!("CONFIG SET {name} {version}")), "+OK");
        conn.cmd(&format!("SECKILL.GRAB k u REQ {step}"));
        let id = entries(&mut conn, "s").pop().expect("an entry").id;
        let lines = stream.lines(&server);
        let head = format!("SECKILL.APPLY k {}:1:{id} ", step + 1);
        assert!(lines.len() == 1 && lines[0].starts_with(&head), "{lines:?}");
    }
    for wrong in ["2", "-1", "all"] {
        assert!(conn.cmd(&format!("CONFIG SET {name} {wrong}")).is_error(), "{wrong}");
    }
}
