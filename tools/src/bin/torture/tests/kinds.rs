//! Tests of the checker with red packets, rounds, ALTER, imports and MGRAB.

use super::*;
use crate::check::check_together;
use crate::draws::Draw;

/// A sale with drawn amounts: each grab gets one of these, and none is returned.
fn drawn(draw: Draw, supply: u64, amounts: &[u64]) -> Book {
    let limits = Limits { limit: 0, hold_ms: 0, ..LIMITS };
    let mut book = Book::of(Terms { supply, limits, kind: Kind::Drawn(draw) });
    book.tell("INIT", 1_000, [supply, 0, 0]);
    let mut sold = 0;
    for (seq, qty) in (1..).zip(amounts.iter().copied()) {
        sold += qty;
        let available = supply - sold;
        book.move_units("GRANT", 1_001, [available, 0, sold], seq, (qty, State::Sold));
        let state = State::Sold;
        book.ask(
            Deed::Grab,
            seq,
            Answer::Granted { seq, qty, state, deadline: 0, available, units: vec![] },
        );
        if available == 0 {
            book.tell("SOLDOUT", 1_001, [0, 0, sold]);
        }
    }
    book
}

#[test]
fn all_packets_come_to_the_total() {
    let packets = |amounts: &[u64]| drawn(Draw::Packets { packets: 3, min: 2 }, 12, amounts);
    assert_right(&packets(&[5, 3, 4]));
    assert_finds(&packets(&[5, 3, 3]), "The amount 3 can't be drawn now");
    assert_finds(&packets(&[1, 7, 4]), "The amount 1 can't be drawn now");
    assert_finds(&packets(&[9]), "The amount 9 can't be drawn now");
    assert_finds(&packets(&[8, 3]), "What is left can't be drawn");
    assert_finds(&packets(&[4, 4, 2, 2]), "can't be drawn now");
    assert_right(&drawn(Draw::Equal { packets: 3 }, 11, &[4, 4, 3]));
    assert_finds(&drawn(Draw::Equal { packets: 3 }, 11, &[5]), "The amount 5 can't");
}

#[test]
fn a_list_is_drawn_in_order() {
    let list = |amounts: &[u64]| drawn(Draw::List(vec![3, 1, 2]), 6, amounts);
    assert_right(&list(&[3, 1, 2]));
    assert_finds(&list(&[1, 3, 2]), "The amount 1 can't be drawn now");
    let mut book = list(&[3, 1]);
    book.move_to("REFUND", 1_002, [3, 0, 3], 2, State::Refunded);
    book.ask(Deed::Refund, 2, stands(2, State::Refunded));
    assert_right(&book);
    book.move_units("GRANT", 1_003, [2, 0, 4], 3, (1, State::Sold));
    assert_finds(&book, "The amount 1 can't be drawn now");
}

#[test]
fn a_budget_is_not_exceeded() {
    let uniform = |amounts: &[u64]| drawn(Draw::Uniform { low: 2, high: 5 }, 9, amounts);
    assert_right(&uniform(&[5, 3, 1]));
    assert_finds(&uniform(&[1]), "The amount 1 can't be drawn now");
    assert_finds(&uniform(&[5, 4, 0]), "The amount 0 can't be drawn now");
    assert_finds(&uniform(&[6]), "The amount 6 can't be drawn now");
    let mut book = uniform(&[5]);
    book.move_units("GRANT", 1_002, [0, 0, 10], 2, (5, State::Sold));
    assert_finds(&book, "OVERSOLD: 5 units are not there");
}

/// One of three units is sold, and the others are withdrawn. The database has two more orders. Then
/// one order is returned, and a restock covers the other.
fn imported() -> Book {
    let mut book = Book::new();
    book.tell("INIT", 1_000, [3, 0, 0]);
    book.tell("RESTOCK", 1_001, [1, 0, 0]).restock = Some(("r1".into(), -2));
    book.ask(Deed::Restock, 1, Answer::Restocked { applied: -2, available: 1 });
    book.move_to("GRANT", 1_002, [0, 1, 0], 1, State::Held);
    book.tell("ALLHELD", 1_002, [0, 1, 0]);
    book.ask(Deed::Grab, 1, granted(1, 1_002, 0));
    book.move_units("IMPORT", 1_003, [0, 1, 2], 2, (2, State::Sold));
    let (state, deadline, available) = (State::Sold, 0, 0);
    book.ask(
        Deed::Import,
        2,
        Answer::Granted { seq: 2, qty: 2, state, deadline, available, units: vec![] },
    );
    book.move_to("CANCEL", 1_004, [0, 0, 2], 1, State::Cancelled);
    book.tell("SOLDOUT", 1_004, [0, 0, 2]);
    book.ask(Deed::Cancel, 1, stands(1, State::Cancelled));
    book.tell("RESTOCK", 1_005, [2, 0, 2]).restock = Some(("r2".into(), 3));
    book.tell("AVAILABLE", 1_005, [2, 0, 2]);
    book.ask(Deed::Restock, 2, Answer::Restocked { applied: 3, available: 2 });
    book.move_to("IMPORT", 1_006, [1, 0, 3], 1, State::Sold);
    book.ask(Deed::Import, 1, Answer::Replay { seq: 1, qty: 1, state: State::Sold, deadline: 0 });
    book
}

