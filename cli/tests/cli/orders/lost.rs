//! Redis loses granted orders, and `seckill orders` restores them from the database.

use std::fs::{self, File};

use seckill_harness::wait_until;

use super::killed::{ask, assert_equal, is_done, sell, writer};
use super::shop::Shop;
use crate::program::{seckill, Running};

const KEY: &str = "sale:lost";
const STREAM: &str = "sale:lost:orders";

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_gives_back_what_redis_lost() {
    gives_back(Shop::with_mariadb());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_gives_back_what_redis_lost() {
    gives_back(Shop::with_mysql());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_gives_back_what_redis_lost() {
    gives_back(Shop::with_postgres());
}

/// When Redis is saved, users 1 to 20 hold units, 9 and 10 more than one. Redis loses all later
/// changes, but the database has them. Users 1 to 5 pay, 6 and 7 cancel, 8 extends, 9 keeps two of
/// three. User 10 pays for two of four and gives one back. Users 21 to 25 grab and pay, 26 to 28
/// grab, 29 grabs four and pays for three. After the loss users 31 and 32 buy, and get seqs that
/// were used before.
fn gives_back(mut shop: Shop) {
    let mut redis = shop.connect();
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("INIT {KEY} 50 HOLD 600000 LIMIT 4 OUTBOX {STREAM}"));
    let qty = |user| match user {
        9 => 3,
        10 | 29 => 4,
        _ => 1,
    };
    let grab = |user| format!("GRAB {KEY} u{user} QTY {} REQ r{user}", qty(user));
    (1..=20).for_each(|user| drop(send(&grab(user))));
    ask(&mut redis, "SAVE");
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    (21..=29).for_each(|user| drop(send(&grab(user))));
    (1..=5).chain(21..=25).for_each(|user| drop(send(&format!("CONFIRM {KEY} u{user}"))));
    (6..=7).for_each(|user| drop(send(&format!("CANCEL {KEY} u{user}"))));
    send(&format!("EXTEND {KEY} u8 900000"));
    send(&format!("CANCEL {KEY} u9 REQ r9 KEEP 2"));
    send(&format!("CONFIRM {KEY} u10 REQ r10 KEEP 2"));
    send(&format!("REFUND {KEY} u10 REQ r10 KEEP 1"));
    send(&format!("CONFIRM {KEY} u29 REQ r29 KEEP 3"));
    let (from, to) = (shop.redis_url(), shop.database_url());
    let first = Running::start(writer(&from, &to, KEY, "w"));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(first.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);

    shop.lose_what_was_not_saved();
    let mut redis = shop.connect();
    assert_eq!(status(&mut redis), [50, 25, 25, 0], "supply, available, held, sold");
    for user in [31, 32] {
        ask(&mut redis, &format!("SECKILL.GRAB {KEY} u{user} REQ r{user}"));
        ask(&mut redis, &format!("SECKILL.CONFIRM {KEY} u{user}"));
    }
    // No Sentinel confirms that this server is the primary, so the operator must.
    let from = shop.redis_url();
    let (code, said) = super::ended(writer(&from, &to, KEY, "w"));
    assert!(code == Some(1) && said.contains("an old primary"), "{said}");
    let epoch = said.trim().rsplit(' ').next().expect("an epoch").to_owned();
    let mut trusting = writer(&from, &to, KEY, "w");
    trusting.args(["--trust-epoch", &epoch]);
    let second = Running::start(trusting);
    // Sold are ten single units (1 to 5, 21 to 25), those of 31 and 32, one of 10 and three of 29.
    // Held are 11 single units and the two of 9. 26 to 28 are closed: they held and had not paid.
    wait_until("it is given back", || status(&mut redis) == [50, 21, 13, 16]);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_equal(&shop, &mut redis, KEY);
    let closed = shop.lost("CLOSED");
    assert_eq!(closed, [b"u26".to_vec(), b"u27".to_vec(), b"u28".to_vec()]);
    let repaired = repairs(&second);
    assert!(repaired >= 10.0, "{repaired}");
    assert_eq!(second.end("TERM").code(), Some(0));
}

fn status(redis: &mut redis::Connection) -> [u64; 4] {
    let redis::Value::BulkString(text) = ask(redis, &format!("SECKILL.STATUS {KEY} JSON")) else {
        panic!("no status");
    };
    let status: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    ["supply", "available", "held", "sold"].map(|field| status[field].as_u64().expect("a number"))
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_reads_before_it_gives_back() {
    reads_before_it_gives_back(Shop::with_mariadb());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_reads_before_it_gives_back() {
    reads_before_it_gives_back(Shop::with_postgres());
}

/// Redis loses the payments of `late`, `refused` and `longer` and the CANCEL of `back`, and the
/// holds of the first two run out. It loses the paid order of `twice`, who grabs again and lets
/// that hold run out. Then `refused` and `twice` are refused for good, so that money is given back,
/// `back` pays, and the hold of `longer` is extended. These entries lie behind many others. `late`
/// has paid and heard nothing else.
fn reads_before_it_gives_back(mut shop: Shop) {
    let mut redis = shop.connect();
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("INIT {KEY} 5 HOLD 5000 LIMIT 0 OUTBOX {STREAM}"));
    send(&format!("GRAB {KEY} late REQ late"));
    send(&format!("GRAB {KEY} refused REQ refused"));
    send(&format!("ALTER {KEY} HOLD 600000"));
    send(&format!("GRAB {KEY} back REQ back"));
    send(&format!("GRAB {KEY} longer REQ longer"));
    ask(&mut redis, "SAVE");
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("GRAB {KEY} twice REQ twice"));
    for user in ["late", "refused", "longer", "twice"] {
        send(&format!("CONFIRM {KEY} {user} REQ {user}"));
    }
    send(&format!("CANCEL {KEY} back REQ back"));
    let (from, to) = (shop.redis_url(), shop.database_url());
    let first = Running::start(writer(&from, &to, KEY, "w"));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(first.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);

    shop.lose_what_was_not_saved();
    let mut redis = shop.connect();
    ask(&mut redis, &format!("SECKILL.ALTER {KEY} HOLD 200"));
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} twice REQ twice"));
    wait_until("three holds run out", || status(&mut redis) == [5, 3, 2, 0]);
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("ALTER {KEY} HOLD 600000"));
    for turn in 1..=20 {
        send(&format!("GRAB {KEY} other QTY 3 REQ r{turn}"));
        for user in ["refused", "twice"].iter().filter(|_| turn == 20) {
            let refused = send(&format!("CONFIRM {KEY} {user} REQ {user} RECLAIM"));
            assert!(format!("{refused:?}").contains("EXPIRED"), "{refused:?}");
        }
        send(&format!("CANCEL {KEY} other REQ r{turn}"));
    }
    send(&format!("CONFIRM {KEY} back REQ back"));
    send(&format!("EXTEND {KEY} longer 900000"));
    let mut trusting = writer(&shop.redis_url(), &to, KEY, "w");
    trusting.args(["--trust-epoch", "any"]);
    let second = Running::start(trusting);
    wait_until("all is written and given back", || {
        is_done(&mut redis, STREAM) && status(&mut redis) == [5, 2, 0, 3]
    });
    let repaired = repairs(&second);
    assert_eq!(second.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);
    let sold = ["late", "back", "longer"].map(|user| (user, "SOLD"));
    for (user, state) in sold.into_iter().chain([("refused", "EXPIRED"), ("twice", "EXPIRED")]) {
        let row = format!("{:?}", ask(&mut redis, &format!("SECKILL.USER {KEY} {user}")));
        assert!(row.contains(state), "{user}: {row}");
    }
    assert!(repaired >= 1.0, "{repaired}");
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_waits_for_what_another_reader_has() {
    waits_for_what_another_reader_has(Shop::with_mariadb());
}

