//! The options of INIT and ALTER, a row each: all terms that an operator can set. Parsing, errors,
//! COMMAND DOCS, hints of redis-cli and docs/commands.md come from these rows.

use super::args::{Args, Parsed};
use super::errors;
use super::vocabulary::{self, Arg, ArgKind};
use seckill_domain::admission::Modulo;
use seckill_domain::draw::Draw;
use seckill_domain::limits::{
    GRANTS_MAX, HOLD_MS_MAX, INTEGER_MAX, MOMENT_MS_MIN, OUTBOX_BYTES_MAX, PARTS_MAX, PERMILLE_ALL,
    SALT_BYTES_MAX, SPLIT_ID_BYTES_MAX, TIME_MS_MAX, WAITERS_MAX,
};
use seckill_domain::parts::Split;
use seckill_domain::request::TermsChange;
use seckill_domain::rounds::Schedule;
use seckill_domain::terms::TERMS;

/// The given options.
#[derive(Debug, Default)]
pub struct Options {
    /// The given terms.
    pub change: TermsChange,
    /// DRAW with its mode, MIN included.
    pub draw: Option<Draw>,
    /// The amounts of DRAW LIST.
    pub amounts: Vec<u64>,
    /// EVERY with OFFSET, LASTS and CARRY.
    pub schedule: Option<Schedule>,
    /// PART with OF, SPLIT and TOTAL.
    pub split: Option<Split>,
    /// NUMBERED.
    pub numbered: bool,
    pub(super) part: Option<u64>,
    pub(super) parts: Option<u64>,
    pub(super) split_id: Option<Box<[u8]>>,
    pub(super) total: Option<u64>,
    pub(super) min: Option<u64>,
    pub(super) every: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) lasts: Option<u64>,
    pub(super) carry: bool,
    pub(super) permille: Option<u64>,
    pub(super) salt: Option<Box<[u8]>>,
}

/// Units for sale.
pub const SUPPLY: Arg = Arg::new("supply", ArgKind::Integer)
    .takes(0, INTEGER_MAX)
    .about("units for sale, of each round with EVERY; 0 or more")
    .zh("要卖的件数，有 EVERY 时是每一场的件数；可以是 0");
const LIMIT: Arg = number("limit", "LIMIT", 0, INTEGER_MAX)
    .optional()
    .about("units a user may have in live grants (a new sale: 1; 0: no limit)")
    .zh("限购：一个用户最多可以占有的件数，只算有效的（新活动：1；0：不限）");
const GRABS: Arg = number("grabs", "GRABS", 0, INTEGER_MAX)
    .optional()
    .about("live grants a user may have (a new sale: 0, no limit)")
    .zh("一个用户最多可以有的有效抢购记录数（新活动：0，不限）");
/// Time for which a grant is held, ms.
pub const HOLD: Arg = span("hold", "HOLD", 0, HOLD_MS_MAX)
    .optional()
    .about(
        "how long a grant is reserved before it returns by itself, at most 30 days \
         (0: sold at once)",
    )
    .zh("预占多久，到时没付款自动释放，最长 30 天（0：抢到即售出）");
/// The stream of entries.
pub const OUTBOX: Arg = Arg::new("outbox", ArgKind::OutboxKey)
    .shown("stream")
    .token("OUTBOX")
    .takes(1, OUTBOX_BYTES_MAX as u64)
    .optional()
    .about(
        "every change appends an entry to this stream in the same step; the stream is \
         made if it is missing. It can be given once and not be changed",
    )
    .zh("每次变更都在同一步里往这个流追加一条；流不存在就新建。只能设一次，设了不能改");
const OPENAT: Arg = moment("openat", "OPENAT")
    .optional()
    .about("first moment a GRAB is taken, in Unix milliseconds (a new sale: 0, at once)")
    .zh("从这一刻起可以 GRAB，Unix 毫秒（新活动：0，立即）");
const CLOSEAT: Arg = moment("closeat", "CLOSEAT")
    .optional()
    .about(
        "first moment a GRAB is no longer taken, in Unix milliseconds (a new sale: 0, \
         never)",
    )
    .zh("从这一刻起不再接受 GRAB，Unix 毫秒（新活动：0，一直开放）");

/// An option with a number, shown as `n`.
const fn number(name: &'static str, token: &'static str, low: u64, high: u64) -> Arg {
    Arg::new(name, ArgKind::Integer).shown("n").token(token).takes(low, high)
}

/// An option with milliseconds.
const fn span(name: &'static str, token: &'static str, low: u64, high: u64) -> Arg {
    Arg::new(name, ArgKind::Span).token(token).takes(low, high)
}

