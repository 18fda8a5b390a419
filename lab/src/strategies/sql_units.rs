//! Two ways that no post has but readers know: the winner's row first, and a row for each unit.

use crate::contender::{Contender, Origin};
use crate::strategies::sql_004::{M03, M15};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Stop};

/// M15 in the other order: the winner's row first, with a unique key for (sale, user). A user who
/// asks again after a lost answer finds this row.
pub const M16: Contender = Contender {
    id: "M16",
    seed: "the winner's row first",
    steps:
        "BEGIN; INSERT with UNIQUE(sale, user); UPDATE … WHERE number>0; 0 rows: ROLLBACK; COMMIT",
    buy: |b| {
        b.begin()?;
        let user = b.user.clone();
        let row = format!("INSERT INTO orders_once (seckill_id, buyer) VALUES (1, '{user}')");
        match b.run(&row) {
            Err(Stop::Sql(error)) if error.is_duplicate() => {
                b.rollback()?;
                return lost(Already);
            }
            other => other?,
        };
        let taken = b.run("UPDATE seckill SET number=number-1 WHERE seckill_id=1 AND number>0")?;
        if taken == 0 {
            b.rollback()?;
            return lost(SoldOut);
        }
        b.commit()?;
        won()
    },
    marked: &[],
    ..M15
};

/// A row for each unit, and the first row that is not locked: ticket shops, and Shopify since 2026.
pub const M17: Contender = Contender {
    id: "M17",
    seed: "a row a unit, SKIP LOCKED",
    steps: "BEGIN; SELECT id … WHERE buyer IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED; UPDATE; COMMIT",
    origin: Origin::Lab,
    says: ("-", "-"),
    set_up: |b, stock| {
        b.run("DELETE FROM units")?;
        for id in 1..=stock {
            b.run(&format!("INSERT INTO units VALUES ({id}, NULL)"))?;
        }
        Ok(())
    },
    buy: |b| {
        b.begin()?;
        let free = "SELECT id FROM units WHERE buyer IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED";
        let Some([id]) = b.row(free)? else {
            b.rollback()?;
            return lost(SoldOut);
        };
        let user = b.user.clone();
        b.run(&format!("UPDATE units SET buyer='{user}' WHERE id={id}"))?;
        b.commit()?;
        won()
    },
    books: |b| {
        let left = b.number("SELECT COUNT(*) FROM units WHERE buyer IS NULL")?;
        let sold = b.number("SELECT COUNT(*) FROM units WHERE buyer IS NOT NULL")?;
        Books::both(left, sold as u64)
    },
    marked: &[CrashHidesUnit],
    ..M03
};
