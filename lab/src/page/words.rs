//! The words of the page in both languages: standard terms, and quotes of the posts.

use crate::told::{Fault, Text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    pub fn of(self, text: Text) -> &'static str {
        match self {
            Language::English => text.0,
            Language::Chinese => text.1,
        }
    }
}

/// The name of a fault on the page.
pub fn fault(fault: Fault) -> Text {
    match fault {
        Fault::Oversold => ("oversells", "超卖"),
        Fault::Undersold => ("refuses while units are left", "误拒：有货却说没有"),
        Fault::Stuck => ("stuck: units are left and nobody can buy", "卡死：有库存，谁也买不到"),
        Fault::WinnerWithoutRecord => ("winners without a record", "抢到了却没有记录"),
        Fault::RecordWithoutWinner => ("records without a winner", "有记录却没人抢到"),
        Fault::TwoForOne => ("two for one user", "限购失效：一人两件"),
        Fault::NegativeCounter => ("the stock goes below zero", "库存减成负数"),
        Fault::Inversion => ("who comes later wins", "先来的没有，后来的抢到"),
        Fault::FreedAnothersLock => ("deletes another's lock", "删掉别人的锁"),
        Fault::Endless => ("a loop without an end", "死循环"),
        Fault::ErrorInsteadOfRefusal => ("sold out is an exception", "售罄变成异常"),
        Fault::WaitsForAnother => ("waits for buyers of another product", "被别的商品的买家挡住"),
        Fault::InThenSoldOut => ("let in, then sold out", "进得去，确认时售罄"),
        Fault::CrashLosesUnit => ("a crash loses the unit", "进程崩溃丢一件库存"),
        Fault::CrashWedges => ("a crash ends the sale for good", "进程崩溃后永远卖不动"),
        Fault::CrashWedgesForLease => {
            ("a crash stops the sale until the lease ends", "进程崩溃后要等锁过期")
        }
        Fault::CrashLocksOut => ("a crash locks its buyer out", "进程崩溃后本人再也买不到"),
        Fault::CrashHidesUnit => (
            "a lost answer: has it, asks again, is told no",
            "不幂等：响应丢失，明明抢到，再问却说没有",
        ),
        Fault::CrashSellsTwice => ("a crash sells the unit twice", "进程崩溃后同一件卖两次"),
    }
}

/// Sentences of timelines, translated word for word. Commands stay unchanged.
const SAID: &[Text] = &[
    ("told: yours, as before", "返回：已是你的（重放）"),
    ("told: yours", "返回：抢购成功"),
    ("told: sold out", "返回：已卖光"),
    ("told: bad luck, try again", "返回：手气不好，再抢购"),
    ("told: busy, try again", "返回：系统异常，请重试"),
    ("told: payment failed", "返回：业务失败"),
    ("told: you have one", "返回：你已抢过"),
    ("told: you are in; then: sold out", "返回：进去了；确认时：售罄"),
    ("told: HTTP 500", "返回：HTTP 500"),
    ("told: too hot, try later", "返回：活动火爆，请稍后"),
    ("never gets an answer (stopped here)", "永远没有响应（到此为止）"),
    ("the lease of the lock runs out", "锁的租期到了"),
    ("dies: the answer never arrives", "进程崩溃：响应没有送达"),
    ("dies", "进程崩溃"),
    ("… waits for a row lock", "…… 等行锁"),
    ("another has it", "别人持有"),
    ("mine", "拿到"),
    ("works", "处理业务逻辑"),
    ("units are back", "件补货"),
    ("row lock", "行锁"),
    (" again", "（再点）"),
    ("helper", "后台"),
    ("the stock says", "库存显示"),
    ("stock ", "库存 "),
    ("step ", "步骤 "),
    ("end: ", "结果："),
    ("told \"yours\" of", "人返回成功，库存"),
    ("on record", "条记录"),
    ("who comes alone afterwards is", "之后单独来一个人："),
];

