//! Rows 31, 37 to 40: locks by keys of Redis, from SETNX to token and script.

use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE};
use crate::strategies::counter::{get_then_decr, goods_books, goods_fill};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Rush, Told, Verdict};

const LOCK: &str = "lock:goods";

/// 002, "基于setnx的排它锁方案" unchanged (row 31): `$timeout` is never set. So it tries only once, and the
/// lock never expires.
pub const L04: Contender = Contender {
    id: "L04",
    seed: "002 基于setnx的排它锁",
    rows: "31",
    steps: "SETNX numKey, one try; GET; if > 0: DECR, LPUSH; DEL numKey",
    says: ("works", "模拟排它锁"),
    set_up: |b, stock| b.set("num", stock),
    buy: |b| {
        let res = b.setnx("numKey", "1")?;
        b.sleep(Duration::from_micros(100));
        if !res {
            return lost(Busy);
        }
        let num = b.get("num")?;
        let told = if num > 0 {
            b.decr("num")?;
            b.sleep(Duration::from_micros(100));
            b.lpush("result", num)?;
            won()
        } else {
            lost(SoldOut)
        };
        b.del("numKey")?;
        told
    },
    books: |b| Books::both(b.get("num")?, b.llen("result")?),
    marked: &[Undersold, Inversion, CrashWedges, CrashHidesUnit],
    ..BASE
};

/// L04 as in 002's text, "每隔一定时间尝试" (row 31): a buyer without the lock retries until a timeout.
/// 002's program never sets that timeout.
pub const L04M: Contender = Contender {
    id: "L04m",
    seed: "002 基于setnx的排它锁, as meant",
    steps: "the same, try every 10 ms for 10 s",
    buy: |b| {
        // In the interleaver a retry comes only after another buyer's step, so 20 tries are enough.
        let tries = if b.gate.is_held() { 20 } else { 1000 };
        for _ in 0..tries {
            let told = (L04.buy)(b)?;
            if told != Verdict::Lost(Busy) {
                return Ok(told);
            }
            b.pause(Duration::from_millis(10));
        }
        lost(Busy)
    },
    marked: &[CrashWedges, CrashHidesUnit],
    rush: Rush {
        at_most: Some((8, ("sleeps 10 ms between tries", "两次尝试之间睡 10 毫秒"))),
        ..BASE.rush
    },
    ..L04
};

/// 003, scene 4, `demo4`, with another key for the lock than for the stock (row 37).
pub const L05: Contender = Contender {
    id: "L05",
    seed: "003 第四种场景, demo4",
    rows: "37",
    steps: "SETNX; EXPIRE 10; GET; if > 0: DECR; DEL",
    origin: Origin::ShownWrong,
    says: ("a crash before EXPIRE: an eternal lock", "锁可能一直在"),
    set_up: goods_fill,
    buy: |b| demo4(b, LOCK),
    books: goods_books,
    lease: Some(LOCK),
    marked: &[
        Oversold,
        Undersold,
        NegativeCounter,
        Inversion,
        FreedAnothersLock,
        CrashLosesUnit,
        CrashWedges,
        CrashWedgesForLease,
    ],
    ..BASE
};

fn demo4(b: &mut Buyer, key: &str) -> Told {
    if b.setnx(key, "1")? {
        b.expire(key)?;
        let told = get_then_decr(b)?;
        b.del(key)?;
        return Ok(told);
    }
    lost(Busy) // 系统异常,请重试。
}

/// 003, scene 4, **unchanged** (row 37): the lock has the key of the stock, which exists.
pub const L05P: Contender = Contender {
    id: "L05p",
    seed: "003 第四种场景, as printed",
    steps: "SETNX goodsKey, which is the stock",
    buy: |b| demo4(b, "goods"),
    lease: None,
    marked: &[Undersold, Stuck],
    note: (
        "sells nothing: SETNX on the stock's own key never succeeds",
        "一件也卖不出：库存的键本来就在，SETNX 永远失败",
    ),
    ..L05
};

