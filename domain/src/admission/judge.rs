//! Judging a user: which refusal, and how it looks.

use super::List;
use crate::model::outcome::Outcome;
use crate::state::extras::Extras;
use crate::Sale;

/// What a masked refusal looks like: never 0, which app servers cache.
const MASKED: Outcome = Outcome::SoldOut { held: 1 };

/// How a user would be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admittance {
    Ok,
    /// Not eligible.
    Denied,
    /// Shed.
    Busy,
}

impl Admittance {
    /// The word that USER shows.
    pub fn name(self) -> &'static str {
        match self {
            Admittance::Ok => "OK",
            Admittance::Denied => "DENIED",
            Admittance::Busy => "BUSY",
        }
    }
}

impl Sale {
    /// How a GRAB of this user would be judged now as far as admission goes, never masked.
    pub fn admittance(&self, user: &[u8]) -> Admittance {
        match self.judge_admission(user) {
            Ok(_) => Admittance::Ok,
            Err(Outcome::Denied) => Admittance::Denied,
            Err(_) => Admittance::Busy,
        }
    }

    /// Whether this user may ask: `Ok(true)` when ADMIT lets him in by this very call.
    #[inline]
    pub(crate) fn judge_admission(&self, user: &[u8]) -> Result<bool, Outcome> {
        match &self.extras {
            None => Ok(false),
            Some(extras) => self.judge_gates(extras, user),
        }
    }

    fn judge_gates(&self, extras: &Extras, user: &[u8]) -> Result<bool, Outcome> {
        let terms = &self.terms.admission;
        let secret = &self.secret;
        let is_listed = !terms.allowlist || extras.list(List::Allow).contains(user);
        let has_number = terms.modulo.as_ref().is_none_or(|modulo| modulo.admits(user, secret));
        if !is_listed || !has_number || extras.list(List::Deny).contains(user) {
            return Err(Outcome::Denied);
        }
        if !terms.sample.as_ref().is_none_or(|sample| sample.admits(user, secret)) {
            return Err(Outcome::Busy);
        }
        let admitted = extras.list(List::Admitted);
        if terms.admit == 0 || admitted.contains(user) {
            return Ok(false);
        }
        if admitted.len() >= terms.admit || !admitted.has_room_for(1) {
            return Err(Outcome::Busy);
        }
        Ok(true)
    }

    /// The outcome as the buyer is told it: refusals of admission may be masked. Counters keep
    /// the true one.
    pub fn masked(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Denied | Outcome::Busy if self.terms.admission.mask => MASKED,
            other => other,
        }
    }
}
