//! Recounting a sale from its grants.

use super::draw::Draw;
use super::Sale;

/// A number that is not what the grants say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    pub field: &'static str,
    pub stored: u64,
    pub counted: u64,
}

/// What a recount found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub grants: u64,
    pub winners: u64,
    pub supply: u64,
    pub available: u64,
    pub held: u64,
    pub sold: u64,
    /// Empty when every stored number is what was counted.
    pub differences: Vec<Difference>,
}

impl Sale {
    /// Recounts everything from the grants and compares. Visits every grant once.
    pub fn audit(&self) -> Audit {
        let count = self.ledger.recount();
        let core = &self.core;
        // The supply is the operator's word; what the grants leave of it is available.
        let available = core.supply.saturating_sub(count.held.saturating_add(count.sold));
        let pairs = [
            ("grants", core.grants, count.grants),
            ("winners", self.ledger.winners(), count.winners),
            ("supply", core.supply, core.available + core.held + core.sold),
            ("available", core.available, available),
            ("held", core.held, count.held),
            ("sold", core.sold, count.sold),
            ("users", self.ledger.users(), count.users),
            ("requests", self.ledger.requests(), count.requests),
            ("holds", self.ledger.holds().len() as u64, count.holds),
            ("holdings_wrong", 0, count.holdings_wrong),
        ];
        let packets = self.terms.draw.as_ref().and_then(Draw::packets);
        let packets = packets.map(|all| all.saturating_sub(count.live));
        let packets = core.packets.zip(packets).map(|(left, counted)| ("packets", left, counted));
        let list = self.amounts().map(|amounts| ("amounts", amounts.sum(), available));
        let differences = pairs
            .into_iter()
            .chain(packets)
            .chain(list)
            .filter(|(_, stored, counted)| stored != counted)
            .map(|(field, stored, counted)| Difference { field, stored, counted })
            .collect();
        Audit {
            grants: count.grants,
            winners: count.winners,
            supply: core.supply,
            available,
            held: count.held,
            sold: count.sold,
            differences,
        }
    }
}
