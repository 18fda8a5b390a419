//! Tests of the checker with numbered units.

use super::*;
use crate::history::Keeper;

/// Adds a GRANT with its answer.
fn sell(book: &mut Book, available: u64, seq: u64, units: &[u64]) {
    let (qty, state) = (units.len() as u64, State::Sold);
    let t = 1_000 + seq;
    book.move_units("GRANT", t, [available, 0, 5 - available], seq, (qty, state));
    book.0.rows[seq as usize - 1].units = units.to_vec();
    book.0.entries.last_mut().unwrap().grant = book.0.rows.last().cloned();
    let units = units.to_vec();
    book.ask(Deed::Grab, seq, Answer::Granted { seq, qty, state, deadline: 0, available, units });
}

/// Two users buy; a third one gets the units that the first one returns.
fn hall(second: &[u64], third: &[u64]) -> Book {
    let limits = Limits { limit: 0, hold_ms: 0, ..LIMITS };
    let mut book = Book::of(Terms { supply: 5, limits, kind: Kind::Numbered });
    book.tell("INIT", 1_000, [5, 0, 0]);
    sell(&mut book, 3, 1, &[2, 4]);
    sell(&mut book, 2, 2, second);
    book.move_units("REFUND", 1_002, [4, 0, 1], 1, (2, State::Refunded));
    let (state, deadline) = (State::Refunded, 0);
    book.ask(Deed::Refund, 1, Answer::Stands { seq: 1, qty: 2, state, deadline });
    sell(&mut book, 1, 3, third);
    book
}

#[test]
fn each_seat_is_one_grants() {
    let whole = hall(&[1], &[3, 4, 5]).check();
    assert_eq!((whole.violations, whole.granted, whole.doubled), (vec![], 3, 0));
    for (second, third) in [([4], [3, 4, 5]), ([1], [1, 3, 4])] {
        let book = hall(&second, &third);
        assert_finds(&book, "DOUBLED: unit ");
        assert_eq!(book.check().doubled, 1);
    }
}

#[test]
fn who_is_told_another_seat_is_found() {
    let mut book = hall(&[1], &[3, 4, 5]);
    if let Answer::Granted { units, .. } = &mut book.answer(1).answer {
        *units = vec![5];
    }
    assert_finds(&book, "LOST: was told Granted { seq: 2");
}

#[test]
fn a_grant_has_as_many_numbers_as_units() {
    let mut book = hall(&[1], &[3, 4, 5]);
    book.0.entries[2].grant.as_mut().unwrap().units.push(5);
    assert_finds(&book, "1 units have the numbers [1, 5]");
}

#[test]
fn who_gives_a_seat_back_keeps_the_others() {
    let keep = |units: [u64; 1]| {
        let mut book = hall(&[1], &[3, 4, 5]);
        book.tell("TRIM", 1_004, [3, 0, 2]);
        let row = &mut book.0.rows[2];
        (row.qty, row.units) = (1, units.to_vec());
        let entry = book.0.entries.last_mut().unwrap();
        (entry.grant, entry.returned) = (Some(row.clone()), 2);
        let answer = Answer::Stands { seq: 3, qty: 1, state: State::Sold, deadline: 0 };
        book.ask(Deed::Keep(Keeper::Refund, 1), 3, answer);
        book
    };
    assert_right(&keep([4]));
    assert_finds(&keep([2]), "The grant was another one");
}
