//! Entries that the database lacks and that no reader will get. They were trimmed before they were
//! read, or the database lost them, as one that is restored from a backup. The revs of a sale have
//! no gaps, so a later entry shows it, and so does the sale.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::time::{Duration, Instant};

use redis::{cmd, Connection, RedisError};
use serde::Deserialize;

use super::database::{bytes, int, text, Database, Value};
use super::entry::Entry;
use super::stream::{Id, Message};
use crate::connect::Failure;
use crate::print::tell;

/// What a reader must still compare with the database.
#[derive(Default)]
pub struct Gaps {
    /// For each sale the last rev that this session wrote.
    last: HashMap<String, u64>,
    /// Entries that did not follow that rev, by their stream ids. Then, without ids, the next
    /// entries of sales.
    open: BTreeMap<Id, Gap>,
    /// The next entries of sales whose stream has not been read to its end.
    ends: Vec<Gap>,
    /// Entries of `open` from sessions before. Perhaps they are lost in a failover: the stream must
    /// be read to its end first.
    earlier: Vec<Gap>,
    /// What was told of each sale: the first rev that is missing, and the next one that is not.
    /// The end of a sale is compared in each session, and told once.
    told: HashMap<String, (u64, u64)>,
}

/// Sales that are asked at the beginning of a session, which waits for it.
const SALES_MAX: usize = 1_000;

/// Sales whose last rev is remembered. Where each red packet is a sale, more of them come without
/// end; a sale that was forgotten costs one question to the database.
const KNOWN_MAX: usize = 100_000;

/// Entries that are compared later at most. With many sales and several readers most entries don't
/// follow one of the same reader; then a part of them is compared, and reading goes on.
const OPEN_MAX: usize = 100_000;

/// How long the questions to the database may keep a reader from new entries.
const SETTLE_WITHIN: Duration = Duration::from_millis(500);

/// The first number of the ids in `open` that are none. The other is the place in `ends`.
const NO_ID: u64 = u64::MAX;

/// An entry, of which the one before it was not seen. Usually another reader has that one.
struct Gap {
    id: String,
    sale: Vec<u8>,
    epoch: u64,
    rev: u64,
}

/// What STATUS says of a sale.
#[derive(Deserialize)]
struct Status {
    id: String,
    epoch: u64,
    rev: u64,
}

impl Gaps {
    /// Begins a session: its database may be another one, or have lost rows.
    pub fn begin(&mut self) {
        self.last.clear();
        self.ends.clear();
        let open = mem::take(&mut self.open).into_iter().filter(|(at, _)| at.0 != NO_ID);
        self.earlier.extend(open.map(|(_, gap)| gap));
    }

    /// Asks sales of the stream for their last entry. A sale of which the database has no entry at
    /// all was removed there on purpose: its row and its first entry were one transaction.
    ///
    /// # Errors
    /// The error of the database, or of a Redis that does not answer.
    pub fn ask(
        &mut self,
        redis: &mut Connection,
        database: &mut dyn Database,
        stream: &str,
    ) -> Result<(), Failure> {
        let place = (database.dialect().place)(1);
        let asked = format!(
            "SELECT s.id, s.name FROM @sales AS s WHERE s.stream = {place}
            AND EXISTS (SELECT 1 FROM @entries AS e WHERE e.id = s.id) LIMIT {SALES_MAX}"
        );
        for row in database.rows(&asked, &[bytes(stream.as_bytes())])? {
            let Ok([known, sale]) = <[Value; 2]>::try_from(row) else { continue };
            let (known, sale) = (known.into_bytes(), sale.into_bytes());
            let status: Result<Vec<u8>, RedisError> =
                cmd("SECKILL.STATUS").arg(&sale).arg("JSON").query(redis);
            let status = match status {
                Ok(json) => serde_json::from_slice::<Status>(&json).ok(),
                Err(e) if e.is_io_error() => return Err(Failure::of_redis(e)),
                // It is gone, for example.
                Err(_) => None,
            };
            let is_it = |status: &Status| status.id.as_bytes() == known;
            if let Some(Status { id, epoch, rev }) = status.filter(is_it) {
                self.ends.push(Gap { id, sale, epoch, rev: rev + 1 });
            }
        }
        Ok(())
    }

    /// Notes that all entries of the stream were given to readers.
    pub fn drained(&mut self) {
        let ends = self.earlier.drain(..).chain(self.ends.drain(..)).zip(0..);
        self.open.extend(ends.map(|(gap, at)| ((NO_ID, at), gap)));
    }

