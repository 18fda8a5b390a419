//! Effects that are altered, spliced or in a wrong place, on empty and full sales. A refused effect
//! changes nothing; otherwise the sale is sound afterwards.

use std::time::Instant;

use seckill_domain::decide::decide_new;
use seckill_domain::request::Now;
use seckill_domain::Sale;

use crate::corpus::{alter, corpus, pick};
use crate::random::Random;
use crate::sim::Sample;
use crate::sound::{assert_sound, try_apply};
use crate::{long, seed, Figures};

/// A sale with the sample's terms and no change but INIT. `None` for DRAW LIST, whose amounts are
/// unknown.
fn emptied(sample: &Sample) -> Option<Sale> {
    let terms = sample.sale.terms().clone();
    let init = seckill_domain::request::Init {
        supply: sample.sale.balances().supply,
        terms,
        amounts: Vec::new(),
        id: 77,
        secret: [7; 16],
    };
    decide_new(&init, &Now { clock_ms: 1_000_000, node_epoch: 1 }, [1, 2])
        .ok()
        .map(|(_, sale)| sale)
}

pub fn apply(sales: &[Sample], rounds: u64, seed: u64) -> Figures {
    let mut random = Random(seed);
    let texts = |sample: &Sample| sample.texts.iter().map(|(_, text)| text.clone()).collect();
    let all: Vec<Vec<Vec<u8>>> =
        sales.iter().map(texts).filter(|t: &Vec<_>| !t.is_empty()).collect();
    let empty: Vec<Sale> = sales.iter().filter_map(emptied).collect();
    assert!(empty.len() > sales.len() / 2);
    let mut figures = Figures::default();
    for round in 0..rounds {
        let mut sale = match random.below(4) {
            0 => pick(&mut random, &empty).clone(),
            _ => pick(&mut random, sales).sale.clone(),
        };
        let known = pick(&mut random, &all);
        let mut batch: Vec<Vec<u8>> =
            (0..1 + random.below(3)).map(|_| pick(&mut random, known).clone()).collect();
        if random.below(4) > 0 {
            alter(&mut batch, pick::<Vec<_>>(&mut random, &all), &mut random);
        }
        let how = format!("seed {seed}, round {round}");
        let version = sale.balances().version;
        let is_taken = try_apply(&mut sale, version, &batch.iter().collect::<Vec<_>>(), &how);
        if is_taken {
            assert_sound(&sale, &how);
        }
        figures.note(is_taken);
    }
    figures
}

#[test]
fn altered_effects() {
    let figures = apply(&corpus(1), 20_000, 1);
    assert!(figures.taken > 1000 && figures.refused > 5000, "{figures:?}");
}

#[test]
#[ignore = "long: make fuzz"]
fn long_altered_effects() {
    let (sales, since) = (corpus(seed()), Instant::now());
    apply(&sales, long(1_000_000), seed()).print("effects", since);
}
