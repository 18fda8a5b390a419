//! `SECKILL.PLACE key user`: a user's place on the waiting list. `SECKILL.WAITERS key cursor [COUNT
//! n]`: all waiters in order, page by page.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Spec};
use super::{errors, pipeline, reply};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::limits::PAGE_ROWS_DEFAULT;
use seckill_domain::outcome::{Misuse, Outcome};
use seckill_domain::waitlist::Waiter;
use seckill_domain::Sale;

pub const PLACE: Spec = Spec {
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
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, Misuse::WrongPart.text()],
    example: "SECKILL.PLACE concert dora",
    ..vocabulary::reader(place)
};

pub const WAITERS: Spec = Spec {
    name: "SECKILL.WAITERS",
    arity: -3,
    summary: "Lists who waits, in order, page by page",
    complexity: "O(N) where N is COUNT",
    args: &[vocabulary::KEY, vocabulary::CURSOR, vocabulary::COUNT],
    reply: "`[next-cursor, [[ticket, user, qty, req, at, until] ...]]`: start with cursor 0, go \
        on with the one that comes back, done when it is 0. The cursor is the last ticket listed, \
        so any ticket may be given. `until` is 0 where none was said.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE],
    example: "SECKILL.WAITERS concert 0 COUNT 1000",
    ..vocabulary::reader(waiters)
};

fn place(call: &mut Call<'_>) {
    let user = parse_place(call.args());
    let now = call.now();
    pipeline::show(call, user, |sale, user, out| match sale.place(user, &now) {
        _ if !sale.is_home(user) => out.error(Misuse::WrongPart.text()),
        Some(place) => reply::outcome(out, &Outcome::Waiting(place), None),
        None => {
            out.array(1);
            out.bulk("NONE");
        }
    });
}

fn parse_place<'a>(args: &'a [&'a [u8]]) -> Parsed<&'a [u8]> {
    let mut args = Args::after_key(args);
    let user = args.user()?;
    args.end()?;
    Ok(user)
}

fn waiters(call: &mut Call<'_>) {
    let asked = parse_waiters(call.args());
    pipeline::show(call, asked, |sale, (cursor, count), reply| {
        write_waiters(sale, cursor, count, reply)
    });
}

/// The last ticket of the previous page, and the number of waiters to list.
fn parse_waiters(args: &[&[u8]]) -> Parsed<(u64, usize)> {
    let mut args = Args::after_key(args);
    let cursor = args.number(&vocabulary::CURSOR)?;
    let count = args.last_count(&vocabulary::COUNT)?;
    Ok((cursor, count.unwrap_or(PAGE_ROWS_DEFAULT) as usize))
}

fn write_waiters(sale: &Sale, cursor: u64, count: usize, out: Reply<'_>) {
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
        out.bulk(user);
        out.number(qty);
        out.bulk(req);
        out.number(at);
        out.number(until);
    }
}