    /// Notes entries that were written.
    pub fn note(&mut self, messages: &[&Message], entries: &[Entry]) {
        if self.last.len() >= KNOWN_MAX {
            self.last.clear();
        }
        for (message, Entry { id, sale, epoch, rev, .. }) in messages.iter().zip(entries) {
            let last = self.last.insert(id.clone(), *rev).unwrap_or_default();
            if last.checked_add(1) == Some(*rev) || self.open.len() >= OPEN_MAX {
                continue;
            }
            let gap = Gap { id: id.clone(), sale: sale.clone(), epoch: *epoch, rev: *rev };
            self.open.extend(message.number().map(|at| (at, gap)));
        }
    }

    pub fn are_none(&self) -> bool {
        self.open.is_empty()
    }

    /// Reports entries that the database will never get, and returns their number. What takes too
    /// long is left for the next call. `pending` is the first entry that a reader of the group has
    /// and has not acknowledged: all entries before it are written, or nobody has them.
    ///
    /// # Errors
    /// The error of the database.
    pub fn settle(
        &mut self,
        pending: Option<Id>,
        database: &mut dyn Database,
        stream: &str,
    ) -> Result<u64, Failure> {
        let (mut missing, began) = (0, Instant::now());
        while let Some(first) = self.open.first_entry() {
            let is_next = pending.is_none_or(|pending| pending >= *first.key());
            if !is_next || began.elapsed() > SETTLE_WITHIN {
                break;
            }
            let from = first.get().before(database)? + 1;
            let lacks = first.get().rev.saturating_sub(from);
            let is_missing = lacks > 0 && !first.get().is_lost(database)?;
            let Gap { id, sale, rev, .. } = first.remove();
            if is_missing && self.told.insert(id.clone(), (from, rev)) != Some((from, rev)) {
                missing += lacks;
                tell!(
                    "{stream}: of sale {} ({id}) the database lacks rev {from} to {}, which no \
                     reader will get. See SeckillOrdersMissing in watch.md",
                    String::from_utf8_lossy(&sale),
                    rev - 1
                );
            }
        }
        Ok(missing)
    }
}

impl Gap {
    /// The last rev before this entry that the database has; 0 if there is none.
    fn before(&self, database: &mut dyn Database) -> Result<u64, Failure> {
        let place = database.dialect().place;
        let [id, epoch, rev] = [1, 2, 3].map(place);
        // First in its own epoch. Each question has the order of the primary key and reads one row,
        // however many newer entries the other readers have written.
        for is in ["=", "<"] {
            let asked = format!(
                "SELECT rev FROM @entries WHERE id = {id} AND epoch {is} {epoch} AND rev < {rev}
                ORDER BY epoch DESC, rev DESC LIMIT 1"
            );
            let rows = database.rows(&asked, &[text(&self.id), int(self.epoch), int(self.rev)])?;
            if let Some(before) = rows.first().and_then(|row| row.first()) {
                return Ok(before.number());
            }
        }
        Ok(0)
    }

