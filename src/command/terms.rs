//! The options of INIT and ALTER, as the table has them: everything that an operator can set.

use super::options::outbox_index;
use super::vocabulary::{self, Arg, ArgKind, KeyOption, KeySpec};
use crate::server::module::spec::{KEY_CHANGE, KEY_INSERT, KEY_UPDATE};

const LIMIT: Arg = Arg::new("limit", ArgKind::Integer)
    .shown("n")
    .token("LIMIT")
    .optional()
    .about("units a user may have in live grants (a new sale: 1; 0: no limit)");
const GRABS: Arg = Arg::new("grabs", ArgKind::Integer)
    .shown("n")
    .token("GRABS")
    .optional()
    .about("live grants a user may have (a new sale: 0, no limit)");
const HOLD: Arg = Arg::new("hold", ArgKind::Integer).shown("ms").token("HOLD").optional().about(
    "how long a grant is reserved before it returns by itself, at most 30 days (0: sold at once)",
);
const OUTBOX: Arg =
    Arg::new("outbox", ArgKind::OutboxKey).shown("stream").token("OUTBOX").optional().about(
        "every change appends an entry to this stream in the same step; the stream is made if it \
         is missing. It can be given once and not be changed",
    );
const OPENAT: Arg = Arg::new("openat", ArgKind::UnixTime)
    .shown("ms")
    .token("OPENAT")
    .optional()
    .about("first moment a GRAB is taken, in Unix milliseconds (a new sale: 0, at once)");
const CLOSEAT: Arg =
    Arg::new("closeat", ArgKind::UnixTime).shown("ms").token("CLOSEAT").optional().about(
        "first moment a GRAB is no longer taken, in Unix milliseconds (a new sale: 0, never)",
    );

/// Terms of admission, for the table.
const ADMISSION: [Arg; 5] = [
    Arg::block("allowlist", &[Arg::pure("on", "ALLOWLIST"), Arg::pure("off", "OFF").optional()])
        .optional()
        .about(
            "only users whom `SECKILL.ALLOW` has listed may buy; others are DENIED (OFF: \
             everybody)",
        ),
    Arg::block(
        "mod",
        &[
            Arg::new("modulus", ArgKind::Integer).shown("m").token("MOD"),
            Arg::new("remainder", ArgKind::Integer).shown("r").multiple().optional(),
        ],
    )
    .optional()
    .about(
        "only users whose number modulo m is one of the remainders may buy, others are DENIED: \
         `MOD 2 1` is odd numbers. A decimal id is its own number, any other one a keyed hash \
         (0: everybody)",
    ),
    Arg::block(
        "sample",
        &[
            Arg::new("permille", ArgKind::Integer).token("SAMPLE"),
            Arg::new("salt", ArgKind::Str)
                .shown("s")
                .token("SALT")
                .optional()
                .about("another salt draws another share of the users, at most 128 bytes"),
        ],
    )
    .optional()
    .about(
        "this share of the users may buy, in thousandths, others are BUSY. A keyed hash of the id \
         decides, so asking again does not help (1000: everybody)",
    ),
    Arg::new("admit", ArgKind::Integer).shown("n").token("ADMIT").optional().about(
        "the first n users who ask while the sale is open may buy, later ones are BUSY (0: \
         everybody)",
    ),
    Arg::block("mask", &[Arg::pure("on", "MASK"), Arg::pure("off", "OFF").optional()])
        .optional()
        .about(
            "DENIED and BUSY are answered as `SOLDOUT 1`, so that nobody learns why (OFF: they \
             are told)",
        ),
];

/// Who waits for what comes back, for the table.
const WAITLIST: Arg = Arg::block(
    "waitlist",
    &[
        Arg::new("max", ArgKind::Integer).token("WAITLIST").about(
            "so many may wait, at most 10000000, by `SECKILL.GRAB ... WAIT`; what comes back is \
             offered to them (a new sale: 0, nobody waits). Not with DRAW or EVERY",
        ),
        Arg::new("offer", ArgKind::Integer)
            .shown("ms")
            .token("OFFER")
            .optional()
            .about("how long an offer stands, at most 30 days (default 0: as long as HOLD)"),
        Arg::new("overtake", ArgKind::Integer).shown("n").token("OVERTAKE").optional().about(
            "how often the first one may be passed by those who ask for less, before units \
             collect for them (default 16)",
        ),
    ],
)
.optional();

