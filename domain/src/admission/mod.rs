//! Who may ask at all: lists, number ranges, a random share, the first so many.
//!
//! Every hash here is keyed by the sale's secret, so nobody can choose an id that passes and all
//! nodes agree. Refusing allocates nothing.

pub(crate) mod users;

use serde::{Deserialize, Deserializer, Serialize};

use crate::draw::{keyed, Purpose};
use crate::model::limits::{MOD_RESIDUES_MAX, PERMILLE_ALL, SALT_BYTES_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;

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

/// MOD: the user's number modulo `modulus` is one of `residues`, which are ascending.
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

    fn check(&self) -> Result<(), Misuse> {
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

/// SAMPLE: a random share of the users; another salt is another share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// How many of a thousand users are let in.
    pub permille: u64,
    /// Another salt is another share; at most 128 bytes.
    pub salt: Box<[u8]>,
}

impl Sample {
    fn check(&self) -> Result<(), Misuse> {
        if self.permille > PERMILLE_ALL {
            return Err(Misuse::SampleTooLarge);
        }
        if self.salt.len() > SALT_BYTES_MAX {
            return Err(Misuse::SaltTooLong);
        }
        Ok(())
    }

    /// Whether this user is one of them. A larger share has all users of a smaller one.
    pub(crate) fn admits(&self, user: &[u8], secret: &[u8; 16]) -> bool {
        let bits = keyed(secret, Purpose::Sample, &[&[self.salt.len() as u8], &self.salt, user]);
        let place = (u128::from(bits) * u128::from(PERMILLE_ALL)) >> 64;
        place < u128::from(self.permille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SECRET;

    #[test]
    fn terms_of_admission_have_bounds() {
        let sample = |permille, salt| {
            let salt = vec![7; salt].into();
            let sample = Some(Box::new(Sample { permille, salt }));
            Admission { sample, ..Admission::default() }.check()
        };
        assert_eq!((sample(0, 0), sample(PERMILLE_ALL, SALT_BYTES_MAX)), (Ok(()), Ok(())));
        assert_eq!(sample(PERMILLE_ALL + 1, 0), Err(Misuse::SampleTooLarge));
        assert_eq!(sample(1, SALT_BYTES_MAX + 1), Err(Misuse::SaltTooLong));
        let modulo = |modulus, residues: &[u64]| {
            let modulo = Some(Box::new(Modulo { modulus, residues: residues.into() }));
            Admission { modulo, ..Admission::default() }.check()
        };
        let many: Vec<u64> = (0..=MOD_RESIDUES_MAX as u64).collect();
        assert_eq!((modulo(5, &[0, 4]), modulo(5000, &many[1..])), (Ok(()), Ok(())));
        assert_eq!(modulo(5, &[]), Err(Misuse::ModNoResidue));
        for residues in [&[5][..], &[2, 5], &[2, 2], &[3, 2]] {
            assert_eq!(modulo(5, residues), Err(Misuse::ModResidueTooLarge), "{residues:?}");
        }
        assert_eq!(modulo(5000, &many), Err(Misuse::ModTooManyResidues));
        assert_eq!(Modulo::new(9, vec![3, 1, 3]).residues[..], [1, 3]);
    }

    #[test]
    fn numbers_are_divided_digit_by_digit() {
        let admits = |modulus, residue, user: &[u8]| {
            Modulo::new(modulus, vec![residue]).admits(user, &SECRET)
        };
        for (user, modulus, residue) in
            [("12345", 97, 12345 % 97), ("0", 5, 0), ("00018446744073709551617", 10, 7)]
        {
            assert!(admits(modulus, residue, user.as_bytes()), "{user}");
            assert!(!admits(modulus, (residue + 1) % modulus, user.as_bytes()), "{user}");
        }
        // What is no number is hashed: about as many to each residue.
        let named = |residue| {
            let users = (0..3000).map(|number| format!("user{number}"));
            users.filter(|user| admits(3, residue, user.as_bytes())).count()
        };
        assert_eq!([0, 1, 2].map(named).iter().sum::<usize>(), 3000);
        assert!([0, 1, 2].map(named).iter().all(|count| (900..1100).contains(count)));
    }

    #[test]
    fn a_sample_is_a_share_that_clicking_does_not_change() {
        let sample = |permille, salt: &[u8]| Sample { permille, salt: salt.into() };
        let users: Vec<String> = (0..20_000).map(|n| format!("user{n}")).collect();
        let share = |sample: &Sample| -> Vec<bool> {
            users.iter().map(|user| sample.admits(user.as_bytes(), &SECRET)).collect()
        };
        let (small, large) = (share(&sample(100, b"")), share(&sample(300, b"")));
        let count = |share: &[bool]| share.iter().filter(|is_in| **is_in).count();
        assert!((1800..2200).contains(&count(&small)), "{}", count(&small));
        assert!((5700..6300).contains(&count(&large)), "{}", count(&large));
        assert!(small.iter().zip(&large).all(|(small, large)| large >= small));
        assert_ne!(small, share(&sample(100, b"x")));
        assert_eq!(count(&share(&sample(0, b""))), 0);
        assert_eq!(count(&share(&sample(1000, b""))), users.len());
    }
}
