//! The errors of commands. Their texts are constant, plain ASCII, and begin with a code; the
//! caller's input is never part of one. Errors of numbers and ids outside their bounds come from
//! the rows of the arguments. A test below compares the bounds in these texts with the real ones.

use crate::server::propagation::stream::NotTaken;
use crate::server::reply::Reply;
use crate::server::value::key::NoSale;

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// An error with this text.
    Text(&'static str),
    /// The argument at this position, counted from 1 after the command's name, can't stand there,
    /// or its value is missing.
    Stray(usize),
}

impl Error {
    /// Replies the error.
    pub fn reply(self, reply: Reply<'_>) {
        match self {
            Error::Text(text) => reply.error(text),
            Error::Stray(at) => reply.error_at(SYNTAX, at),
        }
    }
}

impl From<&'static str> for Error {
    fn from(text: &'static str) -> Error {
        Error::Text(text)
    }
}

/// An option is unknown, repeated or lacks its value; the text ends with its position.
pub const SYNTAX: &str = "ERR syntax error at argument";
/// The key holds another type.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// The key does not exist; only INIT creates one.
pub const NO_SALE: &str = "NOSALE no sale at this key (the key is the first argument)";
/// One of the keys of MGRAB does not exist.
pub const NO_SALE_OF_SEVERAL: &str = "NOSALE no sale at this key (one of those behind numkeys)";
/// INIT with other terms on a key that holds a sale.
pub const SALE_EXISTS: &str =
    "SALEEXISTS a sale with other terms is at this key (RESTOCK and ALTER change a sale)";
/// A request id was used with other arguments.
pub const REQ_MISMATCH: &str = "REQMISMATCH request id was used with other arguments";
/// QTY and UPTO together.
pub const QTY_AND_UPTO: &str = "ERR QTY can't be combined with UPTO";
/// SEQ and REQ together.
pub const SEQ_AND_REQ: &str = "ERR SEQ can't be combined with REQ";
/// RECLAIM without SEQ or REQ.
pub const RECLAIM_NEEDS_ID: &str = "ERR RECLAIM needs SEQ or REQ";
/// KEEP without SEQ or REQ.
pub const KEEP_NEEDS_ID: &str = "ERR KEEP needs SEQ or REQ";
/// KEEP and RECLAIM together.
pub const KEEP_AND_RECLAIM: &str = "ERR KEEP can't be combined with RECLAIM";
/// WAIT without a request id.
pub const WAIT_NEEDS_REQ: &str = "ERR WAIT needs a REQ";
/// WAIT with UPTO.
pub const WAIT_AND_UPTO: &str = "ERR WAIT can't be combined with UPTO";
/// UNTIL without WAIT.
pub const UNTIL_NEEDS_WAIT: &str = "ERR UNTIL needs WAIT";
/// IMPORT without a request id.
pub const IMPORT_NEEDS_REQ: &str = "ERR IMPORT needs a REQ";
/// MGRAB with fewer keys than numkeys.
pub const KEYS_MISSING: &str = "ERR numkeys is greater than the number of keys";
/// MGRAB whose number of quantities is neither 1 nor numkeys.
pub const QTY_COUNT: &str = "ERR QTY takes one number for all keys, or one for each";
/// MGRAB whose quantities for one key add up to too large a number.
pub const QTY_SUM: &str = "ERR QTY of one key must add up to at most 9007199254740991";
/// DRAW UNIFORM with one amount.
pub const UNIFORM_NEEDS_TWO: &str = "ERR DRAW UNIFORM needs a smallest and a largest amount";
/// MIN without DRAW PACKETS.
pub const MIN_NEEDS_PACKETS: &str = "ERR MIN needs DRAW PACKETS";
/// SALT without SAMPLE.
pub const SALT_NEEDS_SAMPLE: &str = "ERR SALT needs SAMPLE";
/// OFFSET, LASTS or CARRY without EVERY.
pub const NEEDS_EVERY: &str = "ERR OFFSET, LASTS and CARRY need EVERY";
/// OFFER or OVERTAKE without WAITLIST.
pub const NEEDS_WAITLIST: &str = "ERR OFFER and OVERTAKE need WAITLIST";
/// PART without OF, SPLIT or TOTAL, or one of these without PART.
pub const PART_INCOMPLETE: &str = "ERR PART needs OF, SPLIT and TOTAL, and they need PART";
/// ALTER of a term that is fixed at INIT.
pub const FIXED: &str =
    "ERR DRAW, EVERY, PART and NUMBERED, and what goes with them, are fixed at INIT";
