//! Random bytes of the operating system.

use seckill_domain::ledger::HashKey;

/// Bytes that can't be guessed.
fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the buffer is ours and as long as said; at most 256 bytes are asked for.
    if unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), N) } == 0 {
        return bytes;
    }
    // A kernel without entropy calls: the server keeps a generator seeded from /dev/urandom.
    // SAFETY: reading a function pointer that is written once, while the module is loaded.
    if let Some(fill) = unsafe { offered!(RedisModule_GetRandomBytes) } {
        // SAFETY: as above, the buffer is ours and as long as said.
        unsafe { fill(bytes.as_mut_ptr(), N) };
    }
    bytes
}

/// A new sale's id.
pub fn id() -> u64 {
    u64::from_ne_bytes(bytes())
}

/// A new sale's secret.
pub fn secret() -> [u8; 16] {
    bytes()
}

/// A key for the hash of one sale's index, of this process alone: buyers choose their ids, so the
/// places of an index must not be predictable.
pub fn hash_key() -> HashKey {
    [id(), id()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ() {
        assert_ne!(id(), id());
        assert_ne!(secret(), secret());
        assert_ne!(hash_key(), hash_key());
    }
}
