//! Who may ask at all: lists, number ranges, a random share, the first so many.
//!
//! Every hash here is keyed by the sale's secret, so nobody can choose an id that passes and all
//! nodes agree. Refusing allocates nothing.

mod modulo;
mod sample;
pub(crate) mod users;

use serde::{Deserialize, Serialize};

use crate::model::outcome::Misuse;
use crate::model::wire;

pub use modulo::Modulo;
pub use sample::Sample;

/// A list of users that a sale keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum List {
    /// Those whom ALLOWLIST lets in.
    Allow,
    /// Those who never may.
    Deny,
    /// Those whom ADMIT has let in.
    Admitted,
}

/// All lists, in the order of their numbers.
pub const LISTS: [List; 3] = [List::Allow, List::Deny, List::Admitted];

/// Terms of admission in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// Only listed users.
    pub allowlist: bool,
    /// Only users whose number has one of some remainders.
    pub modulo: Option<Box<Modulo>>,
    /// Only a random share of all users.
    pub sample: Option<Box<Sample>>,
    /// The first so many distinct users; 0 is all.
    #[serde(deserialize_with = "wire::integer")]
    pub admit: u64,
    /// Refusals look like a sale that is sold out for now.
    pub mask: bool,
}

/// What ALTER names; what it leaves out stays as it is. `Some(None)` switches off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionChange {
    /// Whether only listed users may ask.
    pub allowlist: Option<bool>,
    /// Only users whose number has one of some remainders.
    pub modulo: Option<Option<Box<Modulo>>>,
    /// Only a random share of all users.
    pub sample: Option<Option<Box<Sample>>>,
    /// The first so many distinct users; 0 is all.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub admit: Option<u64>,
    /// Whether refusals look like SOLDOUT.
    pub mask: Option<bool>,
}

impl Admission {
    /// The terms after `change`.
    pub fn altered(&self, change: &AdmissionChange) -> Admission {
        Admission {
            allowlist: change.allowlist.unwrap_or(self.allowlist),
            modulo: change.modulo.clone().unwrap_or_else(|| self.modulo.clone()),
            sample: change.sample.clone().unwrap_or_else(|| self.sample.clone()),
            admit: change.admit.unwrap_or(self.admit),
            mask: change.mask.unwrap_or(self.mask),
        }
    }

    /// Whether these terms can be kept.
    pub fn check(&self) -> Result<(), Misuse> {
        self.modulo.as_ref().map_or(Ok(()), |modulo| modulo.check())?;
        self.sample.as_ref().map_or(Ok(()), |sample| sample.check())
    }

    /// Whether everybody may ask.
    pub fn is_open(&self) -> bool {
        *self == Admission::default()
    }
}
