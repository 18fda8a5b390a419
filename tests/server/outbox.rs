//! The outbox: each change and its entry are one step, in memory, in the AOF and in replication. A
//! stream that refuses an entry stops the change, and an expiry waits.

mod streams;

use crate::support::shop::{assert_whole, entries, number, wait_for_no_holds};
use crate::support::valgrind::slowed;
use crate::support::{Options, ReplicationStream, Server};

/// Commands with their entries: event, supply, available, held and sold, then the other data, and
/// after a bar the raw fields.
const SESSION: [(&str, &[&str]); 23] = [
    ("INIT k 2 HOLD 900000 LIMIT 2 OUTBOX s", &["INIT 2 2 0 0 limit:2,hold_ms:900000|outbox=s"]),
    ("INIT k 2 HOLD 900000 LIMIT 2 OUTBOX s", &[]),
    (
        "GRAB k a REQ o",
        &["GRANT 2 1 1 0 seq:1,qty:1,state:HELD,at:T,deadline:T,born:T|user=a req=o"],
    ),
    ("GRAB k a REQ o", &[]),
    (
        "GRAB k b",
        &["GRANT 2 0 2 0 seq:2,qty:1,state:HELD,at:T,deadline:T,born:T|user=b", "ALLHELD 2 0 2 0"],
    ),
    ("GRAB k c", &[]),
    ("CONFIRM k a", &["CONFIRM 2 0 1 1 seq:1,qty:1,state:SOLD,at:T,born:T|user=a req=o"]),
    ("EXTEND k b 1", &[]),
    ("EXTEND k b 950000", &["EXTEND 2 0 1 1 seq:2,qty:1,state:HELD,at:T,deadline:T,born:T|user=b"]),
    (
        "CONFIRM k b",
        &["CONFIRM 2 0 0 2 seq:2,qty:1,state:SOLD,at:T,born:T|user=b", "SOLDOUT 2 0 0 2"],
    ),
    (
        "REFUND k a",
        &[
            "REFUND 2 1 0 1 seq:1,qty:1,state:REFUNDED,at:T,born:T|user=a req=o",
            "AVAILABLE 2 1 0 1",
        ],
    ),
    ("RESTOCK k 3 REQ r", &["RESTOCK 5 4 0 1 delta:3,applied:3|req=r"]),
    ("RESTOCK k -9 REQ r2", &["RESTOCK 1 0 0 1 delta:-9,applied:-4|req=r2", "SOLDOUT 1 0 0 1"]),
    ("RESTOCK k 3 REQ r", &[]),
    ("PAUSE k", &["PAUSE 1 0 0 1"]),
    ("PAUSE k", &[]),
    ("RESUME k", &["RESUME 1 0 0 1"]),
    ("ALTER k LIMIT 0 CLOSEAT 0", &["ALTER 1 0 0 1 hold_ms:900000|outbox=s"]),
    (
        "ALTER k LIMIT 5 GRABS 4 OPENAT 100000000000 CLOSEAT 4102444800000 ALLOWLIST MOD 2 1 \
         SAMPLE 500 SALT pepper ADMIT 7 MASK",
        &["ALTER 1 0 0 1 limit:5,grabs:4,hold_ms:900000,open_at:100000000000,close_at:T,\
           allowlist:true,mod:2,sample:500,admit:7,mask:true|outbox=s"],
    ),
    (
        "IMPORT k x 2 REQ i AT 100000000007",
        &["IMPORT 3 0 0 3 seq:3,qty:2,state:SOLD,at:100000000007,born:T|user=x req=i"],
    ),
    ("CANCEL k y REQ never", &[]),
    ("CANCEL k a", &[]),
    ("ALLOW k ADD u", &[]),
];

/// A [`SESSION`] of a sale with rounds and drawn amounts.
const ROUNDS: [(&str, &[&str]); 3] = [
    (
        "INIT k 9 HOLD 900000 DRAW PACKETS 3 MIN 2 EVERY 900000000 OFFSET 5 LASTS 800000000 CARRY \
         OUTBOX s",
        &["INIT 9 9 0 0 grabs:1,hold_ms:900000,draw:PACKETS 3 MIN 2,every_ms:900000000,\
           offset_ms:5,lasts_ms:800000000,carry:true|outbox=s"],
    ),
    ("PAUSE k", &["PAUSE 9 9 0 0"]),
    (
        "ALTER k MASK",
        &["ALTER 9 9 0 0 grabs:1,hold_ms:900000,draw:PACKETS 3 MIN 2,\
        every_ms:900000000,offset_ms:5,lasts_ms:800000000,carry:true,mask:true|outbox=s"],
    ),
];

