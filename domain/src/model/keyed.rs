//! Hashes under the secret of a sale: nobody can guess what is drawn or choose an id that passes,
//! and all nodes agree.
//!
//! They are SipHash-2-4 (Aumasson and Bernstein, 2012), a keyed pseudo-random function.

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// What a hash is for. It is the first byte that is hashed, so no two uses of a secret hash the
/// same bytes.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Purpose {
    Draw = b'd',
    Modulo = b'm',
    Sample = b's',
}

/// 64 uniform bits for `parts`, one behind the other. Compiled into the caller, who knows how many
/// there are: a sample is asked on every call of a rush.
#[inline(always)]
pub(crate) fn keyed(secret: &[u8; 16], purpose: Purpose, parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(secret);
    hasher.write(&[purpose as u8]);
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SECRET;

    /// The values are those of another implementation, checked with the authors' test vector.
    #[test]
    fn every_use_hashes_its_own_bytes() {
        let numbers = [&7u64.to_le_bytes()[..], &1u64.to_le_bytes()];
        assert_eq!(keyed(&SECRET, Purpose::Draw, &numbers), 0x98ea_3df6_553f_4284);
        assert_eq!(keyed(&SECRET, Purpose::Modulo, &[b"alice"]), 0x0fae_d97e_0c37_898e);
        assert_eq!(
            keyed(&SECRET, Purpose::Sample, &[&[4], b"salt", b"alice"]),
            0xf3bf_b9b0_13fa_1a7c
        );
    }
}
