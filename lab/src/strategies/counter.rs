//! Rows 9, 10, 22, 30, 34, 36, 43, 46: a number in Redis that is read and written in several ways.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Rush, Stop, Told, Verdict};

fn fill(b: &mut Buyer, stock: u64) -> Result<(), Stop> {
    b.set("goods", stock)
}

fn goods(b: &mut Buyer) -> Result<Books, Stop> {
    Books::counter(b.get("goods")?)
}

fn goods_and_result(b: &mut Buyer) -> Result<Books, Stop> {
    Books::both(b.get("num")?, b.llen("result")?)
}

fn fill_num(b: &mut Buyer, stock: u64) -> Result<(), Stop> {
    b.set("num", stock)
}

/// 003, scene 1, its prose (rows 22, 34): "接着给商品库存减少一,然后去更新库存数量".
pub const R01: Contender = Contender {
    id: "R01",
    seed: "003 第一种场景, prose",
    rows: "22, 34",
    steps: "GET; if > 0: SET n-1",
    origin: Origin::ShownWrong,
    says: ("oversells", "超卖"),
    set_up: fill,
    buy: |b| {
        let stock = b.get("goods")?;
        if stock > 0 {
            b.set("goods", stock - 1)?;
            return won();
        }
        lost(SoldOut)
    },
    books: goods,
    marked: &[Oversold, CrashLosesUnit],
    ..BASE
};

/// 003, scene 1, its code `demo1` (row 34).
pub const R02: Contender = Contender {
    id: "R02",
    seed: "003 第一种场景, demo1",
    rows: "34",
    steps: "GET; if > 0: DECR",
    origin: Origin::ShownWrong,
    says: ("oversells", "超卖"),
    buy: get_then_decr,
    marked: &[Oversold, NegativeCounter, CrashLosesUnit],
    ..R01_WITH_DRIFT
};

const R01_WITH_DRIFT: Contender =
    Contender { set_up: fill, books: goods, marked: &[Oversold, NegativeCounter], ..BASE };

/// Also the work inside each lock of 003: "处理业务逻辑".
pub fn get_then_decr(b: &mut Buyer) -> Told {
    let stock = b.get("goods")?;
    if stock > 0 {
        b.decr("goods")?;
        return won();
    }
    lost(SoldOut)
}

/// 001, the original event (rows 9, 10): reads the paid coins, computes the packet, and writes the
/// new sum. 1,000,000 coins an hour.
pub const R03A: Contender = Contender {
    id: "R03a",
    seed: "001, as shipped",
    rows: "9, 10",
    steps: "GET sum; if sum + amount <= budget: SET sum + amount; pay",
    origin: Origin::ShownWrong,
    says: ("15,000,000 coins for 1,000,000", "100万发成1500万"),
    set_up: open_budget,
    buy: |b| {
        let (sum, budget, amount) = (b.get("sum")?, b.get("budget")?, b.amount());
        if sum + amount as i64 <= budget {
            b.set("sum", sum + amount as i64)?;
            return Ok(Verdict::Won(amount));
        }
        lost(SoldOut)
    },
    books: budget_left,
    rush: Rush { supply: 1_000_000, ..BASE.rush },
    marked: &[Oversold, CrashLosesUnit],
    ..BASE
};

/// 001, the original event with a sum that Redis adds up (rows 9, 10).
pub const R03B: Contender = Contender {
    id: "R03b",
    steps: "GET sum; if sum + amount <= budget: INCRBY amount; pay",
    buy: |b| {
        let (sum, budget, amount) = (b.get("sum")?, b.get("budget")?, b.amount());
        if sum + amount as i64 <= budget {
            b.incr_by("sum", amount)?;
            return Ok(Verdict::Won(amount));
        }
        lost(SoldOut)
    },
    marked: &[Oversold, NegativeCounter, CrashLosesUnit],
    ..R03A
};

fn open_budget(b: &mut Buyer, budget: u64) -> Result<(), Stop> {
    b.set("sum", 0)?;
    b.set("budget", budget)
}

fn budget_left(b: &mut Buyer) -> Result<Books, Stop> {
    Books::counter(b.get("budget")? - b.get("sum")?)
}

/// 003's first comment, and 002 without its first read (rows 30, 43): only the reply of DECR
/// decides.
pub const R15: Contender = Contender {
    id: "R15",
    seed: "003, comments; 002",
    rows: "30, 43",
    steps: "DECR; if >= 0: LPUSH result",
    says: ("right", "不超卖"),
    set_up: fill_num,
    buy: |b| decr_then_push(b),
    books: goods_and_result,
    marked: &[NegativeCounter, CrashLosesUnit, CrashHidesUnit],
    ..BASE
};

fn decr_then_push(b: &mut Buyer) -> Told {
    let left = b.decr("num")?;
    if left >= 0 {
        b.lpush("result", left)?;
        return won();
    }
    lost(SoldOut)
}

