//! Sales that are parts of a split: the part's number, the users who belong to it, and the units it
//! has exchanged with other parts.
//!
//! The part's numbers, which every change keeps lawful, are in [`Escrow`].
//!
//! [`Escrow`]: crate::model::balances::Escrow

use core::num::NonZeroU16;

use crc::{Crc, Table, CRC_32_ISO_HDLC};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::limits::{PARTS_MAX, SPLIT_ID_BYTES_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;

/// The CRC-32 of zlib, available in every language with a client.
const CRC_32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// The home part of a user among `parts`. Clients compute this number, too.
#[inline]
pub fn home_of(user: &[u8], parts: NonZeroU16) -> u16 {
    // A remainder is smaller than its divisor.
    (CRC_32.checksum(user) % u32::from(parts.get())) as u16
}

/// A part of a split: its number and its split. Fixed at INIT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The number, counted from 0.
    pub part: u16,
    /// Number of parts.
    pub parts: NonZeroU16,
    /// Id of the split, equal in all of its parts.
    #[serde(deserialize_with = "id")]
    pub id: Box<[u8]>,
    /// Initial units of all parts together, equal in all of them.
    #[serde(deserialize_with = "wire::integer")]
    pub total: u64,
}

impl Split {
    /// Part number `part` of `parts`.
    pub fn new(part: u64, parts: u64, id: &[u8], total: u64) -> Result<Split, Misuse> {
        let numbers = u16::try_from(part).ok().zip(u16::try_from(parts).ok());
        let numbers = numbers.and_then(|(part, parts)| Some((part, NonZeroU16::new(parts)?)));
        let (part, parts) = numbers.ok_or(Misuse::PartOutOfRange)?;
        let split = Split { part, parts, id: id.into(), total };
        split.check()?;
        Ok(split)
    }

    /// Whether a part with these terms can exist.
    pub fn check(&self) -> Result<(), Misuse> {
        if self.part >= self.parts.get() || self.parts.get() > PARTS_MAX {
            return Err(Misuse::PartOutOfRange);
        }
        match (1..=SPLIT_ID_BYTES_MAX).contains(&self.id.len()) {
            true => Ok(()),
            false => Err(Misuse::SplitIdSize),
        }
    }

    /// Whether a part can begin with `supply` units.
    pub fn check_share(&self, supply: u64) -> Result<(), Misuse> {
        match supply <= self.total {
            true => Ok(()),
            false => Err(Misuse::ShareAboveTotal),
        }
    }

    /// Whether this is the user's home part.
    #[inline]
    pub fn is_home(&self, user: &[u8]) -> bool {
        home_of(user, self.parts) == self.part
    }

    /// The number of another part of this split.
    pub fn other(&self, part: u64) -> Option<u16> {
        let part = u16::try_from(part).ok()?;
        self.has_other(part).then_some(part)
    }

    /// Whether `part` is another part of this split.
    pub fn has_other(&self, part: u16) -> bool {
        part < self.parts.get() && part != self.part
    }

    /// Units that the other parts may have when a part of `supply` is created. They may have none
    /// yet, but this part can't know.
    pub(crate) fn elsewhere(&self, supply: u64) -> u64 {
        let least = u64::from(self.parts.get() > 1);
        self.total.saturating_sub(supply).max(least)
    }
}

fn id<'de, D: Deserializer<'de>>(from: D) -> Result<Box<[u8]>, D::Error> {
    let id = <&[u8]>::deserialize(from)?;
    match (1..=SPLIT_ID_BYTES_MAX).contains(&id.len()) {
        true => Ok(id.into()),
        false => Err(D::Error::custom("an id of no bytes, or of too many")),
    }
}

/// Units ever exchanged between this part and another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The other part.
    pub peer: u16,
    /// Units ever sent to it.
    #[serde(deserialize_with = "wire::integer")]
    pub sent: u64,
    /// Units ever received from it.
    #[serde(deserialize_with = "wire::integer")]
    pub received: u64,
}

/// Pairs of this part with the parts it has exchanged units with, by their number. Totals only
/// grow.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    kept: Vec<Pair>,
}

impl Pairs {
    /// The pair with `peer`; zeros if nothing was exchanged with it.
    pub fn get(&self, peer: u16) -> Pair {
        match self.index(peer) {
            Ok(index) => self.kept[index],
            Err(_) => Pair { peer, ..Pair::default() },
        }
    }

    /// Replaces the pair with its peer. A pair of zeros is not kept.
    pub fn set(&mut self, pair: Pair) {
        match self.index(pair.peer) {
            Ok(index) => self.kept[index] = pair,
            Err(_) if pair.sent == 0 && pair.received == 0 => {}
            Err(index) => self.kept.insert(index, pair),
        }
    }

    fn index(&self, peer: u16) -> Result<usize, usize> {
        self.kept.binary_search_by_key(&peer, |pair| pair.peer)
    }

    /// All pairs in order.
    pub fn as_slice(&self) -> &[Pair] {
        &self.kept
    }

    /// Units ever sent and received, all pairs together.
    pub fn sums(&self) -> (u64, u64) {
        sums(&self.kept)
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Pair>()
    }
}

/// Units ever sent and received in all `pairs`, saturating for corrupt ones.
pub fn sums(pairs: &[Pair]) -> (u64, u64) {
    pairs.iter().fold((0, 0), |(sent, received): (u64, u64), pair| {
        (sent.saturating_add(pair.sent), received.saturating_add(pair.received))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of Python's zlib.crc32.
    #[test]
    fn homes_are_those_that_clients_compute() {
        let long = "x".repeat(256);
        let users = [
            ("alice", 0x278e_bc47_u32),
            ("\0", 0xd202_ef8d),
            ("123456789", 0xcbf4_3926),
            (&long, 0x73ee_1a10),
        ];
        for (user, crc) in users {
            for parts in [1, 2, 16, 1000, PARTS_MAX] {
                let parts = NonZeroU16::new(parts).unwrap();
                let home = u32::from(home_of(user.as_bytes(), parts));
                assert_eq!(home, crc % u32::from(parts.get()), "{user}");
            }
        }
    }

    #[test]
    fn a_part_is_one_of_its_split() {
        let part = |part, parts, id: &[u8]| Split::new(part, parts, id, 9).err();
        assert_eq!(part(0, 1, b"s"), None);
        assert_eq!(part(1023, 1024, &[0xff; 64]), None);
        for (number, parts) in [(0, 0), (1, 1), (1024, 1024), (0, 1025), (1 << 16, 2), (0, 1 << 40)]
        {
            assert_eq!(part(number, parts, b"s"), Some(Misuse::PartOutOfRange));
        }
        assert_eq!(part(0, 1, b""), Some(Misuse::SplitIdSize));
        assert_eq!(part(0, 1, &[b's'; 65]), Some(Misuse::SplitIdSize));
        let split = Split::new(1, 3, b"s", 9).unwrap();
        let others = [0, 1, 2, 3, 1 << 16].map(|part| split.other(part));
        assert_eq!(others, [Some(0), None, Some(2), None, None]);
    }
}
