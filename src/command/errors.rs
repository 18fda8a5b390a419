//! The error texts of commands. Constant, plain ASCII, the first word a code; what the caller
//! sent is never part of one. Where a text names a bound, a test below compares it with the bound.

use crate::server::propagation::stream::NotTaken;
use crate::server::value::key::NoSale;
use seckill_domain::outcome::Misuse;

/// The key holds something that is not a sale.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// The key does not exist; only INIT creates one.
pub const NO_SALE: &str = "NOSALE no sale at this key";
/// INIT with other terms on a key that holds a sale.
pub const SALE_EXISTS: &str = "SALEEXISTS a sale with other terms is at this key";
/// A request id came back with other arguments.
pub const REQ_MISMATCH: &str = "REQMISMATCH request id was used with other arguments";
/// A number that is not one, or not within its bounds.
pub const INTEGER: &str = "ERR value is not an integer or out of range";
/// A user id that is empty or too long.
pub const USER: &str = "ERR user id must be 1 to 256 bytes";
/// A request id that is empty or too long.
pub const REQ: &str = "ERR request id must be 1 to 128 bytes";
/// An option that is unknown, repeated, contradicts another, or lacks its value.
pub const SYNTAX: &str = "ERR syntax error";
/// CLOSEAT is not after OPENAT.
pub const WINDOW_EMPTY: &str = "ERR CLOSEAT must be after OPENAT";
/// HOLD is over the longest hold.
pub const HOLD_TOO_LONG: &str = "ERR HOLD must be at most 2592000000 milliseconds (30 days)";
/// A span over the longest hold.
pub const EXTEND_TOO_LONG: &str = "ERR EXTEND must be at most 2592000000 milliseconds (30 days)";
/// Several grants, and none was named.
pub const AMBIGUOUS: &str = "AMBIGUOUS user has several grants, give SEQ or REQ";
/// The name of the outbox is empty or too long.
pub const OUTBOX_NAME: &str = "ERR OUTBOX must be a key of 1 to 1024 bytes";
/// ALTER names another outbox than the sale has.
pub const OUTBOX_SET: &str = "ERR OUTBOX can be set only while the sale has none";
/// The outbox is missing on a cluster node.
pub const OUTBOX_NOT_HERE: &str = "TRYAGAIN outbox stream is not here";
/// Very many holds of the user are due: the call has written some of them.
pub const MANY_OWN_ENDING: &str = "TRYAGAIN many holds of this user are ending";
/// The outbox takes no entry.
pub const OUTBOX_REFUSED: &str = "ERR outbox must be a stream that takes more entries";
/// Another module's code ran in the middle, or calls while writes are paused.
pub use crate::server::call::BEING_CHANGED;
/// A window in seconds would open at once, or never.
pub const WINDOW_IN_SECONDS: &str = "ERR OPENAT and CLOSEAT are Unix times in milliseconds";
/// IMPORT's AT is in seconds, or beyond what a sale can store.
pub const AT_OUT_OF_RANGE: &str =
    "ERR AT must be 0 or a Unix time in milliseconds, 100000000000 to 140737488355327";
/// UNTIL is in seconds, or beyond what a sale can store.
pub const UNTIL_OUT_OF_RANGE: &str =
    "ERR UNTIL must be 0 or a Unix time in milliseconds, 100000000000 to 140737488355327";
