//! A sale that keeps very many rounds, each because of one hold, beside a sale that keeps few.
//! Measures commands whose cost must not depend on the number of rounds.

use seckill_crowd::screen::thousands;

use super::stall::scenes;
use super::Bench;
use crate::contenders::{GRANTED, MODULE, SALE, USER};
use crate::control::Control;
use crate::figures::US;
use crate::load::{send, Request, PIPELINED};
use crate::rows::{Rows, DIRECT};

/// Number of rounds that the small sale keeps.
const FEW: u64 = 10;
const MANY: u64 = 10_000;

/// Grants in the current round of both sales. WINNERS lists them after the grants of older rounds.
const GRANTS: u64 = 2_000;

/// The command, its name in INFO COMMANDSTATS, and how often a turn sends it.
const ASKED: [(&str, &str, u64); 4] = [
    ("GRAB", "SECKILL.GRAB", 20_000),
    ("USER", "SECKILL.USER", 20_000),
    ("STATUS", "SECKILL.STATUS", 20_000),
    ("WINNERS COUNT 1000", "SECKILL.WINNERS", 200),
];

fn case(what: &str, rounds: u64) -> String {
    format!("{what} with {rounds} rounds kept")
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    bench.step("rounds that are kept", 0);
    let mut sales = Vec::new();
    for rounds in [FEW, MANY] {
        let control = scenes::rounds(bench, rounds)?;
        send(control.port(), &request("GRAB", "more:000number000"), 0..GRANTS, PIPELINED)?;
        sales.push((rounds, control));
    }
    for turn in 0..bench.plan.rounds as u64 {
        bench.step("rounds that are kept", turn as usize);
        for (what, command, calls) in ASKED {
            for (rounds, control) in &mut sales {
                let took = ask(control, (what, command), turn * calls..(turn + 1) * calls)?;
                bench.figures.add(&case(what, *rounds), MODULE, US, took);
            }
        }
    }
    Ok(())
}

/// Microseconds of server time for one call of this command.
fn ask(
    control: &mut Control,
    (what, command): (&str, &str),
    numbers: std::ops::Range<u64>,
) -> Result<f64, String> {
    control.tell(&["CONFIG", "RESETSTAT"])?;
    send(control.port(), &request(what, USER), numbers, PIPELINED)?;
    control.call_us(command)
}

fn request(what: &str, user: &str) -> Request {
    match what {
        "GRAB" => Request::new(&["SECKILL.GRAB", SALE, user], GRANTED),
        "USER" => Request::new(&["SECKILL.USER", SALE, user], "*3"),
        "STATUS" => Request::new(&["SECKILL.STATUS", SALE], "*"),
        _ => Request::new(&["SECKILL.WINNERS", SALE, "0", "COUNT", "1000"], "*2"),
    }
}

pub fn rows(rows: &mut Rows<'_>) {
    for (what, ..) in ASKED {
        let most = if what.starts_with("WINNERS") { 1.5 } else { 2.0 };
        let [few, many] = [FEW, MANY].map(|rounds| case(what, rounds));
        let took = rows.beside((&many, MODULE), US);
        let name = format!("{what}, {} rounds kept", thousands(MANY));
        let figure = format!("server time, divided by that with {FEW}; us");
        let both = (US, (&*many, MODULE), (&*few, MODULE));
        rows.ratio((&name, &figure), DIRECT, most, both).note = took;
    }
}
