//! Shards that grow and split, and what finds its way in them.

#![cfg(test)]

use super::bulk::shape_of;
use super::shard::{fragment_in, occupied, slots_for, slots_for_half, word_of};
use super::*;

/// A good 64-bit mixer (the finaliser of SplitMix64).
fn mix(key: u64) -> u64 {
    let z = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn value(number: u32) -> Value {
    Value { number, marked: false }
}

fn assert_sorted(index: &Index) {
    for shard in &index.shards {
        let words: Vec<u64> = occupied(&shard.words).collect();
        assert!(words.windows(2).all(|w| fragment_in(w[0]) <= fragment_in(w[1])));
        assert_eq!(words.len(), shard.used as usize);
    }
}

#[test]
fn finds_every_key_and_no_other_while_it_grows() {
    let mut index = Index::default();
    let keys = 200_000u32;
    for key in 1..=keys {
        assert_eq!(index.find(mix(key.into()), |v| v.number == key), None);
        index.insert(mix(key.into()), value(key));
    }
    assert_eq!(index.len(), u64::from(keys));
    assert!(index.shards.len() > 1, "the test reaches splitting");
    assert_sorted(&index);
    for key in 1..=keys {
        let found = index.find(mix(key.into()), |v| v.number == key);
        assert_eq!(found, Some(value(key)));
    }
    let bytes = index.heap_bytes() as f64 / f64::from(keys);
    assert!(bytes < 16.0, "{bytes} bytes a key");
}

/// Keys that share their leading bits split one shard again and again, the others stay whole.
#[test]
fn shards_of_different_depth_stand_side_by_side() {
    let mut index = Index::default();
    let hash = |key: u32| match key % 4 {
        0..=2 => mix(key.into()) >> 4,
        _ => mix(key.into()),
    };
    let keys = 120_000u32;
    (1..=keys).for_each(|key| index.insert(hash(key), value(key)));
    let depths: Vec<u32> = index.shards.iter().map(|shard| shard.depth).collect();
    assert!(depths.iter().max() >= Some(&7) && depths.iter().min() <= Some(&3), "{depths:?}");
    for (number, shard) in (0..).zip(&index.shards) {
        assert!(shard.words.len() <= SLOTS_PER_SHARD_MAX);
        let entries = index.directory.iter().filter(|entry| **entry == number).count();
        assert_eq!(entries, 1 << (index.depth - shard.depth), "{number}");
    }
    assert_eq!(index.directory.len(), 1 << index.depth);
    let (words, shards) = (index.shards.iter().map(|it| it.words.len()), index.shards.len());
    let lists = index.shards.capacity() * size_of::<Shard>() + index.directory.capacity() * 4;
    assert_eq!(index.heap_bytes(), words.sum::<usize>() * 8 + lists);
    assert_eq!((index.heap_blocks(), index.blocks_mut().count()), (shards + 2, shards));
    for key in 1..=keys {
        assert_eq!(index.find(hash(key), |v| v.number == key), Some(value(key)));
    }
    for key in 1..=keys {
        index.remove(hash(key), value(key));
        if key % 997 == 0 {
            assert_sorted(&index);
            assert_eq!(index.find(hash(key), |v| v.number == key), None);
            assert_eq!(index.len(), u64::from(keys - key));
        }
    }
    assert_eq!((index.heap_bytes(), index.is_empty()), (0, true));
}

#[test]
fn keys_that_come_at_once_fill_shards_to_their_size() {
    // With four deviations more, one shard of the largest size is as good as full.
    assert_eq!([0, 5, 5814, 5815].map(shape_of), [(0, 16), (0, 24), (0, 8192), (1, 6144)]);
    let (depth, slots) = shape_of(1_000_000);
    assert!(slots <= SLOTS_PER_SHARD_MAX && depth == 8, "{depth} {slots}");
    assert_eq!(shape_of(usize::MAX >> 8), (DEPTH_MAX, SLOTS_PER_SHARD_MAX));
}

/// What fits the largest shard is not split.
#[test]
fn a_shard_of_the_largest_size_stays_whole() {
    let built = Index::of_buckets(buckets(6000, 0, 0), |_, _| false).unwrap();
    assert_eq!((built.shards.len(), built.shards[0].words.len()), (1, SLOTS_PER_SHARD_MAX));
}

/// The words of keys 1 to `keys`, dealt out by their leading `depth` bits.
fn buckets(keys: u32, depth: u32, room: usize) -> Vec<Vec<u64>> {
    let mut buckets = vec![Vec::with_capacity(room); 1 << depth];
    for key in 1..=keys {
        let word = word_of(mix(key.into()), value(key));
        buckets[word.unbounded_shr(u64::BITS - depth) as usize].push(word);
    }
    buckets
}

#[test]
fn an_index_is_built_at_once_as_it_would_have_grown() {
    for keys in [1u32, 12, 13, 6000, 6200, 100_000, 1_000_000] {
        let (fitting, slots) = shape_of(keys as usize);
        let mut grown = Index::default();
        (1..=keys).for_each(|key| grown.insert(mix(key.into()), value(key)));
        // Fewer buckets than shards are split, more make small shards.
        for depth in [fitting, 0, 3, 12] {
            let buckets = buckets(keys, depth, if depth == fitting { slots } else { 0 });
            let mut built = Index::of_buckets(buckets, |_, _| false).unwrap();
            assert_sorted(&built);
            assert_eq!(built.len(), u64::from(keys));
            for key in (1..=keys).step_by(7) {
                let found = built.find(mix(key.into()), |v| v.number == key);
                assert_eq!(found, Some(value(key)), "{keys} {depth}");
            }
            if depth == fitting || depth == 0 {
                let most = grown.heap_bytes() * 5 / 4 + 512;
                assert!(built.heap_bytes() <= most, "{keys}: {}", built.heap_bytes());
            }
            let blocks = built.heap_blocks();
            for key in keys + 1..=keys + 1000 {
                assert_eq!(built.find(mix(key.into()), |_| true), None);
                built.insert(mix(key.into()), value(key));
            }
            let more = built.heap_blocks() - blocks;
            assert!(more <= 1 || keys < 100_000, "{more} shards were full");
            for key in keys - keys / 2..=keys + 1000 {
                let found = built.find(mix(key.into()), |v| v.number == key);
                assert_eq!(found, Some(value(key)), "{keys} {depth}");
            }
        }
    }
}

#[test]
fn keys_that_come_twice_are_seen_while_building() {
    for again in [1u32, 999, 40_000] {
        let mut buckets = buckets(50_000, 4, 0);
        let word = word_of(mix(again.into()), value(50_001));
        buckets[(word >> 60) as usize].push(word);
        let seen = std::cell::RefCell::new(Vec::new());
        let is_same = |one: u32, other: u32| {
            seen.borrow_mut().push((one, other));
            (one, other) == (again, 50_001)
        };
        assert!(Index::of_buckets(buckets, is_same).is_none());
        assert_eq!(seen.borrow().last(), Some(&(again, 50_001)));
    }
    // Equal fragments of different keys: each is compared with all before it.
    let words: Vec<u64> = (1..=40).map(|key| word_of(u64::MAX, value(key))).collect();
    let index = Index::of_buckets(vec![words.clone()], |one, other| one >= other).unwrap();
    for key in 1..=40 {
        assert_eq!(index.find(u64::MAX, |v| v.number == key), Some(value(key)));
    }
    assert!(Index::of_buckets(vec![words], |one, other| (one, other) == (3, 40)).is_none());
    assert!(Index::of_buckets(vec![vec![]], |_, _| true).is_some_and(|index| index.is_empty()));
}

#[test]
fn a_gap_of_another_time_or_key_does_no_harm() {
    let (mut index, mut gaps, mut other) = (Index::default(), Vec::new(), Index::default());
    for key in 1..=60_000u32 {
        let hash = mix(key.into());
        let Entry::Vacant(vacant) = index.entry(hash, |v| v.number == key) else { panic!("{key}") };
        gaps.push(vacant);
        // Its own gap, one that was right long ago, or that of a key elsewhere.
        let gap = match key % 4 {
            0 => gaps[key as usize / 2],
            1 => gaps[key as usize - 1],
            2 => Vacant { shard: key % 64, place: key % 9_000 },
            _ => Vacant { place: gaps[key as usize - 1].place + 1, ..gaps[key as usize - 1] },
        };
        index.insert_into(gap, hash, value(key));
        // It grows when it would have without a gap.
        other.insert(hash, value(key));
        assert_eq!(index.heap_bytes(), other.heap_bytes(), "{key}");
    }
    assert_eq!(index.len(), 60_000);
    assert_sorted(&index);
    for key in 1..=60_000u32 {
        assert_eq!(index.find(mix(key.into()), |v| v.number == key), Some(value(key)));
    }
}

#[test]
fn equal_fragments_live_side_by_side() {
    let mut index = Index::default();
    for number in 1..=3000 {
        index.insert(u64::MAX, value(number));
        index.insert(0, value(number + 10_000));
    }
    for number in 1..=3000 {
        assert_eq!(index.find(u64::MAX, |v| v.number == number), Some(value(number)));
        let low = number + 10_000;
        assert_eq!(index.find(0, |v| v.number == low), Some(value(low)));
    }
    assert_eq!(index.find(1 << 40, |_| true), None);
}

#[test]
fn a_value_is_replaced_in_place() {
    let mut index = Index::default();
    index.insert(mix(1), value(1));
    index.insert(mix(2), value(2));
    index.replace(mix(1), value(1), Value { number: 1, marked: true });
    assert_eq!(index.find(mix(1), |_| true), Some(Value { number: 1, marked: true }));
    assert_eq!(index.find(mix(2), |_| true), Some(value(2)));
}

/// Keys that nothing tells apart make a large shard, not an endless directory.
#[test]
fn equal_hashes_end_at_the_last_depth() {
    let keys = 7000;
    let words: Vec<u64> = (1..=keys).map(|key| word_of(1 << 40, value(key))).collect();
    let built = Index::of_buckets(vec![words], |_, _| false).unwrap();
    assert_eq!((built.depth, built.directory.len()), (DEPTH_MAX, 1 << DEPTH_MAX));
    let largest = built.shards.iter().map(|shard| shard.words.len()).max();
    assert_eq!((largest, built.shards.len()), (Some(12_288), DEPTH_MAX as usize + 1));
    assert_eq!(built.len(), u64::from(keys));
    assert_eq!(built.find(1 << 40, |v| v.number == keys), Some(value(keys)));
}

/// Of 512 slots 480 are homes: 360 keys are three quarters of them, 288 three fifths.
#[test]
fn a_shard_has_a_size_by_its_keys() {
    assert_eq!([359, 360].map(slots_for), [512, 768]);
    assert_eq!([288, 289].map(slots_for_half), [512, 768]);
}

/// The last slots may be taken while there is room before them.
#[test]
fn a_shard_takes_what_has_an_empty_slot_behind_it() {
    let mut shard = Shard::new(SLOTS_MIN, 0);
    assert!(shard.insert(15, 9) && !shard.insert(15, 8) && shard.insert(13, 7));
    assert!(shard.insert(13, 6) && !shard.insert(13, 5) && shard.insert(0, 4));
    assert_eq!((shard.words[13..].to_vec(), shard.used), (vec![6, 7, 9], 4));
}
