//! A ledger as a whole: how much memory it is and where that lies, and whether its sums are those
//! of its grants.

use std::collections::HashMap;

use super::accounts::Account;
use super::Ledger;
use crate::model::outcome::State;

/// A large block of the heap, lent to a defragmenter that moves it.
#[derive(Debug)]
pub enum Block<'a> {
    /// Records of grants.
    Page(&'a mut Vec<u8>),
    /// Where records begin.
    Places(&'a mut Vec<u32>),
    /// Sums of users with several grants.
    Accounts(&'a mut Vec<Account>),
    /// Words of an index.
    Slots(&'a mut Box<[u64]>),
}

impl Ledger {
    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        self.records.heap_bytes()
            + self.accounts.heap_bytes()
            + self.epochs.capacity() * size_of::<(u32, u64)>()
            + self.holds.heap_bytes()
            + self.users.heap_bytes()
            + self.reqs.heap_bytes()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        self.records.heap_blocks()
            + self.accounts.heap_blocks()
            + self.users.heap_blocks()
            + self.reqs.heap_blocks()
    }

    /// The blocks that hold the bulk of the memory, for a defragmenter that moves them.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        let slots = self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(Block::Slots);
        self.records.blocks_mut().chain(self.accounts.blocks_mut()).chain(slots)
    }

    /// The words of the indexes, which writing the grants down does not look at.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.users.blocks_mut().chain(self.reqs.blocks_mut()).map(|slots| &mut **slots)
    }

    /// Gives back up to `blocks` blocks of each kind of a ledger that nobody looks into any more.
    /// False when none is left.
    pub fn shed(&mut self, blocks: usize) -> bool {
        let indexes = self.users.shed(blocks) | self.reqs.shed(blocks);
        self.records.shed(blocks) | self.accounts.shed() | indexes
    }
}

/// What a recount of all grants found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recount {
    pub grants: u64,
    pub users: u64,
    pub winners: u64,
    /// Live grants.
    pub live: u64,
    pub requests: u64,
    /// Held grants.
    pub holds: u64,
    pub held: u64,
    pub sold: u64,
    /// Held grants that are offers.
    pub offered: u64,
    /// Users whose sums are not those of their grants, and grants that their user doesn't lead to.
    pub holdings_wrong: u64,
}

impl Ledger {
    /// Counts everything anew from the grants, finding each by its user and request id as a
    /// buyer's command would.
    pub fn recount(&self) -> Recount {
        let mut count = Recount::default();
        let mut holdings: HashMap<u32, Account> = HashMap::new();
        for grant in (self.base() + 1..=self.len()).filter_map(|seq| self.grant(seq)) {
            count.grants += 1;
            count.live += u64::from(grant.state.is_live());
            count.offered += u64::from(grant.is_offer());
            match grant.state {
                State::Held => {
                    count.held = count.held.saturating_add(grant.qty);
                    count.holds += 1;
                }
                State::Sold => count.sold = count.sold.saturating_add(grant.qty),
                _ => {}
            }
            if let Some(req) = grant.req {
                let found = self.by_req(grant.user, req.id) == Some(grant.seq);
                count.requests += u64::from(found);
            }
            match self.find(grant.user).entry.value() {
                Some(entry) if entry.marked => {
                    let seq = grant.seq as u32;
                    let account = holdings.entry(entry.number).or_default();
                    account.add(seq, grant.qty, grant.state, grant.held_until);
                }
                Some(entry) if u64::from(entry.number) == grant.seq => {
                    count.users += 1;
                    count.winners += u64::from(grant.state.is_live());
                }
                _ => count.holdings_wrong += 1,
            }
        }
        count.users += holdings.len() as u64;
        for (number, holding) in holdings {
            count.winners += u64::from(!holding.live().is_empty());
            count.holdings_wrong += u64::from(holding != *self.accounts.get(number));
        }
        count
    }
}
