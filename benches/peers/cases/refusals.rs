//! GRABs that take nothing: sold out, already won, sent again. Random users, and sales of a small
//! and a middle size; the large one is measured where it is grown.

use super::Bench;
use crate::contenders::{
    script, Kind, ALREADY, INCR, LATE, LUA, PLENTY, REPLAY, SALE, SOLDOUT, TAKEN, USER,
};
use crate::control::Control;
use crate::load::{Load, USERS};
use crate::sender::{self, Template, PIPELINED};

/// The case of a size.
pub fn case(winners: u64) -> String {
    format!("refused, {winners} winners")
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
    for winners in [small, middle] {
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
    for kind in [Kind::Incr, Kind::Noop] {
        let mut control = kind.start(&bench.modules, &[])?;
        let words = kind.prepare(&mut control)?;
        seats.push(Seat { name: kind.name(), control, words, load: all });
    }
    let mut control = Kind::Script.start(&bench.modules, &[])?;
    let late = script(Kind::Script, &mut control, "0", LATE)?;
    let taken = Template::new(&[&["HSET", TAKEN, USER, "1700000000000"]]);
    sender::send(control.port(), &taken, sender::shuffled(winners), PIPELINED)?;
    let load = Load { requests: plan.script_calls, ..all };
    seats.push(Seat { name: LUA, control, words: late, load });
    for (name, request, load) in [
        (SOLDOUT, words(&["SECKILL.GRAB", SALE, LATE]), all),
        (ALREADY, words(&["SECKILL.GRAB", SALE, USER]), won),
    ] {
        let control = sold_out(bench, winners, &["SECKILL.GRAB", SALE, USER])?;
        seats.push(Seat { name, control, words: request, load });
    }
    let again = ["SECKILL.GRAB", SALE, USER, "REQ", "order"];
    let control = sold_out(bench, winners, &again)?;
    seats.push(Seat { name: REPLAY, control, words: words(&again), load: won });
    Ok(seats)
}

/// A sale in which the users below `winners` have won all there was.
fn sold_out(bench: &Bench, winners: u64, grab: &[&str]) -> Result<Control, String> {
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
