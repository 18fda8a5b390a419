//! Loads altered snapshots, as a dump and as a rewritten log: what is not refused is a sound sale.

#![no_main]

#[path = "common.rs"]
mod common;

use common::domain::{oracle, random, rebuild, sound, world};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    common::with_choice(data, |_, sample, rest| {
        sound::try_load(&common::altered(rebuild::dump(&sample.sale), rest), "a dump");
        let log = rebuild::log(&sample.sale).into_iter().map(|(_, text)| text).collect();
        let log = common::altered(log, rest);
        if !log.is_empty() {
            sound::try_follow(&log, "a log");
        }
    });
});
