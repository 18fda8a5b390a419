//! MOD: the users whose number leaves a certain remainder.

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::keyed::{keyed, Purpose};
use crate::model::limits::MOD_RESIDUES_MAX;
use crate::model::outcome::Misuse;
use crate::model::wire;

/// The user's number modulo `modulus` is one of `residues`, which are ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modulo {
    /// What the number of a user is divided by.
    #[serde(deserialize_with = "wire::integer")]
    pub modulus: u64,
    /// The remainders that are let in, in order.
    #[serde(deserialize_with = "residues")]
    pub residues: Box<[u64]>,
}

impl Modulo {
    /// The residues in any order; a repeated one counts once.
    pub fn new(modulus: u64, mut residues: Vec<u64>) -> Modulo {
        residues.sort_unstable();
        residues.dedup();
        Modulo { modulus, residues: residues.into() }
    }

    pub(super) fn check(&self) -> Result<(), Misuse> {
        let ascending = self.residues.windows(2).all(|pair| pair[0] < pair[1]);
        match self.residues.last() {
            None => Err(Misuse::ModNoResidue),
            Some(last) if *last >= self.modulus || !ascending => Err(Misuse::ModResidueTooLarge),
            _ if self.residues.len() > MOD_RESIDUES_MAX => Err(Misuse::ModTooManyResidues),
            _ => Ok(()),
        }
    }

    /// Whether this user is one of them.
    pub(crate) fn admits(&self, user: &[u8], secret: &[u8; 16]) -> bool {
        let residue = match user.iter().all(u8::is_ascii_digit) {
            true => user
                .iter()
                .fold(0, |residue, digit| (residue * 10 + u64::from(digit - b'0')) % self.modulus),
            false => keyed(secret, Purpose::Modulo, &[user]) % self.modulus,
        };
        self.residues.binary_search(&residue).is_ok()
    }
}

fn residues<'de, D: Deserializer<'de>>(from: D) -> Result<Box<[u64]>, D::Error> {
    let all: Vec<u64> =
        wire::several(from, MOD_RESIDUES_MAX, |wire::Integer(residue)| Some(residue))?;
    Ok(all.into())
}
