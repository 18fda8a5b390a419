//! Decodes and encodes DUMP payloads.

use crc::{Crc, CRC_64_REDIS};

use super::client::encode;

/// The type and the module's id at the start of a payload.
pub const HEADER_BYTES: usize = 10;
/// Opcodes in a payload: a string follows, or the end.
const STRING: u8 = 5;
const END: u8 = 0;
/// RDB version and checksum at the end of a payload.
pub const TRAILER_BYTES: usize = 10;
const CHECKSUM_BYTES: usize = 8;
static CHECKSUM: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);

/// A RESTORE that replaces the key.
pub fn restore(key: &str, payload: &[u8]) -> Vec<u8> {
    encode(&[b"RESTORE" as &[u8], key.as_bytes(), b"0", payload, b"REPLACE"])
}

/// Computes the checksum of an altered payload again. Otherwise the server would refuse the payload
/// before it reads it.
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

/// A payload with these strings, and the header and trailer of `like`.
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
