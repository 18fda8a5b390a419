//! Pieces of other versions, altered pieces, and impossible ones.

#![cfg(test)]

mod parts;

use super::*;
use crate::draw::Draw;
use crate::effect::{Change, Effect};
use crate::model::limits::{INTEGER_MAX, ROUND_TOTALS_MAX};
use crate::plan::Loader;
use crate::request::{
    Amount, Deed, Grab, ListChange, Request, Restock, Settle, Terms, Wait, Which,
};
use crate::rounds::{Schedule, Total};
use crate::testing::{bytes_of, created, grab, init, run};
use crate::waitlist::WaitTerms;
use crate::Sale;

const SCHEDULE: Schedule = Schedule { period_ms: 10, offset_ms: 3, lasts_ms: 5, carry: false };

/// A sale that keeps a round before the current one, with a grant in each.
fn with_rounds(draw: Option<Draw>) -> Sale {
    let limit = u64::from(draw.is_none());
    let terms = Terms { limit, kind: draw.into(), schedule: Some(SCHEDULE), ..Terms::default() };
    let mut sale = created(&init(9, terms), 13);
    for clock_ms in [14, 24] {
        grab(&mut sale, "u", clock_ms);
    }
    assert_eq!((sale.balances().round, sale.balances().grants), (2, 2));
    sale
}

/// A sale of three listed amounts, the first of them granted.
fn with_a_list() -> Sale {
    let list = [5, 6, 7];
    let terms = Terms { limit: 0, kind: Some(Draw::list(&list)).into(), ..Terms::default() };
    let mut wanted = init(18, terms);
    wanted.amounts = list.to_vec();
    let mut sale = created(&wanted, 1);
    grab(&mut sale, "u", 2);
    sale
}

fn bytes(piece: &Piece<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    piece.encode(&mut bytes);
    bytes
}

/// A dump of these pieces loaded.
fn load(pieces: &[Piece<'_>]) -> Result<Sale, Refused> {
    let mut loader = Loader::start(&bytes(&pieces[0]), [1, 2])?;
    pieces[1..].iter().try_for_each(|piece| loader.add(&bytes(piece)))?;
    loader.finish()
}

/// An AOF of these changes loaded.
fn logged(changes: Vec<Change<'_>>) -> Result<(), Refused> {
    let mut changes = changes.into_iter();
    let (mut sale, _) = Sale::create(changes.next().unwrap(), [1, 2])?;
    changes.try_for_each(|change| sale.apply(sale.balances.version, [change]).map(drop))
}

/// The sale after the first pieces of an AOF.
fn begun<'p>(pieces: impl IntoIterator<Item = Piece<'p>>) -> Sale {
    let mut pieces = pieces.into_iter().map(Change::untimed);
    let (mut sale, _) = Sale::create(pieces.next().unwrap(), [1, 2]).unwrap();
    pieces.for_each(|piece| drop(sale.apply(sale.balances.version, [piece]).unwrap()));
    sale
}

/// The result of one more piece; a refused one leaves no trace.
fn after(sale: &Sale, piece: Piece<'_>) -> Result<(), Refused> {
    let mut copy = sale.clone();
    let change = Change::untimed(piece);
    let applied = copy.apply(sale.balances.version, [change]).map(drop);
    assert_eq!(applied.is_err(), bytes_of(&copy) == bytes_of(sale));
    applied
}

#[test]
fn another_version_is_refused() {
    let sale = with_rounds(None);
    for piece in sale.pieces().chain([sale.refusals_piece()]) {
        let mut bytes = bytes(&piece);
        assert!(Piece::decode(&bytes).is_ok());
        assert_eq!(bytes[0], 0, "the index of version 1");
        for version in [1, 2, 0x7f, 0x80, 0xff] {
            bytes[0] = version;
            assert_eq!(Piece::decode(&bytes).err(), Some(Refused::Unknown), "{version}");
        }
    }
}

#[test]
fn what_is_cut_off_longer_or_of_no_kind_is_refused() {
    let sale = with_rounds(Some(Draw::Packets { packets: 3, min: 2 }));
    for piece in sale.pieces().chain([sale.refusals_piece()]) {
        let mut bytes = bytes(&piece);
        for len in 0..bytes.len() {
            assert_eq!(Piece::decode(&bytes[..len]).err(), Some(Refused::Unknown), "{len}");
        }
        bytes.push(0);
        assert_eq!(Piece::decode(&bytes).err(), Some(Refused::Unknown), "a byte more");
        bytes[1] = 0x60;
        assert_eq!(Piece::decode(&bytes).err(), Some(Refused::Unknown), "no kind of piece");
    }
}

