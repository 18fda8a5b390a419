//! Keys of an index that come all at once, when a sale is loaded.
//!
//! Entered as they come, each key would miss the cache, because its place has nothing to do with
//! the place before. So they are first dealt out by the leading bits of their hash, and entered
//! bucket by bucket: those of one bucket lie so near each other that the cache holds all of them
//! ("radix partitioning", Manegold, Boncz and Kersten, 2002).

use super::index::{Index, Value};
use super::limits::GATHERED_ROOM_MAX;

/// Leading bits that tell the buckets apart.
const BUCKET_BITS: u32 = 8;

/// Keys that are still to be entered: hash and value.
#[derive(Clone, Debug)]
pub struct Gathered {
    buckets: Vec<Vec<(u32, u32)>>,
    len: usize,
}

impl Gathered {
    /// No keys yet. About `keys` are said to come; room is made for a part if they are many.
    pub fn new(keys: u64) -> Gathered {
        let mean = keys.min(GATHERED_ROOM_MAX) as usize >> BUCKET_BITS;
        let room = if mean == 0 { 0 } else { mean + 4 * mean.isqrt() };
        let buckets = (0..1 << BUCKET_BITS).map(|_| Vec::with_capacity(room)).collect();
        Gathered { buckets, len: 0 }
    }

    /// Adds a key.
    #[inline]
    pub fn add(&mut self, hash: u64, number: u32) {
        let bucket = (hash >> (u64::BITS - BUCKET_BITS)) as usize;
        self.buckets[bucket].push(((hash >> 32) as u32, number));
        self.len += 1;
    }

    /// Enters all keys into `index`, which has none. `None` when two are the same by `is_same`.
    pub fn enter(self, index: &mut Index, is_same: impl Fn(u32, u32) -> bool) -> Option<()> {
        index.reserve(self.len);
        for bucket in self.buckets {
            for (leading, number) in bucket {
                // An index looks at no more than the leading half.
                let hash = u64::from(leading) << 32;
                if index.find(hash, |other| is_same(other.number, number)).is_some() {
                    return None;
                }
                index.insert(hash, Value { number, marked: false });
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_found_and_doubles_are_seen() {
        let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut gathered = Gathered::new(40_000);
        (1..=50_000).for_each(|number| gathered.add(hash(number), number));
        let (mut all, mut index) = (gathered.clone(), Index::default());
        assert_eq!(gathered.enter(&mut index, |one, other| one == other), Some(()));
        assert_eq!(index.len(), 50_000);
        for number in 1..=50_000 {
            let found = index.find(hash(number), |value| value.number == number);
            assert_eq!(found, Some(Value { number, marked: false }));
        }
        all.add(hash(700), 700);
        assert_eq!(all.enter(&mut Index::default(), |one, other| one == other), None);
    }
}