/// CLOSEAT is not after OPENAT.
pub const WINDOW_EMPTY: &str = "ERR CLOSEAT must be after OPENAT";
/// The user has several grants, and the request names none.
pub const AMBIGUOUS: &str = "AMBIGUOUS user has several grants, give SEQ or REQ";
/// ALTER names another outbox than the sale has.
pub const OUTBOX_SET: &str = "ERR OUTBOX can be set only while the sale has none";
/// The outbox is missing on a cluster node.
pub const OUTBOX_NOT_HERE: &str = "TRYAGAIN outbox stream is not here";
/// Too many due holds of the user for one call, which has expired some of them.
pub const MANY_OWN_ENDING: &str = "TRYAGAIN many holds of this user are ending";
/// Too many due holds of others for one call, which has expired some of them.
pub const MANY_ENDING: &str = "TRYAGAIN many holds are ending";
/// The outbox refuses the entries.
pub const OUTBOX_REFUSED: &str = "ERR outbox must be a stream that takes more entries";
/// Another module's code runs in the middle of a change, or writes during a pause.
pub use crate::server::reply::BEING_CHANGED;
/// Offers without a deadline.
pub const OFFER_NEEDS_TIME: &str = "ERR WAITLIST needs OFFER or HOLD, so that offers end";
/// WAITLIST with DRAW or EVERY.
pub const WAITLIST_TAKES_NO_DRAW: &str = "ERR WAITLIST can't be combined with DRAW or EVERY";
/// NUMBERED with DRAW, EVERY or PART.
pub const NUMBERED_TAKES_NO_DRAW: &str = "ERR NUMBERED can't be combined with DRAW, EVERY or PART";
/// More units than a sale can number.
pub const TOO_MANY_UNITS: &str = "ERR a sale with NUMBERED has at most 10000000 units";
/// A negative RESTOCK of numbered units.
pub const NUMBERED_ONLY_GROWS: &str = "ERR a sale with NUMBERED takes no negative delta";
/// KEEP n on a sale with numbered units.
pub const NUMBERED_TAKES_NO_KEEP: &str = "ERR a sale with NUMBERED takes no KEEP n";
/// KEEP UNITS of a grant that has none of them.
pub const KEEPS_NO_UNIT: &str = "ERR KEEP UNITS must name a unit of the grant";
/// UPTO on a sale with numbered units.
pub const NUMBERED_TAKES_NO_UPTO: &str = "ERR a sale with NUMBERED takes no UPTO";
/// More numbered units than one grant has.
pub const TOO_MANY_AT_ONCE: &str = "ERR QTY must be 1 to 100";
/// ADJACENT or UNITS with WAIT.
pub const PICK_TAKES_NO_WAIT: &str = "ERR WAIT can't be combined with ADJACENT or UNITS";
/// ADJACENT without QTY.
pub const ADJACENT_NEEDS_QTY: &str = "ERR ADJACENT needs QTY";
/// QTY or UPTO with UNITS.
pub const UNITS_AND_QTY: &str = "ERR UNITS can't be combined with QTY or UPTO";
/// A number named twice.
pub const UNITS_REPEAT: &str = "ERR UNITS must be all different";
/// A command for numbered units on a sale whose units have no numbers.
pub const NOT_NUMBERED: &str = "NOTNUMBERED sale has no numbered units";
/// A number above that of the last unit.
pub const NO_SUCH_UNIT: &str = "ERR no such unit";
/// IMPORT into a sale with numbered units without as many UNITS.
pub const IMPORT_NEEDS_UNITS: &str = "ERR a sale with NUMBERED takes UNITS, as many as qty";
/// A list longer than one INIT takes.
pub const DRAW_LIST_TOO_LONG: &str = "ERR DRAW LIST takes at most 100000 amounts";
/// The supply is too small for every packet.
pub const DRAW_SUPPLY_TOO_SMALL: &str = "ERR supply must be enough for every packet";
/// DRAW UNIFORM whose lower bound is above the upper one.
pub const DRAW_RANGE_EMPTY: &str = "ERR DRAW UNIFORM must go from a smaller to a larger amount";
/// The amounts of DRAW LIST don't add up to the supply.
pub const DRAW_SUM_DIFFERS: &str = "ERR supply must be the sum of the DRAW LIST amounts";
/// DRAW LIST with EVERY.
pub const DRAW_LIST_REPEATS: &str = "ERR DRAW LIST can't be combined with EVERY";
/// LIMIT on a sale with DRAW.
pub const DRAW_TAKES_NO_LIMIT: &str = "ERR a sale with DRAW takes no LIMIT other than 0";
/// QTY or UPTO on a sale with DRAW.
pub const DRAW_TAKES_NO_AMOUNT: &str = "ERR a sale with DRAW takes neither QTY nor UPTO";
/// KEEP on a sale with DRAW.
pub const DRAW_TAKES_NO_KEEP: &str = "ERR a sale with DRAW takes no KEEP";
/// RESTOCK or IMPORT on a sale whose packets share a fixed supply.
pub const DRAW_FIXES_SUPPLY: &str = "ERR the supply of a sale with DRAW packets is fixed";
/// LASTS longer than EVERY.
pub const LASTS_OUT_OF_RANGE: &str = "ERR LASTS must be at least 1 and at most EVERY";
/// IMPORT on a sale with rounds.
pub const ROUNDS_TAKE_NO_IMPORT: &str = "ERR a sale with EVERY takes no IMPORT";
/// HELP of an unknown command.
pub const NO_COMMAND: &str = "ERR no such command, SECKILL.HELP lists all";
/// MOD without a residue.
pub const MOD_NO_RESIDUE: &str = "ERR MOD needs at least 1 remainder, or is 0 to switch it off";
/// MOD with a remainder that no number has.
pub const MOD_RESIDUE_TOO_LARGE: &str = "ERR MOD remainders must be less than the modulus";
/// MOD with too many remainders.
pub const MOD_TOO_MANY_RESIDUES: &str = "ERR MOD takes at most 1000 remainders";
/// A list of users without room for that many more of the longest ids.
pub const LIST_FULL: &str = "ERR a list of users must stay within 3758096384 bytes";
/// More users than one ALLOW or DENY takes.
pub const LIST_TOO_MANY: &str = "ERR at most 100000 users at once";
/// The user's home is another part of the split.
pub const WRONG_PART: &str = "WRONGPART user belongs to another part";
/// The request names another split.
pub const NOT_THIS_SPLIT: &str = "ERR not this split";
/// The sale is not a part of a split.
pub const NOT_A_PART: &str = "ERR not a part of a split";
/// PART not below OF.
pub const PART_OUT_OF_RANGE: &str = "ERR PART must be less than OF";
/// A part that the split does not have, or this part itself.
pub const NOT_ANOTHER_PART: &str = "ERR part must be another one of this split";
/// A part's supply above TOTAL.
pub const SHARE_ABOVE_TOTAL: &str = "ERR supply of a part must be at most TOTAL";
/// PART with DRAW or EVERY.
pub const PART_TAKES_NO_DRAW: &str = "ERR PART can't be combined with DRAW or EVERY";
/// The units sent, received or promised would exceed the largest integer.
pub const MOVED_TOO_MANY: &str =
    "ERR units of a part, sent, received and owed, must be at most 9007199254740991 each";
