//! The checksum at the end of a DUMP payload: CRC-64 with the polynomial of Jones, bits reflected,
//! starting from 0. A test that alters a payload repairs it, else nothing behind it is reached.

const POLYNOMIAL: u64 = 0xad93_d235_94c9_35a9;
const CHECKSUM_BYTES: usize = 8;

/// The checksum of `bytes`.
pub fn crc64(bytes: &[u8]) -> u64 {
    let reflected = POLYNOMIAL.reverse_bits();
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| (crc >> 1) ^ (reflected * (crc & 1)))
    })
}

/// Makes the checksum of a DUMP payload right again.
pub fn repair(payload: &mut [u8]) {
    let body = payload.len() - CHECKSUM_BYTES;
    let sum = crc64(&payload[..body]).to_le_bytes();
    payload[body..].copy_from_slice(&sum);
}

#[test]
fn the_checksum_is_the_one_the_server_uses() {
    assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
}
