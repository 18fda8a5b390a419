//! The searched settings, and the builds that are broken on purpose.

use stateright::{Checker, HasDiscoveries, Model};

use super::laws::{ALL_SOLD, NOT_OVERSOLD, NOT_TWICE, NO_OLD_PASS};
use super::Broken::{
    self, LostPartGetsShare, NoPass, NoSplitId, NoWait, ReadApart, ReceiveAdds, RepairInSteps,
    RepeatLeavesNoTrace, WaitAfterNothing,
};
use super::{Config, QUIET};

#[derive(Debug)]
pub struct Found {
    pub states: usize,
    /// The broken law, and the actions that lead there.
    pub broken: Option<(&'static str, Vec<String>)>,
}

/// Searches all states until a law is broken: any law, or the named one.
pub fn search(name: &str, config: &Config, law: Option<&'static str>) -> Found {
    let end = match law {
        Some(law) => HasDiscoveries::AnyOf([law].into()),
        None => HasDiscoveries::AnyFailures,
    };
    let checker = config.checker().threads(THREADS).finish_when(end).spawn_bfs().join();
    let mut discoveries = checker.discoveries().into_iter();
    let broken = discoveries.find(|(found, _)| law.is_none_or(|law| law == *found));
    let broken = broken.map(|(law, path)| {
        (law, path.into_actions().iter().map(|action| format!("{action:?}")).collect())
    });
    let states = checker.unique_state_count();
    println!("{name}: {states} states");
    Found { states, broken }
}

const THREADS: usize = 2;

/// Settings for the tests: a few seconds.
pub const SMALL: &[(&str, Config)] = &[
    ("two balancers, a late message", Config { moves: 2, balancers: 2, late: 1, ..QUIET }),
    ("told that all is sold", Config { moves: 1, passes: 2, late: 1, refunds: 1, ..QUIET }),
    ("a failover, with WAIT", Config { moves: 1, balancers: 2, failovers: 1, ..QUIET }),
    ("a failover, without WAIT", Config { moves: 1, failovers: 1, broken: Some(NoWait), ..QUIET }),
    ("a part is lost", Config { moves: 1, losses: 1, ..QUIET }),
    ("told after a failover", Config { total: 1, moves: 1, passes: 2, failovers: 1, ..QUIET }),
    ("told after a part is lost", Config { moves: 1, passes: 1, losses: 1, ..QUIET }),
    ("made anew", Config { moves: 1, late: 1, renewals: 1, ..QUIET }),
];

/// Further settings: 20 minutes.
pub const LARGE: &[(&str, Config)] = &[
    ("late messages, a refund", Config { moves: 2, balancers: 2, late: 2, refunds: 1, ..QUIET }),
    ("told that all is sold by two", Config { moves: 1, passes: 2, balancers: 2, ..QUIET }),
    ("told, and it comes back", Config { moves: 2, passes: 3, late: 1, refunds: 1, ..QUIET }),
    ("two failovers, with WAIT", Config { moves: 2, balancers: 2, failovers: 2, ..QUIET }),
    ("two, without WAIT", Config { moves: 2, failovers: 2, broken: Some(NoWait), ..QUIET }),
    ("a part is lost, two balancers", Config { moves: 2, balancers: 2, losses: 1, ..QUIET }),
    ("told after a failover, WAIT", Config { moves: 1, passes: 2, failovers: 1, ..QUIET }),
    ("made anew by two", Config { moves: 2, balancers: 2, late: 2, renewals: 1, ..QUIET }),
];

/// The broken builds that must be found: each with the setting that shows the error, and the law
/// that finds it.
pub const MUTANTS: &[(Broken, Config, &str)] = &[
    (ReceiveAdds, Config { moves: 1, late: 1, ..QUIET }, NOT_TWICE),
    (NoSplitId, Config { moves: 1, late: 1, renewals: 1, ..QUIET }, NOT_TWICE),
    (NoWait, Config { moves: 1, failovers: 1, strict: true, ..QUIET }, NOT_TWICE),
    (RepeatLeavesNoTrace, Config { moves: 1, balancers: 2, failovers: 1, ..QUIET }, NOT_TWICE),
    (WaitAfterNothing, Config { moves: 2, balancers: 2, failovers: 1, ..QUIET }, NOT_TWICE),
    (ReadApart, Config { moves: 1, balancers: 2, passes: 1, ..QUIET }, ALL_SOLD),
    (NoPass, Config { passes: 3, late: 1, refunds: 1, ..QUIET }, NO_OLD_PASS),
    (LostPartGetsShare, Config { losses: 1, ..QUIET }, NOT_OVERSOLD),
    (RepairInSteps, Config { moves: 2, losses: 1, ..QUIET }, NOT_OVERSOLD),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_laws_hold(settings: &[(&str, Config)]) {
        for (name, config) in settings {
            let found = search(name, config, None);
            assert_eq!(found.broken, None, "{name}");
            assert!(found.states > 500, "{name}: {}", found.states);
        }
    }

    #[test]
    fn the_laws_hold_in_all_states_of_small_splits() {
        assert_laws_hold(SMALL);
    }

    #[test]
    #[ignore = "20 minutes: make proof-parts"]
    fn the_laws_hold_in_all_states_of_larger_splits() {
        assert_laws_hold(LARGE);
    }

    #[test]
    fn every_build_that_is_broken_is_found() {
        for (broken, config, law) in MUTANTS {
            let config = Config { broken: Some(*broken), ..*config };
            let found = search(&format!("{broken:?}"), &config, Some(law));
            assert!(found.broken.is_some(), "{broken:?}: {found:?}");
        }
    }
}
