//! Tests of the checker with orders that are returned in part.

use super::*;

/// The first order shrinks from four units to one, and the returned units are granted again. The
/// second order returns one unit, which another order gets. The import of all three units causes a
/// deficit of one.
fn kept() -> History {
    let text = "
        1000 INIT 4/0/0
        1001 GRANT 0/4/0 1 HELD qty=4
        > GRAB 1: GRANTED 1 4 HELD 1101 0
        1002 TRIM 1/3/0 1 HELD qty=3 returned=1
        > CANCEL 1 KEEP 3: HELD 1 3 1101
        > CANCEL 1 KEEP 4: HELD 1 3 1101
        1003 CONFIRM 2/0/2 1 SOLD qty=2 returned=1
        > CONFIRM 1 KEEP 2: SOLD 1 2 0
        > CONFIRM 1 KEEP 1: SOLD 1 2 0
        1004 TRIM 3/0/1 1 SOLD qty=1 returned=1
        > REFUND 1 KEEP 1: SOLD 1 1 0
        1005 GRANT 0/3/1 2 HELD qty=3 user=u1
        > GRAB 2 user=u1: GRANTED 2 3 HELD 1105 0
        1006 TRIM 1/2/1 2 HELD qty=2 returned=1
        > CANCEL 2 KEEP 2 user=u1: HELD 2 2 1105
        1007 GRANT 0/3/1 3 HELD user=u1
        > GRAB 3 user=u1: GRANTED 3 1 HELD 1107 0
        1008 IMPORT 0/1/4 2 SOLD qty=3
        > IMPORT 2 user=u1: REPLAY 2 3 SOLD 0
        1009 TRIM 0/1/3 2 SOLD qty=2 returned=1
        > REFUND 2 KEEP 2 user=u1: SOLD 2 2 0";
    History::of(Terms { supply: 4, limits: Limits { limit: 5, ..LIMITS }, kind: Kind::Plain }, text)
}

#[track_caller]
fn found(part: &str, new: &str, what: &str) {
    kept().with(part, new).finds(what);
}

#[test]
fn an_order_that_shrinks_passes() {
    let verdict = kept().is_right();
    assert_eq!((verdict.granted, verdict.changed), (4, 7));
    // KEEP without a grant replies that, and creates no fence.
    kept().with("", "> CANCEL 9 KEEP 1 user=u1: NOGRANT 0 0 0").is_right();
    // Either of two equal calls may have returned the part, so neither must be the later one.
    let again = "> REFUND 2 KEEP 2 user=u1: SOLD 2 2 0\n> CONFIRM 1 KEEP 2: SOLD 1 1 0";
    kept().with("", again).is_right();
}

#[test]
fn units_that_come_back_wrongly_are_found() {
    found("TRIM 1/3/0", "TRIM 0/3/0", "The units don't add up");
    found("1 HELD qty=3 returned=1", "1 HELD qty=3", "The grant was another one");
    found("1 SOLD qty=2 returned=1", "1 SOLD qty=2 returned=2", "The grant was another one");
    found("", "1010 TRIM 0/1/3 2 SOLD", "TRIM can't give 0 units back");
    found("1002 TRIM", "1101 TRIM", "TRIM can't make");
    found("", "1010 TRIM 2/1/1 2 SOLD qty=0 returned=2", "TRIM can't give 2 units back");
    // The import has all units of the grant; missing ones become a deficit.
    found("2 SOLD qty=3", "2 SOLD qty=2", "The grant was another one");
    let mut strict = kept();
    strict.terms.limits.limit = 3;
    strict.finds("OVER THE LIMIT: u1 has Live { units: 4");
}

#[test]
fn a_part_that_nobody_gave_back_is_found() {
    let unasked = "UNASKED: nobody can have caused rev 3 (TRIM";
    for other in ["CANCEL 1:", "REFUND 1 KEEP 3:", "CONFIRM 1 KEEP 3:", "CANCEL 1 KEEP 5:"] {
        found("CANCEL 1 KEEP 3:", other, unasked);
    }
    found("CONFIRM 1 KEEP 2", "CONFIRM 1", "UNASKED: nobody can have caused rev 4 (CONFIRM");
}

#[test]
fn who_is_told_of_more_than_is_kept_is_found() {
    let held = "was answered Stands(Grant { seq: 1, qty: 3, state: Held";
    found("CANCEL 1 KEEP 3", "CANCEL 1 KEEP 2", held);
    found("", "> CANCEL 1 KEEP 4: HELD 1 4 1101", "WENT BACK: grant 1");
    found("", "> REFUND 2 KEEP 1 user=u1: SOLD 2 1 0", "LOST: was told Stands(Grant { seq: 2");
    let fence = "was answered Stands(Grant { seq: 0, qty: 0, state: Cancelled";
    found("", "> CANCEL 9 KEEP 1: CANCELLED 0 0 0", fence);
}