/// Redis loses a payment, the hold runs out, and a RECLAIM is refused, so that money is given back.
/// A reader died with the entry that says so. Another one has all others.
fn waits_for_what_another_reader_has(mut shop: Shop) {
    let mut redis = shop.connect();
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    send(&format!("INIT {KEY} 1 HOLD 3000 OUTBOX {STREAM}"));
    send(&format!("GRAB {KEY} u REQ r"));
    send(&format!("ALTER {KEY} HOLD 600000"));
    ask(&mut redis, "SAVE");
    ask(&mut redis, &format!("SECKILL.CONFIRM {KEY} u REQ r"));
    let to = shop.database_url();
    let first = Running::start(writer(&shop.redis_url(), &to, KEY, "w"));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(first.end("TERM").code(), Some(0));

    shop.lose_what_was_not_saved();
    let mut redis = shop.connect();
    wait_until("the hold runs out", || status(&mut redis) == [1, 1, 0, 0]);
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} other REQ o"));
    let refused = ask(&mut redis, &format!("SECKILL.CONFIRM {KEY} u REQ r RECLAIM"));
    assert!(format!("{refused:?}").contains("EXPIRED"), "{refused:?}");
    ask(&mut redis, &format!("XGROUP CREATE {STREAM} orders 0"));
    ask(&mut redis, &format!("XREADGROUP GROUP orders dead STREAMS {STREAM} >"));
    let entries: Vec<(String, redis::Value)> =
        redis::from_redis_value(ask(&mut redis, &format!("XRANGE {STREAM} - +"))).expect("entries");
    for (id, _) in &entries[..entries.len() - 1] {
        ask(&mut redis, &format!("XCLAIM {STREAM} orders w 0 {id}"));
    }
    let (from, words) = (shop.redis_url(), ["--name", "w", "--trust-epoch", "any"]);
    let mut second = seckill(&["orders", "--redis", &from, "--database", &to, "--stream", STREAM]);
    second.args(words).args(["--claim-after-ms", "3000"]);
    let second = Running::start(second);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!((status(&mut redis), repairs(&second)), ([1, 0, 1, 0], 0.0));
    assert_eq!(second.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);
}

