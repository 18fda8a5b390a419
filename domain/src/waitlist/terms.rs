//! The terms of a waiting list.

use serde::{Deserialize, Serialize};

use crate::model::limits::{HOLD_MS_MAX, OVERTAKE_USUAL, WAITERS_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;

/// WAITLIST with OFFER and OVERTAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTerms {
    /// Most entries; 0: the list takes no more users.
    #[serde(deserialize_with = "wire::integer")]
    pub max: u64,
    /// Lifetime of an offer, in ms; 0: as long as HOLD.
    #[serde(deserialize_with = "wire::integer")]
    pub offer_ms: u64,
    /// Times that users who ask for less may pass the head.
    #[serde(deserialize_with = "wire::integer")]
    pub overtake: u64,
}

/// Terms that ALTER changes; `None` leaves a term unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTermsChange {
    /// WAITLIST.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub max: Option<u64>,
    /// OFFER.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub offer_ms: Option<u64>,
    /// OVERTAKE.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub overtake: Option<u64>,
}

impl WaitTerms {
    /// The terms after `change`, if any. `WAITLIST 0` gives no terms to a sale that never had a
    /// list; a sale with a list keeps its other terms for its waiters.
    pub(crate) fn altered(terms: Option<WaitTerms>, change: &WaitTermsChange) -> Option<WaitTerms> {
        let usual = WaitTerms { max: 0, offer_ms: 0, overtake: OVERTAKE_USUAL };
        let before = terms.unwrap_or(usual);
        let after = WaitTerms {
            max: change.max.unwrap_or(before.max),
            offer_ms: change.offer_ms.unwrap_or(before.offer_ms),
            overtake: change.overtake.unwrap_or(before.overtake),
        };
        (terms.is_some() || after.max > 0).then_some(after)
    }

    /// Whether these terms are consistent with holds of `hold_ms`.
    pub(crate) fn check(&self, hold_ms: u64) -> Result<(), Misuse> {
        if self.max > WAITERS_MAX {
            return Err(Misuse::WaitlistTooLong);
        }
        if self.offer_ms > HOLD_MS_MAX {
            return Err(Misuse::OfferTooLong);
        }
        match self.max > 0 && self.offer_ms == 0 && hold_ms == 0 {
            true => Err(Misuse::OfferNeedsTime),
            false => Ok(()),
        }
    }
}
