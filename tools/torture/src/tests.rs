//! Tests of the checker of `make torture`: each test changes one fact of a correct history and
//! expects the message that names it.

mod keep;
mod kinds;
mod slow;
mod text;
mod waiting;

use clap::Parser;

use crate::check::Verdict;
use crate::history::{Crowning, Evidence, Kind, Limits, Promise, Row, State, Terms};
use crate::order::{Change, Order};
use crate::report::Tally;
use crate::setting::Setting;
use crate::{ends_well, Options};
use text::{assert_finds, History};

const EPOCH: u64 = 500;
const HOLD_MS: u64 = 100;
const LIMITS: Limits = Limits { limit: 1, grabs: 0, hold_ms: HOLD_MS, close_at: 0 };
const TERMS: Terms = Terms { supply: 3, limits: LIMITS, kind: Kind::Plain };

/// Two users buy; one pays, the other cancels. After a pause all remaining units are withdrawn. One
/// unit is refunded, and another user gets it, lets it expire, and pays late.
fn whole() -> History {
    let text = "
        1000 INIT 3/0/0
        1001 GRANT 2/1/0 1 HELD
        > GRAB 1: GRANTED 1 1 HELD 1101 2
        1002 GRANT 1/2/0 2 HELD
        > GRAB 2 lost=18: REPLAY 2 1 HELD 1102
        1003 CONFIRM 1/1/1 1 SOLD
        > CONFIRM 1: SOLD 1 1 0
        1004 CANCEL 2/0/1 2 CANCELLED
        > CANCEL 2: CANCELLED 2 1 0
        1005 PAUSE 2/0/1
        > PAUSE -: OK
        > GRAB 9: PAUSED
        1006 RESUME 2/0/1
        > RESUME -: OK
        1007 RESTOCK 0/0/1 r1 -2
        1007 SOLDOUT 0/0/1
        > RESTOCK r1: -2 0
        > GRAB 9: SOLDOUT 0
        1008 REFUND 1/0/0 1 REFUNDED
        1008 AVAILABLE 1/0/0
        > REFUND 1: REFUNDED 1 1 0
        > CANCEL 8: CANCELLED 0 0 0
        > GRAB 8: REPLAY 0 0 CANCELLED 0
        1009 GRANT 0/1/0 3 HELD
        1009 ALLHELD 0/1/0
        > GRAB 3: GRANTED 3 1 HELD 1109 0
        1109 EXPIRE 1/0/0 3 EXPIRED
        1109 AVAILABLE 1/0/0
        1110 RECLAIM 0/0/1 3 SOLD
        1110 SOLDOUT 0/0/1
        > CONFIRM 3: SOLD 3 1 0";
    History::of(TERMS, text)
}

#[track_caller]
fn found(part: &str, new: &str, what: &str) {
    whole().with(part, new).finds(what);
}

#[test]
fn a_history_in_which_all_is_right_passes() {
    let verdict = whole().is_right();
    assert_eq!((verdict.granted, verdict.changed), (3, 5));
    assert_eq!((verdict.granted_lost, verdict.changed_lost, verdict.doubled), (0, 0, 0));
}

#[test]
fn a_change_that_is_lost_is_found() {
    let lost = whole().with("", "> GRAB 4: GRANTED 4 1 HELD 1211 0");
    let verdict = lost.finds("LOST: was told Granted { grant: Grant { seq: 4");
    assert_eq!((verdict.granted, verdict.granted_lost), (4, 1));
    found("1101 2", "1101 1", "LOST: was told Granted { grant: Grant { seq: 1");
    let verdict = whole().with("", "> CONFIRM 2: SOLD 2 1 0").finds("LOST: was told Stands");
    assert_eq!(verdict.changed_lost, 1);
    found("", "> RESTOCK r2: 5 5", "LOST: was told Restocked");
    found("r1: -2 0", "r1: -1 0", "LOST: was told Restocked");
}

#[test]
fn what_is_doubled_is_found() {
    found("", "1111 RESTOCK 1/0/1 r1 1", "The restock r1 was made twice");
    let oversold = whole().with("", "1111 GRANT 0/1/1 4 HELD");
    assert_eq!(oversold.finds("OVERSOLD: 1 units are not there").doubled, 1);
    let again = "1111 RESTOCK 1/0/1 r2 1
        1111 AVAILABLE 1/0/1
        1112 GRANT 0/1/1 4 HELD user=u3 req=o3";
    assert_eq!(whole().with("", again).finds("DOUBLED: u3 was granted o3 twice").doubled, 1);
    let told = whole().with("", "> GRAB 4: GRANTED 3 1 HELD 1109 0");
    assert_eq!(told.finds("DOUBLED: seq 3 was given to").doubled, 1);
    found("2/1/0 1 HELD", "3/1/0 1 HELD", "The units don't add up");
    found("1/2/0 2 HELD", "1/2/0 2 HELD user=u1", "OVER THE LIMIT: u1 has");
}

