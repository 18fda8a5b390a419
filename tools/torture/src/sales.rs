//! The sales of an episode.

use crate::crowd::Open;
use crate::draws::Draw;
use crate::history::{Kind, Limits, List, Terms};
use seckill_random::Random;

fn some(random: &mut Random, from: u64, to: u64) -> u64 {
    from + random.below(to - from)
}

/// Seven sales: with many users, with few units, without an end, with drawn amounts, with rounds,
/// with a waiting list, and with seats.
pub fn new(random: &mut Random) -> Vec<Open> {
    let crowded = Terms {
        supply: some(random, 300, 3_000),
        limits: limits(random.below(5), random.below(3), some(random, 100, 1_200)),
        kind: Kind::Plain,
    };
    let scarce = Terms {
        supply: some(random, 1, 40),
        limits: limits(some(random, 1, 4), 0, some(random, 20, 400)),
        kind: Kind::Plain,
    };
    let endless = Terms { supply: 10_000_000, limits: limits(1, 0, 0), kind: Kind::Plain };
    let (supply, draw) = drawn(random);
    let drawn = Terms {
        supply,
        limits: limits(0, 1 + random.below(2), some(random, 50, 600)),
        kind: Kind::Drawn(draw),
    };
    let every_ms = some(random, 1_500, 3_000);
    let lasts_ms = every_ms - random.below(2) * every_ms / 4;
    let rounds = Terms {
        supply: some(random, 20, 300),
        limits: limits(some(random, 1, 4), 0, some(random, 50, 900)),
        kind: Kind::Rounds { every_ms, lasts_ms },
    };
    let (max, offer_ms) = (some(random, 5, 65), some(random, 20, 200));
    let listed = Terms {
        supply: some(random, 2, 30),
        limits: limits(some(random, 0, 5), 0, some(random, 20, 400)),
        // Short offers, so that unpaid units go to the next waiter.
        kind: Kind::Listed(List { max, offer_ms, overtake: random.below(4) }),
    };
    let seats = Terms {
        supply: some(random, 20, 200),
        limits: limits(some(random, 0, 5), 0, some(random, 20, 400)),
        kind: Kind::Numbered,
    };
    let sales = [
        ("crowded", crowded, 400),
        ("scarce", scarce, 60),
        ("endless", endless, 1 << 40),
        ("drawn", drawn, 300),
        ("rounds", rounds, 150),
        ("listed", listed, 120),
        ("seats", seats, 120),
    ];
    sales.map(|(key, terms, users)| Open { key: key.into(), terms, users }).to_vec()
}

fn limits(limit: u64, grabs: u64, hold_ms: u64) -> Limits {
    Limits { limit, grabs, hold_ms, close_at: 0 }
}

/// The amounts that a sale draws, and its whole budget.
fn drawn(random: &mut Random) -> (u64, Draw) {
    let packets = some(random, 20, 300);
    match random.below(4) {
        0 => {
            let min = some(random, 1, 4);
            (packets * min + random.below(packets * 20), Draw::Packets { packets, min })
        }
        1 => (packets + random.below(packets * 5), Draw::Equal { packets }),
        2 => {
            let amounts: Vec<u64> = (0..packets).map(|_| some(random, 1, 9)).collect();
            (amounts.iter().sum(), Draw::List(amounts))
        }
        _ => {
            let low = some(random, 1, 5);
            (packets * 5, Draw::Uniform { low, high: low + random.below(9) })
        }
    }
}
