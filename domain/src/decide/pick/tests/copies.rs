//! Numbered units in changes decided elsewhere and in dumps: wrong numbers are refused.

use super::*;
use crate::effect::{
    self, Change, Effect, Numbered, Reimport, ReimportNumbered, Trim, TrimNumbered,
};
use crate::plan::Loader;
use crate::testing::bytes_of;

/// A replica refuses a grant that no decision can make: without numbers, with too few, or with
/// numbers that are taken or beyond the last one. It also refuses numbers in a sale whose units
/// have none.
#[test]
fn a_replica_takes_no_grant_whose_numbers_are_wrong() {
    let mut sale = hall(5);
    run(&mut sale, &these("a", &[2, 3]), 2);
    run(&mut sale, &settle("a", Deed::Cancel), 3);
    run(&mut sale, &these("b", &[3]), 4);
    let of = effect::Grant { user: b"v", req: None, qty: 2, hold_ms: HOLD };
    let numbered = |units: &[u32]| -> Effect<'static> {
        Box::new(Numbered { units: UnitList::from_slice(units), of }).into()
    };
    // As many numbers as units in all, but not in each grant.
    let uneven = |qty, units: &[u32]| -> Effect<'static> {
        let of = effect::Grant { qty, ..of };
        Box::new(Numbered { units: UnitList::from_slice(units), of }).into()
    };
    let restock = |applied| Effect::Restock(effect::Restock { req: b"x", delta: applied, applied });
    let takes = |sale: &Sale, effects: &[Effect<'static>]| {
        let changes: Vec<_> = effects.iter().cloned().map(Change::untimed).collect();
        sale.clone().apply(sale.balances().version, changes).is_ok()
    };
    for (effects, is_taken) in [
        (vec![numbered(&[1, 5])], true),
        (vec![Effect::Grant(of)], false),
        (vec![numbered(&[1])], false),
        (vec![numbered(&[1, 3])], false),
        (vec![numbered(&[1, 6])], false),
        (vec![numbered(&[1, 5]), numbered(&[2, 4])], true),
        (vec![numbered(&[1, 5]), numbered(&[1, 4])], false),
        (vec![uneven(2, &[1]), uneven(1, &[4, 5])], false),
        // The first grant's numbers; one of them belongs to another grant by now.
        (vec![Effect::Reimport(Reimport { seq: 1 })], false),
        (vec![restock(1), numbered(&[1, 6])], true),
        (vec![numbered(&[1, 5]), restock(1)], false),
        (vec![restock(-1)], false),
        (vec![restock(UNITS_MAX as i64 - 4)], false),
    ] {
        assert_eq!(takes(&sale, &effects), is_taken, "{effects:?}");
    }
    let plain = created(&init(5, Terms { limit: 0, ..Terms::default() }), 1);
    assert!(takes(&plain, &[Effect::Grant(of)]) && !takes(&plain, &[numbered(&[1, 5])]));
}

/// A grant keeps, or is imported with, some of its first numbers: one for each unit. Each of them
/// must be free or belong to this grant.
#[test]
fn a_replica_takes_no_part_that_is_wrong() {
    let mut sale = hall(5);
    run(&mut sale, &these("a", &[1, 2, 3]), 2);
    run(&mut sale, &these("c", &[4, 5]), 2);
    run(&mut sale, &settle("c", Deed::Cancel), 2);
    run(&mut sale, &these("b", &[5]), 2);
    let keep = |seq, returned, to, units: &[u32]| -> Effect<'static> {
        let of = Trim { seq, returned, to };
        Box::new(TrimNumbered { units: UnitList::from_slice(units), of }).into()
    };
    let import = |seq, units: &[u32]| -> Effect<'static> {
        Box::new(ReimportNumbered { units: UnitList::from_slice(units), seq }).into()
    };
    let (held, sold) = (State::Held, State::Sold);
    for (effects, is_taken) in [
        (vec![keep(1, 1, held, &[1, 3])], true),
        (vec![keep(1, 2, sold, &[2])], true),
        (vec![keep(1, 1, held, &[2])], false),
        (vec![keep(1, 1, held, &[1, 4])], false),
        (vec![keep(1, 0, held, &[1, 2, 3])], false),
        (vec![keep(2, 1, held, &[4])], false),
        (vec![Effect::Trim(Trim { seq: 1, returned: 1, to: held })], false),
        (vec![keep(1, 1, held, &[1, 3]), keep(1, 1, sold, &[3]), import(2, &[4])], true),
        (vec![keep(1, 1, held, &[1, 3]), keep(1, 1, held, &[2])], false),
        (vec![keep(1, 2, held, &[1]), import(1, &[1, 3])], true),
        (vec![keep(1, 2, held, &[1]), import(1, &[3])], false),
        (vec![keep(1, 2, held, &[1]), import(1, &[1, 4])], false),
        (vec![import(1, &[1, 2, 3])], true),
        (vec![import(2, &[4])], true),
        (vec![import(2, &[4, 5])], false),
        (vec![import(2, &[4]), import(2, &[4])], false),
        (vec![Effect::Reimport(Reimport { seq: 1 })], false),
    ] {
        let changes: Vec<_> = effects.iter().cloned().map(Change::untimed).collect();
        let mut copy = sale.clone();
        assert_eq!(copy.apply(sale.balances().version, changes).is_ok(), is_taken, "{effects:?}");
        assert_eq!(copy.audit().differences, [], "{effects:?}");
    }
    let mut plain = created(&init(5, Terms { limit: 0, ..Terms::default() }), 1);
    run(&mut plain, &Request::Grab(grab("a", 2)), 2);
    for effect in [keep(1, 1, sold, &[1]), import(1, &[1])] {
        assert!(plain.apply(plain.balances().version, [Change::untimed(effect)]).is_err());
    }
}

/// A dump whose grants have no numbers is refused, even if none of them is live.
#[test]
fn a_dump_has_the_numbers_of_each_grant() {
    let [mut sale, mut plain] = [UnitKind::Numbered, UnitKind::Counted].map(|kind| {
        let terms = Terms { limit: 0, hold_ms: HOLD, kind, ..Terms::default() };
        created(&init(5, terms), 1)
    });
    for sale in [&mut sale, &mut plain] {
        run(sale, &Request::Grab(grab("a", 2)), 2);
        run(sale, &settle("a", Deed::Cancel), 3);
    }
    let (pieces, others) = (bytes_of(&sale), bytes_of(&plain));
    for (grants, is_taken) in [(&pieces[1], true), (&others[1], false)] {
        let mut loader = Loader::start(&pieces[0], [3, 4]).unwrap();
        assert_eq!(loader.add(grants).is_ok(), is_taken);
    }
}
