//! A part of a split sale, as one PARTS reply shows it.

/// The reply of one PARTS. `sent` and `received` have a total for each part, 0 for the part itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The initial share plus the applied restocks; negative if more was withdrawn than put in.
    pub put_in: i64,
    /// Units for sale.
    pub available: u64,
    /// Units held and not paid.
    pub held: u64,
    /// Units promised beyond the units owned.
    pub deficit: u64,
    /// Units that the other parts may still hold, as ELSEWHERE said.
    pub elsewhere: u64,
    /// The pass of the last ELSEWHERE.
    pub pass: u64,
    /// The units ever sent to each part.
    pub sent: Vec<u64>,
    /// The units ever received from each part.
    pub received: Vec<u64>,
}

impl Reading {
    /// The supply by the law of a part: `supply - deficit = put_in - sent + received`. `None` if
    /// the numbers are impossible for a part.
    pub fn supply(&self) -> Option<u64> {
        let sum = |totals: &[u64]| totals.iter().map(|one| i128::from(*one)).sum::<i128>();
        let owned = i128::from(self.put_in) + sum(&self.received) - sum(&self.sent);
        u64::try_from(owned + i128::from(self.deficit)).ok()
    }

    /// Units that buyers have: held and sold.
    pub fn taken(&self) -> Option<u64> {
        self.supply()?.checked_sub(self.available)
    }
}

/// The units that part `part` of `parts` begins with, of `total` units in all. If the division has
/// a rest, the first parts get one unit more.
pub fn share(total: u64, parts: usize, part: usize) -> u64 {
    let (parts, part) = (parts as u64, part as u64);
    total / parts + u64::from(part < total % parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_total() {
        for (total, parts) in [(0, 1), (7, 3), (1_000_000, 64), (5, 16)] {
            let shares: Vec<u64> = (0..parts).map(|part| share(total, parts, part)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total);
            assert!(shares[0] - shares[parts - 1] <= 1, "{shares:?}");
        }
    }

    #[test]
    fn the_supply_follows_from_the_law() {
        let reading = Reading {
            put_in: 10,
            available: 2,
            deficit: 1,
            sent: vec![0, 4, 0],
            received: vec![0, 1, 2],
            ..Reading::default()
        };
        assert_eq!((reading.supply(), reading.taken()), (Some(10), Some(8)));
        let impossible = Reading { sent: vec![0, 15], ..reading };
        assert_eq!(impossible.supply(), None);
    }
}
