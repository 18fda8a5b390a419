//! `SECKILL.WINNERS key cursor [COUNT n] [STATE LIVE|HELD|SOLD|CANCELLED|EXPIRED|REFUNDED|ALL]
//! [ROUND r]`: the grants in seq order, page by page.

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, pipeline, reply};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::limits::{INTEGER_MAX, PAGE_ROWS_DEFAULT};
use seckill_domain::outcome::State;
use seckill_domain::Sale;

const ROUND: Arg = Arg::new("round", ArgKind::Integer)
    .shown("r")
    .token("ROUND")
    .takes(0, INTEGER_MAX)
    .optional()
    .about("only the current or the previous round of a sale with EVERY");

pub const SPEC: Spec = Spec {
    name: "SECKILL.WINNERS",
    arity: -3,
    summary: "Lists grants in seq order, page by page",
    complexity: "O(N) where N is COUNT",
    args: &[
        vocabulary::KEY,
        vocabulary::CURSOR.about("the last seq looked at, 0 to start"),
        vocabulary::COUNT,
        Arg::one_of(
            "state",
            &[
                Arg::pure("live", "LIVE"),
                Arg::pure("held", "HELD"),
                Arg::pure("sold", "SOLD"),
                Arg::pure("cancelled", "CANCELLED"),
                Arg::pure("expired", "EXPIRED"),
                Arg::pure("refunded", "REFUNDED"),
                Arg::pure("all", "ALL"),
            ],
        )
        .token("STATE")
        .optional()
        .about("only grants in this state; LIVE (the default): HELD or SOLD"),
        ROUND,
    ],
    reply: "`[next-cursor, [row ...]]`: start with cursor 0, go on with the one that comes back, \
        done when it is 0. The cursor is the last seq looked at, so any seq may be given. COUNT \
        seqs are looked at (100, at most 10000), those in STATE are listed (LIVE, which is HELD \
        and SOLD); a page may be empty before the end.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE],
    example: "SECKILL.WINNERS tickets 0 COUNT 1000 STATE SOLD",
    ..vocabulary::reader(run)
};

/// The grants to be listed.
#[derive(Clone, Copy)]
enum Filter {
    All,
    Live,
    Only(State),
}

impl Filter {
    fn lets(self, state: State) -> bool {
        match self {
            Filter::All => true,
            Filter::Live => state.is_live(),
            // Callers see a forfeited grant as EXPIRED.
            Filter::Only(only) => state.name() == only.name(),
        }
    }
}

struct Page {
    /// The last seq of the previous page.
    cursor: u64,
    /// Seqs to read.
    count: u64,
    filter: Filter,
    /// The current or the previous round; all kept rounds if none is named.
    round: Option<u64>,
}

fn run(call: &mut Call<'_>) {
    let page = parse(call.args());
    pipeline::show(call, page, |sale, page, reply| write(sale, &page, reply));
}

fn parse(args: &[&[u8]]) -> Parsed<Page> {
    let mut args = Args::after_key(args);
    let cursor = args.number(&vocabulary::CURSOR)?;
    let (mut count, mut filter, mut round) = (None, None, None);
    while let Some(name) = args.option() {
        if name.eq_ignore_ascii_case(b"COUNT") && count.is_none() {
            count = Some(args.number(&vocabulary::COUNT)?);
        } else if name.eq_ignore_ascii_case(b"ROUND") && round.is_none() {
            round = Some(args.number(&ROUND)?);
        } else if name.eq_ignore_ascii_case(b"STATE") && filter.is_none() {
            filter = Some(filter_of(args.bytes()?).ok_or_else(|| args.stray())?);
        } else {
            return Err(args.stray());
        }
    }
    let count = count.unwrap_or(PAGE_ROWS_DEFAULT);
    Ok(Page { cursor, count, filter: filter.unwrap_or(Filter::Live), round })
}

fn filter_of(word: &[u8]) -> Option<Filter> {
    use State::{Cancelled, Expired, Held, Refunded, Sold};
    if word.eq_ignore_ascii_case(b"ALL") {
        return Some(Filter::All);
    }
    if word.eq_ignore_ascii_case(b"LIVE") {
        return Some(Filter::Live);
    }
    let states = [Held, Sold, Cancelled, Expired, Refunded];
    states
        .into_iter()
        .find(|state| word.eq_ignore_ascii_case(state.name().as_bytes()))
        .map(Filter::Only)
}

fn write(sale: &Sale, page: &Page, out: Reply<'_>) {
    let range = match page.round {
        None => Some((1, sale.ledger().len())),
        Some(round) => sale.seqs_of_round(round),
    };
    // A round without a grant, or one that is not kept, gives an empty list.
    let (first, newest) = range.unwrap_or((1, 0));
    let mut cursor = page.cursor.max(first - 1);
    let mut grants = Vec::new();
    let mut seqs = sale.grants_after(cursor).take_while(|(seq, _)| *seq <= newest);
    for (seq, grant) in seqs.by_ref().take(page.count as usize) {
        cursor = seq;
        grants.extend(grant.filter(|grant| page.filter.lets(grant.state)));
    }
    let is_done = seqs.next().is_none();
    out.array(2);
    out.number(if is_done { 0 } else { cursor });
    out.array(grants.len());
    grants.iter().for_each(|grant| reply::row(out, sale, grant));
}
