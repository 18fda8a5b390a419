//! The waiting list compared with a plain map.

#![cfg(test)]

use super::*;

const AT: u64 = 1_795_342_060_780;

/// A mixer: the finaliser of SplitMix64.
fn mix(key: u64) -> u64 {
    let z = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 27
}

fn join(list: &mut Waitlist, ticket: u64, qty: u64, until: u64) {
    let user = format!("user:{ticket:012}");
    let (user, req) = (user.as_bytes(), &b"order"[..]);
    list.join(&Waiter { ticket, user, req, qty, at: AT, until });
}

/// Compares every question's result with a scan of the plain map.
fn assert_equal(list: &Waitlist, plain: &BTreeMap<u64, (u64, u64)>, probe: u64) {
    assert_eq!(list.len() as usize, plain.len());
    let units = |upto: u64| plain.range(..upto).map(|(_, (qty, _))| qty).sum::<u64>();
    assert_eq!(list.units(), units(u64::MAX));
    let ticket = plain.range(probe..).next().map(|(ticket, _)| *ticket);
    if let Some(ticket) = ticket {
        let ahead = plain.range(..ticket).count() as u64;
        let units_ahead = units(ticket);
        assert_eq!(list.place(ticket, None), Place { ticket, ahead, units_ahead });
        assert_eq!(list.nth(ahead), Some(ticket));
        let user = format!("user:{ticket:012}");
        assert_eq!(list.find(user.as_bytes()).map(|waiter| waiter.ticket), Some(ticket));
    }
    let beyond = list.totals.last_ticket + 1;
    let behind_all = Place { ticket: beyond, ahead: list.len(), units_ahead: list.units() };
    assert_eq!(list.place(beyond, None), behind_all);
    let within = plain.range(probe..).find(|(_, (qty, _))| *qty <= probe % 5);
    let found = list.first_within(probe % 5, probe).map(|waiter| waiter.ticket);
    assert_eq!(found, within.map(|(ticket, _)| *ticket));
    let over = plain.range(probe..).find(|(_, (_, until))| *until != 0 && *until <= AT + probe % 9);
    let found = list.first_over(AT + probe % 9, probe).map(|waiter| waiter.ticket);
    assert_eq!(found, over.map(|(ticket, _)| *ticket));
    let next_end = plain.values().map(|(_, until)| *until).filter(|until| *until != 0).min();
    assert_eq!(list.next_end(), next_end);
    assert_eq!(list.find(b"nobody"), None);
    assert_eq!(list.get(probe).map(|it| it.qty), plain.get(&probe).map(|(qty, _)| *qty));
}

#[test]
fn a_tree_answers_as_a_plain_list_does() {
    let (mut list, mut plain) = (Waitlist::new([1, 2]), BTreeMap::new());
    for step in 0..30_000 {
        let draw = mix(step);
        // The list grows, shrinks to a few entries, and grows again.
        let grows = step % 10_000 < 6_000;
        if plain.is_empty() || draw % 10 < if grows { 8 } else { 1 } {
            let ticket = list.totals.last_ticket + 1;
            let until = if draw.is_multiple_of(3) { AT + draw % 11 } else { 0 };
            let qty = 1 + draw % 4;
            join(&mut list, ticket, qty, until);
            plain.insert(ticket, (qty, until));
        } else {
            let some = draw % (list.totals.last_ticket + 2);
            let ticket =
                plain.range(some..).next().or(plain.iter().next()).map(|(ticket, _)| *ticket);
            let ticket = ticket.unwrap_or_default();
            list.remove(ticket);
            plain.remove(&ticket);
        }
        if step % 7 == 0 {
            assert_equal(&list, &plain, draw % (list.totals.last_ticket + 2));
        }
    }
    let all: Vec<u64> = list.iter_from(0).map(|waiter| waiter.ticket).collect();
    assert_eq!(all, plain.keys().copied().collect::<Vec<_>>());
    all.iter().for_each(|ticket| list.remove(*ticket));
    assert_eq!((list.len(), list.heap_bytes()), (0, 0), "an empty list has no memory");
    assert!(list.blocks_mut().next().is_none());
}

