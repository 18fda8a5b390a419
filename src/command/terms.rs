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
    /// Index of the outbox's name among the arguments, if given.
    pub(super) outbox_at: Option<usize>,
}

/// Units for sale.
pub const SUPPLY: Arg = Arg::new("supply", ArgKind::Integer)
    .takes(0, INTEGER_MAX)
    .about("units for sale, of each round with EVERY; 0 or more");
const LIMIT: Arg = number("limit", "LIMIT", 0, INTEGER_MAX)
    .optional()
    .about("units a user may have in live grants (a new sale: 1; 0: no limit)");
const GRABS: Arg = number("grabs", "GRABS", 0, INTEGER_MAX)
    .optional()
    .about("live grants a user may have (a new sale: 0, no limit)");
/// How long grants are held.
pub const HOLD: Arg = span("hold", "HOLD", 0, HOLD_MS_MAX).optional().about(
    "how long a grant is reserved before it returns by itself, at most 30 days (0: sold at once)",
);
/// The stream of entries.
pub const OUTBOX: Arg = Arg::new("outbox", ArgKind::OutboxKey)
    .shown("stream")
    .token("OUTBOX")
    .takes(1, OUTBOX_BYTES_MAX as u64)
    .optional()
    .about(
        "every change appends an entry to this stream in the same step; the stream is made if it \
         is missing. It can be given once and not be changed",
    );
const OPENAT: Arg = moment("openat", "OPENAT")
    .optional()
    .about("first moment a GRAB is taken, in Unix milliseconds (a new sale: 0, at once)");
const CLOSEAT: Arg = moment("closeat", "CLOSEAT")
    .optional()
    .about("first moment a GRAB is no longer taken, in Unix milliseconds (a new sale: 0, never)");

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
        );
const MODULUS: Arg = number("modulus", "MOD", 0, INTEGER_MAX).shown("m");
const REMAINDER: Arg =
    Arg::new("remainder", ArgKind::Integer).shown("r").takes(0, INTEGER_MAX).multiple().optional();
const MOD: Arg = Arg::block("mod", &[MODULUS, REMAINDER]).optional().about(
    "only users whose number modulo m is one of the remainders may buy, others are DENIED: \
     `MOD 2 1` is odd numbers. A decimal id is its own number, any other one a keyed hash (0: \
     everybody)",
);
/// The share of the users who may buy.
pub const SAMPLE: Arg =
    Arg::new("permille", ArgKind::Integer).token("SAMPLE").takes(0, PERMILLE_ALL);
/// The salt of the share.
pub const SALT: Arg = Arg::new("salt", ArgKind::Str)
    .shown("s")
    .token("SALT")
    .takes(0, SALT_BYTES_MAX as u64)
    .optional()
    .about("another salt draws another share of the users, at most 128 bytes");
const SHARE: Arg = Arg::block("sample", &[SAMPLE, SALT]).optional().about(
    "this share of the users may buy, in thousandths, others are BUSY. A keyed hash of the id \
     decides, so asking again does not help (1000: everybody)",
);
const ADMIT: Arg = number("admit", "ADMIT", 0, INTEGER_MAX).optional().about(
    "the first n users who ask while the sale is open may buy, later ones are BUSY (0: everybody)",
);
const MASK: Arg = Arg::block(
    "mask",
    &[Arg::pure("on", "MASK"), Arg::pure("off", "OFF").optional()],
)
.optional()
.about(
    "DENIED and BUSY are answered as `SOLDOUT 1`, so that nobody learns why (OFF: they are told)",
);

/// Most waiters.
pub const WAITLIST: Arg =
    Arg::new("max", ArgKind::Integer).token("WAITLIST").takes(0, WAITERS_MAX).about(
        "so many may wait, at most 10000000, by `SECKILL.GRAB ... WAIT`; what comes back is \
         offered to them (a new sale: 0, nobody waits). Not with DRAW or EVERY",
    );
/// How long an offer stands, in ms.
pub const OFFER: Arg = span("offer", "OFFER", 0, HOLD_MS_MAX)
    .optional()
    .about("how long an offer stands, at most 30 days (default 0: as long as HOLD)");
const OVERTAKE: Arg = number("overtake", "OVERTAKE", 0, INTEGER_MAX).optional().about(
    "how often the first one may be passed by those who ask for less, before units collect for \
     them (default 16)",
);
const WAITING: Arg = Arg::block("waitlist", &[WAITLIST, OFFER, OVERTAKE]).optional();

