//! `SECKILL.CONFIRM`, `CANCEL`, `EXTEND`, `REFUND`: change a grant's state or deadline.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use crate::server::module::spec;
use seckill_domain::limits::HOLD_MS_MAX;
use seckill_domain::outcome::Misuse;
use seckill_domain::request::{Deed, Keeper, Kept, Request, Settle, Which};

/// SEQ or REQ: identifies the grant.
const WHICH: Arg = Arg::one_of("grant", &[vocabulary::SEQ, vocabulary::REQ]).optional();

/// Milliseconds from now.
const SPAN: Arg = Arg::new("milliseconds", ArgKind::Span).takes(1, HOLD_MS_MAX);

const REPLY: &str = "`[state, seq, qty, deadline]`: the grant as it stands after the command\n\
    `[NOGRANT, 0, 0, 0]`: this user has no such grant";

const ERRORS: &[&str] = &[
    errors::SEQ_AND_REQ,
    errors::KEEP_NEEDS_ID,
    errors::UNITS_REPEAT,
    Misuse::DrawTakesNoKeep.text(),
    Misuse::NumberedTakesNoKeep.text(),
    Misuse::NotNumbered.text(),
    Misuse::TooManyAtOnce.text(),
    Misuse::NoSuchUnit.text(),
    Misuse::KeepsNoUnit.text(),
    errors::NO_SALE,
    errors::WRONG_TYPE,
    Misuse::WrongPart.text(),
    Misuse::Ambiguous.text(),
];

const CONFIRM_ERRORS: [&str; ERRORS.len() + 4] = spec::joined(
    ERRORS,
    &[
        errors::RECLAIM_NEEDS_ID,
        errors::KEEP_AND_RECLAIM,
        errors::MANY_OWN_ENDING,
        errors::MANY_ENDING,
    ],
);

pub const CONFIRM: Spec = Spec {
    name: "SECKILL.CONFIRM",
    arity: -3,
    summary: "Makes a held grant final: it is paid",
    complexity: "O(log N) where N is the number of held grants",
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        WHICH,
        Arg::pure("reclaim", "RECLAIM").optional().about(
            "pays a grant that has EXPIRED, if its units are free and the allowance permits; \
             else it stays EXPIRED for good (with SEQ or REQ)",
        ),
        Arg::one_of(
            "kept",
            &[
                vocabulary::KEEP
                    .about("pays for n units at most and gives the rest back (with SEQ or REQ)"),
                vocabulary::KEEP_UNITS,
            ],
        )
        .optional(),
    ],
    reply: REPLY,
    errors: &CONFIRM_ERRORS,
    example: "SECKILL.CONFIRM tickets alice REQ order-7",
    ..vocabulary::buyer(confirm)
};

pub const CANCEL: Spec = Spec {
    name: "SECKILL.CANCEL",
    arity: -3,
    summary: "Gives a held grant back; for a request id that was never granted, fences it off",
    complexity: "O(log N) where N is the number of held grants",
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        WHICH,
        Arg::one_of(
            "kept",
            &[
                vocabulary::KEEP
                    .about("gives a part back: n units at most stay held (with SEQ or REQ)"),
                vocabulary::KEEP_UNITS,
            ],
        )
        .optional(),
    ],
    reply: "`[state, seq, qty, deadline]`: the grant as it stands after the command\n\
        `[CANCELLED, 0, 0, 0]`: REQ was never granted; a GRAB with it that comes late takes \
        nothing\n\
        `[NOGRANT, 0, 0, 0]`: this user has no such grant; with KEEP also where REQ was never \
        granted",
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
        Misuse::WrongPart.text(),
        Misuse::Ambiguous.text(),
    ],
    example: "SECKILL.EXTEND tickets carol 900000 REQ order-9",
    ..vocabulary::buyer(extend)
};

pub const REFUND: Spec = Spec {
    name: "SECKILL.REFUND",
    arity: -3,
    summary: "Takes a sold grant back: its units are available again",
    complexity: "O(log N) where N is the number of the user's grants",
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        WHICH,
        Arg::one_of(
            "kept",
            &[
                vocabulary::KEEP
                    .about("takes a part back: n units at most stay sold (with SEQ or REQ)"),
                vocabulary::KEEP_UNITS,
            ],
        )
        .optional(),
    ],
    reply: REPLY,
    errors: ERRORS,
    example: "SECKILL.REFUND drop erin REQ order-1",
    ..vocabulary::operator(refund)
};

