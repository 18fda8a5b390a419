//! GRABs that take nothing: sold out, already won, sent again. Random users, and sales of one
//! winner (instructions bound it), of a small and of a middle size (memory does); the large one is
//! measured where it is grown.

use super::Bench;
use crate::contenders::{
    script, Kind, ALREADY, INCR, LATE, LUA, PLENTY, REPLAY, SALE, SOLDOUT, TAKEN, USER,
};
use crate::control::Control;
use crate::load::{Load, USERS};
use crate::sender::{self, Template, PIPELINED};

/// Nobody else has won, so everything that is looked at stays in the processor's cache.
pub const ONE: u64 = 1;

/// The case of a size.
pub fn case(winners: u64) -> String {
    match winners {
        ONE => "refused, 1 winner".to_owned(),
        _ => format!("refused, {winners} winners"),
    }
}

/// One contender: a server that is set up, and what it is asked.
struct Seat {
    name: &'static str,
    control: Control,
    words: Vec<String>,
    load: Load,
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [small, middle, _] = bench.plan.sizes;
    for winners in [ONE, small, middle] {
        let case = case(winners);
        let mut seats = seats(bench, winners)?;
        for _ in 0..bench.plan.rounds {
            for seat in &mut seats {
                bench.step(&case, seat.name);
                let rate = seat.load.run(&mut seat.control, &seat.words)?;
                seat.control.check_no_errors()?;
                rate.note(&mut bench.figures, &case, seat.name);
            }
        }
    }
    Ok(())
}

fn seats(bench: &Bench, winners: u64) -> Result<Vec<Seat>, String> {
    let plan = bench.plan;
    let all = Load::pipelined(plan.calls);
    let won = Load { users: winners, ..all };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut seats = Vec::new();
    for kind in [Kind::Incr, Kind::Noop, Kind::FloorSoldOut, Kind::FloorAlready] {
        let mut control = kind.start(&bench.modules, &[])?;
        let words = kind.prepare(&mut control)?;
        seats.push(Seat { name: kind.name(), control, words, load: all });
    }
    for (name, request, load) in [
        (SOLDOUT, words(&["SECKILL.GRAB", SALE, LATE]), all),
        (ALREADY, words(&["SECKILL.GRAB", SALE, USER]), won),
    ] {
        let control = sold_out(bench, winners, &["SECKILL.GRAB", SALE, USER])?;
        seats.push(Seat { name, control, words: request, load });
    }
    // The rest is far from any bound, so one winner would show nothing.
    if winners == ONE {
        return Ok(seats);
    }
    seats.push(late_script(bench, winners)?);
    let again = ["SECKILL.GRAB", SALE, USER, "REQ", "order"];
    let control = sold_out(bench, winners, &again)?;
    seats.push(Seat { name: REPLAY, control, words: words(&again), load: won });
    Ok(seats)
}

/// The script in a sale like that.
fn late_script(bench: &Bench, winners: u64) -> Result<Seat, String> {
    let mut control = Kind::Script.start(&bench.modules, &[])?;
    let words = script(Kind::Script, &mut control, "0", LATE)?;
    let taken = Template::new(&[&["HSET", TAKEN, USER, "1700000000000"]]);
    sender::send(control.port(), &taken, sender::shuffled(winners), PIPELINED)?;
    let load = Load::pipelined(bench.plan.script_calls);
    Ok(Seat { name: LUA, control, words, load })
}

/// A sale in which the users below `winners` have won all there was.
pub fn sold_out(bench: &Bench, winners: u64, grab: &[&str]) -> Result<Control, String> {
    let mut control = Kind::Grab.start(&bench.modules, &[])?;
    control.tell(&["SECKILL.INIT", SALE, &winners.to_string()])?;
    sender::send(control.port(), &Template::new(&[grab]), sender::shuffled(winners), PIPELINED)?;
    Ok(control)
}

/// Both refusals of a large sale that is there, with INCR beside them. Its winners are spread over
/// all users, where redis-benchmark does not find them, so the load is our own for all three.
pub fn of_large(bench: &mut Bench, control: &mut Control, winners: u64) -> Result<(), String> {
    let case = case(winners);
    control.tell(&["SECKILL.RESTOCK", SALE, &format!("-{PLENTY}"), "REQ", "end"])?;
    let calls = bench.plan.calls as usize;
    for round in 0..bench.plan.rounds {
        for (name, words) in [
            (INCR, &["INCR", "count"] as &[&str]),
            (SOLDOUT, &["SECKILL.GRAB", SALE, LATE]),
            (ALREADY, &["SECKILL.GRAB", SALE, USER]),
        ] {
            bench.step(&case, name);
            // Places in the order of the winners, so that every one of them has won.
            let places = sender::random(round as u64, winners);
            let users = places.map(|at| sender::spread_at(at, USERS)).take(calls);
            let rate = sender::measure(control, &Template::new(&[words]), users, PIPELINED)?;
            control.check_no_errors()?;
            rate.note(&mut bench.figures, &case, name);
        }
    }
    Ok(())
}
