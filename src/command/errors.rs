//! The errors that parsing and the shell find. Their texts are constant, plain ASCII, and begin
//! with a code; the caller's input is never part of one. Errors of numbers and ids outside their
//! bounds come from the rows of the arguments. Errors that only the sale finds are the rows of
//! [`Misuse`]. Tests below compare the bounds in these texts with the real ones.
//!
//! [`Misuse`]: seckill_domain::outcome::Misuse

use crate::server::propagation::stream::NotTaken;
use crate::server::reply::Reply;
use crate::server::value::key::NoSale;

/// The error of a refused call.
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
/// SALT or SPLIT is OUTBOX, in any case.
pub const RESERVED: &str =
    "ERR SALT and SPLIT must not be OUTBOX: servers take what follows this word for the stream";
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
/// ADJACENT without QTY.
pub const ADJACENT_NEEDS_QTY: &str = "ERR ADJACENT needs QTY";
/// QTY or UPTO with UNITS.
pub const UNITS_AND_QTY: &str = "ERR UNITS can't be combined with QTY or UPTO";
/// A number named twice.
pub const UNITS_REPEAT: &str = "ERR UNITS must be all different";
/// HELP of an unknown command.
pub const NO_COMMAND: &str = "ERR no such command, SECKILL.HELP lists all";
/// More users than one ALLOW or DENY takes.
pub const LIST_TOO_MANY: &str = "ERR at most 100000 users at once";
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
    use seckill_domain::outcome::Misuse;

    use crate::command::terms;

    /// An error that the sale finds has the text of its argument.
    #[test]
    fn bounds_have_one_text() {
        for (misuse, arg) in [
            (Misuse::HoldTooLong, &terms::HOLD),
            (Misuse::DrawNoPackets, &terms::PACKETS),
            (Misuse::DrawTooManyPackets, &terms::PACKETS),
            (Misuse::DrawMinZero, &terms::MIN),
            (Misuse::DrawAmountZero, &terms::AMOUNT),
            (Misuse::WaitlistTooLong, &terms::WAITLIST),
            (Misuse::OfferTooLong, &terms::OFFER),
            (Misuse::PeriodOutOfRange, &terms::EVERY),
            (Misuse::SampleTooLarge, &terms::SAMPLE),
            (Misuse::SaltTooLong, &terms::SALT),
            (Misuse::OutboxTooLong, &terms::OUTBOX),
            (Misuse::SupplyTooLarge, &terms::SUPPLY),
            (Misuse::SplitIdSize, &terms::SPLIT),
        ] {
            assert_eq!(misuse.text(), arg.error());
        }
    }

    #[test]
    fn texts_name_the_bounds_they_guard() {
        assert!(Misuse::GrantsFull.text().contains(&format!(" {GRANTS_MAX} grants")));
        assert!(Misuse::DrawListTooLong.text().contains(&format!(" {DRAW_AMOUNTS_MAX} amounts")));
        assert!(Misuse::ModTooManyResidues
            .text()
            .contains(&format!(" {MOD_RESIDUES_MAX} remainders")));
        assert!(LIST_TOO_MANY.contains(&format!(" {USERS_PER_COMMAND_MAX} users")));
        assert!(Misuse::ListFull.text().ends_with(&format!(" {LISTED_BYTES_MAX} bytes")));
        assert!(Misuse::TooManyUnits.text().ends_with(&format!(" {UNITS_MAX} units")));
        assert!(Misuse::TooManyAtOnce.text().ends_with(&format!(" to {UNITS_PER_GRANT_MAX}")));
        assert!(QTY_SUM.ends_with(&format!(" {INTEGER_MAX}")));
        assert!(Misuse::MovedTooMany.text().contains(&format!(" {INTEGER_MAX} ")));
    }
}
