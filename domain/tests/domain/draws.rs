//! Drawn amounts follow the published method, favour no place in the queue, and add up to exactly
//! the supply.
//!
//! Everything is seeded, so a test gives the same result every time. The bounds are still those of
//! a random sample (failing in at most one of a thousand), because the draws must look random.

use seckill_domain::decide::decide_new;
use seckill_domain::draw::Draw;
use seckill_domain::limits::{DRAW_AMOUNTS_MAX, GRANTS_MAX, INTEGER_MAX};
use seckill_domain::outcome::{Misuse, Outcome};
use seckill_domain::request::{Amount, Deed, Grab, Init, Now, Request, Settle, Terms, Which};
use seckill_domain::Sale;

use super::random::Random;
use super::rebuild;
use super::world::commit;

const NODE_EPOCH: u64 = 1;
const HOLD: u64 = 50;

fn now(clock_ms: u64) -> Now {
    Now { clock_ms, node_epoch: NODE_EPOCH }
}

/// A sale that draws. `list` is empty unless it draws from a list.
fn created(
    draw: Draw,
    list: &[u64],
    supply: u64,
    secret: u64,
    hold_ms: u64,
) -> Result<Sale, Misuse> {
    let terms = Terms { limit: 0, grabs: 1, hold_ms, kind: Some(draw).into(), ..Terms::default() };
    let mut bytes = [5; 16];
    bytes[..8].copy_from_slice(&secret.to_le_bytes());
    let init = Init { supply, terms, amounts: list.to_vec(), id: 1, secret: bytes };
    decide_new(&init, &now(1), [1, 2]).map(|(_, sale)| sale)
}

fn packets(packets: u64, min: u64, supply: u64, secret: u64) -> Sale {
    created(Draw::Packets { packets, min }, &[], supply, secret, 0).unwrap()
}

/// The amount that the user with this number gets; `None` when nothing is left.
fn draw(sale: &mut Sale, user: u64, clock_ms: u64) -> Option<u64> {
    let user = user.to_string();
    let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
    let decision = sale.decide(&Request::Grab(grab), &now(clock_ms)).unwrap();
    let qty = match decision.outcome {
        Outcome::Granted { grant, .. } => Some(grant.qty),
        Outcome::SoldOut { .. } => None,
        other => panic!("{other:?}"),
    };
    commit(sale, &decision);
    qty
}

/// All amounts of a sale, in order.
fn drained(mut sale: Sale) -> Vec<u64> {
    let amounts: Vec<u64> = (0..).map_while(|user| draw(&mut sale, user, 2)).collect();
    assert_eq!((sale.balances().available, sale.balances().sold), (0, amounts.iter().sum()));
    assert_eq!(sale.audit().differences, []);
    amounts
}

/// The double-mean method known from WeChat's red packets, in its plainest form. A packet is a
/// random share of twice the mean, rounded down to a cent, but at least a cent. The last packet
/// gets the rest.
fn double_mean(random: &mut Random, packets: usize, mut total: u64) -> Vec<u64> {
    let mut amounts = Vec::new();
    for left in (1..=packets as u64).rev() {
        let share = random.below(1 << 30) as f64 / (1u64 << 30) as f64;
        let most = total as f64 / left as f64 * 2.0;
        let amount = if left == 1 { total } else { ((share * most) as u64).max(1) };
        amounts.push(amount);
        total -= amount;
    }
    amounts
}

fn mean(sample: &[u64]) -> f64 {
    sample.iter().sum::<u64>() as f64 / sample.len() as f64
}

fn variance(sample: &[u64]) -> f64 {
    let mean = mean(sample);
    let squares = sample.iter().map(|amount| (*amount as f64 - mean).powi(2));
    squares.sum::<f64>() / (sample.len() - 1) as f64
}

/// The largest distance between the distributions of two samples (Kolmogorov and Smirnov).
fn distance(mut one: Vec<u64>, mut other: Vec<u64>) -> f64 {
    one.sort_unstable();
    other.sort_unstable();
    let share = |sorted: &[u64], value: u64| {
        sorted.partition_point(|amount| *amount <= value) as f64 / sorted.len() as f64
    };
    let at = |value: &u64| (share(&one, *value) - share(&other, *value)).abs();
    one.iter().chain(&other).map(at).fold(0.0, f64::max)
}

