//! Rows 3, 12, 14, 29, 32: one list element for each unit, and a check whether the user has one.

use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Stop};

/// A list of this many units, pushed in parts.
pub fn fill_list(b: &mut Buyer, key: &str, units: u64) -> Result<(), Stop> {
    let ids: Vec<String> = (1..=units).map(|id| id.to_string()).collect();
    for chunk in ids.chunks(1000) {
        let mut words = vec!["RPUSH", key];
        words.extend(chunk.iter().map(String::as_str));
        b.ask::<u64>(&words)?;
    }
    Ok(())
}

/// 000, the second program (row 3): a list of 100 elements; LPOP decides.
pub const R12: Contender = Contender {
    id: "R12",
    seed: "000, second program",
    rows: "3",
    steps: "LPOP award:100",
    says: ("only 100 win", "确保只有100个人中奖"),
    set_up: |b, stock| fill_list(b, "award:100", stock),
    buy: |b| {
        let award = b.lpop("award:100")?;
        if award.is_none() {
            return lost(SoldOut);
        }
        // 剩下就是中奖操作的事情了
        b.work()?;
        won()
    },
    books: |b| Books::counter(b.llen("award:100")? as i64),
    marked: &[CrashLosesUnit],
    note: (
        "`if (!$award)`: with a token \"0\" in the list that prize is popped and told as a loss",
        "`if (!$award)`：列表里若有 \"0\"，奖品弹出了却告诉用户没中",
    ),
    ..BASE
};

/// 002, "基于list的队列方案" (rows 29, 32).
pub const R13: Contender = Contender {
    id: "R13",
    seed: "002 基于list的队列",
    rows: "29, 32",
    steps: "RPOP goods; LPUSH result",
    says: ("no oversell", "不存在超发的情况"),
    set_up: |b, stock| fill_list(b, "goods", stock),
    buy: |b| {
        let goods_id = b.rpop("goods")?;
        b.sleep(Duration::from_micros(100));
        let Some(goods_id) = goods_id else { return lost(SoldOut) };
        b.lpush("result", goods_id)?;
        won()
    },
    books: |b| Books::both(b.llen("goods")? as i64, b.llen("result")?),
    marked: &[CrashLosesUnit, CrashHidesUnit],
    ..R12_WITHOUT_NOTE
};

const R12_WITHOUT_NOTE: Contender = Contender { note: ("", ""), ..R12 };

/// 001, the remark about WeChat (row 14): amounts are fixed before the event, "完全不会有并发情况".
pub const R14: Contender = Contender {
    id: "R14",
    seed: "001, WeChat's way",
    rows: "14",
    steps: "GET packet:user; none: LPOP packets; SET packet:user",
    says: ("no concurrency at all", "完全不会有并发情况"),
    set_up: |b, stock| fill_list(b, "packets", stock),
    buy: |b| {
        let mine = format!("packet:{}", b.user);
        if b.get_text(&mine)?.is_some() {
            return lost(Already);
        }
        let Some(amount) = b.lpop("packets")? else { return lost(SoldOut) };
        b.set(&mine, amount)?;
        won()
    },
    books: |b| {
        let owners: Vec<String> = b.ask(&["KEYS", "packet:*"])?;
        Books::both(b.llen("packets")? as i64, owners.len() as u64)
    },
    once_per_user: true,
    marked: &[WinnerWithoutRecord, TwoForOne, CrashLosesUnit],
    ..BASE
};

/// The usual code for "每个用户只能抢一次" (row 12): a set of the users with a unit.
pub const R21A: Contender = Contender {
    id: "R21a",
    seed: "001's rule, the usual code",
    rows: "12",
    steps: "SISMEMBER; no: DECR; if >= 0: SADD",
    origin: Origin::Lab,
    says: ("once for each user", "每个用户只能抢一次"),
    set_up: |b, stock| b.set("goods", stock),
    buy: |b| {
        let user = b.user.clone();
        if b.ask::<u64>(&["SISMEMBER", "buyers", &user])? == 1 {
            return lost(Already);
        }
        if b.decr("goods")? < 0 {
            return lost(SoldOut);
        }
        b.ask::<u64>(&["SADD", "buyers", &user])?;
        won()
    },
    books: |b| Books::both(b.get("goods")?, b.ask(&["SCARD", "buyers"])?),
    once_per_user: true,
    marked: &[WinnerWithoutRecord, TwoForOne, NegativeCounter, CrashLosesUnit],
    ..BASE
};

/// R21A in the other order (row 12): SADD decides. Exact, unless a process crashes after it.
pub const R21B: Contender = Contender {
    id: "R21b",
    seed: "001's rule, SADD first",
    steps: "SADD; new: DECR; if < 0: SREM",
    buy: |b| {
        let user = b.user.clone();
        if b.ask::<u64>(&["SADD", "buyers", &user])? == 0 {
            return lost(Already);
        }
        if b.decr("goods")? < 0 {
            b.ask::<u64>(&["SREM", "buyers", &user])?;
            return lost(SoldOut);
        }
        won()
    },
    marked: &[NegativeCounter, CrashLocksOut],
    ..R21A
};
