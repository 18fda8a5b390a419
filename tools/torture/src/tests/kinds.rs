//! Tests of the checker with red packets, rounds, seats, ALTER, imports and MGRAB.

use super::*;
use crate::check::{check, check_together};
use crate::draws::Draw;

/// A sale with drawn amounts: each grab gets one of these, and none is returned.
fn drawn(draw: Draw, supply: u64, amounts: &[u64]) -> History {
    let mut text = format!("1000 INIT {supply}/0/0\n");
    let mut sold = 0;
    for (seq, qty) in (1..).zip(amounts) {
        sold += qty;
        let left = supply - sold;
        text += &format!("1001 GRANT {left}/0/{sold} {seq} SOLD qty={qty}\n");
        text += &format!("> GRAB {seq}: GRANTED {seq} {qty} SOLD 0 {left}\n");
        if left == 0 {
            text += &format!("1001 SOLDOUT 0/0/{sold}\n");
        }
    }
    let limits = Limits { limit: 0, hold_ms: 0, ..LIMITS };
    History::of(Terms { supply, limits, kind: Kind::Drawn(draw) }, &text)
}

#[test]
fn all_packets_come_to_the_total() {
    let packets = |amounts: &[u64]| drawn(Draw::Packets { packets: 3, min: 2 }, 12, amounts);
    packets(&[5, 3, 4]).is_right();
    packets(&[5, 3, 3]).finds("The amount 3 can't be drawn now");
    packets(&[1, 7, 4]).finds("The amount 1 can't be drawn now");
    packets(&[9]).finds("The amount 9 can't be drawn now");
    packets(&[8, 3]).finds("What is left can't be drawn");
    packets(&[4, 4, 2, 2]).finds("can't be drawn now");
    drawn(Draw::Equal { packets: 3 }, 11, &[4, 4, 3]).is_right();
    drawn(Draw::Equal { packets: 3 }, 11, &[5]).finds("The amount 5 can't");
}

#[test]
fn a_list_is_drawn_in_order() {
    let list = |amounts: &[u64]| drawn(Draw::List(vec![3, 1, 2]), 6, amounts);
    list(&[3, 1, 2]).is_right();
    list(&[1, 3, 2]).finds("The amount 1 can't be drawn now");
    let refunded =
        list(&[3, 1]).with("", "1002 REFUND 3/0/3 2 REFUNDED\n> REFUND 2: REFUNDED 2 1 0");
    refunded.is_right();
    refunded.with("", "1003 GRANT 2/0/4 3 SOLD").finds("The amount 1 can't be drawn now");
}

#[test]
fn a_budget_is_not_exceeded() {
    let uniform = |amounts: &[u64]| drawn(Draw::Uniform { low: 2, high: 5 }, 9, amounts);
    uniform(&[5, 3, 1]).is_right();
    uniform(&[1]).finds("The amount 1 can't be drawn now");
    uniform(&[5, 4, 0]).finds("The amount 0 can't be drawn now");
    uniform(&[6]).finds("The amount 6 can't be drawn now");
    let more = uniform(&[5]).with("", "1002 GRANT 0/0/10 2 SOLD qty=5");
    more.finds("OVERSOLD: 5 units are not there");
}

/// One of three units is sold, and the others are withdrawn. The database has two more orders. Then
/// one order is returned, and a restock covers the other.
fn imported() -> History {
    let text = "
        1000 INIT 3/0/0
        1001 RESTOCK 1/0/0 r1 -2
        > RESTOCK r1: -2 1
        1002 GRANT 0/1/0 1 HELD
        1002 ALLHELD 0/1/0
        > GRAB 1: GRANTED 1 1 HELD 1102 0
        1003 IMPORT 0/1/2 2 SOLD qty=2
        > IMPORT 2: GRANTED 2 2 SOLD 0 0
        1004 CANCEL 0/0/2 1 CANCELLED
        1004 SOLDOUT 0/0/2
        > CANCEL 1: CANCELLED 1 1 0
        1005 RESTOCK 2/0/2 r2 3
        1005 AVAILABLE 2/0/2
        > RESTOCK r2: 3 2
        1006 IMPORT 1/0/3 1 SOLD
        > IMPORT 1: REPLAY 1 1 SOLD 0";
    History::of(TERMS, text)
}

