//! Conclusions from the totals alone: units under way, duplicated units, everything sold.

use crate::Reading;

/// Units that left a part and have not arrived at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnderWay {
    /// The sending part.
    pub from: usize,
    /// The receiving part.
    pub to: usize,
    /// The total that `to` has to receive.
    pub total: u64,
    /// Units that `to` has not received yet.
    pub units: u64,
}

/// All units under way, as these readings show them. Units that arrived between two readings are
/// included: receiving them again changes nothing.
pub fn under_way(readings: &[Reading]) -> Vec<UnderWay> {
    let mut found = Vec::new();
    for (from, source) in readings.iter().enumerate() {
        for (to, peer) in readings.iter().enumerate() {
            let (total, there) = (source.sent[to], peer.received[from]);
            if total > there {
                found.push(UnderWay { from, to, total, units: total - there });
            }
        }
    }
    found
}

/// The total that part `from` must owe, if `peer`, part `to`, received more from it than it has
/// sent. `source` must be read after `peer`; otherwise units under way look like duplicated units.
pub fn made_twice((from, source): (usize, &Reading), (to, peer): (usize, &Reading)) -> Option<u64> {
    (peer.received[from] > source.sent[to]).then_some(peer.received[from])
}

/// The sums over all parts of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Shares and restocks.
    pub put_in: i64,
    /// Units that can be sold.
    pub available: u64,
    /// Units in holds.
    pub held: u64,
    /// Units promised beyond the supply.
    pub deficit: u64,
    /// Units sent and not received.
    pub under_way: u64,
    /// Units received and not sent: duplicated units.
    pub made_twice: u64,
}

impl Totals {
    /// Units that a buyer may still get.
    pub fn left(&self) -> u64 {
        self.available + self.held + self.under_way
    }

    /// Units that were sold and that nothing can cover.
    pub fn oversold(&self) -> u64 {
        self.deficit.saturating_sub(self.available + self.under_way)
    }
}

/// Sums over all parts.
pub fn totals(readings: &[Reading]) -> Totals {
    let mut totals = Totals::default();
    for (at, one) in readings.iter().enumerate() {
        totals.put_in += one.put_in;
        totals.available += one.available;
        totals.held += one.held;
        totals.deficit += one.deficit;
        for (peer, other) in readings.iter().enumerate() {
            totals.under_way += one.sent[peer].saturating_sub(other.received[at]);
            totals.made_twice += other.received[at].saturating_sub(one.sent[peer]);
        }
    }
    totals
}

/// An ELSEWHERE command for a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The part.
    pub part: usize,
    /// Units that the other parts may hold.
    pub elsewhere: u64,
    /// The number of this pass: the greatest number read, plus one.
    pub pass: u64,
}

/// The parts that need an ELSEWHERE, because all units are sold or are no longer. Each reading must
/// be one PARTS reply of the part's primary: with two commands, units that moved in between would
/// be overlooked.
pub fn tell(readings: &[Reading]) -> Vec<Told> {
    let pass = 1 + readings.iter().map(|one| one.pass).max().unwrap_or_default();
    let totals = totals(readings);
    let is_sold = totals.left() == 0 && totals.made_twice == 0;
    let mut told = Vec::new();
    for (part, one) in readings.iter().enumerate() {
        let outside = totals.left().saturating_sub(one.available + one.held);
        let (was_sold, knows_none) = (is_sold && one.elsewhere > 0, one.elsewhere == 0);
        if was_sold || (knows_none && outside > 0) {
            told.push(Told { part, elsewhere: outside, pass });
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(available: u64, elsewhere: u64, sent: [u64; 2], received: [u64; 2]) -> Reading {
        let (sent, received) = (sent.to_vec(), received.to_vec());
        Reading { put_in: 10, available, elsewhere, sent, received, ..Reading::default() }
    }

    #[test]
    fn a_pair_is_under_way_settled_or_made_twice() {
        let source = part(0, 1, [0, 5], [0, 0]);
        let peers = [3, 5, 6].map(|got| part(0, 1, [0, 0], [got, 0]));
        let shown = peers.clone().map(|peer| under_way(&[source.clone(), peer]));
        assert_eq!(shown[0], [UnderWay { from: 0, to: 1, total: 5, units: 2 }]);
        assert!(shown[1].is_empty() && shown[2].is_empty());
        let twice = peers.map(|peer| made_twice((0, &source), (1, &peer)));
        assert_eq!(twice, [None, None, Some(6)]);
    }

    #[test]
    fn nothing_is_told_while_a_unit_is_anywhere() {
        let sold = [part(0, 7, [0, 5], [0, 0]), part(0, 0, [0, 0], [5, 0])];
        assert_eq!(tell(&sold), [Told { part: 0, elsewhere: 0, pass: 1 }]);
        let under_way = [part(0, 7, [0, 5], [0, 0]), part(0, 3, [0, 0], [4, 0])];
        assert!(tell(&under_way).is_empty());
        let twice = [part(0, 7, [0, 5], [0, 0]), part(0, 3, [0, 0], [6, 0])];
        assert!(tell(&twice).is_empty());
        let mut held = sold.clone();
        held[1].held = 1;
        assert!(tell(&held).is_empty());
    }

    #[test]
    fn who_believes_all_sold_is_told_of_units_elsewhere() {
        let mut parts = [part(0, 0, [0, 0], [0, 0]), part(4, 0, [0, 0], [0, 0])];
        parts[1].pass = 8;
        assert_eq!(tell(&parts), [Told { part: 0, elsewhere: 4, pass: 9 }]);
    }

    #[test]
    fn a_deficit_that_nothing_covers_is_oversold() {
        let mut parts = [part(0, 1, [0, 0], [0, 0]), part(3, 1, [0, 0], [0, 0])];
        parts[0].deficit = 5;
        assert_eq!(totals(&parts).oversold(), 2);
    }
}