/// 003, scene 5, `demo5` (row 38): DEL in `try` and again in `finally`.
pub const L06: Contender = Contender {
    id: "L06",
    seed: "003 第五种场景, demo5",
    rows: "38",
    steps: "SET NX EX 10; GET; if > 0: DECR; DEL in try; DEL in finally",
    origin: Origin::ShownWrong,
    says: ("breaks if the work takes more than 10 s", "业务逻辑超过10秒才出问题"),
    set_up: goods_fill,
    buy: |b| {
        if b.set_nx(LOCK, "1")? {
            let told = get_then_decr(b)?;
            b.del(LOCK)?; // try
            b.del(LOCK)?; // finally
            return Ok(told);
        }
        lost(Busy)
    },
    books: goods_books,
    lease: Some(LOCK),
    marked: &[
        Oversold,
        Undersold,
        NegativeCounter,
        Inversion,
        FreedAnothersLock,
        CrashLosesUnit,
        CrashWedgesForLease,
    ],
    note: (
        "needs no overrun: the second DEL frees the lock of the next holder",
        "不需要超时：第二个 DEL 就删掉了下一个人的锁",
    ),
    ..BASE
};

/// 003, scene 5, with one DEL (row 38); the work takes longer than the lease.
pub const L07: Contender = Contender {
    id: "L07",
    seed: "003 第五种场景, one DEL",
    rows: "38",
    steps: "SET NX EX 10; GET; if > 0: work; DECR; DEL",
    says: ("deletes the next one's lock", "会把第二个请求的锁删除"),
    buy: |b| {
        if b.set_nx(LOCK, "1")? {
            let told = slow_business(b)?;
            b.del(LOCK)?;
            return Ok(told);
        }
        lost(Busy)
    },
    rush: OVERLONG,
    note: ("", ""),
    marked: &[
        Oversold,
        Undersold,
        NegativeCounter,
        Inversion,
        FreedAnothersLock,
        CrashLosesUnit,
        CrashWedgesForLease,
    ],
    ..L06
};

/// One request in 40 works 1.5 times as long as the lease, which is 20 ms here instead of 10 s.
const OVERLONG: Rush = Rush { overlong_every: 40, lease_ms: 20, ..BASE.rush };

fn slow_business(b: &mut Buyer) -> Told {
    let stock = b.get("goods")?;
    if stock > 0 {
        b.work()?;
        b.decr("goods")?;
        return won();
    }
    lost(SoldOut)
}

/// `if ($redisClient->get($this->goodsKey) == $client) { /* 此处存在时间差 */ del }`.
fn compare_then_del(b: &mut Buyer, token: &str) -> Result<(), crate::told::Stop> {
    if b.get_text(LOCK)?.as_deref() == Some(token) {
        b.del(LOCK)?;
    }
    Ok(())
}

/// 003, scene 6, `demo6` (row 39): the token is compared in `finally`. After success the lock is
/// already deleted without a comparison.
pub const L08: Contender = Contender {
    id: "L08",
    seed: "003 第六种场景, demo6",
    rows: "39",
    steps: "SET token NX EX 10; work; DEL; GET == token: DEL",
    says: ("a gap between GET and DEL", "此处存在时间差"),
    buy: |b| {
        let token = format!("t{}", b.unlike());
        if b.set_nx(LOCK, &token)? {
            let told = slow_business(b)?;
            if matches!(told, Verdict::Won(_)) {
                b.del(LOCK)?;
            }
            compare_then_del(b, &token)?; // finally
            return Ok(told);
        }
        lost(Busy)
    },
    marked: &[
        Oversold,
        Undersold,
        NegativeCounter,
        Inversion,
        FreedAnothersLock,
        CrashLosesUnit,
        CrashWedgesForLease,
    ],
    ..L07
};

fn token_and_lua(b: &mut Buyer, token: &str) -> Told {
    if b.set_nx(LOCK, token)? {
        let told = slow_business(b)?;
        b.release(LOCK, token)?;
        return Ok(told);
    }
    lost(Busy)
}

