//! The numbers of a sale at their bounds.

#![cfg(test)]

use super::*;

const HALF: Balances = Balances {
    version: 1,
    rev: 0,
    t: 5,
    epoch: 3,
    supply: 10,
    available: 4,
    held: 3,
    sold: 3,
    deficit: 0,
    packets: None,
    round: 0,
    grants: 2,
    last_grant_at: 5,
    elsewhere: 0,
};
/// Sold out, with a deficit of four.
const OWING: Balances = Balances { available: 0, sold: 7, deficit: 4, ..HALF };

/// Supply, available, held, sold, deficit after a change; `None` if it is refused.
fn after(
    from: Balances,
    change: impl FnOnce(&mut Balances) -> Result<(), Refused>,
) -> Option<[u64; 5]> {
    let mut after = from;
    change(&mut after).ok()?;
    let Balances { supply, available, held, sold, deficit, .. } = after;
    Some([supply, available, held, sold, deficit])
}

#[test]
fn units_that_come_pay_off_what_is_owed_first() {
    let add = |from, units| after(from, |it| it.add(units));
    assert_eq!(add(HALF, 3), Some([13, 7, 3, 3, 0]));
    assert_eq!(add(OWING, 3), Some([10, 0, 3, 7, 1]));
    assert_eq!(add(OWING, 7), Some([13, 3, 3, 7, 0]));
    assert!(add(HALF, INTEGER_MAX - 10).is_some() && add(HALF, INTEGER_MAX - 9).is_none());
    assert!(add(OWING, INTEGER_MAX - 6).is_some() && add(OWING, INTEGER_MAX - 5).is_none());
    assert_eq!(add(HALF, u64::MAX), None);
    let back = |from, qty, state| after(from, |it| it.transfer(qty, state, State::Expired));
    assert_eq!(back(HALF, 3, State::Held), Some([10, 7, 0, 3, 0]));
    assert_eq!(back(OWING, 3, State::Held), Some([7, 0, 0, 7, 1]));
    assert_eq!(back(OWING, 6, State::Sold), Some([6, 2, 3, 1, 0]));
    assert_eq!((back(HALF, 4, State::Held), back(HALF, 4, State::Sold)), (None, None));
    let take = |qty, to| after(HALF, |it| it.transfer(qty, State::Expired, to));
    assert_eq!(take(4, State::Sold), Some([10, 0, 3, 7, 0]));
    assert_eq!(take(1, State::Held), Some([10, 3, 4, 3, 0]));
    assert_eq!(take(5, State::Sold), None);
    let confirm = after(HALF, |it| it.transfer(2, State::Held, State::Sold));
    assert_eq!(confirm, Some([10, 4, 1, 5, 0]));
}

#[test]
fn units_that_are_missing_are_owed() {
    let cover = |from, qty| after(from, |it| it.cover(qty));
    assert_eq!(cover(HALF, 4), Some([10, 4, 3, 3, 0]));
    assert_eq!(cover(HALF, 6), Some([12, 6, 3, 3, 2]));
    assert_eq!(cover(OWING, 2), Some([12, 2, 3, 7, 6]));
    assert!(cover(HALF, INTEGER_MAX - 6).is_some() && cover(HALF, INTEGER_MAX - 5).is_none());
    assert_eq!(cover(HALF, u64::MAX), None);
}

#[test]
fn units_that_go_are_here_or_owed() {
    let send = |from, units, owed| after(from, |it| it.send(units, owed));
    assert_eq!(send(HALF, 3, 0), Some([7, 1, 3, 3, 0]));
    assert_eq!(send(HALF, 6, 2), Some([6, 0, 3, 3, 2]));
    assert_eq!(send(OWING, 2, 2), Some([10, 0, 3, 7, 6]));
    for (units, owed) in [(5, 0), (5, 2), (1, 2)] {
        assert_eq!(send(HALF, units, owed), None, "{units} {owed}");
    }
    assert_eq!(send(Balances { deficit: u64::MAX, ..OWING }, 1, 1), None);
    for (elsewhere, left) in [(0, 3), (INTEGER_MAX - 3, INTEGER_MAX), (INTEGER_MAX, INTEGER_MAX)] {
        let mut from = Balances { elsewhere, ..HALF };
        assert_eq!(from.send(3, 0), Ok(()));
        assert_eq!(from.elsewhere, left);
    }
    let restock = |delta, applied| after(HALF, |it| it.restock(delta, applied));
    assert_eq!(restock(3, 3), Some([13, 7, 3, 3, 0]));
    assert_eq!(restock(-4, -4), Some([6, 0, 3, 3, 0]));
    assert_eq!(restock(-9, -2), Some([8, 2, 3, 3, 0]));
    assert_eq!(restock(-9, 0), Some([10, 4, 3, 3, 0]));
    for (delta, applied) in [(0, 0), (3, 2), (3, 0), (-2, -3), (-2, 1), (-9, -5), (0, -1)] {
        assert_eq!(restock(delta, applied), None, "{delta} {applied}");
    }
}

