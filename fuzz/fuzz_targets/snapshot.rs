//! Loads altered snapshots, as a dump and as a rewritten log: what is not refused is a sound sale.

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
        domain::sound::try_load(&common::altered(rebuild::dump(&sample.sale), rest), "a dump");
        let log = rebuild::log(&sample.sale).into_iter().map(|(_, text)| text).collect();
        let log = common::altered(log, rest);
        if !log.is_empty() {
            domain::sound::try_follow(&log, "a log");
        }
    });
});
