//! Recounting a ledger from its grants, in steps. Grants may be added and may change between two
//! steps: a counted grant that changes is counted again in its new state. So at each moment the
//! count is exact for all grants up to some seq. It is complete at the last seq.

use super::accounts::{Account, ACCOUNTS_PER_BLOCK};
use super::{Grant, Ledger};
use crate::model::outcome::State;

/// The result of a full recount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recount {
    /// Grants, whatever their state.
    pub grants: u64,
    /// Users with a grant.
    pub users: u64,
    /// Users with a live grant.
    pub winners: u64,
    /// Live grants.
    pub live: u64,
    /// Grants that are found by their request id.
    pub requests: u64,
    /// Held grants.
    pub holds: u64,
    /// Units in held grants.
    pub held: u64,
    /// Units in sold grants.
    pub sold: u64,
    /// Held grants that are offers.
    pub offered: u64,
    /// Users whose sums differ from their grants, plus grants that are not found by their user,
    /// that differ from their user's account, or that have more units than at first.
    pub holdings_wrong: u64,
}

/// A recount under way.
#[derive(Clone, Debug, Default)]
pub struct Recounting {
    /// Identifies the recount, so that no other one continues it.
    token: u64,
    /// Seq of the last counted grant.
    seq: u64,
    count: Recount,
    /// Counted sums of users with several grants.
    sums: Sums,
    /// Accounts compared with the ledger's so far.
    compared: u32,
}

/// The counted sum of a user's grants. Each grant's presence in the live and held sets is checked
/// when it is counted. So only the sizes of these sets are compared at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    live_units: u64,
    newest: u32,
    live: u32,
    holds: u32,
}

/// Sums by account number, in blocks that are allocated when needed.
#[derive(Clone, Debug, Default)]
struct Sums {
    blocks: Vec<Vec<Sum>>,
}

impl Sum {
    fn of(account: &Account) -> Sum {
        Sum {
            live_units: account.holding().live_units,
            newest: account.newest(),
            live: account.live().len() as u32,
            holds: account.holds().len() as u32,
        }
    }

    fn add(&mut self, grant: Counted) {
        self.newest = self.newest.max(grant.seq);
        self.holds += u32::from(grant.state == State::Held);
        if grant.state.is_live() {
            self.live += 1;
            self.live_units = self.live_units.saturating_add(grant.qty);
        }
    }

    fn remove(&mut self, grant: Counted) {
        self.holds -= u32::from(grant.state == State::Held);
        if grant.state.is_live() {
            self.live -= 1;
            self.live_units = self.live_units.saturating_sub(grant.qty);
        }
    }
}

impl Sums {
    /// The sum of this account, created if missing.
    fn at(&mut self, number: u32) -> &mut Sum {
        let (block, within) = position(number);
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, Vec::new);
        }
        let block = &mut self.blocks[block];
        if block.is_empty() {
            block.resize(ACCOUNTS_PER_BLOCK, Sum::default());
        }
        &mut block[within]
    }

    /// The sum of this account, if a grant of it was counted.
    fn get(&self, number: u32) -> Option<&Sum> {
        let (block, within) = position(number);
        self.blocks.get(block)?.get(within).filter(|sum| sum.newest > 0)
    }

    /// A number above all account numbers.
    fn end(&self) -> u32 {
        (self.blocks.len() * ACCOUNTS_PER_BLOCK) as u32
    }
}

/// The block of a number, and its index in the block.
fn position(number: u32) -> (usize, usize) {
    (number as usize / ACCOUNTS_PER_BLOCK, number as usize % ACCOUNTS_PER_BLOCK)
}

/// The counted fields of a grant.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub seq: u32,
    pub qty: u64,
    pub state: State,
    pub deadline: u64,
    pub is_offer: bool,
}

impl Counted {
    /// Whether its user's account has this grant in this state.
    fn is_in(&self, account: &Account) -> bool {
        account.live().contains(&self.seq) == self.state.is_live()
            && account.holds().has(self.deadline, self.seq) == (self.state == State::Held)
    }
}

impl Recount {
    fn add(&mut self, grant: Counted) {
        self.live += u64::from(grant.state.is_live());
        self.offered += u64::from(grant.is_offer);
        match grant.state {
            State::Held => {
                self.held = self.held.saturating_add(grant.qty);
                self.holds += 1;
            }
            State::Sold => self.sold = self.sold.saturating_add(grant.qty),
            _ => {}
        }
    }

    fn remove(&mut self, grant: Counted) {
        self.live -= u64::from(grant.state.is_live());
        self.offered -= u64::from(grant.is_offer);
        match grant.state {
            State::Held => {
                self.held = self.held.saturating_sub(grant.qty);
                self.holds -= 1;
            }
            State::Sold => self.sold = self.sold.saturating_sub(grant.qty),
            _ => {}
        }
    }
}

impl Recounting {
    pub(crate) fn new(token: u64) -> Recounting {
        Recounting { token, ..Recounting::default() }
    }

    /// Whether `token` identifies this recount.
    pub(crate) fn is_of(&self, token: u64) -> bool {
        self.token == token
    }

    /// Whether this grant was counted.
    pub(super) fn has(&self, seq: u32) -> bool {
        u64::from(seq) <= self.seq
    }

    fn change_sum(&mut self, account: u32, change: impl FnOnce(&mut Sum)) {
        let sum = self.sums.at(account);
        let before = *sum;
        change(sum);
        self.count.users += u64::from(before.newest == 0);
        self.count.winners += u64::from(sum.live > 0);
        self.count.winners -= u64::from(before.live > 0);
    }

