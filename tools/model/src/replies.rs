//! Translates outcomes into the oracle's words.

use seckill_domain::outcome::{Elements, GrantView, Misuse, Outcome, Place};

/// The reply, with the grant's numbers if units have numbers.
pub fn with_units(outcome: &Outcome, units: Option<&[u32]>) -> String {
    let is_of_grant = matches!(
        outcome,
        Outcome::Granted { .. }
            | Outcome::Already(_)
            | Outcome::Replay(_)
            | Outcome::Stands(_)
            | Outcome::NoGrant
            | Outcome::Fenced
    );
    let units = units.filter(|_| is_of_grant).map(|units| format!(" {units:?}"));
    reply(outcome) + &units.unwrap_or_default()
}

/// An outcome in the words of the specification.
pub fn reply(outcome: &Outcome) -> String {
    if let Some((word, elements)) = outcome.elements() {
        return match elements {
            Elements::Nothing => word.into(),
            Elements::Number(number) => format!("{word} {number}"),
            Elements::Grant(grant, available) => {
                let GrantView { seq, qty, state, deadline } = *grant;
                let text = format!("{word} {seq} {qty} {} {deadline}", state.name());
                available.map_or(text.clone(), |available| format!("{text} {available}"))
            }
            Elements::Place(Place { ticket, ahead, units_ahead }) => {
                format!("{word} {ticket} {ahead} {units_ahead}")
            }
        };
    }
    match outcome {
        Outcome::Stands(grant) => {
            format!("{} {} {} {}", grant.state.name(), grant.seq, grant.qty, grant.deadline)
        }
        Outcome::NoGrant => "NOGRANT 0 0 0".into(),
        Outcome::Fenced => "CANCELLED 0 0 0".into(),
        Outcome::Restocked { applied, available } => format!("{applied} {available}"),
        Outcome::Moved { total, available } => format!("{total} {available}"),
        Outcome::Elsewhere { units, pass } => format!("{units} {pass}"),
        Outcome::Changed { users } => users.to_string(),
        Outcome::ManyOwnEnding => "TRYAGAIN own".into(),
        Outcome::ManyEnding => "TRYAGAIN others".into(),
        Outcome::Misuse(misuse) => error(*misuse).into(),
        // `Done`; answers to GRAB are handled above.
        _ => "OK".into(),
    }
}

/// A mistake in the words of the specification.
fn error(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::SaleExists => "SALEEXISTS",
        Misuse::ReqMismatch => "REQMISMATCH",
        Misuse::WindowEmpty | Misuse::HoldTooLong => "ERR terms",
        Misuse::OutboxTooLong | Misuse::OutboxSet => "ERR outbox",
        Misuse::Ambiguous => "AMBIGUOUS",
        Misuse::SupplyTooLarge => "ERR supply",
        Misuse::GrantsFull => "ERR grants",
        Misuse::Exhausted => "ERR exhausted",
        Misuse::DrawTakesNoAmount => "ERR amount",
        Misuse::DrawTakesNoKeep => "ERR keep",
        Misuse::DrawTakesNoLimit => "ERR limit",
        Misuse::DrawFixesSupply => "ERR fixed",
        Misuse::PeriodOutOfRange | Misuse::LastsOutOfRange => "ERR rounds",
        Misuse::RoundsTakeNoImport | Misuse::DrawListRepeats => "ERR rounds",
        Misuse::ModNoResidue | Misuse::ModResidueTooLarge => "ERR admission",
        Misuse::ModTooManyResidues | Misuse::SampleTooLarge => "ERR admission",
        Misuse::SaltTooLong => "ERR admission",
        Misuse::WaitlistTooLong | Misuse::OfferTooLong => "ERR list",
        Misuse::OfferNeedsTime | Misuse::WaitlistTakesNoDraw => "ERR list",
        Misuse::DrawNoPackets | Misuse::DrawMinZero | Misuse::DrawSupplyTooSmall => "ERR draw",
        Misuse::DrawAmountZero | Misuse::DrawRangeEmpty => "ERR draw",
        Misuse::DrawSumDiffers => "ERR draw",
        Misuse::WrongPart => "WRONGPART",
        Misuse::NotAPart => "ERR no part",
        Misuse::NotThisSplit => "ERR split",
        Misuse::NotAnotherPart => "ERR peer",
        Misuse::MovedTooMany => "ERR moved",
        Misuse::ShareAboveTotal => "ERR share",
        Misuse::PartOutOfRange | Misuse::SplitIdSize => "ERR part",
        Misuse::PartTakesNoDraw => "ERR part draws",
        Misuse::NumberedTakesNoDraw => "ERR numbered",
        Misuse::TooManyUnits => "ERR numbers",
        Misuse::NumberedOnlyGrows => "ERR negative",
        Misuse::NumberedTakesNoUpTo => "ERR upto",
        Misuse::NumberedTakesNoKeep => "ERR keep",
        Misuse::KeepsNoUnit => "ERR none kept",
        Misuse::TooManyAtOnce => "ERR many",
        Misuse::NotNumbered => "NOTNUMBERED",
        Misuse::NoSuchUnit => "ERR no unit",
        Misuse::ImportNeedsUnits => "ERR units",
        _ => "ERR other",
    }
}
