//! Impossible sales whose numbers are each possible: they could not keep their promises, so loading
//! refuses them. Each was found by altering snapshots at random.

use seckill_domain::decide::{decide_new, NextRound};
use seckill_domain::draw::Draw;
use seckill_domain::effect::{Join, Reimport, Restock, Round};
use seckill_domain::request::{Amount, Grab, Init, Terms, UnitKind};
use seckill_domain::rounds::Schedule;
use seckill_domain::waitlist::WaitTerms;
use seckill_model::sales;

use super::*;

/// A sale with two grants.
fn sale_on(terms: Terms, amounts: &[u64], supply: u64) -> Sale {
    let init = Init { supply, terms, amounts: amounts.to_vec(), id: 1, secret: [7; 16] };
    let now = Now { clock_ms: START, node_epoch: 1 };
    let (_, mut sale) = decide_new(&init, &now, [1, 2]).unwrap();
    for user in [b"u", b"v"] {
        let grab = Grab { user, amount: Amount::Unsaid, req: None };
        let decision = sale.decide(&Request::Grab(grab), &now).unwrap();
        commit(&mut sale, &decision);
    }
    sale
}

fn drawing(draw: Draw) -> Terms {
    Terms { limit: 0, grabs: 1, kind: Some(draw).into(), ..Terms::default() }
}

fn texts_of(sale: &Sale) -> Vec<Vec<u8>> {
    rebuild::log(sale).into_iter().map(|(_, text)| text).collect()
}

/// Loads the sale with another number in its base, as a dump and as a log.
fn with_number(sale: &Sale, place: usize, number: u64) -> (bool, bool) {
    let mut dump = rebuild::dump(sale);
    let (head, mut numbers) = numbers_of(&dump[0]);
    numbers[place] = number;
    dump[0] = base_with(&head, &numbers);
    let mut log = texts_of(sale);
    log[0] = as_effect(&dump[0]);
    (try_load(&dump, "another number"), replays(&log))
}

/// Whether a log begins a sale and every further piece is accepted.
fn replays(log: &[Vec<u8>]) -> bool {
    let Ok((mut sale, _)) = Sale::create(Change::decode(&log[0]).unwrap(), [1, 2]) else {
        return false;
    };
    for text in &log[1..] {
        let version = sale.balances().version;
        try_apply(&mut sale, version, &[text], "a piece");
    }
    assert_sound(&sale, "a log");
    sale.is_whole()
}

/// A withdrawal would leave a deficit above the supply.
#[test]
fn units_are_owed_while_some_are_available() {
    let (sale, _) = full_sale(12);
    assert!(sale.balances().available > 0);
    assert_eq!(with_number(&sale, AVAILABLE, sale.balances().available), (true, true));
    assert_eq!(with_number(&sale, DEFICIT, 0), (true, true));
    assert_eq!(with_number(&sale, DEFICIT, 1), (false, false));
}

/// Returned units would pay off the deficit instead of filling a packet.
#[test]
fn a_fixed_supply_is_owed() {
    let sale = sale_on(drawing(Draw::Equal { packets: 2 }), &[], 2);
    assert_eq!(sale.balances().available, 0);
    assert_eq!(with_number(&sale, DEFICIT, 0), (true, true));
    assert_eq!(with_number(&sale, DEFICIT, 1), (false, false));
}

/// An AOF may end before the amounts; the sale then sells nothing, and can be saved and loaded.
#[test]
fn amounts_that_never_come() {
    let list = [5, 6, 7, 8];
    let sale = sale_on(drawing(Draw::list(&list)), &list, 26);
    let log = texts_of(&sale);
    assert_eq!(letters_of(&log), "BOL");
    assert!(replays(&log));
    assert!(!replays(&log[..1]), "the rows and the amounts are to come");
    assert!(!replays(&log[..2]), "the rows are to come");
    // As many pieces as announced, but with other amounts.
    for amounts in [&[7][..], &[8, 7, 1], &[8, 6]] {
        let mut other = log.clone();
        other[1] = amounts_of(amounts);
        assert!(!replays(&other), "{amounts:?}");
    }
}

/// Each packet left has its share only if the rows before it took theirs.
#[test]
fn rows_that_leave_packets_without_a_share() {
    let mut sale = sale_on(drawing(Draw::Packets { packets: 4, min: 1 }), &[], 40);
    // Changes without rows: the version then has room for more rows than there are.
    for request in [Request::Pause, Request::Resume, Request::Pause] {
        let decision = sale.decide(&request, &Now { clock_ms: START, node_epoch: 1 }).unwrap();
        commit(&mut sale, &decision);
    }
    let log = texts_of(&sale);
    assert!(replays(&log));
    assert!(replays(&[log[0].clone(), plain_rows(1, 3)]), "one packet is left, with all the rest");
    assert!(!replays(&[log[0].clone(), plain_rows(1, 4)]), "no packet is left for the rest");
    for (first, count) in [(2, 3), (0, 3), (1, 0)] {
        assert!(!replays(&[log[0].clone(), plain_rows(first, count)]), "{count} from {first} on");
    }
    // No draw of this sale can have an amount of one unit.
    let equal = texts_of(&sale_on(drawing(Draw::Equal { packets: 4 }), &[], 40));
    assert!(replays(&equal) && !replays(&[equal[0].clone(), plain_rows(1, 1)]));
}

