//! Applies altered effects to a sale: it refuses them and stays unchanged, or is sound afterwards.

#![cfg_attr(fuzzing, no_main)]

use seckill_model::sound;

seckill_fuzz::target!(check);

fn check(data: &[u8]) {
    seckill_fuzz::with_choice(data, |corpus, sample, rest| {
        let Some((from, [place, rest @ ..])) = seckill_fuzz::choose(corpus, rest) else { return };
        // Up to three consecutive effects of another sale's history.
        let texts = from.texts.iter().skip(usize::from(*place) % from.texts.len().max(1)).take(3);
        let texts = seckill_fuzz::altered(texts.map(|(_, text)| text.clone()).collect(), rest);
        let mut sale = sample.sale.clone();
        let version = sale.balances().version;
        let texts: Vec<&Vec<u8>> = texts.iter().collect();
        if sound::try_apply(&mut sale, version, &texts, "effects") {
            sound::assert_sound(&sale, "effects");
        }
    });
}
