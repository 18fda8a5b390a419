//! The searched settings, and the builds that are broken on purpose.

use stateright::{Checker, HasDiscoveries, Model};

use super::laws::{ALL_SOLD, NOT_OVERSOLD, NOT_TWICE, NO_OLD_PASS};
use super::{Broken, Config};

/// The result of a search.
#[derive(Debug)]
pub struct Found {
    pub states: usize,
    /// The broken law, and the actions that lead there.
    pub broken: Option<(&'static str, Vec<String>)>,
}

/// Searches all states until a law is broken: any law, or the named one.
pub fn search(config: &Config, law: Option<&'static str>) -> Found {
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
    println!("{}: {} states", config.name, checker.unique_state_count());
    Found { states: checker.unique_state_count(), broken }
}

const THREADS: usize = 2;

const QUIET: Config = Config::QUIET;

/// Settings for the tests: a few seconds.
pub const SMALL: &[Config] = &[
    Config { name: "two balancers, a late message", moves: 2, balancers: 2, late: 1, ..QUIET },
    Config { name: "told that all is sold", moves: 1, passes: 2, late: 1, refunds: 1, ..QUIET },
    Config { name: "a failover, with WAIT", moves: 1, balancers: 2, failovers: 1, ..QUIET },
    Config {
        name: "a failover, without WAIT",
        moves: 1,
        failovers: 1,
        broken: Some(Broken::NoWait),
        ..QUIET
    },
    Config { name: "a part is lost", moves: 1, losses: 1, ..QUIET },
    Config { name: "made anew", moves: 1, late: 1, renewals: 1, ..QUIET },
];

/// Further settings: 20 minutes.
pub const LARGE: &[Config] = &[
    Config {
        name: "two balancers, late messages, a refund",
        moves: 2,
        balancers: 2,
        late: 2,
        refunds: 1,
        ..QUIET
    },
    Config { name: "told that all is sold by two", moves: 1, passes: 2, balancers: 2, ..QUIET },
    Config {
        name: "told that all is sold, and it comes back",
        moves: 2,
        passes: 3,
        late: 1,
        refunds: 1,
        ..QUIET
    },
    Config { name: "two failovers, with WAIT", moves: 2, balancers: 2, failovers: 2, ..QUIET },
    Config {
        name: "two failovers, without WAIT",
        moves: 2,
        failovers: 2,
        broken: Some(Broken::NoWait),
        ..QUIET
    },
    Config { name: "a part is lost, two balancers", moves: 2, balancers: 2, losses: 1, ..QUIET },
    Config {
        name: "made anew, two balancers",
        moves: 2,
        balancers: 2,
        late: 2,
        renewals: 1,
        ..QUIET
    },
];

const fn mutant(
    name: &'static str,
    broken: Broken,
    config: Config,
    law: &'static str,
) -> (Config, &'static str) {
    (Config { name, broken: Some(broken), ..config }, law)
}

/// The broken builds that must be found: each with the setting that shows the error, and the law
/// that finds it.
pub const MUTANTS: &[(Config, &str)] = &[
    mutant(
        "RECEIVE adds instead of raising",
        Broken::ReceiveAdds,
        Config { moves: 1, late: 1, ..QUIET },
        NOT_TWICE,
    ),
    mutant(
        "no split id",
        Broken::NoSplitId,
        Config { moves: 1, late: 1, renewals: 1, ..QUIET },
        NOT_TWICE,
    ),
    mutant(
        "RECEIVE before the WAIT",
        Broken::NoWait,
        Config { moves: 1, failovers: 1, strict: true, ..QUIET },
        NOT_TWICE,
    ),
    mutant(
        "a repeated SEND that is not replicated",
        Broken::RepeatLeavesNoTrace,
        Config { moves: 1, balancers: 2, failovers: 1, ..QUIET },
        NOT_TWICE,
    ),
    mutant(
        "WAIT behind a SEND that left no trace",
        Broken::WaitAfterNothing,
        Config { moves: 2, balancers: 2, failovers: 1, ..QUIET },
        NOT_TWICE,
    ),
    mutant(
        "elsewhere 0 from two readings a part",
        Broken::ReadApart,
        Config { moves: 1, balancers: 2, passes: 1, ..QUIET },
        ALL_SOLD,
    ),
    mutant(
        "a late ELSEWHERE without pass",
        Broken::NoPass,
        Config { passes: 3, late: 1, refunds: 1, ..QUIET },
        NO_OLD_PASS,
    ),
    mutant(
        "a lost part made with its share",
        Broken::LostPartGetsShare,
        Config { losses: 1, ..QUIET },
        NOT_OVERSOLD,
    ),
    mutant(
        "a lost part made command by command",
        Broken::RepairInSteps,
        Config { moves: 2, losses: 1, ..QUIET },
        NOT_OVERSOLD,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_laws_hold(configs: &[Config]) {
        for config in configs {
            let found = search(config, None);
            assert_eq!(found.broken, None, "{}", config.name);
            assert!(found.states > 500, "{}: {}", config.name, found.states);
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
        for (config, law) in MUTANTS {
            let found = search(config, Some(law));
            assert!(found.broken.is_some(), "{}: {found:?}", config.name);
        }
    }
}
