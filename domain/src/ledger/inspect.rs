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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Value;
    use crate::ledger::record::{Asked, ReqTag};
    use crate::ledger::NewGrant;

    fn push(ledger: &mut Ledger, user: &str, qty: u64, state: State, req: Option<(&str, Asked)>) {
        let req = req.map(|(id, asked)| ReqTag { id: id.as_bytes(), asked });
        let held_until = if state == State::Held { 9 } else { 0 };
        let user = user.as_bytes();
        ledger.push(&NewGrant { user, req, qty, state, at: 5, held_until, epoch: 1 }, None);
    }

    /// One user with one grant, one with four, one with none that is live.
    fn of_three() -> Ledger {
        let mut ledger = Ledger::starting([1, 2], 5, 0);
        push(&mut ledger, "one", 2, State::Sold, Some(("r", Asked::Exactly)));
        push(&mut ledger, "many", 3, State::Held, None);
        push(&mut ledger, "many", 4, State::Held, Some(("r", Asked::Offered)));
        push(&mut ledger, "many", 5, State::Expired, Some(("s", Asked::Offered)));
        push(&mut ledger, "many", 6, State::Sold, None);
        push(&mut ledger, "none", 7, State::Refunded, None);
        ledger
    }

    #[test]
    fn a_recount_is_that_of_the_grants() {
        let mut ledger = of_three();
        let expected = Recount {
            grants: 6,
            users: 3,
            winners: 2,
            live: 4,
            requests: 3,
            holds: 2,
            held: 7,
            sold: 8,
            offered: 1,
            holdings_wrong: 0,
        };
        assert_eq!(ledger.recount(), expected);
        assert_eq!((ledger.users(), ledger.winners(), ledger.requests()), (3, 2, 3));
        assert_eq!([5, 6, 11, 12].map(|seq| ledger.has(seq)), [false, true, true, false]);
        // An account that says something else, and a user who leads to another grant.
        ledger.accounts.change(0, |account| account.add(9, 5, State::Sold, 0));
        assert_eq!(ledger.recount().holdings_wrong, 1);
        let mut ledger = of_three();
        let hash = ledger.hash_of(b"one");
        let [right, wrong] = [6, 11].map(|number| Value { number, marked: false });
        ledger.users.replace(hash, right, wrong);
        let recount = ledger.recount();
        assert_eq!((recount.holdings_wrong, recount.users), (1, 2));
        // A user with four grants who has no account: three are not the one they lead to.
        let mut ledger = of_three();
        let hash = ledger.hash_of(b"many");
        let right = ledger.users.find(hash, |value| value.marked).unwrap();
        ledger.users.replace(hash, right, Value { number: 7, marked: false });
        assert_eq!(ledger.recount().holdings_wrong, 3);
    }

    #[test]
    fn the_memory_of_a_ledger_is_that_of_its_parts() {
        let empty = Ledger::new([1, 2]);
        assert_eq!((empty.heap_bytes(), empty.heap_blocks()), (0, 4));
        let mut ledger = Ledger::new([1, 2]);
        for number in 0..20_000_u64 {
            // Each in an epoch of its own, and held.
            let user = &format!("user:{:012}", number / 2).into_bytes()[..];
            let req = number.to_be_bytes();
            let req = Some(ReqTag { id: &req, asked: Asked::Exactly });
            let (state, epoch) = (State::Held, number + 1);
            let new = NewGrant { user, req, qty: 1, state, at: 5, held_until: 9, epoch };
            ledger.push(&new, None);
        }
        let epochs = ledger.epochs.capacity() * 16;
        assert!(epochs >= 20_000 * 16);
        let indexes = ledger.users.heap_bytes() + ledger.reqs.heap_bytes();
        assert!(indexes >= 30_000 * 8);
        let (records, accounts) = (ledger.records.heap_bytes(), ledger.accounts.heap_bytes());
        // Two live seqs and two holds of each user, and every hold once more.
        assert!(records > 20_000 * 25 && accounts >= 10_000 * (size_of::<Account>() + 56 + 192));
        let holds = ledger.holds.heap_bytes();
        assert!((20_000 * 16..20_000 * 40).contains(&holds));
        assert_eq!(ledger.heap_bytes(), records + accounts + epochs + holds + indexes);
        // Lists of the indexes are not lent.
        assert_eq!(ledger.heap_blocks(), ledger.blocks_mut().count() + 4);
    }

    /// Whatever kind there is most of, a step gives back so many blocks of each.
    #[test]
    fn a_ledger_is_given_back_in_as_many_steps_as_it_has_blocks() {
        let of = |count: u64, each: u64, user_len: usize, has_reqs: bool| {
            let mut ledger = Ledger::new([1, 2]);
            for number in 0..count {
                let (user, req) = (format!("{:0user_len$}", number / each), number.to_string());
                push(
                    &mut ledger,
                    &user,
                    1,
                    State::Sold,
                    has_reqs.then_some((&req, Asked::Exactly)),
                );
            }
            ledger
        };
        // Shards as many as one asked for before any came.
        let mut sparse = Ledger::new([1, 2]);
        sparse.begin_bulk_load(1 << 20);
        (0..100).for_each(|number| push(&mut sparse, &number.to_string(), 1, State::Sold, None));
        assert!(sparse.end_bulk_load());
        let mut other = of(100, 1, 5, false);
        (other.reqs, other.users) = (sparse.users.clone(), Default::default());
        for (what, mut ledger) in [
            ("pages", of(5000, 1, 200, false)),
            ("places", of(20_000, 1, 5, true)),
            ("accounts", of(12_000, 2, 5, false)),
            ("users", sparse),
            ("requests", other),
        ] {
            let kinds = |ledger: &mut Ledger| {
                let mut counts = [0; 5];
                for block in ledger.records.blocks_mut() {
                    counts[usize::from(matches!(block, Block::Places(_)))] += 1;
                }
                counts[2] = ledger.accounts.heap_blocks();
                counts[3] = ledger.users.heap_blocks() - 2;
                counts[4] = ledger.reqs.heap_blocks() - 2;
                counts
            };
            let before = kinds(&mut ledger);
            for step in 1.. {
                let is_more = ledger.shed(1);
                assert_eq!(
                    kinds(&mut ledger),
                    before.map(|count: usize| count.saturating_sub(step))
                );
                let is_left = before.iter().any(|count| *count > step);
                assert_eq!(is_more, is_left, "{what} {before:?} {step}");
                if !is_left {
                    break;
                }
            }
        }
    }
}
