//! What changes will come to, worked out before anything is touched: the numbers after them, what
//! is told of them and what the outbox gets. Making a plan can't fail.

use super::apply::Told;
use super::core::Core;
use super::effect::Change;
use super::event::Event;
use super::ledger::HashKey;
use super::outbox::{Entry, Scribe};
use super::outcome::Refused;
use super::trial::{Moved, Trial, Witness};
use super::Sale;

/// Changes that were tried on a copy of the numbers of one edition of a sale.
#[derive(Debug)]
pub struct Plan {
    edition: Edition,
    trial: Trial,
    told: Told,
    /// What the outbox gets, if the sale has one: an entry for each event, in order.
    pub entries: Vec<Entry>,
}

/// A sale at one version. No two sales and no two versions have the same, and a sale that was
/// loaded again has another one, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition {
    id: u64,
    version: u64,
    key: HashKey,
}

impl Plan {
    /// Whether `sale` is the one that was planned for, as it was then.
    pub fn is_for(&self, sale: &Sale) -> bool {
        self.edition == sale.edition()
    }
}

impl Sale {
    fn edition(&self) -> Edition {
        Edition { id: self.id, version: self.core.version, key: self.ledger.key() }
    }

    /// Tries `changes`. `key` is the sale's name at this moment, which the entries tell.
    pub fn plan_changes(&self, key: &[u8], changes: &[Change<'_>]) -> Result<Plan, Refused> {
        let scribe = self.outbox_after(changes).map(|_| Scribe::of(self, key));
        let mut seen = Seen { told: Told::new(), scribe };
        let trial = self.attempt(changes, &mut seen)?;
        let entries = seen.scribe.map_or(Vec::new(), Scribe::into_entries);
        Ok(Plan { edition: self.edition(), trial, told: seen.told, entries })
    }

    /// Makes what was planned for this sale as it still is, in the run `run`. `changes` are those
    /// of the plan.
    pub fn commit_plan(&mut self, changes: &[Change<'_>], plan: Plan, run: u64) -> Told {
        debug_assert!(plan.is_for(self), "a plan is for one edition");
        self.make_all(changes, &plan.trial);
        if !changes.is_empty() {
            self.run = run;
        }
        plan.told
    }
}

/// Sees what is told, and what the outbox gets.
struct Seen<'s> {
    told: Told,
    scribe: Option<Scribe<'s>>,
}

impl Witness for Seen<'_> {
    fn see(&mut self, core: &Core, event: Event, change: &Change<'_>, moved: Option<Moved>) {
        self.told.see(core, event, change, moved);
        if let Some(scribe) = &mut self.scribe {
            scribe.see(core, event, change, moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::request::{Amount, Grab, Request};
    use crate::terms::Terms;
    use crate::testing::{at, created, init, run};
    use crate::Sale;

    const PAUSE: Request<'_> = Request::Pause;

    fn sale() -> Sale {
        created(&init(3, Terms { outbox: Some(b"s"[..].into()), ..Terms::default() }), 1)
    }

    #[test]
    fn a_plan_is_for_one_version_of_one_sale() {
        let mut sale = sale();
        let decision = sale.decide(&PAUSE, &at(2));
        let plan = sale.plan_changes(b"k", &decision.changes).unwrap();
        assert!(plan.is_for(&sale));
        assert_eq!(plan.entries.len(), 1);
        let other = created(&crate::request::Init { id: 77, ..init(3, Terms::default()) }, 1);
        assert!(!plan.is_for(&other), "another sale at the same version");
        let grab = Grab { user: b"u", amount: Amount::Unsaid, req: None };
        run(&mut sale, &Request::Grab(grab), 2);
        assert!(!plan.is_for(&sale), "another version of the sale");
    }

    #[test]
    fn a_plan_comes_to_what_committing_comes_to() {
        let (mut planned, mut plain) = (sale(), sale());
        let decision = planned.decide(&PAUSE, &at(2));
        let plan = planned.plan_changes(b"k", &decision.changes).unwrap();
        let told = planned.commit_plan(&decision.changes, plan, 1);
        assert_eq!(told, plain.commit(&decision.changes, 1).unwrap());
        assert_eq!(planned.core(), plain.core());
        assert!(planned.paused && plain.paused);
    }
}