    /// Whether Redis has lost this entry and goes on without it. What came before it is then judged
    /// by the first entry of the new epoch.
    fn is_lost(&self, database: &mut dyn Database) -> Result<bool, Failure> {
        let place = database.dialect().place;
        let [id, epoch, rev] = [1, 2, 3].map(place);
        let asked = format!(
            "SELECT epoch FROM @epochs WHERE id = {id} AND epoch > {epoch} AND first_rev <= {rev}"
        );
        let rows = database.rows(&asked, &[text(&self.id), int(self.epoch), int(self.rev)])?;
        Ok(!rows.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::database::Dialect;
    use crate::orders::mysql::DIALECT;

    /// The epochs and revs that a database has.
    struct Has(Vec<(u64, u64)>);

    impl Database for Has {
        fn dialect(&self) -> &'static Dialect {
            &DIALECT
        }

        fn columns(&mut self, _: &str) -> Result<Vec<String>, Failure> {
            Ok(Vec::new())
        }

        fn run(&mut self, _: &str) -> Result<(), Failure> {
            Ok(())
        }

        fn change(&mut self, _: &str, _: &[Value]) -> Result<u64, Failure> {
            Ok(0)
        }

        fn rows(&mut self, asked: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Failure> {
            let [epoch, rev] = [1, 2].map(|at: usize| values[at].number());
            if asked.contains("@epochs") {
                let later = self.0.iter().find(|has| has.0 > epoch && has.1 <= rev);
                return Ok(later.map(|has| vec![int(has.0)]).into_iter().collect());
            }
            let is_own = asked.contains("epoch = ?");
            let is_asked = |of: u64| if is_own { of == epoch } else { of < epoch };
            let before = self.0.iter().filter(|has| is_asked(has.0) && has.1 < rev).max();
            Ok(before.map(|has| vec![int(has.1)]).into_iter().collect())
        }
    }

    /// The number of missing entries once a reader has written these epochs and revs, each under
    /// its rev as its stream id, and the others are written, too.
    fn missing(gaps: &mut Gaps, pending: Option<u64>, wrote: &[(u64, u64)], others: &[u64]) -> u64 {
        let messages: Vec<Message> = wrote
            .iter()
            .map(|(_, rev)| Message { id: format!("{rev}-0"), fields: Vec::new() })
            .collect();
        let entry = |(epoch, rev): &(u64, u64)| Entry {
            event: "GRANT".into(),
            sale: b"s".to_vec(),
            id: "00ab".into(),
            epoch: *epoch,
            rev: *rev,
            grant: None,
        };
        let entries: Vec<Entry> = wrote.iter().map(entry).collect();
        gaps.note(&messages.iter().collect::<Vec<_>>(), &entries);
        let others = others.iter().map(|rev| (1, *rev));
        let mut has = Has(wrote.iter().copied().chain(others).collect());
        gaps.settle(pending.map(|rev| (rev, 0)), &mut has, "o").expect("a database")
    }

    #[test]
    fn what_nobody_has_is_missing() {
        assert_eq!(missing(&mut Gaps::default(), None, &[(1, 1), (1, 2)], &[]), 0);
        assert_eq!(missing(&mut Gaps::default(), None, &[(1, 4), (1, 5)], &[]), 3);
        assert_eq!(missing(&mut Gaps::default(), None, &[(1, 1), (1, 5)], &[3]), 1);
        assert_eq!(missing(&mut Gaps::default(), None, &[(1, 4)], &[3]), 0, "another reader's");
        assert_eq!(missing(&mut Gaps::default(), None, &[(2, 3)], &[1, 2, 3, 4]), 0, "a failover");
        assert_eq!(missing(&mut Gaps::default(), None, &[(1, 0)], &[]), 0, "a hand wrote it");
    }

    #[test]
    fn sales_without_end_take_no_memory_without_end() {
        let mut gaps = Gaps::default();
        gaps.last.extend((0..KNOWN_MAX).map(|sale| (sale.to_string(), 1)));
        assert_eq!(missing(&mut gaps, None, &[(1, 5)], &[1, 2, 3, 4]), 0);
        assert_eq!(gaps.last.len(), 1);
    }

    /// The last entries were trimmed, or the database lost them.
    #[test]
    fn the_end_of_a_sale_is_compared_when_all_is_read() {
        let mut gaps = Gaps::default();
        let end = || Gap { id: "00ab".into(), sale: b"s".to_vec(), epoch: 1, rev: 8 };
        gaps.ends.push(end());
        assert_eq!(missing(&mut gaps, None, &[(1, 1)], &[]), 0, "there may be more to read");
        gaps.drained();
        assert_eq!(missing(&mut gaps, Some(6), &[(1, 2)], &[1]), 0, "6 may be pending");
        assert_eq!(missing(&mut gaps, None, &[(1, 3)], &[1, 2]), 4);
        assert!(gaps.are_none());
        for (others, more) in [(&[1, 2, 3][..], 0), (&[1, 2][..], 5)] {
            gaps.begin();
            gaps.ends.push(end());
            gaps.drained();
            assert_eq!(missing(&mut gaps, None, &[], others), more, "each loss is told once");
        }
    }

    /// Another reader was about to get 2 to 8 when a failover took them back.
    #[test]
    fn what_redis_has_lost_itself_is_not_missing() {
        let mut gaps = Gaps::default();
        assert_eq!(missing(&mut gaps, Some(2), &[(1, 9)], &[1]), 0, "they may be pending");
        gaps.begin();
        assert_eq!(missing(&mut gaps, None, &[], &[1]), 0, "the new primary is not read yet");
        gaps.drained();
        assert_eq!(missing(&mut gaps, None, &[(2, 2)], &[1]), 0);
        assert!(gaps.are_none());
    }

    #[test]
    fn what_another_reader_has_is_waited_for() {
        let mut gaps = Gaps::default();
        assert_eq!(missing(&mut gaps, Some(2), &[(1, 4)], &[1]), 0, "3 may be pending");
        assert!(!gaps.are_none());
        assert_eq!(missing(&mut gaps, Some(6), &[(1, 4)], &[1, 2, 3]), 0);
        assert!(gaps.are_none());
        assert_eq!(missing(&mut gaps, None, &[(1, 5), (1, 6)], &[]), 0, "they follow");
    }
}
