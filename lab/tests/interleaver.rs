//! Ten contenders without SQL in the interleaver: each must show exactly the faults that it is
//! marked with.

use std::time::{Duration, Instant};

use seckill_harness::program::module_file;
use seckill_lab::interleave::explore::prove;
use seckill_lab::interleave::stage::Stage;
use seckill_lab::servers::Servers;
use seckill_lab::strategies::chosen;
use seckill_lab::told::{Fault, Maker};

/// One row for each kind of fault, and rows without faults.
const TEN: [&str; 10] = ["R02", "R05", "R08", "R10b", "R14", "R18", "L06", "L09", "P01", "S01"];
const SCHEDULES: usize = 300;
const AT_MOST: Duration = Duration::from_secs(20);

#[test]
fn ten_contenders_break_or_hold_as_they_are_marked() {
    let begun = Instant::now();
    let module = module_file(None).expect("a module");
    let servers = Servers::start(&module, 32, None).expect("a server");
    let mut stage = Stage::new(&servers).expect("a stage");
    let names = TEN.map(str::to_owned);
    let rows = chosen(&names).expect("ten rows");
    assert_eq!(rows.len(), TEN.len());
    for row in rows {
        let proof = prove(&mut stage, row, SCHEDULES).expect("schedules are played");
        assert_eq!(proof.contradictions(row, Maker::MariaDb), Vec::<String>::new());
    }
    assert!(begun.elapsed() < AT_MOST, "it took {:?}", begun.elapsed());
}

/// The shortest counter-example of row 34 is that of the textbooks.
#[test]
fn the_shortest_schedule_of_check_then_act_has_four_steps() {
    let module = module_file(None).expect("a module");
    let servers = Servers::start(&module, 32, None).expect("a server");
    let mut stage = Stage::new(&servers).expect("a stage");
    let rows = chosen(&["R02".to_owned()]).expect("a row");
    let proof = prove(&mut stage, rows[0], SCHEDULES).expect("schedules are played");
    let oversold = proof.findings.iter().find(|f| f.fault == Fault::Oversold);
    let text = oversold.expect("it oversells").timeline.text();
    assert_eq!(
        text,
        "stock 1\n\
         step A                 B\n\
         \x20 1  GET goods -> 1\n\
         \x20 2                    GET goods -> 1\n\
         \x20 3                    DECR goods -> 0\n\
         \x20                      told: yours\n\
         \x20 4  DECR goods -> -1\n\
         \x20    told: yours\n\
         end: 2 told \"yours\" of 1; the stock says -1\n"
    );
}
