//! Rows 21, 41, 42, 44: queues, importers, random rejection, and a second check at the
//! confirmation.

use std::time::Duration;

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE, SQL};
use crate::strategies::counter::{get_then_decr, goods_fill};
use crate::strategies::list::fill_list;
use crate::told::{lost, won, Books, Fault::*, Reason::*, Rush, Told, Verdict};

const NAP: Duration = Duration::from_millis(1);
/// Interval at which a page asks for its answer. 500 pages that ask without a pause leave the
/// worker no time.
const POLL: Duration = Duration::from_millis(50);

/// 003, a comment (row 41): the queue gives the right to buy, and MySQL records it. When the queue
/// is empty, units that the table shows as unsold are pushed again.
pub const Q01: Contender = Contender {
    id: "Q01",
    seed: "003, comments",
    rows: "41",
    steps: "LPOP right; UPDATE unit; importer: queue empty: unsold units -> RPUSH",
    says: ("refill from what is unsold", "mysql 存在未卖出可以再重新倒入队列"),
    needs: SQL,
    set_up: |b, stock| {
        b.run("DELETE FROM units")?;
        b.run("DELETE FROM orders")?;
        for id in 1..=stock {
            b.run(&format!("INSERT INTO units VALUES ({id}, NULL)"))?;
        }
        fill_list(b, "queue", stock)
    },
    buy: |b| {
        let Some(unit) = b.lpop("queue")? else { return lost(SoldOut) };
        let user = b.user.clone();
        b.run(&format!("UPDATE units SET buyer='{user}' WHERE id={unit}"))?;
        b.run(&format!("INSERT INTO orders (seckill_id, buyer) VALUES ({unit}, '{user}')"))?;
        won()
    },
    books: |b| {
        let left = b.number("SELECT COUNT(*) FROM units WHERE buyer IS NULL")?;
        Books::both(left, b.number("SELECT COUNT(*) FROM orders")? as u64)
    },
    helper: Some(|b| {
        loop {
            if b.llen("queue")? == 0 {
                for id in b.column("SELECT id FROM units WHERE buyer IS NULL ORDER BY id")? {
                    b.ask::<u64>(&["RPUSH", "queue", &id.to_string()])?;
                }
            }
            // One check in the interleaver, one each millisecond in a rush.
            if b.gate.is_held() || b.buyers_are_gone() {
                return Ok(Verdict::Done);
            }
            b.pause(NAP);
        }
    }),
    marked: &[Oversold, CrashLosesUnit, CrashHidesUnit],
    note: (
        "the comment leaves open whether the UPDATE asks `AND buyer IS NULL`; this is without it",
        "评论没说 UPDATE 要不要带 `AND buyer IS NULL`；这里没带，带上就不超卖",
    ),
    ..BASE
};

/// 001, its summary (row 21): "队列+延迟处理...这是最完美的解决方案". One worker handles the requests in order; the
/// buyer polls for the answer.
pub const Q02: Contender = Contender {
    id: "Q02",
    seed: "001 总结",
    rows: "21",
    steps: "RPUSH request; poll the answer; one worker: LPOP, GET > 0, MULTI DECR HSET EXEC",
    says: ("perfect, but the answer comes late", "最完美的解决方案"),
    set_up: goods_fill,
    buy: |b| {
        let ticket = format!("{}:{}", b.user, b.unlike());
        b.ask::<u64>(&["RPUSH", "requests", &ticket])?;
        loop {
            match b.ask::<Option<String>>(&["HGET", "answers", &ticket])?.as_deref() {
                Some("won") => return won(),
                Some(_) => return lost(SoldOut),
                None => b.pause(POLL),
            }
        }
    },
    rush: Rush {
        requests: Some((1000, ("asks every 50 ms for its answer", "每 50 毫秒问一次结果"))),
        ..BASE.rush
    },
    books: |b| {
        let answers: Vec<String> = b.ask(&["HVALS", "answers"])?;
        let won = answers.iter().filter(|answer| *answer == "won").count() as u64;
        Books::both(b.get("goods")?, won)
    },
    helper: Some(|b| loop {
        let Some(ticket) = b.lpop("requests")? else {
            if b.buyers_are_gone() {
                return Ok(Verdict::Done);
            }
            b.pause(NAP);
            continue;
        };
        if b.get("goods")? > 0 {
            b.exec(&[&["DECR", "goods"], &["HSET", "answers", &ticket, "won"]])?;
        } else {
            b.ask::<u64>(&["HSET", "answers", &ticket, "sold out"])?;
        }
    }),
    waits_for_helper: true,
    marked: &[CrashHidesUnit],
    note: (
        "its speed is that of the lab's page, which asks every 50 ms",
        "速度受实验室页面每 50 毫秒轮询一次限制",
    ),
    ..BASE
};

/// 003, a comment (row 42): "在诸多请求中随机返回活动火爆", nine in ten; then DECR.
pub const Q03: Contender = Contender {
    id: "Q03",
    seed: "003, comments",
    rows: "42",
    steps: "90 % at random: BUSY; else DECR; if >= 0: won",
    says: ("relief", "随机返回活动火爆"),
    set_up: goods_fill,
    buy: |b| {
        // The interleaver lets all buyers in: it plays orders of steps, not random choices.
        if !b.gate.is_held() && b.mt_rand(1, 10) > 1 {
            return lost(Shed);
        }
        if b.decr("goods")? >= 0 {
            return won();
        }
        lost(SoldOut)
    },
    books: |b| Books::counter(b.get("goods")?),
    marked: &[NegativeCounter, CrashLosesUnit],
    ..BASE
};

/// 003, a comment (row 44): the first step may oversell, "确认订单时候再二次确认一下". R02 first, M08 at the
/// confirmation.
pub const Q04: Contender = Contender {
    id: "Q04",
    seed: "003, comments",
    rows: "44",
    steps: "GET; if > 0: DECR, \"you are in\"; confirm: UPDATE … number>0; INSERT",
    origin: Origin::ShownWrong,
    says: ("no need to worry", "不紧张，确认时候售罄了"),
    needs: SQL,
    set_up: |b, stock| {
        goods_fill(b, stock)?;
        b.run("DELETE FROM orders")?;
        b.run("DELETE FROM seckill")?;
        b.run(&format!("INSERT INTO seckill VALUES (1, {stock})")).map(drop)
    },
    buy: |b| match get_then_decr(b)? {
        Verdict::Won(_) => confirm(b),
        told => Ok(told),
    },
    books: |b| {
        let left = b.number("SELECT number FROM seckill WHERE seckill_id=1")?;
        Books::both(left, b.number("SELECT COUNT(*) FROM orders")? as u64)
    },
    marked: &[InThenSoldOut, CrashLosesUnit, CrashHidesUnit],
    note: (
        "it does what the comment says and accepts: more are let in than can confirm",
        "和评论说的、接受的一样：放进去的人比能确认的多",
    ),
    ..BASE
};

fn confirm(b: &mut Buyer) -> Told {
    let user = b.user.clone();
    b.begin()?;
    let count = b.run("UPDATE seckill SET number=number-1 WHERE seckill_id=1 AND number>0")?;
    if count == 0 {
        b.rollback()?;
        return lost(SoldOutInside);
    }
    b.run(&format!("INSERT INTO orders (seckill_id, buyer) VALUES (1, '{user}')"))?;
    b.commit()?;
    won()
}
