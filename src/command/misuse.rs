//! The texts of the mistakes that a sale finds in a call. Those that parsing finds are in `errors`.

use super::{errors, terms};
use seckill_domain::outcome::Misuse;

/// The text of a mistake that the sale found. A mistake that parsing finds, too, has its row's
/// text.
pub fn text(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::SaleExists => errors::SALE_EXISTS,
        Misuse::ReqMismatch => errors::REQ_MISMATCH,
        Misuse::WindowEmpty => errors::WINDOW_EMPTY,
        Misuse::HoldTooLong => terms::HOLD.error(),
        Misuse::DrawNoPackets => terms::PACKETS.error(),
        Misuse::DrawTooManyPackets => terms::PACKETS.error(),
        Misuse::DrawListTooLong => errors::DRAW_LIST_TOO_LONG,
        Misuse::DrawMinZero => terms::MIN.error(),
        Misuse::DrawSupplyTooSmall => errors::DRAW_SUPPLY_TOO_SMALL,
        Misuse::DrawAmountZero => terms::AMOUNT.error(),
        Misuse::DrawRangeEmpty => errors::DRAW_RANGE_EMPTY,
        Misuse::DrawSumDiffers => errors::DRAW_SUM_DIFFERS,
        Misuse::DrawListRepeats => errors::DRAW_LIST_REPEATS,
        Misuse::DrawTakesNoLimit => errors::DRAW_TAKES_NO_LIMIT,
        Misuse::DrawTakesNoAmount => errors::DRAW_TAKES_NO_AMOUNT,
        Misuse::DrawTakesNoKeep => errors::DRAW_TAKES_NO_KEEP,
        Misuse::DrawFixesSupply => errors::DRAW_FIXES_SUPPLY,
        Misuse::WaitlistTooLong => terms::WAITLIST.error(),
        Misuse::OfferTooLong => terms::OFFER.error(),
        Misuse::OfferNeedsTime => errors::OFFER_NEEDS_TIME,
        Misuse::WaitlistTakesNoDraw => errors::WAITLIST_TAKES_NO_DRAW,
        Misuse::PeriodOutOfRange => terms::EVERY.error(),
        Misuse::LastsOutOfRange => errors::LASTS_OUT_OF_RANGE,
        Misuse::RoundsTakeNoImport => errors::ROUNDS_TAKE_NO_IMPORT,
        Misuse::ModNoResidue => errors::MOD_NO_RESIDUE,
        Misuse::ModResidueTooLarge => errors::MOD_RESIDUE_TOO_LARGE,
        Misuse::ModTooManyResidues => errors::MOD_TOO_MANY_RESIDUES,
        Misuse::SampleTooLarge => terms::SAMPLE.error(),
        Misuse::SaltTooLong => terms::SALT.error(),
        Misuse::ListFull => errors::LIST_FULL,
        Misuse::OutboxTooLong => terms::OUTBOX.error(),
        Misuse::OutboxSet => errors::OUTBOX_SET,
        Misuse::Ambiguous => errors::AMBIGUOUS,
        Misuse::SupplyTooLarge => terms::SUPPLY.error(),
        Misuse::GrantsFull => errors::GRANTS_FULL,
        Misuse::WrongPart => errors::WRONG_PART,
        Misuse::NotThisSplit => errors::NOT_THIS_SPLIT,
        Misuse::NotAPart => errors::NOT_A_PART,
        Misuse::PartOutOfRange => errors::PART_OUT_OF_RANGE,
        Misuse::NotAnotherPart => errors::NOT_ANOTHER_PART,
        Misuse::SplitIdSize => terms::SPLIT.error(),
        Misuse::ShareAboveTotal => errors::SHARE_ABOVE_TOTAL,
        Misuse::PartTakesNoDraw => errors::PART_TAKES_NO_DRAW,
        Misuse::MovedTooMany => errors::MOVED_TOO_MANY,
        Misuse::Exhausted => errors::EXHAUSTED,
        Misuse::Incomplete => errors::INCOMPLETE,
    }
}
