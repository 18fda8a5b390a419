//! Rows 1, 2, 4 to 8, 18, 20, 28: WATCH, the optimistic lock of Redis, in the orders of the posts.

use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Stop, Told};

/// The counters of 000 and 001 count upwards; the supply is a constant in the program.
fn none_yet(b: &mut Buyer, _: u64) -> Result<(), Stop> {
    b.set("totalkey", 0)
}

fn total_left(b: &mut Buyer) -> Result<Books, Stop> {
    let can_num = b.rush.supply as i64;
    Books::counter(can_num - b.get("totalkey")?)
}

/// 001, "核心代码" **unchanged** (row 18): `#监控发出去的红包总数  $redis->watch("totalkey");` is a comment as a
/// whole, so there is no WATCH.
pub const R04: Contender = Contender {
    id: "R04",
    seed: "001 核心代码, as printed",
    rows: "18",
    steps: "GET; if < 100: MULTI SET n+1 EXEC; pay 1 to 1000",
    says: ("\"a little over\" the budget", "金币控制在100万多一点"),
    set_up: none_yet,
    buy: |b| {
        let total = b.get("totalkey")?;
        let can_num = b.rush.supply as i64;
        if total < can_num {
            // #监控发出去的红包总数  b.watch("totalkey")?;
            let result = b.exec(&[&["SET", "totalkey", &(total + 1).to_string()]])?;
            return paid_if(b, result);
        }
        lost(SoldOut)
    },
    books: total_left,
    marked: &[Oversold, CrashLosesUnit],
    note: (
        "100 packets of 500.5 coins on average are 50,050, never \"a bit over 1,000,000\"",
        "100 个红包、平均 500.5 金币，共约 5 万，绝不会是“100万多一点”",
    ),
    ..BASE
};

fn paid_if(b: &mut Buyer, result: bool) -> Told {
    if !result {
        return lost(Conflict); // 没有抢到红包哦，继续努力!
    }
    b.paid += b.mt_rand(1, 1000);
    won() // 抢红包成功！
}

/// R04 as 001 intended it (row 18): the total is read before WATCH.
pub const R05: Contender = Contender {
    id: "R05",
    seed: "001 核心代码, as meant",
    steps: "GET; if < 100: WATCH; MULTI SET n+1 EXEC; pay 1 to 1000",
    buy: |b| {
        let total = b.get("totalkey")?;
        let can_num = b.rush.supply as i64;
        if total < can_num {
            b.watch("totalkey")?;
            let result = b.exec(&[&["SET", "totalkey", &(total + 1).to_string()]])?;
            return paid_if(b, result);
        }
        lost(SoldOut)
    },
    marked: &[Oversold, Undersold, Inversion, CrashLosesUnit],
    ..R04
};

/// The value of `time()` when 000 was posted.
const TIME: &str = "1517828061";

/// 000, the first program (rows 1, 6, 7, 8), without its `sleep(5)`.
pub const R06: Contender = Contender {
    id: "R06",
    seed: "000, first program",
    rows: "1, 6, 7, 8",
    steps: "GET; if < 100: WATCH; MULTI HSET SET n+1 EXEC; HGETALL",
    origin: Origin::ShownWrong,
    says: ("wrong", "错误的"),
    set_up: |b, _| b.set("mywatchkey", 0),
    buy: |b| {
        let mywatchkey = b.get("mywatchkey")?;
        let rob_total = b.rush.supply as i64;
        if mywatchkey < rob_total {
            b.watch("mywatchkey")?;
            let user = format!("user_id_{}", b.mt_rand(1, 9999));
            let next = (mywatchkey + 1).to_string();
            let rob_result =
                b.exec(&[&["HSET", "mywatchlist", &user, TIME], &["SET", "mywatchkey", &next]])?;
            if rob_result {
                b.ask::<redis::Value>(&["HGETALL", "mywatchlist"])?;
                return won(); // 抢购成功！
            }
            return lost(Conflict); // 手气不好，再抢购！
        }
        lost(SoldOut)
    },
    books: |b| {
        let left = b.rush.supply as i64 - b.get("mywatchkey")?;
        Books::both(left, b.hlen("mywatchlist")?)
    },
    marked: &[Oversold, Undersold, Inversion, CrashHidesUnit],
    note: (
        "ids of mt_rand(1, 9999) collide: fewer records than winners; \"remaining\" is an old read",
        "mt_rand(1, 9999) 会撞号，记录比中奖的人少；页面上的“剩余数量”是一开始读到的",
    ),
    ..BASE
};

