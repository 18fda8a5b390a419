//! Tests of the checker with a waiting list.

use super::*;
use crate::history::List;

const LIST: List = List { max: 2, offer_ms: HOLD_MS, overtake: 1 };

/// One unit: the first user cancels, the second one waited and pays, the third one leaves.
fn listed(list: List) -> History {
    let text = "
        1000 INIT 1/0/0
        1001 GRANT 0/1/0 1 HELD
        1001 ALLHELD 0/1/0
        > GRAB 1: GRANTED 1 1 HELD 1101 0
        1002 WAIT 0/1/0 ticket=1
        > GRAB 2: WAITING 1 0 0
        1002 WAIT 0/1/0 ticket=2
        > GRAB 3: WAITING 2 1 1
        > GRAB 9: BUSY
        > GRAB 9: SOLDOUT 1
        1005 CANCEL 1/0/0 1 CANCELLED
        1005 OFFER 0/1/0 2 HELD ticket=1
        > CANCEL 1: CANCELLED 1 1 0
        > GRAB 2: REPLAY 2 1 HELD 1105
        1006 CONFIRM 0/0/1 2 SOLD
        > CONFIRM 2: SOLD 2 1 0
        1007 LEAVE 0/0/1 ticket=2 reason=cancelled
        1007 SOLDOUT 0/0/1
        > CANCEL 3: CANCELLED 0 0 0";
    with_list(list, text)
}

fn with_list(list: List, text: &str) -> History {
    let limits = Limits { limit: 0, ..LIMITS };
    History::of(Terms { supply: 1, limits, kind: Kind::Listed(list) }, text)
}

#[test]
fn a_list_in_which_all_is_right_passes() {
    let verdict = listed(LIST).is_right();
    assert_eq!((verdict.granted, verdict.changed), (2, 4));
}

/// RESTOCK replies the available units after its offers.
#[test]
fn what_a_restock_says_is_left_counts_its_offers() {
    let text = "
        1000 INIT 1/0/0
        1001 GRANT 0/1/0 1 HELD
        > GRAB 1: GRANTED 1 1 HELD 1101 0
        1002 WAIT 0/1/0 ticket=1
        > GRAB 2: WAITING 1 0 0
        1003 RESTOCK 1/1/0 r1 1
        1003 OFFER 0/2/0 2 HELD ticket=1
        > RESTOCK r1: 1 0";
    let sale = with_list(LIST, text);
    sale.is_right();
    sale.with("r1: 1 0", "r1: 1 1").is_right();
    sale.with("r1: 1 0", "r1: 1 2").finds("LOST: was told Restocked");
}

#[test]
fn an_offer_out_of_turn_or_without_an_end_is_found() {
    let jumped = listed(LIST).with("2 HELD ticket=1", "2 HELD ticket=2");
    jumped.finds("JUMPED: ticket 2 got units before ticket 1");
    let endless = listed(List { offer_ms: HOLD_MS + 1, ..LIST });
    endless.finds("ENDLESS: an offer that should end at 1106 ends at 1105");
}

/// Three units are held, and three users wait, the first one for two. Then one unit comes back.
fn come_back(overtake: u64, then: &str) -> History {
    let text = "
        1000 INIT 3/0/0
        1001 GRANT 2/1/0 1 HELD
        1001 GRANT 1/2/0 2 HELD
        1001 GRANT 0/3/0 3 HELD
        1002 WAIT 0/3/0 ticket=1 qty=2 user=u5 req=o5
        1002 WAIT 0/3/0 ticket=2 user=u6 req=o6
        1002 WAIT 0/3/0 ticket=3 user=u7 req=o7
        1003 CANCEL 1/2/0 1 CANCELLED";
    let mut sale = with_list(List { overtake, ..LIST }, text);
    sale.terms.supply = 3;
    sale.with("", then)
}

#[test]
fn each_rule_of_a_list_is_held() {
    let second = "1003 OFFER 0/3/0 4 HELD ticket=2 user=u6 req=o6\n1004 CANCEL 1/2/0 2 CANCELLED\n";
    let after_it = |then: &str| format!("{second}{then}");
    let found = |overtake, then: &str, what| drop(come_back(overtake, then).finds(what));
    found(0, second, "STARVED: ticket 1 was passed more than 0 times");
    let third = "1004 OFFER 0/3/0 5 HELD ticket=3 user=u7 req=o7";
    found(1, &after_it(third), "STARVED: ticket 1 was passed more than 1 times");
    let early = third.replace("1004 OFFER 0/3/0 5", "1003 OFFER 0/3/0 4");
    found(1, &early, "JUMPED: ticket 3 got units before ticket 2");
    found(1, "1003 GRANT 0/3/0 4 HELD", "JUMPED: a GRAB got units before ticket 2");
    found(1, "1003 GRANT 0/3/0 4 HELD user=u5", "JUMPED: a user who waits");
    let again = "1004 OFFER 0/3/0 5 HELD ticket=2 user=u6 req=o8";
    found(9, &after_it(again), "OFFER: ticket 2 does not wait any more");
    found(1, &second.replace("u6", "u8"), "The entry was another one");
    found(1, "1004 WAIT 1/2/0 ticket=5 user=u9", "ticket 5 is not the next");
    found(1, "1004 WAIT 1/2/0 ticket=4 user=u5", "A user waits twice");
    let dropped = "1004 DROPPED 1/2/0 ticket=1 qty=2 user=u5 req=o5 reason=until";
    found(1, dropped, "DROPPED without reason");
}

#[test]
fn who_waits_is_as_the_outbox_says() {
    let mut sale = listed(LIST).evidence();
    sale.waiting.push(2);
    assert_finds(&sale, "WAITERS lists [2], the outbox []");
    let unknown = listed(LIST).with("", "> GRAB 3: WAITING 7 0 0");
    unknown.finds("LOST: was told Waiting { ticket: 7, ahead: 0 }");
    listed(List { max: 3, ..LIST }).finds("was told Busy, never so");
    let fenced = listed(LIST).with("", "> CANCEL 2: CANCELLED 0 0 0");
    fenced.finds("is fenced off, and it was granted");
}

#[test]
fn whose_place_gets_worse_is_found() {
    let places = "> PLACE 3: WAITING 2 1 1\n> PLACE 3: WAITING 2 0 0\n> PLACE 3: NONE";
    let sale = listed(LIST).with("", places);
    sale.is_right();
    let worse = sale.with("", "> PLACE 3: WAITING 2 1 1");
    worse.finds("MOVED BACK: ticket 2 of u3 was told 1 ahead after 0");
    let most = listed(LIST).with("", "> PLACE 3: WAITING 2 2 2");
    most.finds("MOVED BACK: ticket 2 of u3 was told 2 ahead, 1 at most");
    // Another primary may lack lost changes.
    sale.with("", "reign 1000 501\n> PLACE 3: WAITING 2 1 1").is_right();
}