#[test]
fn an_altered_base_is_refused_or_lawful() {
    let sale = with_rounds(Some(Draw::Packets { packets: 3, min: 2 }));
    let base = bytes_of(&sale).remove(0);
    for index in 0..base.len() {
        for bit in 0..8 {
            let mut altered = base.clone();
            altered[index] ^= 1 << bit;
            let Ok(Piece::Base(piece)) = Piece::decode(&altered) else { continue };
            if let Ok(sale) = piece.begin([1, 2]) {
                assert!(sale.is_lawful());
                assert_eq!(
                    sale.audit()
                        .differences
                        .iter()
                        .filter(|one| one.field != "pieces_missing")
                        .count(),
                    0
                );
            }
        }
    }
}

/// A sale shows the totals of 100 rounds, the current one included: a base has at most 99.
#[test]
fn there_are_99_totals_at_most() {
    let sale = with_rounds(None);
    for (len, taken) in [(0, true), (ROUND_TOTALS_MAX - 1, true), (ROUND_TOTALS_MAX, false)] {
        let mut pieces: Vec<_> = sale.pieces().collect();
        let Piece::Base(base) = &mut pieces[0] else { panic!("no base") };
        base.balances.round += 1000;
        base.balances.t += 1000 * SCHEDULE.period_ms;
        let last = pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Round(start) => Some(start),
            _ => None,
        });
        last.unwrap().round += 1000;
        let Piece::Base(base) = &mut pieces[0] else { panic!("no base") };
        let total = |round| Total { round, supply: 9, sold: 1, winners: 1 };
        base.rounds.as_mut().unwrap().totals = (0..len as u64).map(total).collect();
        let expected = if taken { Ok(()) } else { Err(Refused::Unknown) };
        assert_eq!(load(&pieces).map(drop), expected, "{len} totals");
    }
}

#[test]
fn totals_are_of_different_rounds_in_turn() {
    let sale = with_rounds(None);
    for (rounds, taken) in [(vec![0, 1], true), (vec![1, 0], false), (vec![1, 1], false)] {
        let mut pieces: Vec<_> = sale.pieces().collect();
        let Piece::Base(base) = &mut pieces[0] else { panic!("no base") };
        let total = |round| Total { round, supply: 9, sold: 1, winners: 1 };
        base.rounds.as_mut().unwrap().totals = rounds.iter().map(|round| total(*round)).collect();
        assert_eq!(load(&pieces).is_ok(), taken, "{rounds:?}");
    }
}

/// Impossible values of the next kept round, one number at a time.
#[test]
fn a_round_that_can_not_follow_is_refused() {
    let sale = with_rounds(None);
    let all: Vec<_> = sale.pieces().collect();
    let index = all.iter().position(|piece| matches!(piece, Piece::Round(_))).unwrap();
    let Piece::Round(next) = all[index].clone() else { panic!("no round") };
    let before = begun(all[..index].to_vec());
    let epoch = sale.balances.epoch;
    assert_eq!((next.round, next.grants_before, &next.epochs[..]), (2, 1, &[(2, epoch)][..]));
    assert_eq!(before.balances.round, 1);
    let try_next = |alter: &dyn Fn(&mut RoundStart)| {
        let mut other = next.clone();
        alter(&mut other);
        after(&before, Piece::Round(other))
    };
    assert_eq!(try_next(&|_| {}), Ok(()));
    assert_eq!(try_next(&|next| next.round = 3), Err(Refused::Law), "one that has not begun");
    assert_eq!(try_next(&|next| next.round = 1), Err(Refused::Law), "the same round");
    assert_eq!(try_next(&|next| next.round = 0), Err(Refused::Law), "an earlier one");
    let with_grants = |next: &mut RoundStart, grants_before: u32| {
        next.grants_before = grants_before;
        next.epochs = vec![(grants_before + 1, epoch)];
    };
    assert_eq!(try_next(&|next| with_grants(next, 0)), Err(Refused::Law), "fewer grants");
    // Each grant was a change: the version, which counts this piece, too, has room for that many.
    let room = before.balances.version as u32;
    assert_eq!(try_next(&|next| with_grants(next, room)), Ok(()));
    assert_eq!(try_next(&|next| with_grants(next, room + 1)), Err(Refused::Law), "more grants");
    let epochs =
        |list: &'static [(u32, u64)]| move |next: &mut RoundStart| next.epochs = list.to_vec();
    assert_eq!(try_next(&epochs(&[])), Ok(()));
    assert_eq!(try_next(&epochs(&[(1, 1)])), Err(Refused::Law), "before its first grant");
    assert_eq!(try_next(&epochs(&[(3, 1)])), Err(Refused::Law), "after its first grant");
    assert_eq!(try_next(&epochs(&[(2, INTEGER_MAX)])), Err(Refused::Law), "an epoch to come");
    assert_eq!(try_next(&epochs(&[(2, 1), (2, 2)])), Err(Refused::Law), "two at one grant");
    // A round begins only after all announced grants of the round before it.
    let mut missing = begun(all[..index].to_vec());
    missing.ledger.expect_epoch(900, INTEGER_MAX);
    assert_eq!(after(&missing, Piece::Round(next.clone())), Err(Refused::Law));
}

