//! `SECKILL.GRAB key user [QTY n [ADJACENT] | UPTO n | UNITS u [u ...]] [REQ id] [WAIT [UNTIL
//! ms]]`: checks, decrements and records in one step, or puts the user on the waiting list.

use super::args::{Args, Parsed};
use super::errors::{self, Error};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{pipeline, terms};
use crate::server::call::Call;
use seckill_domain::limits::INTEGER_MAX;
use seckill_domain::outcome::{Misuse, OUTCOMES};
use seckill_domain::request::{Amount, Grab, Pick, Request, Wait, Wish};

/// Most units that the user wants.
const UPTO: Arg = Arg::new("upto", ArgKind::Integer)
    .shown("n")
    .token("UPTO")
    .takes(1, INTEGER_MAX)
    .about("what there is and the allowance permits, 1 to n units");
/// A number of units; in a sale with NUMBERED any free ones, or adjacent ones.
const QTY: Arg = Arg::block(
    "quantity",
    &[vocabulary::QTY, Arg::pure("adjacent", "ADJACENT").optional()],
)
.about(
    "so many units or none (default 1). With ADJACENT, in a sale with NUMBERED, only units whose \
         numbers follow each other",
);
const UNITS: Arg = vocabulary::UNITS.about("exactly these, at most 100, in a sale with NUMBERED");
const UNTIL: Arg = terms::moment("until", "UNTIL")
    .optional()
    .about("first moment at which they wait no more, in Unix milliseconds");

pub const SPEC: Spec = Spec {
    name: "SECKILL.GRAB",
    arity: -3,
    flags: "write deny-oom fast",
    summary: "Takes units for a user, or says why not",
    complexity: "O(1); with HOLD, WAIT or NUMBERED O(log N) where N is the number of held grants, \
                 waiters or units",
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        Arg::one_of("amount", &[QTY, UPTO, UNITS]).optional(),
        vocabulary::REQ.optional(),
        Arg::block("wait", &[Arg::pure("wait", "WAIT"), UNTIL]).optional().about(
            "what is not there is waited for, in a sale with WAITLIST (in any other WAIT changes \
                nothing); needs REQ and takes no UPTO",
        ),
    ],
    answers: &OUTCOMES,
    reply: "`[REPLAY, 0, 0, CANCELLED, 0]`: a CANCEL of this request id came first\n\
        `[..., [unit ...]]`: the same in a sale with NUMBERED: every answer with a grant, and \
        every grant row, ends with the numbers of its units, rising",
    errors: &[
        errors::QTY_AND_UPTO,
        errors::UNITS_AND_QTY,
        errors::UNITS_REPEAT,
        errors::ADJACENT_NEEDS_QTY,
        errors::UNTIL_NEEDS_WAIT,
        errors::WAIT_NEEDS_REQ,
        errors::WAIT_AND_UPTO,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        Misuse::WrongPart.text(),
        Misuse::ReqMismatch.text(),
        errors::MANY_OWN_ENDING,
        errors::MANY_ENDING,
        Misuse::DrawTakesNoAmount.text(),
        Misuse::NotNumbered.text(),
        Misuse::PickTakesNoWait.text(),
        Misuse::NumberedTakesNoUpTo.text(),
        Misuse::TooManyAtOnce.text(),
        Misuse::NoSuchUnit.text(),
        Misuse::GrantsFull.text(),
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
    let (mut amount, mut req, mut wait, mut until, mut wish) = (None, None, false, None, None);
    while let Some(name) = args.option() {
        if name.eq_ignore_ascii_case(b"QTY") && amount.is_none() {
            amount = Some(Amount::Exactly(args.number(&vocabulary::QTY)?));
        } else if name.eq_ignore_ascii_case(b"ADJACENT") && wish.is_none() {
            wish = Some(Wish::Adjacent);
        } else if name.eq_ignore_ascii_case(b"UPTO") && amount.is_none() {
            amount = Some(Amount::UpTo(args.number(&UPTO)?));
        } else if name.eq_ignore_ascii_case(b"REQ") && req.is_none() {
            req = Some(args.req()?);
        } else if name.eq_ignore_ascii_case(b"WAIT") && !wait {
            wait = true;
        } else if name.eq_ignore_ascii_case(b"UNTIL") && until.is_none() {
            until = Some(args.number(&UNTIL)?);
        } else if name.eq_ignore_ascii_case(b"UNITS") && amount.is_none() && wish.is_none() {
            let units = args.units()?;
            amount = Some(Amount::Exactly(units.len() as u64));
            wish = Some(Wish::These(units));
        } else {
            return Err(contradiction(name, amount, wish).unwrap_or(args.stray()));
        }
    }
    if wish == Some(Wish::Adjacent) && !matches!(amount, Some(Amount::Exactly(_))) {
        return Err(errors::ADJACENT_NEEDS_QTY.into());
    }
    let grab = Grab { user, amount: amount.unwrap_or(Amount::Unsaid), req };
    if let Some(wish) = wish.filter(|_| until.is_none() || wait) {
        return match wait && req.is_none() {
            true => Err(errors::WAIT_NEEDS_REQ.into()),
            false => Ok(Request::Pick(Pick { grab, wish, waits: wait })),
        };
    }
    match (wait, until) {
        (false, Some(_)) => Err(errors::UNTIL_NEEDS_WAIT.into()),
        _ if wait && req.is_none() => Err(errors::WAIT_NEEDS_REQ.into()),
        (false, None) => Ok(Request::Grab(grab)),
        _ if matches!(grab.amount, Amount::UpTo(_)) => Err(errors::WAIT_AND_UPTO.into()),
        _ => Ok(Request::Wait(Wait { grab, until: until.unwrap_or(0) })),
    }
}

/// The error of an option that conflicts with what was given before.
#[cold]
fn contradiction(name: &[u8], amount: Option<Amount>, wish: Option<Wish>) -> Option<Error> {
    let is = |option: &str| name.eq_ignore_ascii_case(option.as_bytes());
    let error = match (amount, wish) {
        (Some(_), Some(Wish::These(_))) if is("QTY") || is("UPTO") || is("ADJACENT") => {
            errors::UNITS_AND_QTY
        }
        (_, Some(Wish::Adjacent)) | (Some(_), None) if is("UNITS") => errors::UNITS_AND_QTY,
        (Some(Amount::Exactly(_)), _) if is("UPTO") => errors::QTY_AND_UPTO,
        (Some(Amount::UpTo(_)), _) if is("QTY") => errors::QTY_AND_UPTO,
        _ => return None,
    };
    Some(Error::Text(error))
}
