//! Shards that grow and split, and lookups in them.

#![cfg(test)]

use super::shard::{keys_max, occupied, slots_for_half};
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

/// Room of a shard that holds `keys` keys.
fn room_beside(shard: &Shard, keys: usize) -> i32 {
    keys_max(homes_in(shard.words.len())) as i32 - keys as i32
}

fn empty_shard(depth: u32) -> Shard {
    Shard::of(vec![0; SLOTS_MIN].into_boxed_slice(), depth)
}

fn assert_sorted(index: &Index) {
    for shard in &index.shards {
        let words: Vec<u64> = occupied(&shard.words).collect();
        assert!(words.windows(2).all(|w| fragment_in(w[0]) <= fragment_in(w[1])));
        assert_eq!(shard.room, room_beside(shard, words.len()));
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
    let full = index.heap_bytes();
    assert_eq!(full, words.sum::<usize>() * 8 + lists);
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
        if key == keys - 1 {
            assert!(index.heap_bytes() < full / 10, "the last key frees little");
        }
    }
    assert_eq!((index.heap_bytes(), index.is_empty()), (0, true));
}

#[test]
fn keys_that_come_at_once_fill_shards_to_their_size() {
    // With four deviations added, one shard of the largest size is nearly full.
    assert_eq!([0, 5, 5814, 5815].map(shape_of), [(0, 16), (0, 24), (0, 8192), (1, 6144)]);
    let (depth, slots) = shape_of(1_000_000);
    assert!(slots <= SLOTS_PER_SHARD_MAX && depth == 8, "{depth} {slots}");
    assert_eq!(shape_of(usize::MAX >> 8), (DEPTH_MAX, SLOTS_PER_SHARD_MAX));
}

/// Keys that fit in the largest shard are not split.
#[test]
fn a_shard_of_the_largest_size_stays_whole() {
    let built = load_of(6000, 0, 0).into_index(|_, _| false).unwrap();
    assert_eq!((built.shards.len(), built.shards[0].words.len()), (1, SLOTS_PER_SHARD_MAX));
}

/// The words of keys 1 to `keys`, dealt into buckets by their leading `bits` bits.
fn load_of(keys: u32, bits: u32, room: usize) -> BulkLoad {
    let mut load = BulkLoad { buckets: vec![Vec::with_capacity(room); 1 << bits], bits };
    (1..=keys).for_each(|key| load.add(mix(key.into()), key));
    load
}

/// A load whose keys are all in one bucket.
fn load_with(words: Vec<u64>) -> BulkLoad {
    BulkLoad { buckets: vec![words], bits: 0 }
}

