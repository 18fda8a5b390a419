//! Every limit of the domain, in one place. Names end in their unit.

/// Largest integer a caller may send or receive: every client language represents it exactly.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// Longest user id.
pub const USER_BYTES_MAX: usize = 256;

/// Longest request id.
pub const REQ_BYTES_MAX: usize = 128;

/// Longest name of an outbox stream.
pub const OUTBOX_BYTES_MAX: usize = 1024;

/// Longest hold: 30 days.
pub const HOLD_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;

/// Most grants of a sale: a seq fits in 32 bits.
pub const GRANTS_MAX: u64 = u32::MAX as u64;

/// Largest rev at which a command is accepted, so that all its entries can still be numbered. One
/// command may expire all grants and make one, and each entry may be followed by a stock
/// transition.
pub const REV_LAST: u64 = INTEGER_MAX - 4 * GRANTS_MAX;

/// Most parts of one split.
pub const PARTS_MAX: u16 = 1024;

/// Longest id of a split.
pub const SPLIT_ID_BYTES_MAX: usize = 64;

/// Restock ids that a sale keeps.
pub const RESTOCKS_KEPT_MAX: usize = 1024;

/// Latest time a sale may store, with room for the longest hold in the 48 bits of a deadline.
pub const TIME_MS_MAX: u64 = (1 << 47) - 1;

/// Earliest time that a caller may give, 3 March 1973: a smaller number was meant in seconds.
pub const MOMENT_MS_MIN: u64 = 100_000_000_000;

/// Most keys of one MGRAB.
pub const MGRAB_KEYS_MAX: usize = 64;

/// Most effects in one replicated command.
pub const EFFECTS_PER_APPLY_MAX: usize = 1000;

/// Most due holds that one buyer's call expires, if the units it asks for set no lower limit.
pub const EXPIRIES_PER_CALL_MAX: usize = 1000;

/// Most fences of a sale.
pub const FENCES_KEPT_MAX: usize = 65_536;

/// Most fences forgotten while a new one is applied.
pub const FENCES_FORGOTTEN_MAX: usize = 64;

/// Lifetime of a fence: ten minutes.
pub const FENCE_MS: u64 = 10 * 60 * 1000;

/// Most amounts of DRAW LIST: INIT is one command and its effect one string.
pub const DRAW_AMOUNTS_MAX: u64 = 100_000;

/// Fences in one piece of a snapshot: with the longest ids the piece stays within its limit.
pub const FENCES_PER_PIECE: usize = 256;

/// Amounts of a list in one piece of a snapshot.
pub const AMOUNTS_PER_PIECE: usize = 4096;

/// Most users of one ALLOW or DENY.
pub const USERS_PER_COMMAND_MAX: usize = 100_000;

/// Users in one effect of ALLOW or DENY. The number equals a snapshot piece's. Each piece counts as
/// a version, and a sale must never have more pieces than versions.
pub const USERS_PER_EFFECT_MAX: usize = USERS_PER_PIECE;

/// Bytes of one list of users: positions fit in 32 bits with room for one largest command.
pub const LISTED_BYTES_MAX: u64 = 7 << 29;

/// Users in one piece of a snapshot: with the longest ids the piece stays within its limit.
pub const USERS_PER_PIECE: usize = 480;

/// Most residues of MOD.
pub const MOD_RESIDUES_MAX: usize = 1000;

/// SAMPLE that admits everybody, in permille.
pub const PERMILLE_ALL: u64 = 1000;

/// Longest SALT.
pub const SALT_BYTES_MAX: usize = 128;

/// Most entries of a waiting list.
pub const WAITERS_MAX: u64 = 10_000_000;

/// Times that the head of a waiting list may be passed if OVERTAKE is not given.
pub const OVERTAKE_USUAL: u64 = 16;

/// Most offers and drops in one step; the sweeper does the rest.
pub const OFFERS_PER_STEP_MAX: usize = 64;

/// Waiters in one piece of a snapshot: with the longest ids the piece stays within its limit.
pub const WAITERS_PER_PIECE: usize = 256;

