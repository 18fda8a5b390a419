//! The parts of a split, which sell one stock on several keys. `SECKILL.SEND key id to total
//! [OWED]` and `SECKILL.RECEIVE key id from total`: move units between parts, by totals that only
//! grow. `SECKILL.ELSEWHERE key id n pass`: sets the units that the other parts may still have.
//! `SECKILL.PARTS key`: a part's numbers for a balancer, read in one step. `SECKILL.HOME user
//! parts`: the home part of a user.

use core::num::NonZeroU16;

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Group, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::limits::{INTEGER_MAX, PARTS_MAX};
use seckill_domain::outcome::Misuse;
use seckill_domain::parts::home_of;
use seckill_domain::request::{Elsewhere, Receive, Request, Send};
use seckill_domain::Sale;

const ERRORS: &[&str] = &[
    errors::NO_SALE,
    errors::WRONG_TYPE,
    Misuse::NotAPart.text(),
    Misuse::NotThisSplit.text(),
    Misuse::NotAnotherPart.text(),
    Misuse::MovedTooMany.text(),
];

const TO: Arg = peer("to").about("the part that they go to");
const FROM: Arg = peer("from").about("the part that they come from");
const TOTAL: Arg = Arg::new("total", ArgKind::Integer).takes(0, INTEGER_MAX);
const UNITS: Arg = Arg::new("n", ArgKind::Integer)
    .takes(0, INTEGER_MAX)
    .about("units; while it is not 0, who finds nothing is told that some may come");
const PASS: Arg = Arg::new("pass", ArgKind::Integer)
    .takes(0, INTEGER_MAX)
    .about("of the pass over all parts that found it: 1 more than the greatest it read");
const COUNT: Arg = Arg::new("parts", ArgKind::Integer)
    .takes(1, PARTS_MAX as u64)
    .about("how many parts there are, 1 to 1024");

/// Another part of the split.
const fn peer(name: &'static str) -> Arg {
    Arg::new(name, ArgKind::Integer).takes(0, PARTS_MAX as u64 - 1)
}

pub const SEND: Spec = Spec {
    name: "SECKILL.SEND",
    arity: -5,
    summary: "Sends units of a part to another one, up to a total",
    complexity: "O(log N) where N is the number of parts",
    args: &[
        vocabulary::KEY,
        vocabulary::SPLIT,
        TO,
        TOTAL.about("units that were ever sent from here to there, after this call"),
        Arg::pure("owed", "OWED")
            .optional()
            .about("what is not available is sent all the same, and promised as `deficit`"),
    ],
    reply: "`[total, available]`: units ever sent to that part, as far as what was available \
        reached, and what is available now. The present total again changes nothing and is \
        replicated, so that a WAIT behind it covers the first call; a smaller one leaves no trace.",
    errors: ERRORS,
    example: "SECKILL.SEND sale:phone:{p0} s-1 1 20",
    group: Group::Parts,
    ..vocabulary::operator(send)
};

pub const RECEIVE: Spec = Spec {
    name: "SECKILL.RECEIVE",
    handler: receive,
    arity: 5,
    summary: "Receives units of another part, up to a total",
    args: &[
        vocabulary::KEY,
        vocabulary::SPLIT,
        FROM,
        TOTAL.about("units that were ever received here from there, after this call"),
    ],
    reply: "`[total, available]`: units ever received from that part, and what is available now. \
        A total that is not above the present one leaves no trace. Never more than that part has \
        told to have sent here, and its replicas have it: SEND and WAIT come first.",
    example: "SECKILL.RECEIVE sale:phone:{p1} s-1 0 20",
    ..SEND
};

pub const ELSEWHERE: Spec = Spec {
    name: "SECKILL.ELSEWHERE",
    arity: 5,
    summary: "Tells a part how many units the others may still have",
    args: &[vocabulary::KEY, vocabulary::SPLIT, UNITS, PASS],
    reply: "`[n, pass]` as they now stand. Only a pair that is above the present one, by its pass \
        and then by n, takes its place; any other leaves no trace.",
    errors: &[
        errors::NO_SALE,
        errors::WRONG_TYPE,
        Misuse::NotAPart.text(),
        Misuse::NotThisSplit.text(),
    ],
    example: "SECKILL.ELSEWHERE sale:phone:{p0} s-1 70 1",
    group: Group::Parts,
    ..vocabulary::operator(elsewhere)
};

