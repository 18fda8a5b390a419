//! `SECKILL.RESTOCK key delta REQ id`: adds units, or withdraws available ones.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline, terms};
use crate::server::call::Call;
use seckill_domain::limits::INTEGER_MAX;
use seckill_domain::outcome::Misuse;
use seckill_domain::request::{Request, Restock};

const DELTA: Arg = Arg::new("delta", ArgKind::Delta)
    .takes(1, INTEGER_MAX)
    .about("units to add; negative: to withdraw; not 0");

pub const SPEC: Spec = Spec {
    name: "SECKILL.RESTOCK",
    arity: 5,
    flags: "write deny-oom",
    summary: "Adds units to a sale, or withdraws available ones",
    complexity: "O(N) where N is the number of restock ids kept, at most 1024",
    args: &[vocabulary::KEY, DELTA, vocabulary::REQ],
    reply: "`[applied, available]`: how many units were added, those that pay off a deficit \
        included, or withdrawn, and what is available after it. Withdrawing takes at most what is \
        available, so `applied` may be smaller in size than asked, 0 included. One of the last \
        1024 request ids replays its reply.",
    errors: &[
        errors::NO_SALE,
        errors::WRONG_TYPE,
        Misuse::ReqMismatch.text(),
        Misuse::DrawFixesSupply.text(),
        terms::SUPPLY.error(),
        Misuse::NumberedOnlyGrows.text(),
        Misuse::TooManyUnits.text(),
    ],
    example: "SECKILL.RESTOCK drop 50 REQ delivery-7",
    ..vocabulary::operator(run)
};

fn run(call: &mut Call<'_>) {
    let request = parse(call.args()).map(Request::Restock);
    pipeline::run(call, request);
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<Restock<'a>> {
    let mut args = Args::after_key(args);
    let delta = args.delta(&DELTA)?;
    if !args.accept("REQ") {
        args.option();
        return Err(args.stray());
    }
    let req = args.req()?;
    args.end()?;
    Ok(Restock { delta, req })
}