#[test]
fn an_import_goes_beyond_the_supply_and_is_paid_off() {
    assert_right(&imported());
    let mut book = imported();
    book.0.deficit = 1;
    assert_finds(&book, "STATUS has a deficit of 1, the outbox 0");
    // Missing units of an import become a deficit; returned units reduce it.
    let import = |book: &Book| book.0.entries.iter().position(|e| e.event == "IMPORT").unwrap();
    let cancel = |book: &Book| book.0.entries.iter().position(|e| e.event == "CANCEL").unwrap();
    for (at, supply, available) in [(import(&book), 1, 0), (cancel(&book), 3, 1)] {
        let mut book = imported();
        let stock = &mut book.0.entries[at].stock;
        (stock.supply, stock.available) = (supply, available);
        assert_finds(&book, "The units don't add up");
    }
}

#[test]
fn an_import_is_answered_as_it_is() {
    let mut book = imported();
    book.0.ops.pop();
    assert_finds(&book, "UNASKED: nobody can have caused");
    let mut book = imported();
    book.ask(Deed::Import, 3, Answer::Replay { seq: 3, qty: 1, state: State::Sold, deadline: 0 });
    assert_finds(&book, "LOST: was told Replay { seq: 3");
    let mut book = imported();
    book.ask(Deed::Import, 3, Answer::Short { available: 0 });
    assert_finds(&book, "was told Short { available: 0 }, never so");
    let mut book = imported();
    book.ask(
        Deed::Import,
        1,
        Answer::Replay { seq: 1, qty: 1, state: State::Cancelled, deadline: 0 },
    );
    assert_finds(&book, "was answered Replay { seq: 1, qty: 1, state: Cancelled");
}

/// LIMIT changes from 1 to 2, and one user takes two units.
fn altered() -> Book {
    let mut book = Book::new();
    book.tell("INIT", 1_000, [3, 0, 0]);
    book.tell("ALTER", 1_001, [3, 0, 0]).limits = Some(Limits { limit: 2, ..LIMITS });
    book.ask(Deed::Alter, 2, Answer::Done);
    book.move_units("GRANT", 1_002, [1, 2, 0], 1, (2, State::Held));
    let (state, deadline) = (State::Held, 1_102);
    book.ask(
        Deed::Grab,
        1,
        Answer::Granted { seq: 1, qty: 2, state, deadline, available: 1, units: vec![] },
    );
    book
}

#[test]
fn the_limit_in_force_counts() {
    assert_right(&altered());
    let mut book = altered();
    book.tell("ALTER", 1_003, [1, 2, 0]).limits = Some(LIMITS);
    book.ask(Deed::Alter, 1, Answer::Done);
    assert_right(&book);
    book.move_to("GRANT", 1_004, [0, 3, 0], 2, State::Held);
    book.0.entries.last_mut().unwrap().grant.as_mut().unwrap().user = "u1".into();
    assert_finds(&book, "OVER THE LIMIT: u1 has");
}

#[test]
fn an_alteration_that_is_lost_or_unasked_is_found() {
    let mut book = altered();
    book.ask(Deed::Alter, 7, Answer::Done);
    assert_finds(&book, "was told Done, never so");
    let mut book = altered();
    book.0.ops.remove(0);
    assert_finds(&book, "UNASKED: nobody altered it to LIMIT 2");
    let mut book = altered();
    book.0.entries[2].grant.as_mut().unwrap().deadline += 1;
    assert_finds(&book, "The deadline should be 1102");
}

/// Rounds of 1000 ms, open for 500 ms, two units each. Round 1 sells one unit, which is refunded in
/// round 3. Nothing occurs in round 2.
fn rounds() -> Book {
    let kind = Kind::Rounds { every_ms: 1_000, lasts_ms: 500 };
    let mut book = Book::of(Terms { supply: 2, limits: Limits { hold_ms: 0, ..LIMITS }, kind });
    let (state, deadline) = (State::Sold, 0);
    let sold =
        |seq, available| Answer::Granted { seq, qty: 1, state, deadline, available, units: vec![] };
    book.1 = 1;
    book.tell("INIT", 1_000, [2, 0, 0]);
    book.move_to("GRANT", 1_001, [1, 0, 1], 1, State::Sold);
    book.ask(Deed::Grab, 1, sold(1, 1));
    book.ask(Deed::Grab, 9, Answer::NotOpen);
    book.1 = 3;
    book.tell("ROUND", 3_000, [2, 0, 0]).round = Some(3);
    for seq in [2, 3] {
        book.move_to("GRANT", 3_001, [3 - seq, 0, seq - 1], seq, State::Sold);
        if seq == 3 {
            book.tell("SOLDOUT", 3_001, [0, 0, 2]);
        }
        book.ask(Deed::Grab, seq, sold(seq, 3 - seq));
        if seq == 2 {
            // The numbers are those of round 1.
            book.move_to("REFUND", 3_001, [2, 0, 0], 1, State::Refunded);
            book.ask(Deed::Refund, 1, stands(1, State::Refunded));
        }
    }
    book
}

