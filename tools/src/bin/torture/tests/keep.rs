//! Tests of the checker with orders that are returned in part.

use super::*;
use crate::history::Keeper;

#[track_caller]
fn assert_finds(sentence: &str, spoil: impl FnOnce(&mut Book)) {
    let mut book = kept();
    spoil(&mut book);
    super::assert_finds(&book, sentence);
}

/// Adds an entry after which a grant has this many units, with this many returned.
fn leave(
    book: &mut Book,
    event: &str,
    t: u64,
    numbers: [u64; 3],
    seq: usize,
    (qty, returned, state): (u64, u64, State),
) {
    book.tell(event, t, numbers);
    let row = &mut book.0.rows[seq - 1];
    (row.qty, row.state) = (qty, state);
    row.deadline = if state == State::Held { row.deadline } else { 0 };
    let entry = book.0.entries.last_mut().unwrap();
    (entry.grant, entry.returned) = (Some(row.clone()), returned);
}

/// Adds a call of the first user for an order.
fn ask(book: &mut Book, deed: Deed, order: u64, answer: Answer) {
    book.ask(deed, order, answer).user = "u1".into();
}

fn sold(seq: u64, qty: u64) -> Answer {
    Answer::Stands { seq, qty, state: State::Sold, deadline: 0 }
}

fn held(seq: u64, qty: u64, deadline: u64) -> Answer {
    Answer::Stands { seq, qty, state: State::Held, deadline }
}

/// Adds a grant and its answer.
fn grant(book: &mut Book, t: u64, numbers: [u64; 3], (seq, qty): (u64, u64)) {
    book.move_units("GRANT", t, numbers, seq, (qty, State::Held));
    let rows = [book.0.rows.last_mut(), book.0.entries.last_mut().unwrap().grant.as_mut()];
    rows.into_iter().for_each(|row| row.unwrap().user = "u1".into());
    let (state, deadline, available) = (State::Held, t + HOLD_MS, numbers[0]);
    let units = vec![];
    ask(book, Deed::Grab, seq, Answer::Granted { seq, qty, state, deadline, available, units });
}

/// The first order shrinks from four units to one, and the returned units are granted again. The
/// second order returns one unit, which another user gets. The import of all three units causes a
/// deficit of one.
fn kept() -> Book {
    let limits = Limits { limit: 5, ..LIMITS };
    let mut book = Book::of(Terms { supply: 4, limits, kind: Kind::Plain });
    book.tell("INIT", 1_000, [4, 0, 0]);
    grant(&mut book, 1_001, [0, 4, 0], (1, 4));
    leave(&mut book, "TRIM", 1_002, [1, 3, 0], 1, (3, 1, State::Held));
    ask(&mut book, Deed::Keep(Keeper::Cancel, 3), 1, held(1, 3, 1_101));
    ask(&mut book, Deed::Keep(Keeper::Cancel, 4), 1, held(1, 3, 1_101));
    leave(&mut book, "CONFIRM", 1_003, [2, 0, 2], 1, (2, 1, State::Sold));
    ask(&mut book, Deed::Keep(Keeper::Confirm, 2), 1, sold(1, 2));
    ask(&mut book, Deed::Keep(Keeper::Confirm, 1), 1, sold(1, 2));
    leave(&mut book, "TRIM", 1_004, [3, 0, 1], 1, (1, 1, State::Sold));
    ask(&mut book, Deed::Keep(Keeper::Refund, 1), 1, sold(1, 1));
    grant(&mut book, 1_005, [0, 3, 1], (2, 3));
    leave(&mut book, "TRIM", 1_006, [1, 2, 1], 2, (2, 1, State::Held));
    ask(&mut book, Deed::Keep(Keeper::Cancel, 2), 2, held(2, 2, 1_105));
    grant(&mut book, 1_007, [0, 3, 1], (3, 1));
    leave(&mut book, "IMPORT", 1_008, [0, 1, 4], 2, (3, 0, State::Sold));
    let (state, deadline) = (State::Sold, 0);
    ask(&mut book, Deed::Import, 2, Answer::Replay { seq: 2, qty: 3, state, deadline });
    leave(&mut book, "TRIM", 1_009, [0, 1, 3], 2, (2, 1, State::Sold));
    ask(&mut book, Deed::Keep(Keeper::Refund, 2), 2, sold(2, 2));
    book
}

