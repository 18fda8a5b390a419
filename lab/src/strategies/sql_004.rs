//! Rows 12, 23 to 27, 45: 004's programs for MySQL, with the tables `seckill` and `orders`.

use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE, SQL};
use crate::told::{lost, won, Books, Fault::*, Maker, Reason::*, Rush, Stop, Told};

/// Empties a table of products and adds two; the second one must stay unchanged.
fn products(b: &mut Buyer, table: &str, stock: u64) -> Result<(), Stop> {
    b.run("DELETE FROM orders")?;
    b.run(&format!("DELETE FROM {table}"))?;
    b.run(&format!("INSERT INTO {table} VALUES (1, {stock}), (2, {stock})"))?;
    Ok(())
}

fn books_of(b: &mut Buyer, table: &str) -> Result<Books, Stop> {
    let left = b.number(&format!("SELECT number FROM {table} WHERE seckill_id=1"))?;
    Books::both(left, b.number("SELECT COUNT(*) FROM orders")? as u64)
}

/// `INSERT order //下订单`.
fn order(b: &mut Buyer) -> Result<u64, Stop> {
    let statement =
        format!("INSERT INTO orders (seckill_id, buyer) VALUES ({}, '{}')", b.product, b.user);
    b.run(&statement)
}

/// 004, "FOR UPDATE" (row 23), with the product's primary key.
pub const M03: Contender = Contender {
    id: "M03",
    seed: "004 FOR UPDATE",
    rows: "23",
    steps: "BEGIN; SELECT … FOR UPDATE; if > 0: UPDATE, INSERT; COMMIT",
    says: ("right, the last choice", "排最后"),
    needs: SQL,
    set_up: |b, stock| products(b, "seckill", stock),
    buy: |b| for_update(b, "seckill"),
    books: |b| books_of(b, "seckill"),
    marked: &[CrashHidesUnit],
    ..BASE
};

fn for_update(b: &mut Buyer, table: &str) -> Told {
    let id = b.product;
    b.begin()?;
    let count =
        b.number(&format!("SELECT number FROM {table} WHERE seckill_id={id} FOR UPDATE"))?;
    let told = if count > 0 {
        b.run(&format!("UPDATE {table} SET number=number-1 WHERE seckill_id={id}"))?;
        order(b)?;
        won()
    } else {
        lost(SoldOut)
    };
    b.commit()?;
    told
}

/// 004, "FOR UPDATE" where `seckill_id` has no index (row 23): "否则会锁表".
pub const M04: Contender = Contender {
    id: "M04",
    seed: "004 FOR UPDATE, no index",
    steps: "the same, no index, two products",
    says: ("locks the table", "锁表"),
    set_up: |b, stock| products(b, "seckill_heap", stock),
    buy: |b| for_update(b, "seckill_heap"),
    books: |b| books_of(b, "seckill_heap"),
    two_products: true,
    marked: &[WaitsForAnother, CrashHidesUnit],
    // PostgreSQL locks only the rows that match WHERE.
    marked_on: &[(Maker::Postgres, &[CrashHidesUnit])],
    ..M03
};

/// 004, "库存大于0判定" (row 25), with the product's id.
pub const M08: Contender = Contender {
    id: "M08",
    seed: "004 库存大于0判定",
    rows: "25",
    steps: "BEGIN; UPDATE … WHERE id AND number>0; 1 row: INSERT; COMMIT",
    says: ("002: the best; 004: third", "002 最好；004 排第三"),
    buy: |b| more_than_none(b, |b| order(b).map(|_| true)),
    marked: &[CrashHidesUnit],
    ..M03
};

fn more_than_none(b: &mut Buyer, place: impl FnOnce(&mut Buyer) -> Result<bool, Stop>) -> Told {
    b.begin()?;
    let count = b.run("UPDATE seckill SET number=number-1 WHERE seckill_id=1 AND number>0")?;
    let told = if count > 0 {
        if !place(b)? {
            b.rollback()?;
            return lost(Already);
        }
        won()
    } else {
        lost(SoldOut)
    };
    b.commit()?;
    told
}

/// 004, "库存设置为无符号整形" (row 26): the database refuses values below 0.
pub const M09: Contender = Contender {
    id: "M09",
    seed: "004 无符号整形",
    rows: "26",
    steps: "number UNSIGNED; BEGIN; UPDATE number-1; INSERT; COMMIT",
    says: ("somewhat like WHERE", "同where条件有些像"),
    set_up: |b, stock| products(b, "seckill_unsigned", stock),
    buy: |b| {
        b.begin()?;
        let count = b.run("UPDATE seckill_unsigned SET number=number-1 WHERE seckill_id=1")?;
        if count > 0 {
            order(b)?;
        }
        b.commit()?;
        if count > 0 {
            won()
        } else {
            lost(SoldOut)
        }
    },
    books: |b| books_of(b, "seckill_unsigned"),
    marked: &[ErrorInsteadOfRefusal, CrashHidesUnit],
    note: (
        "each refusal is error 1690; MySQL before 5.5.5 wrapped 0 - 1 to the greatest number",
        "每次拒绝都是 1690 错误；MySQL 5.5.5 之前 0-1 会变成最大值",
    ),
    ..M03
};