/// The given value of KEEP.
enum Keep {
    AtMost(u64),
    These(Vec<u32>),
}

/// The grant, the action, and the numbers of KEEP UNITS, which the caller still adds to the action.
type Wanted<'a> = (Which<'a>, Deed<'a>, Vec<u32>);

fn confirm(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| {
        let (mut reclaim, mut keep) = (false, None);
        let which = args.which(|args, name| {
            let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
            let (keeps, reclaims) = (is(b"KEEP"), is(b"RECLAIM"));
            match reclaims {
                _ if keeps && reclaim || reclaims && keep.is_some() => {
                    Err(errors::KEEP_AND_RECLAIM.into())
                }
                true => Ok(!core::mem::replace(&mut reclaim, true)),
                false => read_keep(args, name, &mut keep),
            }
        })?;
        match which {
            Which::Only if reclaim => Err(errors::RECLAIM_NEEDS_ID.into()),
            which => wanted(which, keep, Keeper::Confirm, Deed::Confirm { reclaim }),
        }
    });
    answer(call, settle);
}

fn cancel(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| either(args, Keeper::Cancel, Deed::Cancel));
    answer(call, settle);
}

fn extend(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| {
        let ms = args.number(&SPAN)?;
        Ok((args.which(|_, _| Ok(false))?, Deed::Extend { ms }, Vec::new()))
    });
    answer(call, settle);
}

fn refund(call: &mut Call<'_>) {
    let settle = parse(call.args(), |args| either(args, Keeper::Refund, Deed::Refund));
    answer(call, settle);
}

/// Reads KEEP's value, unless `name` is another option or KEEP was read before.
fn read_keep(args: &mut Args<'_>, name: &[u8], keep: &mut Option<Keep>) -> Parsed<bool> {
    let is_it = keep.is_none() && name.eq_ignore_ascii_case(b"KEEP");
    if is_it {
        *keep = Some(match args.accept("UNITS") {
            true => Keep::These(args.units()?),
            false => Keep::AtMost(args.number(&vocabulary::KEEP)?),
        });
    }
    Ok(is_it)
}

/// The whole grant, or a part of it with KEEP.
fn either<'a>(args: &mut Args<'a>, by: Keeper, whole: Deed<'a>) -> Parsed<Wanted<'a>> {
    let mut keep = None;
    let which = args.which(|args, name| read_keep(args, name, &mut keep))?;
    wanted(which, keep, by, whole)
}

/// KEEP of a part, if it was given; else `whole`.
fn wanted<'a>(
    which: Which<'a>,
    keep: Option<Keep>,
    by: Keeper,
    whole: Deed<'a>,
) -> Parsed<Wanted<'a>> {
    let (kept, units) = match keep {
        None => return Ok((which, whole, Vec::new())),
        Some(_) if which == Which::Only => return Err(errors::KEEP_NEEDS_ID.into()),
        Some(Keep::AtMost(units)) => (Kept::AtMost(units), Vec::new()),
        Some(Keep::These(units)) => (Kept::These(&[]), units),
    };
    Ok((which, Deed::Keep { by, kept }, units))
}

fn parse<'a>(
    args: &'a [&'a [u8]],
    rest: impl FnOnce(&mut Args<'a>) -> Parsed<Wanted<'a>>,
) -> Parsed<(Settle<'a>, Vec<u32>)> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    let (which, deed, units) = rest(&mut args)?;
    Ok((Settle { user, which, deed }, units))
}

fn answer(call: &mut Call<'_>, parsed: Parsed<(Settle<'_>, Vec<u32>)>) {
    let request = match &parsed {
        Ok((settle, units)) => Ok(Request::Settle(match settle.deed {
            Deed::Keep { by, kept: Kept::These(_) } => {
                Settle { deed: Deed::Keep { by, kept: Kept::These(units) }, ..*settle }
            }
            _ => *settle,
        })),
        Err(error) => Err(*error),
    };
    pipeline::run(call, request);
}
