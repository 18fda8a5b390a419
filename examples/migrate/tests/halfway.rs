//! Refused moves, and moves that stop in the middle: the shop sells as before, or gets everything
//! back.

use std::fs;

use seckill_harness::server::Options;

use crate::{files, Move, LATE};

const LOCKS: [&str; 3] = ["--counter=goods", "--lock=lock:goods", "--sale=sale:goods"];
const UNTOUCHED: &str = "['8' nil nil]";
const KEYS: &str = "MGET goods goods:moved lock:goods";

/// The old side is closed only after all checks that may refuse the move.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_refused_run_leaves_the_shop_open() {
    let shop = Move::of("locks.php", &LOCKS);
    shop.old.call("SET goods 8");
    let refused = |new: u16, more: &[&str], why: &str| {
        let (told, went_well) = shop.try_run(new, more);
        assert!(!went_well && told.contains(why), "{more:?}: {told}");
        assert_eq!(shop.old.call(KEYS), UNTOUCHED, "{more:?}");
        let (told, went_well) = shop.try_run(new, &[more, &["--back=yes"]].concat());
        assert!(!went_well && told.contains("nothing was carried over"), "{told}");
        assert_eq!(shop.old.call(KEYS), UNTOUCHED, "{more:?}");
    };
    let new = shop.new.port();
    refused(new, &["--counter=godos"], "there is no key godos");
    refused(new, &["--terms=HODL 60000"], "syntax error");
    let plain = Options::new().without_module().start();
    refused(plain.port(), &[], "is the module loaded there?");
    shop.new.call("SECKILL.INIT sale:goods 5 LIMIT 2");
    refused(new, &[], "a sale is at sale:goods already");
    refused(new, &["--add=yes"], "SALEEXISTS");
    assert!(shop.new.call("SECKILL.GRAB sale:goods a REQ o").contains("GRANTED"), "it sells on");
    shop.new.call("DEL sale:goods");
    for missing in ["eval", "seckill.restock", "seckill.import", "seckill.audit", "seckill.pause"] {
        shop.new.call(&format!("ACL SETUSER shop reset on >secret ~* +@all -{missing}"));
        let address = format!("--new=redis://shop:secret@127.0.0.1:{new}");
        refused(new, &[&address], "NOPERM");
    }
}

/// After a stop between any two steps, the way back returns everything to the old side, once.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn the_way_back_from_halfway() {
    for (gone, mended) in [(false, false), (true, false), (false, true)] {
        let shop = Move::of("locks.php", &LOCKS);
        shop.old.call("SET goods 8");
        let first = buyers("halfway", "lin,order-1\nwei,order-2\n");
        // The sale has this order with another quantity, which is refused after the old side is
        // closed.
        shop.new.call("SECKILL.INIT sale:goods 0");
        shop.new.call("SECKILL.RESTOCK sale:goods 2 REQ own");
        shop.new.call("SECKILL.PAUSE sale:goods");
        shop.new.call("SECKILL.IMPORT sale:goods wei 2 REQ order-2");
        let more = ["--add=yes", &first as &str];
        let (told, went_well) = shop.try_run(shop.new.port(), &more);
        assert!(!went_well && told.contains("order order-2, 1: REQMISMATCH"), "{told}");
        assert!(told.contains("1 of 2 buyers were refused"), "{told}");
        assert_eq!(shop.old.call(KEYS), "['0' '8' 'moved']", "closed");
        // After a repair the command continues where it stopped.
        if mended {
            let buyers = buyers("mended", "lin,order-1\nwei,order-2,2\n");
            shop.run(&["--add=yes", &buyers]);
            assert_eq!(shop.books("sale:goods"), [11, 8, 0, 3, 0]);
        } else if gone {
            shop.new.call("DEL sale:goods");
        }
        shop.old.call("DECR goods");
        shop.run(&["--back=yes"]);
        assert_eq!(shop.old.call(KEYS), "['7' nil nil]", "one was sold inside");
        let (told, went_well) = shop.try_run(shop.new.port(), &["--back=yes"]);
        assert!(!went_well && told.contains("it is back already"), "{told}");
        assert_eq!(shop.old.call(KEYS), "['7' nil nil]");
        // One name for two moves would mix them, so it is refused while the old side sells.
        if !gone {
            let (told, went_well) = shop.try_run(shop.new.port(), &[]);
            assert!(!went_well && told.contains("take another --sale"), "{told}");
            assert_eq!(shop.old.call(KEYS), "['7' nil nil]");
        }
    }
}

