//! A lock around the stock.

use crate::Move;

/// 003, demo4 to demo8: a lock beside the stock, held by a process that died.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn locks() {
    let options = ["--counter=goods", "--lock=lock:goods", "--sale=sale:goods"];
    let shop = Move::of("locks.php", &[&options[..], &["--terms=HOLD 60000"]].concat());
    shop.old.call("SET goods 4");
    shop.old.call("SET lock:goods dead");
    shop.run(&[]);
    assert_eq!(shop.books("sale:goods"), [4, 4, 0, 0, 0]);
    assert_eq!(shop.old.call("GET lock:goods"), "'moved'", "nobody comes in");
    let buy = |user, works| shop.after(&["business", "sale:goods", user, "order-1", works]);
    assert!(buy("a", "yes").contains("秒杀成功"));
    assert!(buy("a", "no").contains("秒杀成功"), "sold: the work is not done again");
    let told = shop.after(&["business", "sale:goods", "a", "order-2", "no"]);
    assert!(told.contains("已经抢到过"), "{told}");
    assert!(buy("b", "no").contains("秒杀失败"));
    assert_eq!(shop.books("sale:goods"), [4, 3, 0, 1, 0], "the failed one is for sale again");
    shop.old.call("DECR goods");
    assert!(shop.run(&[]).contains("late: 1"), "somebody was still inside");
    // Somebody does not pay: the way back waits until their unit is free again.
    shop.new.call("SECKILL.ALTER sale:goods HOLD 300");
    assert!(shop.new.call("SECKILL.GRAB sale:goods c REQ order-1").contains("HELD"));
    shop.run(&["--back=yes"]);
    assert_eq!(shop.old.call("MGET goods lock:goods"), "['3' nil]");
}

/// 003, demo4 to demo6 as printed: the key of the lock is the key of the stock.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_lock_that_is_the_stock_is_not_overwritten() {
    let shop = Move::of("locks.php", &["--counter=goods", "--sale=sale:goods"]);
    shop.old.call("SET goods 100");
    let (told, went_well) = shop.try_run(shop.new.port(), &["--lock=goods"]);
    assert!(!went_well && told.contains("counter.php"), "{told}");
    assert_eq!(shop.old.call("MGET goods goods:moved"), "['100' nil]");
    assert!(shop.new.call("SECKILL.STATUS sale:goods").contains("NOSALE"), "nothing was made");
}
