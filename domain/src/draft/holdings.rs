//! Users' holdings in a draft.

use std::collections::HashMap;

use super::Touched;
use crate::ledger::{Grant, Holding, Ledger};
use crate::model::outcome::GrantView;
use crate::Sale;

/// Changes of users' live units and grants, by round (the number of grants before its ledger).
pub(super) type Gained = HashMap<(u64, Vec<u8>), (i64, i64)>;

impl Touched {
    #[cold]
    pub(super) fn holding(
        &mut self,
        sale: &Sale,
        mut holding: Holding,
        ledger: &Ledger,
        user: &[u8],
    ) -> Holding {
        let gained = self.gained(sale).get(&(ledger.base(), user.to_vec()));
        let (units, grants) = gained.copied().unwrap_or_default();
        holding.live_units = holding.live_units.saturating_add_signed(units);
        holding.live_grants = holding.live_grants.saturating_add_signed(grants as i32);
        holding
    }

    /// Changes of users' holdings through grants that the draft moved.
    fn gained(&mut self, sale: &Sale) -> &mut Gained {
        self.gained.get_or_insert_with(|| {
            let mut gained = Gained::new();
            for to in self.moved.values() {
                let ledger = sale.ledger_with(to.seq);
                if let Some(grant) = ledger.grant(to.seq) {
                    note_gained(&mut gained, ledger, &grant, &grant.view(), to);
                }
            }
            Box::new(gained)
        })
    }

    /// Counts a grant that a user gets back, in the current round.
    pub(super) fn gain(&mut self, sale: &Sale, user: &[u8], qty: u64) {
        let gained = self.gained(sale).entry((sale.ledger.base(), user.to_vec()));
        let (units, grants) = gained.or_default();
        *units += qty as i64;
        *grants += 1;
    }

    /// Notes a changed grant.
    pub(super) fn move_to(&mut self, sale: &Sale, to: GrantView) {
        let from = self.moved.insert(to.seq, to);
        if let Some(gained) = &mut self.gained {
            let ledger = sale.ledger_with(to.seq);
            if let Some(grant) = ledger.grant(to.seq) {
                let from = from.unwrap_or_else(|| grant.view());
                note_gained(gained, ledger, &grant, &from, &to);
            }
        }
    }
}

/// Adds the change of one grant to the sums of its user.
fn note_gained(
    gained: &mut Gained,
    ledger: &Ledger,
    grant: &Grant<'_>,
    from: &GrantView,
    to: &GrantView,
) {
    let live = |view: &GrantView| match view.state.is_live() {
        true => (view.qty as i64, 1),
        false => (0, 0),
    };
    let (had, has) = (live(from), live(to));
    if had != has {
        let (units, grants) = gained.entry((ledger.base(), grant.user.to_vec())).or_default();
        *units += has.0 - had.0;
        *grants += has.1 - had.1;
    }
}