/// A waiting list of more entries than one has.
pub const WAITLIST_TOO_LONG: &str = "ERR WAITLIST takes at most 10000000 entries";
/// OFFER is over the longest hold.
pub const OFFER_TOO_LONG: &str = "ERR OFFER must be at most 2592000000 milliseconds (30 days)";
/// Offers without a deadline.
pub const OFFER_NEEDS_TIME: &str = "ERR WAITLIST needs OFFER or HOLD, so that offers end";
/// A waiting list in a sale that draws or repeats.
pub const WAITLIST_TAKES_NO_DRAW: &str = "ERR WAITLIST can't be combined with DRAW or EVERY";
/// DRAW with no packet.
pub const DRAW_NO_PACKETS: &str = "ERR DRAW needs at least 1 packet";
/// More packets than a sale can have grants.
pub const DRAW_TOO_MANY_PACKETS: &str = "ERR DRAW takes at most 4294967295 packets";
/// A list longer than one INIT takes.
pub const DRAW_LIST_TOO_LONG: &str = "ERR DRAW LIST takes at most 100000 amounts";
/// DRAW PACKETS with MIN 0.
pub const DRAW_MIN_ZERO: &str = "ERR MIN must be at least 1";
/// The supply does not reach for every packet.
pub const DRAW_SUPPLY_TOO_SMALL: &str = "ERR supply must be enough for every packet";
/// An amount of 0.
pub const DRAW_AMOUNT_ZERO: &str = "ERR DRAW amounts must be at least 1";
/// UNIFORM with its bounds the wrong way round.
pub const DRAW_RANGE_EMPTY: &str = "ERR DRAW UNIFORM must go from a smaller to a larger amount";
/// The amounts of a list are not the supply.
pub const DRAW_SUM_DIFFERS: &str = "ERR supply must be the sum of the DRAW LIST amounts";
/// A list in a sale that repeats.
pub const DRAW_LIST_REPEATS: &str = "ERR DRAW LIST can't be combined with EVERY";
/// LIMIT on a sale that draws.
pub const DRAW_TAKES_NO_LIMIT: &str = "ERR a sale with DRAW takes no LIMIT other than 0";
/// QTY or UPTO on a sale that draws.
pub const DRAW_TAKES_NO_AMOUNT: &str = "ERR a sale with DRAW takes neither QTY nor UPTO";
/// RESTOCK or IMPORT on a sale whose packets share a fixed supply.
pub const DRAW_FIXES_SUPPLY: &str = "ERR the supply of a sale with DRAW packets is fixed";
/// A period that can't be kept.
pub const PERIOD_OUT_OF_RANGE: &str =
    "ERR EVERY must be 1 to 140737488355327 milliseconds, OFFSET at most that";
/// Rounds that last longer than their period.
pub const LASTS_OUT_OF_RANGE: &str = "ERR LASTS must be at least 1 and at most EVERY";
/// IMPORT on a sale with rounds.
pub const ROUNDS_TAKE_NO_IMPORT: &str = "ERR a sale with EVERY takes no IMPORT";
/// MOD without a residue.
pub const MOD_NO_RESIDUE: &str = "ERR MOD needs at least 1 remainder, or is 0 to switch it off";
/// MOD with a remainder that no number has.
pub const MOD_RESIDUE_TOO_LARGE: &str = "ERR MOD remainders must be less than the modulus";
/// MOD with too many remainders.
pub const MOD_TOO_MANY_RESIDUES: &str = "ERR MOD takes at most 1000 remainders";
/// A share above the whole.
pub const SAMPLE_TOO_LARGE: &str = "ERR SAMPLE must be at most 1000 permille";
/// A salt that is too long.
pub const SALT_TOO_LONG: &str = "ERR SALT must be at most 128 bytes";
/// A list of users without room for so many more, were their ids the longest.
pub const LIST_FULL: &str = "ERR a list of users must stay within 3758096384 bytes";
/// More users than one ALLOW or DENY takes.
pub const LIST_TOO_MANY: &str = "ERR at most 100000 users at once";
/// A user who is at home in another part of the split.
pub const WRONG_PART: &str = "WRONGPART user belongs to another part";
/// The id of another split.
pub const NOT_THIS_SPLIT: &str = "ERR not this split";
/// A sale that is no part of a split.
pub const NOT_A_PART: &str = "ERR not a part of a split";
/// A part that is not one of so many, or too many of them.
pub const PART_OUT_OF_RANGE: &str = "ERR PART must be less than OF, which is 1 to 1024";
/// A peer that the split does not have, or the part itself.
pub const NOT_ANOTHER_PART: &str = "ERR part must be another one of this split";
/// The id of a split that is empty or too long.
pub const SPLIT_ID: &str = "ERR SPLIT must be 1 to 64 bytes";
/// A share that is more than there is.
pub const SHARE_ABOVE_TOTAL: &str = "ERR supply of a part must be at most TOTAL";
/// A part that draws or repeats.
pub const PART_TAKES_NO_DRAW: &str = "ERR PART can't be combined with DRAW or EVERY";
/// More units moved or promised than can be counted.
pub const MOVED_TOO_MANY: &str =
    "ERR units of a part, sent, received and owed, must be at most 9007199254740991 each";
