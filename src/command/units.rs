//! `SECKILL.UNITS key first [COUNT n]`: the state of numbered units: free, held or sold.
//! `SECKILL.UNIT key u`: the grant that has one unit.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline, reply};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::limits::{INTEGER_MAX, UNITS_SHOWN_DEFAULT};
use seckill_domain::outcome::Misuse;
use seckill_domain::Sale;

const FIRST: Arg = Arg::new("first", ArgKind::Integer)
    .takes(1, INTEGER_MAX)
    .about("the first number to show, counted from 1");
const UNIT: Arg =
    Arg::new("unit", ArgKind::Integer).takes(1, INTEGER_MAX).about("the number of a unit");
const COUNT: Arg = vocabulary::COUNT.about("numbers at most, 1 to 10000 (default 1000)");

pub const UNITS: Spec = Spec {
    name: "SECKILL.UNITS",
    arity: -3,
    summary: "Shows which numbered units are free, held and sold",
    complexity: "O(N) where N is COUNT",
    args: &[vocabulary::KEY, FIRST, COUNT],
    reply: "A bulk string with one character for each number from `first` on: `.` free, `h` held, \
        `s` sold. It ends with the last number, so beyond that it is empty.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, Misuse::NotNumbered.text()],
    example: "SECKILL.UNITS hall 11 COUNT 10",
    ..vocabulary::reader(units)
};

pub const OWNER: Spec = Spec {
    name: "SECKILL.UNIT",
    arity: 3,
    flags: "readonly fast",
    acl: "read fast",
    summary: "Shows the grant that has a numbered unit",
    complexity: "O(log N) where N is the number of units",
    args: &[vocabulary::KEY, UNIT],
    reply: "The row of the live grant that has it, or null if it is free or there is no such unit.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, Misuse::NotNumbered.text()],
    example: "SECKILL.UNIT hall 17",
    ..vocabulary::reader(unit)
};

fn units(call: &mut Call<'_>) {
    let asked = parse_units(call.args());
    pipeline::show(call, asked, |sale, (first, count), out| write_units(sale, first, count, out));
}

/// The first number to show, and the count.
fn parse_units(args: &[&[u8]]) -> Parsed<(u64, u64)> {
    let mut args = Args::after_key(args);
    let first = args.number(&FIRST)?;
    let count = args.last_count(&COUNT)?;
    Ok((first, count.unwrap_or(UNITS_SHOWN_DEFAULT)))
}

fn write_units(sale: &Sale, first: u64, count: u64, out: Reply<'_>) {
    match sale.units_from(first, count) {
        Some(states) => out.bulk(states),
        None => out.error(Misuse::NotNumbered.text()),
    }
}

fn unit(call: &mut Call<'_>) {
    let unit = parse_unit(call.args());
    pipeline::show(call, unit, |sale, unit, out| match sale.numbers() {
        None => out.error(Misuse::NotNumbered.text()),
        Some(_) => match sale.holder_of(unit) {
            Some(grant) => reply::row(out, sale, &grant),
            None => out.null(),
        },
    });
}

fn parse_unit(args: &[&[u8]]) -> Parsed<u64> {
    let mut args = Args::after_key(args);
    let unit = args.number(&UNIT)?;
    args.end()?;
    Ok(unit)
}
