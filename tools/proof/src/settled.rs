//! Laws after the last fault: a balancer that runs undisturbed finds every unit.

use seckill_balance::{made_twice, plan, tell, under_way, Load, Reading, Timing};

use super::part::{Part, Tell};
use super::state::State;
use super::{pairs, repair, Broken, Config};

/// More passes than any state needs.
const PASSES_MAX: usize = 12;

/// Runs a balancer and a repair without faults until nothing changes. Then all pairs must agree, no
/// unit may be lost or doubled, and each part must be right about the others.
pub fn settles(config: &Config, state: &State) -> bool {
    let mut quiet = state.clone();
    for _ in 0..repair::steps(config) {
        repair::step(config, &mut quiet);
    }
    let mut parts: Vec<Part> = quiet.parts.iter().flatten().copied().collect();
    let comes_to_rest = (0..PASSES_MAX).any(|_| {
        let before = parts.clone();
        pass(config, &mut parts);
        parts == before
    });
    comes_to_rest && is_settled(config, quiet.sold(), &parts)
}

fn readings(parts: &[Part]) -> Vec<Reading> {
    parts.iter().map(Part::reading).collect()
}

/// One pass as in the program: units made twice are owed, moved units are received, deficits are
/// filled, and parts are notified.
fn pass(config: &Config, parts: &mut [Part]) {
    let broken = config.broken.filter(|broken| *broken != Broken::ReadApart);
    for (from, to) in pairs() {
        let (source, peer) = (parts[from].reading(), parts[to].reading());
        if let Some(total) = made_twice((from, &source), (to, &peer)) {
            parts[from].send(to, total as u8, true, broken);
        }
    }
    arrive(parts);
    let load = |part: &Part| Load {
        available: u64::from(part.available),
        deficit: u64::from(part.deficit),
        ..Load::default()
    };
    let loads: Vec<Load> = parts.iter().map(load).collect();
    for one in plan(&loads, &Timing { interval: 0.01, round_trip: 0.001 }) {
        let total = parts[one.from].sent[one.to] + one.units as u8;
        parts[one.from].send(one.to, total, false, broken);
    }
    arrive(parts);
    for one in tell(&readings(parts)) {
        parts[one.part].tell(&Tell::of(&one, 0, 0), broken);
    }
}

fn arrive(parts: &mut [Part]) {
    for one in under_way(&readings(parts)) {
        parts[one.to].receive(one.from, one.total as u8, None);
    }
}

fn is_settled(config: &Config, sold: u8, parts: &[Part]) -> bool {
    let totals = seckill_balance::totals(&readings(parts));
    let agrees = totals.under_way + totals.made_twice == 0;
    // Every oversold unit is a deficit, and a deficit remains only if no part has units.
    let put_in = u64::from(config.total);
    let is_exact = totals.put_in == i64::from(config.total)
        && totals.available + u64::from(sold) == put_in + totals.deficit
        && (totals.deficit == 0 || totals.available == 0);
    let knows = parts.iter().all(|part| {
        let outside = totals.available - u64::from(part.available);
        (part.elsewhere == 0) == (totals.available == 0) || (outside == 0 && part.elsewhere == 0)
    });
    agrees && is_exact && knows
}