    /// A counted grant has changed. `account` is the account of its user, if the user has other
    /// grants.
    #[cold]
    pub(super) fn moved(&mut self, account: Option<u32>, from: Counted, to: Counted) {
        self.count.remove(from);
        self.count.add(to);
        match account {
            Some(number) => self.change_sum(number, |sum| {
                sum.remove(from);
                sum.add(to);
            }),
            None => {
                self.count.winners += u64::from(to.state.is_live());
                self.count.winners -= u64::from(from.state.is_live());
            }
        }
    }

    /// The user of a grant that was counted as their only one has got this account.
    #[cold]
    pub(super) fn has_account(&mut self, number: u32, first: Counted) {
        self.count.users -= 1;
        self.count.winners -= u64::from(first.state.is_live());
        self.change_sum(number, |sum| sum.add(first));
    }

    /// Frees a block of memory. False when none is left.
    pub(crate) fn free_some(&mut self) -> bool {
        self.sums.blocks.pop().is_some()
    }

    /// Bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let sums: usize = self.sums.blocks.iter().map(Vec::capacity).sum();
        let blocks = self.sums.blocks.capacity() * size_of::<Vec<Sum>>();
        sums * size_of::<Sum>() + blocks + size_of::<Recounting>()
    }
}

impl Ledger {
    /// Recounts everything from the grants, finding each by its user and request id as a buyer's
    /// command does.
    pub fn recount(&self) -> Recount {
        let mut counting = Recounting::default();
        while self.recount_some(&mut counting, u64::MAX).is_none() {}
        counting.count
    }

    /// Continues or begins the recount `token` over at most `most` grants and accounts. At its end
    /// it returns the count, and memory to be freed.
    pub(crate) fn recount_on(&mut self, token: u64, most: u64) -> Option<(Recount, Recounting)> {
        let counting = self.recounting.take().filter(|counting| counting.is_of(token));
        let mut counting = counting.unwrap_or_else(|| Box::new(Recounting::new(token)));
        let count = self.recount_some(&mut counting, most);
        match count {
            Some(count) => Some((count, *counting)),
            None => {
                self.recounting = Some(counting);
                None
            }
        }
    }

    /// Ends the recount `token`.
    pub(crate) fn end_recount(&mut self, token: u64) -> Option<Recounting> {
        match &self.recounting {
            Some(counting) if counting.is_of(token) => self.recounting.take().map(|it| *it),
            _ => None,
        }
    }

    /// Ends any recount.
    pub(crate) fn forget_recount(&mut self) {
        self.recounting = None;
    }

    /// Counts at most `most` further grants and accounts. Returns the result at the end.
    fn recount_some(&self, counting: &mut Recounting, most: u64) -> Option<Recount> {
        let mut left = most;
        counting.seq = counting.seq.max(self.base());
        while counting.seq < self.len() && left > 0 {
            counting.seq += 1;
            left -= 1;
            if let Some(grant) = self.grant(counting.seq) {
                self.count_in(counting, &grant);
            }
        }
        // Only accounts of counted grants are compared.
        while counting.compared < counting.sums.end() && left > 0 {
            if let Some(sum) = counting.sums.get(counting.compared) {
                let stored = self.accounts.find(counting.compared).map(Sum::of);
                counting.count.holdings_wrong += u64::from(stored.as_ref() != Some(sum));
            }
            counting.compared += 1;
            left -= 1;
        }
        let is_done = counting.seq >= self.len() && counting.compared >= counting.sums.end();
        is_done.then_some(counting.count)
    }

    fn count_in(&self, counting: &mut Recounting, grant: &Grant<'_>) {
        let counted = grant.counted();
        counting.count.grants += 1;
        counting.count.add(counted);
        let first = self.trimmed_from(grant.seq);
        let is_trimmed = first.is_none_or(|first| first > grant.qty && grant.req.is_some());
        counting.count.holdings_wrong += u64::from(!is_trimmed);
        if let Some(req) = grant.req {
            let found = self.by_req(grant.user, req.id) == Some(grant.seq);
            counting.count.requests += u64::from(found);
        }
        match self.find(grant.user).entry.value() {
            Some(entry) if entry.marked => {
                let account = self.accounts.find(entry.number);
                let is_wrong = account.is_none_or(|account| !counted.is_in(account));
                counting.count.holdings_wrong += u64::from(is_wrong);
                counting.change_sum(entry.number, |sum| sum.add(counted));
            }
            Some(entry) if u64::from(entry.number) == grant.seq => {
                counting.count.users += 1;
                counting.count.winners += u64::from(grant.state.is_live());
            }
            _ => counting.count.holdings_wrong += 1,
        }
    }
}

impl Grant<'_> {
    pub(super) fn counted(&self) -> Counted {
        Counted {
            seq: self.seq as u32,
            qty: self.qty,
            state: self.state,
            deadline: self.deadline,
            is_offer: self.is_offer(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recount's memory is all of its sums, and is freed a block at a time.
    #[test]
    fn sums_are_memory_and_are_freed_block_by_block() {
        let mut counting = Recounting::new(1);
        counting.sums.at(2 * ACCOUNTS_PER_BLOCK as u32);
        counting.sums.at(0);
        let sums = 2 * ACCOUNTS_PER_BLOCK * size_of::<Sum>();
        let least = sums + 3 * size_of::<Vec<Sum>>() + size_of::<Recounting>();
        assert!(counting.heap_bytes() >= least, "{} of {least} bytes", counting.heap_bytes());
        assert_eq!([(); 4].map(|()| counting.free_some()), [true, true, true, false]);
    }
}
