//! `SECKILL.ALTER key [LIMIT n] [GRABS n] [HOLD ms] [OPENAT ms] [CLOSEAT ms] [OUTBOX stream]`:
//! the terms of grants to come.

use super::parse::{Parsed, Words};
use super::table::{self, FIRST};
use super::{commit, errors};
use crate::sale::request::Request;
use crate::sale::terms::TermsChange;
use crate::server::call::Call;
use crate::server::register::Spec;

pub const SPEC: Spec = Spec {
    name: "SECKILL.ALTER",
    handler: run,
    arity: -4,
    flags: "write",
    acl: table::ACL_OPERATOR,
    keys: table::ALTERS,
    summary: "Changes the terms of grants to come; at least one option is needed, 0 means none",
    complexity: "O(1)",
    since: FIRST,
    tips: &[],
    args: &[
        table::KEY,
        table::LIMIT,
        table::GRABS,
        table::HOLD,
        table::OPENAT,
        table::CLOSEAT,
        table::OUTBOX,
    ],
    reply: "`OK`: these are the terms now. Grants that exist are not touched.",
    errors: &[
        errors::INTEGER,
        errors::SYNTAX,
        errors::WINDOW_EMPTY,
        errors::HOLD_TOO_LONG,
        errors::OUTBOX_NAME,
        errors::OUTBOX_NOT_HERE,
        errors::OUTBOX_REFUSED,
        errors::OUTBOX_SET,
        errors::NO_SALE,
        errors::WRONG_TYPE,
    ],
    example: "SECKILL.ALTER drop LIMIT 3",
    internal: false,
};

fn run(call: &mut Call<'_>) {
    match parse(call.args()) {
        Ok(change) => commit::run(call, &Request::Alter(change)),
        Err(error) => call.reply().error(error),
    }
}

fn parse(args: &[&[u8]]) -> Parsed<TermsChange> {
    let mut words = Words::after_key(args);
    let change = words.terms()?;
    if change == TermsChange::default() {
        return Err(errors::SYNTAX);
    }
    Ok(change)
}
