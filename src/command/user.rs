//! `SECKILL.USER key user [COUNT n]`: a user's grants, and the units they may still have.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Spec};
use super::{errors, pipeline, reply};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::limits::PAGE_ROWS_DEFAULT;
use seckill_domain::outcome::Misuse;
use seckill_domain::Sale;

pub const SPEC: Spec = Spec {
    name: "SECKILL.USER",
    arity: -3,
    summary: "Shows what a user has and may still have",
    complexity: "O(N) where N is the number of grants listed",
    args: &[vocabulary::KEY, vocabulary::USER, vocabulary::COUNT],
    reply: "`[allowance, admission, [row ...]]`: the units that the user may still have (-1: no \
        limit), `OK`, `DENIED` or `BUSY` as GRAB would judge now, and the newest grant rows, \
        newest first (100, or COUNT of at most 10000).",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, Misuse::WrongPart.text()],
    example: "SECKILL.USER tickets carol",
    ..vocabulary::reader(run)
};

struct Query<'a> {
    user: &'a [u8],
    /// Most grants to list.
    count: usize,
}

fn run(call: &mut Call<'_>) {
    let query = parse(call.args());
    pipeline::show(call, query, |sale, query, reply| write(sale, &query, reply));
}

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<Query<'a>> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    let count = args.last_count(&vocabulary::COUNT)?;
    Ok(Query { user, count: count.unwrap_or(PAGE_ROWS_DEFAULT) as usize })
}

fn write(sale: &Sale, query: &Query<'_>, out: Reply<'_>) {
    if !sale.is_home(query.user) {
        return out.error(Misuse::WrongPart.text());
    }
    out.array(3);
    match sale.allowance(&sale.holding_of(query.user)) {
        Some(allowance) => out.number(allowance),
        None => out.int(-1),
    }
    out.bulk(sale.admittance(query.user).name());
    let newest_first = || sale.grants_of(query.user).take(query.count);
    out.array(newest_first().count());
    newest_first().for_each(|grant| reply::row(out, sale, &grant));
}
