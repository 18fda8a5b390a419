//! Recounting a sale from its grants.

mod tests;

use crate::ledger::{Recount, Recounting};
use crate::model::balances::{Balances, Escrow};
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::State;
use crate::rounds::HeldRecount;
use crate::units::Free;
use crate::waitlist::{self, Waitlist};
use crate::Sale;

/// A number that differs from the grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name as AUDIT replies it.
    pub field: &'static str,
    /// The number that the sale has.
    pub stored: u64,
    /// The number counted from the grants.
    pub counted: u64,
}

/// The result of a recount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Grants, whatever their state.
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
    /// Numbers that live grants have, if units have numbers.
    pub units: Option<u64>,
    /// The differences; empty if every stored number equals the counted one.
    pub differences: Vec<Difference>,
    /// The version of the sale when the audit began and when it ended.
    pub version: [u64; 2],
}

/// An audit in steps, between which the sale may change. The audit counts the waiting list, then
/// the kept rounds from the oldest on. Then come the index of all holds, in a sale with rounds, and
/// the current round. Each count is compared, when it is complete, with the sale's numbers at that
/// moment. So a change in between is no difference.
#[derive(Clone, Debug)]
pub struct AuditWalk {
    /// Identifies the walk within the sale.
    token: u64,
    /// Id of the sale at the walk's beginning.
    sale: u64,
    /// Version of the sale at the walk's beginning.
    version: u64,
    /// Results for the waiting list, once it is counted.
    list: Option<Vec<Row>>,
    /// Number of the last older round that was counted.
    round: Option<u64>,
    older: OlderRows,
    held: HeldRecount,
    units: UnitsRecount,
    /// Memory to be freed.
    counted: Vec<Recounting>,
}

/// Progress of a recount of the numbers of units.
#[derive(Clone, Copy, Debug, Default)]
struct UnitsRecount {
    /// The last number that was looked at.
    last: u32,
    wrong: u64,
}

