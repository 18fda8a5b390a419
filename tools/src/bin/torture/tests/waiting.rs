//! Tests of the checker with a waiting list.

use super::*;
use crate::list::{List, Waiter};

const LIST: List = List { max: 2, offer_ms: HOLD_MS, overtake: 1 };

fn waiter(ticket: u64, reason: &str) -> Option<Waiter> {
    let [user, req] = ["u", "o"].map(|letter| format!("{letter}{}", ticket + 1));
    Some(Waiter { ticket, user, req, qty: 1, until: 0, reason: reason.into() })
}

/// One unit: the first user cancels, the second one waited and pays, the third one leaves.
fn listed(list: List) -> Book {
    let limits = Limits { limit: 0, ..LIMITS };
    let mut book = Book::of(Terms { supply: 1, limits, kind: Kind::Listed(list) });
    book.tell("INIT", 1_000, [1, 0, 0]);
    book.move_to("GRANT", 1_001, [0, 1, 0], 1, State::Held);
    book.tell("ALLHELD", 1_001, [0, 1, 0]);
    book.ask(Deed::Grab, 1, granted(1, 1_001, 0));
    for ticket in [1, 2] {
        book.tell("WAIT", 1_002, [0, 1, 0]).wait = waiter(ticket, "");
        book.ask(Deed::Grab, ticket + 1, Answer::Waiting { ticket, ahead: ticket - 1 });
    }
    book.ask(Deed::Grab, 9, Answer::Busy);
    book.ask(Deed::Grab, 9, Answer::SoldOut { held: 1 });
    book.move_to("CANCEL", 1_005, [1, 0, 0], 1, State::Cancelled);
    book.move_to("OFFER", 1_005, [0, 1, 0], 2, State::Held);
    book.0.entries.last_mut().unwrap().wait = waiter(1, "");
    book.ask(Deed::Cancel, 1, stands(1, State::Cancelled));
    let held = Answer::Replay { seq: 2, qty: 1, state: State::Held, deadline: 1_005 + HOLD_MS };
    book.ask(Deed::Grab, 2, held);
    book.move_to("CONFIRM", 1_006, [0, 0, 1], 2, State::Sold);
    book.ask(Deed::Confirm, 2, stands(2, State::Sold));
    book.tell("LEAVE", 1_007, [0, 0, 1]).wait = waiter(2, "cancelled");
    book.tell("SOLDOUT", 1_007, [0, 0, 1]);
    book.ask(Deed::Cancel, 3, stands(0, State::Cancelled));
    book
}

fn offer(book: &mut Book) -> &mut Entry {
    book.0.entries.iter_mut().find(|entry| entry.event == "OFFER").unwrap()
}

#[test]
fn a_list_in_which_all_is_right_passes() {
    let verdict = listed(LIST).check();
    assert_eq!(verdict.violations, Vec::<String>::new());
    assert_eq!((verdict.granted, verdict.changed), (2, 4));
}

/// RESTOCK replies the available units after its offers.
#[test]
fn what_a_restock_says_is_left_counts_its_offers() {
    for (left, is_right) in [(0, true), (1, true), (2, false)] {
        let limits = Limits { limit: 0, ..LIMITS };
        let mut book = Book::of(Terms { supply: 1, limits, kind: Kind::Listed(LIST) });
        book.tell("INIT", 1_000, [1, 0, 0]);
        book.move_to("GRANT", 1_001, [0, 1, 0], 1, State::Held);
        book.ask(Deed::Grab, 1, granted(1, 1_001, 0));
        book.tell("WAIT", 1_002, [0, 1, 0]).wait = waiter(1, "");
        book.ask(Deed::Grab, 2, Answer::Waiting { ticket: 1, ahead: 0 });
        book.tell("RESTOCK", 1_003, [1, 1, 0]).restock = Some(("r1".into(), 1));
        book.move_to("OFFER", 1_003, [0, 2, 0], 2, State::Held);
        book.0.entries.last_mut().unwrap().wait = waiter(1, "");
        book.ask(Deed::Restock, 1, Answer::Restocked { applied: 1, available: left });
        match is_right {
            true => assert_right(&book),
            false => drop(assert_finds(&book, "LOST: was told Restocked")),
        }
    }
}

#[test]
fn an_offer_out_of_turn_or_without_an_end_is_found() {
    let mut book = listed(LIST);
    offer(&mut book).wait = waiter(2, "");
    assert_finds(&book, "JUMPED: ticket 2 got units before ticket 1");
    let book = listed(List { offer_ms: HOLD_MS + 1, ..LIST });
    assert_finds(&book, "ENDLESS: an offer that should end at 1106 ends at 1105");
}

#[test]
fn who_waits_is_as_the_outbox_says() {
    let mut book = listed(LIST);
    book.0.waiting.push(2);
    assert_finds(&book, "WAITERS lists [2], the outbox []");
    let mut book = listed(LIST);
    book.ask(Deed::Grab, 3, Answer::Waiting { ticket: 7, ahead: 0 });
    assert_finds(&book, "LOST: was told Waiting { ticket: 7, ahead: 0 }");
    assert_finds(&listed(List { max: 3, ..LIST }), "was told Busy, never so");
}

#[test]
fn whose_place_gets_worse_is_found() {
    let told = |book: &mut Book, ahead| {
        book.ask(Deed::Place, 3, Answer::Waiting { ticket: 2, ahead });
    };
    let mut book = listed(LIST);
    [1, 0].into_iter().for_each(|ahead| told(&mut book, ahead));
    book.ask(Deed::Place, 3, Answer::Nowhere);
    assert_right(&book);
    told(&mut book, 1);
    assert_finds(&book, "MOVED BACK: ticket 2 of u3 was told 1 ahead after 0");
    let mut book = listed(LIST);
    told(&mut book, 2);
    assert_finds(&book, "MOVED BACK: ticket 2 of u3 was told 2 ahead, 1 at most");
    // Another primary may lack lost changes.
    let mut book = listed(LIST);
    told(&mut book, 0);
    book.0.reigns.push(Reign { began: 1_000, epoch_from: EPOCH + 1 });
    told(&mut book, 1);
    assert_right(&book);
}

#[test]
fn who_was_told_that_they_left_is_not_offered_anything() {
    let mut book = listed(LIST);
    book.ask(Deed::Cancel, 2, stands(0, State::Cancelled));
    assert_finds(&book, "is fenced off, and it was granted");
}
