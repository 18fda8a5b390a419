//! Lists that repeat, and what is tried on them.

#![cfg(test)]

use super::*;

const TOLD: [u64; 3] = [5, 1, 9];

/// All amounts, one by one.
fn drained(mut list: Amounts) -> Vec<u64> {
    std::iter::from_fn(|| list.take_first()).collect()
}

#[test]
fn what_is_left_comes_before_the_next_list() {
    let mut list = Amounts::repeated(&TOLD);
    assert_eq!((list.take_first(), list.take_first()), (Some(5), Some(1)));
    list.push(1);
    let mut old = list.turn(1, true);
    assert_eq!((old.begun(), list.begun(), list.undrawn()), (3, 5, 5));
    assert_eq!((list.len(), list.sum(), list.first()), (5, 25, Some(9)));
    // Two further rounds are skipped: their lists are told in one word.
    list.turn(2, true);
    let items: Vec<Item> = list.items().collect();
    assert_eq!(items, [Item::Told(1), Item::One(1), Item::Told(9)]);
    // What comes back to the round that is over, or is taken there, is its own affair.
    old.push(5);
    assert!(old.take(1) && !old.take(9));
    assert_eq!(*old.amounts(), [5]);
    assert_eq!(drained(list), [9, 1, 5, 1, 9, 5, 1, 9, 5, 1, 9]);
}

#[test]
fn what_is_left_is_dropped() {
    let mut list = Amounts::repeated(&TOLD);
    list.take_first();
    list.push(5);
    let old = list.turn(1, false);
    assert_eq!((old.begun(), old.amounts().len()), (3, 1));
    assert_eq!((list.len(), list.sum(), list.begun()), (3, 15, 3));
    assert_eq!(drained(list), TOLD);
}

#[test]
fn a_turn_copies_no_amount() {
    let told = vec![7; 100_000];
    let mut list = Amounts::repeated(&told);
    let full = list.heap_bytes();
    (0..50_000).for_each(|_| _ = list.take_first());
    (0..50_000).for_each(|_| list.push(7));
    let with_back = list.heap_bytes();
    let mut old = list.turn(40_000, true);
    assert_eq!((list.len(), list.sum()), (4_000_100_000, 28_000_700_000));
    assert!(list.heap_bytes() < with_back + 200, "{} of {with_back}", list.heap_bytes());
    assert_eq!(old.heap_bytes(), 0, "it is shared");
    old.push(7);
    assert!(old.heap_bytes() >= 400_008, "and is its own once it differs");
    drop(list.turn(1, false));
    assert!(list.heap_bytes() < full + 200);
}

/// A small generator (xorshift64*): the same sequence every time.
fn below(state: &mut u64, bound: u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
}

/// Against a list that is written out. What came back begins at `back` there.
#[test]
fn it_is_the_list_that_it_stands_for() {
    let mut state = 77;
    for _ in 0..300 {
        let told: Vec<u64> = (0..1 + below(&mut state, 4)).map(|_| 1 + state % 3).collect();
        let (mut list, mut whole) = (Amounts::repeated(&told), told.clone());
        let (mut back, mut begun) = (whole.len(), whole.len());
        for _ in 0..60 {
            let amount = 1 + below(&mut state, 3);
            match below(&mut state, 8) {
                0..=3 => {
                    let first = (!whole.is_empty()).then(|| whole.remove(0));
                    assert_eq!(AmountsTrial::default().take_first(&list), first);
                    assert_eq!((list.first(), list.take_first()), (first, first));
                    back = back.saturating_sub(1);
                }
                4 | 5 => {
                    list.push(amount);
                    whole.push(amount);
                }
                6 => {
                    let place = whole[back..].iter().rposition(|other| *other == amount);
                    place.into_iter().for_each(|place| _ = whole.remove(back + place));
                    assert_eq!(AmountsTrial::default().take(&list, amount), place.is_some());
                    assert_eq!(list.take(amount), place.is_some());
                }
                _ => {
                    let (lists, keep) = (1 + below(&mut state, 3), amount > 1);
                    let old = list.turn(lists, keep);
                    let returned: Vec<u64> = old.amounts().iter().copied().collect();
                    assert_eq!((old.begun(), returned), (begun as u64, whole[back..].to_vec()));
                    whole.truncate(if keep { whole.len() } else { 0 });
                    (0..lists).for_each(|_| whole.extend(&told));
                    (back, begun) = (whole.len(), whole.len());
                }
            }
            assert_eq!((list.len(), list.undrawn()), (whole.len() as u64, back as u64));
            assert_eq!((list.sum(), list.begun()), (whole.iter().sum(), begun as u64));
        }
        assert_eq!(drained(list), whole);
    }
}

/// Several changes of one command: grabs through what was undrawn into what came back, then
/// what comes back in between, and a reclaim that looks into all of it.
#[test]
fn a_trial_goes_through_the_whole_list() {
    let mut list = Amounts::repeated(&TOLD);
    list.take_first();
    list.push(4);
    let mut trial = AmountsTrial::default();
    trial.push(8);
    let firsts: Vec<_> = (0..3).map(|_| trial.take_first(&list)).collect();
    assert_eq!(firsts, [Some(1), Some(9), Some(4)]);
    assert!(!trial.take(&list, 4), "it was drawn");
    trial.push(4);
    assert!(trial.take(&list, 4));
    assert_eq!((trial.take_first(&list), trial.take_first(&list)), (Some(8), None));
    let mut trial = AmountsTrial::default();
    assert!(trial.take(&list, 4) && !trial.take(&list, 4));
    let firsts: Vec<_> = (0..3).map(|_| trial.take_first(&list)).collect();
    assert_eq!(firsts, [Some(1), Some(9), None]);
}
