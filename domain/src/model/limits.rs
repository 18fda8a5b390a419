//! Every bound of the domain, in one place. Names end in their unit.

/// Largest integer a caller may send or receive: every client language holds it exactly.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// Longest user id.
pub const USER_BYTES_MAX: usize = 256;

/// Longest request id.
pub const REQ_BYTES_MAX: usize = 128;

/// Longest name of an outbox stream.
pub const OUTBOX_BYTES_MAX: usize = 1024;

/// Longest hold: 30 days.
pub const HOLD_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;

/// Grants a sale may have in all: a seq fits 32 bits.
pub const GRANTS_MAX: u64 = u32::MAX as u64;

/// Largest rev that a command may find: whatever it does, its entries can still be numbered. All
/// grants may expire and one be made, and each entry may be followed by a transition.
pub const REV_LAST: u64 = INTEGER_MAX - 4 * GRANTS_MAX;

/// Parts of one split.
pub const PARTS_MAX: u16 = 1024;

/// Longest id of a split.
pub const SPLIT_ID_BYTES_MAX: usize = 64;

/// Restock ids a sale remembers.
pub const RESTOCKS_KEPT_MAX: usize = 1024;

/// Latest time a sale may store, with room for the longest hold in the 48 bits of a deadline.
pub const TIME_MS_MAX: u64 = (1 << 47) - 1;

/// Earliest moment that a caller may name, 3 March 1973: what is below was meant in seconds.
pub const MOMENT_MS_MIN: u64 = 100_000_000_000;

/// Keys of one MGRAB.
pub const MGRAB_KEYS_MAX: usize = 64;

/// Effects in one replicated command.
pub const EFFECTS_PER_APPLY_MAX: usize = 1000;

/// Due holds that one call of a buyer writes as expired where what it asks for does not bound them.
pub const EXPIRIES_PER_CALL_MAX: usize = 1000;

/// Fences a sale keeps.
pub const FENCES_KEPT_MAX: usize = 65_536;

/// Fences that are forgotten at the most while a new one is applied.
pub const FENCES_FORGOTTEN_MAX: usize = 64;

/// How long a fence stands: ten minutes.
pub const FENCE_MS: u64 = 10 * 60 * 1000;

/// Amounts that DRAW LIST takes: INIT is one command and its effect one string.
pub const DRAW_AMOUNTS_MAX: u64 = 100_000;

/// Fences in one piece of a snapshot: with the longest ids it stays within the bound of a piece.
pub const FENCES_PER_PIECE: usize = 256;

/// Amounts of a list in one piece of a snapshot.
pub const AMOUNTS_PER_PIECE: usize = 4096;

/// Users that one ALLOW or DENY may name.
pub const USERS_PER_COMMAND_MAX: usize = 100_000;

/// Users in one effect of ALLOW or DENY. As many as in one piece of a snapshot: a sale has never
/// more pieces than versions, because each piece counts as one.
pub const USERS_PER_EFFECT_MAX: usize = USERS_PER_PIECE;

/// Bytes of one list of users: places fit 32 bits with room for one largest command.
pub const LISTED_BYTES_MAX: u64 = 7 << 29;

/// Users in one piece of a snapshot: with the longest ids it stays within the bound of a piece.
pub const USERS_PER_PIECE: usize = 480;

/// Residues that MOD may name.
pub const MOD_RESIDUES_MAX: usize = 1000;

/// SAMPLE of everybody.
pub const PERMILLE_ALL: u64 = 1000;

/// Longest SALT.
pub const SALT_BYTES_MAX: usize = 128;

/// Entries of a waiting list.
pub const WAITERS_MAX: u64 = 10_000_000;

/// How often the head of a waiting list may be passed where OVERTAKE is not said.
pub const OVERTAKE_USUAL: u64 = 16;

/// Offers and drops that one step makes; the sweeper goes on.
pub const OFFERS_PER_STEP_MAX: usize = 64;

/// Entries of a waiting list in one piece of a snapshot: with the longest ids it stays within the
/// bound of a piece.
pub const WAITERS_PER_PIECE: usize = 256;

/// Rounds whose totals a sale shows, the stored one included.
pub const ROUND_TOTALS_MAX: usize = 100;

/// Blocks of memory that one step gives back of a round that is no longer kept.
pub const SHED_BLOCKS_PER_STEP: usize = 16;

/// Grant rows in one piece of a snapshot.
pub const GRANTS_PER_PIECE_MAX: usize = 1000;

/// A piece of a snapshot is closed when it reaches this size, so that neither saving, loading nor
/// rewriting ever handles one huge string.
pub const PIECE_BYTES_TARGET: usize = 64 * 1024;

/// Longest piece that is written: the target plus one largest row.
pub const PIECE_BYTES_MAX: usize = 2 * PIECE_BYTES_TARGET;

/// Rows a WINNERS page may look at, and rows USER may list.
pub const PAGE_ROWS_MAX: u64 = 10_000;

/// Rows a WINNERS page or USER lists when no count is given.
pub const PAGE_ROWS_DEFAULT: u64 = 100;

/// Grants in one chunk of the log.
pub const GRANTS_PER_CHUNK: usize = 4096;

/// Bytes of one page of grant records.
pub const PAGE_BYTES: usize = 64 * 1024;

/// Slots of the user index whose room is made while loading, on the word of a snapshot alone: what
/// a million users need, 13 MB.
pub const BULK_LOAD_SLOTS_MAX: usize = 3 << 19;

/// Slots of the largest shard of the user index; a fuller one splits in two.
pub const SLOTS_PER_SHARD_MAX: usize = 8192;

// A piece holds at least one row of the largest size, a page at least one record, and the wire
// can say any of them in 32 bits.
const _: () = assert!(USER_BYTES_MAX + REQ_BYTES_MAX + 64 < PIECE_BYTES_MAX - PIECE_BYTES_TARGET);
const _: () = assert!(USER_BYTES_MAX + REQ_BYTES_MAX + 64 < PAGE_BYTES);
const _: () = assert!(AMOUNTS_PER_PIECE * 8 <= PIECE_BYTES_TARGET && INTEGER_MAX < 1 << 56);
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