/// The chi-square that a uniform sample exceeds with the probability of a normal deviate beyond `z`
/// (Wilson and Hilferty, 1931).
fn chi_square_at(freedom: f64, z: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + z * spread.sqrt()).powi(3)
}

/// Fails when the counts are farther from uniform, or closer to it, than a random sample is.
#[track_caller]
fn assert_uniform(counts: &[u64], what: &str) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum::<f64>();
    let freedom = (counts.len() - 1) as f64;
    let (low, high) = (chi_square_at(freedom, -3.29), chi_square_at(freedom, 3.29));
    assert!((low..high).contains(&chi), "{what}: chi-square {chi}, expected {low} to {high}");
}

/// Many sales of 10 packets of 100.00 yuan. At each position the amounts are distributed like those
/// of the naive method, and all positions have one mean.
// Rules: 8401
#[test]
fn packets_follow_the_double_mean_method() {
    const SALES: u64 = 10_000;
    const PACKETS: usize = 10;
    const TOTAL: u64 = 10_000;
    let mut random = Random(3);
    let drawn: Vec<Vec<u64>> =
        (0..SALES).map(|secret| drained(packets(PACKETS as u64, 1, TOTAL, secret))).collect();
    let naive: Vec<Vec<u64>> =
        (0..SALES).map(|_| double_mean(&mut random, PACKETS, TOTAL)).collect();
    // The two-sample bound that is exceeded once in a thousand times.
    let distance_max = 1.949 * (2.0 / SALES as f64).sqrt();
    for place in 0..PACKETS {
        let at = |all: &[Vec<u64>]| all.iter().map(|amounts| amounts[place]).collect::<Vec<_>>();
        let (drawn, naive) = (at(&drawn), at(&naive));
        let error = (variance(&drawn) / SALES as f64).sqrt();
        let off = (mean(&drawn) - 1000.0).abs();
        assert!(off < 4.0 * error, "place {place}: mean {} +- {error}", mean(&drawn));
        let ratio = variance(&drawn) / variance(&naive);
        assert!((0.9..1.1).contains(&ratio), "place {place}: variances differ by {ratio}");
        let distance = distance(drawn, naive);
        assert!(distance < distance_max, "place {place}: {distance} apart");
    }
}

/// One sale with one secret: the positions of the largest and the smallest packet are spread.
#[test]
fn no_place_has_the_largest_packet_by_rule() {
    let most = |amounts: &[u64]| {
        let largest = amounts.iter().max().unwrap();
        amounts.iter().position(|amount| amount == largest).unwrap()
    };
    let mut counts = [0u64; 5];
    for secret in 0..4000 {
        counts[most(&drained(packets(5, 1, 5000, 1 << 32 | secret)))] += 1;
    }
    // Later packets vary more, so they are the largest more often, but never nearly always.
    assert!(counts.iter().all(|count| (400..1600).contains(count)), "{counts:?}");
}

/// With a fixed secret the amounts of one sale are uniform, and so are pairs of adjacent amounts.
#[test]
fn uniform_amounts_are_uniform() {
    for (low, high) in [(3, 9), (1, 2), (1, 6), (10, 19), (1, 256), (100, 1099), (7, 7)] {
        let size = high - low + 1;
        let draws = 60_000.min(size * 12_000);
        let mut sale = created(Draw::Uniform { low, high }, &[], draws * high, 9, 0).unwrap();
        let mut counts = vec![0u64; size as usize];
        let amounts: Vec<u64> = (0..draws).map(|user| draw(&mut sale, user, 2).unwrap()).collect();
        amounts.iter().for_each(|amount| counts[(amount - low) as usize] += 1);
        if size == 1 {
            assert_eq!(counts, [draws]);
            continue;
        }
        assert_uniform(&counts, &format!("{low}..{high}"));
        if size <= 10 {
            let mut pairs = vec![0u64; (size * size) as usize];
            let places = amounts.chunks_exact(2).map(|pair| (pair[0] - low) * size + pair[1] - low);
            places.for_each(|place| pairs[place as usize] += 1);
            assert_uniform(&pairs, &format!("neighbours in {low}..{high}"));
        }
    }
}