#[test]
fn a_grant_takes_units_a_number_and_a_packet() {
    let add_grant = |from, qty, state| after(from, |it: &mut Balances| it.add_grant(qty, state));
    assert_eq!(add_grant(HALF, 4, State::Sold), Some([10, 0, 3, 7, 0]));
    assert_eq!(add_grant(HALF, 4, State::Held), Some([10, 0, 7, 3, 0]));
    assert_eq!(add_grant(HALF, 4, State::Expired), Some([10, 4, 3, 3, 0]));
    assert_eq!((add_grant(HALF, 0, State::Sold), add_grant(HALF, 5, State::Sold)), (None, None));
    for (grants, taken) in [(GRANTS_MAX - 1, true), (GRANTS_MAX, false)] {
        let mut from = Balances { grants, ..HALF };
        assert_eq!(from.add_grant(1, State::Sold).is_ok(), taken);
        assert_eq!(from.grants, GRANTS_MAX);
    }
    let mut one = Balances { packets: Some(1), ..HALF };
    assert_eq!((one.add_grant(1, State::Sold), one.packets), (Ok(()), Some(0)));
    assert_eq!(one.transfer(1, State::Expired, State::Sold), Err(Refused::Law));
    let mut none = Balances { packets: Some(0), ..HALF };
    assert_eq!(none.add_grant(1, State::Sold), Err(Refused::Law));
    let mut none = Balances { packets: Some(0), ..HALF };
    assert_eq!((none.transfer(1, State::Held, State::Sold), none.packets), (Ok(()), Some(0)));
    assert_eq!((none.transfer(1, State::Sold, State::Refunded), none.packets), (Ok(()), Some(1)));
}

#[test]
fn a_change_begins_within_bounds() {
    let begin = |from: Balances, elapsed_ms, epoch| {
        let mut after = from;
        after.begin(elapsed_ms, epoch).ok().map(|()| (after.version, after.t, after.epoch))
    };
    assert_eq!(begin(HALF, 0, None), Some((2, 5, 3)));
    assert_eq!(begin(HALF, TIME_MS_MAX - 5, Some(4)), Some((2, TIME_MS_MAX, 4)));
    assert_eq!(begin(HALF, TIME_MS_MAX - 4, None), None);
    assert_eq!(begin(HALF, u64::MAX, None), None);
    assert_eq!((begin(HALF, 0, Some(3)), begin(HALF, 0, Some(2))), (None, None));
    assert!(begin(HALF, 0, Some(INTEGER_MAX)).is_some());
    assert_eq!(begin(HALF, 0, Some(INTEGER_MAX + 1)), None);
    for (version, rev, taken) in
        [(INTEGER_MAX - 1, REV_LAST, true), (INTEGER_MAX, 0, false), (1, REV_LAST + 1, false)]
    {
        assert_eq!(begin(Balances { version, rev, ..HALF }, 0, None).is_some(), taken);
    }
    let back = |held, elsewhere| Balances { held, elsewhere, ..HALF }.may_come_back();
    assert_eq!([back(0, 0), back(3, 4), back(3, INTEGER_MAX)], [0, 7, INTEGER_MAX]);
    let stock =
        |available, held, elsewhere| Balances { available, held, elsewhere, ..HALF }.stock();
    assert_eq!(stock(0, 0, 0), Stock::SoldOut);
    assert_eq!((stock(0, 1, 0), stock(0, 0, 1)), (Stock::AllHeld, Stock::AllHeld));
    assert_eq!((stock(1, 0, 0), stock(1, 1, 1)), (Stock::Available, Stock::Available));
}

