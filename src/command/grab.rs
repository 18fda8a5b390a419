//! `SECKILL.GRAB key user [QTY n | UPTO n] [REQ id] [WAIT [UNTIL ms]]`: checks, decrements and
//! records in one step, or puts the user on the waiting list.

use super::args::{Args, Parsed};
use super::errors::{self, Error};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{pipeline, terms};
use crate::server::call::Call;
use seckill_domain::limits::INTEGER_MAX;
use seckill_domain::outcome::OUTCOMES;
use seckill_domain::request::{Amount, Grab, Request, Wait};

/// Most units that the user wants.
const UPTO: Arg = Arg::new("upto", ArgKind::Integer)
    .shown("n")
    .token("UPTO")
    .takes(1, INTEGER_MAX)
    .about("what there is and the allowance permits, 1 to n units");
const UNTIL: Arg = terms::moment("until", "UNTIL")
    .optional()
    .about("first moment at which they wait no more, in Unix milliseconds");

pub const SPEC: Spec = Spec {
    name: "SECKILL.GRAB",
    arity: -3,
    flags: "write deny-oom fast",
    summary: "Takes units for a user, or says why not",
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        Arg::one_of("amount", &[vocabulary::QTY.about("so many units or none (default 1)"), UPTO])
            .optional(),
        vocabulary::REQ.optional(),
        Arg::block("wait", &[Arg::pure("wait", "WAIT"), UNTIL]).optional().about(
            "what is not there is waited for, in a sale with WAITLIST (in any other WAIT changes \
                nothing); needs REQ and takes no UPTO",
        ),
    ],
    answers: &OUTCOMES,
    reply: "`[REPLAY, 0, 0, CANCELLED, 0]`: a CANCEL of this request id came first",
    errors: &[
        errors::QTY_AND_UPTO,
        errors::UNTIL_NEEDS_WAIT,
        errors::WAIT_NEEDS_REQ,
        errors::WAIT_AND_UPTO,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::WRONG_PART,
        errors::REQ_MISMATCH,
        errors::MANY_OWN_ENDING,
        errors::MANY_ENDING,
        errors::DRAW_TAKES_NO_AMOUNT,
        errors::GRANTS_FULL,
    ],
    example: "SECKILL.GRAB drop alice QTY 2 REQ order-7",
    ..vocabulary::buyer(run)
};

fn run(call: &mut Call<'_>) {
    let request = parse(call.args());
    pipeline::run(call, request);
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<Request<'a>> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    let (mut amount, mut req, mut wait, mut until) = (None, None, false, None);
    while let Some(name) = args.option() {
        if name.eq_ignore_ascii_case(b"QTY") && amount.is_none() {
            amount = Some(Amount::Exactly(args.number(&vocabulary::QTY)?));
        } else if name.eq_ignore_ascii_case(b"UPTO") && amount.is_none() {
            amount = Some(Amount::UpTo(args.number(&UPTO)?));
        } else if name.eq_ignore_ascii_case(b"REQ") && req.is_none() {
            req = Some(args.req()?);
        } else if name.eq_ignore_ascii_case(b"WAIT") && !wait {
            wait = true;
        } else if name.eq_ignore_ascii_case(b"UNTIL") && until.is_none() {
            until = Some(args.number(&UNTIL)?);
        } else {
            return Err(contradiction(name, amount).unwrap_or(args.stray()));
        }
    }
    let grab = Grab { user, amount: amount.unwrap_or(Amount::Unsaid), req };
    match (wait, until) {
        (false, None) => Ok(Request::Grab(grab)),
        (false, Some(_)) => Err(errors::UNTIL_NEEDS_WAIT.into()),
        _ if req.is_none() => Err(errors::WAIT_NEEDS_REQ.into()),
        _ if matches!(grab.amount, Amount::UpTo(_)) => Err(errors::WAIT_AND_UPTO.into()),
        _ => Ok(Request::Wait(Wait { grab, until: until.unwrap_or(0) })),
    }
}

/// The error of an option that conflicts with the amount given before.
#[cold]
fn contradiction(name: &[u8], amount: Option<Amount>) -> Option<Error> {
    let other = match amount? {
        Amount::Exactly(_) => "UPTO",
        Amount::UpTo(_) => "QTY",
        Amount::Unsaid => return None,
    };
    let is_other = name.eq_ignore_ascii_case(other.as_bytes());
    is_other.then_some(Error::Text(errors::QTY_AND_UPTO))
}