/// A user without the permission to close the old side closes nothing. A user who has it continues
/// the move.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn rights_on_the_old_side() {
    for missing in ["renamenx", "set", "setnx", "hmset", "multi"] {
        let shop = Move::of("locks.php", &LOCKS);
        shop.old.call("SET goods 8");
        shop.old.call(&format!("ACL SETUSER shop reset on >secret ~* +@all -{missing}"));
        let address = format!("--old=redis://shop:secret@127.0.0.1:{}", shop.old.port());
        let (told, went_well) = shop.try_run(shop.new.port(), &[&address]);
        assert!(!went_well && told.contains("NOPERM"), "{missing}: {told}");
        assert_eq!(shop.old.call(KEYS), UNTOUCHED, "{missing}");
        shop.run(&[]);
        assert_eq!(shop.books("sale:goods"), [8, 8, 0, 0, 0]);
    }
}

/// A wrong name of the record of winners would let all winners buy again, so it is refused.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_record_that_is_not_there() {
    let lua = ["--counter=goods", "--buyers=gone", "--sale=sale:goods"];
    let lists = ["--list=award:100", "--winners=gone", "--sale=sale:goods"];
    let watch = ["--winners=gone", "--total=5", "--sale=sale:goods"];
    for (program, options) in [("lua.php", lua), ("lists.php", lists), ("watch.php", watch)] {
        let shop = Move::of(program, &options);
        shop.old.call("SET goods 5");
        shop.old.call("RPUSH award:100 1 2 3 4 5");
        let (told, went_well) = shop.try_run(shop.new.port(), &[]);
        assert!(!went_well && told.contains("--empty yes"), "{program}: {told}");
        assert_eq!(shop.old.call("EXISTS goods award:100 gone"), "2", "{program}");
        shop.run(&["--empty=yes"]);
        assert_eq!(shop.books("sale:goods"), [5, 5, 0, 0, 0], "{program}");
    }
}

/// A record that has no users, or that a program can't fill up, is refused while the shop is open.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_record_of_another_type() {
    let counter = ["--counter=goods", "--counts=down", "--total=100", "--sold=63", "--winners=won"];
    let lua = ["--counter=goods", "--buyers=won"];
    let lists = ["--list=award:100", "--winners=won"];
    let watch = ["--winners=won", "--total=5"];
    let no_record = "won is no hash, set, sorted set or list of users";
    for (program, options, record, why) in [
        ("counter.php", &counter[..], "SET won lin", no_record),
        ("counter.php", &counter, "XADD won * user lin", no_record),
        ("lua.php", &lua, "SET won lin", no_record),
        ("lists.php", &lists, "SET won lin", no_record),
        ("watch.php", &watch, "SET won lin", no_record),
        ("watch.php", &watch, "SADD won lin", "won is no hash"),
    ] {
        let shop = Move::of(program, &[options, &["--sale=sale:goods"]].concat());
        shop.old.call("SET goods 5");
        shop.old.call("RPUSH award:100 1 2 3 4 5");
        shop.old.call(record);
        let before = shop.old.call("DEBUG DIGEST");
        let (told, code) = shop.end(&[]);
        assert!(told.contains(why) && code == 1, "{program}: {record}: {told}");
        assert_eq!(shop.old.call("DEBUG DIGEST"), before, "{program}: {record}");
        assert!(shop.new.call("SECKILL.STATUS sale:goods").contains("NOSALE"), "{program}");
    }
}

