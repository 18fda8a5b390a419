//! Ids of users and requests, and a user's part of a split sale.

use std::fmt;

use crc::{Crc, Table, CRC_32_ISO_HDLC};

/// The CRC-32 of zlib.
const CRC_32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// A user's or a request's id: any bytes, mostly text.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Vec<u8>);

impl Id {
    /// Whether the id has no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The given id, or 32 new hexadecimal digits if it is empty.
    pub(crate) fn or_new(self) -> Result<Id, crate::Error> {
        if !self.is_empty() {
            return Ok(self);
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|_| crate::Error::Usage("the system has no random numbers for a REQ"))?;
        Ok(Id(random.map(|byte| format!("{byte:02x}")).concat().into_bytes()))
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Id {
    fn from(bytes: &T) -> Id {
        Id(bytes.as_ref().to_vec())
    }
}

impl From<Vec<u8>> for Id {
    fn from(bytes: Vec<u8>) -> Id {
        Id(bytes)
    }
}

impl From<String> for Id {
    fn from(text: String) -> Id {
        Id(text.into_bytes())
    }
}

impl AsRef<[u8]> for Id {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq<str> for Id {
    fn eq(&self, text: &str) -> bool {
        self.0 == text.as_bytes()
    }
}

/// The id as text; bytes that are not UTF-8 are shown as U+FFFD.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// The user's part of a split sale, and its key. `parts` is that of `seckill split create`, at
/// least 1.
///
/// # Errors
/// [`Error::Usage`](crate::Error::Usage) when there are no parts.
pub fn home(name: &str, parts: u16, user: impl AsRef<[u8]>) -> Result<(u16, String), crate::Error> {
    let sum = CRC_32.checksum(user.as_ref());
    let part = sum.checked_rem(parts.into()).ok_or(crate::Error::Usage("parts must be above 0"))?;
    // A remainder is less than its divisor, which has 16 bits.
    Ok((part as u16, format!("{name}:{{p{part}}}")))
}
