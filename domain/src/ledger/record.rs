//! One grant as it lies in memory: a few bytes of head, then what only some grants have.
//!
//! ```text
//! flags  user length - 1  [deadline 6]  [prev 4]  user  [req length - 1  req  asked]  [qty]  at
//! ```
//! `flags` holds the state and which optional parts are there. Numbers of fixed width are
//! little-endian and can be changed in place; `qty` and `at` are varints. `at` counts from the base
//! of the grant's chunk, or is an absolute varint when it lies before that base. Nothing but this
//! process reads it: snapshots have a form of their own.

use serde::{Deserialize, Serialize};

use crate::memory::{put_varint, Reader};
use crate::model::limits::{REQ_BYTES_MAX, USER_BYTES_MAX};
use crate::model::outcome::{GrantView, State};
use crate::model::wire;

const STATE_BITS: u8 = 0b0000_0111;
const HAS_QTY: u8 = 0b0000_1000;
const HAS_REQ: u8 = 0b0001_0000;
const HAS_DEADLINE: u8 = 0b0010_0000;
const HAS_PREV: u8 = 0b0100_0000;
const AT_IS_ABSOLUTE: u8 = 0b1000_0000;

/// Longest record: head, deadline, prev, user, req and two varints.
pub const RECORD_BYTES_MAX: usize = 2 + 6 + 4 + USER_BYTES_MAX + 2 + REQ_BYTES_MAX + 10 + 10;

/// How a request id asked for its amount: what a repeat of it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    /// QTY: the repeat must name the same number.
    Exactly,
    /// UPTO: the number is not compared.
    UpTo,
    /// IMPORT: a GRAB's repeat may have asked either way.
    Either,
    /// QTY, by one who waited: the grant was offered.
    Offered,
}

/// A request id and how it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReqTag<'a> {
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub id: &'a [u8],
    /// How it asked for its amount.
    pub asked: Asked,
}

/// A grant to be written.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The request id, if it has one.
    pub req: Option<ReqTag<'a>>,
    /// Units.
    pub qty: u64,
    /// Where it stands.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms; 0 for a grant that never was held.
    pub deadline: u64,
    /// Seq of the same user's grant before this one, 0 when it is their first.
    pub prev: u32,
}

/// The number that stands for a state in memory.
pub fn state_code(state: State) -> u8 {
    match state {
        State::Held => 0,
        State::Sold => 1,
        State::Cancelled => 2,
        State::Expired => 3,
        State::Refunded => 4,
        State::Forfeited => 5,
    }
}

/// Inverse of [`state_code`].
pub fn state_of(code: u8) -> Option<State> {
    Some(match code {
        0 => State::Held,
        1 => State::Sold,
        2 => State::Cancelled,
        3 => State::Expired,
        4 => State::Refunded,
        5 => State::Forfeited,
        _ => return None,
    })
}

/// The number that stands for `asked` in memory.
pub fn asked_code(asked: Asked) -> u8 {
    match asked {
        Asked::Exactly => 0,
        Asked::UpTo => 1,
        Asked::Either => 2,
        Asked::Offered => 3,
    }
}

/// Inverse of [`asked_code`].
pub fn asked_of(code: u8) -> Option<Asked> {
    Some(match code {
        0 => Asked::Exactly,
        1 => Asked::UpTo,
        2 => Asked::Either,
        3 => Asked::Offered,
        _ => return None,
    })
}

/// Appends `record` to a page. `base_at` is the base of its chunk.
#[inline(always)]
pub fn write(page: &mut Vec<u8>, record: &Record<'_>, base_at: u64) {
    let absolute = record.at < base_at;
    let flag = |there: bool, flag: u8| if there { flag } else { 0 };
    let flags = flag(record.qty != 1, HAS_QTY)
        | flag(record.req.is_some(), HAS_REQ)
        | flag(record.deadline != 0, HAS_DEADLINE)
        | flag(record.prev != 0, HAS_PREV)
        | flag(absolute, AT_IS_ABSOLUTE);
    page.push(state_code(record.state) | flags);
    page.push((record.user.len() - 1) as u8);
    if record.deadline != 0 {
        page.extend_from_slice(&record.deadline.to_le_bytes()[..6]);
    }
    if record.prev != 0 {
        page.extend_from_slice(&record.prev.to_le_bytes());
    }
    page.extend_from_slice(record.user);
    if let Some(req) = record.req {
        page.push((req.id.len() - 1) as u8);
        page.extend_from_slice(req.id);
        page.push(asked_code(req.asked));
    }
    if record.qty != 1 {
        put_varint(page, record.qty);
    }
    put_varint(page, if absolute { record.at } else { record.at - base_at });
}

/// The user of the record that starts at `bytes`: what a lookup compares, without the rest.
#[inline]
pub fn user(bytes: &[u8]) -> &[u8] {
    let (flags, len) = (bytes[0], usize::from(bytes[1]) + 1);
    let start = 2
        + if flags & HAS_DEADLINE != 0 { 6 } else { 0 }
        + if flags & HAS_PREV != 0 { 4 } else { 0 };
    &bytes[start..start + len]
}

/// How long the ids of the record that starts at `bytes` are together, user and request.
#[inline]
pub fn ids_len(bytes: &[u8]) -> usize {
    let user = user(bytes);
    let len = match bytes[0] & HAS_REQ {
        0 => 0,
        _ => {
            let end = user.as_ptr() as usize - bytes.as_ptr() as usize + user.len();
            usize::from(bytes[end]) + 1
        }
    };
    user.len() + len
}