// Rules: bb47
#[test]
fn every_change_appends_its_entries_exactly() {
    let (server, mut conn) = Server::start().with_conn();
    for session in [&SESSION[..], &ROUNDS] {
        assert_eq!(conn.call("FLUSHALL"), "+OK");
        let mut seen = 0;
        for (line, expected) in session {
            let reply = conn.cmd(&format!("SECKILL.{line}"));
            assert!(!reply.is_error(), "{line}: {reply}");
            let status = conn.cmd("SECKILL.STATUS k");
            let (id, epoch) = (status.field("id").text(), status.field("epoch").int());
            let all = entries(&mut conn, "s");
            let fresh = &all[seen..];
            assert_eq!(fresh.len(), expected.len(), "{line}: {fresh:?}");
            for (entry, expected) in fresh.iter().zip(*expected) {
                seen += 1;
                assert_eq!(entry.line(), whole(expected, seen), "{line}");
                assert_eq!((entry.text("id"), entry.number("epoch")), (id.as_str(), epoch));
            }
        }
        assert_eq!(number(&mut conn, "k", "rev"), seen as i64);
        assert_whole(&entries(&mut conn, "s"));
        server.assert_sound("k");
    }
}

/// The whole entry with number `rev` for a short one of [`SESSION`].
fn whole(short: &str, rev: usize) -> String {
    let (numbers, raw) = short.split_once('|').unwrap_or((short, ""));
    let words: Vec<&str> = numbers.splitn(6, ' ').collect();
    let [event, supply, available, held, sold, rest @ ..] = &words[..] else {
        panic!("an event: {short}")
    };
    let rest: String = rest.iter().map(|rest| format!(",{rest}")).collect();
    let data = format!(
        "{{id:ID,epoch:T,rev:{rev},t:T,supply:{supply},available:{available},held:{held},\
         sold:{sold}{rest}}}"
    );
    format!("event={event} sale=k data={data} {raw}").trim_end().to_owned()
}

