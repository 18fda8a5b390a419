//! Committing a plan. Nothing here is refused or decided.

use crate::effect::{Act, Planned};
use crate::plan::Plan;
use crate::Sale;

impl Sale {
    /// Applies a plan to its sale, which must be unchanged since. Primaries, replicas and the
    /// loading of an AOF all come here: a sale changes nowhere else.
    pub fn commit(&mut self, plan: &Plan<'_>) {
        debug_assert!(plan.is_for(self), "the sale has changed since this was planned");
        let restocked = plan.touched.as_ref().map_or(&[][..], |touched| &touched.restocked);
        let new_grant = plan.new_grant.as_ref();
        let mut planned = Planned { new_grant, restocked: restocked.iter() };
        for change in &plan.changes {
            // Planning has checked both; the other numbers are set right below.
            debug_assert_eq!(
                { self.balances }.begin(change.elapsed_ms, change.epoch),
                Ok(()),
                "planning has begun it too"
            );
            self.balances.t += change.elapsed_ms;
            self.balances.epoch = change.epoch.unwrap_or(self.balances.epoch);
            change.effect.make(self, &mut planned);
        }
        self.balances = plan.balances;
        if let Some(escrow) = plan.touched.as_ref().and_then(|touched| touched.escrow) {
            self.escrow = Some(escrow);
        }
        if let Some(run) = plan.run {
            self.run = run;
            // The entries were appended before the commit.
            self.outbox_failed &= plan.events.is_empty();
        }
        if self.extras.is_some() {
            self.update_rounds(plan);
        }
        debug_assert!(self.is_lawful(), "{:?}", self.balances);
        debug_assert_eq!(self.balances.grants, self.ledger.len());
        debug_assert!(self
            .numbers()
            .is_none_or(|it| { u64::from(it.units().free()) == self.balances.available }));
        debug_assert!(
            self.escrow.is_none() || !self.is_whole() || self.pairs_agree(),
            "{:?}",
            self.pairs
        );
    }

    /// Stores the numbers of older rounds, and drops rounds that need not be kept.
    fn update_rounds(&mut self, plan: &Plan<'_>) {
        let Some(rounds) = self.rounds_mut() else { return };
        let touched = plan.touched.iter().flat_map(|touched| &touched.older);
        touched.clone().for_each(|(place, balances)| rounds.set_balances(*place, *balances));
        // From the last to the first, so that indexes stay valid.
        touched.rev().for_each(|(place, _)| rounds.prune(*place));
        rounds.before_previous().into_iter().for_each(|place| rounds.prune(place));
        rounds.free_some();
    }
}
