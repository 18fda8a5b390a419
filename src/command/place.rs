//! `SECKILL.PLACE key user`: where a user stands on the waiting list.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Spec};
use super::{errors, pipeline, reply};
use crate::server::call::Call;
use seckill_domain::outcome::Outcome;

pub const SPEC: Spec = Spec {
    name: "SECKILL.PLACE",
    arity: 3,
    flags: "readonly fast",
    acl: "read fast",
    summary: "Shows a user's place on the waiting list",
    complexity: "O(log N) where N is the number of entries",
    args: &[vocabulary::KEY, vocabulary::USER],
    reply: "`[WAITING, ticket, ahead, units ahead]`: so many entries are before the user's, and \
        ask for so many units\n\
        `[NONE]`: the user does not wait; `SECKILL.USER` tells what they have",
    errors: &[
        errors::USER,
        errors::SYNTAX,
        errors::NO_SALE,
        errors::WRONG_TYPE,
        errors::WRONG_PART,
    ],
    example: "SECKILL.PLACE concert dora",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    let user = parse(call.args());
    pipeline::show(call, user, |sale, user, out| match sale.place(user) {
        _ if !sale.is_home(user) => out.error(errors::WRONG_PART),
        Some(place) => reply::outcome(out, &Outcome::Waiting(place)),
        None => {
            out.array(1);
            out.text("NONE");
        }
    });
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<&'a [u8]> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    args.end()?;
    Ok(user)
}
