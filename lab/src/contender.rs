//! A strategy of the lab: how it creates a sale, how a buyer buys, and how the result is read.

use crate::buyer::Buyer;
use crate::told::{lost, Books, Fault, Maker, Reason, Rush, Stop, Text, Told};

/// The source of a row's idea, so that no idea is attributed to the wrong post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A post, or a comment on it, recommends the idea or says that it works.
    Recommended,
    /// The post itself shows the idea as wrong, or warns of it.
    ShownWrong,
    /// The lab's own idea: a variant, or a post's program in a situation that the lab added.
    Lab,
}

/// The servers that a strategy needs, in addition to a plain Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub sql: bool,
    pub module: bool,
}

/// One strategy.
pub struct Contender {
    pub id: &'static str,
    /// The post, and the section in it.
    pub seed: &'static str,
    /// The rows of this strategy in the list of systems.
    pub rows: &'static str,
    pub steps: &'static str,
    /// The source of the idea.
    pub origin: Origin,
    /// The post's own words.
    pub says: Text,
    pub needs: Needs,
    pub set_up: fn(&mut Buyer, u64) -> Result<(), Stop>,
    pub buy: fn(&mut Buyer) -> Told,
    pub books: fn(&mut Buyer) -> Result<Books, Stop>,
    /// Another participant: an operator who restocks, a worker, or an importer.
    pub helper: Option<fn(&mut Buyer) -> Told>,
    /// Buyers get an answer only from the helper.
    pub waits_for_helper: bool,
    /// The key of the lock whose lease may expire.
    pub lease: Option<&'static str>,
    /// Whether the strategy claims that a user can buy only once.
    pub once_per_user: bool,
    /// Buyer B wants another product than buyer A.
    pub two_products: bool,
    pub rush: Rush,
    /// The faults that the interleaver must find.
    pub marked: &'static [Fault],
    /// Other faults of this contender on some databases.
    pub marked_on: &'static [(Maker, &'static [Fault])],
    /// A remark on the row, if measurement and theory differ.
    pub note: Text,
}

/// Fields that are equal for most contenders.
pub const BASE: Contender = Contender {
    id: "",
    seed: "",
    rows: "",
    steps: "",
    origin: Origin::Recommended,
    says: ("-", "-"),
    needs: Needs { sql: false, module: false },
    set_up: |_, _| Ok(()),
    buy: |_| lost(Reason::SoldOut),
    books: |_| Ok(Books { counter: None, records: None }),
    helper: None,
    waits_for_helper: false,
    lease: None,
    once_per_user: false,
    two_products: false,
    rush: Rush::USUAL,
    marked: &[],
    marked_on: &[],
    note: ("", ""),
};

pub const SQL: Needs = Needs { sql: true, module: false };
pub const MODULE: Needs = Needs { sql: false, module: true };

impl Contender {
    /// Whether the lab calls the strategy exact: no unit too many, and no refusal while units are
    /// left.
    pub fn is_exact(&self) -> bool {
        use Fault::*;
        let harmless = [NegativeCounter, WaitsForAnother, ErrorInsteadOfRefusal];
        self.marked.iter().all(|fault| fault.needs_crash() || harmless.contains(fault))
    }

    /// The faults that the interleaver must find on this database.
    pub fn marked_on(&self, maker: Maker) -> &'static [Fault] {
        let here = self.marked_on.iter().find(|(one, _)| *one == maker);
        here.map_or(self.marked, |(_, marked)| marked)
    }

    /// Whether the row runs on this database: the module's order writer only runs on MySQL or
    /// MariaDB.
    pub fn runs_on(&self, maker: Maker) -> bool {
        self.needs.sql && (maker != Maker::Postgres || !self.needs.module)
    }

    /// The module's own rows.
    pub fn is_ours(&self) -> bool {
        self.id.starts_with('S')
    }
}
