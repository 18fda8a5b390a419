//! What was ever sent to each other part, and received from it: totals that only grow.

use serde::{Deserialize, Serialize};

use crate::model::wire;

/// What has moved between this part and another one.
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

/// The pairs in which anything has moved, by the number of the other part.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    kept: Vec<Pair>,
}

impl Pairs {
    /// The pair with `peer`: nothing has moved in one that is not kept.
    pub fn get(&self, peer: u16) -> Pair {
        match self.place(peer) {
            Ok(place) => self.kept[place],
            Err(_) => Pair { peer, ..Pair::default() },
        }
    }

    /// Replaces the pair with its peer. One in which nothing has moved is not kept.
    pub fn set(&mut self, pair: Pair) {
        match self.place(pair.peer) {
            Ok(place) => self.kept[place] = pair,
            Err(_) if pair.sent == 0 && pair.received == 0 => {}
            Err(place) => self.kept.insert(place, pair),
        }
    }

    fn place(&self, peer: u16) -> Result<usize, usize> {
        self.kept.binary_search_by_key(&peer, |pair| pair.peer)
    }

    /// All of them in order.
    pub fn as_slice(&self) -> &[Pair] {
        &self.kept
    }

    /// Units ever sent and received in all of them.
    pub fn sums(&self) -> (u64, u64) {
        sums(&self.kept)
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Pair>()
    }
}

/// Units ever sent and received in all `pairs`; as many as can be counted, in broken ones.
pub fn sums(pairs: &[Pair]) -> (u64, u64) {
    pairs.iter().fold((0, 0), |(sent, received): (u64, u64), pair| {
        (sent.saturating_add(pair.sent), received.saturating_add(pair.received))
    })
}