/// 004, "乐观锁", **unchanged** (row 27): nothing checks that n is above 0.
pub const M10: Contender = Contender {
    id: "M10",
    seed: "004 乐观锁, as printed",
    rows: "27",
    steps: "BEGIN; n = SELECT; UPDATE … WHERE number=n; 1 row: INSERT, else loop; COMMIT",
    says: ("each unit sold once", "每一个只会被消费一次"),
    buy: |b| {
        b.begin()?;
        for _ in 0..TRIES {
            let n = b.number("SELECT number FROM seckill WHERE seckill_id=1")?;
            let count = b.run(&format!(
                "UPDATE seckill SET number=number-1 WHERE seckill_id=1 AND number={n}"
            ))?;
            if count > 0 {
                order(b)?;
                b.commit()?;
                return won();
            }
            b.pause(Duration::ZERO); // Loop //再次循环操作
        }
        lost(Hangs)
    },
    marked: &[Oversold, Undersold, NegativeCounter, Endless, CrashSellsTwice],
    // With READ COMMITTED each SELECT of the loop reads the commits of others.
    marked_on: &[(Maker::Postgres, &[Oversold, NegativeCounter, CrashSellsTwice])],
    rush: FEWER,
    note: (
        "sells -1, -2 … with one client and no concurrency",
        "单个客户端、没有并发，也会卖到 -1、-2 ……",
    ),
    ..M03
};

/// No request is refused while units are left, so each is a transaction with writes.
const FEWER: Rush = Rush {
    requests: Some((1000, ("a loop that is not refused takes long", "循环不会被拒绝，耗时太长"))),
    ..BASE.rush
};

/// Loops that read no new value this often count as endless.
const TRIES: usize = 8;

/// M10 with a check that n > 0, and a new transaction for each try (row 27).
pub const M11: Contender = Contender {
    id: "M11",
    seed: "004 乐观锁, mended",
    steps: "the same, n > 0, a new transaction for each try",
    origin: Origin::Lab,
    says: ("second best", "排第二"),
    buy: |b| loop {
        b.begin()?;
        let n = b.number("SELECT number FROM seckill WHERE seckill_id=1")?;
        if n <= 0 {
            b.commit()?;
            return lost(SoldOut);
        }
        let count = b.run(&format!(
            "UPDATE seckill SET number=number-1 WHERE seckill_id=1 AND number={n}"
        ))?;
        if count > 0 {
            order(b)?;
            b.commit()?;
            return won();
        }
        b.rollback()?;
    },
    marked: &[CrashHidesUnit],
    marked_on: &[],
    rush: BASE.rush,
    note: ("", ""),
    ..M10
};

/// M10 with that check, and the loop inside one transaction, as in the post (row 27). With
/// REPEATABLE READ it reads an unchanged n forever.
pub const M12: Contender = Contender {
    id: "M12",
    seed: "004 乐观锁, with n > 0",
    steps: "the same, n > 0, the loop inside the transaction",
    origin: Origin::Lab,
    buy: |b| {
        b.begin()?;
        for _ in 0..TRIES {
            let n = b.number("SELECT number FROM seckill WHERE seckill_id=1")?;
            if n <= 0 {
                b.commit()?;
                return lost(SoldOut);
            }
            let count = b.run(&format!(
                "UPDATE seckill SET number=number-1 WHERE seckill_id=1 AND number={n}"
            ))?;
            if count > 0 {
                order(b)?;
                b.commit()?;
                return won();
            }
            b.pause(Duration::ZERO);
        }
        lost(Hangs)
    },
    marked: &[Undersold, Endless, CrashHidesUnit],
    marked_on: &[(Maker::Postgres, &[CrashHidesUnit])],
    note: (
        "8 turns count as endless here; MariaDB from 11.6.2 answers error 1020 instead",
        "这里循环 8 次就算死循环；MariaDB 11.6.2 起会报 1020 错误",
    ),
    ..M10
};

const LOCK: &str = "lock:goods";

/// `dis-lock goods type`: waits for the lock, with a try every 2 ms.
fn dis_lock(b: &mut Buyer, token: &str) -> Result<(), Stop> {
    while !b.set_nx(LOCK, token)? {
        b.pause(Duration::from_millis(2));
    }
    Ok(())
}

fn read_and_take(b: &mut Buyer) -> Told {
    let count = b.number("SELECT number FROM seckill WHERE seckill_id=1")?;
    if count > 0 {
        b.run("UPDATE seckill SET number=number-1 WHERE seckill_id=1")?;
        order(b)?;
        return won();
    }
    lost(SoldOut)
}