/// The names of steps, and of sections in the posts.
const STEPS: &[Text] = &[
    ("the same on two hosts", "同上，在两台机器上"),
    ("the same as a function", "同上，写成函数"),
    ("the same", "同上"),
    ("first program", "第一段"),
    ("second program", "第二段"),
    ("third program", "第三段"),
    ("try every 10 ms for 10 s", "每 10 毫秒试一次，试 10 秒"),
    ("as L09, the lease renewed while it works", "同 L09，处理期间不断续期"),
    ("Redisson's watchdog", "Redisson 看门狗"),
    ("Redisson's semaphore", "Redisson 信号量"),
    ("the winner's row first", "先插中奖记录"),
    ("a row a unit", "每件一行"),
    ("own ids", "用自己的 id"),
    ("last answer", "最后的回答"),
    ("and a retry", "加重试"),
    ("as printed", "原样"),
    ("as meant", "按本意"),
    ("as shipped", "上线的版本（按描述重建）"),
    ("prose", "文字部分"),
    ("comments", "评论"),
    ("with LOCK_NB", "加 LOCK_NB"),
    ("two hosts", "两台机器"),
    ("two products", "两个商品"),
    ("one DEL", "只删一次"),
    ("WeChat's way", "微信的办法"),
    ("001's rule", "001 的规则"),
    ("in SQL", "SQL 版"),
    ("the usual code", "常见写法"),
    ("SADD first", "先 SADD"),
    ("mended", "改正"),
    ("the module", "本模块"),
    ("no index", "没有索引"),
    ("no retry", "不重试"),
    ("no WHERE", "没有 WHERE"),
    ("again while nil", "返回 nil 就再来"),
    ("again while 0 rows", "0 行就再来"),
    ("else loop", "否则循环"),
    ("a new transaction for each try", "每次尝试开新事务"),
    ("the loop inside the transaction", "循环在事务里面"),
    ("unlock before COMMIT", "COMMIT 之前解锁"),
    ("lock in Redis", "在 Redis 加锁"),
    ("unlock", "解锁"),
    ("one try", "只试一次"),
    ("then as L09", "然后同 L09"),
    ("try every 250 ms", "每 250 毫秒试一次"),
    ("DEL in try", "try 里 DEL"),
    ("DEL in finally", "finally 里 DEL"),
    ("which is the stock", "也就是库存的键"),
    ("the token a constant", "token 是常量"),
    ("DEL if it is mine", "是自己的才 DEL"),
    ("sold-out mark?", "有售罄标记？"),
    ("if < 0: mark", "小于 0：打标记"),
    ("meanwhile a restock", "其间补货"),
    ("meanwhile RESTOCK, notification clears", "其间 RESTOCK，通知清掉缓存"),
    ("cached?", "有缓存？"),
    ("SOLDOUT 0: cache", "SOLDOUT 0：缓存"),
    ("if it fails", "失败"),
    ("business", "业务"),
    ("poll the answer", "轮询结果"),
    ("one worker", "一个后台"),
    ("RPUSH request", "RPUSH 请求"),
    ("importer: queue empty: unsold units", "导入：队列空了：未卖出的"),
    ("90 % at random", "随机九成"),
    ("\"you are in\"", "“进去了”"),
    ("confirm", "确认"),
    ("killed now and then", "时不时被杀"),
    ("writer", "写库的后台"),
    ("(HOLD); pay", "(HOLD)；付款"),
    ("with n > 0", "加上 n > 0"),
    ("with >= 0", "改成 >= 0"),
    ("touch the watched key, another, none", "改被监控的键、别的键、都不改"),
    ("; pay 1 to 1000", "；发 1 到 1000"),
    ("; pay", "；发放"),
    ("; work;", "；业务；"),
    ("won", "抢到"),
];

/// The questions to the servers, and their answers.
const FACTS: &[Text] = &[
    ("nothing is touched at all", "什么都没改"),
    ("the watched key is changed inside the transaction", "在事务里改被监控的键"),
    ("two are watched, another is changed", "监控两个键，改的是别的键"),
    ("the caller itself changes it between WATCH and MULTI", "自己在 WATCH 和 MULTI 之间改了它"),
    ("carried out: ", "执行成功："),
    ("shed at random, nine of ten", "随机拒绝九成"),
    ("one click: ", "点一次："),
    (" pass; ten clicks: ", " 通过；点十次："),
    (
        "a plain `SELECT number` while another transaction holds the row `FOR UPDATE`",
        "另一个事务用 `FOR UPDATE` 锁着这一行，普通的 `SELECT number`",
    ),
    ("reads 5 at once", "立刻读到 5"),
];

/// A timeline's text in a language.
pub fn timeline(text: &str, language: Language) -> String {
    translated(text, SAID, language)
}

/// Names of steps, or of sections in a post.
pub fn steps(text: &str, language: Language) -> String {
    translated(text, STEPS, language)
}

/// A place in the posts, with the punctuation of the language.
pub fn place(text: &str, language: Language) -> String {
    let place = steps(text, language);
    match language {
        Language::English => place,
        Language::Chinese => place.replace(", ", "，").replace("; ", "；").replace(": ", "："),
    }
}

pub fn fact(text: &str, language: Language) -> String {
    translated(text, FACTS, language)
}

fn translated(text: &str, words: &[Text], language: Language) -> String {
    match language {
        Language::English => text.to_owned(),
        Language::Chinese => words
            .iter()
            .fold(text.to_owned(), |text, (english, chinese)| text.replace(english, chinese)),
    }
}