/// What a log leads to can be saved: what a dump can't have is refused in a log, too.
#[test]
fn a_round_that_no_history_comes_to_is_refused() {
    let sale = with_rounds(None);
    type Alter = fn(&mut Base, &mut RoundStart);
    let altered = |alter: Alter| {
        let mut pieces: Vec<_> = sale.pieces().collect();
        let [Piece::Base(base), _, Piece::Round(next), _] = &mut pieces[..] else { panic!() };
        alter(base, next);
        let log = pieces.iter().cloned().map(Change::untimed).collect::<Vec<_>>();
        [load(&pieces).map(drop), logged(log)]
    };
    assert_eq!(altered(|_, _| {}), [Ok(()); 2]);
    let wrong: [(&str, Alter); 4] = [
        ("the numbers of a round to come", |base, _| base.balances.round += 1),
        ("a round to come", |_, next| next.round += 1),
        ("both", |base, next| (base.balances.round, next.round) = (3, 3)),
        ("fewer units than later rounds begin with", |_, next| next.supply = 8),
    ];
    for (what, alter) in wrong {
        assert_eq!(altered(alter), [Err(Refused::Law); 2], "{what}");
    }
}

/// In a sale that counts packets each gets its share of the round's supply.
#[test]
fn a_round_without_its_packets_is_refused() {
    let sale = with_rounds(Some(Draw::Packets { packets: 3, min: 2 }));
    let all: Vec<_> = sale.pieces().collect();
    let index = all.iter().position(|piece| matches!(piece, Piece::Round(_))).unwrap();
    let Piece::Round(next) = all[index].clone() else { panic!("no round") };
    let before = begun(all[..index].to_vec());
    for (supply, expected) in [(6, Ok(())), (5, Err(Refused::Law)), (0, Err(Refused::Law))] {
        let other = RoundStart { supply, ..next.clone() };
        assert_eq!(after(&before, Piece::Round(other)), expected, "{supply} for 3 packets of 2");
    }
}

/// Grants of an old round keep its law, and the version has room for them.
#[test]
fn rows_of_an_old_round_are_checked() {
    let sale = with_rounds(None);
    let all: Vec<_> = sale.pieces().collect();
    let [Piece::Base(base), Piece::Grants(rows), Piece::Round(_), Piece::Grants(_)] = &all[..]
    else {
        panic!("other pieces: {all:?}");
    };
    let with_room = |version: u64| {
        let mut base = base.clone();
        base.balances.version = version;
        begun([Piece::Base(base)])
    };
    let several = |count: u64, qty: u64| Piece::Grants(rows.repeated(count, qty));
    assert_eq!(after(&with_room(9), several(1, 9)), Ok(()));
    assert_eq!(after(&with_room(9), several(1, 10)), Err(Refused::Law), "9 units were there");
    assert_eq!(after(&with_room(9), several(2, 5)), Err(Refused::Law), "9 units were there");
    // Three pieces follow the base. The other two changes are the INIT and the grant.
    assert_eq!((base.balances.version, sale.balances.version), (4, 4));
    for version in 4..9 {
        let room = version - 3;
        assert_eq!(after(&with_room(version), several(room, 1)), Ok(()));
        let more = several(room + 1, 1);
        assert_eq!(after(&with_room(version), more), Err(Refused::Law), "version {version}");
    }
}

