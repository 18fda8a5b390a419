//! Row 49: "redis+lua", the strongest alternative, as a script and as a function.

use crate::buyer::Buyer;
use crate::contender::{Contender, Origin, BASE};
use crate::told::{lost, won, Books, Fault::*, Reason::*, Stop, Told};

/// A correct script: it reads user and stock and writes the record in one step.
const BODY: &str = "
    if redis.call('HEXISTS', keys[2], args[1]) == 1 then return -1 end
    local left = tonumber(redis.call('GET', keys[1]) or '0')
    if left <= 0 then return 0 end
    redis.call('DECR', keys[1])
    redis.call('HSET', keys[2], args[1], left)
    return 1";

fn fill(b: &mut Buyer, stock: u64) -> Result<(), Stop> {
    b.set("goods", stock)
}

fn books(b: &mut Buyer) -> Result<Books, Stop> {
    Books::both(b.get("goods")?, b.hlen("buyers")?)
}

fn told(answer: i64) -> Told {
    match answer {
        1 => won(),
        -1 => lost(Already),
        _ => lost(SoldOut),
    }
}

/// 003, a comment (row 49): "redis+lua".
pub const P01: Contender = Contender {
    id: "P01",
    seed: "003, comments",
    rows: "49",
    steps: "EVALSHA: user?, stock?, DECR, HSET",
    says: ("redis+lua", "redis+lua"),
    set_up: fill,
    buy: |b| {
        let user = b.user.clone();
        let script = format!("local keys, args = KEYS, ARGV {BODY}");
        let answer = b.step(|b| {
            b.round_trips += 1;
            let script = redis::Script::new(&script);
            let answer: i64 = script
                .prepare_invoke()
                .key("goods")
                .key("buyers")
                .arg(&user)
                .invoke(&mut b.redis)?;
            Ok((answer, move || format!("EVALSHA goods buyers {user} -> {answer}")))
        })?;
        told(answer)
    },
    books,
    once_per_user: true,
    marked: &[],
    note: (
        "no hold that ends by the clock, no replay of an answer, no outbox",
        "没有到期自动释放的预占，没有幂等的重放，没有 outbox",
    ),
    ..BASE
};

/// The script of Redisson's semaphore: it counts units and records no user.
pub const P03: Contender = Contender {
    id: "P03",
    seed: "Redisson's semaphore",
    steps: "EVAL: stock >= 1? DECRBY 1",
    origin: Origin::Lab,
    says: ("-", "-"),
    buy: |b| {
        let script = "local left = tonumber(redis.call('GET', KEYS[1]) or '0')
            if left < 1 then return 0 end
            redis.call('DECRBY', KEYS[1], 1)
            return 1";
        told(b.ask(&["EVAL", script, "1", "goods"])?)
    },
    books: |b| Books::counter(b.get("goods")?),
    once_per_user: false,
    marked: &[CrashLosesUnit],
    note: ("exact as a counter; nobody's name is kept", "作为计数器是准确的；没有记下是谁抢到的"),
    ..P01
};

/// The correct script as a function of Redis 7 (row 49).
pub const P02: Contender = Contender {
    id: "P02",
    seed: "003, comments",
    steps: "FCALL: the same as a function",
    origin: Origin::Lab,
    set_up: |b, stock| {
        let code = format!(
            "#!lua name=shop\nredis.register_function('buy', function(keys, args) {BODY}\nend)"
        );
        b.ask::<String>(&["FUNCTION", "LOAD", "REPLACE", &code])?;
        fill(b, stock)
    },
    buy: |b| {
        let user = b.user.clone();
        told(b.ask(&["FCALL", "buy", "2", "goods", "buyers", &user])?)
    },
    marked: &[],
    ..P01
};
