//! `SECKILL.IMPORT key user qty REQ id [UNITS u [u ...]] [AT ms] [NODEFICIT]`: re-enters a
//! grant that the shop's database knows and Redis lost.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline, terms};
use crate::server::call::Call;
use seckill_domain::limits::INTEGER_MAX;
use seckill_domain::outcome::Misuse;
use seckill_domain::request::{Import, Request};

const QTY: Arg = Arg::new("qty", ArgKind::Integer).takes(1, INTEGER_MAX);
const AT: Arg = terms::moment("at", "AT")
    .optional()
    .about("when it was sold, in Unix milliseconds (left out: now)");

pub const SPEC: Spec = Spec {
    name: "SECKILL.IMPORT",
    arity: -6,
    flags: "write deny-oom",
    summary: "Re-enters a sold grant that Redis lost, outside of window, pause and limits",
    complexity: "O(log N) where N is the number of held grants",
    args: &[
        vocabulary::KEY,
        vocabulary::USER,
        QTY,
        vocabulary::REQ,
        vocabulary::UNITS.optional().about("the numbers of the units, in a sale with NUMBERED"),
        AT,
        Arg::pure("nodeficit", "NODEFICIT").optional(),
    ],
    reply: "`[GRANTED, seq, qty, SOLD, 0, available]`: entered; what was not available was added \
        to supply and to `deficit`\n\
        `[REPLAY, seq, qty, state, 0]`: this request id is known; its grant is SOLD now (one \
        that was not has all its first units again; of numbered ones those that it held and \
        those that are named), or was refunded before\n\
        `[SHORT, available]`: with NODEFICIT, fewer are available; nothing changed\n\
        `[TAKEN, unit]`: somebody has this one of UNITS; nothing changed",
    errors: &[
        errors::IMPORT_NEEDS_REQ,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        Misuse::WrongPart.text(),
        Misuse::DrawFixesSupply.text(),
        Misuse::RoundsTakeNoImport.text(),
        Misuse::ReqMismatch.text(),
        terms::SUPPLY.error(),
        Misuse::GrantsFull.text(),
        errors::UNITS_REPEAT,
        Misuse::ImportNeedsUnits.text(),
        Misuse::TooManyAtOnce.text(),
        Misuse::NoSuchUnit.text(),
        Misuse::NotNumbered.text(),
        errors::MANY_ENDING,
    ],
    example: "SECKILL.IMPORT drop frank 2 REQ order-2",
    ..vocabulary::operator(run)
};

fn run(call: &mut Call<'_>) {
    let parsed = parse(call.args());
    let request = match &parsed {
        Ok((import, units)) => Ok(Request::Import(Import { units, ..*import })),
        Err(error) => Err(*error),
    };
    pipeline::run(call, request);
}

/// The import, and its units.
fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<(Import<'a>, Vec<u32>)> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    let qty = args.number(&QTY)?;
    let (mut req, mut at, mut no_deficit, mut units) = (None, None, false, None);
    while let Some(name) = args.option() {
        if name.eq_ignore_ascii_case(b"REQ") && req.is_none() {
            req = Some(args.req()?);
        } else if name.eq_ignore_ascii_case(b"AT") && at.is_none() {
            at = Some(args.number(&AT)?);
        } else if name.eq_ignore_ascii_case(b"UNITS") && units.is_none() {
            units = Some(args.units()?);
        } else if name.eq_ignore_ascii_case(b"NODEFICIT") && !no_deficit {
            no_deficit = true;
        } else {
            return Err(args.stray());
        }
    }
    let req = req.ok_or(errors::IMPORT_NEEDS_REQ)?;
    let import = Import { user, qty, req, at, no_deficit, units: &[] };
    Ok((import, units.unwrap_or_default()))
}