/// Data is JSON without spaces: ids and words have quotes, numbers do not.
#[test]
fn the_data_of_an_entry_is_json() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 5 HOLD 900000 OUTBOX s", "+OK"),
        ("SECKILL.GRAB k a QTY 1", "['GRANTED' 1 1 'HELD' T 4]"),
    ]);
    let status = conn.cmd("SECKILL.STATUS k");
    let (id, epoch) = (status.field("id").text(), status.field("epoch").int());
    let [t, deadline] = ["last_grant_at", "next_deadline"].map(|name| status.field(name).int());
    let grant = entries(&mut conn, "s")[1].clone();
    let expected = format!(
        r#"{{"id":"{id}","epoch":{epoch},"rev":2,"t":{t},"supply":5,"available":4,"held":1,"sold":0,"seq":1,"qty":1,"state":"HELD","at":{t},"deadline":{deadline},"born":{epoch}}}"#
    );
    let fields = [("event", "GRANT"), ("sale", "k"), ("data", &expected), ("user", "a")];
    assert_eq!(grant.fields, fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

/// Ids and users are bytes, which the stream keeps unchanged.
// Rules: 0a12
#[test]
fn entries_keep_bytes_as_they_are() {
    let (_server, mut conn) = Server::start().with_conn();
    let (user, req) = (b"\0\xff%s\r\n", b"\xfe \0");
    let (key, stream) = (b"k\0\xff", b"s\0 \xff");
    let init: [&[u8]; 5] = [b"SECKILL.INIT", key, b"5", b"OUTBOX", stream];
    assert_eq!(conn.ask(&init).to_string(), "+OK");
    let grab: [&[u8]; 5] = [b"SECKILL.GRAB", key, user, b"REQ", req];
    assert_eq!(conn.ask(&grab).to_string(), "['GRANTED' 1 1 'SOLD' 0 4]");
    let range = conn.ask(&[b"XRANGE" as &[u8], stream, b"-", b"+"]);
    let grant = range.items()[1].items()[1].clone();
    for (name, value) in [("sale", &key[..]), ("user", user), ("req", req)] {
        assert_eq!(grant.field(name).bytes(), value, "{name}");
    }
}

/// One replicated command makes a change and its entries. The command has the form and id of the
/// first entry; the others get the next ids.
#[test]
fn one_command_makes_a_change_and_its_entries() {
    let (server, mut conn) = Server::start().with_conn();
    let init = format!("SECKILL.INIT k 2 HOLD {} LIMIT 2 OUTBOX s", slowed(150));
    assert_eq!(conn.call(&init), "+OK");
    let mut stream = ReplicationStream::attach(&server);
    conn.cmd("SECKILL.GRAB k a");
    assert_one_command(&server, &mut stream, "1", &["GRANT"]);
    conn.cmd("SECKILL.GRAB k b REQ o");
    assert_one_command(&server, &mut stream, "2", &["GRANT", "ALLHELD"]);
    conn.cmd("SECKILL.CANCEL k b REQ o");
    assert_one_command(&server, &mut stream, "3", &["CANCEL", "AVAILABLE"]);
    conn.cmd("SECKILL.CANCEL k b REQ never");
    assert_one_command(&server, &mut stream, "4", &[]);
    wait_for_no_holds(&server, "k");
    assert_one_command(&server, &mut stream, "5", &["EXPIRE"]);
    for (version, line, events) in [
        ("6", "RESTOCK k 1 REQ r", &["RESTOCK"][..]),
        ("7", "PAUSE k", &["PAUSE"]),
        ("8", "RESUME k", &["RESUME"]),
        ("9", "ALTER k LIMIT 0 HOLD 0", &["ALTER"]),
        ("a", "IMPORT k x 2 REQ i", &["IMPORT"]),
        ("b", "RESTOCK k -1 REQ r2", &["RESTOCK", "SOLDOUT"]),
        ("c", "REFUND k x", &["REFUND", "AVAILABLE"]),
    ] {
        let reply = conn.cmd(&format!("SECKILL.{line}"));
        assert!(!reply.is_error(), "{line}: {reply}");
        assert_one_command(&server, &mut stream, version, events);
    }
}

/// Checks that the last replicated command is one APPLY that follows `version` and makes these
/// entries with consecutive ids.
#[track_caller]
fn assert_one_command(
    server: &Server,
    stream: &mut ReplicationStream,
    version: &str,
    wanted: &[&str],
) {
    let lines = stream.lines(server);
    let [line] = &lines[..] else { panic!("one command was expected: {lines:?}") };
    let words: Vec<&str> = line.splitn(4, ' ').collect();
    assert_eq!(words[..2], ["SECKILL.APPLY", "k"]);
    let all = entries(&mut server.conn(), "s");
    let fresh = &all[all.len() - wanted.len()..];
    assert_eq!(fresh.iter().map(|entry| entry.text("event")).collect::<Vec<_>>(), wanted);
    let Some(first) = fresh.first() else { return assert_eq!(words[2], version) };
    assert_eq!(words[2], format!("{version}:1:{}", first.id));
    let (ms, seq) = first.id.split_once('-').expect("an id");
    let seq: u64 = seq.parse().expect("a number");
    for (place, entry) in fresh.iter().enumerate() {
        assert_eq!(entry.id, format!("{ms}-{}", seq + place as u64));
    }
}

#[test]
fn replicas_and_logs_have_the_same_stream() {
    let mut server = Options::new().line("appendonly yes").line("appendfsync always").start();
    let replica = Server::start();
    replica.follow(&server);
    let mut conn = server.conn();
    assert_eq!(conn.call("SECKILL.INIT k 20 HOLD 60 LIMIT 0 OUTBOX s"), "+OK");
    for step in 0..40 {
        conn.cmd(&format!("SECKILL.GRAB k u{step} REQ {step}"));
        conn.cmd(&format!("SECKILL.{} k u{}", ["CONFIRM", "CANCEL", "EXTEND"][step % 3], step / 2));
    }
    wait_for_no_holds(&server, "k");
    replica.wait_in_sync(&server);
    let picture = |server: &Server| {
        let stream = server.conn().call("XRANGE s - +");
        (server.digest("k"), server.digest("s"), stream, server.picture("k"))
    };
    let before = picture(&server);
    assert_eq!(picture(&replica), before);
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    server.kill9();
    server.start_again();
    assert_eq!(picture(&server), before);
    assert_whole(&entries(&mut server.conn(), "s"));
    // The next change begins an epoch, and its rev follows the last one.
    let last = entries(&mut server.conn(), "s").len();
    assert_eq!(server.call("SECKILL.PAUSE k"), "+OK");
    let all = entries(&mut server.conn(), "s");
    assert_eq!(all.len(), last + 1);
    assert!(all[last].number("epoch") > all[last - 1].number("epoch"));
    assert_whole(&all);
}

/// Entries have the current key of the sale.
#[test]
fn a_renamed_sale_goes_on_under_its_new_name() {
    let (server, mut conn) = Server::start().with_conn();
    let init = format!("SECKILL.INIT k 5 HOLD {} OUTBOX s", slowed(60));
    assert_eq!(conn.call(&init), "+OK");
    conn.cmd("SECKILL.GRAB k a");
    assert_eq!(conn.call("RENAME k l"), "+OK");
    wait_for_no_holds(&server, "l");
    let names: Vec<String> = entries(&mut conn, "s")
        .iter()
        .map(|entry| format!("{} {}", entry.text("event"), entry.text("sale")))
        .collect();
    assert_eq!(names, ["INIT k", "GRANT k", "EXPIRE l"]);
}

/// The stream is notified as by XADD, and its change counts as dirty.
#[test]
fn an_entry_is_signalled_like_an_xadd() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 1 OUTBOX s", "+OK"),
        ("CONFIG SET notify-keyspace-events KEtd", "+OK"),
    ]);
    let (mut listener, mut watcher) = (server.conn(), server.conn());
    listener.cmd("PSUBSCRIBE __keyspace@0__:*");
    watcher.check(&[("WATCH s", "+OK"), ("MULTI", "+OK"), ("PING", "+QUEUED")]);
    conn.cmd("SECKILL.GRAB k a");
    assert_eq!(watcher.call("EXEC"), "nil", "a watched stream was changed");
    let mut seen: Vec<String> = Vec::new();
    while seen.len() < 4 {
        let message = listener.read().expect("a message");
        seen.push(format!("{} {}", message.items()[2].text(), message.items()[3].text()));
    }
    let expected = ["s xadd", "s xadd", "k seckill.grant", "k seckill.soldout"];
    assert_eq!(seen, expected.map(|event| format!("__keyspace@0__:{event}")));
}