/// Pieces must come in the order of encoding.
#[test]
fn amounts_behind_rows_are_refused() {
    let sale = with_a_list();
    let all: Vec<_> = sale.pieces().collect();
    let [base, amounts, rows] = &all[..] else { panic!("other pieces: {all:?}") };
    let in_order = begun([base.clone(), amounts.clone(), rows.clone()]);
    assert_eq!(bytes_of(&in_order), bytes_of(&sale));
    let behind = begun([base.clone(), rows.clone()]);
    assert_eq!(after(&behind, amounts.clone()), Err(Refused::Law));
    let twice = load(&[base.clone(), rows.clone(), amounts.clone()]);
    assert_eq!(twice.err(), Some(Refused::Law));
    // At most as many as the base announces, and at least one.
    let empty = begun([base.clone()]);
    assert_eq!(after(&empty, amounts.clone()), Ok(()));
    for list in [vec![], vec![5, 6, 7, 1], vec![5, 6, INTEGER_MAX]] {
        assert_eq!(after(&empty, Piece::Amounts(list)), Err(Refused::Law));
    }
    let nothing = bytes(&Piece::Amounts(vec![5, 0]));
    assert_eq!(Piece::decode(&nothing).err(), Some(Refused::Unknown));
}

#[test]
fn users_behind_amounts_are_refused() {
    let mut sale = with_a_list();
    let change = ListChange { list: List::Deny, add: true, users: &[b"x"] };
    run(&mut sale, &Request::List(change), 3);
    let all: Vec<_> = sale.pieces().collect();
    let [base, users, amounts, _] = &all[..] else { panic!("other pieces: {all:?}") };
    assert_eq!(after(&begun([base.clone()]), users.clone()), Ok(()));
    let behind = begun([base.clone(), amounts.clone()]);
    assert_eq!(after(&behind, users.clone()), Err(Refused::Law));
}

/// Restock ids and fences after users are refused, even if the version has room for them.
#[test]
fn ids_and_fences_behind_users_are_refused() {
    let schedule = Some(SCHEDULE);
    let mut sale = created(&init(9, Terms { schedule, ..Terms::default() }), 13);
    run(&mut sale, &Request::Restock(Restock { delta: 1, req: b"r" }), 13);
    let (which, deed) = (Which::Req(b"r"), Deed::Cancel);
    run(&mut sale, &Request::Settle(Settle { user: b"u", which, deed }), 13);
    let change = ListChange { list: List::Deny, add: true, users: &[b"x"] };
    run(&mut sale, &Request::List(change), 13);
    let mut all: Vec<_> = sale.pieces().collect();
    let Piece::Base(base) = &mut all[0] else { panic!("no base") };
    base.balances.version += 9;
    let [base, ids, fences, users] = &all[..] else { panic!("other pieces: {all:?}") };
    assert_eq!(after(&begun([base.clone()]), ids.clone()), Ok(()));
    assert_eq!(after(&begun([base.clone(), ids.clone()]), fences.clone()), Ok(()));
    let behind = begun([base.clone(), users.clone()]);
    for piece in [ids, fences] {
        assert_eq!(after(&behind, piece.clone()), Err(Refused::Law), "{piece:?}");
    }
}

/// Only a base of a sale with a list announces amounts, and no more than its packets.
#[test]
fn a_base_announces_the_amounts_of_its_draw() {
    let packets = with_rounds(Some(Draw::Packets { packets: 3, min: 2 }));
    for (sale, most) in [(packets, 0), (with_a_list(), 2), (with_rounds(None), 0)] {
        let Some(Piece::Base(base)) = sale.pieces().next() else { panic!("no base") };
        for (amounts, taken) in [(most, true), (most + 1, false)] {
            let mut other = base.clone();
            other.amounts = amounts;
            assert_eq!(other.begin([1, 2]).is_ok(), taken, "{amounts} amounts");
        }
    }
}

/// A base can't change the kind of draw.
#[test]
fn a_base_with_another_draw_is_refused() {
    let sale = with_rounds(Some(Draw::Packets { packets: 3, min: 2 }));
    for (min, taken) in [(2, true), (1, false)] {
        let Some(Piece::Base(mut base)) = sale.pieces().next() else { panic!("no base") };
        base.initial_terms.kind = Some(Draw::Packets { packets: 3, min }).into();
        assert_eq!(base.begin([1, 2]).is_ok(), taken, "{min}");
    }
}

