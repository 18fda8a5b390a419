//! Compares the order of changes with the order of calls.

/// A change, and the call that made or saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub rev: u64,
    /// Times before the call was sent and after its reply came, see `history`.
    pub invoked: u64,
    pub returned: u64,
    /// The reign of the change, if it is known.
    pub reign: Option<u64>,
}

/// Changes in the order of rev, and the possible revs at each time.
pub struct Order {
    pub by_rev: Vec<Change>,
    /// For each reply time, the greatest rev answered up to then.
    answered: Vec<(u64, u64)>,
    /// For each call time, the smallest rev called from then on.
    called: Vec<(u64, u64)>,
}

impl Order {
    pub fn of(mut by_rev: Vec<Change>) -> Order {
        by_rev.sort_unstable_by_key(|change| (change.rev, change.invoked));
        let mut answered: Vec<_> =
            by_rev.iter().map(|change| (change.returned, change.rev)).collect();
        answered.sort_unstable();
        let mut greatest = 0;
        for (_, rev) in &mut answered {
            greatest = greatest.max(*rev);
            *rev = greatest;
        }
        let mut called: Vec<_> = by_rev.iter().map(|change| (change.invoked, change.rev)).collect();
        called.sort_unstable();
        let mut smallest = u64::MAX;
        for (_, rev) in called.iter_mut().rev() {
            smallest = smallest.min(*rev);
            *rev = smallest;
        }
        Order { by_rev, answered, called }
    }

    /// Two changes in the wrong order, if any: one was answered before the other was sent, but has
    /// the greater rev.
    pub fn turned(&self) -> Option<(Change, Change)> {
        // The call sent last among smaller revs, and among revs up to the current one.
        let (mut before, mut latest): (Option<Change>, Option<Change>) = (None, None);
        let mut rev = 0;
        for change in &self.by_rev {
            if change.rev > rev {
                (before, rev) = (latest, change.rev);
            }
            if let Some(before) = before.filter(|before| change.returned < before.invoked) {
                return Some((*change, before));
            }
            if latest.is_none_or(|latest| change.invoked > latest.invoked) {
                latest = Some(*change);
            }
        }
        None
    }

    /// The range of revs that a call can have seen: not before changes that were answered before it
    /// was sent, and before changes that were sent after its reply.
    pub fn between(&self, invoked: u64, returned: u64) -> (u64, u64) {
        let before = self.answered.partition_point(|(at, _)| *at < invoked);
        let from = before.checked_sub(1).map_or(0, |last| self.answered[last].1);
        let after = self.called.partition_point(|(at, _)| *at <= returned);
        let to = self.called.get(after).map_or(u64::MAX, |(_, rev)| rev - 1);
        (from, to)
    }
}