pub const PARTS: Spec = Spec {
    name: "SECKILL.PARTS",
    arity: 2,
    summary: "Shows what a part of a split has, sent and received, in one step",
    complexity: "O(N) where N is the number of parts that it has exchanged units with",
    reply: "`[id, part, parts, put_in, available, held, deficit, elsewhere, pass, [[peer, sent, \
        received] ...]]`: the split and its part; its share and the restocks applied (negative \
        where more was withdrawn); what it has and owes; what the other parts may still have, and \
        the pass that told so; a row for each part that it has exchanged units with, in order.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, Misuse::NotAPart.text()],
    example: "SECKILL.PARTS sale:phone:{p0}",
    group: Group::Parts,
    ..vocabulary::reader(parts)
};

pub const HOME: Spec = Spec {
    name: "SECKILL.HOME",
    arity: 3,
    flags: "readonly fast allow-loading allow-stale",
    acl: "read fast",
    keys: &[],
    summary: "Shows which part of a split a user is at home in",
    args: &[vocabulary::USER, COUNT],
    reply: "The number of the part, from 0: the CRC-32 of the user id, as zlib has it, modulo \
        parts. Clients compute it themselves.",
    errors: &[],
    example: "SECKILL.HOME alice 16",
    group: Group::Parts,
    ..vocabulary::reader(home)
};

fn send(call: &mut Call<'_>) {
    let request = parse(call.args(), &TO, &TOTAL, true)
        .map(|(split, to, total, owed)| Request::Send(Send { split, to, total, owed }));
    pipeline::run(call, request);
}

fn receive(call: &mut Call<'_>) {
    let request = parse(call.args(), &FROM, &TOTAL, false)
        .map(|(split, from, total, _)| Request::Receive(Receive { split, from, total }));
    pipeline::run(call, request);
}

fn elsewhere(call: &mut Call<'_>) {
    let request = parse(call.args(), &UNITS, &PASS, false)
        .map(|(split, units, pass, _)| Request::Elsewhere(Elsewhere { split, units, pass }));
    pipeline::run(call, request);
}

/// The split, two numbers within their rows' bounds, and whether OWED was given, if allowed.
fn parse<'a>(
    args: &'a [&'a [u8]],
    first: &'static Arg,
    second: &'static Arg,
    may_owe: bool,
) -> Parsed<(&'a [u8], u64, u64, bool)> {
    let mut args = Args::after_key(args);
    let split = args.id(&vocabulary::SPLIT)?;
    let (first, second) = (args.number(first)?, args.number(second)?);
    let owed = may_owe && args.accept("OWED");
    args.end()?;
    Ok((split, first, second, owed))
}

fn parts(call: &mut Call<'_>) {
    pipeline::show(call, Ok(()), |sale, (), reply| write_parts(sale, reply));
}

fn write_parts(sale: &Sale, out: Reply<'_>) {
    let Some(part) = sale.part() else {
        return out.error(Misuse::NotAPart.text());
    };
    let (balances, escrow) = (sale.balances(), part.escrow);
    out.array(10);
    out.bulk(&part.split.id);
    out.number(part.split.part.into());
    out.number(part.split.parts.get().into());
    out.int(escrow.put_in);
    for number in [balances.available, balances.held, balances.deficit] {
        out.number(number);
    }
    out.number(balances.elsewhere);
    out.number(escrow.pass);
    out.array(part.pairs.len());
    for pair in part.pairs {
        out.array(3);
        out.number(pair.peer.into());
        out.number(pair.sent);
        out.number(pair.received);
    }
}

fn home(call: &mut Call<'_>) {
    match parse_home(call.args()) {
        Ok((user, parts)) => call.reply().number(home_of(user, parts).into()),
        Err(error) => error.reply(call.reply()),
    }
}

fn parse_home<'a>(args: &'a [&'a [u8]]) -> Parsed<(&'a [u8], NonZeroU16)> {
    let mut args = Args::of(args);
    let (user, parts) = (args.user()?, args.number(&COUNT)?);
    args.end()?;
    let parts = u16::try_from(parts).ok().and_then(NonZeroU16::new);
    Ok((user, parts.ok_or(COUNT.error())?))
}
