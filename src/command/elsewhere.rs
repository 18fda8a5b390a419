//! `SECKILL.ELSEWHERE key id n pass`: what the other parts of a split may still have.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use seckill_domain::request::{Elsewhere, Request};

pub const SPEC: Spec = Spec {
    name: "SECKILL.ELSEWHERE",
    arity: 5,
    summary: "Tells a part how many units the others may still have",
    args: &[
        vocabulary::KEY,
        vocabulary::SPLIT,
        Arg::new("n", ArgKind::Integer)
            .about("units; while it is not 0, who finds nothing is told that some may come"),
        Arg::new("pass", ArgKind::Integer)
            .about("of the pass over all parts that found it: 1 more than the greatest it read"),
    ],
    reply: "`[n, pass]` as they now stand. Only a pair that is above the present one, by its pass \
        and then by n, takes its place; any other leaves no trace.",
    errors: &[
        errors::INTEGER,
        errors::SYNTAX,
        errors::SPLIT_ID,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::NOT_A_PART,
        errors::NOT_THIS_SPLIT,
    ],
    example: "SECKILL.ELSEWHERE sale:phone:{p0} s-1 70 1",
    ..vocabulary::operator(run)
};

fn run(call: &mut Call<'_>) {
    let request = parse(call.args()).map(Request::Elsewhere);
    pipeline::run(call, request);
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<Elsewhere<'a>> {
    let mut args = Args::after_key(args);
    let (split, units, pass) = (args.split()?, args.integer()?, args.integer()?);
    args.end()?;
    Ok(Elsewhere { split, units, pass })
}