#[test]
fn an_import_goes_beyond_the_supply_and_is_paid_off() {
    imported().is_right();
    let mut owed = imported().evidence();
    owed.deficit = 1;
    assert_finds(&owed, "STATUS has a deficit of 1, the outbox 0");
    // Missing units of an import become a deficit; returned units reduce it.
    for (part, new) in [("0/1/2 2 SOLD", "0/1/2 2 SOLD supply=1"), ("0/0/2 1", "1/0/2 1")] {
        imported().with(part, new).finds("The units don't add up");
    }
}

#[test]
fn an_import_is_answered_as_it_is() {
    let found = |part, new, what| drop(imported().with(part, new).finds(what));
    found("> IMPORT 1: REPLAY 1 1 SOLD 0", "", "UNASKED: nobody can have caused");
    found("", "> IMPORT 3: REPLAY 3 1 SOLD 0", "LOST: was told Replay(Grant { seq: 3");
    found("", "> IMPORT 3: SHORT 0", "was told Short { available: 0 }, never so");
    found("", "> IMPORT 1: REPLAY 1 1 CANCELLED 0", "was answered Replay(Grant { seq: 1");
}

/// LIMIT changes from 1 to 2, and one user takes two units.
fn altered() -> History {
    let text = "
        1000 INIT 3/0/0
        1001 ALTER 3/0/0 limit=2
        > ALTER LIMIT_2: OK
        1002 GRANT 1/2/0 1 HELD qty=2
        > GRAB 1: GRANTED 1 2 HELD 1102 1";
    History::of(TERMS, text)
}

#[test]
fn the_limit_in_force_counts() {
    altered().is_right();
    let lower = altered().with("", "1003 ALTER 1/2/0 limit=1\n> ALTER LIMIT_1: OK");
    lower.is_right();
    lower.with("", "1004 GRANT 0/3/0 2 HELD user=u1").finds("OVER THE LIMIT: u1 has");
    altered().with("", "> ALTER LIMIT_7: OK").finds("was told Done, never so");
    altered().with("> ALTER LIMIT_2: OK", "").finds("UNASKED: nobody altered it to LIMIT 2");
    let late = altered().with("qty=2", "qty=2 deadline=1103");
    late.finds("The deadline should be 1102");
}

/// Rounds of 1000 ms, open for 500 ms, two units each. Round 1 sells one unit, which is refunded in
/// round 3; the numbers of that entry are those of round 1. Nothing occurs in round 2.
fn rounds() -> History {
    let text = "
        1000 INIT 2/0/0
        1001 GRANT 1/0/1 1 SOLD round=1
        > GRAB 1: GRANTED 1 1 SOLD 0 1
        > GRAB 9: NOTOPEN 500
        3000 ROUND 2/0/0 round=3
        3001 GRANT 1/0/1 2 SOLD
        > GRAB 2: GRANTED 2 1 SOLD 0 1
        3001 REFUND 2/0/0 1 REFUNDED
        > REFUND 1: REFUNDED 1 1 0
        3001 GRANT 0/0/2 3 SOLD
        3001 SOLDOUT 0/0/2
        > GRAB 3: GRANTED 3 1 SOLD 0 0";
    let (limits, kind) =
        (Limits { hold_ms: 0, ..LIMITS }, Kind::Rounds { every_ms: 1_000, lasts_ms: 500 });
    History::of(Terms { supply: 2, limits, kind }, text)
}

#[test]
fn each_round_keeps_to_its_supply_and_its_time() {
    rounds().is_right();
    let found = |part, new, what| drop(rounds().with(part, new).finds(what));
    found("", "3003 GRANT 0/0/3 4 SOLD", "OVERSOLD: 1 units are not there");
    // Units returned in an older round are not added to the current one.
    found("REFUND 2/0/0", "REFUND 1/0/1", "The units don't add up");
    found("ROUND 2/0/0", "ROUND 2/0/0 supply=3", "The units don't add up");
    found("round=3", "round=2", "ROUND can't be here");
    found("3000 ROUND", "2999 ROUND", "ROUND can't be here");
    found("1001 GRANT", "1500 GRANT", "when the round 1 was not open");
    found("1/0/1 2 SOLD", "1/0/1 2 SOLD round=1", "A unit of another round was sold");
    let mut always = rounds();
    always.terms.kind = Kind::Rounds { every_ms: 1_000, lasts_ms: 1_000 };
    always.finds("was told NotOpen, never so");
}