/// 004, "分布式锁", step 3 before 4 (row 45): unlocks after the commit.
pub const M13: Contender = Contender {
    id: "M13",
    seed: "004 分布式锁",
    rows: "45",
    steps: "lock in Redis; BEGIN; SELECT; UPDATE, INSERT; COMMIT; unlock",
    says: ("right, fourth", "排第四"),
    buy: |b| {
        let token = format!("t{}", b.unlike());
        dis_lock(b, &token)?;
        b.begin()?;
        let told = read_and_take(b)?;
        b.commit()?;
        b.release(LOCK, &token)?;
        Ok(told)
    },
    lease: Some(LOCK),
    marked: &[Oversold, NegativeCounter, CrashWedgesForLease, CrashHidesUnit],
    note: ("exact while the lease holds", "租期没到时是准确的"),
    ..M03
};

/// 004, "错误释放分布式锁" (row 45): unlocks before the commit, as Spring's @Transactional does, too.
pub const M14: Contender = Contender {
    id: "M14",
    seed: "004 错误释放分布式锁",
    steps: "the same, unlock before COMMIT",
    origin: Origin::ShownWrong,
    says: ("oversells to -1", "库存为-1，超卖"),
    buy: |b| {
        let token = format!("t{}", b.unlike());
        dis_lock(b, &token)?;
        b.begin()?;
        let told = read_and_take(b)?;
        b.release(LOCK, &token)?;
        b.commit()?;
        Ok(told)
    },
    note: (
        "the second can't commit first, as 004 has it: it waits for the row lock, then goes to -1",
        "第二个线程并不能像 004 说的那样先提交：它要等第一个的行锁，然后减到 -1",
    ),
    marked: &[Oversold, NegativeCounter, CrashWedgesForLease, CrashHidesUnit],
    ..M13
};

/// M08 with a unique key for (sale, user), which 001's rule needs (row 12).
pub const M15: Contender = Contender {
    id: "M15",
    seed: "001's rule in SQL",
    rows: "12",
    steps: "M08 with UNIQUE(sale, user)",
    origin: Origin::Lab,
    says: ("-", "-"),
    set_up: |b, stock| {
        b.run("DELETE FROM orders_once")?;
        products(b, "seckill", stock)
    },
    buy: |b| {
        more_than_none(b, |b| {
            let user = b.user.clone();
            let placed =
                b.run(&format!("INSERT INTO orders_once (seckill_id, buyer) VALUES (1, '{user}')"));
            match placed {
                Err(Stop::Sql(error)) if error.is_duplicate() => Ok(false),
                other => other.map(|_| true),
            }
        })
    },
    books: |b| {
        let left = b.number("SELECT number FROM seckill WHERE seckill_id=1")?;
        Books::both(left, b.number("SELECT COUNT(*) FROM orders_once")? as u64)
    },
    once_per_user: true,
    marked: &[CrashHidesUnit],
    ..M08
};

/// The tables of 002 and 004, of the queue and of the writer.
pub const TABLES: [&str; 9] = [
    "CREATE TABLE goods (id int(11) NOT NULL, num int(11) DEFAULT NULL,
        version int(11) DEFAULT NULL, PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
    "CREATE TABLE log (id int(11) NOT NULL AUTO_INCREMENT, good_id int(11) DEFAULT NULL,
        PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
    "CREATE TABLE seckill (seckill_id int PRIMARY KEY, number int) ENGINE=InnoDB",
    "CREATE TABLE seckill_heap (seckill_id int, number int) ENGINE=InnoDB",
    "CREATE TABLE seckill_unsigned (seckill_id int PRIMARY KEY, number int UNSIGNED) ENGINE=InnoDB",
    "CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, seckill_id int, buyer varchar(64))
        ENGINE=InnoDB",
    "CREATE TABLE orders_once (seckill_id int, buyer varchar(64), PRIMARY KEY (seckill_id, buyer))
        ENGINE=InnoDB",
    "CREATE TABLE units (id int PRIMARY KEY, buyer varchar(64)) ENGINE=InnoDB",
    "CREATE TABLE grants (id varchar(32), epoch bigint unsigned, rev bigint unsigned,
        user varchar(64), qty int, PRIMARY KEY (id, epoch, rev)) ENGINE=InnoDB",
];

/// The tables of rows without the module, for PostgreSQL. PostgreSQL has no unsigned numbers, so
/// the table gets a CHECK.
pub const TABLES_OF_POSTGRES: [&str; 8] = [
    "CREATE TABLE goods (id int PRIMARY KEY, num int, version int)",
    "CREATE TABLE log (id serial PRIMARY KEY, good_id int)",
    "CREATE TABLE seckill (seckill_id int PRIMARY KEY, number int)",
    "CREATE TABLE seckill_heap (seckill_id int, number int)",
    "CREATE TABLE seckill_unsigned (seckill_id int PRIMARY KEY, number int CHECK (number >= 0))",
    "CREATE TABLE orders (id serial PRIMARY KEY, seckill_id int, buyer varchar(64))",
    "CREATE TABLE orders_once (seckill_id int, buyer varchar(64), PRIMARY KEY (seckill_id, buyer))",
    "CREATE TABLE units (id int PRIMARY KEY, buyer varchar(64))",
];
