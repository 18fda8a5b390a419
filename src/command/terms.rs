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
    Arg::new("outbox", ArgKind::OutboxKey).shown("stream").token("OUTBOX").optional();
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
        .optional(),
    Arg::block(
        "mod",
        &[
            Arg::new("modulus", ArgKind::Integer).shown("m").token("MOD"),
            Arg::new("remainder", ArgKind::Integer).shown("r").multiple().optional(),
        ],
    )
    .optional(),
    Arg::block(
        "sample",
        &[
            Arg::new("permille", ArgKind::Integer).token("SAMPLE"),
            Arg::new("salt", ArgKind::Str).shown("s").token("SALT").optional(),
        ],
    )
    .optional(),
    Arg::new("admit", ArgKind::Integer).shown("n").token("ADMIT").optional(),
    Arg::block("mask", &[Arg::pure("on", "MASK"), Arg::pure("off", "OFF").optional()]).optional(),
];

/// How amounts are drawn, for the table.
const DRAW: Arg = Arg::one_of(
    "draw",
    &[
        Arg::block(
            "packets",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::new("packets", ArgKind::Integer).shown("n").token("PACKETS"),
                Arg::new("min", ArgKind::Integer).shown("m").token("MIN").optional(),
            ],
        ),
        Arg::block(
            "uniform",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::pure("mode", "UNIFORM"),
                Arg::new("lo", ArgKind::Integer),
                Arg::new("hi", ArgKind::Integer),
            ],
        ),
        Arg::block(
            "equal",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::new("packets", ArgKind::Integer).shown("n").token("EQUAL"),
            ],
        ),
        Arg::block(
            "list",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::pure("mode", "LIST"),
                Arg::new("amount", ArgKind::Integer).multiple(),
            ],
        ),
    ],
)
.optional();

/// How a sale repeats, for the table.
const ROUNDS: Arg = Arg::block(
    "rounds",
    &[
        Arg::new("every", ArgKind::Integer).shown("period").token("EVERY"),
        Arg::new("offset", ArgKind::Integer).shown("ms").token("OFFSET").optional(),
        Arg::new("lasts", ArgKind::Integer).shown("ms").token("LASTS").optional(),
        Arg::pure("carry", "CARRY").optional(),
    ],
)
.optional();

/// The arguments of INIT behind the supply, and of ALTER behind the key.
pub const INIT_ARGS: &[Arg] = &[
    vocabulary::KEY,
    Arg::new("supply", ArgKind::Integer),
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
