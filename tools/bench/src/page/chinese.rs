//! The tables of docs/zh: the English tables with Chinese words.

use comfy_table::{presets, Row, Table};

/// English words of the tables with their Chinese. Words are replaced one after the other in each
/// cell, so a longer phrase comes before the phrases that it contains.
const WORDS: [(&str, &str); 65] = [
    // Measured quantities.
    (
        "wait of a PING: p99.9; longest, ms above idle",
        "PING 等多久，比空闲时多的毫秒数：p99.9；最长",
    ),
    ("server time per call, us", "每次调用占用主线程，微秒"),
    ("server time per call", "每次调用占用主线程"),
    ("share of the server's core in use", "服务端那个核的占用率"),
    ("calls/s", "每秒调用"),
    (": terms of the sale", "：活动的选项"),
    ("bytes a grant", "每条抢购记录的字节数"),
    ("`maxmemory 1gb` is full at", "`maxmemory 1gb` 能装"),
    // Calls and settings.
    ("GRAB REQ with HOLD and OUTBOX", "GRAB REQ，带 HOLD 和 OUTBOX"),
    ("CONFIRM of such a hold", "CONFIRM 这样一个预占"),
    ("plain GRAB REQ", "只有 GRAB REQ"),
    ("sold-out GRAB", "售罄后的 GRAB"),
    ("no sale", "没有活动"),
    ("no AOF", "不开 AOF"),
    ("no pipeline, ", "不开 pipeline，"),
    (" connections", " 个连接"),
    ("setting", "设置"),
    ("contender", "对比项"),
    ("none", "无"),
    // Contenders.
    ("the module", "本模块"),
    (" us, module ", " 微秒，本模块 "),
    ("Lua script", "Lua 脚本"),
    ("INCREX with LBOUND", "INCREX 带 LBOUND"),
    // Numbered units.
    ("INIT of ", "一次 INIT，"),
    ("DEL of ", "DEL，"),
    ("UNLINK of ", "UNLINK，"),
    ("FLUSHALL ASYNC of ", "FLUSHALL ASYNC，"),
    (" numbers, all sold", " 个号，全部已售"),
    (" holds of 100 numbers fall due at once", " 个各占 100 个号的预占同时到期"),
    (" holds of 100 scattered numbers fall due at once", " 个各占 100 个散号的预占同时到期"),
    ("GRABs QTY 100 while ", "GRAB QTY 100，同时有 "),
    (" holds of 100 are due", " 个各占 100 个号的预占到期"),
    ("GRABs ADJACENT while ", "GRAB ADJACENT，同时有 "),
    (" such holds are due", " 个这样的预占到期"),
    (" numbers", " 个号"),
    // Waits of other clients.
    (" holds fall due at once", " 个预占同时到期"),
    ("GRABs QTY 1000 while ", "GRAB QTY 1000，同时有 "),
    ("MGRABs of 64 sales while ", "64 个活动的 MGRAB，同时有 "),
    (" holds are due", " 个预占到期"),
    ("CANCELs when ", "CANCEL，同时有 "),
    (" fences are over", " 个防悬挂标记过期"),
    ("RESTOCK of 100,000 where ", "RESTOCK 100,000 件，有 "),
    ("RESTOCK of ", "一次 RESTOCK，"),
    (" who wait are dropped by CLOSEAT", " 个候补者因 CLOSEAT 被除名"),
    ("AUDIT where ", "AUDIT，有 "),
    (" wait", " 人候补"),
    ("GRABs with ", "GRAB，保留着 "),
    ("rounds of ", "场次结束并释放内存，每场 "),
    (" winners end and are given back", " 人中奖"),
    (" rounds kept", " 场"),
    ("USER COUNT 10000 of a user with ", "USER COUNT 10000，这个用户有 "),
    (" grants with HOLD and REQ", " 条带 HOLD 和 REQ 的抢购记录"),
    ("DENY of ", "一次 DENY "),
    (" users in one call", " 个用户"),
    ("the server's SADD of ", "服务端自己的一次 SADD，"),
    (" members in one call", " 个成员"),
    ("the server's LRANGE of ", "服务端自己的 LRANGE，"),
    (" elements", " 个元素"),
    (" of ", "，共 "),
    // Cells.
    (" million grants", " 百万条"),
    (" grants", " 条抢购记录"),
    (" us: ", " 微秒："),
    (" x**", " 倍**"),
    (" (to ", "（最多 "),
    ("not measured", "没有测"),
];

/// Names and units that are equal in both languages.
const NAMES: [&str; 8] = ["Redis", "Valkey", "Lua", "everysec", "io", "threads", "pipeline", "p99"];

pub fn table(english: &Table) -> Result<Table, String> {
    let words = |row: &Row| -> Result<Vec<String>, String> {
        row.cell_iter().map(|each| cell(&each.content())).collect()
    };
    let mut chinese = Table::new();
    chinese.load_style(presets::ASCII_MARKDOWN);
    if let Some(head) = english.header() {
        chinese.set_header(words(head)?);
    }
    for row in english.row_iter() {
        chinese.add_row(words(row)?);
    }
    Ok(chinese)
}

fn cell(english: &str) -> Result<String, String> {
    let all = WORDS.iter();
    let text = all.fold(english.to_owned(), |text, (of, chinese)| text.replace(of, chinese));
    // Chinese text has wide punctuation.
    let text = text.replace("; ", "；").replace(')', "）");
    let prose = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut words = prose.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_english =
        |word: &&str| word.chars().any(|c| c.is_ascii_lowercase()) && !NAMES.contains(word);
    match words.find(is_english) {
        None => Ok(text),
        Some(word) => Err(format!(
            "no Chinese for {word:?} of {english:?}: add it to tools/bench/src/page/chinese.rs"
        )),
    }
}
