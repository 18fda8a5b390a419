//! One entry of the list as it lies in memory: numbers as varints, then the ids.
//!
//! ```text
//! ticket  qty  at  until  user length - 1  req length - 1  user  req
//! ```
//! Nothing but this process reads it: snapshots have a form of their own.

use serde::{Deserialize, Serialize};

use crate::memory::{put_varint, Reader};
use crate::model::wire;

/// An entry as it stands on the list: who waits, and for what. The effect that enters it is
/// `Joining`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter<'a> {
    /// Its number: who asked first has the lowest.
    #[serde(deserialize_with = "wire::quantity")]
    pub ticket: u64,
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
    /// Units, all or none of them.
    #[serde(deserialize_with = "wire::quantity")]
    pub qty: u64,
    /// When they joined, Unix ms.
    #[serde(deserialize_with = "wire::moment")]
    pub at: u64,
    /// First moment at which they wait no more, Unix ms; 0 for none.
    #[serde(deserialize_with = "wire::moment")]
    pub until: u64,
}

/// Appends an entry.
pub(super) fn write(out: &mut Vec<u8>, waiter: &Waiter<'_>) {
    for number in [waiter.ticket, waiter.qty, waiter.at, waiter.until] {
        put_varint(out, number);
    }
    out.push((waiter.user.len() - 1) as u8);
    out.push((waiter.req.len() - 1) as u8);
    out.extend_from_slice(waiter.user);
    out.extend_from_slice(waiter.req);
}

fn read<'a>(reader: &mut Reader<'a>) -> Option<Waiter<'a>> {
    let (ticket, qty) = (reader.varint()?, reader.varint()?);
    let (at, until) = (reader.varint()?, reader.varint()?);
    let (user_len, req_len) = (usize::from(reader.byte()?) + 1, usize::from(reader.byte()?) + 1);
    let (user, req) = (reader.take(user_len)?, reader.take(req_len)?);
    Some(Waiter { ticket, user, req, qty, at, until })
}

/// The entries of a leaf, in order.
pub(super) fn all(bytes: &[u8]) -> impl Iterator<Item = Waiter<'_>> {
    let mut reader = Reader::new(bytes);
    core::iter::from_fn(move || read(&mut reader))
}

/// Where in a leaf the entry of this ticket lies.
pub(super) fn span(bytes: &[u8], ticket: u64) -> Option<core::ops::Range<usize>> {
    let mut reader = Reader::new(bytes);
    loop {
        let start = bytes.len() - reader.remaining();
        if read(&mut reader)?.ticket == ticket {
            return Some(start..bytes.len() - reader.remaining());
        }
    }
}