/// A dump whose result differs from its base, in any number, is refused.
#[test]
fn a_dump_that_comes_to_something_else_is_refused() {
    let sale = with_rounds(None);
    let altered = |alter: fn(&mut Base)| {
        let mut pieces: Vec<_> = sale.pieces().collect();
        let Piece::Base(base) = &mut pieces[0] else { panic!("no base") };
        alter(base);
        load(&pieces).map(drop)
    };
    assert_eq!(altered(|_| {}), Ok(()));
    let wrong: [fn(&mut Base); 5] = [
        |base| (base.balances.available, base.balances.sold) = (9, 0),
        |base| base.winners += 1,
        |base| base.restocks += 1,
        |base| base.fences += 1,
        |base| base.lists[0] = (1, 1),
    ];
    for (number, alter) in wrong.into_iter().enumerate() {
        assert_eq!(altered(alter), Err(Refused::Law), "{number}");
    }
}

/// After the last piece, whichever it is, every announced epoch has granted.
#[test]
fn an_epoch_that_granted_nothing_is_refused() {
    let announced = |sale: &Sale, epochs: &[(u32, u64)]| {
        let mut pieces: Vec<_> = sale.pieces().collect();
        let Piece::Base(base) = &mut pieces[0] else { panic!("no base") };
        base.start.epochs = epochs.to_vec();
        pieces.iter().map(bytes).collect::<Vec<_>>()
    };
    let mut sale = created(&init(9, Terms::default()), 1);
    let epoch = sale.balances.epoch;
    for (epochs, taken) in [(&[][..], true), (&[(1, epoch)], false)] {
        let texts = announced(&sale, epochs);
        let change = Change::untimed(Effect::Piece(Piece::decode(&texts[0]).unwrap()));
        assert_eq!(Sale::create(change, [1, 2]).is_ok(), taken, "without a grant");
    }
    grab(&mut sale, "u", 2);
    for (epochs, expected) in
        [(&[(1, epoch)][..], Ok(())), (&[(1, epoch - 1), (2, epoch)], Err(Refused::Law))]
    {
        let texts = announced(&sale, epochs);
        let before = begun([Piece::decode(&texts[0]).unwrap()]);
        assert_eq!(after(&before, Piece::decode(&texts[1]).unwrap()), expected, "with one");
    }
    let mut sale = created(&init(9, Terms { schedule: Some(SCHEDULE), ..Terms::default() }), 13);
    grab(&mut sale, "u", 14);
    run(&mut sale, &Request::Pause, 24);
    let mut pieces: Vec<_> = sale.pieces().collect();
    let Some(Piece::Round(mut next)) = pieces.pop() else { panic!("no round") };
    let before = begun(pieces);
    assert_eq!(after(&before, Piece::Round(next.clone())), Ok(()));
    next.epochs = vec![(2, sale.balances.epoch)];
    assert_eq!(after(&before, Piece::Round(next)), Err(Refused::Law), "in a round without one");
}

/// Waiters have tickets that were given out, and offers of their sale end.
#[test]
fn entries_that_nobody_can_have_are_refused() {
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 10, overtake: 0 });
    let mut sale = created(&init(1, Terms { waitlist, ..Terms::default() }), 1);
    grab(&mut sale, "w", 2);
    let grab = Grab { user: b"u", amount: Amount::Unsaid, req: Some(b"r") };
    run(&mut sale, &Request::Wait(Wait { grab, until: 0 }), 3);
    let all: Vec<_> = sale.pieces().collect();
    let index = all.iter().position(|piece| matches!(piece, Piece::Waiters(_))).unwrap();
    let Piece::Waiters(waiting) = all[index].clone() else { panic!("no entries") };
    let before = begun(all.iter().filter(|piece| !matches!(piece, Piece::Waiters(_))).cloned());
    assert_eq!(after(&before, all[index].clone()), Ok(()));
    assert_eq!(after(&before, Piece::Waiters(vec![])), Err(Refused::Law), "nobody");
    let mut never_given = waiting.clone();
    never_given[0].waiter.ticket = 2;
    assert_eq!(after(&before, Piece::Waiters(never_given)), Err(Refused::Law), "ticket 2");
}

/// Counters belong to one node: an AOF with counters is refused.
#[test]
fn refusals_are_no_effect() {
    let sale = with_rounds(None);
    let before = begun(sale.pieces().take(1));
    assert_eq!(after(&before, sale.refusals_piece()), Err(Refused::Law));
    let change = Change::untimed(sale.refusals_piece());
    assert_eq!(Sale::create(change, [1, 2]).err(), Some(Refused::Key));
}