/// How amounts are drawn, for the table.
const DRAW: Arg = Arg::one_of(
    "draw",
    &[
        Arg::block(
            "packets",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::new("packets", ArgKind::Integer).shown("n").token("PACKETS"),
                Arg::new("min", ArgKind::Integer)
                    .shown("m")
                    .token("MIN")
                    .optional()
                    .about("units that every packet has at least (default 1)"),
            ],
        )
        .about(
            "the supply is cut into n packets of random size, one for each GRAB: at most twice the \
             mean of what is left. With all n taken nothing is left",
        ),
        Arg::block(
            "uniform",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::pure("mode", "UNIFORM"),
                Arg::new("lo", ArgKind::Integer),
                Arg::new("hi", ArgKind::Integer),
            ],
        )
        .about("each GRAB gets a random amount from lo to hi, until the supply is used up"),
        Arg::block(
            "equal",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::new("packets", ArgKind::Integer).shown("n").token("EQUAL"),
            ],
        )
        .about(
            "n packets of the same size, the first ones have one unit more if it does not \
             divide",
        ),
        Arg::block(
            "list",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::pure("mode", "LIST"),
                Arg::new("amount", ArgKind::Integer).multiple(),
            ],
        )
        .about("each GRAB gets the next amount of the list; supply is their sum"),
    ],
)
.optional();

/// How a sale repeats, for the table.
const ROUNDS: Arg = Arg::block(
    "rounds",
    &[
        Arg::new("every", ArgKind::Integer).shown("period").token("EVERY").about(
            "the sale repeats with this period in milliseconds: each round begins with the whole \
             supply and clean allowances",
        ),
        Arg::new("offset", ArgKind::Integer).shown("ms").token("OFFSET").optional().about(
            "rounds begin so long after each multiple of the period in Unix time (default 0)",
        ),
        Arg::new("lasts", ArgKind::Integer).shown("ms").token("LASTS").optional().about(
            "how long each round is open; then GRAB is NOTOPEN until the next (default: the \
             period)",
        ),
        Arg::pure("carry", "CARRY")
            .optional()
            .about("what a round leaves unsold is added to the next, instead of dropped"),
    ],
)
.optional();

/// Which part of a split the sale is, for the table.
const PART: Arg = Arg::block(
    "split",
    &[
        Arg::new("part", ArgKind::Integer).shown("i").token("PART").about("its number, from 0"),
        Arg::new("parts", ArgKind::Integer)
            .shown("b")
            .token("OF")
            .about("how many parts there are, at most 1024"),
        Arg::new("id", ArgKind::Str)
            .token("SPLIT")
            .about("names the split: 1 to 64 bytes, new for each split and the same in its parts"),
        Arg::new("total", ArgKind::Integer)
            .shown("n")
            .token("TOTAL")
            .about("what all parts together begin with, the same in all of them"),
    ],
)
.optional()
.about(
    "one part of a sale that many nodes share (docs/parts.md): it serves the users whose home it \
     is, with its own share of the units",
);

/// The arguments of INIT behind the supply, and of ALTER behind the key.
pub const INIT_ARGS: &[Arg] = &[
    vocabulary::KEY,
    Arg::new("supply", ArgKind::Integer)
        .about("units for sale, of each round with EVERY; 0 or more"),
    LIMIT,
    GRABS,
    HOLD,
    OPENAT,
    CLOSEAT,
    OUTBOX,
    DRAW,
    ROUNDS,
    ADMISSION[0],
    ADMISSION[1],
    ADMISSION[2],
    ADMISSION[3],
    ADMISSION[4],
    PART,
    WAITLIST,
];

/// The same without what can't be altered.
pub const ALTER_ARGS: &[Arg] = &[
    vocabulary::KEY,
    LIMIT,
    GRABS,
    HOLD,
    OPENAT,
    CLOSEAT,
    OUTBOX,
    ADMISSION[0],
    ADMISSION[1],
    ADMISSION[2],
    ADMISSION[3],
    ADMISSION[4],
    WAITLIST,
];

/// The key of a command that creates a sale.
pub const CREATES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_INSERT), outbox_from(3)];
/// The keys of ALTER: the sale, and the outbox if it is given one.
pub const ALTERS: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_UPDATE), outbox_from(2)];

/// The outbox among options that begin at `pos`.
const fn outbox_from(pos: i32) -> KeySpec {
    let find = if pos == 3 { find_outbox_of_init } else { find_outbox_of_alter };
    let option = Some(KeyOption { name: "OUTBOX", find });
    KeySpec { option, ..KeySpec::at(pos, KEY_CHANGE | KEY_INSERT) }
}

fn find_outbox_of_init(args: &[&[u8]]) -> Option<usize> {
    outbox_index(args, 2)
}

fn find_outbox_of_alter(args: &[&[u8]]) -> Option<usize> {
    outbox_index(args, 1)
}