const TRIM: usize = 2;
const CONFIRM: usize = 3;
const IMPORT: usize = 8;
const CANCEL_3: usize = 1;
const CONFIRM_2: usize = 3;

#[test]
fn an_order_that_shrinks_passes() {
    let verdict = kept().check();
    assert_eq!(verdict.violations, Vec::<String>::new());
    assert_eq!((verdict.granted, verdict.changed), (4, 7));
    // KEEP without a grant replies that, and creates no fence.
    let mut book = kept();
    ask(&mut book, Deed::Keep(Keeper::Cancel, 1), 9, stands(0, State::NoGrant));
    assert_right(&book);
}

#[test]
fn units_that_come_back_wrongly_are_found() {
    assert_finds("The units don't add up", |book| {
        let stock = &mut book.0.entries[TRIM].stock;
        (stock.supply, stock.available) = (3, 0);
    });
    assert_finds("The grant was another one", |book| book.0.entries[TRIM].returned = 0);
    assert_finds("The grant was another one", |book| book.0.entries[CONFIRM].returned = 2);
    assert_finds("TRIM can't give 0 units back", |book| {
        leave(book, "TRIM", 1_010, [0, 1, 3], 2, (2, 0, State::Sold));
    });
    assert_finds("TRIM can't make", |book| book.0.entries[TRIM].t = 1_101);
    assert_finds("TRIM can't give 2 units back", |book| {
        leave(book, "TRIM", 1_010, [2, 1, 1], 2, (0, 2, State::Sold));
    });
    // The import has all units of the grant; missing ones become a deficit.
    assert_finds("The grant was another one", |book| {
        book.0.entries[IMPORT].grant.as_mut().unwrap().qty = 2;
    });
    assert_finds("STATUS has a deficit of 1, the outbox 0", |book| book.0.deficit = 1);
    assert_finds("OVER THE LIMIT: u1 has Live { units: 4", |book| {
        book.0.entries[0].limits = {
            book.0.terms.limits.limit = 3;
            Some(book.0.terms.limits)
        }
    });
}

#[test]
fn a_part_that_nobody_gave_back_is_found() {
    for deed in [Deed::Cancel, Deed::Keep(Keeper::Refund, 3), Deed::Keep(Keeper::Confirm, 3)] {
        assert_finds("UNASKED: nobody can have caused rev 3 (TRIM", |book| {
            book.0.ops[CANCEL_3].deed = deed;
        });
    }
    assert_finds("UNASKED: nobody can have caused rev 4 (CONFIRM", |book| {
        book.0.ops[CONFIRM_2].deed = Deed::Confirm;
    });
    assert_finds("UNASKED: nobody can have caused rev 3 (TRIM", |book| {
        book.0.ops[CANCEL_3].deed = Deed::Keep(Keeper::Cancel, 5);
    });
}

#[test]
fn who_is_told_of_more_than_is_kept_is_found() {
    assert_finds("was answered Stands { seq: 1, qty: 3, state: Held", |book| {
        book.0.ops[CANCEL_3].deed = Deed::Keep(Keeper::Cancel, 2);
    });
    assert_finds("WENT BACK: grant 1", |book| {
        ask(book, Deed::Keep(Keeper::Cancel, 4), 1, held(1, 4, 1_101));
    });
    assert_finds("LOST: was told Stands { seq: 2, qty: 1", |book| {
        ask(book, Deed::Keep(Keeper::Refund, 1), 2, sold(2, 1));
    });
    assert_finds("was answered Stands { seq: 0, qty: 0, state: Cancelled", |book| {
        ask(book, Deed::Keep(Keeper::Cancel, 1), 9, stands(0, State::Cancelled));
    });
}

/// Either of two equal calls may have returned the part, so neither must be the later one.
#[test]
fn of_two_that_give_the_same_back_either_may_have() {
    let mut book = kept();
    ask(&mut book, Deed::Keep(Keeper::Refund, 2), 2, sold(2, 2));
    ask(&mut book, Deed::Keep(Keeper::Confirm, 2), 1, sold(1, 1));
    assert_right(&book);
}
