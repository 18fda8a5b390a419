//! `SECKILL.ALTER key option [option ...]`: the terms of grants to come. Its options are those of
//! [`terms`] that can be altered.

use super::args::{Args, Parsed};
use super::options::Options;
use super::vocabulary::{self, Spec};
use super::{errors, pipeline, terms};
use crate::server::call::Call;
use seckill_domain::request::{Request, TermsChange};

pub const SPEC: Spec = Spec {
    name: "SECKILL.ALTER",
    arity: -3,
    keys: terms::ALTERS,
    summary: "Changes the terms of grants to come; at least one option is needed, 0 means none",
    args: terms::ALTER_ARGS,
    reply: "`OK`: these are the terms now. Grants that exist are not touched.",
    errors: &[
        errors::INTEGER,
        errors::SYNTAX,
        errors::WINDOW_IN_SECONDS,
        errors::WINDOW_EMPTY,
        errors::HOLD_TOO_LONG,
        errors::OUTBOX_NAME,
        errors::DRAW_TAKES_NO_LIMIT,
        errors::MOD_NO_RESIDUE,
        errors::MOD_RESIDUE_TOO_LARGE,
        errors::MOD_TOO_MANY_RESIDUES,
        errors::SAMPLE_TOO_LARGE,
        errors::SALT_TOO_LONG,
        errors::WAITLIST_TOO_LONG,
        errors::OFFER_TOO_LONG,
        errors::OFFER_NEEDS_TIME,
        errors::WAITLIST_TAKES_NO_DRAW,
        errors::OUTBOX_SET,
        errors::NO_SALE,
        errors::WRONG_TYPE,
    ],
    example: "SECKILL.ALTER drop LIMIT 3",
    ..vocabulary::operator(run)
};

fn run(call: &mut Call<'_>) {
    let request = parse(call.args()).map(Request::Alter);
    pipeline::run(call, request);
}

fn parse(args: &[&[u8]]) -> Parsed<TermsChange> {
    let mut args = Args::after_key(args);
    let Options { change, draw, schedule, split, .. } = Options::parse(&mut args)?;
    // How amounts are drawn, when rounds begin and which part it is, is fixed at INIT.
    if draw.is_some() || schedule.is_some() || split.is_some() || change == TermsChange::default() {
        return Err(errors::SYNTAX);
    }
    Ok(change)
}