#[test]
fn each_round_keeps_to_its_supply() {
    assert_right(&rounds());
    let mut book = rounds();
    book.move_to("GRANT", 3_003, [0, 0, 3], 4, State::Sold);
    assert_finds(&book, "OVERSOLD: 1 units are not there");
    // Units returned in an older round are not added to the current one.
    let mut book = rounds();
    book.0.entries[4].stock = Stock { supply: 2, available: 1, held: 0, sold: 1 };
    assert_finds(&book, "The units don't add up");
    let mut book = rounds();
    book.0.entries[2].stock.supply = 3;
    assert_finds(&book, "The units don't add up");
}

#[test]
fn a_round_that_comes_at_the_wrong_time_is_found() {
    let mut book = rounds();
    book.0.entries[2].round = Some(2);
    assert_finds(&book, "ROUND can't be here");
    let mut book = rounds();
    book.0.entries[2].t = 2_999;
    assert_finds(&book, "ROUND can't be here");
    let mut book = rounds();
    book.0.entries[1].t = 1_500;
    assert_finds(&book, "when the round 1 was not open");
    let mut book = rounds();
    book.0.entries[3].grant.as_mut().unwrap().round = 1;
    assert_finds(&book, "A unit of another round was sold");
    let mut book = rounds();
    book.0.terms.kind = Kind::Rounds { every_ms: 1_000, lasts_ms: 1_000 };
    assert_finds(&book, "was told NotOpen, never so");
}

#[test]
fn a_request_is_known_as_long_as_its_grant_is_kept() {
    let again = |round: u64| {
        let mut book = rounds();
        book.1 = round;
        let t = round * 1_000;
        book.tell("ROUND", t, [2, 0, 0]).round = Some(round);
        book.tell("AVAILABLE", t, [2, 0, 0]);
        book
    };
    let take = |book: &mut Book, t| {
        book.move_to("GRANT", t, [1, 0, 1], 4, State::Sold);
        for row in [book.0.rows.last_mut(), book.0.entries.last_mut().unwrap().grant.as_mut()] {
            let row = row.unwrap();
            (row.user, row.req) = ("u2".into(), "o2".into());
        }
        let (state, deadline) = (State::Sold, 0);
        let answer =
            Answer::Granted { seq: 4, qty: 1, state, deadline, available: 1, units: vec![] };
        book.ask(Deed::Grab, 2, answer);
    };
    let mut book = again(4);
    take(&mut book, 4_001);
    assert_finds(&book, "DOUBLED: u2 was granted o2 twice");
    let mut book = again(4);
    book.0.rows.remove(0);
    assert_right(&book);
    book.0.rows.insert(0, book.0.rows[0].clone());
    book.1 = 5;
    book.tell("ROUND", 5_000, [2, 0, 0]).round = Some(5);
    take(&mut book, 5_001);
    book.0.rows.drain(..3);
    assert_right(&book);
}

#[test]
fn an_order_of_several_sales_is_all_or_nothing() {
    let sale = |is_granted: bool| {
        let mut book = Book::new();
        book.tell("INIT", 1_000, [3, 0, 0]);
        if is_granted {
            book.move_to("GRANT", 1_001, [2, 1, 0], 1, State::Held);
        }
        book.ask(Deed::Mgrab, 1, granted(1, 1_001, 2));
        book
    };
    let together = |books: [Book; 3]| check_together(&books.map(|book| book.0));
    assert_eq!(together([sale(true), sale(true), sale(true)]), Vec::<String>::new());
    assert_eq!(together([sale(false), sale(false), sale(false)]), Vec::<String>::new());
    let torn = together([sale(true), sale(false), sale(true)]);
    assert_eq!(torn, ["TORN: the MGRAB o1 of u1 was granted in 2 of 3 sales."]);
    assert_right(&sale(true));
    let mut book = sale(true);
    book.answer(0).answer = Answer::Elsewhere;
    assert_finds(&book, "UNASKED: nobody can have caused");
    book.0.ops[0].deed = Deed::Grab;
    assert_finds(&book, "was answered Elsewhere");
}