/// 002, "基于decr返回值的方案", unchanged (row 30).
pub const R16: Contender = Contender {
    id: "R16",
    seed: "002 基于decr返回值",
    rows: "30",
    steps: "GET; if > 0: DECR; if >= 0: LPUSH result",
    says: ("right, and cheaper", "不超卖，避免每次都更新"),
    buy: |b| {
        let num = b.get("num")?;
        if num > 0 {
            b.sleep(Duration::from_micros(100));
            return decr_then_push(b);
        }
        lost(SoldOut)
    },
    marked: &[NegativeCounter, CrashLosesUnit, CrashHidesUnit],
    ..R15
};

/// 003, scene 3, `demo2` unchanged (row 36): `> 0`, where 0 is the last unit.
pub const R17: Contender = Contender {
    id: "R17",
    seed: "003 第三种场景, demo2",
    rows: "36",
    steps: "DECR; if > 0: won",
    says: ("no oversell", "可以避免超卖"),
    set_up: fill,
    buy: |b| {
        if b.decr("goods")? > 0 {
            return won();
        }
        lost(SoldOut)
    },
    books: goods,
    marked: &[Undersold, Stuck, NegativeCounter],
    ..BASE
};

/// 003, scene 3, with `>= 0` (row 36): the shop's work sometimes fails, and the unit is returned.
pub const R18: Contender = Contender {
    id: "R18",
    seed: "003 第三种场景, demo2 with >= 0",
    rows: "36",
    steps: "DECR; if >= 0: business; if it fails: INCR",
    origin: Origin::Lab,
    says: ("an INCR may get lost", "INCR 可能丢失"),
    set_up: fill,
    buy: |b| {
        if b.decr("goods")? >= 0 {
            b.work()?;
            if b.work_fails() {
                b.incr("goods")?;
                return lost(Failed);
            }
            return won();
        }
        lost(SoldOut)
    },
    books: goods,
    rush: Rush { fails_percent: 10, ..BASE.rush },
    marked: &[Undersold, Stuck, NegativeCounter, CrashLosesUnit],
    ..BASE
};

/// 003, a comment (row 43): INCR, compared with the stock; the final number is "多少人参与".
pub const R19: Contender = Contender {
    id: "R19",
    seed: "003, comments",
    rows: "43",
    steps: "INCR; if <= N: won",
    says: ("right, and counts the participants", "还可以了解有多少人参与"),
    set_up: |b, stock| {
        b.set("stock", stock)?;
        b.set("sold", 0)
    },
    buy: |b| {
        // The stock is a constant in the program.
        let stock = b.rush.supply as i64;
        if b.incr("sold")? <= stock {
            return won();
        }
        lost(SoldOut)
    },
    books: |b| Books::counter((b.get("stock")? - b.get("sold")?).max(0)),
    marked: &[CrashLosesUnit],
    note: (
        "the final number counts clicks, not people: 4,000 for 2,000 people who click twice",
        "最终的 INCR 数的是点击，不是人：2,000 人各点两次得 4,000",
    ),
    ..BASE
};

/// 004, "利用Redis" (row 46): below 0 the product is marked as sold out in the server's memory.
/// Nothing removes the mark after a restock.
pub const R20: Contender = Contender {
    id: "R20",
    seed: "004 利用Redis",
    rows: "46",
    steps: "sold-out mark?; DECR; if < 0: mark; meanwhile a restock",
    origin: Origin::Lab,
    says: ("saves calls", "避免每次都往Redis请求"),
    set_up: |b, stock| {
        b.house.sold_out_flag.store(false, Ordering::SeqCst);
        b.set("goods", stock)
    },
    buy: |b| {
        let marked = b.step(|b| {
            let marked = b.house.sold_out_flag.load(Ordering::SeqCst);
            Ok((marked, move || format!("marked as sold out? -> {marked}")))
        })?;
        if marked {
            return lost(SoldOut);
        }
        if b.decr("goods")? < 0 {
            b.house.sold_out_flag.store(true, Ordering::SeqCst);
            return lost(SoldOut);
        }
        won()
    },
    books: goods,
    helper: Some(|b| {
        let units = if b.gate.is_held() { 2 } else { 10 };
        while !b.gate.is_held() && b.get("goods")? >= 0 && !b.buyers_are_gone() {
            b.pause(Duration::from_millis(1));
        }
        b.incr_by("goods", units)?;
        Ok(Verdict::Restocked(units))
    }),
    marked: &[Undersold, Stuck, CrashLosesUnit],
    ..BASE
};

pub fn goods_books(b: &mut Buyer) -> Result<Books, Stop> {
    goods(b)
}

pub fn goods_fill(b: &mut Buyer, stock: u64) -> Result<(), Stop> {
    fill(b, stock)
}
