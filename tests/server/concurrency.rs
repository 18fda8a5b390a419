//! Many clients at once, with each kind of call that a server has. The counts are exact, and every
//! answer is right.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::support::{Conn, Reply, Server};

const CLIENTS: u64 = 16;

/// The outcome in a reply to GRAB.
fn outcome(reply: &Reply) -> String {
    reply.items()[0].text()
}

/// All winners by seq, from WINNERS.
fn winners(server: &Server, key: &str) -> Vec<(i64, String, i64)> {
    let page = server.cmd(&format!("SECKILL.WINNERS {key} 0 COUNT 10000"));
    assert_eq!(page.items()[0], Reply::Int(0), "one page holds them all");
    let rows = page.items()[1].items().iter();
    rows.map(|row| (row.items()[0].int(), row.items()[1].text(), row.items()[2].int())).collect()
}

#[test]
fn every_unit_is_sold_once() {
    let server = Server::start();
    assert_eq!(server.call("SECKILL.INIT k 500"), "+OK");
    let granted = thread::scope(|scope| {
        let client = |number: u64| {
            let mut conn = server.conn();
            move || {
                // Users overlap: four clients grab for each of them.
                let users = (0..500).map(|step| number / 4 * 500 + step);
                let grab = |user: u64| {
                    let reply = conn.cmd(&format!("SECKILL.GRAB k u{user}"));
                    (format!("u{user}"), outcome(&reply), reply)
                };
                users.map(grab).collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(client(number))).collect();
        threads.into_iter().flat_map(|one| one.join().expect("a client")).collect::<Vec<_>>()
    });
    let won: HashMap<i64, String> = granted
        .iter()
        .filter(|(_, outcome, _)| outcome == "GRANTED")
        .map(|(user, _, reply)| (reply.items()[1].int(), user.clone()))
        .collect();
    let grants = granted.iter().filter(|(_, outcome, _)| outcome == "GRANTED").count();
    assert_eq!((grants, won.len()), (500, 500), "500 grants with 500 seqs");
    assert_eq!(won.values().collect::<HashSet<_>>().len(), 500, "of 500 users");
    for (user, outcome, reply) in &granted {
        match outcome.as_str() {
            "GRANTED" | "ALREADY" => assert_eq!(won[&reply.items()[1].int()], *user),
            other => assert_eq!(other, "SOLDOUT"),
        }
    }
    for (seq, user, _) in winners(&server, "k") {
        assert_eq!(won[&seq], user, "the server's list agrees with what clients were told");
    }
    let counters = server.cmd("SECKILL.STATUS k").field("counters");
    assert_eq!(counters.field("attempts"), Reply::Int(CLIENTS as i64 * 500));
    assert_eq!(counters.field("granted"), Reply::Int(500));
    server.assert_sound("k");
}

/// Several clients send one order at once. The order is granted once, and all clients get its seq.
#[test]
fn a_request_sent_many_times_is_granted_once() {
    let server = Server::start();
    assert_eq!(server.call("SECKILL.INIT k 100000 LIMIT 0"), "+OK");
    let granted = AtomicU64::new(0);
    let seqs: Vec<Vec<i64>> = thread::scope(|scope| {
        let client = || {
            let mut conn = server.conn();
            let granted = &granted;
            move || {
                let mut seqs = Vec::new();
                for order in 0..300 {
                    let reply =
                        conn.cmd(&format!("SECKILL.GRAB k u{} QTY 2 REQ {order}", order % 7));
                    match outcome(&reply).as_str() {
                        "GRANTED" => _ = granted.fetch_add(1, Ordering::Relaxed),
                        other => assert_eq!(other, "REPLAY"),
                    }
                    seqs.push(reply.items()[1].int());
                }
                seqs
            }
        };
        let threads: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client())).collect();
        threads.into_iter().map(|one| one.join().expect("a client")).collect()
    });
    assert_eq!(granted.into_inner(), 300);
    assert!(seqs.iter().all(|one| *one == seqs[0]), "all clients learn the same seqs");
    assert_eq!(server.cmd("SECKILL.STATUS k").field("sold"), Reply::Int(600));
}

fn eval(conn: &mut Conn, script: &str) -> String {
    conn.ask(&["EVAL", script, "1", "k", "u1"]).to_string()
}

#[test]
fn grabs_work_in_scripts() {
    let (server, mut conn) = Server::start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 5 LIMIT 2"), "+OK");
    let call = "return redis.call('SECKILL.GRAB', KEYS[1], ARGV[1])";
    assert_eq!(eval(&mut conn, call), "['GRANTED' 1 1 'SOLD' 0 4]");
    let two = "redis.call('SECKILL.GRAB', KEYS[1], ARGV[1])
               local r = redis.call('SECKILL.GRAB', KEYS[1], ARGV[1])
               return r[1] .. r[2]";
    assert_eq!(eval(&mut conn, two), "'ALREADY2'");
    let pcall = "return redis.pcall('SECKILL.GRAB', KEYS[1], '')['err']";
    assert_eq!(eval(&mut conn, pcall), "'ERR user id must be 1 to 256 bytes'");
    let status = "redis.setresp(3)
                  local status = redis.call('SECKILL.STATUS', KEYS[1])
                  return status['map']['counters']['map']['already']";
    assert_eq!(eval(&mut conn, status), "1");
    let reading = conn.ask(&["EVAL_RO", call, "1", "k", "u2"]).to_string();
    assert!(reading.starts_with("-ERR Write commands are not allowed"), "{reading}");
    let library = "#!lua name=shop
                   redis.register_function('buy', function(keys, args)
                     return redis.call('SECKILL.GRAB', keys[1], args[1], 'UPTO', args[2])
                   end)";
    assert_eq!(conn.ask(&["FUNCTION", "LOAD", library]).to_string(), "'shop'");
    assert_eq!(conn.call("FCALL buy 1 k u3 9"), "['GRANTED' 3 2 'SOLD' 0 1]");
    assert_eq!(conn.call("FCALL buy 1 k u4 9"), "['GRANTED' 4 1 'SOLD' 0 0]");
    server.assert_sound("k");
}

/// The crate redis, which most Rust programs use, parses the replies correctly.
#[test]
fn a_client_library_reads_our_replies() {
    let server = Server::start();
    assert_eq!(server.call("SECKILL.INIT k 9"), "+OK");
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", server.port()));
    let mut conn = client.and_then(|client| client.get_connection()).expect("a connection");
    type Granted = (String, u64, u64, String, u64, u64);
    let granted: Granted =
        redis::cmd("SECKILL.GRAB").arg("k").arg("u").query(&mut conn).expect("a grant");
    assert_eq!(granted, ("GRANTED".into(), 1, 1, "SOLD".into(), 0, 8));
    let (outcomes,): (Vec<Vec<redis::Value>>,) = redis::pipe()
        .cmd("SECKILL.GRAB")
        .arg("k")
        .arg("v")
        .cmd("SECKILL.GRAB")
        .arg("k")
        .arg("v")
        .query(&mut conn)
        .map(|both: Vec<Vec<redis::Value>>| (both,))
        .expect("two replies");
    let firsts: Vec<&redis::Value> = outcomes.iter().map(|one| &one[0]).collect();
    let word = |text: &str| redis::Value::BulkString(text.as_bytes().to_vec());
    assert_eq!(firsts, [&word("GRANTED"), &word("ALREADY")]);
    let missing: redis::RedisResult<()> =
        redis::cmd("SECKILL.GRAB").arg("none").arg("u").query(&mut conn);
    assert_eq!(missing.expect_err("no sale is there").code(), Some("NOSALE"));
}
