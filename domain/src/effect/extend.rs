//! A hold gets a later deadline.

use super::settle::set_state;
use super::*;

/// A new deadline, `ms` after T.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Extend {
    /// The grant's seq.
    #[serde(deserialize_with = "wire::integer")]
    pub seq: u64,
    /// Milliseconds after T.
    #[serde(deserialize_with = "wire::span")]
    pub ms: u64,
}

impl Act for Extend {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(checker.draft.look(self.seq)?.state == State::Held)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let (seq, deadline) = (self.seq, draft.balances.t + self.ms);
        let held = draft.look(seq)?;
        let view = draft.moved(GrantView { state: State::Held, deadline, ..held });
        draft.change_round_of(EventKind::Extend, view, |_| Ok(()))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        set_state(sale, self.seq, State::Held, sale.balances.t + self.ms);
    }
}
