//! Parses arguments, separated by NULs, with every parser.

#![cfg_attr(fuzzing, no_main)]

use seckill::command::args::Args;
use seckill::command::table::TABLE;
use seckill::command::terms::Options;

seckill_fuzz::target!(check);

fn check(data: &[u8]) {
    let args: Vec<&[u8]> = data.split(|byte| *byte == 0).collect();
    let words = || Args::after_key(&args);
    let _ = Options::of_alter(&mut words());
    if let Ok(options) = Options::of_init(&mut words()) {
        // Parsed terms can be checked for a sale.
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
    let takes_one = |args: &mut Args<'_>, _: &[u8]| Ok(args.option().is_some());
    let _ = (words().which(takes_one), words().which(|_, _| Ok(false)));
    for row in TABLE.iter().flat_map(|spec| spec.args) {
        let (number, id) = (words().number(row), words().id(row));
        assert!(number.is_ok_and(|number| row.accepts(number)) || number.is_err());
        assert!(id.is_ok_and(|id| row.accepts(id.len() as u64)) || id.is_err());
        let _ = (words().delta(row), words().next_number(row));
    }
    let _ = words().take(args.len() / 2);
}