/// 003, "具体实现" (row 40): each buyer has another token, and a script releases the lock. Nothing
/// fences the stock.
pub const L09: Contender = Contender {
    id: "L09",
    seed: "003 具体实现, demo7",
    rows: "40",
    steps: "SET token NX EX; work; Lua: DEL if it is mine",
    origin: Origin::Recommended,
    says: ("the final answer", "最终方案"),
    buy: |b| {
        let token = format!("t{}", b.unlike());
        token_and_lua(b, &token)
    },
    marked: &[Oversold, Undersold, NegativeCounter, Inversion, CrashLosesUnit, CrashWedgesForLease],
    ..L07
};

/// 003, scene 7 **unchanged** (row 40): each buyer's token is 'r4nd0m_token'.
pub const L10: Contender = Contender {
    id: "L10",
    seed: "003 demo7, as printed",
    steps: "the same, the token a constant: 'r4nd0m_token'",
    buy: |b| token_and_lua(b, "r4nd0m_token"),
    marked: &[
        Oversold,
        Undersold,
        NegativeCounter,
        Inversion,
        FreedAnothersLock,
        CrashLosesUnit,
        CrashWedgesForLease,
    ],
    ..L09
};

/// 003, `demo8`: `spin(100, 0.5, 'HotResource', 10, 'r4nd0m_token')` (row 40), with another token
/// for each buyer.
pub const L11A: Contender = Contender {
    id: "L11a",
    seed: "003 demo8",
    steps: "spin 100 x 0.5 s; then as L09",
    says: ("one after the other", "串行"),
    buy: |b| spin(b, 100, Duration::from_millis(500)),
    rush: Rush {
        at_most: Some((8, ("sleeps 0.5 s between tries", "两次尝试之间睡 0.5 秒"))),
        ..BASE.rush
    },
    marked: &[Oversold, NegativeCounter, CrashLosesUnit, CrashWedgesForLease],
    ..L09
};

/// Laravel's `block` (row 40, "直接用laravel写好的"): retries every 250 ms.
pub const L11B: Contender = Contender {
    id: "L11b",
    seed: "003, comments: Laravel",
    steps: "try every 250 ms; then as L09",
    says: ("just use what Laravel has", "直接用laravel写好的"),
    buy: |b| spin(b, 200, Duration::from_millis(250)),
    rush: Rush {
        at_most: Some((8, ("sleeps 0.25 s between tries", "两次尝试之间睡 0.25 秒"))),
        ..BASE.rush
    },
    marked: &[Oversold, NegativeCounter, CrashLosesUnit, CrashWedgesForLease],
    ..L11A
};

/// Redisson's lock: a watchdog in the shop's process renews the lease during the work. If the whole
/// process stops (garbage collection, a frozen virtual machine), the watchdog stops, too, and the
/// lease expires.
pub const L12: Contender = Contender {
    id: "L12",
    seed: "Redisson's watchdog",
    rows: "40",
    steps: "as L09, the lease renewed while it works",
    origin: Origin::Lab,
    says: ("-", "-"),
    buy: |b| {
        let token = format!("t{}", b.unlike());
        if !b.set_nx(LOCK, &token)? {
            return lost(Busy);
        }
        let stock = b.get("goods")?;
        let told = if stock > 0 {
            b.work()?;
            b.renew(LOCK, &token)?; // the watchdog tells nobody that it found another's lock
            b.decr("goods")?;
            won()
        } else {
            lost(SoldOut)
        };
        b.release(LOCK, &token)?;
        told
    },
    rush: BASE.rush,
    note: (
        "the lease ends when the process stands still longer than it, watchdog included",
        "整个进程停顿（GC、虚拟机冻结）超过租期时，看门狗也一起停了，锁照样过期",
    ),
    ..L09
};

fn spin(b: &mut Buyer, tries: u32, every: Duration) -> Told {
    let token = format!("t{}", b.unlike());
    for _ in 0..tries {
        if b.set_nx(LOCK, &token)? {
            let told = slow_business(b)?;
            b.release(LOCK, &token)?;
            return Ok(told);
        }
        b.pause(every);
    }
    lost(Busy)
}