#[test]
fn an_index_is_built_at_once_as_it_would_have_grown() {
    for keys in [1u32, 12, 13, 6000, 6200, 100_000, 1_000_000] {
        let (fitting, slots) = shape_of(keys as usize);
        let mut grown = Index::default();
        (1..=keys).for_each(|key| grown.insert(mix(key.into()), value(key)));
        // Buckets fewer than shards are split; more buckets make small shards.
        for depth in [fitting, 0, 3, 12] {
            let load = load_of(keys, depth, if depth == fitting { slots } else { 0 });
            let mut built = load.into_index(|_, _| false).unwrap();
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
        let mut load = load_of(50_000, 4, 0);
        load.add(mix(again.into()), 50_001);
        let seen = std::cell::RefCell::new(Vec::new());
        let is_same = |one: u32, other: u32| {
            seen.borrow_mut().push((one, other));
            (one, other) == (again, 50_001)
        };
        assert!(load.into_index(is_same).is_none());
        assert_eq!(seen.borrow().last(), Some(&(again, 50_001)));
    }
    // Equal fragments of different keys: each is compared with all earlier ones.
    let words: Vec<u64> = (1..=40).map(|key| word_of(u64::MAX, value(key))).collect();
    let index = load_with(words.clone()).into_index(|one, other| one >= other).unwrap();
    for key in 1..=40 {
        assert_eq!(index.find(u64::MAX, |v| v.number == key), Some(value(key)));
    }
    assert!(load_with(words).into_index(|one, other| (one, other) == (3, 40)).is_none());
    assert!(load_with(vec![]).into_index(|_, _| true).is_some_and(|index| index.is_empty()));
}

#[test]
fn a_gap_of_another_time_or_key_does_no_harm() {
    let (mut index, mut gaps, mut other) = (Index::default(), Vec::new(), Index::default());
    for key in 1..=60_000u32 {
        let hash = mix(key.into());
        let Entry::Vacant(vacant) = index.entry(hash, |v| v.number == key) else { panic!("{key}") };
        gaps.push(vacant);
        // The key's own slot, an outdated slot, or the slot of another key.
        let gap = match key % 4 {
            0 => gaps[key as usize / 2],
            1 => gaps[key as usize - 1],
            2 => Vacant { shard: key % 64, slot: key % 9_000 },
            _ => Vacant { slot: gaps[key as usize - 1].slot + 1, ..gaps[key as usize - 1] },
        };
        index.insert_into(gap, hash, value(key));
        // An index whose insert gets no slot grows equally.
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

/// Keys with equal hashes make a large shard, not an endless directory.
#[test]
fn equal_hashes_end_at_the_last_depth() {
    let keys = 7000;
    let words: Vec<u64> = (1..=keys).map(|key| word_of(1 << 40, value(key))).collect();
    let built = load_with(words).into_index(|_, _| false).unwrap();
    assert_eq!((built.depth, built.directory.len()), (DEPTH_MAX, 1 << DEPTH_MAX));
    let largest = built.shards.iter().map(|shard| shard.words.len()).max();
    assert_eq!((largest, built.shards.len()), (Some(12_288), DEPTH_MAX as usize + 1));
    assert_eq!(built.len(), u64::from(keys));
    assert_eq!(built.find(1 << 40, |v| v.number == keys), Some(value(keys)));
    // More than any sale can have: no memory is taken for them.
    let words = (1..=200_000).map(|key| word_of(1 << 40, value(key))).collect();
    assert!(load_with(words).into_index(|_, _| false).is_none());
}

/// Of 512 slots 480 are homes: 360 keys are three quarters of them, 288 three fifths.
#[test]
fn a_shard_has_a_size_by_its_keys() {
    assert_eq!([359, 360].map(slots_for), [512, 768]);
    assert_eq!([288, 289].map(slots_for_half), [512, 768]);
}

/// The last slots may be taken while an earlier one is empty.
#[test]
fn a_shard_takes_what_has_an_empty_slot_behind_it() {
    let mut shard = empty_shard(0);
    let last = |number| word_of(u64::MAX, value(number));
    assert!((13..16).all(|slot| shard.insert(slot, last(slot as u32))));
    assert!(!shard.insert(16, last(16)), "there is no slot");
    assert!(!shard.insert(13, word_of(u64::MAX - (1 << 40), value(1))), "nothing can move on");
    assert!(shard.insert(0, word_of(0, value(2))));
    assert_eq!((shard.words[13..].to_vec(), shard.room), ([13, 14, 15].map(last).to_vec(), 11 - 4));
}

#[test]
fn the_word_of_a_snapshot_takes_little_memory() {
    for said in [1 << 20, 1 << 30, u64::MAX] {
        let load = BulkLoad::new(said);
        let slots: usize = load.buckets.iter().map(Vec::capacity).sum();
        assert!(slots <= BULK_LOAD_SLOTS_MAX && load.buckets.len() <= 1 << 12);
    }
}

#[test]
fn sizes_are_the_size_classes_of_the_allocator() {
    let mut slots = SLOTS_MIN;
    let mut seen = vec![];
    while slots <= 64 {
        seen.push(slots * 8);
        slots = next_slots(slots);
    }
    assert_eq!(seen, [128, 192, 256, 384, 512]);
}

/// The size is enough, and the next smaller one is not.
#[test]
fn a_shard_is_as_large_as_its_keys_need() {
    let mut sizes = vec![SLOTS_MIN];
    while sizes.len() < 24 {
        sizes.push(next_slots(sizes[sizes.len() - 1]));
    }
    assert_eq!([16, 24, 32, 256, 384, 8192].map(homes_in), [14, 21, 28, 224, 352, 8160]);
    assert_eq!([4, 14, 8160].map(keys_max), [3, 11, 6120]);
    for keys in (0..200).chain([1000, 6119, 6120, 9000]) {
        let fits = |slots: &&usize| homes_in(**slots) * 3 > keys * 4;
        assert_eq!(slots_for(keys), *sizes.iter().find(fits).unwrap(), "{keys}");
        let fits = |slots: &&usize| homes_in(**slots) * 3 >= keys * 5;
        assert_eq!(slots_for_half(keys), *sizes.iter().find(fits).unwrap(), "{keys}");
    }
}

/// Each word is at home, or directly after the previous word if that is past its home.
fn assert_laid_out(shard: &Shard, fragments: &[u32]) {
    let mut sorted = fragments.to_vec();
    sorted.sort_unstable();
    let (mut words, mut next) = (vec![0; shard.words.len()], 0);
    for fragment in &sorted {
        let slot = shard.home(*fragment).max(next);
        words[slot] = *fragment;
        next = slot + 1;
    }
    let there: Vec<u32> = shard.words.iter().map(|word| fragment_in(*word)).collect();
    assert_eq!(there, words);
    assert_eq!(shard.room, room_beside(shard, fragments.len()));
}

/// Random inserts and removals in a small table that is often full to its end.
#[test]
fn words_lie_as_if_they_had_come_in_order() {
    let value = Value { number: 0, marked: false };
    let (mut inserted, mut refused) = (0, 0);
    for seed in 0..400_u32 {
        let depth = seed % 3;
        let (mut shard, mut fragments) = (empty_shard(depth), Vec::<u32>::new());
        for step in 0..60_u32 {
            let chance = (seed * 60 + step + 1).wrapping_mul(0x9e37_79b9);
            // Some at every position, more at the end, and many of one fragment.
            let within = match seed % 4 {
                0 => chance | 1,
                1 => chance | 0xe000_0000,
                2 => (chance >> 29 << 29) | 8,
                _ => (chance >> 30 << 29) | 8,
            };
            let fragment = within >> 1 >> depth;
            let found = shard.find(fragment, |_| false);
            let Err(slot) = found else { panic!("{found:?}") };
            // A key can be inserted at one position only.
            for other in (0..=SLOTS_MIN + 1).filter(|other| *other != slot) {
                assert!(
                    !shard.insert(other, word_of(u64::from(fragment) << 33, value)),
                    "{slot} {other}"
                );
            }
            if chance >> 7 & 3 == 0 && !fragments.is_empty() {
                let gone = fragments.swap_remove(chance as usize % fragments.len());
                let slot = shard.find(gone, |_| true).unwrap();
                shard.remove(slot);
            } else if shard.insert(slot, word_of(u64::from(fragment) << 33, value)) {
                fragments.push(fragment);
                inserted += 1;
            } else {
                refused += 1;
            }
            assert_laid_out(&shard, &fragments);
        }
        let grown = shard.grown();
        assert!(grown.words.len() >= 24 && grown.depth == depth);
        assert_laid_out(&grown, &fragments);
        let (lower, upper) = shard.halves(0);
        let bit = FRAGMENT_BITS - depth - 1;
        let (above, below): (Vec<u32>, Vec<u32>) =
            fragments.iter().partition(|fragment| **fragment >> bit & 1 == 1);
        for (half, fragments) in [(lower, below), (upper, above)] {
            assert!(half.words.len() >= slots_for_half(fragments.len()));
            assert_eq!(half.depth, depth + 1);
            assert_laid_out(&half, &fragments);
        }
    }
    assert!(inserted > 9000 && refused > 1000, "{inserted} {refused}");
}

/// Every home position gets its share of the fragments. Otherwise all keys of a shard would be in
/// one run, searched one by one.
#[test]
fn every_home_has_its_share_of_the_fragments() {
    for (depth, homes) in [(0, 1), (0, 13), (3, 12), (5, 100)] {
        let mut counts = vec![0u32; homes];
        for sample in 0..1u32 << 16 {
            let fragment = sample << (FRAGMENT_BITS - depth - 16);
            counts[home_of(fragment, depth, homes)] += 1;
        }
        let share = (1 << 16) / homes as u32;
        assert!(counts.iter().all(|count| (share..=share + 1).contains(count)), "{counts:?}");
    }
}
