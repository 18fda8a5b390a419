//! The settings of servers, with the promise of each.

use std::iter::repeat_n;
use std::time::Duration;

use clap::ValueEnum;

use crate::faults::Fault;
use crate::history::Promise;
use crate::library::Flavour;
use crate::tls::Tls;
use crate::world::Setup;

/// A setting of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Setting {
    /// One server, `appendfsync always`
    Always,
    /// Primary and replica; an answer counts after `WAIT 1`
    Wait,
    /// Primary and two replicas, three Sentinels, `min-replicas-to-write 1`; an answer counts after
    /// `WAIT 1`
    Sentinel,
    /// As `sentinel`, with steps that docs/sentinel.md advises against; the checker must find
    /// losses
    AgainstAdvice,
    /// Primary and replica, `appendfsync everysec`; the last changes may be lost
    Plain,
    /// As `wait`; buyers use the Python library
    Python,
    /// As `wait`; buyers use the Node library
    Node,
}

impl Setting {
    pub const ALL: [Setting; 6] = [
        Setting::Always,
        Setting::Wait,
        Setting::Plain,
        Setting::Sentinel,
        Setting::Python,
        Setting::Node,
    ];

    /// Its name in the table, its promise, whether an answer counts only when a replica has the
    /// change, its replicas, and its place in `Fault::odds`.
    fn row(self) -> (&'static str, Promise, bool, usize, usize) {
        use Promise::{AllButTheTail, Everything};
        match self {
            Setting::Always => ("appendfsync always", Everything, false, 0, 0),
            Setting::Wait => ("WAIT 1", Everything, true, 1, 1),
            Setting::Sentinel => ("Sentinel, WAIT 1", Everything, true, 2, 3),
            Setting::AgainstAdvice => ("Sentinel, against advice, WAIT 1", Everything, true, 2, 4),
            Setting::Plain => ("nothing promised", AllButTheTail, false, 1, 2),
            Setting::Python => ("WAIT 1, Python library", Everything, true, 1, 1),
            Setting::Node => ("WAIT 1, Node library", Everything, true, 1, 1),
        }
    }

    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn promise(self) -> Promise {
        self.row().1
    }

    pub fn waits(self) -> bool {
        self.row().2
    }

    fn replicas(self) -> usize {
        self.row().3
    }

    pub fn has_sentinels(self) -> bool {
        self.replicas() == 2
    }

    pub fn library(self) -> Option<Flavour> {
        match self {
            Setting::Python => Some(Flavour::python("sync")),
            Setting::Node => Some(Flavour::node()),
            _ => None,
        }
    }

    pub fn is_possible(self) -> bool {
        self.library().is_none_or(|library| library.is_here())
    }

    /// Time for faults in one episode; Sentinels need longer.
    pub fn lasts(self) -> Duration {
        Duration::from_secs(if self.has_sentinels() { 30 } else { 7 })
    }

    /// Faults of this setting, or only the named one.
    pub fn draws(self, only: Option<Fault>) -> impl Iterator<Item = Fault> {
        let (.., column) = self.row();
        let all = Fault::value_variants().iter().copied();
        let faults = all.filter(move |fault| only.is_none_or(|only| only == *fault));
        faults.flat_map(move |fault| repeat_n(fault, fault.odds()[column]))
    }

    /// The servers of this setting; `more` are further settings of all servers.
    pub fn setup(self, more: &[String], tls: Option<Tls>) -> Setup {
        let settings: &[&str] = match self.replicas() {
            0 => &["--appendfsync", "always"],
            1 => &["--appendfsync", "everysec"],
            _ => &["--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"],
        };
        let settings = settings.iter().map(|word| (*word).to_owned()).chain(more.iter().cloned());
        let (replicas, has_sentinels) = (self.replicas(), self.has_sentinels());
        Setup { settings: settings.collect(), replicas, has_sentinels, tls }
    }
}
