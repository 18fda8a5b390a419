//! What only some sales keep: a plain sale has none of it and pays one check for that.

use crate::admission::users::Users;
use crate::admission::List;
use crate::draw::amounts::Amounts;
use crate::ledger::{Block, HashKey};
use crate::rounds::Rounds;

/// The state of a sale that does more than count units.
#[derive(Clone, Debug)]
pub struct Extras {
    /// Amounts of DRAW LIST that are still to be drawn.
    pub amounts: Amounts,
    /// What is kept of rounds that are over, in a sale that repeats.
    pub rounds: Option<Box<Rounds>>,
    allowed: Users,
    denied: Users,
    admitted: Users,
}

impl Extras {
    /// Nothing yet. `key` keys the hashes of the indexes.
    pub fn new(key: HashKey) -> Extras {
        Extras {
            amounts: Amounts::default(),
            rounds: None,
            allowed: Users::new(key),
            denied: Users::new(key),
            admitted: Users::new(key),
        }
    }

    /// The users on a list.
    pub fn list(&self, list: List) -> &Users {
        match list {
            List::Allow => &self.allowed,
            List::Deny => &self.denied,
            List::Admitted => &self.admitted,
        }
    }

    /// The users on a list, to be changed.
    pub fn list_mut(&mut self, list: List) -> &mut Users {
        match list {
            List::Allow => &mut self.allowed,
            List::Deny => &mut self.denied,
            List::Admitted => &mut self.admitted,
        }
    }

    /// The blocks of all lists and of all rounds that are over, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let lists = [&mut self.allowed, &mut self.denied, &mut self.admitted];
        let rounds = self.rounds.as_deref_mut().into_iter().flat_map(Rounds::blocks_mut);
        lists.into_iter().flat_map(Users::blocks_mut).chain(rounds)
    }

    /// The words of the indexes of all lists and rounds that are over.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let lists = [&mut self.allowed, &mut self.denied, &mut self.admitted];
        let rounds = self.rounds.as_deref_mut().into_iter().flat_map(Rounds::slots_mut);
        lists.into_iter().flat_map(Users::slots_mut).chain(rounds)
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let lists = [&self.allowed, &self.denied, &self.admitted];
        let rounds =
            self.rounds.as_ref().map_or(0, |rounds| size_of::<Rounds>() + rounds.heap_bytes());
        self.amounts.heap_bytes() + rounds + lists.map(Users::heap_bytes).iter().sum::<usize>()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        let lists = [&self.allowed, &self.denied, &self.admitted];
        let rounds = self.rounds.as_ref().map_or(0, |rounds| rounds.heap_blocks());
        1 + rounds
            + self.amounts.heap_blocks()
            + lists.map(Users::heap_blocks).iter().sum::<usize>()
    }
}