/// Ranges that don't divide the range of a hash, up to the largest possible range.
#[test]
fn huge_ranges_are_uniform_too() {
    for high in [INTEGER_MAX / 3 * 2, INTEGER_MAX] {
        let mut counts = [0u64; 48];
        for secret in 0..400 {
            let mut sale = created(Draw::Uniform { low: 1, high }, &[], INTEGER_MAX, secret, 0);
            let sale = sale.as_mut().unwrap();
            let amount = draw(sale, 0, 2).unwrap();
            counts[(u128::from(amount - 1) * 48 / u128::from(high)) as usize] += 1;
            for user in 1..20 {
                let left = sale.balances().available;
                assert!(draw(sale, user, 2).is_none_or(|amount| amount <= left));
            }
        }
        assert_uniform(&counts, &format!("1..{high}"));
    }
}

/// Every packet is at least `min`, their number is as promised, and their sum is the total. The
/// test includes the smallest possible total, and the largest numbers.
// Rules: 6785 7999
#[test]
fn packets_are_exactly_the_total() {
    for count in [1, 2, 3, 7, 10, 64, 500] {
        for min in [1, 2, 30, 997] {
            for spare in [0, 1, count - 1, count, 12_345, INTEGER_MAX - count * min] {
                let supply = count * min + spare;
                let amounts = drained(packets(count, min, supply, spare ^ count));
                assert_eq!(amounts.len() as u64, count, "{count} x {min} + {spare}");
                assert_eq!(amounts.iter().sum::<u64>(), supply, "{count} x {min} + {spare}");
                assert!(amounts.iter().all(|amount| *amount >= min), "{amounts:?}");
                if spare == 0 {
                    assert!(amounts.iter().all(|amount| *amount == min), "{amounts:?}");
                }
            }
        }
    }
    for (count, supply) in [(1, 1), (1, INTEGER_MAX), (3, 3), (7, 100), (64, INTEGER_MAX)] {
        let amounts = drained(created(Draw::Equal { packets: count }, &[], supply, 1, 0).unwrap());
        let (share, rest) = (supply / count, supply % count);
        let expected = (0..count).map(|place| share + u64::from(place < rest));
        assert_eq!(amounts, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_million_packets_are_exactly_the_total() {
    const COUNT: u64 = 1_000_000;
    const MIN: u64 = 2;
    let supply = COUNT * 10;
    let mut sale = packets(COUNT, MIN, supply, 4);
    let mut sum = 0;
    for user in 0..COUNT {
        let amount = draw(&mut sale, user, 2).unwrap();
        assert!(amount >= MIN, "packet {user} has {amount}");
        sum += amount;
    }
    assert_eq!((sum, sale.balances().packets, sale.balances().available), (supply, Some(0), 0));
    assert_eq!(draw(&mut sale, COUNT, 2), None);
    assert_eq!(sale.audit().differences, []);
}

/// The live amounts of a sale.
fn live(sale: &Sale) -> Vec<u64> {
    let grants = (1..=sale.balances().grants).filter_map(|seq| sale.grant(seq));
    grants.filter(|grant| grant.state.is_live()).map(|grant| grant.qty).collect()
}

/// An action of a user on their newest grant.
fn deed(sale: &mut Sale, user: u64, deed: Deed, clock_ms: u64) {
    let user = user.to_string();
    let newest = sale.grants_of(user.as_bytes()).next().map_or(0, |grant| grant.seq);
    let settle = Settle { user: user.as_bytes(), which: Which::Seq(newest), deed };
    let decision = sale.decide(&Request::Settle(settle), &now(clock_ms)).unwrap();
    commit(sale, &decision);
}

/// A returned amount becomes available together with its packet, whatever the order of returns. In
/// the end every unit is paid out.
#[test]
fn what_is_given_back_is_paid_out_in_the_end() {
    let list = [9, 1, 1, 30, 4, 4, 12, 2];
    let supply = list.iter().sum();
    let draws = [
        (Draw::Packets { packets: 8, min: 3 }, 8),
        (Draw::Equal { packets: 5 }, 5),
        (Draw::list(&list), 8),
    ];
    for (draws_by, count) in draws {
        for seed in 0..60 {
            let is_list = draws_by.is_list();
            let amounts: &[u64] = if is_list { &list } else { &[] };
            let mut sale = created(draws_by, amounts, supply, seed, HOLD).unwrap();
            let mut random = Random(seed);
            let mut clock = 10;
            for _ in 0..200 {
                clock += random.below(12);
                let user = random.below(20);
                match random.below(7) {
                    0 => deed(&mut sale, user, Deed::Cancel, clock),
                    1 => deed(&mut sale, user, Deed::Confirm { reclaim: false }, clock),
                    2 => deed(&mut sale, user, Deed::Confirm { reclaim: true }, clock),
                    3 => deed(&mut sale, user, Deed::Refund, clock),
                    _ if sale.holding_of(user.to_string().as_bytes()).live_grants > 0 => {}
                    _ => _ = draw(&mut sale, user, clock),
                }
                let live = live(&sale);
                let balances = sale.balances();
                assert_eq!(balances.available + live.iter().sum::<u64>(), supply);
                assert_eq!(balances.packets, Some(count - live.len() as u64));
            }
            rebuild::check(&sale).unwrap();
            // Every user with a hold pays; new users take the rest.
            (0..20).for_each(|user| {
                deed(&mut sale, user, Deed::Confirm { reclaim: false }, clock);
            });
            for user in 100.. {
                match draw(&mut sale, user, clock) {
                    None => break,
                    Some(_) => deed(&mut sale, user, Deed::Confirm { reclaim: false }, clock),
                }
            }
            let mut paid = live(&sale);
            assert_eq!((paid.len() as u64, paid.iter().sum::<u64>()), (count, supply));
            if is_list {
                let mut expected = list;
                expected.sort_unstable();
                paid.sort_unstable();
                assert_eq!(paid, expected, "each amount of the list, once");
            }
        }
    }
}

/// The supply that a draw needs: the last accepted number and the first refused one.
#[test]
fn a_draw_that_can_not_be_kept_is_refused() {
    let (most, too_many, too_small) =
        (GRANTS_MAX, Misuse::DrawTooManyPackets, Misuse::DrawSupplyTooSmall);
    let packets = |packets, min| Draw::Packets { packets, min };
    let equal = |packets| Draw::Equal { packets };
    let uniform = |low, high| Draw::Uniform { low, high };
    for (draw, supply, expected) in [
        (packets(most, 1), most, Ok(())),
        (packets(most + 1, 1), most + 1, Err(too_many)),
        (equal(most), most, Ok(())),
        (equal(most + 1), most + 1, Err(too_many)),
        (packets(3, 4), 12, Ok(())),
        (packets(3, 4), 11, Err(too_small)),
        (packets(3, u64::MAX), 11, Err(too_small)),
        (equal(7), 7, Ok(())),
        (equal(7), 6, Err(too_small)),
        (packets(0, 1), 9, Err(Misuse::DrawNoPackets)),
        (equal(0), 9, Err(Misuse::DrawNoPackets)),
        (packets(1, 0), 9, Err(Misuse::DrawMinZero)),
        (uniform(1, 1), 9, Ok(())),
        (uniform(0, 1), 9, Err(Misuse::DrawAmountZero)),
        (uniform(3, 2), 9, Err(Misuse::DrawRangeEmpty)),
    ] {
        assert_eq!(draw.check(supply, &[]), expected, "{draw:?} {supply}");
    }
    let one = |count: u64| vec![1; count as usize];
    for (amounts, supply, expected) in [
        (one(DRAW_AMOUNTS_MAX), DRAW_AMOUNTS_MAX, Ok(())),
        (one(DRAW_AMOUNTS_MAX + 1), DRAW_AMOUNTS_MAX + 1, Err(Misuse::DrawListTooLong)),
        (vec![2, 0], 2, Err(Misuse::DrawAmountZero)),
        (vec![2, 1], 4, Err(Misuse::DrawSumDiffers)),
        (vec![2, u64::MAX], 1, Err(Misuse::DrawSumDiffers)),
        (vec![], 0, Err(Misuse::DrawNoPackets)),
    ] {
        assert_eq!(Draw::list(&amounts).check(supply, &amounts), expected, "{}", amounts.len());
    }
    // INIT asks the draw.
    let made = |draw, amounts: &[u64], supply| created(draw, amounts, supply, 1, 0).map(drop);
    assert_eq!(made(packets(3, 4), &[], 12), Ok(()));
    assert_eq!(made(packets(3, 4), &[], 11), Err(too_small));
    assert_eq!(made(Draw::list(&[5, 1]), &[5, 1], 5), Err(Misuse::DrawSumDiffers));
}
