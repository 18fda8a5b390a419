//! `SECKILL.HOME user parts`: which part a user is at home in.

use core::num::NonZeroU16;

use super::args::{Args, Parsed};
use super::errors;
use super::vocabulary::{self, Arg, ArgKind, Spec};
use crate::server::call::Call;
use seckill_domain::limits::PARTS_MAX;
use seckill_domain::parts::home_of;

pub const SPEC: Spec = Spec {
    name: "SECKILL.HOME",
    arity: 3,
    flags: "readonly fast allow-loading allow-stale",
    acl: "read fast",
    keys: &[],
    summary: "Shows which part of a split a user is at home in",
    args: &[
        vocabulary::USER,
        Arg::new("parts", ArgKind::Integer).about("how many parts there are, 1 to 1024"),
    ],
    reply: "The number of the part, from 0: the CRC-32 of the user id, as zlib has it, modulo \
        parts. Clients compute it themselves.",
    errors: &[errors::USER, errors::INTEGER, errors::SYNTAX],
    example: "SECKILL.HOME alice 16",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    match parse(call.args()) {
        Ok((user, parts)) => call.reply().number(home_of(user, parts).into()),
        Err(error) => call.reply().error(error),
    }
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<(&'a [u8], NonZeroU16)> {
    let mut args = Args::of(args);
    let (user, parts) = (args.user()?, args.count_up_to(PARTS_MAX.into())?);
    args.end()?;
    let parts = u16::try_from(parts).ok().and_then(NonZeroU16::new);
    Ok((user, parts.ok_or(errors::INTEGER)?))
}
