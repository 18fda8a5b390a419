//! Cost of the server's own commands with the module and without it. Two equal servers differ a
//! little, too. So two servers run without the module, and one of them is the control.

use super::Bench;
use crate::contenders::SALE;
use crate::control::Control;
use crate::figures::SERVER_US;
use crate::load::{spread, Request, PIPELINED, USERS};
use crate::rows::{Bar, Rows, LOADED};

const WITH: &str = "with the module";
const WITHOUT: &str = "without";
const CONTROL: &str = "without, again";

const COMMANDS: [&str; 3] = ["GET", "SET", "INCR"];

fn case(command: &str) -> String {
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
                _ => Control::start(&[], None, &[])?,
            };
            if who == WITH {
                control.tell(&["SECKILL.INIT", SALE, "1000", "HOLD", "900000"])?;
                control.tell(&["SECKILL.GRAB", SALE, "somebody"])?;
            }
            control.tell(&["SET", "text", "abc"])?;
            for (command, request) in COMMANDS.iter().zip(&requests) {
                let numbers = spread(bench.plan.calls, USERS);
                bench.measure((&case(command), who), &mut control, request, numbers, PIPELINED)?;
            }
        }
        // In the next round another server comes first.
        order.rotate_left(1);
    }
    Ok(())
}

/// The control: the largest difference between two servers without the module.
pub fn rows(rows: &mut Rows<'_>) {
    for command in COMMANDS {
        let case = case(command);
        let to_plain = |who| rows.figures.ratio(SERVER_US, (&case, who), (&case, WITHOUT));
        let apart = to_plain(CONTROL)
            .map(|control| (control.most - 1.0).abs().max((control.least - 1.0).abs()));
        let found = to_plain(WITH);
        let setting = format!("no AOF, {}", LOADED);
        let figure = "server time with the module, divided by without; control";
        let row = rows.add((&case, figure), &setting, apart.map(Bar::Near), found);
        row.bar = "within the control".to_owned();
        row.note = apart.map_or_else(String::new, |apart| format!("; 1 ± {apart:.2}"));
    }
}
