//! `SECKILL.CONFIRM`, `CANCEL`, `EXTEND`, `REFUND`: change a grant's state or deadline.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use seckill_domain::limits::HOLD_MS_MAX;
use seckill_domain::request::{Deed, Request, Settle, Which};

/// SEQ or REQ: identifies the grant.
const WHICH: Arg = Arg::one_of("grant", &[vocabulary::SEQ, vocabulary::REQ]).optional();

/// Milliseconds from now.
const SPAN: Arg = Arg::new("milliseconds", ArgKind::Span).takes(1, HOLD_MS_MAX);

const REPLY: &str = "`[state, seq, qty, deadline]`: the grant as it stands after the command\n\
    `[NOGRANT, 0, 0, 0]`: this user has no such grant";

const ERRORS: &[&str] = &[
    errors::SEQ_AND_REQ,
    errors::NO_SALE,
    errors::WRONG_TYPE,
    errors::WRONG_PART,
    errors::AMBIGUOUS,
];

pub const CONFIRM: Spec = Spec {
    name: "SECKILL.CONFIRM",
    arity: -3,
    summary: "Makes a held grant final: it is paid",
    complexity: "O(log N) where N is the number of held grants",
    args: &[vocabulary::KEY, vocabulary::USER, WHICH, Arg::pure("reclaim", "RECLAIM").optional()],
    reply: REPLY,
    errors: &[
        errors::SEQ_AND_REQ,
        errors::RECLAIM_NEEDS_ID,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::WRONG_PART,
        errors::AMBIGUOUS,
        errors::MANY_OWN_ENDING,
        errors::MANY_ENDING,
    ],
    example: "SECKILL.CONFIRM tickets alice REQ order-7",
    ..vocabulary::buyer(confirm)
};

pub const CANCEL: Spec = Spec {
    name: "SECKILL.CANCEL",
    arity: -3,
    summary: "Gives a held grant back; for a request id that was never granted, fences it off",
    complexity: "O(log N) where N is the number of held grants",
    args: &[vocabulary::KEY, vocabulary::USER, WHICH],
    reply: "`[state, seq, qty, deadline]`: the grant as it stands after the command\n\
        `[CANCELLED, 0, 0, 0]`: REQ was never granted; a GRAB with it that comes late takes \
        nothing\n\
        `[NOGRANT, 0, 0, 0]`: this user has no such grant",
    errors: ERRORS,
    example: "SECKILL.CANCEL tickets bob REQ order-8",
    ..vocabulary::buyer(cancel)
};

pub const EXTEND: Spec = Spec {
    name: "SECKILL.EXTEND",
    arity: -4,
    summary: "Moves the deadline of a held grant to milliseconds from now, if that is later",
    complexity: "O(log N) where N is the number of held grants",
    args: &[vocabulary::KEY, vocabulary::USER, SPAN, WHICH],
    reply: REPLY,
    errors: &[
        errors::SEQ_AND_REQ,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::WRONG_PART,
        errors::AMBIGUOUS,
    ],
    example: "SECKILL.EXTEND tickets carol 900000 REQ order-9",
    ..vocabulary::buyer(extend)
};

pub const REFUND: Spec = Spec {
    name: "SECKILL.REFUND",
    arity: -3,
    summary: "Takes a sold grant back: its units are available again",
    complexity: "O(log N) where N is the number of the user's grants",
    args: &[vocabulary::KEY, vocabulary::USER, WHICH],
    reply: REPLY,
    errors: ERRORS,
    example: "SECKILL.REFUND drop erin REQ order-1",
    ..vocabulary::operator(refund)
};

fn confirm(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| {
        let (which, reclaim) = args.which(true)?;
        Ok((which, Deed::Confirm { reclaim }))
    });
    answer(call, settle);
}

fn cancel(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| Ok((args.which(false)?.0, Deed::Cancel)));
    answer(call, settle);
}

fn extend(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| {
        let ms = args.number(&SPAN)?;
        Ok((args.which(false)?.0, Deed::Extend { ms }))
    });
    answer(call, settle);
}

fn refund(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| Ok((args.which(false)?.0, Deed::Refund)));
    answer(call, settle);
}

fn parse<'a>(
    args: &'a [&'a [u8]],
    rest: impl FnOnce(&mut Args<'a>) -> Parsed<(Which<'a>, Deed)>,
) -> Parsed<Settle<'a>> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    let (which, deed) = rest(&mut args)?;
    Ok(Settle { user, which, deed })
}

fn answer(call: &mut Call<'_>, settle: Parsed<Settle<'_>>) {
    pipeline::run(call, settle.map(Request::Settle));
}
