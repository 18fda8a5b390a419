//! SAMPLE: a random share of the users.

use serde::{Deserialize, Serialize};

use crate::model::keyed::{keyed, Purpose};
use crate::model::limits::{PERMILLE_ALL, SALT_BYTES_MAX};
use crate::model::outcome::Misuse;

/// A share of the users; another salt is another share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// How many of a thousand users are let in.
    pub permille: u64,
    /// Another salt is another share; at most 128 bytes.
    pub salt: Box<[u8]>,
}

impl Sample {
    pub(super) fn check(&self) -> Result<(), Misuse> {
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