/// An option with a time, or 0 for none. A time in seconds is refused here, because every caller's
/// time comes through here. Effects and snapshots only repeat accepted times, and the domain has no
/// notion of the current year.
pub const fn moment(name: &'static str, token: &'static str) -> Arg {
    Arg::new(name, ArgKind::UnixTime).token(token).takes(MOMENT_MS_MIN, TIME_MS_MAX)
}

const ALLOWLIST: Arg =
    Arg::block("allowlist", &[Arg::pure("on", "ALLOWLIST"), Arg::pure("off", "OFF").optional()])
        .optional()
        .about(
            "only users whom `SECKILL.ALLOW` has listed may buy; others are DENIED (OFF: \
         everybody)",
        )
        .zh("只有 `SECKILL.ALLOW` 名单里的用户能买，其他人返回 DENIED（OFF：人人可买）");
const MODULUS: Arg = number("modulus", "MOD", 0, INTEGER_MAX).shown("m");
const REMAINDER: Arg =
    Arg::new("remainder", ArgKind::Integer).shown("r").takes(0, INTEGER_MAX).multiple().optional();
const MOD: Arg = Arg::block("mod", &[MODULUS, REMAINDER])
    .optional()
    .about(
        "only users whose number modulo m is one of the remainders may buy, others \
         are DENIED: `MOD 2 1` is odd numbers. A decimal id is its own number, any \
         other one a keyed hash (0: everybody)",
    )
    .zh("用户编号对 m 取余，结果是这些余数之一的能买，其他人返回 DENIED：`MOD 2 1` 就是单号。\
         十进制 id 的编号是它自己，其他 id 用带密钥的哈希（0：人人可买）");
/// The share of the users who may buy.
pub const SAMPLE: Arg =
    Arg::new("permille", ArgKind::Integer).token("SAMPLE").takes(0, PERMILLE_ALL);
/// The salt of the share.
pub const SALT: Arg = Arg::new("salt", ArgKind::Str)
    .shown("s")
    .token("SALT")
    .takes(0, SALT_BYTES_MAX as u64)
    .optional()
    .about("another salt draws another share of the users, at most 128 bytes")
    .zh("换一个盐就换一批用户，最长 128 字节");
const SHARE: Arg = Arg::block("sample", &[SAMPLE, SALT]).optional().about(
        "this share of the users may buy, in thousandths, others are BUSY. A keyed \
         hash of the id decides, so asking again does not help (1000: everybody)",
    )
    .zh(
        "按这个比例放行用户，单位千分之一，其他人返回 BUSY。由 id 的带密钥哈希决定，再点也没用（1000：人人可买）",
    );
const ADMIT: Arg = number("admit", "ADMIT", 0, INTEGER_MAX)
    .optional()
    .about(
        "the first n users who ask while the sale is open may buy, later ones are \
         BUSY (0: everybody)",
    )
    .zh("开放期间最先来的 n 个用户能买，后来的返回 BUSY（0：人人可买）");
const MASK: Arg = Arg::block(
    "mask",
    &[Arg::pure("on", "MASK"), Arg::pure("off", "OFF").optional()],
)
.optional()
.about(
    "DENIED and BUSY are answered as `SOLDOUT 1` (WAIT in a sale with a waiting list: \
         BUSY, UNITS: TAKEN), so that nobody learns why (OFF: they are told)",
)
.zh("DENIED 和 BUSY 都返回成 `SOLDOUT 1`（有候补时带 WAIT 的是 BUSY，带 UNITS 的是 TAKEN），\
         不让人知道原因（OFF：返回真实原因）");

/// Most waiters.
pub const WAITLIST: Arg =
    Arg::new("max", ArgKind::Integer).token("WAITLIST").takes(0, WAITERS_MAX).about(
        "so many may wait, at most 10000000, by `SECKILL.GRAB ... WAIT`; what comes \
         back is offered to them (a new sale: 0, nobody waits). Not with DRAW or \
         EVERY",
    )
    .zh(
        "最多这么多人候补（不超过 10000000），用 `SECKILL.GRAB ... WAIT` 加入；释放的库存先给他们（新活动：0，没有候补）。\
         不能和 DRAW 或 EVERY 一起用",
    );
/// Lifetime of an offer, ms.
pub const OFFER: Arg = span("offer", "OFFER", 0, HOLD_MS_MAX)
    .optional()
    .about("how long an offer stands, at most 30 days (default 0: as long as HOLD)")
    .zh("给候补的人保留多久，最长 30 天（默认 0：和 HOLD 一样久）");
