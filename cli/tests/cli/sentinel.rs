//! `--sentinel` of subcommands that need no database, with real Sentinels.

use redis::Connection;
use seckill_harness::wait_until;

use super::exporter::number;
use super::nodes::Nodes;
use super::program::{seckill, Running};
use super::split::signal;

const SUPPLY: u64 = 400;

#[test]
fn a_name_that_no_sentinel_knows_and_sentinels_that_are_away_are_told() {
    let nodes = Nodes::start();
    let base = ["split", "--sentinel", &nodes.sentinels];
    let unknown = seckill(&base).args(["--sentinel-master", "other", "status", "x"]).output();
    let unknown = unknown.expect("it runs");
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(1) && said.contains("No such master"), "{said}");
    let known = seckill(&base).args(["status", "x"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&known.stderr).into_owned();
    assert!(known.status.code() == Some(1) && said.contains("there is no such sale"), "{said}");
}

/// A sale of four parts is created, shown and balanced on the primary that Sentinels name. Then
/// this primary dies and is restarted as a primary. All programs continue with the new primary:
/// buyers of part 0 alone get all units.
#[test]
fn the_exporter_and_the_balancer_follow_to_the_new_primary() {
    let mut nodes = Nodes::start();
    let sentinels = nodes.sentinels.clone();
    let program = |words: &[&str]| seckill(&[&["--sentinel", &sentinels], words].concat());
    let supply = SUPPLY.to_string();
    let words = ["split", "create", "s", "--supply", &supply, "--parts", "4", "LIMIT", "0"];
    let made = program(&words).output().expect("it runs");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
    let exporter =
        Running::start(program(&["exporter", "--sale", "s:{p0}", "--search-every", "0"]));
    let sold = || {
        let (_, text) = exporter.get("/metrics");
        let row = "seckill_sale_sold_units{sale=\"s:{p0}\"}";
        text.contains(row).then(|| number(&text, row))
    };
    wait_until("the sale is shown", || sold() == Some(0.0));
    let mut balancer =
        program(&["split", "balance", "s", "--interval", "5"]).spawn().expect("a balancer");
    let mut redis = nodes.primary.as_ref().expect("a primary").connect().expect("a connection");
    sell(&mut redis, SUPPLY / 2);
    let replicas: u64 = redis::cmd("WAIT").arg(2).arg(5_000).query(&mut redis).expect("WAIT");
    assert_eq!(replicas, 2);

    let (mut redis, _stale) = nodes.fail_over();
    sell(&mut redis, SUPPLY);
    wait_until("that of the new one is shown", || sold() == Some(SUPPLY as f64));
    signal(balancer.id(), "TERM");
    assert_eq!(balancer.wait().expect("its end").code(), Some(0));
}

/// Users of part 0 buy, one after the other, until this many of its units are sold.
#[track_caller]
fn sell(redis: &mut Connection, wanted: u64) {
    let home = |redis: &mut Connection, user: &str| -> i64 {
        redis::cmd("SECKILL.HOME").arg(user).arg(4).query(redis).expect("a part")
    };
    let user = (0..99).map(|number| format!("u{number}")).find(|user| home(redis, user) == 0);
    let user = user.expect("one of part 0");
    let mut sold = 0;
    wait_until("it is sold", || {
        let mut grab = redis::cmd("SECKILL.GRAB");
        grab.arg("s:{p0}").arg(&user).arg("QTY").arg(1).arg("REQ").arg(format!("{wanted}-{sold}"));
        let said: Vec<redis::Value> = grab.query(redis).expect("an answer");
        if said[0] == redis::Value::BulkString(b"GRANTED".to_vec()) {
            sold += 1;
        }
        let mut status = redis::cmd("SECKILL.STATUS");
        let status: String = status.arg("s:{p0}").arg("JSON").query(redis).expect("its status");
        let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
        status["sold"].as_u64().expect("a number") >= wanted
    });
}