fn repeating() -> Sale {
    let schedule = Schedule { period_ms: 100, offset_ms: 0, lasts_ms: 100, carry: false };
    let terms = Terms { limit: 0, schedule: Some(schedule), ..Terms::default() };
    let mut sale = sale_on(terms, &[], 9);
    for round in [1, 2, 5] {
        let now = Now { clock_ms: START + round * 100, node_epoch: 1 };
        let NextRound(plan) = sale.decide_round(&now).unwrap().unwrap_err();
        sale.commit(&plan);
    }
    sale
}

/// IMPORT refuses a sale with rounds. The effect of an import is refused there, too: the known
/// grant may be of an older round.
#[test]
fn an_import_of_a_grant_of_an_older_round() {
    let schedule = Schedule { period_ms: 100, offset_ms: 0, lasts_ms: 100, carry: false };
    let terms = Terms { hold_ms: 999, schedule: Some(schedule), ..Terms::default() };
    let mut sale = sale_on(terms, &[], 9);
    let (here, again) = (effect("Vs1"), sale.balances().version);
    assert!(!try_apply(&mut sale, again, &[&here], "of the current round"));
    let now = Now { clock_ms: START + 100, node_epoch: 1 };
    let NextRound(plan) = sale.decide_round(&now).unwrap().unwrap_err();
    sale.commit(&plan);
    let version = sale.balances().version;
    assert!(!try_apply(&mut sale, version, &[&here], "of the round before"));
    assert_sound(&sale, "after an effect that was refused");
}

/// A total of a later round is refused: the next round could not come after it.
#[test]
fn a_total_of_a_round_to_come() {
    let sale = repeating();
    let mut dump = rebuild::dump(&sale);
    assert!(try_load(&dump, "as it is"));
    // The newest total is of round 10,002; the current round is 10,005.
    let mut total = Vec::new();
    put_varint(&mut total, START / 100 + 2);
    let place = dump[0].windows(2).rposition(|two| two == total).unwrap();
    dump[0][place] += 2;
    assert!(try_load(&dump, "of the round before"));
    dump[0][place] += 1;
    assert!(!try_load(&dump, "of the current round"));
}

/// Pieces in another order are refused. Each piece counts as a version, and the version has room
/// for all of them only in their order.
#[test]
fn pieces_in_another_order() {
    let (sale, _) = holds::rich_sale(24);
    let log = texts_of(&sale);
    assert_eq!(letters_of(&log), "BKJL");
    for (one, other) in [(1, 2), (1, 3), (2, 3)] {
        let mut swapped = log.clone();
        swapped.swap(one, other);
        assert!(!replays(&swapped), "{one} and {other} swapped");
    }
}

/// A base that announces an epoch without rows of it.
#[test]
fn an_epoch_that_granted_nothing() {
    let world = World::open(9, Rules::default(), START, 500).unwrap().unwrap();
    let dump = rebuild::dump(&world.sale);
    let (head, mut numbers) = numbers_of(&dump[0]);
    // First no epoch is announced, then one that granted from seq 1 on.
    assert_eq!(numbers[EPOCHS], 0);
    numbers.splice(EPOCHS..=EPOCHS, [1, 1, 500]);
    let text = as_effect(&base_with(&head, &numbers));
    let created = Sale::create(Change::decode(&text).unwrap(), [1, 2]);
    assert_eq!(created.err(), Some(Refused::Law));
}

/// Effects of a log that would lead to sales which no dump may hold, or no other node.
#[test]
fn effects_that_lead_to_impossible_sales_are_refused() {
    let waitlist = Some(WaitTerms { max: 9, offer_ms: 0, overtake: 0 });
    let held = || Terms { hold_ms: 900, limit: 0, ..Terms::default() };
    let numbered = || Terms { kind: UnitKind::Numbered, waitlist, ..held() };
    let every = Schedule { period_ms: 1000, offset_ms: 0, lasts_ms: 1000, carry: false };
    let repeating = || Terms { schedule: Some(every), ..Terms::default() };
    let wait = |qty| Effect::Wait(Join { ticket: 1, user: b"w", req: b"r", qty, until: 0 });
    let restock = |req, applied| Effect::Restock(Restock { req, delta: applied, applied });
    let round = |supply| Effect::Round(Round { round: 1, supply });
    let again = || Effect::Reimport(Reimport { seq: 1 });
    let bought = |req| {
        let mut sale = sales::created(9, held());
        let grab = Grab { user: b"u", amount: Amount::Exactly(5), req };
        sales::run(&mut sale, &Request::Grab(grab), 2);
        sale
    };
    let cases: [(Sale, Vec<Effect<'_>>, bool); 8] = [
        (sales::created(9, numbered()), vec![wait(100)], true),
        (sales::created(9, numbered()), vec![wait(101)], false),
        (sales::created(4_000_000, numbered()), vec![restock(b"a", 3_000_000)], true),
        (
            sales::created(4_000_000, numbered()),
            vec![restock(b"a", 3_000_000), restock(b"b", 3_000_001)],
            false,
        ),
        (sales::created(9, repeating()), vec![round(9)], true),
        (sales::created(9, repeating()), vec![round(8)], false),
        (bought(Some(b"r")), vec![again()], true),
        (bought(None), vec![again()], false),
    ];
    for (number, (mut sale, effects, is_taken)) in cases.into_iter().enumerate() {
        let later = |effect| Change { elapsed_ms: 1000, epoch: None, effect };
        let changes: Vec<_> = effects.into_iter().map(later).collect();
        let applied = sale.apply(sale.balances().version, changes);
        assert_eq!(applied.is_ok(), is_taken, "{number}: {:?}", applied.err());
    }
}