/// The sale has as many grants as a seq can number.
pub const GRANTS_FULL: &str = "ERR a sale has at most 4294967295 grants";
/// Pieces of a rewritten AOF are missing, so the sold units are unknown.
pub const INCOMPLETE: &str =
    "ERR part of this sale's log is missing: restore it from a backup or resync it";
/// The clock, the version, the epoch or the rev of a change would be beyond its bound.
pub const EXHAUSTED: &str = "ERR clock, version and epoch of a sale must be within their bounds";
/// APPLY's effects don't follow the version, are unknown or break the law.
pub const APPLY_REFUSED: &str = "ERR effects must follow the version of the sale and keep its law";
/// The system has no random bytes for the sale's id and its secret.
pub const NO_RANDOMNESS: &str = "ERR a new sale needs random bytes and the system gives none";
/// The status can't be formatted.
pub const NOT_SHOWN: &str = "ERR status must be representable in the form asked for";

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
        DRAW_AMOUNTS_MAX, GRANTS_MAX, INTEGER_MAX, LISTED_BYTES_MAX, MOD_RESIDUES_MAX, UNITS_MAX,
        UNITS_PER_GRANT_MAX, USERS_PER_COMMAND_MAX,
    };

    #[test]
    fn texts_name_the_bounds_they_guard() {
        assert!(GRANTS_FULL.contains(&format!(" {GRANTS_MAX} grants")));
        assert!(DRAW_LIST_TOO_LONG.contains(&format!(" {DRAW_AMOUNTS_MAX} amounts")));
        assert!(MOD_TOO_MANY_RESIDUES.contains(&format!(" {MOD_RESIDUES_MAX} remainders")));
        assert!(LIST_TOO_MANY.contains(&format!(" {USERS_PER_COMMAND_MAX} users")));
        assert!(LIST_FULL.ends_with(&format!(" {LISTED_BYTES_MAX} bytes")));
        assert!(TOO_MANY_UNITS.ends_with(&format!(" {UNITS_MAX} units")));
        assert!(TOO_MANY_AT_ONCE.ends_with(&format!(" to {UNITS_PER_GRANT_MAX}")));
        assert!(QTY_SUM.ends_with(&format!(" {INTEGER_MAX}")));
        assert!(MOVED_TOO_MANY.contains(&format!(" {INTEGER_MAX} ")));
    }
}