const OVERTAKE: Arg = number("overtake", "OVERTAKE", 0, INTEGER_MAX)
    .optional()
    .about(
        "how often the first one may be passed by those who ask for less, before \
         units collect for them (default 16)",
    )
    .zh("排在最前的人最多被要得更少的人越过几次，之后库存为他攒着（默认 16）");
const WAITING: Arg = Arg::block("waitlist", &[WAITLIST, OFFER, OVERTAKE]).optional();

const DRAW: Arg = Arg::pure("draw", "DRAW");
/// Packets that the supply is cut into.
pub const PACKETS: Arg = number("packets", "PACKETS", 1, GRANTS_MAX);
/// The smallest packet.
pub const MIN: Arg = number("min", "MIN", 1, INTEGER_MAX)
    .shown("m")
    .optional()
    .about("units that every packet has at least (default 1)")
    .zh("每个红包至少多少（默认 1）");
const LOW: Arg = Arg::new("lo", ArgKind::Integer).takes(1, INTEGER_MAX);
const HIGH: Arg = Arg::new("hi", ArgKind::Integer).takes(1, INTEGER_MAX);
const EQUAL: Arg = number("packets", "EQUAL", 1, GRANTS_MAX);
/// One of a list of amounts.
pub const AMOUNT: Arg = Arg::new("amount", ArgKind::Integer).takes(1, INTEGER_MAX).multiple();
const DRAWS: Arg = Arg::one_of(
    "draw",
    &[
        Arg::block("packets", &[DRAW, PACKETS, MIN]).about(
        "the supply is cut into n packets of random size, one for each GRAB: at most \
         twice the mean of what is left. With all n taken nothing is left",
    )
    .zh(
        "总量随机拆成 n 个红包，每次 GRAB 拿一个：最多是剩余均值的两倍。n 个都抢完，一分不剩",
    ),
        Arg::block("uniform", &[DRAW, Arg::pure("mode", "UNIFORM"), LOW, HIGH])
            .about(
        "each GRAB gets a random amount from lo to hi, until the supply is used up",
    )
    .zh(
        "每次 GRAB 拿 lo 到 hi 之间的随机数，直到总量发完",
    ),
        Arg::block("equal", &[DRAW, EQUAL]).about(
        "n packets of the same size, the first ones have one unit more if it does not \
         divide",
    )
    .zh(
        "n 个等额红包，除不尽时前几个各多一个单位",
    ),
        Arg::block("list", &[DRAW, Arg::pure("mode", "LIST"), AMOUNT])
            .about(
        "each GRAB gets the next amount of the list; supply is their sum",
    )
    .zh(
        "每次 GRAB 拿列表里的下一个金额；supply 是它们的和",
    ),
    ],
)
.optional();

/// The period of a repeating sale.
pub const EVERY: Arg = span("every", "EVERY", 1, TIME_MS_MAX)
    .about(
        "the sale repeats with this period: each round begins with the whole supply \
         and clean allowances",
    )
    .zh("活动按这个周期重复：每一场库存恢复到总量，限购重新计算");
const OFFSET: Arg = span("offset", "OFFSET", 0, TIME_MS_MAX)
    .optional()
    .about(
        "rounds begin so long after each multiple of the period in Unix time (default \
         0)",
    )
    .zh("每一场比 Unix 时间里周期的整倍数晚这么久开始（默认 0）");
const LASTS: Arg = span("lasts", "LASTS", 1, TIME_MS_MAX)
    .optional()
    .about(
        "how long each round is open; then GRAB is NOTOPEN until the next (default: \
         the period)",
    )
    .zh("每一场开放多久；之后 GRAB 返回 NOTOPEN，直到下一场（默认：整个周期）");
const CARRY: Arg = Arg::pure("carry", "CARRY")
    .optional()
    .about("what a round leaves unsold is added to the next, instead of dropped")
    .zh("本场没卖完的并入下一场，而不是作废");
const ROUNDS: Arg = Arg::block("rounds", &[EVERY, OFFSET, LASTS, CARRY]).optional();

const PART: Arg = number("part", "PART", 0, PARTS_MAX as u64 - 1)
    .shown("i")
    .about("its number, from 0")
    .zh("它的编号，从 0 起");
const OF: Arg = number("parts", "OF", 1, PARTS_MAX as u64)
    .shown("b")
    .about("how many parts there are, at most 1024")
    .zh("一共几个分片，最多 1024 个");
