//! Encoding of values for replicas, AOFs and dumps.
//!
//! The codec is postcard, whose format is specified and stable. Numbers are varints, byte strings
//! are preceded by their length, and enums by the index of their variant. This module adds the
//! checks that every encoding needs. Bytes after a value are refused, and so are impossible values
//! (an empty id, a number no client could hold). Memory is allocated as values come, not by their
//! announced length.
//!
//! The first byte of an encoding is its version's index. A later version appends a variant and
//! keeps the earlier ones readable; a build refuses variants that it does not know.

use core::fmt;
use core::marker::PhantomData;

use postcard::ser_flavors::Flavor;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

use crate::model::limits::{HOLD_MS_MAX, INTEGER_MAX, REQ_BYTES_MAX, TIME_MS_MAX, USER_BYTES_MAX};
use crate::model::outcome::Refused;

/// Appends bytes to a vector: existing bytes stay, and spare capacity is used.
pub(crate) struct End<'o>(pub &'o mut Vec<u8>);

impl Flavor for End<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Decodes a value from all of these bytes.
#[inline]
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Refused> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(Refused::Unknown),
    }
}

/// A number that every client language represents exactly.
pub(crate) fn integer<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(INTEGER_MAX, u64::deserialize(from)?)
}

/// A number of [`integer`], or none.
pub(crate) fn maybe_integer<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = Option::deserialize(from)?;
    number.map(|number| within(INTEGER_MAX, number)).transpose()
}

/// A number with a sign that every client language represents exactly.
pub(crate) fn signed<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let number = i64::deserialize(from)?;
    within(INTEGER_MAX, number.unsigned_abs()).map(|_| number)
}

/// A time that a sale can store, Unix ms.
pub(crate) fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(TIME_MS_MAX, u64::deserialize(from)?)
}

/// A length of a hold, in ms.
pub(crate) fn span<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(HOLD_MS_MAX, u64::deserialize(from)?)
}

/// A deadline in Unix ms, or 0.
pub(crate) fn deadline<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(TIME_MS_MAX + HOLD_MS_MAX, u64::deserialize(from)?)
}

/// Units of a grant.
pub(crate) fn quantity<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    match integer(from)? {
        0 => Err(D::Error::custom("a grant of nothing")),
        qty => Ok(qty),
    }
}

fn within<E: Error>(most: u64, number: u64) -> Result<u64, E> {
    match number <= most {
        true => Ok(number),
        false => Err(E::custom("a number out of bounds")),
    }
}

/// A number within a sequence.
#[derive(Deserialize)]
pub(crate) struct Integer(#[serde(deserialize_with = "integer")] pub u64);

/// A user within a sequence.
#[derive(Deserialize)]
pub(crate) struct User<'a>(#[serde(with = "user")] pub &'a [u8]);

/// An id of 1 to `most` bytes, borrowed.
fn id<'de, D: Deserializer<'de>>(from: D, most: usize) -> Result<&'de [u8], D::Error> {
    let bytes = <&[u8]>::deserialize(from)?;
    match (1..=most).contains(&bytes.len()) {
        true => Ok(bytes),
        false => Err(D::Error::custom("an id of no bytes, or of too many")),
    }
}

/// A user's id.
pub(crate) mod user {
    use super::*;

    #[inline]
    pub fn serialize<S: Serializer>(user: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(user)
    }

    #[inline]
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'de [u8], D::Error> {
        id(from, USER_BYTES_MAX)
    }
}

/// A request id.
pub(crate) mod req {
    use super::*;

    #[inline]
    pub fn serialize<S: Serializer>(req: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(req)
    }

    #[inline]
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'de [u8], D::Error> {
        id(from, REQ_BYTES_MAX)
    }
}

/// At most `most` values, each mapped by `kept`, which refuses impossible ones. Memory is allocated
/// as values come, not by their announced count.
pub(crate) fn sequence<'de, D, T, U, C>(
    from: D,
    most: usize,
    kept: impl Fn(T) -> Option<U>,
) -> Result<C, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
    C: Default + Extend<U>,
{
    from.deserialize_seq(Several { most, kept, kind: PhantomData })
}

struct Several<T, C, F> {
    most: usize,
    kept: F,
    kind: PhantomData<(T, C)>,
}

impl<'de, T, U, C, F> Visitor<'de> for Several<T, C, F>
where
    T: Deserialize<'de>,
    C: Default + Extend<U>,
    F: Fn(T) -> Option<U>,
{
    type Value = C;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "at most {} values", self.most)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<C, A::Error> {
        let (mut all, mut count) = (C::default(), 0);
        while let Some(value) = from.next_element()? {
            if count == self.most {
                return Err(A::Error::custom("more than there can be"));
            }
            count += 1;
            let kept = (self.kept)(value).ok_or_else(|| A::Error::custom("not one of them"))?;
            all.extend([kept]);
        }
        Ok(all)
    }
}
