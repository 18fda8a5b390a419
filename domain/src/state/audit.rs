//! Recounting a sale from its grants.

use crate::model::balances::{Balances, Escrow};
use crate::model::limits::INTEGER_MAX;
use crate::waitlist::Waitlist;
use crate::Sale;

/// A number that is not what the grants say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name as AUDIT replies it.
    pub field: &'static str,
    /// The number that the sale has.
    pub stored: u64,
    /// What the grants say.
    pub counted: u64,
}

/// What a recount found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Grants, whatever came of them.
    pub grants: u64,
    /// Users with a grant.
    pub winners: u64,
    /// Available, held and sold units together.
    pub supply: u64,
    /// Units that can be granted.
    pub available: u64,
    /// Units in held grants.
    pub held: u64,
    /// Units in sold grants.
    pub sold: u64,
    /// Empty when every stored number is what was counted.
    pub differences: Vec<Difference>,
}

impl Sale {
    /// Recounts the older rounds that are kept: the sums over all of them.
    fn audit_older(&self) -> [(&'static str, u64, u64); 5] {
        let mut fields =
            ["older_held", "older_sold", "older_supply", "older_holdings_wrong", "older_packets"]
                .map(|field| (field, 0u64, 0u64));
        for old in self.older() {
            let (balances, count) = (&old.balances, old.ledger.recount());
            let sum = balances.available + balances.held + balances.sold;
            let packets = balances.packets.unwrap_or(0);
            let begun = self.packets_begun().unwrap_or(0);
            let pairs = [
                (balances.held, count.held),
                (balances.sold, count.sold),
                (balances.supply, sum),
                (0, count.holdings_wrong),
                (packets, begun.saturating_sub(count.live)),
            ];
            for (field, (stored, counted)) in fields.iter_mut().zip(pairs) {
                field.1 = field.1.saturating_add(stored);
                field.2 = field.2.saturating_add(counted);
            }
        }
        fields
    }

    /// Recounts what a part sent and received, and what it must have after that: the sum of what it
    /// has and gave, against the sum of what it got.
    fn audit_part(&self) -> [(&'static str, u64, u64); 3] {
        let Balances { supply, deficit, .. } = self.balances;
        let Escrow { put_in, sent, received, .. } = self.escrow.unwrap_or_default();
        let counted = self.pairs.sums();
        let (added, withdrawn) = (put_in.max(0).unsigned_abs(), put_in.min(0).unsigned_abs());
        // A sale that is no part has nothing of it.
        let (got, has) = match self.escrow {
            Some(_) => (added + received + deficit, supply + sent + withdrawn),
            None => (0, 0),
        };
        [("sent", sent, counted.0), ("received", received, counted.1), ("put_in", got, has)]
    }

    /// Recounts the waiting list from its entries, finding each as a buyer's command would.
    fn audit_list(&self, list: &Waitlist, offered: u64) -> [(&'static str, u64, u64); 4] {
        let (mut waiting, mut units, mut wrong) = (0, 0u64, 0);
        for waiter in list.iter_from(0) {
            waiting += 1;
            units = units.saturating_add(waiter.qty);
            let found = list.find(waiter.user).map(|found| found.ticket);
            wrong += u64::from(
                found != Some(waiter.ticket)
                    || waiting != list.place(waiter.ticket, None).ahead + 1,
            );
        }
        [
            ("waiting", list.len(), waiting),
            ("waiting_units", list.units(), units.min(INTEGER_MAX)),
            ("waiters_wrong", 0, wrong),
            ("offered", list.offered, offered),
        ]
    }

    /// Recounts everything from the grants and compares. Visits every grant once.
    pub fn audit(&self) -> Audit {
        let count = self.ledger.recount();
        let balances = &self.balances;
        // The supply is the operator's word; what the grants leave of it is available.
        let available = balances.supply.saturating_sub(count.held.saturating_add(count.sold));
        let pairs = [
            ("grants", balances.grants, self.ledger.base() + count.grants),
            ("winners", self.ledger.winners(), count.winners),
            ("supply", balances.supply, balances.available + balances.held + balances.sold),
            ("available", balances.available, available),
            ("held", balances.held, count.held),
            ("sold", balances.sold, count.sold),
            ("users", self.ledger.users(), count.users),
            ("requests", self.ledger.requests(), count.requests),
            ("holds", self.ledger.holds().len() as u64, count.holds),
            ("holdings_wrong", 0, count.holdings_wrong),
            ("pieces_missing", 0, self.awaits),
        ];
        let packets = self.packets_begun().map(|all| all.saturating_sub(count.live));
        let packets =
            balances.packets.zip(packets).map(|(left, counted)| ("packets", left, counted));
        let list = self.amounts().map(|amounts| ("amounts", amounts.sum(), available));
        let waitlist = self.waitlist().map(|list| self.audit_list(list, count.offered));
        let differences = pairs
            .into_iter()
            .chain(waitlist.into_iter().flatten())
            .chain(packets)
            .chain(list)
            .chain(self.audit_older())
            .chain(self.audit_part())
            .filter(|(_, stored, counted)| stored != counted)
            .map(|(field, stored, counted)| Difference { field, stored, counted })
            .collect();
        Audit {
            grants: count.grants,
            winners: count.winners,
            supply: balances.supply,
            available,
            held: count.held,
            sold: count.sold,
            differences,
        }
    }
}
