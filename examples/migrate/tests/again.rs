//! Runs the command of a move again: the sale's settings stay, and no buyer is entered twice.

use std::process::Command;

use crate::{output, root, Move, LATE};

/// 000: the new page still writes into the old record of winners.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_hash_that_the_new_page_writes_to() {
    let options = ["--winners=mywatchlist", "--counter=mywatchkey", "--total=10"];
    let shop = Move::of("watch.php", &[&options[..], &["--sale=sale:prize"]].concat());
    shop.old.call("HSET mywatchlist lin 1517828061 wei 1517828062");
    let told = shop.run(&["--open=no"]);
    assert!(told.contains("who comes from now on: SECKILL.WINNERS sale:prize 2"), "{told}");
    shop.new.call("SECKILL.RESUME sale:prize");
    assert!(shop.after(&["watch", "sale:prize", "new", "order-1"]).contains("抢购成功"));
    shop.old.call("HSET mywatchlist new 1517828063");
    assert!(shop.run(&[]).contains("left as it is: state open, supply 10, available 7"));
    assert_eq!(shop.books("sale:prize"), [10, 7, 0, 3, 0]);
    // A user who is only in the hash has won on the old page.
    shop.old.call("HSET mywatchlist mei 1517828064");
    for (more, books, code) in [
        (&[][..], [10, 7, 0, 3, 0], LATE),
        (&["--enter-late=yes"], [10, 7, 0, 3, 0], 1),
        (&["--back=yes"], [10, 7, 0, 3, 0], 1),
    ] {
        let (told, ended) = shop.end(more);
        assert!(told.contains("late: mei has 1") || told.contains("PAUSE"), "{told}");
        assert_eq!((shop.books("sale:prize"), ended), (books, code), "{told}");
    }
    shop.new.call("SECKILL.PAUSE sale:prize");
    // An old request also wrote its outdated number, with which the old page would sell again.
    shop.old.call("SET mywatchkey 3");
    let (told, code) = shop.end(&[]);
    assert!(told.contains("--enter-late yes sets it again") && code == LATE, "{told}");
    let told = shop.run(&["--enter-late=yes"]);
    assert!(told.contains("mywatchkey is 10 again"), "{told}");
    assert_eq!(shop.books("sale:prize"), [10, 6, 0, 4, 0]);
    let told = shop.run(&[]);
    assert!(
        told.contains("WINNERS sale:prize 2"),
        "who came by the new page is not passed: {told}"
    );
    shop.run(&["--back=yes"]);
    assert_eq!(shop.old.call("GET mywatchkey"), "'4'");
}

/// A winner who is entered late, before the first click on the new page, is not reported as a new
/// buyer.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn who_is_entered_late_has_not_come() {
    let shop = Move::of("watch.php", &["--winners=list", "--total=10", "--sale=sale:prize"]);
    shop.old.call("HSET list lin 1517828061 wei 1517828062");
    shop.run(&["--open=no"]);
    shop.old.call("HSET list mei 1517828063");
    let told = shop.run(&["--enter-late=yes"]);
    assert!(told.contains("WINNERS sale:prize 3"), "{told}");
    assert!(shop.run(&[]).contains("WINNERS sale:prize 3"));
}

/// A closed old side is checked again, for every kind of program.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn an_old_side_that_was_opened_again() {
    let lua = ["--counter=goods", "--buyers=buyers", "--sale=sale:goods"];
    let lists = ["--list=award:100", "--winners=buyers", "--sale=sale:goods"];
    for (program, options, again) in
        [("lua.php", lua, "SET goods 3"), ("lists.php", lists, "RPUSH award:100 6")]
    {
        let shop = Move::of(program, &options);
        shop.old.call("SET goods 5");
        shop.old.call("RPUSH award:100 1 2 3 4 5");
        shop.old.call("SADD buyers lin");
        shop.run(&[]);
        shop.old.call("SADD buyers new");
        assert!(shop.run(&[]).contains("left as it is"), "{program}");
        shop.old.call(again);
        let (told, code) = shop.end(&[]);
        assert!(told.contains("late: the old program wrote") && code == LATE, "{program}: {told}");
        assert_eq!(shop.books("sale:goods"), [6, 5, 0, 1, 0], "{program}");
    }
}

/// A line that differs from the one that moved the sale is refused.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_line_that_says_something_else() {
    let shop = Move::of("counter.php", &["--counter=goods", "--counts=down", "--sale=sale:goods"]);
    shop.old.call("SET goods 5");
    shop.old.call("HSET buyers lin 1 wei 1");
    let all = ["--total=10", "--sold=6", "--winners=buyers", "--terms=LIMIT 1"];
    let told = shop.run(&all);
    assert!(told.contains("available 4, held 0, sold 2"), "{told}");
    assert!(told.contains("who comes from now on: SECKILL.WINNERS sale:goods 2"), "{told}");
    shop.new.call("SECKILL.GRAB sale:goods mei REQ order-1");
    // Each further run prints this line.
    let told = shop.run(&all);
    assert!(told.contains("left as it is"), "{told}");
    assert!(told.contains("who comes from now on: SECKILL.WINNERS sale:goods 2"), "{told}");
    for (words, why) in [
        (&all[..3], "was moved with --terms 'LIMIT 1', this line is without --terms"),
        (&all[1..], "with --total '10', this line is without --total"),
        (&[all[0], "--sold=7", all[2], all[3]], "with --sold '6', this line is with --sold '7'"),
        (&[all[0], all[1], "--buyers=b.csv", all[3]], "this line is with --buyers 'b.csv'"),
    ] {
        let (told, went_well) = shop.try_run(shop.new.port(), words);
        assert!(!went_well && told.contains(why), "{words:?}: {told}");
    }
    // Other options may differ from those of the first run.
    shop.run(&[&all[..], &["--open=no"]].concat());
    // Names that were not in the hash before are refused.
    shop.old.call("HSET buyers gao 1");
    let (told, went_well) = shop.try_run(shop.new.port(), &all);
    assert!(
        !went_well && told.contains("1 of --buyers or --winners are not in the sale"),
        "{told}"
    );
    assert_eq!(shop.books("sale:goods"), [6, 3, 0, 3, 0]);
}

/// Each program's help names its options, and it refuses a word that it does not know.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn usage() {
    let programs = ["coins", "counter", "lists", "locks", "lua", "sql", "unsold", "watch"];
    for program in programs.map(|name| format!("{name}.php")) {
        let run = |words: &[&str]| {
            let mut php = Command::new("php");
            output(php.arg(root().join("examples/migrate").join(&program)).args(words))
        };
        let (told, went_well) = run(&["--help"]);
        assert!(went_well && told.contains(&format!("php {program} --")), "{told}");
        assert!(told.contains("--open no") && told.contains("docs/zh/migrate.md"), "{told}");
        for (words, why) in [
            (&["--sale=x"][..], "--new is missing"),
            (&["--opne=no"], "there is no option --opne"),
            (&["--new=127.0.0.1:1", "LIMIT", "2"], "no option takes LIMIT"),
        ] {
            let (told, went_well) = run(words);
            assert!(!went_well && told.contains(why), "{program} {words:?}: {told}");
        }
    }
}
