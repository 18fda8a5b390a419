//! Counters, those that lie included, and how the programs reach a server.

use std::process::Command;

use seckill_harness::server::Options;

use crate::{output, root, Move};

/// 003, demo1: GET and DECR.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn counter() {
    let shop = Move::of("counter.php", &["--counter=goods", "--sale=sale:goods"]);
    shop.old.call("SET goods 5");
    assert!(shop.before("003-printed.php").contains("秒杀成功"));
    // The new server is away: what was put aside is not lost, and the old program sells nothing.
    let nowhere = Options::new().without_module().start();
    assert!(!shop.try_run(nowhere.port(), &[]).1, "there is no module");
    assert!(shop.before("003-printed.php").contains("库存不足"));
    assert!(shop.run(&["--open=no"]).contains("state paused, supply 4, available 4"));
    let told = shop.after(&["counter", "sale:goods", "a", "order-a"]);
    assert!(told.contains("PAUSED"), "nobody buys before it is looked at: {told}");
    for _ in 0..2 {
        assert!(shop.run(&[]).contains("state open, supply 4, available 4"));
        assert_eq!(shop.books("sale:goods"), [4, 4, 0, 0, 0]);
    }
    for user in ["a", "b", "a"] {
        let told = shop.after(&["counter", "sale:goods", user, &format!("order-{user}")]);
        assert!(told.contains("秒杀成功"), "{told}");
    }
    // The order of a second click holds nothing, so it is not told as sold.
    let told = shop.after(&["counter", "sale:goods", "a", "order-2"]);
    assert!(told.contains("已经抢到过"), "{told}");
    assert_eq!(shop.books("sale:goods"), [4, 2, 0, 2, 0]);
    assert!(shop.run(&["--back=yes"]).contains("available 0"));
    assert!(shop.after(&["counter", "sale:goods", "c", "order-c"]).contains("PAUSED"));
    assert_eq!(shop.old.call("GET goods"), "'2'");
    assert!(shop.before("003-printed.php").contains("秒杀成功"));
    // Not a second time: the old program has sold one since.
    assert!(!shop.try_run(shop.new.port(), &["--back=yes"]).1);
    assert_eq!(shop.old.call("GET goods"), "'1'");
    assert_eq!(shop.books("sale:goods"), [2, 0, 0, 2, 0]);
}

/// Both programs sell for a while, each its own units; then the old one ends.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn side_by_side() {
    let shop = Move::of("counter.php", &["--counter=goods", "--sale=sale:trial"]);
    shop.old.call("SET goods 20");
    assert_eq!(shop.old.call("DECRBY goods 10"), "10");
    for _ in 0..2 {
        shop.new.call("SECKILL.INIT sale:trial 0");
        assert_eq!(shop.new.call("SECKILL.RESTOCK sale:trial 10 REQ step-1"), "[10 10]");
    }
    assert!(shop.before("003-printed.php").contains("秒杀成功"));
    assert!(shop.after(&["counter", "sale:trial", "a", "order-1"]).contains("秒杀成功"));
    for _ in 0..2 {
        shop.run(&[]);
        assert_eq!(shop.books("sale:trial"), [19, 18, 0, 1, 0]);
    }
    assert!(shop.before("003-printed.php").contains("库存不足"));
}

/// 001 counts up in packets; its coins are a sale of their own. A counter that is below zero has
/// oversold or not, which only the orders tell.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn counters_that_count_up_or_are_oversold() {
    let options = ["--counter=totalkey", "--counts-up-to=100", "--sale=sale:packets"];
    let shop = Move::of("counter.php", &options);
    shop.old.call("SET totalkey 0");
    for _ in 0..3 {
        assert!(shop.before("001-printed.php").contains("抢红包成功"));
    }
    shop.run(&[]);
    assert!(!shop.before("001-printed.php").contains("抢红包成功"));
    assert_eq!(shop.books("sale:packets"), [97, 97, 0, 0, 0]);
    shop.old.call("SET totalkey 20");
    assert!(shop.run(&[]).contains("late: the old program wrote totalkey"), "a stale SET");
    shop.run(&["--back=yes"]);
    assert_eq!(shop.old.call("GET totalkey"), "'3'");

    shop.new.call("SECKILL.INIT sale:coins 97 LIMIT 0 GRABS 1");
    let coins = |user, order, count| shop.after(&["coins", "sale:coins", user, order, count]);
    assert!(coins("a", "order-1", "40").contains("\"count\":40"));
    assert!(coins("b", "order-2", "1000").contains("\"count\":57"));
    assert!(coins("a", "order-3", "40").contains("\"count\":0"), "nothing is credited twice");
    let coins = ["--back=yes", "--sale=sale:coins", "--counts-up-to=10"];
    let back = Move::of("counter.php", &["--counter=totalkey"]);
    back.old.call("SET totalkey 10");
    back.new.call("SECKILL.INIT sale:coins 97 LIMIT 0 GRABS 1");
    let (told, went_well) = back.try_run(back.new.port(), &coins);
    assert!(!went_well && told.contains("coins"), "{told}");
    assert_eq!(back.old.call("GET totalkey"), "'10'");
}

/// DECR goes below zero for those who are refused, too: what is left is the total minus the orders.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn what_a_counter_below_zero_says() {
    let shop = Move::of("counter.php", &["--counter=goods", "--sale=sale:goods"]);
    shop.old.call("SET goods -3900");
    let told = shop.run(&[]);
    assert!(told.contains("below zero by 3900") && told.contains("count your orders"), "{told}");
    assert_eq!(shop.books("sale:goods"), [0, 0, 0, 0, 0]);

    let counted = ["--counter=goods", "--total=100", "--sold=99", "--sale=sale:goods"];
    let shop = Move::of("counter.php", &counted);
    shop.old.call("SET goods -3900");
    assert!(shop.run(&[]).contains("available 1"));
    assert_eq!(shop.books("sale:goods"), [1, 1, 0, 0, 0]);
    shop.old.call("INCR goods");
    let told = shop.run(&[]);
    assert!(told.contains("late: the old program wrote goods since, 0 became 1"), "{told}");
    assert_eq!(shop.books("sale:goods"), [1, 1, 0, 0, 0]);
}

/// A password, a database, and terms that can't be carried.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn addresses_and_terms() {
    let shop = Move::of("counter.php", &["--counter=goods", "--sale=sale:goods"]);
    let (told, went_well) = shop.try_run(shop.new.port(), &["--terms=EVERY 3600000"]);
    assert!(!went_well && told.contains("begun fresh between two rounds"), "{told}");

    let mut conn = shop.old.conn();
    for line in ["SELECT 2", "SET goods 3", "CONFIG SET requirepass a:b@c"] {
        assert_eq!(conn.call(line), "+OK");
    }
    let with = |address: &str, password: &str| {
        let mut php = Command::new("php");
        php.env("OLD_PASSWORD", password).arg(root().join("examples/migrate/counter.php")).args([
            "--counter=goods".to_owned(),
            "--sale=sale:goods".to_owned(),
            format!("--new=127.0.0.1:{}", shop.new.port()),
            format!("--old=redis://{address}127.0.0.1:{}/2", shop.old.port()),
        ]);
        output(&mut php)
    };
    let (told, went_well) = with("", "wrong");
    assert!(!went_well && told.contains("WRONGPASS"), "{told}");
    for (address, password) in [(":a%3Ab%40c@", ""), ("", "a:b@c"), ("default@", "a:b@c")] {
        let (told, went_well) = with(address, password);
        assert!(went_well && told.contains("available 3"), "{told}");
    }
}
