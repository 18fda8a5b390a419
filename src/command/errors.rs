//! Every error text, in one place. Constant, plain ASCII, the first word a code; what the caller
//! sent is never part of one. Where a text names a bound, a test below compares it with the bound.

use crate::sale::outcome::Misuse;

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
/// The outbox takes no entry.
pub const OUTBOX_REFUSED: &str = "ERR outbox must be a stream that takes more entries";
/// IMPORT's AT lies beyond what a sale can store.
pub const AT_TOO_LATE: &str = "ERR AT must be at most 140737488355327";
/// RESTOCK would take the supply beyond the largest integer.
pub const SUPPLY_TOO_LARGE: &str = "ERR supply must be at most 9007199254740991";
/// The sale has as many grants as a seq can number.
pub const GRANTS_FULL: &str = "ERR a sale has at most 4294967295 grants";
/// Time, version or epoch of a change would be beyond its bound.
pub const EXHAUSTED: &str = "ERR clock, version and epoch of a sale must be within their bounds";
/// APPLY got what does not follow, what this build does not know or what breaks the law.
pub const APPLY_REFUSED: &str = "ERR effects must follow the version of the sale and keep its law";
/// The key can't be written, or the clock is not one.
pub const NOT_CREATED: &str = "ERR a new sale needs a writable key and a sane clock";
/// A status that could not be written.
pub const NOT_SHOWN: &str = "ERR status must be representable in the form asked for";

/// The text of a mistake that only the sale could see.
pub fn misuse(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::SaleExists => SALE_EXISTS,
        Misuse::ReqMismatch => REQ_MISMATCH,
        Misuse::WindowEmpty => WINDOW_EMPTY,
        Misuse::HoldTooLong => HOLD_TOO_LONG,
        Misuse::OutboxTooLong => OUTBOX_NAME,
        Misuse::OutboxSet => OUTBOX_SET,
        Misuse::Ambiguous => AMBIGUOUS,
        Misuse::SupplyTooLarge => SUPPLY_TOO_LARGE,
        Misuse::GrantsFull => GRANTS_FULL,
        Misuse::Exhausted => EXHAUSTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::limits::{
        GRANTS_MAX, HOLD_MS_MAX, INTEGER_MAX, OUTBOX_BYTES_MAX, REQ_BYTES_MAX, TIME_MS_MAX,
        USER_BYTES_MAX,
    };

    #[test]
    fn texts_name_the_bounds_they_guard() {
        assert!(USER.contains(&format!(" {USER_BYTES_MAX} bytes")));
        assert!(REQ.contains(&format!(" {REQ_BYTES_MAX} bytes")));
        assert!(HOLD_TOO_LONG.contains(&format!(" {HOLD_MS_MAX} milliseconds")));
        assert!(EXTEND_TOO_LONG.contains(&format!(" {HOLD_MS_MAX} milliseconds")));
        assert!(OUTBOX_NAME.contains(&format!(" {OUTBOX_BYTES_MAX} bytes")));
        assert!(AT_TOO_LATE.ends_with(&format!(" {TIME_MS_MAX}")));
        assert!(SUPPLY_TOO_LARGE.ends_with(&format!(" {INTEGER_MAX}")));
        assert!(GRANTS_FULL.contains(&format!(" {GRANTS_MAX} grants")));
    }
}
