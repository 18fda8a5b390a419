//! Deadlines of keys: a key's deadline is the time at which the sweeper must look at its sale.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::os::raw::c_int;
use std::sync::Arc;

/// The name of a key, kept once.
pub(crate) type Name = Arc<[u8]>;

/// The deadlines of one database.
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

/// The deadlines of all databases. Those without any deadline have no entry.
#[derive(Default)]
pub(crate) struct Deadlines {
    databases: BTreeMap<c_int, Database>,
    /// The key whose deadline was taken last and not put back yet.
    taken: Option<(c_int, Name)>,
}

impl Deadlines {
    pub(crate) const fn new() -> Deadlines {
        Deadlines { databases: BTreeMap::new(), taken: None }
    }

    /// Sets the deadline of a key, unless it has an earlier one.
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

    /// Removes the deadline of a key.
    pub(crate) fn remove(&mut self, db: c_int, name: &[u8]) {
        let Some(database) = self.databases.get_mut(&db) else { return };
        database.remove(name);
        if database.by_name.is_empty() {
            self.databases.remove(&db);
        }
    }

    /// Takes out all deadlines of a database.
    pub(crate) fn take(&mut self, db: c_int) -> Deadlines {
        let database = self.databases.remove_entry(&db);
        Deadlines { databases: database.into_iter().collect(), taken: None }
    }

