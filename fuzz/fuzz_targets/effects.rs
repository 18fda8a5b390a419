//! Applies altered effects to a sale: refused without a trace, or the sale is sound afterwards.

#![no_main]

#[path = "common.rs"]
mod common;
#[path = "../../tests/domain"]
#[allow(dead_code, reason = "the tests of the domain use more of it")]
mod domain {
    #[path = "../support/random.rs"]
    pub mod random;

    pub mod oracle;
    pub mod rebuild;
    pub mod sound;
    pub mod world;
}
#[path = "../../examples/sim/mod.rs"]
#[allow(dead_code, unused_imports, reason = "only samples are taken")]
mod sim;

use std::cell::LazyCell;

use domain::{oracle, random, rebuild, world};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static CORPUS: LazyCell<Vec<sim::Sample>> = LazyCell::new(common::corpus);
}

fuzz_target!(|data: &[u8]| {
    CORPUS.with(|corpus| {
        let Some((sample, rest)) = common::choose(corpus, data) else { return };
        let Some((from, [place, rest @ ..])) = common::choose(corpus, rest) else { return };
        // Up to three effects in a row of another sale's history.
        let texts = from.texts.iter().skip(usize::from(*place) % from.texts.len().max(1)).take(3);
        let texts = common::altered(texts.map(|(_, text)| text.clone()).collect(), rest);
        let mut sale = sample.sale.clone();
        let version = sale.core().version;
        if domain::sound::try_apply(
            &mut sale,
            version,
            &texts.iter().collect::<Vec<_>>(),
            "effects",
        ) {
            domain::sound::assert_sound(&sale, "effects");
        }
    });
});