/// Trimmed grants in one piece of a snapshot.
pub const TRIMS_PER_PIECE: usize = 4096;

/// Most units of a sale that numbers them, all restocks included.
pub const UNITS_MAX: u64 = 10_000_000;

/// Most units of one grant of a sale that numbers its units.
pub const UNITS_PER_GRANT_MAX: usize = 100;

/// Most numbers that the expiries of one call give back.
pub const UNITS_PER_CALL_MAX: u32 = 10_000;

/// Numbers that UNITS shows if no count is given.
pub const UNITS_SHOWN_DEFAULT: u64 = 1000;

/// Rounds whose totals a sale shows, the current one included.
pub const ROUND_TOTALS_MAX: usize = 100;

/// Heap blocks of each kind that one step frees of dropped rounds and of emptied lists.
pub const FREED_BLOCKS_PER_STEP: usize = 16;

/// Grant rows in one piece of a snapshot.
pub const GRANTS_PER_PIECE_MAX: usize = 1000;

/// Size at which a piece of a snapshot is closed, so that saving, loading and rewriting never
/// handle one huge string.
pub const PIECE_BYTES_TARGET: usize = 64 * 1024;

/// Longest piece that is written: the target plus one largest row.
pub const PIECE_BYTES_MAX: usize = 2 * PIECE_BYTES_TARGET;

/// Most grants that a WINNERS page reads, and most that USER lists.
pub const PAGE_ROWS_MAX: u64 = 10_000;

/// Grants that a WINNERS page or USER lists if no count is given.
pub const PAGE_ROWS_DEFAULT: u64 = 100;

/// Grants in one chunk of the log.
pub const GRANTS_PER_CHUNK: usize = 4096;

/// Bytes of one page of grant records.
pub const PAGE_BYTES: usize = 64 * 1024;

/// Most slots of the user index that loading allocates by the snapshot's count, before it has seen
/// the grants. The slots are enough for a million users and take 13 MB.
pub const BULK_LOAD_SLOTS_MAX: usize = 3 << 19;

/// Slots of the largest shard of the user index; a fuller shard is split in two.
pub const SLOTS_PER_SHARD_MAX: usize = 8192;

// A piece has room for at least one largest row, and a page for at least one largest record. The
// sizes of both fit in 32 bits.
const _: () = assert!(USER_BYTES_MAX + REQ_BYTES_MAX + 64 < PIECE_BYTES_MAX - PIECE_BYTES_TARGET);
const _: () = assert!(USER_BYTES_MAX + REQ_BYTES_MAX + 64 < PAGE_BYTES);
const _: () = assert!(AMOUNTS_PER_PIECE * 8 <= PIECE_BYTES_TARGET && INTEGER_MAX < 1 << 56);
const _: () = assert!(TRIMS_PER_PIECE * (5 + 8) <= PIECE_BYTES_TARGET);
const _: () = assert!(USERS_PER_PIECE * (USER_BYTES_MAX + 4) < PIECE_BYTES_MAX);
const _: () = assert!(WAITERS_PER_PIECE * (USER_BYTES_MAX + REQ_BYTES_MAX + 64) < PIECE_BYTES_MAX);
const _: () = assert!(USERS_PER_COMMAND_MAX <= USERS_PER_EFFECT_MAX * EFFECTS_PER_APPLY_MAX);
const _: () = assert!(LISTED_BYTES_MAX < u32::MAX as u64);
const _: () = assert!(DRAW_AMOUNTS_MAX <= GRANTS_MAX);
const _: () = assert!(USER_BYTES_MAX <= 256 && REQ_BYTES_MAX <= 256);
const _: () = assert!(GRANTS_PER_CHUNK.is_power_of_two());
const _: () = assert!(PAGE_BYTES.is_power_of_two() && PAGE_BYTES <= 1 << 16);
const _: () = assert!(PAGE_ROWS_DEFAULT <= PAGE_ROWS_MAX);
const _: () = assert!(TIME_MS_MAX + HOLD_MS_MAX < 1 << 48);
