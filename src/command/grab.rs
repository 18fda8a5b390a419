//! `SECKILL.GRAB key user [QTY n | UPTO n] [REQ id]`: check, decrement and record in one step.

use super::args::{is, Args, Parsed};
use super::errors;
use super::pipeline;
use super::vocabulary::{self, Arg, ArgKind, Spec, FIRST};
use crate::server::call::Call;
use seckill_domain::request::{Amount, Grab, Request};

pub const SPEC: Spec = Spec {
    name: "SECKILL.GRAB",
    handler: run,
    arity: -3,
    flags: "write deny-oom fast",
    acl: "write fast",
    keys: vocabulary::TAKES,
    summary: "Takes units for a user, or says why not",
    complexity: "O(1)",
    since: FIRST,
    tips: &[],
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        Arg::one_of(
            "amount",
            &[
                Arg::new("qty", ArgKind::Integer)
                    .shown("n")
                    .token("QTY")
                    .about("so many units or none (default 1)"),
                Arg::new("upto", ArgKind::Integer)
                    .shown("n")
                    .token("UPTO")
                    .about("what there is and the allowance permits, 1 to n units"),
            ],
        )
        .optional(),
        vocabulary::REQ.optional(),
    ],
    reply:
        "`[GRANTED, seq, qty, state, deadline, available]`: yours; `available` is what is left\n\
        `[ALREADY, seq, qty, state, deadline]`: the allowance is used up; this is the user's \
        newest live grant\n\
        `[REPLAY, seq, qty, state, deadline]`: this request id was granted before; this is that \
        grant as it stands now\n\
        `[REPLAY, 0, 0, CANCELLED, 0]`: a CANCEL of this request id came first\n\
        `[OVERLIMIT, allowance]`: some allowance is left, but less than QTY\n\
        `[SOLDOUT, held]`: nothing is available; `held` units may come back (0: final until \
        restocked)\n\
        `[SHORT, available]`: fewer are available than QTY\n\
        `[NOTOPEN, ms]`: opens in so many milliseconds\n\
        `[CLOSED]`: the window is over\n\
        `[PAUSED]`: the operator paused the sale\n\
        `[DENIED]`: not eligible\n\
        `[BUSY]`: not let in, see admission",
    errors: &[
        errors::USER,
        errors::INTEGER,
        errors::REQ,
        errors::SYNTAX,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::WRONG_PART,
        errors::REQ_MISMATCH,
        errors::MANY_OWN_ENDING,
        errors::DRAW_TAKES_NO_AMOUNT,
        errors::GRANTS_FULL,
    ],
    example: "SECKILL.GRAB drop alice QTY 2 REQ order-7",
    internal: false,
};

fn run(call: &mut Call<'_>) {
    match parse(call.args()) {
        Ok(grab) => pipeline::run(call, &Request::Grab(grab)),
        Err(error) => call.reply().error(error),
    }
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<Grab<'a>> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    let (mut amount, mut req) = (None, None);
    while let Some(name) = args.option() {
        if is(name, "QTY") {
            args.once(&mut amount, |args| args.count().map(Amount::Exactly))?;
        } else if is(name, "UPTO") {
            args.once(&mut amount, |args| args.count().map(Amount::UpTo))?;
        } else if is(name, "REQ") {
            args.once(&mut req, Args::req)?;
        } else {
            return Err(errors::SYNTAX);
        }
    }
    Ok(Grab { user, amount: amount.unwrap_or(Amount::Unsaid), req })
}