/// The id of the split.
pub const SPLIT: Arg = Arg::new("id", ArgKind::Str)
    .token("SPLIT")
    .takes(1, SPLIT_ID_BYTES_MAX as u64)
    .about("names the split: 1 to 64 bytes, new for each split and the same in its parts")
    .zh("拆分的名字：1 到 64 字节，每次拆分都用新的，各分片相同");
const TOTAL: Arg = number("total", "TOTAL", 0, INTEGER_MAX)
    .about("what all parts together begin with, the same in each of them")
    .zh("所有分片开始时一共有多少件，各分片相同");
const SPLITS: Arg = Arg::block("split", &[PART, OF, SPLIT, TOTAL])
    .optional()
    .about(
        "one part of a sale that many nodes share (docs/parts.md): it serves the \
         users whose home it is, with its own share of the units",
    )
    .zh("由多个节点分担的一场活动的一个分片（docs/zh/parts.md）：只服务属于它的用户，有自己的一份库存");

const NUMBERED: Arg = Arg::pure("numbered", "NUMBERED")
    .optional()
    .about(
        "each unit has a number, from 1 on: a seat, a code, a raffle number \
         (docs/units.md). At most 10000000. Not with DRAW, EVERY or PART",
    )
    .zh("每一件都有号，从 1 开始：座位、兑换码、抽奖号（docs/zh/units.md）。最多 10000000 件。\
         不能和 DRAW、EVERY、PART 一起用");