/// Units beyond the largest integer saturate, so an ended waiter must be left out before the sum.
#[test]
fn who_is_gone_is_left_out_before_units_are_counted() {
    let mut list = Waitlist::new([1, 2]);
    join(&mut list, 1, 3, AT);
    join(&mut list, 2, INTEGER_MAX - 1, 0);
    assert_eq!(list.place(3, None), Place { ticket: 3, ahead: 2, units_ahead: INTEGER_MAX });
    let left = list.place(3, list.get(1));
    assert_eq!(left, Place { ticket: 3, ahead: 1, units_ahead: INTEGER_MAX - 1 });
}

/// At most 60 bytes per entry without its ids, even after every other entry has left.
#[test]
fn a_million_entries_are_compact() {
    let mut list = Waitlist::new([1, 2]);
    (1..=1_000_000).for_each(|ticket| join(&mut list, ticket, 1, 0));
    let ids = 17 + 5;
    let bytes = list.heap_bytes() as u64 / list.len() - ids;
    assert!(bytes <= 40, "{bytes} bytes an entry");
    let leaves = list.blocks_mut().count();
    assert!((leaves..2 * leaves).contains(&list.heap_blocks()), "what freeing costs");
    (1..=1_000_000).step_by(2).for_each(|ticket| list.remove(ticket));
    let bytes = list.heap_bytes() as u64 / list.len() - ids;
    assert!(bytes <= 80, "{bytes} bytes an entry when half have left");
    assert_eq!(list.place(1_000_000, None).ahead, 499_999);
}

/// A list that spans as many tickets as its index can tell apart accepts no more, however few are
/// left.
#[test]
fn tickets_far_apart_are_told_apart() {
    let mut list = Waitlist::new([1, 2]);
    let (first, last) = (5, 5 + u64::from(u32::MAX) - 1);
    join(&mut list, first, 1, 0);
    join(&mut list, last, 2, 0);
    for ticket in [first, last] {
        let user = format!("user:{ticket:012}");
        assert_eq!(list.find(user.as_bytes()).map(|waiter| waiter.ticket), Some(ticket));
    }
    assert!(!list.has_room());
    list.remove(first);
    assert!(list.has_room());
    list.totals.last_ticket = INTEGER_MAX;
    assert!(!list.has_room());
}

/// An empty list is as small as a new one, whatever its next ticket.
#[test]
fn an_empty_list_begins_anew() {
    let (mut list, mut new) = (Waitlist::new([1, 2]), Waitlist::new([1, 2]));
    join(&mut list, 1, 1, 0);
    list.remove(1);
    for list in [&mut list, &mut new] {
        join(list, 1 << 30, 1, 0);
    }
    assert_eq!((list.heap_bytes(), list.heap_blocks()), (new.heap_bytes(), new.heap_blocks()));
    // A waiter who was never passed uses no memory for it.
    for (times, bytes) in [(0, 0), (2, 4 * size_of::<u64>())] {
        list.pass(1 << 30, times);
        assert_eq!(list.heap_bytes(), new.heap_bytes() + bytes);
    }
}

/// Memory is released when half of it is unused, not with every waiter who leaves.
#[test]
fn a_leaf_keeps_room_for_a_while() {
    let mut list = Waitlist::new([1, 2]);
    (0..32).for_each(|ticket| join(&mut list, ticket, 1, 0));
    let bytes = list.queue.root.heap_bytes();
    list.queue.remove(1);
    assert_eq!(list.queue.root.heap_bytes(), bytes);
    (2..31).for_each(|ticket| list.queue.remove(ticket));
    assert!(list.queue.root.heap_bytes() < bytes / 2);
}
