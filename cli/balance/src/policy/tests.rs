//! The policy, rule by rule.

use super::*;

const TIMING: Timing = Timing { interval: 0.01, round_trip: 0.001 };

fn part(available: u64, demand: f64) -> Load {
    Load { available, demand, ..Load::default() }
}

fn moves(parts: &[Load]) -> Vec<(usize, usize, u64)> {
    plan(parts, &TIMING).iter().map(|one| (one.from, one.to, one.units)).collect()
}

#[test]
fn nothing_moves_where_nothing_is_asked() {
    assert_eq!(moves(&[]), []);
    assert_eq!(moves(&[part(100, 0.0), part(0, 0.0)]), []);
}

#[test]
fn who_is_short_gets_what_its_share_lacks_from_who_has_the_most_above() {
    // 3,000 units, asked for at equal speed: a share is 1,000.
    let parts = [part(1_900, 1e6), part(0, 1e6), part(1_100, 1e6)];
    assert_eq!(moves(&parts), [(0, 1, 900), (2, 1, 100)]);
}

#[test]
fn who_can_send_nothing_gives_nothing_and_is_filled() {
    let keeps = |units, demand| Load { keeps: true, ..part(units, demand) };
    let parts = [keeps(1_900, 1e6), part(0, 1e6), part(1_100, 1e6)];
    assert_eq!(moves(&parts), [(2, 1, 100)]);
    assert_eq!(moves(&[part(1_000, 0.0), keeps(0, 1e6)]), [(0, 1, 1_000)]);
    let owed = Load { deficit: 5, ..Load::default() };
    assert_eq!(moves(&[keeps(9, 0.0), owed, part(7, 0.0)]), [(2, 1, 5)]);
}

#[test]
fn shares_follow_demand() {
    assert_eq!(moves(&[part(500, 1e5), part(500, 3e5)]), [(0, 1, 250)]);
}

#[test]
fn who_lasts_longer_than_the_horizon_gets_nothing() {
    // 0.042 s at 1,000 units a second are 42 units.
    assert_eq!(moves(&[part(1_000, 1e3), part(43, 1e3)]), []);
    assert_eq!(moves(&[part(1_000, 1e3), part(41, 1e3)]), [(0, 1, 479)]);
}

#[test]
fn no_giver_becomes_the_poorer_one() {
    for (rich, poor) in [(100, 0), (101, 0), (77, 3), (9, 0)] {
        let moved: u64 =
            plan(&[part(rich, 1e3), part(poor, 1e3)], &TIMING).iter().map(|one| one.units).sum();
        assert!(moved > 0 && moved <= (rich - poor) / 2, "{rich} {poor}: {moved}");
    }
}

#[test]
fn what_is_level_to_a_tenth_stays() {
    let lasting = |units| part(units, 4e4);
    assert_eq!(moves(&[lasting(1_101), lasting(899)]), [(0, 1, 101)]);
    assert_eq!(moves(&[lasting(1_099), lasting(901)]), []);
}

#[test]
fn the_last_look_levels_to_a_fiftieth() {
    let ending = |units| part(units, 5e5);
    assert_eq!(moves(&[ending(1_021), ending(979)]), [(0, 1, 21)]);
    assert_eq!(moves(&[ending(1_019), ending(981)]), []);
}

#[test]
fn what_is_under_way_is_not_sent_again() {
    let coming = Load { incoming: 500, ..part(0, 1e6) };
    assert_eq!(moves(&[part(500, 1e6), coming]), []);
}

#[test]
fn nothing_moves_when_all_is_sold_before_it_arrives() {
    assert_eq!(moves(&[part(1_500, 1e6), part(0, 1e6)]), []);
    assert_eq!(moves(&[part(2_500, 1e6), part(0, 1e6)]), [(0, 1, 1_250)]);
}

#[test]
fn deficits_are_filled_before_demand_and_by_nobody_who_owes() {
    let owes = |deficit| Load { deficit, ..Load::default() };
    let parts = [owes(5), part(3, 0.0), part(9, 1e6), owes(20)];
    assert_eq!(moves(&parts), [(2, 0, 5), (2, 3, 4), (1, 3, 3)]);
}

#[test]
fn who_waits_longest_is_served_first_and_gives_nothing() {
    let list = |since, units| Load { waiting_since: since, waiting_units: units, ..part(1, 0.0) };
    let parts = [list(200, 9), part(10, 0.0), list(100, 8)];
    assert_eq!(moves(&parts), [(1, 2, 7), (1, 0, 3)]);
}

#[test]
fn the_last_units_are_gathered_where_demand_is() {
    let parts = [part(1, 0.0), part(1, 2.0), part(1, 0.0), part(0, 9.0), part(1, 1.0)];
    assert_eq!(moves(&parts), [(0, 3, 1), (1, 3, 1), (2, 3, 1), (4, 3, 1)]);
}

#[test]
fn gathered_units_are_not_passed_to_and_fro() {
    // A little more demand at the other part moves nothing: units stay where they are.
    assert_eq!(moves(&[part(3, 10.0), part(0, 15.0)]), []);
    assert_eq!(moves(&[part(3, 10.0), part(0, 25.0)]), [(0, 1, 3)]);
}

#[test]
fn parts_that_all_have_too_few_for_what_is_asked_are_gathered() {
    let short = Load { unmet: 100.0, ..part(5, 100.0) };
    let gathered = moves(&[short; 3]);
    assert_eq!(gathered, [(1, 0, 5), (2, 0, 5)]);
}

/// A planned move takes units that exist, goes to another part, and no pair is planned twice.
#[test]
fn plans_are_sound_whatever_the_parts_hold() {
    let mut seed = 1_u64;
    let mut below = |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    for _ in 0..20_000 {
        let scale = 10_u64.pow(1 + below(5) as u32);
        let mut parts = vec![Load::default(); 2 + below(9) as usize];
        for one in &mut parts {
            one.available = below(scale);
            one.incoming = below(scale) * below(2);
            one.deficit = below(scale) * below(2) * below(2);
            one.demand = below(scale * 100) as f64 * below(2) as f64;
            one.unmet = one.demand * below(2) as f64;
            one.waiting_units = below(9) * below(2) * below(2);
        }
        let plan = plan(&parts, &TIMING);
        for (from, one) in parts.iter().enumerate() {
            let gives: u64 = plan.iter().filter(|t| t.from == from).map(|t| t.units).sum();
            assert!(gives <= one.available, "{parts:?} {plan:?}");
            assert!(gives == 0 || one.deficit + one.waiting_units == 0, "{parts:?} {plan:?}");
        }
        for (at, one) in plan.iter().enumerate() {
            assert!(one.from != one.to && one.units > 0, "{one:?}");
            assert!(!plan[..at].iter().any(|t| (t.from, t.to) == (one.from, one.to)));
        }
    }
}
