//! Rows 22 to 25, 47: 002's programs for MySQL, with its tables `goods` and `log`.

use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE, SQL};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Stop, Told};

/// This many products with equal stock.
fn products(b: &mut Buyer, stock: u64, count: u64) -> Result<(), Stop> {
    b.run("DELETE FROM goods")?;
    b.run("DELETE FROM log")?;
    for id in 1..=count {
        b.run(&format!("INSERT INTO goods (id, num, version) VALUES ({id}, {stock}, 0)"))?;
    }
    Ok(())
}

fn goods_and_log(b: &mut Buyer) -> Result<Books, Stop> {
    let num = b.number("SELECT num FROM goods WHERE id=1")?;
    Books::both(num, b.number("SELECT COUNT(*) FROM log")? as u64)
}

/// 002's first program, `if($num > 0) { ...; $num--; }`, which writes the number back (row 22).
pub const M01: Contender = Contender {
    id: "M01",
    seed: "002 引言",
    rows: "22",
    steps: "SELECT num; if > 0: UPDATE num = :n-1; INSERT log",
    origin: Origin::ShownWrong,
    says: ("oversells, num below 0", "超发，num为负值"),
    needs: SQL,
    set_up: |b, stock| products(b, stock, 1),
    buy: |b| {
        let num = b.number("SELECT num FROM goods WHERE id=1 LIMIT 1")?;
        if num > 0 {
            b.run(&format!("UPDATE goods SET num={} WHERE id=1", num - 1))?;
            b.run(&format!("INSERT INTO log(good_id) VALUES({num})"))?;
            return won();
        }
        lost(SoldOut)
    },
    books: goods_and_log,
    marked: &[Oversold, CrashLosesUnit, CrashHidesUnit],
    note: (
        "num ends at 0, not below: the stock looks right, only the log has two rows",
        "num 最后是 0，不是负数：库存看不出来，只有 log 多一行",
    ),
    ..BASE
};

/// M01 with `num=num-1` (row 22).
pub const M02: Contender = Contender {
    id: "M02",
    steps: "SELECT num; if > 0: UPDATE num = num-1; INSERT log",
    buy: |b| {
        let num = b.number("SELECT num FROM goods WHERE id=1 LIMIT 1")?;
        if num > 0 {
            b.run("UPDATE goods SET num=num-1 WHERE id=1")?;
            b.run(&format!("INSERT INTO log(good_id) VALUES({num})"))?;
            return won();
        }
        lost(SoldOut)
    },
    marked: &[Oversold, NegativeCounter, CrashLosesUnit, CrashHidesUnit],
    note: ("", ""),
    ..M01
};

/// The end of all three programs: exactly one row must have changed, then the log is written.
fn log_or_roll_back(b: &mut Buyer, affected_rows: u64, num: i64) -> Told {
    if affected_rows == 1 {
        let affected_rows = b.run(&format!("INSERT INTO log(good_id) VALUES({num})"))?;
        if affected_rows == 1 {
            b.commit()?;
            return won(); // success
        }
    }
    b.rollback()?;
    lost(Conflict) // fail1, fail2
}

/// 002, "悲观锁", unchanged (rows 23, 25): the UPDATE has no WHERE.
fn pessimistic(b: &mut Buyer) -> Told {
    b.begin()?;
    let num = b.number("SELECT num FROM goods WHERE id=1 LIMIT 1 FOR UPDATE")?;
    if num > 0 {
        b.sleep(Duration::from_micros(100));
        let affected_rows = b.run("UPDATE goods SET num=num-1")?;
        return log_or_roll_back(b, affected_rows, num);
    }
    b.commit()?;
    lost(SoldOut) // fail3
}

/// 002, "乐观锁", unchanged (row 24).
fn optimistic(b: &mut Buyer) -> Told {
    let row = b.row("SELECT num,version FROM goods WHERE id=1 LIMIT 1")?;
    let [num, version] = row.unwrap_or_default();
    if num > 0 {
        b.sleep(Duration::from_micros(100));
        b.begin()?;
        let affected_rows = b.run(&format!(
            "UPDATE goods SET num=num-1,version=version+1 WHERE version={version}"
        ))?;
        return log_or_roll_back(b, affected_rows, num);
    }
    lost(SoldOut)
}

/// 002, "where条件（原子操作）", unchanged (row 25).
fn where_more_than_none(b: &mut Buyer) -> Told {
    let num = b.number("SELECT num FROM goods WHERE id=1 LIMIT 1")?;
    if num > 0 {
        b.sleep(Duration::from_micros(100));
        b.begin()?;
        let affected_rows = b.run("UPDATE goods SET num=num-1 WHERE num>0")?;
        return log_or_roll_back(b, affected_rows, num);
    }
    lost(SoldOut)
}

/// 002's three programs unchanged, if the table has a second product (rows 23 to 25): the first
/// UPDATE changes two rows instead of one.
pub const M05A: Contender = Contender {
    id: "M05a",
    seed: "002 悲观锁, two products",
    rows: "23-25",
    steps: "SELECT id=1 FOR UPDATE; UPDATE goods, no WHERE; affected_rows == 1?",
    origin: Origin::Recommended,
    says: ("right", "最简单易懂"),
    set_up: |b, stock| products(b, stock, 2),
    buy: pessimistic,
    marked: &[Undersold, Stuck],
    note: (
        "without the product's id two rows change, and nobody can buy anything",
        "没有商品 id，两行都变，谁也买不到",
    ),
    ..M01
};

pub const M05B: Contender = Contender {
    id: "M05b",
    seed: "002 乐观锁, two products",
    steps: "SELECT id=1; UPDATE WHERE version=v; affected_rows == 1?",
    says: ("right, the early may lose", "较早的用户可能抢不到"),
    buy: optimistic,
    marked: &[Undersold, Stuck],
    ..M05A
};

pub const M05C: Contender = Contender {
    id: "M05c",
    seed: "002 where条件, two products",
    steps: "SELECT id=1; UPDATE WHERE num>0; affected_rows == 1?",
    says: ("the simplest and best", "更简单的方案"),
    buy: where_more_than_none,
    marked: &[Undersold, Stuck],
    ..M05A
};

/// 002, "乐观锁", with only one product (row 24).
pub const M06: Contender = Contender {
    id: "M06",
    seed: "002 乐观锁",
    rows: "24",
    steps: "SELECT num,version; BEGIN; UPDATE WHERE version=v; INSERT log; no retry",
    origin: Origin::Recommended,
    says: ("right, the early may lose; 004: second best", "较早的用户可能抢不到；004 排第二"),
    buy: optimistic,
    marked: &[Undersold, Inversion, CrashHidesUnit],
    note: ("", ""),
    ..M01
};

/// M06 with a retry in a new transaction (row 24).
pub const M07: Contender = Contender {
    id: "M07",
    seed: "002 乐观锁, and a retry",
    steps: "the same, again while 0 rows",
    origin: Origin::Lab,
    says: ("-", "-"),
    buy: |b| loop {
        let told = optimistic(b)?;
        if told != crate::told::Verdict::Lost(Conflict) {
            return Ok(told);
        }
    },
    marked: &[CrashHidesUnit],
    ..M06
};