const DRAW: Arg = Arg::pure("draw", "DRAW");
/// Packets that the supply is cut into.
pub const PACKETS: Arg = number("packets", "PACKETS", 1, GRANTS_MAX);
/// The smallest packet.
pub const MIN: Arg = number("min", "MIN", 1, INTEGER_MAX)
    .shown("m")
    .optional()
    .about("units that every packet has at least (default 1)");
const LOW: Arg = Arg::new("lo", ArgKind::Integer).takes(1, INTEGER_MAX);
const HIGH: Arg = Arg::new("hi", ArgKind::Integer).takes(1, INTEGER_MAX);
const EQUAL: Arg = number("packets", "EQUAL", 1, GRANTS_MAX);
/// One of a list of amounts.
pub const AMOUNT: Arg = Arg::new("amount", ArgKind::Integer).takes(1, INTEGER_MAX).multiple();
const DRAWS: Arg = Arg::one_of(
    "draw",
    &[
        Arg::block("packets", &[DRAW, PACKETS, MIN]).about(
            "the supply is cut into n packets of random size, one for each GRAB: at most twice the \
             mean of what is left. With all n taken nothing is left",
        ),
        Arg::block("uniform", &[DRAW, Arg::pure("mode", "UNIFORM"), LOW, HIGH])
            .about("each GRAB gets a random amount from lo to hi, until the supply is used up"),
        Arg::block("equal", &[DRAW, EQUAL]).about(
            "n packets of the same size, the first ones have one unit more if it does not \
             divide",
        ),
        Arg::block("list", &[DRAW, Arg::pure("mode", "LIST"), AMOUNT])
            .about("each GRAB gets the next amount of the list; supply is their sum"),
    ],
)
.optional();

/// The period of a repeating sale.
pub const EVERY: Arg = span("every", "EVERY", 1, TIME_MS_MAX).about(
    "the sale repeats with this period: each round begins with the whole supply and clean \
     allowances",
);
const OFFSET: Arg = span("offset", "OFFSET", 0, TIME_MS_MAX)
    .optional()
    .about("rounds begin so long after each multiple of the period in Unix time (default 0)");
const LASTS: Arg = span("lasts", "LASTS", 1, TIME_MS_MAX).optional().about(
    "how long each round is open; then GRAB is NOTOPEN until the next (default: the period)",
);
const CARRY: Arg = Arg::pure("carry", "CARRY")
    .optional()
    .about("what a round leaves unsold is added to the next, instead of dropped");
const ROUNDS: Arg = Arg::block("rounds", &[EVERY, OFFSET, LASTS, CARRY]).optional();

const PART: Arg =
    number("part", "PART", 0, PARTS_MAX as u64 - 1).shown("i").about("its number, from 0");
const OF: Arg = number("parts", "OF", 1, PARTS_MAX as u64)
    .shown("b")
    .about("how many parts there are, at most 1024");
/// The id of the split.
pub const SPLIT: Arg = Arg::new("id", ArgKind::Str)
    .token("SPLIT")
    .takes(1, SPLIT_ID_BYTES_MAX as u64)
    .about("names the split: 1 to 64 bytes, new for each split and the same in its parts");
const TOTAL: Arg = number("total", "TOTAL", 0, INTEGER_MAX)
    .about("what all parts together begin with, the same in each of them");
const SPLITS: Arg = Arg::block("split", &[PART, OF, SPLIT, TOTAL]).optional().about(
    "one part of a sale that many nodes share (docs/parts.md): it serves the users whose home it \
     is, with its own share of the units",
);

const NUMBERED: Arg = Arg::pure("numbered", "NUMBERED").optional().about(
    "each unit has a number, from 1 on: a seat, a code, a raffle number (docs/units.md). At most \
     10000000. Not with DRAW, EVERY or PART",
);

/// How the value of an option is read.
pub enum Read {
    /// A number within the row's bounds.
    Number(&'static Arg, fn(&mut Options) -> &mut Option<u64>),
    /// Nothing, or OFF.
    Switch(fn(&mut Options) -> &mut Option<bool>),
    /// By a function of its own.
    Other(fn(&mut Options, &mut Args<'_>) -> Parsed<()>),
}

/// How each option of [`TERMS`] is read, in its order. Options may stand in any order.
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
    options.outbox_at = Some(args.position());
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
    options.salt = Some(args.id(&SALT)?.into());
    Ok(())
}

fn read_split(options: &mut Options, args: &mut Args<'_>) -> Parsed<()> {
    options.split_id = Some(args.id(&SPLIT)?.into());
    Ok(())
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

    /// The tokens of these arguments that are options, those inside blocks included.
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
