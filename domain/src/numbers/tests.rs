//! The numbers of grants, and the owner of each number.

#![cfg(test)]

use super::*;
use crate::model::limits::PAGE_BYTES;

/// The numbers of grants of every size are found again over many pages, and so is each number's
/// owner.
#[test]
fn each_grant_has_its_numbers_and_each_number_its_grant() {
    const GRANTS: u32 = 1500;
    let size = |seq: u32| if seq.is_multiple_of(7) { 100 } else { seq % 3 + 1 };
    let mut numbers = Numbers::new(GRANTS * 100);
    let mut expected = Vec::new();
    let mut next = 1;
    for seq in 1..=GRANTS {
        let units: UnitList = (0..size(seq)).map(|i| next + i * 2).collect();
        next = units.last().unwrap() + 1;
        let is_live = !seq.is_multiple_of(5);
        numbers.grant(&units, is_live);
        expected.push((units, is_live));
    }
    assert!(numbers.pages.heap_blocks() > 1, "several pages");
    for (seq, (units, is_live)) in (1..).zip(&expected) {
        assert_eq!(numbers.of(seq), *units, "grant {seq}");
        let owner = is_live.then_some(seq);
        assert!(units.iter().all(|unit| numbers.owner(*unit) == owner), "grant {seq}");
        assert!(units.iter().all(|unit| numbers.units().is_free(*unit) != *is_live));
    }
    let none = UnitList::new();
    assert_eq!([0, u64::from(GRANTS) + 1].map(|seq| numbers.of(seq)), [none.clone(), none]);
    assert_eq!([0, next, GRANTS * 100 + 1].map(|unit| numbers.owner(unit)), [None; 3]);
}

#[test]
fn numbers_come_back_and_are_taken_again() {
    let mut numbers = Numbers::new(3);
    numbers.grant(&[1, 3], true);
    numbers.set_live(1, false);
    assert_eq!((numbers.owner(3), numbers.units().free()), (None, 3));
    numbers.grant(&[3], true);
    assert_eq!((numbers.owner(3), numbers.owner(1)), (Some(2), None));
    numbers.set_live(2, false);
    numbers.set_live(1, true);
    assert_eq!((numbers.owner(3), numbers.owner(1), numbers.units().free()), (Some(1), Some(1), 1));
    assert_eq!(numbers.of(2)[..], [3], "what it had last");
    numbers.grow(5000);
    numbers.grant(&[5003], true);
    assert_eq!((numbers.owner(5003), numbers.owner(5004)), (Some(3), None));
}

/// A grant is left with some of its numbers, and gets others of its first ones again.
#[test]
fn a_part_is_given_back_and_taken_again() {
    let mut numbers = Numbers::new(40);
    for seq in 0..10 {
        numbers.grant(&[seq * 4 + 1, seq * 4 + 2, seq * 4 + 3], true);
    }
    for (units, was_live, free) in
        [(&[17, 19][..], true, 11), (&[19], true, 12), (&[17, 18], true, 11), (&[18], true, 12)]
    {
        numbers.renumber(5, units, was_live);
        assert_eq!((numbers.of(5).as_slice(), numbers.units().free()), (units, free));
        assert_eq!(numbers.first_of(5)[..], [17, 18, 19]);
        let owned = (17..20).filter(|unit| numbers.owner(*unit) == Some(5));
        assert!(owned.eq(units.iter().copied()));
    }
    numbers.set_live(5, false);
    numbers.renumber(5, &[17, 18, 19], false);
    assert_eq!((numbers.of(5).len(), numbers.units().free()), (3, 10));
    assert_eq!([4, 6].map(|seq| numbers.of(seq).len()), [3, 3], "its neighbors");
}

/// Memory: 6 bits and 4 bytes for each number, 4 bytes for each number of a grant, and nothing for
/// blocks of numbers that were never granted.
#[test]
fn memory_is_what_the_contract_says() {
    const ALL: u32 = 1_000_000;
    let mut numbers = Numbers::new(ALL);
    assert!(numbers.heap_bytes() * 8 <= ALL as usize * 6, "{}", numbers.heap_bytes());
    for first in (1..ALL).step_by(4) {
        numbers.grant(&[first, first + 1, first + 2, first + 3], true);
    }
    let most = ALL as usize * 6 / 8 + ALL as usize * 4 + ALL as usize * 4 + PAGE_BYTES;
    assert!(numbers.heap_bytes() <= most, "{} of {most}", numbers.heap_bytes());
    assert_eq!(numbers.blocks_mut().count(), numbers.heap_blocks());
}
