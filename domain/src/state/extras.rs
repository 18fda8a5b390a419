//! State that only some sales have.

use crate::admission::{List, Users, LISTS};
use crate::draw::Amounts;
use crate::ledger::{Block, HashKey};
use crate::numbers::Numbers;
use crate::rounds::Rounds;
use crate::waitlist::Waitlist;

/// State that only some sales have. A plain sale pays one check for it.
#[derive(Clone, Debug)]
pub struct Extras {
    /// Amounts of DRAW LIST still to be drawn.
    pub amounts: Amounts,
    /// Rounds that are over, in a repeating sale.
    pub rounds: Option<Box<Rounds>>,
    /// The waiting list of a sale that has one or had one.
    pub waitlist: Option<Box<Waitlist>>,
    /// The numbers of its units, if they have any.
    pub numbers: Option<Box<Numbers>>,
    /// The users on each list, in the order of [`LISTS`].
    users: [Users; LISTS.len()],
}

impl Extras {
    /// Empty state. `key` keys the hashes of the indexes.
    pub fn new(key: HashKey) -> Extras {
        let users = LISTS.map(|_| Users::new(key));
        Extras { amounts: Amounts::default(), rounds: None, waitlist: None, numbers: None, users }
    }

    /// The users on a list.
    pub fn list(&self, list: List) -> &Users {
        &self.users[list as usize]
    }

    /// The users on a list, to be changed.
    pub fn list_mut(&mut self, list: List) -> &mut Users {
        &mut self.users[list as usize]
    }

    /// Frees a little memory of dropped rounds and emptied lists. False when none is left.
    pub fn free_some(&mut self) -> bool {
        let rounds = self.rounds.as_deref_mut().is_some_and(Rounds::free_some);
        self.users.iter_mut().fold(rounds, |is_more, users| users.free_some() || is_more)
    }

    /// The blocks of all lists and of all rounds that are over, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let rounds = self.rounds.as_deref_mut().into_iter().flat_map(Rounds::blocks_mut);
        let list = self.waitlist.as_deref_mut().into_iter().flat_map(Waitlist::blocks_mut);
        let numbers = self.numbers.as_deref_mut().into_iter().flat_map(Numbers::blocks_mut);
        let users = self.users.iter_mut().flat_map(Users::blocks_mut);
        users.chain(rounds).chain(list).chain(numbers)
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let rounds = self.rounds.as_ref();
        let rounds = rounds.map_or(0, |rounds| size_of::<Rounds>() + rounds.heap_bytes());
        let users: usize = self.users.iter().map(Users::heap_bytes).sum();
        let list = self.waitlist.as_ref();
        let list = list.map_or(0, |list| size_of::<Waitlist>() + list.heap_bytes());
        let numbers = self.numbers.as_ref();
        let numbers = numbers.map_or(0, |all| size_of::<Numbers>() + all.heap_bytes());
        self.amounts.heap_bytes() + rounds + list + users + numbers
    }

    /// Number of heap blocks: the cost of freeing them.
    pub fn heap_blocks(&self) -> usize {
        let rounds = self.rounds.as_ref().map_or(0, |rounds| rounds.heap_blocks());
        let users: usize = self.users.iter().map(Users::heap_blocks).sum();
        let list = self.waitlist.as_ref().map_or(0, |list| list.heap_blocks());
        let numbers = self.numbers.as_ref().map_or(0, |all| all.heap_blocks());
        1 + rounds + list + self.amounts.heap_blocks() + users + numbers
    }
}