/// Changes the state of the record that starts at `bytes`.
pub fn set_state(bytes: &mut [u8], state: State) {
    if let Some(flags) = bytes.first_mut() {
        *flags = *flags & !STATE_BITS | state_code(state);
    }
}

/// Changes the deadline of the record that starts at `bytes`, if it was ever held.
pub fn set_deadline(bytes: &mut [u8], deadline: u64) {
    if bytes.first().is_some_and(|flags| flags & HAS_DEADLINE != 0) {
        if let Some(place) = bytes.get_mut(2..8) {
            place.copy_from_slice(&deadline.to_le_bytes()[..6]);
        }
    }
}

/// The next record; `None` when the bytes were not written by [`write()`].
pub fn read<'a>(reader: &mut Reader<'a>, base_at: u64) -> Option<Record<'a>> {
    let flags = reader.byte()?;
    let user_len = usize::from(reader.byte()?) + 1;
    let mut deadline = [0; 8];
    if flags & HAS_DEADLINE != 0 {
        deadline[..6].copy_from_slice(reader.take(6)?);
    }
    let prev = match flags & HAS_PREV {
        0 => 0,
        _ => u32::from_le_bytes(reader.array()?),
    };
    let user = reader.take(user_len)?;
    let req = match flags & HAS_REQ {
        0 => None,
        _ => {
            let len = usize::from(reader.byte()?) + 1;
            Some(ReqTag { id: reader.take(len)?, asked: asked_of(reader.byte()?)? })
        }
    };
    let qty = if flags & HAS_QTY != 0 { reader.varint()? } else { 1 };
    let at = reader.varint()?;
    Some(Record {
        user,
        req,
        qty,
        state: state_of(flags & STATE_BITS)?,
        at: if flags & AT_IS_ABSOLUTE != 0 { at } else { base_at.checked_add(at)? },
        deadline: u64::from_le_bytes(deadline),
        prev,
    })
}

/// A grant as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// Its number, counted from 1.
    pub seq: u64,
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// Units.
    pub qty: u64,
    /// Where it stands.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms until which it was or is held; 0 when it never was.
    pub held_until: u64,
    /// The request id, if it has one.
    pub req: Option<ReqTag<'a>>,
    /// The run of the primary that granted it.
    pub epoch: u64,
    /// The round in which it was granted, 0 in a sale without rounds.
    pub round: u64,
}

impl<'a> Grant<'a> {
    /// This grant's request id.
    pub fn req_id(&self) -> Option<&'a [u8]> {
        self.req.map(|req| req.id)
    }

    /// Whether it is an offer that stands.
    pub fn is_offer(&self) -> bool {
        self.state == State::Held && self.req.is_some_and(|req| req.asked == Asked::Offered)
    }

    /// Whether it is a hold whose time is over at `t`.
    pub fn is_due(&self, t: u64) -> bool {
        self.state == State::Held && self.held_until <= t
    }

    /// The grant as replies show it, once the holds that are due at `t` have expired.
    pub fn view_at(&self, t: u64) -> GrantView {
        match self.is_due(t) {
            true => GrantView { state: State::Expired, deadline: 0, ..self.view() },
            false => self.view(),
        }
    }

    /// The grant as replies show it.
    pub fn view(&self) -> GrantView {
        let deadline = if self.state == State::Held { self.held_until } else { 0 };
        GrantView { seq: self.seq, qty: self.qty, state: self.state, deadline }
    }
}

/// A grant to append.
#[derive(Clone, Copy, Debug)]
pub struct NewGrant<'a> {
    /// The user's id, 1 to 256 bytes.
    pub user: &'a [u8],
    /// The request id, if it has one.
    pub req: Option<ReqTag<'a>>,
    /// Units.
    pub qty: u64,
    /// Where it stands.
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms; 0 for a grant that never was held.
    pub held_until: u64,
    /// The epoch in which it was granted.
    pub epoch: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_parts_round_trips() {
        for bits in 0..64u32 {
            let has = |bit: u32| bits >> bit & 1 == 1;
            let record = Record {
                user: if has(0) { &[0xff; USER_BYTES_MAX] } else { b"u" },
                req: has(1).then_some(ReqTag { id: &[7; REQ_BYTES_MAX], asked: Asked::UpTo }),
                qty: if has(2) { u64::MAX } else { 1 },
                state: if has(3) { State::Refunded } else { State::Held },
                at: if has(4) { 3 } else { u64::MAX >> 1 },
                deadline: if has(5) { (1 << 48) - 1 } else { 0 },
                prev: if has(3) { u32::MAX } else { 0 },
            };
            let mut page = vec![9];
            write(&mut page, &record, 1000);
            assert!(page.len() - 1 <= RECORD_BYTES_MAX);
            assert_eq!(user(&page[1..]), record.user);
            let back = read(&mut Reader::new(&page[1..]), 1000).unwrap();
            assert_eq!(format!("{back:?}"), format!("{record:?}"));
        }
    }

    #[test]
    fn a_plain_grant_costs_three_bytes_beside_its_user() {
        let record = Record {
            user: b"user:000000000001",
            req: None,
            qty: 1,
            state: State::Sold,
            at: 1100,
            deadline: 0,
            prev: 0,
        };
        for base_at in [1000, 1100] {
            let mut page = Vec::new();
            write(&mut page, &record, base_at);
            assert_eq!(page.len(), record.user.len() + 3);
        }
    }
}