/// A part has the units put in, minus those sent, plus those received.
#[test]
fn the_law_of_a_part_is_all_of_its_parts() {
    let part = Escrow { put_in: 8, sent: 7, received: 9, pass: 2 };
    let lawful = |escrow: Escrow| HALF.is_lawful(Some(&escrow));
    assert!(lawful(part));
    for (more, is_lawful) in [(1, false), (0, true)] {
        assert_eq!(lawful(Escrow { put_in: 8 + more, ..part }), is_lawful);
        assert_eq!(lawful(Escrow { sent: 7 + more as u64, ..part }), is_lawful);
        assert_eq!(lawful(Escrow { received: 9 + more as u64, ..part }), is_lawful);
        assert_eq!(lawful(Escrow { pass: INTEGER_MAX + more as u64, ..part }), is_lawful);
    }
    // A deficit above the supply is lawful only in a part.
    let owing = Balances { deficit: 12, ..HALF };
    assert!(!owing.is_lawful(None));
    let put_in = |put_in| Escrow { put_in, sent: 0, received: 0, pass: 0 };
    assert!(owing.is_lawful(Some(&put_in(-2))) && !owing.is_lawful(Some(&put_in(2))));
    let most = INTEGER_MAX as i64;
    for more in [0, 1] {
        let taken = more == 0;
        let full =
            Escrow { put_in: 10, sent: INTEGER_MAX + more, received: INTEGER_MAX + more, pass: 0 };
        assert_eq!(lawful(full), taken);
        let (put_in, sent) = (most + more as i64, INTEGER_MAX - 10 + more);
        assert_eq!(lawful(Escrow { put_in, sent, received: 0, pass: 0 }), taken);
        let elsewhere = Balances { elsewhere: INTEGER_MAX + more, ..HALF };
        assert_eq!(elsewhere.is_lawful(Some(&part)), taken);
    }
    let mut moved = part;
    assert_eq!((moved.restock(-3), moved.send(2), moved.receive(4)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(moved, Escrow { put_in: 5, sent: 9, received: 13, pass: 2 });
    assert_eq!(moved.restock(i64::MAX), Err(Refused::Law));
    assert_eq!(
        (moved.send(u64::MAX), moved.receive(u64::MAX)),
        (Err(Refused::Law), Err(Refused::Law))
    );
}

#[test]
fn the_law_is_all_of_its_parts() {
    let some = Balances {
        version: 5,
        rev: 4,
        t: 9,
        epoch: 3,
        supply: 10,
        available: 5,
        held: 3,
        sold: 2,
        deficit: 10,
        packets: None,
        round: 0,
        grants: 4,
        last_grant_at: 9,
        elsewhere: 0,
    };
    let most = Balances {
        version: INTEGER_MAX,
        rev: INTEGER_MAX,
        t: TIME_MS_MAX,
        epoch: INTEGER_MAX,
        supply: INTEGER_MAX,
        available: INTEGER_MAX - 5,
        deficit: INTEGER_MAX,
        grants: GRANTS_MAX,
        last_grant_at: TIME_MS_MAX,
        ..some
    };
    let breaks: [fn(&mut Balances); 10] = [
        |it| it.elsewhere = 1,
        |it| it.supply += 1,
        |it| it.available += 1,
        |it| it.held -= 1,
        |it| it.sold += 1,
        |it| it.sold = u64::MAX,
        |it| it.deficit = it.supply + 1,
        |it| it.last_grant_at = it.t + 1,
        |it| it.grants = GRANTS_MAX + 1,
        |it| (it.supply, it.available) = (INTEGER_MAX + 1, INTEGER_MAX - 4),
    ];
    let beyond: [fn(&mut Balances); 4] = [
        |it| it.version = INTEGER_MAX + 1,
        |it| it.rev = INTEGER_MAX + 1,
        |it| it.epoch = INTEGER_MAX + 1,
        |it| it.t = TIME_MS_MAX + 1,
    ];
    for lawful in [some, most] {
        assert!(lawful.is_lawful(None));
        for (index, change) in breaks.iter().chain(&beyond).enumerate() {
            let mut broken = lawful;
            change(&mut broken);
            assert!(!broken.is_lawful(None), "{index}: {broken:?}");
        }
    }
}
