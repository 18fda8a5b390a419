//! The results of a run of the lab, and its machine.

use serde::{Deserialize, Serialize};

use crate::facts::Fact;
use crate::host::Host;
use crate::interleave::explore::Proof;
use crate::rush::cell::Cell;

/// The results of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub host: Host,
    pub proofs: Vec<Proof>,
    pub cells: Vec<Cell>,
    pub facts: Vec<Fact>,
    #[serde(default)]
    pub elsewhere: Vec<Elsewhere>,
}

/// The rows in SQL on a database other than MariaDB.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Elsewhere {
    /// Name and version of the database.
    pub database: String,
    /// Rows with equal results on MariaDB.
    pub same: Vec<String>,
    /// Rows with other results.
    pub different: Vec<Proof>,
}

impl Elsewhere {
    pub fn of(database: String, found: Vec<Proof>, on_mariadb: &[Proof]) -> Elsewhere {
        let is_same = |proof: &Proof| {
            on_mariadb.iter().any(|one| one.id == proof.id && one.faults() == proof.faults())
        };
        let (same, different): (Vec<_>, Vec<_>) = found.into_iter().partition(is_same);
        Elsewhere { database, same: same.into_iter().map(|proof| proof.id).collect(), different }
    }
}
