//! `SECKILL.ROUNDS key [COUNT n]`: totals of the last rounds of a sale with EVERY.

use super::args::{Args, Parsed};
use super::errors;
use super::pipeline;
use super::vocabulary::{self, Arg, Spec};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::limits::ROUND_TOTALS_MAX;
use seckill_domain::Sale;

const COUNT: Arg = vocabulary::COUNT
    .takes(1, ROUND_TOTALS_MAX as u64)
    .about("rounds at most, 1 to 100 (default 100)");

pub const SPEC: Spec = Spec {
    name: "SECKILL.ROUNDS",
    arity: -2,
    summary: "Lists the totals of the last rounds, the current one first",
    complexity: "O(N) where N is COUNT",
    args: &[vocabulary::KEY, COUNT],
    reply: "An array of `[round, supply, sold, winners]`, newest first; empty for a sale without \
        EVERY.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE],
    example: "SECKILL.ROUNDS hourly COUNT 10",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    let count = parse(call.args());
    pipeline::show(call, count, write);
}

fn parse(args: &[&[u8]]) -> Parsed<usize> {
    let mut args = Args::after_key(args);
    let count = args.last_count(&COUNT)?;
    Ok(count.map_or(ROUND_TOTALS_MAX, |count| count as usize))
}

fn write(sale: &Sale, count: usize, out: Reply<'_>) {
    let totals = || sale.round_totals().take(count);
    out.array(totals().count());
    for total in totals() {
        out.array(4);
        out.number(total.round);
        out.number(total.supply);
        out.number(total.sold);
        out.number(total.winners);
    }
}
