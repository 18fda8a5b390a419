//! Loads altered snapshots, as a dump and as a rewritten AOF: each is refused or gives a sound
//! sale.

#![cfg_attr(fuzzing, no_main)]

use seckill_model::{rebuild, sound};

seckill_fuzz::target!(check);

fn check(data: &[u8]) {
    seckill_fuzz::with_choice(data, |_, sample, rest| {
        sound::try_load(&seckill_fuzz::altered(rebuild::dump(&sample.sale), rest), "a dump");
        let log = rebuild::log(&sample.sale).into_iter().map(|(_, text)| text).collect();
        let log = seckill_fuzz::altered(log, rest);
        if !log.is_empty() {
            sound::try_follow(&log, "a log");
        }
    });
}