/// A name, the number that the sale has, and the counted number.
type Row = (&'static str, u64, u64);
/// A [`Row`] each for the sums over all older rounds.
type OlderRows = [Row; 5];

const OLDER: OlderRows = [
    ("older_held", 0, 0),
    ("older_sold", 0, 0),
    ("older_supply", 0, 0),
    ("older_holdings_wrong", 0, 0),
    ("older_packets", 0, 0),
];

impl AuditWalk {
    /// Whether this is the sale of the walk's beginning.
    pub fn is_of(&self, sale: &Sale) -> bool {
        self.sale == sale.id
    }

    /// Frees some memory after the walk's end. False when none is left.
    pub fn free_some(&mut self) -> bool {
        let Some(counted) = self.counted.last_mut() else { return false };
        if !counted.free_some() {
            self.counted.pop();
        }
        true
    }
}

/// The rows of the waiting list: its numbers against its counted entries.
fn list_rows(list: &Waitlist, count: waitlist::Recount) -> Vec<Row> {
    vec![
        ("waiting", list.len(), count.waiting),
        ("waiting_units", list.units(), count.units.min(INTEGER_MAX)),
        ("waiters_wrong", 0, count.wrong),
    ]
}

/// Adds a round that is over; `begun` packets were made in it.
fn add_older(rows: &mut OlderRows, balances: &Balances, count: &Recount, begun: Option<u64>) {
    let packets = balances.packets.unwrap_or(0);
    let pairs = [
        (balances.held, count.held),
        (balances.sold, count.sold),
        (balances.supply, balances.available + balances.held + balances.sold),
        (0, count.holdings_wrong),
        (packets, begun.unwrap_or(0).saturating_sub(count.live)),
    ];
    for (row, (stored, counted)) in rows.iter_mut().zip(pairs) {
        row.1 = row.1.saturating_add(stored);
        row.2 = row.2.saturating_add(counted);
    }
}

impl Sale {
    /// Recounts everything from the grants and compares. Visits every grant once.
    pub fn audit(&self) -> Audit {
        let list = self.waitlist().map(|list| list_rows(list, list.recount()));
        let mut older = OLDER;
        for old in self.older() {
            add_older(&mut older, &old.balances, &old.ledger.recount(), self.packets_begun());
        }
        let wrong = self.recount_held(&mut HeldRecount::default(), u64::MAX);
        let held = self.held_rows(wrong.unwrap_or_default());
        let units = self.recount_units(&mut UnitsRecount::default(), u64::MAX);
        let units = self.unit_rows(units.unwrap_or_default());
        let others = list.into_iter().flatten().chain(older).chain(held).chain(units).collect();
        self.judge(self.balances.version, others, &self.ledger.recount())
    }

    /// Begins an audit in steps. `token` differs from those of all other walks of this process.
    pub fn begin_audit(&self, token: u64) -> AuditWalk {
        AuditWalk {
            token,
            sale: self.id,
            version: self.balances.version,
            list: None,
            round: None,
            older: OLDER,
            held: HeldRecount::default(),
            units: UnitsRecount::default(),
            counted: Vec::new(),
        }
    }

    /// Continues an audit over at most `most` grants, users or waiters. Returns the result at its
    /// end.
    pub fn audit_some(&mut self, walk: &mut AuditWalk, most: u64) -> Option<Audit> {
        let Some(list) = &walk.list else {
            walk.list = self.recount_list(walk.token, most);
            return None;
        };
        let begun = self.packets_begun();
        if let Some(old) = self.rounds_mut().and_then(|rounds| rounds.first_behind(walk.round)) {
            let (count, counted) = old.ledger.recount_on(walk.token, most)?;
            walk.counted.push(counted);
            walk.round = Some(old.balances.round);
            add_older(&mut walk.older, &old.balances, &count, begun);
            return None;
        }
        let wrong = self.recount_held(&mut walk.held, most)?;
        let wrong_units = self.recount_units(&mut walk.units, most)?;
        let (count, counted) = self.ledger.recount_on(walk.token, most)?;
        walk.counted.push(counted);
        let others = list.iter().copied().chain(walk.older).chain(self.held_rows(wrong));
        let others = others.chain(self.unit_rows(wrong_units));
        Some(self.judge(walk.version, others.collect(), &count))
    }

    /// Ends a walk whose client has gone.
    pub fn end_audit(&mut self, walk: &mut AuditWalk) {
        let ledgers = self.rounds_mut().and_then(|rounds| rounds.first_behind(walk.round));
        walk.counted.extend(ledgers.and_then(|old| old.ledger.end_recount(walk.token)));
        walk.counted.extend(self.ledger.end_recount(walk.token));
    }

    /// Ends all audits in steps: the sale has moved to another key, where none looks for it.
    pub fn forget_audits(&mut self) {
        self.ledger.forget_recount();
        let older = self.rounds_mut().into_iter().flat_map(|rounds| rounds.older.iter_mut());
        older.for_each(|old| old.ledger.forget_recount());
        self.waitlist_mut().into_iter().for_each(Waitlist::forget_recount);
    }

    /// Continues counting the waiting list; returns its rows at the end.
    fn recount_list(&mut self, token: u64, most: u64) -> Option<Vec<Row>> {
        let Some(list) = self.waitlist_mut() else { return Some(Vec::new()) };
        let count = list.recount_on(token, most)?;
        Some(list_rows(list, count))
    }

    /// Continues checking the index of all holds. Returns the number of wrong entries at the end; 0
    /// in a sale without that index.
    fn recount_held(&self, walk: &mut HeldRecount, most: u64) -> Option<u64> {
        let Some(rounds) = self.rounds() else { return Some(0) };
        rounds.held.recount_some(walk, most, |seq| {
            let grant = self.stored_grant(seq.into()).filter(|grant| grant.state == State::Held);
            grant.map(|grant| self.hold_of(&grant))
        })
    }

    /// The rows of the index of all holds, compared with the ledgers; zeros in a sale without
    /// rounds.
    fn held_rows(&self, wrong: u64) -> [Row; 2] {
        let stored = self.rounds().map_or(0, |rounds| rounds.held.len());
        let ledgers = self.older().map(|old| &old.ledger).chain([&self.ledger]);
        let counted = self.rounds().map_or(0, |_| ledgers.map(|all| all.holds().len()).sum());
        [("held_index", stored as u64, counted as u64), ("held_index_wrong", 0, wrong)]
    }

    /// Continues checking the owner of each number. At the end returns how many are wrong: free but
    /// owned, taken but not owned, or owned by a grant that does not have the number.
    fn recount_units(&self, walk: &mut UnitsRecount, most: u64) -> Option<u64> {
        let Some(numbers) = self.numbers() else { return Some(0) };
        let units = numbers.units();
        for unit in (walk.last + 1..=units.len()).take(most.min(u64::from(u32::MAX)) as usize) {
            let grant = numbers.owner(unit).and_then(|seq| self.stored_grant(seq));
            let has = |seq| numbers.of(seq).contains(&unit);
            let is_had = grant.is_some_and(|grant| grant.state.is_live() && has(grant.seq));
            walk.wrong += u64::from(is_had == units.is_free(unit));
            walk.last = unit;
        }
        (walk.last == units.len()).then_some(walk.wrong)
    }

    /// The rows of the numbers, compared with the numbers of units; none where units have none.
    fn unit_rows(&self, wrong: u64) -> impl Iterator<Item = Row> {
        let Balances { supply, held, sold, .. } = self.balances;
        let rows = self.numbers().map(|numbers| {
            let [all, free] = [numbers.units().len(), numbers.units().free()].map(u64::from);
            [
                ("numbers", supply, all),
                ("units", held + sold, all - free),
                ("units_wrong", 0, wrong),
            ]
        });
        rows.into_iter().flatten()
    }

    /// Recounts the units a part sent and received, and its balance: units it has and gave, against
    /// units it got.
    fn part_rows(&self) -> [Row; 3] {
        let Balances { supply, deficit, .. } = self.balances;
        let Escrow { put_in, sent, received, .. } = self.escrow.unwrap_or_default();
        let counted = self.pairs.sums();
        let (added, withdrawn) = (put_in.max(0).unsigned_abs(), put_in.min(0).unsigned_abs());
        // A sale that is not a part has none of these units.
        let (got, has) = match self.escrow {
            Some(_) => (added + received + deficit, supply + sent + withdrawn),
            None => (0, 0),
        };
        [("sent", sent, counted.0), ("received", received, counted.1), ("put_in", got, has)]
    }

    /// Compares the current round with its fresh `count`, and adds the `others` counted before.
    fn judge(&self, begun_at: u64, others: Vec<Row>, count: &Recount) -> Audit {
        let balances = &self.balances;
        // The operator sets the supply. All units of it that are not held or sold are available.
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
        let offered = self.waitlist().map(|list| ("offered", list.offered, count.offered));
        let packets = self.packets_begun().map(|all| all.saturating_sub(count.live));
        let packets =
            balances.packets.zip(packets).map(|(left, counted)| ("packets", left, counted));
        let amounts = self.amounts().map(|amounts| ("amounts", amounts.sum(), available));
        let differences = pairs
            .into_iter()
            .chain(offered)
            .chain(packets)
            .chain(amounts)
            .chain(others)
            .chain(self.part_rows())
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
            units: self.numbers().map(|it| u64::from(it.units().len() - it.units().free())),
            differences,
            version: [begun_at, balances.version],
        }
    }
}
