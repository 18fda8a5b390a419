//! Columns of numbers: bit fields of one width, the lowest bits first, behind that width.

use super::word_of;
use crate::bytes::Reader;

/// Bits of the widest field: what 18 digits need.
const WIDTH_MAX: u32 = 60;

fn field_bytes(width: u32, count: usize) -> usize {
    (width as usize * count).div_ceil(8)
}

/// Appends the width and the fields: as wide as the largest needs.
pub fn put_fields(out: &mut Vec<u8>, fields: impl ExactSizeIterator<Item = u64> + Clone) {
    let width = u64::BITS - fields.clone().fold(0, |all, field| all | field).leading_zeros();
    out.push(width as u8);
    out.reserve(field_bytes(width, fields.len()) + 8);
    let (mut pending, mut bits) = (0u64, 0);
    for field in fields {
        pending |= field << bits;
        bits += width;
        if bits >= u64::BITS {
            out.extend_from_slice(&pending.to_le_bytes());
            bits -= u64::BITS;
            // What of the field did not fit: its upper `bits` bits.
            pending = field.unbounded_shr(width - bits);
        }
    }
    out.extend_from_slice(&pending.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Bit fields of one width, the lowest bits first.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    width: u32,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads what [`put_fields`] wrote of `count` fields; `None` when it was not written so.
    pub fn read(reader: &mut Reader<'a>, count: usize) -> Option<Fields<'a>> {
        let width = u32::from(reader.byte()?);
        let bytes = (width <= WIDTH_MAX).then(|| reader.take(field_bytes(width, count)))??;
        Some(Fields { width, bytes })
    }

    /// The largest number that fits.
    pub fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// The first `count` fields, which are there.
    #[inline]
    pub fn iter(self, count: usize) -> impl ExactSizeIterator<Item = u64> + 'a {
        (0..count).map(move |place| self.at(place))
    }

    /// The field at `place`, which is there.
    #[inline]
    pub fn at(&self, place: usize) -> u64 {
        let bit = place * self.width as usize;
        let (bytes, bit) = (self.bytes.get(bit / 8..).unwrap_or_default(), bit as u32 % 8);
        let word = match bytes.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => word_of(bytes),
        };
        let mut field = word >> bit;
        if bit + self.width > u64::BITS {
            field |= u64::from(bytes[8]) << (u64::BITS - bit);
        }
        field & self.mask()
    }
}
