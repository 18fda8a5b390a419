//! The checker must find errors: each test changes one entry of a correct history.

#![cfg(test)]

use super::*;

const OFFER_MS: u64 = 50;

/// Three waiters, for two, one and one units. Three units come back one by one.
fn list(overtake: u64) -> Turns {
    let mut turns = Turns::default();
    let terms = Some(Terms { offer_ms: OFFER_MS, overtake, close_at: 0 });
    let told = [
        Told { event: "INIT", available: 3, terms, ..Told::default() },
        Told { event: "GRANT", held: 3, qty: 3, deadline: 9, user: b"z", ..Told::default() },
        wait(1, 2),
        wait(2, 1),
        wait(3, 1),
        Told { event: "CANCEL", available: 1, held: 2, ..Told::default() },
    ];
    told.iter().for_each(|told| assert_eq!(turns.read(told), Ok(())));
    turns
}

fn id(ticket: u64) -> &'static [u8] {
    [&b"a"[..], b"b", b"c", b"d"][ticket as usize - 1]
}

fn wait(ticket: u64, qty: u64) -> Told<'static> {
    let (user, req) = (id(ticket), &b"r"[..]);
    Told { event: "WAIT", held: 3, ticket, qty, user, req, ..Told::default() }
}

fn offer(ticket: u64, qty: u64, [available, held]: [u64; 2]) -> Told<'static> {
    let (event, t, deadline) = ("OFFER", 5, 5 + OFFER_MS);
    Told { event, t, available, held, deadline, ..wait(ticket, qty) }
}

#[track_caller]
fn assert_finds(sentence: &str, overtake: u64, told: &[Told<'_>]) {
    let mut turns = list(overtake);
    let found = told.iter().try_for_each(|told| turns.read(told)).and_then(|()| turns.end());
    let found = found.err().unwrap_or_default();
    assert!(found.contains(sentence) && !found.is_empty(), "{sentence}: {found:?}");
}

#[test]
fn a_list_in_which_all_is_right_passes() {
    let mut turns = list(1);
    assert_eq!(turns.read(&offer(2, 1, [0, 3])), Ok(()), "the head is passed once");
    let back = Told { event: "CANCEL", available: 2, held: 1, ..Told::default() };
    assert_eq!(turns.read(&back), Ok(()));
    assert_eq!(turns.read(&offer(1, 2, [0, 3])), Ok(()));
    assert_eq!(turns.end(), Ok(()));
    assert_eq!(turns.waiting.keys().collect::<Vec<_>>(), [&3]);
    assert_eq!((turns.offers, turns.dropped), (2, 0));
}

#[test]
fn a_head_that_is_passed_too_often_is_found() {
    assert_finds("STARVED: ticket 1 was passed more than 0 times", 0, &[offer(2, 1, [0, 3])]);
    let again = Told { event: "CANCEL", available: 1, held: 2, ..Told::default() };
    let twice = [offer(2, 1, [0, 3]), again, offer(3, 1, [0, 3])];
    assert_finds("STARVED: ticket 1 was passed more than 1 times", 1, &twice);
}

#[test]
fn who_is_served_before_an_earlier_one_is_found() {
    assert_finds("JUMPED: ticket 3 got units before ticket 2", 1, &[offer(3, 1, [0, 3])]);
    let (event, user) = ("GRANT", &b"z"[..]);
    let grab = Told { event, available: 0, held: 3, qty: 1, deadline: 9, user, ..Told::default() };
    assert_finds("JUMPED: a GRAB got units before ticket 2", 1, &[grab]);
    assert_finds("JUMPED: a user who waits", 1, &[Told { user: b"a", ..grab }]);
    // After all other waiters a GRAB is correct, as long as the head may be passed.
    let last = Told { event: "LEAVE", available: 1, held: 2, ..wait(3, 1) };
    let but_one = Told { event: "LEAVE", available: 1, held: 2, ..wait(2, 1) };
    let all = [last, but_one, grab];
    let mut turns = list(1);
    let told = all.iter().try_for_each(|told| turns.read(told)).and_then(|()| turns.end());
    assert_eq!(told, Ok(()));
    assert_finds("STARVED: ticket 1", 0, &all);
}

#[test]
fn offers_that_do_not_end_or_come_again_are_found() {
    let mut endless = offer(2, 1, [0, 3]);
    endless.deadline = 0;
    assert_finds("ENDLESS: an offer that should end at 55 ends at 0", 1, &[endless]);
    let back = Told { event: "CANCEL", available: 1, held: 2, ..Told::default() };
    let again = [offer(2, 1, [0, 3]), back, offer(2, 1, [0, 3])];
    assert_finds("OFFER: ticket 2 does not wait any more", 9, &again);
    let mut another = offer(2, 1, [0, 3]);
    another.user = b"d";
    assert_finds("The entry was another one", 1, &[another]);
}

#[test]
fn a_list_that_is_not_in_order_is_found() {
    assert_finds("ticket 3 is not the next", 1, &[wait(3, 1)]);
    assert_finds("A user waits twice", 1, &[Told { ticket: 4, ..wait(1, 1) }]);
    let dropped = Told { event: "DROPPED", reason: "until", ..wait(1, 2) };
    assert_finds("DROPPED without reason", 1, &[dropped]);
    let mut turns = list(1);
    assert_eq!(turns.read(&Told { reason: "limit", ..dropped }), Ok(()));
    assert_eq!(turns.dropped, 1);
}