#[test]
fn a_gap_in_the_outbox_is_found() {
    let mut gap = whole().evidence();
    gap.entries.remove(2);
    assert_finds(&gap, "The outbox has a gap: rev 3");
    let mut end = whole().evidence();
    end.entries.pop();
    assert_finds(&end, "STATUS is at rev");
    found("CANCEL 2/0/1", "CANCEL 2/0/1 2 CANCELLED id=other", "of another sale");
    found("1/1/1 1 SOLD", "1/1/1 1 SOLD epoch=499", "The epoch went back");
}

#[test]
fn a_sale_that_is_not_what_its_outbox_says_is_found() {
    let found = |what, spoil: fn(&mut Evidence)| {
        let mut evidence = whole().evidence();
        spoil(&mut evidence);
        assert_finds(&evidence, what);
    };
    found("WINNERS has", |sale| sale.rows[1].state = State::Sold);
    found("WINNERS has None", |sale| drop(sale.rows.pop()));
    found("the outbox None", |sale| sale.rows.push(Row { seq: 4, ..sale.rows[2].clone() }));
    found("STATUS says", |sale| sale.stock.sold += 1);
}

#[test]
fn a_state_that_can_t_follow_is_found() {
    found("1109 EXPIRE", "1108 EXPIRE", "EXPIRE can't make");
    found("1003 CONFIRM", "1101 CONFIRM", "CONFIRM can't make");
    found("1007 SOLDOUT", "1007 AVAILABLE", "AVAILABLE can't be here");
    found("1001 GRANT", "1001 PAUSE 3/0/0\n1001 GRANT", "A unit was sold during a pause");
}

/// The outbox has the grants as 1, 2, but 2 was answered before 1 was sent.
#[test]
fn a_queue_jumper_is_found() {
    let later = whole().with("> GRAB 1", "> GRAB 1 invoked=30");
    let (part, new) =
        ("> GRAB 2 lost=18: REPLAY 2 1 HELD 1102", "> GRAB 2: GRANTED 2 1 HELD 1102 1");
    later.with(part, new).finds("UNFAIR");
    // Calls at the same time may go either way.
    let earlier = whole().with("> GRAB 1", "> GRAB 1 returned=29");
    earlier.with("lost=18", "lost=18 invoked=5 returned=25").is_right();
}

#[test]
fn who_is_told_what_was_so_before_is_found() {
    found("", "> GRAB 1: REPLAY 1 1 HELD 1101", "WENT BACK: grant 1");
    found("", "> CONFIRM 1: NOGRANT 0 0 0", "WENT BACK: grant 1");
}

#[test]
fn who_is_sent_away_without_reason_is_found() {
    found("SOLDOUT 0\n", "SOLDOUT 1\n", "was told SoldOut { held: 1 }, never so");
    found("SOLDOUT 0\n", "SHORT 2\n", "was told Short { available: 2 }, never so");
    found("SOLDOUT 0\n", "PAUSED\n", "was told Paused, never so");
    found("", "> PAUSE -: OK", "was told Done, never so");
}

#[test]
fn a_fence_that_lets_through_is_found() {
    found("", "> CANCEL 3: CANCELLED 0 0 0", "is fenced off, and it was granted");
}

#[test]
fn a_change_that_nobody_asked_for_is_found() {
    found("\n        > CONFIRM 3: SOLD 3 1 0", "", "UNASKED: nobody can have caused rev 16");
    let (part, unasked) = ("GRANTED 3 1 HELD 1109 0", "UNASKED: nobody can have caused rev 12");
    found(part, "OVERLIMIT 0", unasked);
    // A library that reports no grant has none, unless an attempt had no reply.
    let library = whole().with("GRAB 3:", "GRAB 3 library unkept:").with(part, "OVERLIMIT 0");
    library.finds(unasked);
    library.with("library", "library lost=170").is_right();
}

#[test]
fn an_answer_that_no_client_should_get_is_found() {
    found("GRANTED 1 1 HELD 1101 2", "REQMISMATCH", "was answered REQMISMATCH");
    let held = "was answered Stands(Grant { seq: 1, qty: 1, state: Held";
    found("> CONFIRM 1: SOLD 1 1 0", "> CONFIRM 1: HELD 1 1 0", held);
    found("GRANTED 1 1 HELD 1101 2", "-", "never got an answer");
}