    /// Frees at most `count` deadlines.
    pub(crate) fn free_some(&mut self, count: usize) {
        for _ in 0..count {
            let Some(mut database) = self.databases.first_entry() else { return };
            let deadlines = database.get_mut();
            let (named, timed) = (deadlines.by_name.pop_first(), deadlines.by_time.pop_first());
            if named.is_none() && timed.is_none() {
                database.remove();
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    /// Exchanges the deadlines of two databases (SWAPDB).
    pub(crate) fn swap(&mut self, first: c_int, second: c_int) {
        let (one, other) = (self.databases.remove(&first), self.databases.remove(&second));
        self.databases.extend(one.map(|database| (second, database)));
        self.databases.extend(other.map(|database| (first, database)));
        if let Some((db, _)) = &mut self.taken {
            *db = match *db {
                db if db == first => second,
                db if db == second => first,
                other => other,
            };
        }
    }

    /// The time of the earliest deadline.
    pub(crate) fn first(&self) -> Option<u64> {
        self.databases.values().filter_map(Database::first).min()
    }

    /// Takes the earliest deadline that is due; [`Deadlines::put_back`] sets the key's next one.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> Option<(u64, c_int, Name)> {
        let times =
            self.databases.iter().filter_map(|(db, deadlines)| Some((deadlines.first()?, *db)));
        let (due, db) = times.min().filter(|(due, _)| *due <= now_ms)?;
        let (_, name) = self.databases.get(&db)?.by_time.first().cloned()?;
        self.remove(db, &name);
        self.taken = Some((db, name.clone()));
        Some((due, db, name))
    }

    /// Sets the next deadline, if any, of the key whose deadline was taken. SWAPDB may have changed
    /// its database meanwhile.
    pub(crate) fn put_back(&mut self, next: Option<u64>) {
        if let (Some((db, name)), Some(due)) = (self.taken.take(), next) {
            self.set(db, &name, due);
        }
    }

    /// Makes all deadlines up to `until` due at `now_ms`.
    pub(crate) fn bring_forward(&mut self, until: u64, now_ms: u64) {
        for database in self.databases.values_mut() {
            let later = database.by_time.split_off(&(until.saturating_add(1), Name::from([])));
            for (due, name) in mem::replace(&mut database.by_time, later) {
                let due = due.min(now_ms);
                database.by_name.insert(name.clone(), due);
                database.by_time.insert((due, name));
            }
        }
    }

    /// Counts the deadlines that are due, up to `most`.
    pub(crate) fn due(&self, now_ms: u64, most: usize) -> usize {
        let all = self
            .databases
            .values()
            .flat_map(|deadlines| deadlines.by_time.iter().take_while(|(due, _)| *due <= now_ms));
        all.take(most).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(deadlines: &mut Deadlines, now_ms: u64) -> Vec<(u64, c_int, Vec<u8>)> {
        let next = || deadlines.take_due(now_ms);
        std::iter::from_fn(next).map(|(due, db, name)| (due, db, name.to_vec())).collect()
    }

    #[test]
    fn a_key_has_one_deadline_the_earliest() {
        let mut deadlines = Deadlines::default();
        for due in [30, 20, 40] {
            deadlines.set(0, b"k", due);
        }
        assert_eq!(
            (deadlines.first(), deadlines.due(19, 9), deadlines.due(20, 9)),
            (Some(20), 0, 1)
        );
        assert_eq!(taken(&mut deadlines, 19), []);
        assert_eq!(taken(&mut deadlines, 50), [(20, 0, b"k".to_vec())]);
        assert!(deadlines.first().is_none() && deadlines.databases.is_empty());
    }

    #[test]
    fn they_come_in_order_whatever_the_database() {
        let mut deadlines = Deadlines::default();
        for (db, name, due) in [(1, b"b", 3), (0, b"a", 2), (1, b"a", 1), (0, b"c", 9)] {
            deadlines.set(db, name, due);
        }
        assert_eq!((deadlines.due(3, 9), deadlines.due(3, 2)), (3, 2));
        let expected = [(1, 1, b"a".to_vec()), (2, 0, b"a".to_vec()), (3, 1, b"b".to_vec())];
        assert_eq!(taken(&mut deadlines, 5), expected);
        assert_eq!(deadlines.first(), Some(9));
    }

    #[test]
    fn they_are_brought_forward_up_to_a_time() {
        let mut deadlines = Deadlines::default();
        for (db, name, due) in [(0, b"a", 2), (0, b"b", 8), (1, b"a", 9), (1, b"b", 10)] {
            deadlines.set(db, name, due);
        }
        deadlines.bring_forward(9, 5);
        let expected = [(2, 0, b"a".to_vec()), (5, 0, b"b".to_vec()), (5, 1, b"a".to_vec())];
        assert_eq!(taken(&mut deadlines, 5), expected);
        deadlines.set(1, b"b", 7);
        assert_eq!(taken(&mut deadlines, 10), [(7, 1, b"b".to_vec())]);
    }

    #[test]
    fn one_that_was_taken_goes_with_its_database() {
        let mut deadlines = Deadlines::default();
        for (swapped, db) in [((7, 8), 1), ((1, 5), 5), ((5, 1), 5)] {
            deadlines.set(1, b"k", 1);
            assert_eq!(deadlines.take_due(1), Some((1, 1, Name::from(&b"k"[..]))));
            deadlines.swap(swapped.0, swapped.1);
            deadlines.put_back(Some(2));
            deadlines.put_back(Some(2));
            assert_eq!(taken(&mut deadlines, 2), [(2, db, b"k".to_vec())]);
            deadlines.put_back(None);
            assert!(deadlines.is_empty());
        }
    }

    #[test]
    fn they_go_with_their_key_and_their_database() {
        let mut deadlines = Deadlines::default();
        for (db, name) in [(0, b"a"), (0, b"b"), (2, b"a")] {
            deadlines.set(db, name, 1);
        }
        deadlines.remove(0, b"a");
        deadlines.remove(0, b"none");
        deadlines.remove(7, b"a");
        deadlines.swap(0, 5);
        assert_eq!(deadlines.due(1, 9), 2);
        let mut taken_away = deadlines.take(2);
        assert_eq!((taken_away.due(1, 9), deadlines.take(2).due(1, 9)), (1, 0));
        taken_away.free_some(1);
        assert!(!taken_away.is_empty());
        taken_away.free_some(10);
        assert!(taken_away.is_empty());
        assert_eq!(taken(&mut deadlines, 1), [(1, 5, b"b".to_vec())]);
        deadlines.set(0, b"a", 1);
        deadlines.set(1, b"b", 1);
        deadlines.swap(0, 1);
        assert_eq!(taken(&mut deadlines, 1), [(1, 0, b"b".to_vec()), (1, 1, b"a".to_vec())]);
    }
}
