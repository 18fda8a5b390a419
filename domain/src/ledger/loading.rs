//! Grants of users who are all different, when a sale is loaded.

use super::Ledger;
use crate::index::gathered::Gathered;
use crate::ledger::record;

impl Ledger {
    /// Begins to take grants of which each is said to be of another user: nobody is looked up
    /// until [`Ledger::end_gathering`].
    pub fn begin_gathering(&mut self, users: u64) {
        self.gathered = Some(Box::new(Gathered::new(users)));
    }

    /// Enters the users gathered, if any were. False when one came twice.
    pub fn end_gathering(&mut self) -> bool {
        let Some(gathered) = self.gathered.take() else { return true };
        let user_of = |seq| self.records.get(seq).map(|(bytes, _)| record::user(bytes));
        let index = gathered.into_index(|one, other| user_of(one) == user_of(other));
        let all_differ = index.is_some();
        self.users = index.unwrap_or_default();
        all_differ
    }

    /// Whether users are gathered.
    pub fn is_gathering(&self) -> bool {
        self.gathered.is_some()
    }
}