fn repairs(running: &Running) -> f64 {
    number(running, "repairs_total")
}

/// A metric of a writer.
fn number(running: &Running, name: &str) -> f64 {
    let name = format!("seckill_orders_{name}{{stream=\"{STREAM}\"}} ");
    let text = running.get("/metrics").1;
    let number = text.lines().find_map(|line| line.strip_prefix(&name)).expect("the number");
    number.parse().expect("a number")
}

/// The database loses what was acknowledged, as one that is restored from a backup.
#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_gets_back_what_it_lost_itself() {
    let shop = Shop::with_mariadb();
    let mut redis = shop.connect();
    sell(&mut redis, KEY, "NUMBERED");
    let running = Running::start(writer(&shop.redis_url(), &shop.database_url(), KEY, "w"));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(running.end("TERM").code(), Some(0));
    let entries = ["DELETE FROM seckill_entries WHERE rev > 3", "DELETE FROM seckill_units"];
    shop.run(&[&entries[..], &["DELETE FROM seckill_orders WHERE seq > 1"]].concat());
    let running = Running::start(writer(&shop.redis_url(), &shop.database_url(), KEY, "w"));
    wait_until("it is told", || number(&running, "missing_entries_total") > 9.0);
    ask(&mut redis, &format!("XGROUP SETID {STREAM} orders 0"));
    wait_until("all is read again", || is_done(&mut redis, STREAM));
    assert_equal(&shop, &mut redis, KEY);
    assert_eq!(running.end("TERM").code(), Some(0));
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_leaves_the_next_show_alone() {
    leaves_the_next_show_alone(Shop::with_mariadb());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_leaves_the_next_show_alone() {
    leaves_the_next_show_alone(Shop::with_postgres());
}

/// Seat 8 was paid for, lost, and sold again: that is for people to settle. The next show has the
/// same names, and its seat 8 is nobody's.
fn leaves_the_next_show_alone(mut shop: Shop) {
    let mut redis = shop.connect();
    let mut send = |line: &str| ask(&mut redis, &format!("SECKILL.{line}"));
    let init = format!("INIT {KEY} 9 NUMBERED OUTBOX {STREAM}");
    send(&init);
    ask(&mut redis, "SAVE");
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} first UNITS 8 REQ first"));
    let to = shop.database_url();
    let first = Running::start(writer(&shop.redis_url(), &to, KEY, "w"));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(first.end("TERM").code(), Some(0));

    shop.lose_what_was_not_saved();
    let mut redis = shop.connect();
    ask(&mut redis, &format!("SECKILL.GRAB {KEY} second UNITS 8 REQ second"));
    let mut trusting = writer(&shop.redis_url(), &to, KEY, "w");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("said");
    trusting.args(["--trust-epoch", "any"]).stderr(File::create(&file).expect("a file"));
    let second = Running::start(trusting);
    let said = || fs::read_to_string(&file).expect("the file");
    wait_until("it is said", || said().contains("its unit 8 is somebody else's by now"));
    assert_eq!((repairs(&second), number(&second, "lost")), (0.0, 1.0));
    assert_eq!(shop.lost("SOLD"), [b"first".to_vec()]);

    ask(&mut redis, &format!("DEL {KEY} {STREAM}"));
    ask(&mut redis, &format!("SECKILL.{init}"));
    wait_until("it is another sale", || said().contains(&format!("{KEY} is another sale now")));
    wait_until("all is written", || is_done(&mut redis, STREAM));
    let map = format!("{:?}", ask(&mut redis, &format!("SECKILL.UNITS {KEY} 1")));
    assert!(map.contains("\".........\""), "{map}");
    assert_eq!(second.end("TERM").code(), Some(0));
    assert_equal(&shop, &mut redis, KEY);
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_tells_what_was_trimmed() {
    tells_what_was_trimmed(&Shop::with_mariadb());
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_tells_what_was_trimmed() {
    tells_what_was_trimmed(&Shop::with_postgres());
}

/// Two of four entries are trimmed before a reader comes, which gets the next three. Of three more
/// one is trimmed while no reader runs.
fn tells_what_was_trimmed(shop: &Shop) {
    let mut redis = shop.connect();
    ask(&mut redis, &format!("SECKILL.INIT {KEY} 9 OUTBOX {STREAM}"));
    let grab = |redis: &mut redis::Connection, users: std::ops::RangeInclusive<u64>| {
        users.for_each(|user| drop(ask(redis, &format!("SECKILL.GRAB {KEY} u{user}"))));
    };
    grab(&mut redis, 1..=3);
    ask(&mut redis, &format!("XTRIM {STREAM} MAXLEN 2"));
    let start = || Running::start(writer(&shop.redis_url(), &shop.database_url(), KEY, "w"));
    let first = start();
    wait_until("it is told", || number(&first, "missing_entries_total") == 2.0);
    grab(&mut redis, 4..=6);
    wait_until("all is written", || is_done(&mut redis, STREAM));
    assert_eq!(first.end("TERM").code(), Some(0));

    grab(&mut redis, 7..=9);
    // The last grant has an entry SOLDOUT behind its own.
    ask(&mut redis, &format!("XTRIM {STREAM} MAXLEN 3"));
    let second = start();
    wait_until("it is told", || number(&second, "missing_entries_total") == 1.0);
    assert_eq!(second.end("TERM").code(), Some(0));
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_tells_that_another_server_was_read_before() {
    tells_that_another_server_was_read_before(&Shop::with_mariadb());
}

/// The reader was at an old primary that came back, and its epoch 30 began at rev 7. Then it is
/// sent to the true one, whose epoch 20 began at rev 3. Up to rev 5 it is believed.
fn tells_that_another_server_was_read_before(shop: &Shop) {
    let mut redis = shop.connect();
    let (old, new) = ("sale:old", "sale:new");
    let histories =
        [(old, [10, 10, 10, 10, 10, 10, 30, 30]), (new, [10, 10, 20, 20, 20, 20, 20, 20])];
    for (key, epochs) in histories {
        for (rev, epoch) in (1..).zip(epochs) {
            let data = format!(
                "{{\"id\":\"00f1a2b3c4d5e6f7\",\"epoch\":{epoch},\"rev\":{rev},\"seq\":{rev},\
                 \"qty\":1,\"state\":\"SOLD\",\"at\":8,\"born\":{epoch}}}"
            );
            let fields = format!("event GRANT sale {KEY} user u{epoch}-{rev} req r{epoch}-{rev}");
            ask(&mut redis, &format!("XADD {key}:orders * data {data} {fields}"));
        }
    }
    let (from, to) = (shop.redis_url(), shop.database_url());
    let first = Running::start(writer(&from, &to, old, "w"));
    wait_until("all is written", || is_done(&mut redis, "sale:old:orders"));
    assert_eq!(first.end("TERM").code(), Some(0));
    let mut trusting = writer(&from, &to, new, "w");
    trusting.args(["--trust-epoch", "20"]);
    let (code, said) = super::ended(trusting);
    let sentence = "goes on to rev 8, but the database has epoch 30 from rev 7 on";
    assert!(code == Some(1) && said.contains(sentence), "{said}");
    let orders = shop.orders("00f1a2b3c4d5e6f7");
    let (sold, lost): (Vec<u64>, _) =
        (orders.iter().map(|order| order.7).collect(), shop.lost("SOLD"));
    assert_eq!(sold, [10, 10, 20, 20, 20, 30, 30]);
    assert_eq!(lost.len(), 4, "{lost:?}");
}
