//! DUMP payloads taken apart and put together again.

use crc::{Crc, CRC_64_REDIS};

use super::client::encode;

/// The type and the module's id at the start of a payload.
pub const HEADER_BYTES: usize = 10;
/// Marks of a payload's parts: a string follows, or the end is here.
const STRING: u8 = 5;
const END: u8 = 0;
/// RDB version and checksum at the end of a payload.
pub const TRAILER_BYTES: usize = 10;
const CHECKSUM_BYTES: usize = 8;
static CHECKSUM: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);

/// A RESTORE over what the key holds.
pub fn restore(key: &str, payload: &[u8]) -> Vec<u8> {
    encode(&[b"RESTORE" as &[u8], key.as_bytes(), b"0", payload, b"REPLACE"])
}

/// Makes the checksum of a payload right again. A test that alters a payload does so, else nothing
/// behind it is reached.
pub fn repair(payload: &mut [u8]) {
    let (body, sum) = payload.split_at_mut(payload.len() - CHECKSUM_BYTES);
    sum.copy_from_slice(&CHECKSUM.checksum(body).to_le_bytes());
}

/// The strings of a payload: pieces of the sale, then an empty one.
pub fn pieces(payload: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &payload[HEADER_BYTES..payload.len() - TRAILER_BYTES];
    let mut pieces = Vec::new();
    while rest[0] == STRING {
        let (len, start) = match rest[1] >> 6 {
            0 => (usize::from(rest[1]), 2),
            1 => (usize::from(rest[1] & 0x3f) << 8 | usize::from(rest[2]), 3),
            _ => (rest[2..6].iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), 6),
        };
        pieces.push(rest[start..start + len].to_vec());
        rest = &rest[start + len..];
    }
    assert_eq!(rest, [END]);
    pieces
}

/// A payload of these strings, with the header and the trailer of another.
pub fn assembled(like: &[u8], pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut payload = like[..HEADER_BYTES].to_vec();
    for piece in pieces {
        payload.extend_from_slice(&[STRING, 0x80]);
        payload.extend_from_slice(&(piece.len() as u32).to_be_bytes());
        payload.extend_from_slice(piece);
    }
    payload.push(END);
    payload.extend_from_slice(&like[like.len() - TRAILER_BYTES..]);
    repair(&mut payload);
    payload
}