/// The way to read an option's value.
pub enum Read {
    /// A number within the row's bounds.
    Number(&'static Arg, fn(&mut Options) -> &mut Option<u64>),
    /// Nothing, or OFF.
    Switch(fn(&mut Options) -> &mut Option<bool>),
    /// By a function of its own.
    Other(fn(&mut Options, &mut Args<'_>) -> Parsed<()>),
}

/// The way to read each option of [`TERMS`], in the order of that table. Options may stand in any
/// order.
pub static READ: [(&str, Read); TERMS.len()] = [
    ("LIMIT", Read::Number(&LIMIT, |options| &mut options.change.limit)),
    ("GRABS", Read::Number(&GRABS, |options| &mut options.change.grabs)),
    ("HOLD", Read::Number(&HOLD, |options| &mut options.change.hold_ms)),
    ("OPENAT", Read::Number(&OPENAT, |options| &mut options.change.open_at)),
    ("CLOSEAT", Read::Number(&CLOSEAT, |options| &mut options.change.close_at)),
    ("OUTBOX", Read::Other(read_outbox)),
    ("DRAW", Read::Other(read_draw)),
    ("MIN", Read::Number(&MIN, |options| &mut options.min)),
    ("EVERY", Read::Number(&EVERY, |options| &mut options.every)),
    ("OFFSET", Read::Number(&OFFSET, |options| &mut options.offset)),
    ("LASTS", Read::Number(&LASTS, |options| &mut options.lasts)),
    ("CARRY", Read::Other(read_carry)),
    ("ALLOWLIST", Read::Switch(|options| &mut options.change.admission.allowlist)),
    ("MOD", Read::Other(read_modulo)),
    ("SAMPLE", Read::Number(&SAMPLE, |options| &mut options.permille)),
    ("SALT", Read::Other(read_salt)),
    ("ADMIT", Read::Number(&ADMIT, |options| &mut options.change.admission.admit)),
    ("MASK", Read::Switch(|options| &mut options.change.admission.mask)),
    ("PART", Read::Number(&PART, |options| &mut options.part)),
    ("OF", Read::Number(&OF, |options| &mut options.parts)),
    ("SPLIT", Read::Other(read_split)),
    ("TOTAL", Read::Number(&TOTAL, |options| &mut options.total)),
    ("WAITLIST", Read::Number(&WAITLIST, |options| &mut options.change.waitlist.max)),
    ("OFFER", Read::Number(&OFFER, |options| &mut options.change.waitlist.offer_ms)),
    ("OVERTAKE", Read::Number(&OVERTAKE, |options| &mut options.change.waitlist.overtake)),
    ("NUMBERED", Read::Other(read_numbered)),
];

fn read_outbox(options: &mut Options, args: &mut Args<'_>) -> Parsed<()> {
    options.change.outbox = Some(args.id(&OUTBOX)?.into());
    Ok(())
}

fn read_carry(options: &mut Options, _: &mut Args<'_>) -> Parsed<()> {
    options.carry = true;
    Ok(())
}

fn read_numbered(options: &mut Options, _: &mut Args<'_>) -> Parsed<()> {
    options.numbered = true;
    Ok(())
}

fn read_salt(options: &mut Options, args: &mut Args<'_>) -> Parsed<()> {
    options.salt = Some(word(args, &SALT)?.into());
    Ok(())
}

fn read_split(options: &mut Options, args: &mut Args<'_>) -> Parsed<()> {
    options.split_id = Some(word(args, &SPLIT)?.into());
    Ok(())
}

/// An operand of any text but OUTBOX, which would hide the stream from the server's key specs. The
/// server compares words up to their first NUL.
fn word<'a>(args: &mut Args<'a>, row: &'static Arg) -> Parsed<&'a [u8]> {
    let text = args.id(row)?;
    let seen = text.split(|byte| *byte == 0).next().unwrap_or_default();
    match seen.eq_ignore_ascii_case(b"OUTBOX") {
        true => Err(errors::RESERVED.into()),
        false => Ok(text),
    }
}

/// `m r [r ...]`; m 0 alone switches MOD off.
fn read_modulo(options: &mut Options, args: &mut Args<'_>) -> Parsed<()> {
    let modulus = args.number(&MODULUS)?;
    let mut residues = Vec::new();
    while let Some(residue) = args.next_number(&REMAINDER)? {
        residues.push(residue);
    }
    let is_off = modulus == 0 && residues.is_empty();
    let modulo = (!is_off).then(|| Box::new(Modulo::new(modulus, residues)));
    options.change.admission.modulo = Some(modulo);
    Ok(())
}

/// `PACKETS n`, `UNIFORM lo hi`, `EQUAL n` or `LIST a1 a2 ...`; MIN is an option of its own.
fn read_draw(options: &mut Options, args: &mut Args<'_>) -> Parsed<()> {
    let mode = args.bytes()?;
    let is = |name: &str| mode.eq_ignore_ascii_case(name.as_bytes());
    options.draw = Some(if is("PACKETS") {
        Draw::Packets { packets: args.number(&PACKETS)?, min: 1 }
    } else if is("UNIFORM") {
        let low = args.next_number(&LOW)?.ok_or(errors::UNIFORM_NEEDS_TWO)?;
        let high = args.next_number(&HIGH)?.ok_or(errors::UNIFORM_NEEDS_TWO)?;
        Draw::Uniform { low, high }
    } else if is("EQUAL") {
        Draw::Equal { packets: args.number(&EQUAL)? }
    } else if is("LIST") {
        options.amounts.push(args.number(&AMOUNT)?);
        while let Some(amount) = args.next_number(&AMOUNT)? {
            options.amounts.push(amount);
        }
        Draw::list(&options.amounts)
    } else {
        return Err(args.stray());
    });
    Ok(())
}

/// The arguments of INIT after the supply, and of ALTER after the key.
pub const INIT_ARGS: &[Arg] = &[
    vocabulary::KEY,
    SUPPLY,
    LIMIT,
    GRABS,
    HOLD,
    OPENAT,
    CLOSEAT,
    OUTBOX,
    DRAWS,
    ROUNDS,
    ALLOWLIST,
    MOD,
    SHARE,
    ADMIT,
    MASK,
    SPLITS,
    NUMBERED,
    WAITING,
];

/// The options that ALTER takes.
pub const ALTER_ARGS: &[Arg] = &[
    vocabulary::KEY,
    LIMIT,
    GRABS,
    HOLD,
    OPENAT,
    CLOSEAT,
    OUTBOX,
    ALLOWLIST,
    MOD,
    SHARE,
    ADMIT,
    MASK,
    WAITING,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The option tokens of these arguments, those inside blocks included.
    fn tokens(args: &[Arg], found: &mut Vec<&'static str>) {
        for arg in args {
            found.extend(arg.token);
            tokens(arg.children, found);
        }
    }

    #[test]
    fn every_term_is_read() {
        assert!(TERMS.iter().map(|term| term.option).eq(READ.iter().map(|(option, _)| *option)));
    }

    #[test]
    fn every_row_is_an_option_of_the_docs_and_the_other_way_round() {
        for (args, is_init) in [(INIT_ARGS, true), (ALTER_ARGS, false)] {
            let mut found = Vec::new();
            tokens(args, &mut found);
            // DRAW is followed by its mode, and OFF is a value.
            found.retain(|token| !["OFF", "PACKETS", "UNIFORM", "EQUAL", "LIST"].contains(token));
            found.dedup();
            let rows = TERMS.iter().filter(|term| is_init || term.is_altered);
            let mut rows: Vec<_> = rows.map(|term| term.option).collect();
            found.sort_unstable();
            found.dedup();
            rows.sort_unstable();
            assert_eq!(found, rows);
        }
    }
}
