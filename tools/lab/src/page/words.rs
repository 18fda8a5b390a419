//! The words of the page in both languages: those of the field, and those of the posts.

use crate::contender::{Fault, Text};

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

/// What a fault is called on the page.
pub fn fault(fault: Fault) -> Text {
    match fault {
        Fault::Oversold => ("oversells", "超卖"),
        Fault::Undersold => ("undersells: refuses while units are left", "少卖：还有库存却拒绝"),
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
        Fault::CrashLosesUnit => ("a crash loses the unit", "宕机丢一件库存"),
        Fault::CrashWedges => ("a crash ends the sale for good", "宕机后永远卖不动"),
        Fault::CrashWedgesForLease => {
            ("a crash stops the sale until the lease ends", "宕机后要等锁过期")
        }
        Fault::CrashLocksOut => ("a crash locks its buyer out", "宕机后本人再也买不到"),
        Fault::CrashHidesUnit => (
            "a lost answer: has it, asks again, is told no",
            "不幂等：应答丢失，明明抢到，再问却说没有",
        ),
        Fault::CrashSellsTwice => ("a crash sells the unit twice", "宕机后同一件卖两次"),
    }
}

/// What timelines say, word for word; the commands are the same in every language.
const SAID: &[Text] = &[
    ("told: yours, as before", "答：已是你的（重放）"),
    ("told: yours", "答：抢购成功"),
    ("told: sold out", "答：已卖光"),
    ("told: bad luck, try again", "答：手气不好，再抢购"),
    ("told: busy, try again", "答：系统繁忙，请重试"),
    ("told: payment failed", "答：业务失败"),
    ("told: you have one", "答：你已抢过"),
    ("told: you are in; then: sold out", "答：进去了；确认时：售罄"),
    ("told: HTTP 500", "答：HTTP 500"),
    ("told: too hot, try later", "答：活动火爆，请稍后"),
    ("never gets an answer (stopped here)", "永远没有应答（到此为止）"),
    ("the lease of the lock runs out", "锁的租期到了"),
    ("dies: the answer never arrives", "宕机：应答没有送达"),
    ("dies", "宕机"),
    ("… waits for a row lock", "…… 等行锁"),
    ("another has it", "别人持有"),
    ("mine", "拿到"),
    ("works", "处理业务逻辑"),
    ("units are back", "件回补"),
    ("row lock", "行锁"),
    (" again", "（再点）"),
    ("helper", "后台"),
    ("the stock says", "库存显示"),
    ("stock ", "库存 "),
    ("step ", "步骤 "),
    ("end: ", "结果："),
    ("told \"yours\" of", "人被告知抢到，共有库存"),
    ("on record", "条记录"),
    ("who comes alone afterwards is", "之后单独来一个人："),
];

/// A timeline's text in a language.
pub fn timeline(text: &str, language: Language) -> String {
    match language {
        Language::English => text.to_owned(),
        Language::Chinese => SAID
            .iter()
            .fold(text.to_owned(), |text, (english, chinese)| text.replace(english, chinese)),
    }
}