/// Stock that another move put aside belongs to another sale.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn what_is_aside_belongs_to_its_own_sale() {
    let shop = Move::of("locks.php", &LOCKS);
    shop.old.call("SET goods 8");
    shop.run(&[]);
    shop.old.call("SET goods 50");
    let (told, went_well) = shop.try_run(shop.new.port(), &["--sale=sale:next"]);
    assert!(!went_well && told.contains("goods:moved is there"), "{told}");
    let (told, code) = shop.end(&[]);
    assert!(told.contains("wrote goods since, 0 became 50"), "above 0, too: {told}");
    assert_eq!(code, LATE);
}

/// Buyers that only the database knows keep their units, in addition to the remaining stock.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn buyers_of_a_file() {
    let counter = ["--counter=goods", "--counts=down", "--sale=sale:goods"];
    for (program, options) in [("locks.php", LOCKS), ("counter.php", counter)] {
        let shop = Move::of(program, &options);
        shop.old.call("SET goods 8");
        let wrong = "lin,order-1\nwei,\nmei,order-3,0\ngao,order-4,1,1517828061\nlin,order-1\n";
        let (told, went_well) = shop.try_run(shop.new.port(), &[&buyers("wrong", wrong)]);
        assert!(!went_well && told.contains("4 rows are not"), "{told}");
        assert_eq!(shop.old.call("MGET goods goods:moved"), "['8' nil]");
        let rows = "lin,order-1\n\"li \"\"x\"\" \\\\\",order-2,3,1517828061000\n";
        let file = buyers(program, rows);
        assert!(shop.run(&[&file]).contains("supply 12, available 8, held 0, sold 4, deficit 0"));
        let told = shop.new.call("SECKILL.GRAB sale:goods lin REQ order-9");
        assert!(told.starts_with("['ALREADY'"), "{told}");
        let winners = shop.new.cmd("SECKILL.WINNERS sale:goods 0");
        assert_eq!(winners.items()[1].items()[1].items()[1].text(), "li \"x\" \\\\");
        shop.run(&[&file as &str, "--back=yes"]);
        assert_eq!(shop.old.call("GET goods"), "'8'");
    }
}

/// The number of counted orders is that of the entered ones. A failed export is no empty shop.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn orders_that_do_not_add_up() {
    let shop = Move::of("counter.php", &["--counter=goods", "--counts=down", "--sale=sale:goods"]);
    shop.old.call("SET goods 8");
    shop.old.call("RPUSH won lin lin wei");
    let rows = buyers("counted", "lin,order-1\nwei,order-2,2\n");
    let empty = buyers("empty", "");
    for (words, why) in [
        (&["--total=10", "--sold=2", &rows as &str][..], "have 3 units"),
        (&["--total=10", "--sold=4", &rows], "have 3 units"),
        (&["--total=10", &empty], "there is no row in"),
        (&["--total=10"], "--total needs --sold"),
        // Two users, who have bought three: the list has each as often, a hash could not.
        (&["--total=10", "--winners=won"], "--total needs --sold"),
        (&["--sold=2", &rows], "--sold needs --total"),
    ] {
        let (told, went_well) = shop.try_run(shop.new.port(), words);
        assert!(!went_well && told.contains(why), "{words:?}: {told}");
        assert_eq!(shop.old.call("MGET goods goods:moved"), "['8' nil]", "{words:?}");
    }
    assert!(shop.run(&["--total=10", &rows]).contains("supply 10, available 7, held 0, sold 3"));
    // An old request that writes its number back opens the old sale, until it is closed again.
    shop.old.call("SET goods 6");
    assert_eq!(shop.end(&["--total=10", &rows]).1, crate::LATE);
    let told = shop.run(&["--total=10", &rows, "--late=1"]);
    assert!(told.contains("goods is 0 again") && told.contains("available 6"), "{told}");
    assert_eq!(shop.old.call("GET goods"), "'0'");
    assert!(shop.run(&["--total=10", &rows]).contains("left as it is"), "and that was all");
}

fn buyers(name: &str, rows: &str) -> String {
    let path = files().join(format!("{name}.csv"));
    fs::write(&path, rows).expect("a file of buyers");
    format!("--buyers={}", path.display())
}
