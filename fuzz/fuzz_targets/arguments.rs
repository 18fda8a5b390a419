//! Reads arguments, which NULs divide, as every parser would.

#![cfg_attr(fuzzing, no_main)]

use seckill::command::args::Args;
use seckill::command::options::{outbox_index, Options};

seckill_fuzz::target!(check);

fn check(data: &[u8]) {
    let args: Vec<&[u8]> = data.split(|byte| *byte == 0).collect();
    let words = || Args::after_key(&args);
    for first in 0..3 {
        assert!(outbox_index(&args, first).is_none_or(|place| place < args.len()));
    }
    if let Ok(options) = Options::parse(&mut words()) {
        // What was read can be asked whether it can be kept.
        let _ = seckill_domain::request::Terms::default().altered(&options.change).check();
        if let Some(draw) = &options.draw {
            let _ = draw.check(
                options.amounts.iter().copied().fold(0, u64::saturating_add),
                &options.amounts,
            );
        }
        if let Some(schedule) = &options.schedule {
            let _ = schedule.check();
        }
    }
    let _ = (words().which(true), words().which(false));
    let (integer, delta) = (words().integer(), words().delta());
    assert!(integer.is_err() || delta.is_ok() || integer == Ok(0));
    let (user, req) = (words().user(), words().req());
    assert!(req.is_err() || user.is_ok());
    let _ = (words().count_up_to(30), words().outbox(), words().take(args.len() / 2));
}