#[test]
fn a_request_is_known_as_long_as_its_grant_is_kept() {
    let again =
        |at| format!("{at}001 GRANT 1/0/1 4 SOLD user=u2 req=o2\n> GRAB 2: GRANTED 4 1 SOLD 0 1");
    let fourth = rounds().with("", "4000 ROUND 2/0/0 round=4\n4000 AVAILABLE 2/0/0");
    fourth.with("", &again(4)).finds("DOUBLED: u2 was granted o2 twice");
    let shown = |sale: &History, gone| {
        let mut sale = sale.evidence();
        sale.rows.drain(..gone);
        assert_eq!(check(&sale).violations, Vec::<String>::new());
    };
    shown(&fourth, 1);
    let fifth = fourth.with("", "5000 ROUND 2/0/0 round=5").with("", &again(5));
    shown(&fifth, 3);
}

#[test]
fn an_order_of_several_sales_is_all_or_nothing() {
    let sale = |grant| {
        let call = "> MGRAB 1: GRANTED 1 1 HELD 1101 2";
        History::of(TERMS, &format!("1000 INIT 3/0/0\n{grant}\n{call}"))
    };
    let (with, without) = (sale("1001 GRANT 2/1/0 1 HELD"), sale(""));
    let together = |sales: [&History; 3]| check_together(&sales.map(History::evidence));
    assert_eq!(together([&with; 3]), Vec::<String>::new());
    assert_eq!(together([&without; 3]), Vec::<String>::new());
    let torn = together([&with, &without, &with]);
    assert_eq!(torn, ["TORN: the MGRAB o1 of u1 was granted in 2 of 3 sales."]);
    with.is_right();
    let elsewhere = with.with("GRANTED 1 1 HELD 1101 2", "ELSEWHERE");
    elsewhere.finds("UNASKED: nobody can have caused");
    elsewhere.with("MGRAB", "GRAB").finds("was answered Elsewhere");
}

/// Two users buy; a third one gets the units that the first one returns.
fn hall(second: &str, third: &str) -> History {
    let text = format!(
        "1000 INIT 5/0/0
        1001 GRANT 3/0/2 1 SOLD qty=2 units=2,4
        > GRAB 1: GRANTED 1 2 SOLD 0 3 units=2,4
        1002 GRANT 2/0/3 2 SOLD units={second}
        > GRAB 2: GRANTED 2 1 SOLD 0 2 units={second}
        1002 REFUND 4/0/1 1 REFUNDED
        > REFUND 1: REFUNDED 1 2 0
        1003 GRANT 1/0/4 3 SOLD qty=3 units={third}
        > GRAB 3: GRANTED 3 3 SOLD 0 1 units={third}"
    );
    let limits = Limits { limit: 0, hold_ms: 0, ..LIMITS };
    History::of(Terms { supply: 5, limits, kind: Kind::Numbered }, &text)
}

#[test]
fn each_seat_is_one_grants() {
    let whole = hall("1", "3,4,5").is_right();
    assert_eq!((whole.granted, whole.doubled), (3, 0));
    assert_eq!(hall("4", "3,4,5").finds("DOUBLED: unit ").doubled, 1);
    assert_eq!(hall("1", "1,3,4").finds("DOUBLED: unit ").doubled, 1);
    let other = hall("1", "3,4,5").with("0 2 units=1", "0 2 units=5");
    other.finds("LOST: was told Granted { grant: Grant { seq: 2");
    let more = hall("1", "3,4,5").with("2 SOLD units=1", "2 SOLD units=1,5");
    more.finds("1 units have the numbers [1, 5]");
}

#[test]
fn who_gives_a_seat_back_keeps_the_others() {
    let keep = |unit| {
        let trim = format!("1004 TRIM 3/0/2 3 SOLD qty=1 returned=2 units={unit}");
        hall("1", "3,4,5").with("", &(trim + "\n> REFUND 3 KEEP 1: SOLD 3 1 0"))
    };
    keep(4).is_right();
    keep(2).finds("The grant was another one");
}
