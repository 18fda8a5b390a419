//! `SECKILL.WAITERS key cursor [COUNT n]`: who waits, in order, page by page.

use super::args::{is, Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline};
use crate::server::call::{Call, Reply};
use seckill_domain::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use seckill_domain::waitlist::Waiter;
use seckill_domain::Sale;

pub const SPEC: Spec = Spec {
    name: "SECKILL.WAITERS",
    arity: -3,
    summary: "Lists who waits, in order, page by page",
    complexity: "O(N) where N is COUNT",
    args: &[vocabulary::KEY, Arg::new("cursor", ArgKind::Integer), vocabulary::COUNT],
    reply: "`[next-cursor, [[ticket, user, qty, req, at, until] ...]]`: start with cursor 0, go \
        on with the one that comes back, done when it is 0. The cursor is the last ticket listed, \
        so any ticket may be given. `until` is 0 where none was said.",
    errors: &[errors::INTEGER, errors::SYNTAX, errors::NO_SALE, errors::WRONG_TYPE],
    example: "SECKILL.WAITERS concert 0 COUNT 1000",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    let asked = parse(call.args());
    pipeline::show(call, asked, |sale, (cursor, count), reply| write(sale, cursor, count, reply));
}

/// The last ticket listed before, and how many to list.
fn parse(args: &[&[u8]]) -> Parsed<(u64, usize)> {
    let mut args = Args::after_key(args);
    let cursor = args.integer()?;
    let mut count = None;
    while let Some(name) = args.option() {
        if !is(name, "COUNT") {
            return Err(errors::SYNTAX);
        }
        args.once(&mut count, |args| args.count_up_to(PAGE_ROWS_MAX))?;
    }
    Ok((cursor, count.unwrap_or(PAGE_ROWS_DEFAULT) as usize))
}

fn write(sale: &Sale, cursor: u64, count: usize, out: Reply<'_>) {
    let list = sale.waitlist();
    let mut rest = list.into_iter().flat_map(|list| list.iter_from(cursor + 1));
    let page: Vec<Waiter<'_>> = rest.by_ref().take(count).collect();
    let last = page.last().map_or(0, |waiter| waiter.ticket);
    out.array(2);
    out.number(if rest.next().is_some() { last } else { 0 });
    out.array(page.len());
    for Waiter { ticket, user, req, qty, at, until } in page {
        out.array(6);
        out.number(ticket);
        out.bytes(user);
        out.number(qty);
        out.bytes(req);
        out.number(at);
        out.number(until);
    }
}
