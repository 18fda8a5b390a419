//! Hints: at this time, look at this key. One for each sale that has something to come.

use std::collections::{BTreeMap, BTreeSet};
use std::os::raw::c_int;
use std::sync::Arc;

/// The name of a key, kept once.
pub(crate) type Name = Arc<[u8]>;

/// The hints of one database.
#[derive(Default)]
struct Database {
    by_name: BTreeMap<Name, u64>,
    by_time: BTreeSet<(u64, Name)>,
}

impl Database {
    fn remove(&mut self, name: &[u8]) {
        if let Some((name, due)) = self.by_name.remove_entry(name) {
            self.by_time.remove(&(due, name));
        }
    }

    fn first(&self) -> Option<u64> {
        self.by_time.first().map(|(due, _)| *due)
    }
}

/// The hints of all databases. Those without any hint have no entry.
#[derive(Default)]
pub(crate) struct Hints {
    databases: BTreeMap<c_int, Database>,
}

impl Hints {
    pub(crate) const fn new() -> Hints {
        Hints { databases: BTreeMap::new() }
    }

    /// Sets the hint of a key, unless it has an earlier one.
    pub(crate) fn set(&mut self, db: c_int, name: &[u8], due: u64) {
        let database = self.databases.entry(db).or_default();
        if database.by_name.get(name).is_some_and(|earlier| *earlier <= due) {
            return;
        }
        database.remove(name);
        let name = Name::from(name);
        database.by_name.insert(name.clone(), due);
        database.by_time.insert((due, name));
    }

    /// Forgets the hint of a key.
    pub(crate) fn remove(&mut self, db: c_int, name: &[u8]) {
        let Some(database) = self.databases.get_mut(&db) else { return };
        database.remove(name);
        if database.by_name.is_empty() {
            self.databases.remove(&db);
        }
    }

    /// Takes the hints of a database away.
    pub(crate) fn take(&mut self, db: c_int) -> Hints {
        let database = self.databases.remove_entry(&db);
        Hints { databases: database.into_iter().collect() }
    }

    /// Frees so many of them, if there are.
    pub(crate) fn free_some(&mut self, count: usize) {
        for _ in 0..count {
            let Some(mut database) = self.databases.first_entry() else { return };
            let hints = database.get_mut();
            let (named, timed) = (hints.by_name.pop_first(), hints.by_time.pop_first());
            if named.is_none() && timed.is_none() {
                database.remove();
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    /// Two databases change places.
    pub(crate) fn swap(&mut self, first: c_int, second: c_int) {
        let (one, other) = (self.databases.remove(&first), self.databases.remove(&second));
        self.databases.extend(one.map(|database| (second, database)));
        self.databases.extend(other.map(|database| (first, database)));
    }

    /// The time of the earliest hint.
    pub(crate) fn first(&self) -> Option<u64> {
        self.databases.values().filter_map(Database::first).min()
    }

    /// Takes the earliest hint that is due.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> Option<(u64, c_int, Name)> {
        let times = self.databases.iter().filter_map(|(db, hints)| Some((hints.first()?, *db)));
        let (due, db) = times.min().filter(|(due, _)| *due <= now_ms)?;
        let (_, name) = self.databases.get(&db)?.by_time.first().cloned()?;
        self.remove(db, &name);
        Some((due, db, name))
    }

    /// How many are due.
    pub(crate) fn due(&self, now_ms: u64) -> u64 {
        let count = |hints: &Database| {
            hints.by_time.iter().take_while(|(due, _)| *due <= now_ms).count() as u64
        };
        self.databases.values().map(count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(hints: &mut Hints, now_ms: u64) -> Vec<(u64, c_int, Vec<u8>)> {
        let next = || hints.take_due(now_ms);
        std::iter::from_fn(next).map(|(due, db, name)| (due, db, name.to_vec())).collect()
    }

    #[test]
    fn a_key_has_one_hint_the_earliest() {
        let mut hints = Hints::default();
        for due in [30, 20, 40] {
            hints.set(0, b"k", due);
        }
        assert_eq!((hints.first(), hints.due(19), hints.due(20)), (Some(20), 0, 1));
        assert_eq!(taken(&mut hints, 19), []);
        assert_eq!(taken(&mut hints, 50), [(20, 0, b"k".to_vec())]);
        assert!(hints.first().is_none() && hints.databases.is_empty());
    }

    #[test]
    fn they_come_in_order_whatever_the_database() {
        let mut hints = Hints::default();
        for (db, name, due) in [(1, b"b", 3), (0, b"a", 2), (1, b"a", 1), (0, b"c", 9)] {
            hints.set(db, name, due);
        }
        assert_eq!(hints.due(3), 3);
        let expected = [(1, 1, b"a".to_vec()), (2, 0, b"a".to_vec()), (3, 1, b"b".to_vec())];
        assert_eq!(taken(&mut hints, 5), expected);
        assert_eq!(hints.first(), Some(9));
    }

    #[test]
    fn they_go_with_their_key_and_their_database() {
        let mut hints = Hints::default();
        for (db, name) in [(0, b"a"), (0, b"b"), (2, b"a")] {
            hints.set(db, name, 1);
        }
        hints.remove(0, b"a");
        hints.remove(0, b"none");
        hints.remove(7, b"a");
        hints.swap(0, 5);
        assert_eq!(hints.due(1), 2);
        let mut taken_away = hints.take(2);
        assert_eq!((taken_away.due(1), hints.take(2).due(1)), (1, 0));
        taken_away.free_some(1);
        assert!(!taken_away.is_empty());
        taken_away.free_some(10);
        assert!(taken_away.is_empty());
        assert_eq!(taken(&mut hints, 1), [(1, 5, b"b".to_vec())]);
        hints.set(0, b"a", 1);
        hints.set(1, b"b", 1);
        hints.swap(0, 1);
        assert_eq!(taken(&mut hints, 1), [(1, 0, b"b".to_vec()), (1, 1, b"a".to_vec())]);
    }
}
