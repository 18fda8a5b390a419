//! A strategy of the lab: how it opens a sale, how one buyer buys, and how its books are read.

use crate::buyer::Buyer;
use crate::told::{lost, Books, Fault, Maker, Reason, Rush, Stop, Text, Told};

/// The source of a row's idea, so that no post answers for words that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A post, or a comment below it, recommends it or says that it works.
    Recommended,
    /// The post itself shows it as wrong, or warns of it.
    ShownWrong,
    /// The lab's own: a variant, or a post's program in a situation that the lab added.
    Lab,
}

/// Which servers a strategy needs beside a plain Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub sql: bool,
    pub module: bool,
}

/// One strategy.
pub struct Contender {
    pub id: &'static str,
    /// The post, and the place in it.
    pub seed: &'static str,
    /// The rows of the list of systems that this one is.
    pub rows: &'static str,
    pub steps: &'static str,
    /// The source of the idea.
    pub origin: Origin,
    /// The post's own words about it.
    pub says: Text,
    pub needs: Needs,
    pub set_up: fn(&mut Buyer, u64) -> Result<(), Stop>,
    pub buy: fn(&mut Buyer) -> Told,
    pub books: fn(&mut Buyer) -> Result<Books, Stop>,
    /// Another participant: an operator who restocks, a worker, or an importer.
    pub helper: Option<fn(&mut Buyer) -> Told>,
    /// No buyer gets an answer without the helper.
    pub waits_for_helper: bool,
    /// The key of the lock whose lease may run out.
    pub lease: Option<&'static str>,
    /// Whether the strategy claims that a user buys once.
    pub once_per_user: bool,
    /// The product that buyer B wants is another one than A's.
    pub two_products: bool,
    pub rush: Rush,
    /// The faults that the interleaver must find.
    pub marked: &'static [Fault],
    /// Faults of this contender on a database where they differ.
    pub marked_on: &'static [(Maker, &'static [Fault])],
    /// A remark on the row, where the measurement and the theory differ.
    pub note: Text,
}

/// Fields that most contenders have in common.
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
    /// Whether the lab calls it exact: no buyer too many, none refused while units are left.
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

    /// Whether it runs on this database: what the module's order writer says is of MySQL.
    pub fn runs_on(&self, maker: Maker) -> bool {
        self.needs.sql && (maker != Maker::Postgres || !self.needs.module)
    }

    /// The module's own rows.
    pub fn is_ours(&self) -> bool {
        self.id.starts_with('S')
    }
}