/// MGRAB with more keys than it takes.
pub const KEYS_TOO_MANY: &str = "ERR numkeys must be 1 to 64";
/// RESTOCK would take the supply beyond the largest integer.
pub const SUPPLY_TOO_LARGE: &str = "ERR supply must be at most 9007199254740991";
/// The sale has as many grants as a seq can number.
pub const GRANTS_FULL: &str = "ERR a sale has at most 4294967295 grants";
/// Pieces of a rewritten log have not come, so what the sale has sold is not known.
pub const INCOMPLETE: &str =
    "ERR part of this sale's log is missing: restore it from a backup or resync it";
/// The clock, the version, the epoch or the rev of a change would be beyond its bound.
pub const EXHAUSTED: &str = "ERR clock, version and epoch of a sale must be within their bounds";
/// APPLY got what does not follow, what this build does not know or what breaks the law.
pub const APPLY_REFUSED: &str = "ERR effects must follow the version of the sale and keep its law";
/// The system has no random bytes for the sale's id and its secret.
pub const NO_RANDOMNESS: &str = "ERR a new sale needs random bytes and the system gives none";
/// A status that could not be written.
pub const NOT_SHOWN: &str = "ERR status must be representable in the form asked for";

/// The text of a mistake that only the sale could see.
pub fn misuse(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::SaleExists => SALE_EXISTS,
        Misuse::ReqMismatch => REQ_MISMATCH,
        Misuse::WindowEmpty => WINDOW_EMPTY,
        Misuse::HoldTooLong => HOLD_TOO_LONG,
        Misuse::DrawNoPackets => DRAW_NO_PACKETS,
        Misuse::DrawTooManyPackets => DRAW_TOO_MANY_PACKETS,
        Misuse::DrawListTooLong => DRAW_LIST_TOO_LONG,
        Misuse::DrawMinZero => DRAW_MIN_ZERO,
        Misuse::DrawSupplyTooSmall => DRAW_SUPPLY_TOO_SMALL,
        Misuse::DrawAmountZero => DRAW_AMOUNT_ZERO,
        Misuse::DrawRangeEmpty => DRAW_RANGE_EMPTY,
        Misuse::DrawSumDiffers => DRAW_SUM_DIFFERS,
        Misuse::DrawListRepeats => DRAW_LIST_REPEATS,
        Misuse::DrawTakesNoLimit => DRAW_TAKES_NO_LIMIT,
        Misuse::DrawTakesNoAmount => DRAW_TAKES_NO_AMOUNT,
        Misuse::DrawFixesSupply => DRAW_FIXES_SUPPLY,
        Misuse::WaitlistTooLong => WAITLIST_TOO_LONG,
        Misuse::OfferTooLong => OFFER_TOO_LONG,
        Misuse::OfferNeedsTime => OFFER_NEEDS_TIME,
        Misuse::WaitlistTakesNoDraw => WAITLIST_TAKES_NO_DRAW,
        Misuse::PeriodOutOfRange => PERIOD_OUT_OF_RANGE,
        Misuse::LastsOutOfRange => LASTS_OUT_OF_RANGE,
        Misuse::RoundsTakeNoImport => ROUNDS_TAKE_NO_IMPORT,
        Misuse::ModNoResidue => MOD_NO_RESIDUE,
        Misuse::ModResidueTooLarge => MOD_RESIDUE_TOO_LARGE,
        Misuse::ModTooManyResidues => MOD_TOO_MANY_RESIDUES,
        Misuse::SampleTooLarge => SAMPLE_TOO_LARGE,
        Misuse::SaltTooLong => SALT_TOO_LONG,
        Misuse::ListFull => LIST_FULL,
        Misuse::OutboxTooLong => OUTBOX_NAME,
        Misuse::OutboxSet => OUTBOX_SET,
        Misuse::Ambiguous => AMBIGUOUS,
        Misuse::SupplyTooLarge => SUPPLY_TOO_LARGE,
        Misuse::GrantsFull => GRANTS_FULL,
        Misuse::WrongPart => WRONG_PART,
        Misuse::NotThisSplit => NOT_THIS_SPLIT,
        Misuse::NotAPart => NOT_A_PART,
        Misuse::PartOutOfRange => PART_OUT_OF_RANGE,
        Misuse::NotAnotherPart => NOT_ANOTHER_PART,
        Misuse::SplitIdSize => SPLIT_ID,
        Misuse::ShareAboveTotal => SHARE_ABOVE_TOTAL,
        Misuse::PartTakesNoDraw => PART_TAKES_NO_DRAW,
        Misuse::MovedTooMany => MOVED_TOO_MANY,
        Misuse::Exhausted => EXHAUSTED,
        Misuse::Incomplete => INCOMPLETE,
    }
}

