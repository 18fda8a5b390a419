//! `SECKILL.RESTOCK key delta REQ id`: adds units, or withdraws what is available of them.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use seckill_domain::request::{Request, Restock};

pub const SPEC: Spec = Spec {
    name: "SECKILL.RESTOCK",
    arity: 5,
    flags: "write deny-oom",
    summary: "Adds units to a sale, or withdraws available ones",
    complexity: "O(N) where N is the number of restock ids kept, at most 1024",
    args: &[
        vocabulary::KEY,
        Arg::new("delta", ArgKind::Integer).about("units to add; negative: to withdraw; not 0"),
        vocabulary::REQ,
    ],
    reply: "`[applied, available]`: by how much the supply changed, and what is available after \
        it. Withdrawing takes at most what is available, so `applied` may be smaller in size than \
        asked, 0 included. One of the last 1024 request ids replays its reply.",
    errors: &[
        errors::INTEGER,
        errors::SYNTAX,
        errors::REQ,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::REQ_MISMATCH,
        errors::DRAW_FIXES_SUPPLY,
        errors::SUPPLY_TOO_LARGE,
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
    let delta = args.delta()?;
    if !args.accept("REQ") {
        return Err(errors::SYNTAX);
    }
    let req = args.req()?;
    args.end()?;
    Ok(Restock { delta, req })
}
