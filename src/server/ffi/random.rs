//! Random bytes of the operating system.

use std::fs::File;
use std::io::Read;

use seckill_domain::ledger::HashKey;

/// Fills a buffer with unpredictable bytes; false if it can't.
type Source = fn(&mut [u8]) -> bool;

/// The device is for kernels without the system call.
const SOURCES: [Source; 2] = [kernel, device];

/// Random bytes by the system call; up to 256 bytes come whole. libc's function is not used,
/// because it is younger than the oldest C libraries that load the module.
fn kernel(bytes: &mut [u8]) -> bool {
    // SAFETY: the buffer is ours and as long as said.
    let drawn = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    usize::try_from(drawn) == Ok(bytes.len())
}

fn device(bytes: &mut [u8]) -> bool {
    File::open("/dev/urandom").and_then(|mut device| device.read_exact(bytes)).is_ok()
}

/// Bytes of the first source that has any.
fn bytes<const N: usize>(sources: &[Source]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    sources.iter().any(|fill| fill(&mut bytes)).then_some(bytes)
}

/// A new sale's id.
pub fn id() -> Option<u64> {
    bytes(&SOURCES).map(u64::from_ne_bytes)
}

/// A new sale's secret.
pub fn secret() -> Option<[u8; 16]> {
    bytes(&SOURCES)
}

/// A key for the hash of one sale's index. Buyers choose their ids, so slots of an index must not
/// be predictable. The key never leaves the process, and no reply depends on it. So without
/// randomness a sale gets a known key and is not lost.
pub fn hash_key() -> HashKey {
    [id().unwrap_or_default(), id().unwrap_or_default()]
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

    #[test]
    fn every_source_gives_bytes_and_without_one_there_are_none() {
        let none: Source = |_| false;
        for source in SOURCES {
            let drawn: [Option<[u8; 16]>; 2] = [bytes(&[source]), bytes(&[none, source])];
            assert!(drawn[0].is_some() && drawn[1].is_some() && drawn[0] != drawn[1]);
        }
        assert_eq!(bytes::<16>(&[none, none]), None);
    }
}