impl From<NoSale> for &'static str {
    fn from(why: NoSale) -> Self {
        match why {
            NoSale::Missing => NO_SALE,
            NoSale::Foreign => WRONG_TYPE,
        }
    }
}

impl From<NotTaken> for &'static str {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::NotHere => OUTBOX_NOT_HERE,
            NotTaken::Refused => OUTBOX_REFUSED,
            NotTaken::Changed => BEING_CHANGED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seckill_domain::limits::{
        DRAW_AMOUNTS_MAX, GRANTS_MAX, HOLD_MS_MAX, INTEGER_MAX, LISTED_BYTES_MAX, MGRAB_KEYS_MAX,
        MOD_RESIDUES_MAX, MOMENT_MS_MIN, OUTBOX_BYTES_MAX, PARTS_MAX, PERMILLE_ALL, REQ_BYTES_MAX,
        SALT_BYTES_MAX, SPLIT_ID_BYTES_MAX, TIME_MS_MAX, USERS_PER_COMMAND_MAX, USER_BYTES_MAX,
        WAITERS_MAX,
    };

    #[test]
    fn texts_name_the_bounds_they_guard() {
        assert!(USER.contains(&format!(" {USER_BYTES_MAX} bytes")));
        assert!(REQ.contains(&format!(" {REQ_BYTES_MAX} bytes")));
        assert!(HOLD_TOO_LONG.contains(&format!(" {HOLD_MS_MAX} milliseconds")));
        assert!(EXTEND_TOO_LONG.contains(&format!(" {HOLD_MS_MAX} milliseconds")));
        assert!(OUTBOX_NAME.contains(&format!(" {OUTBOX_BYTES_MAX} bytes")));
        assert!(AT_OUT_OF_RANGE.ends_with(&format!(" {MOMENT_MS_MIN} to {TIME_MS_MAX}")));
        assert!(UNTIL_OUT_OF_RANGE.ends_with(&format!(" {MOMENT_MS_MIN} to {TIME_MS_MAX}")));
        assert!(WAITLIST_TOO_LONG.contains(&format!(" {WAITERS_MAX} entries")));
        assert!(OFFER_TOO_LONG.contains(&format!(" {HOLD_MS_MAX} milliseconds")));
        assert!(SUPPLY_TOO_LARGE.ends_with(&format!(" {INTEGER_MAX}")));
        assert!(GRANTS_FULL.contains(&format!(" {GRANTS_MAX} grants")));
        assert!(DRAW_TOO_MANY_PACKETS.contains(&format!(" {GRANTS_MAX} packets")));
        assert!(DRAW_LIST_TOO_LONG.contains(&format!(" {DRAW_AMOUNTS_MAX} amounts")));
        assert!(PERIOD_OUT_OF_RANGE.contains(&format!(" {TIME_MS_MAX} milliseconds")));
        assert!(MOD_TOO_MANY_RESIDUES.contains(&format!(" {MOD_RESIDUES_MAX} remainders")));
        assert!(SAMPLE_TOO_LARGE.contains(&format!(" {PERMILLE_ALL} permille")));
        assert!(SALT_TOO_LONG.contains(&format!(" {SALT_BYTES_MAX} bytes")));
        assert!(LIST_TOO_MANY.contains(&format!(" {USERS_PER_COMMAND_MAX} users")));
        assert!(LIST_FULL.ends_with(&format!(" {LISTED_BYTES_MAX} bytes")));
        assert!(PART_OUT_OF_RANGE.ends_with(&format!(" {PARTS_MAX}")));
        assert!(SPLIT_ID.contains(&format!(" {SPLIT_ID_BYTES_MAX} bytes")));
        assert!(MOVED_TOO_MANY.contains(&format!(" {INTEGER_MAX} ")));
        assert!(KEYS_TOO_MANY.ends_with(&format!(" {MGRAB_KEYS_MAX}")));
    }
}
