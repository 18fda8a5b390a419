//! `SECKILL.ALLOW|DENY key ADD|REMOVE user [user ...]`: changes the lists of allowed and denied
//! users.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use seckill_domain::admission::List;
use seckill_domain::limits::USERS_PER_COMMAND_MAX;
use seckill_domain::outcome::Misuse;
use seckill_domain::request::{ListChange, Request};

const ARGS: &[Arg] = &[
    vocabulary::KEY,
    Arg::one_of("change", &[Arg::pure("add", "ADD"), Arg::pure("remove", "REMOVE")]),
    vocabulary::USER.about("").multiple(),
];

const REPLY: &str = "How many users were added or removed; those who were there, or not there, \
    don't count.";

const ERRORS: &[&str] = &[
    errors::LIST_TOO_MANY,
    Misuse::ListFull.text(),
    errors::NO_SALE,
    errors::WRONG_TYPE,
    Misuse::WrongPart.text(),
];

pub const ALLOW: Spec = Spec {
    name: "SECKILL.ALLOW",
    arity: -4,
    flags: "write deny-oom",
    keys: vocabulary::CHANGES,
    summary: "Adds users to those whom ALLOWLIST lets in, or removes them",
    complexity: "O(N) where N is the number of users given",
    args: ARGS,
    reply: REPLY,
    errors: ERRORS,
    example: "SECKILL.ALLOW drop ADD alice bob",
    ..vocabulary::operator(allow)
};

pub const DENY: Spec = Spec {
    name: "SECKILL.DENY",
    handler: deny,
    summary: "Adds users to those who never get anything, or removes them",
    example: "SECKILL.DENY drop ADD mallory",
    ..ALLOW
};

fn allow(call: &mut Call<'_>) {
    answer(call, List::Allow);
}

fn deny(call: &mut Call<'_>) {
    answer(call, List::Deny);
}

fn answer(call: &mut Call<'_>, list: List) {
    let request = parse(call.args(), list).map(Request::List);
    pipeline::run(call, request);
}

fn parse<'a>(args: &'a [&'a [u8]], list: List) -> Parsed<ListChange<'a>> {
    let mut args = Args::after_key(args);
    let word = args.bytes()?;
    let add = word.eq_ignore_ascii_case(b"ADD");
    if !add && !word.eq_ignore_ascii_case(b"REMOVE") {
        return Err(args.stray());
    }
    let users = args.rest();
    if users.len() > USERS_PER_COMMAND_MAX {
        return Err(errors::LIST_TOO_MANY.into());
    }
    if users.iter().any(|user| !vocabulary::USER.accepts(user.len() as u64)) {
        return Err(vocabulary::USER.error().into());
    }
    Ok(ListChange { list, add, users })
}
