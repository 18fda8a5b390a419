//! Cost of the server's own commands with the module and without it. Two equal servers differ a
//! little, too. So two servers run without the module, and one of them is the control.

use super::Bench;
use crate::contenders::SALE;
use crate::control::Control;
use crate::load::{measure, spread, Request, PIPELINED, USERS};

pub const WITH: &str = "with the module";
pub const WITHOUT: &str = "without";
pub const CONTROL: &str = "without, again";

pub const COMMANDS: [&str; 3] = ["GET", "SET", "INCR"];

/// The name of the case for a command.
pub fn case(command: &str) -> String {
    format!("{command} of others")
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let requests = [
        Request::new(&["GET", "text"], "$3\r\nabc"),
        Request::new(&["SET", "other:000number000", "abc"], "+OK"),
        Request::new(&["INCR", "count"], ":"),
    ];
    let mut order = [WITHOUT, WITH, CONTROL];
    for round in 0..bench.plan.many_rounds {
        bench.step("commands of others", round);
        for who in order {
            let mut control = match who {
                WITH => bench.server(&[])?,
                _ => Control::start(None, &[])?,
            };
            if who == WITH {
                control.tell(&["SECKILL.INIT", SALE, "1000", "HOLD", "900000"])?;
                control.tell(&["SECKILL.GRAB", SALE, "somebody"])?;
            }
            control.tell(&["SET", "text", "abc"])?;
            for (command, request) in COMMANDS.iter().zip(&requests) {
                let numbers = spread(bench.plan.calls, USERS);
                let rate = measure(&mut control, request, numbers, PIPELINED)?;
                rate.note(&mut bench.figures, &case(command), who);
            }
        }
        // In the next round another server comes first.
        order.rotate_left(1);
    }
    Ok(())
}
