//! The order of changes against the order of calls.

/// A change, and the call that made or saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub rev: u64,
    /// When the call was sent and when its reply had come, see `history`.
    pub invoked: u64,
    pub returned: u64,
    /// The reign that did it, if that is known.
    pub reign: Option<u64>,
}

/// Changes in order of rev, and the revs that answers and calls give at each time.
pub struct Order {
    by_rev: Vec<Change>,
    /// By the time of the reply: the greatest rev answered up to then.
    answered: Vec<(u64, u64)>,
    /// By the time of the call: the smallest rev called for from then on.
    called: Vec<(u64, u64)>,
}

impl Order {
    /// Sorts them.
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

    /// All changes, in order of rev.
    pub fn changes(&self) -> &[Change] {
        &self.by_rev
    }

    /// Two changes of which the one that was answered before the other was sent has the greater
    /// rev, if there are such.
    pub fn turned(&self) -> Option<(Change, Change)> {
        // The one sent last of those with a smaller rev, and of those up to the rev at hand.
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

    /// The revs between which a call that ran this long can have looked: not before what had been
    /// answered when it was sent, and before what was not yet sent when it had its reply.
    pub fn between(&self, invoked: u64, returned: u64) -> (u64, u64) {
        let before = self.answered.partition_point(|(at, _)| *at < invoked);
        let from = before.checked_sub(1).map_or(0, |last| self.answered[last].1);
        let after = self.called.partition_point(|(at, _)| *at <= returned);
        let to = self.called.get(after).map_or(u64::MAX, |(_, rev)| rev - 1);
        (from, to)
    }
}
