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
/// HOLD is not offered by this version.
pub const HOLD_NOT_YET: &str = "ERR HOLD must be 0, this version has no holds yet";
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
        Misuse::HoldNotYet => HOLD_NOT_YET,
        Misuse::SupplyTooLarge => SUPPLY_TOO_LARGE,
        Misuse::GrantsFull => GRANTS_FULL,
        Misuse::Exhausted => EXHAUSTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::limits::{
        GRANTS_MAX, HOLD_MS_MAX, INTEGER_MAX, REQ_BYTES_MAX, USER_BYTES_MAX,
    };

    #[test]
    fn texts_name_the_bounds_they_guard() {
        assert!(USER.contains(&format!(" {USER_BYTES_MAX} bytes")));
        assert!(REQ.contains(&format!(" {REQ_BYTES_MAX} bytes")));
        assert!(HOLD_TOO_LONG.contains(&format!(" {HOLD_MS_MAX} milliseconds")));
        assert!(SUPPLY_TOO_LARGE.ends_with(&format!(" {INTEGER_MAX}")));
        assert!(GRANTS_FULL.contains(&format!(" {GRANTS_MAX} grants")));
    }
}