/// 002, "基于watch的乐观锁方案" (row 28).
pub const R07: Contender = Contender {
    id: "R07",
    seed: "002 基于watch的乐观锁",
    rows: "28",
    steps: "GET; if > 0: WATCH; MULTI DECR LPUSH EXEC",
    says: ("like the version lock of MySQL", "跟mysql中的乐观锁方案类似"),
    set_up: |b, stock| b.set("num", stock),
    buy: |b| {
        let num = b.get("num")?;
        if num > 0 {
            b.watch("num")?;
            b.sleep(Duration::from_micros(100));
            let res = b.exec(&[&["DECR", "num"], &["LPUSH", "result", &num.to_string()]])?;
            return if res { won() } else { lost(Conflict) };
        }
        lost(SoldOut)
    },
    books: |b| Books::both(b.get("num")?, b.llen("result")?),
    marked: &[Oversold, Undersold, NegativeCounter, Inversion, CrashHidesUnit],
    ..BASE
};

/// 000, the advice "应该是先watch，再get" (row 2).
pub const R08: Contender = Contender {
    id: "R08",
    seed: "000, last answer",
    rows: "2",
    steps: "WATCH; GET; if < 100: MULTI HSET SET n+1 EXEC; no retry",
    origin: Origin::ShownWrong,
    says: ("right, but a heap of errors", "很容易出现一堆错误"),
    buy: |b| match try_once(b)? {
        Some(told) => Ok(told),
        None => lost(Conflict),
    },
    marked: &[Undersold, Inversion, CrashHidesUnit],
    ..R06
};

/// R08 with retries until the buyer has won or nothing is left (row 2). 000's answer does not have
/// them.
pub const R09: Contender = Contender {
    id: "R09",
    seed: "000, last answer, and a retry",
    steps: "WATCH; GET; if < 100: MULTI HSET SET n+1 EXEC; again while nil",
    origin: Origin::Lab,
    says: ("-", "-"),
    buy: |b| loop {
        if let Some(told) = try_once(b)? {
            return Ok(told);
        }
    },
    marked: &[CrashHidesUnit],
    ..R08
};

fn try_once(b: &mut Buyer) -> Result<Option<crate::told::Verdict>, Stop> {
    b.watch("mywatchkey")?;
    let total = b.get("mywatchkey")?;
    if total < b.rush.supply as i64 {
        let user = format!("user_id_{}", b.mt_rand(1, 9999));
        let next = (total + 1).to_string();
        let done =
            b.exec(&[&["HSET", "mywatchlist", &user, TIME], &["SET", "mywatchkey", &next]])?;
        return if done { won().map(Some) } else { Ok(None) };
    }
    lost(SoldOut).map(Some)
}

/// 000, the third program, as printed (rows 4, 5, 6): "亲测，用ab 压测并发500 请求4000 无超卖！"
pub const R10: Contender = Contender {
    id: "R10",
    seed: "000, third program",
    rows: "4, 5, 6",
    steps: "WATCH hash; HLEN; if < 100: MULTI HSET EXEC; HGETALL",
    says: ("no oversell with ab -c 500 -n 4000", "ab 压测并发500 请求4000 无超卖"),
    buy: |b| {
        let id = b.mt_rand(1, 999_999).to_string();
        watch_hash(b, &id)
    },
    books: |b| Books::records(b.hlen("mywatchlist")?),
    marked: &[Undersold, Inversion, CrashHidesUnit],
    ..BASE
};

fn watch_hash(b: &mut Buyer, id: &str) -> Told {
    b.watch("mywatchlist")?;
    let len = b.hlen("mywatchlist")?;
    let rob_total = b.rush.supply;
    if len < rob_total {
        let user = format!("user_id_{id}");
        let rob_result = b.exec(&[&["HSET", "mywatchlist", &user, TIME]])?;
        if rob_result {
            b.ask::<redis::Value>(&["HGETALL", "mywatchlist"])?;
            return won();
        }
        return lost(Conflict);
    }
    lost(SoldOut)
}

/// 000, the third program with the user's real id in the hash, the obvious change (row 6). A user
/// who clicks again overwrites the record and is told "yours" again.
pub const R10B: Contender = Contender {
    id: "R10b",
    seed: "000, third program, own ids",
    origin: Origin::Lab,
    says: ("one record for each user", "一人一条记录"),
    buy: |b| {
        let id = b.user.clone();
        watch_hash(b, &id)
    },
    once_per_user: true,
    marked: &[Undersold, WinnerWithoutRecord, TwoForOne, Inversion, CrashHidesUnit],
    ..R10
};
