//! `SECKILL.ALTER key option [option ...]`: changes the terms of future grants. Its options are
//! those of [`terms`] that can be altered.

use super::args::{Args, Parsed};
use super::options;
use super::terms::Options;
use super::vocabulary::{self, Spec};
use super::{errors, pipeline, terms};
use crate::server::call::Call;
use seckill_domain::outcome::Misuse;
use seckill_domain::request::{Request, TermsChange};

pub const SPEC: Spec = Spec {
    name: "SECKILL.ALTER",
    arity: -3,
    keys: options::ALTERS,
    summary: "Changes the terms of grants to come; needs an option, 0 means none",
    args: terms::ALTER_ARGS,
    reply: "`OK`: these are the terms now. Grants that exist are not touched.",
    errors: &[
        errors::FIXED,
        errors::RESERVED,
        errors::SALT_NEEDS_SAMPLE,
        errors::NEEDS_WAITLIST,
        Misuse::WindowEmpty.text(),
        Misuse::DrawTakesNoLimit.text(),
        Misuse::ModNoResidue.text(),
        Misuse::ModResidueTooLarge.text(),
        Misuse::ModTooManyResidues.text(),
        Misuse::OfferNeedsTime.text(),
        Misuse::WaitlistTakesNoDraw.text(),
        Misuse::OutboxSet.text(),
        errors::NO_SALE,
        errors::WRONG_TYPE,
    ],
    example: "SECKILL.ALTER drop LIMIT 3",
    ..vocabulary::operator(run)
};

fn run(call: &mut Call<'_>) {
    let mut change = parse(call.args());
    if let Ok(change) = &mut change {
        let stream = change.outbox.as_deref().map(|name| call.outbox().stream(name, true));
        change.remakes_outbox = stream.is_some_and(|stream| stream.is_missing());
    }
    pipeline::run(call, change.map(Request::Alter));
}

fn parse(args: &[&[u8]]) -> Parsed<TermsChange> {
    let mut args = Args::after_key(args);
    Options::of_alter(&mut args).map(|options| options.change)
}