/// A second primary lacks the last change of the first one, and assigns seq 3 again.
fn failed_over() -> History {
    let text = "
        1000 INIT 3/0/0
        1001 GRANT 2/1/0 1 HELD
        > GRAB 1: GRANTED 1 1 HELD 1101 2
        1002 GRANT 1/2/0 2 HELD
        > GRAB 2: GRANTED 2 1 HELD 1102 1
        > GRAB 4: GRANTED 3 1 HELD 1103 0
        > CONFIRM 1: SOLD 1 1 0
        reign 1000 600
        1003 GRANT 0/3/0 3 HELD
        1003 ALLHELD 0/3/0
        > GRAB 3: GRANTED 3 1 HELD 1103 0
        1200 EXPIRE 1/2/0 1 EXPIRED
        1200 AVAILABLE 1/2/0
        1200 EXPIRE 2/1/0 2 EXPIRED
        1200 EXPIRE 3/0/0 3 EXPIRED";
    History { promise: Promise::AllButTheTail, ..History::of(TERMS, text) }
}

/// Epochs only increase; the second one here is not a time.
#[test]
fn an_epoch_is_of_the_reign_of_its_first_change() {
    let text = "
        1000 INIT 3/0/0
        1050 GRANT 2/1/0 1 HELD
        1120 GRANT 1/2/0 2 HELD epoch=9500
        1310 GRANT 0/3/0 3 HELD epoch=9501";
    let mut sale = History::of(TERMS, text).evidence();
    let crowning = |from_ms| Crowning { began: from_ms, from_ms };
    // The third primary made no change, and the second one's first change came late.
    let crownings = [990, 1_100, 1_200, 1_300].map(crowning);
    sale.reigns = Crowning::reigns(&crownings, &sale.entries);
    let epochs: Vec<u64> = sale.reigns.iter().map(|reign| reign.epoch_from).collect();
    assert_eq!(epochs, [EPOCH, 9_500, 9_501, 9_501]);
    assert_eq!([EPOCH, 9_500, 9_501].map(|epoch| sale.reign_of(epoch)), [0, 1, 3]);
}

#[test]
fn a_tail_may_be_lost_where_nothing_is_promised() {
    let verdict = failed_over().is_right();
    assert_eq!((verdict.granted, verdict.granted_lost), (4, 1));
    assert_eq!((verdict.changed, verdict.changed_lost), (1, 1));
    let promised = History { promise: Promise::Everything, ..failed_over() };
    let lost = promised.finds("LOST: was told").violations;
    assert_eq!(lost.iter().filter(|what| what.contains("LOST: was told")).count(), 2);
    // A change without a confirmed WAIT is not promised.
    promised.with("GRAB 4", "GRAB 4 unkept").with("CONFIRM 1", "CONFIRM 1 unkept").is_right();
}

/// The next primary assigns this seq again, to this user and REQ: the first grant is lost.
#[test]
fn a_grant_that_was_lost_is_not_the_one_that_was_made_again() {
    let verdict = failed_over().with("GRAB 4", "GRAB 4 user=u3 req=o3").is_right();
    assert_eq!((verdict.granted, verdict.granted_lost), (4, 1));
}

#[test]
fn what_is_lost_before_something_that_is_there_is_no_tail() {
    let early = failed_over().with("GRAB 4", "GRAB 4 invoked=12 returned=15");
    early.finds("LOST FROM THE MIDDLE: rev 3");
}

#[test]
fn an_order_of_changes_is_told_from_a_turned_one() {
    let change = |rev, invoked, returned| Change { rev, invoked, returned, reign: None };
    let turned = |all: &[Change]| Order::of(all.to_vec()).turned();
    assert_eq!(turned(&[]), None);
    assert_eq!(turned(&[change(1, 0, 1), change(2, 2, 3), change(3, 1, 9)]), None);
    assert_eq!(turned(&[change(7, 0, 5), change(7, 6, 9)]), None, "the same change");
    let (late, early) = (change(1, 6, 9), change(2, 0, 5));
    assert_eq!(turned(&[early, late]), Some((early, late)));
    let between = [change(1, 6, 9), change(2, 7, 9), change(2, 0, 5)];
    assert_eq!(turned(&between), Some((between[2], between[0])));
}

#[test]
fn a_call_saw_nothing_older_than_what_was_answered_before_it() {
    let change = |rev, invoked, returned| Change { rev, invoked, returned, reign: None };
    let order = Order::of(vec![change(1, 0, 3), change(4, 5, 6), change(9, 20, 25)]);
    assert_eq!(order.between(1, 2), (0, 3), "the first runs, the second is to come");
    assert_eq!(order.between(4, 4), (1, 3));
    assert_eq!(order.between(7, 10), (4, 8));
    assert_eq!(order.between(7, 21), (4, u64::MAX));
    assert_eq!(order.between(26, 30), (9, u64::MAX));
}

#[test]
fn a_long_run_against_advice_must_lose_something() {
    let ends = |seconds, granted_lost| {
        let words = ["torture", "--only", "against-advice", "--seconds", seconds];
        let verdict = Verdict { granted_lost, ..Verdict::default() };
        let tally = Tally { verdict, ..Tally::default() };
        ends_well(&Options::parse_from(words), &[(Setting::AgainstAdvice, tally)])
    };
    assert_eq!([ends("60", 0), ends("60", 1), ends("30", 0)], [false, true, true]);
}
