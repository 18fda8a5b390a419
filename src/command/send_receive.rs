//! `SECKILL.SEND key id to total [OWED]` and `SECKILL.RECEIVE key id from total`: units move from
//! one part of a split to another, by totals that only grow.

use super::args::{is, Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use seckill_domain::request::{Receive, Request, Send};

const ERRORS: &[&str] = &[
    errors::INTEGER,
    errors::SYNTAX,
    errors::SPLIT_ID,
    errors::NO_SALE,
    errors::WRONG_TYPE,
    errors::NOT_A_PART,
    errors::NOT_THIS_SPLIT,
    errors::NOT_ANOTHER_PART,
    errors::MOVED_TOO_MANY,
];

pub const SEND: Spec = Spec {
    name: "SECKILL.SEND",
    arity: -5,
    summary: "Sends units of a part to another one, up to a total",
    complexity: "O(log N) where N is the number of parts",
    args: &[
        vocabulary::KEY,
        vocabulary::SPLIT,
        Arg::new("to", ArgKind::Integer).about("the part that they go to"),
        Arg::new("total", ArgKind::Integer)
            .about("units that were ever sent from here to there, after this call"),
        Arg::pure("owed", "OWED")
            .optional()
            .about("what is not available is sent all the same, and promised as `deficit`"),
    ],
    reply: "`[total, available]`: units ever sent to that part, as far as what was available \
        reached, and what is available now. The present total again changes nothing and is \
        replicated, so that a WAIT behind it covers the first call; a smaller one leaves no trace.",
    errors: ERRORS,
    example: "SECKILL.SEND sale:phone:{p0} s-1 1 20",
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
        Arg::new("from", ArgKind::Integer).about("the part that they come from"),
        Arg::new("total", ArgKind::Integer)
            .about("units that were ever received here from there, after this call"),
    ],
    reply: "`[total, available]`: units ever received from that part, and what is available now. \
        A total that is not above the present one leaves no trace. Never more than that part has \
        told to have sent here, and its replicas have it: SEND and WAIT come first.",
    example: "SECKILL.RECEIVE sale:phone:{p1} s-1 0 20",
    ..SEND
};

fn send(call: &mut Call<'_>) {
    let request = parse_send(call.args()).map(Request::Send);
    pipeline::run(call, request);
}

fn receive(call: &mut Call<'_>) {
    let request = parse_receive(call.args()).map(Request::Receive);
    pipeline::run(call, request);
}

fn parse_send<'a>(args: &'a [&'a [u8]]) -> Parsed<Send<'a>> {
    let mut args = Args::after_key(args);
    let (split, to, total) = (args.split()?, args.integer()?, args.integer()?);
    let owed = args.option();
    args.end()?;
    match owed {
        Some(name) if !is(name, "OWED") => Err(errors::SYNTAX),
        owed => Ok(Send { split, to, total, owed: owed.is_some() }),
    }
}

fn parse_receive<'a>(args: &'a [&'a [u8]]) -> Parsed<Receive<'a>> {
    let mut args = Args::after_key(args);
    let (split, from, total) = (args.split()?, args.integer()?, args.integer()?);
    args.end()?;
    Ok(Receive { split, from, total })
}
