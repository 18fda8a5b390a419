//! `SECKILL.INIT key supply [LIMIT n] [GRABS n] [HOLD ms] [OPENAT ms] [CLOSEAT ms]`: creates a
//! sale.

use super::access::KEY;
use super::parse::{Parsed, Words};
use super::table::{self, FIRST};
use super::{commit, errors, reply};
use crate::sale::decide::decide_new;
use crate::sale::request::{Init, Request};
use crate::sale::terms::Terms;
use crate::sale::Sale;
use crate::server::call::Call;
use crate::server::key::{Mode, Slot};
use crate::server::random;
use crate::server::register::{Arg, ArgKind, Spec};

pub const SPEC: Spec = Spec {
    name: "SECKILL.INIT",
    handler: run,
    arity: -3,
    flags: "write deny-oom",
    acl: table::ACL_OPERATOR,
    keys: table::CREATES,
    summary: "Creates a sale; told the same again, changes nothing",
    complexity: "O(1)",
    since: FIRST,
    tips: &[],
    args: &[
        table::KEY,
        Arg::new("supply", ArgKind::Integer).about("units of the sale, 0 or more"),
        table::LIMIT,
        table::GRABS,
        table::HOLD,
        table::OPENAT,
        table::CLOSEAT,
    ],
    reply: "`OK`: the sale is there, created now or by an INIT that was told the same.",
    errors: &[
        errors::INTEGER,
        errors::SYNTAX,
        errors::WINDOW_EMPTY,
        errors::HOLD_TOO_LONG,
        errors::HOLD_NOT_YET,
        errors::WRONG_TYPE,
        errors::SALE_EXISTS,
        errors::NOT_CREATED,
    ],
    example: "SECKILL.INIT drop 100 LIMIT 2",
    internal: false,
};

fn run(call: &mut Call<'_>) {
    let init = match parse(call.args()) {
        Ok((supply, terms)) => Init { supply, terms, id: random::id(), secret: random::secret() },
        Err(error) => return call.reply().error(error),
    };
    let is_new = matches!(call.open(KEY, Mode::Write).slot(), Slot::Missing);
    if is_new {
        create(call, &init);
    } else {
        commit::run(call, &Request::Init(init));
    }
}

fn parse(args: &[&[u8]]) -> Parsed<(u64, Terms)> {
    let mut words = Words::after_key(args);
    let supply = words.integer()?;
    Ok((supply, Terms::default().altered(&words.terms()?)))
}

fn create(call: &mut Call<'_>, init: &Init) {
    let (now, out) = (call.now(), call.reply());
    let decision = decide_new(init, &now);
    let [change] = &decision.changes[..] else {
        return reply::outcome(out, &decision.outcome);
    };
    let Ok(sale) = Sale::create(change, random::hash_key()) else {
        return out.error(errors::NOT_CREATED);
    };
    let stock = sale.core().stock();
    if call.open(KEY, Mode::Write).set(sale.created_in(now.run)).is_err() {
        return out.error(errors::NOT_CREATED);
    }
    commit::publish(call, 0, &decision.changes);
    commit::announce(call, &decision.changes, None, stock);
    reply::outcome(out, &decision.outcome);
}
