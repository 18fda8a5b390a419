//! `SECKILL.MGRAB user numkeys key [key ...] [QTY n [n ...]] [REQ id]`: a GRAB of several sales in
//! one step, all or nothing.

use super::args::{Args, Parsed};
use super::change::{self, Attempt, Task};
use super::vocabulary::{self, Arg, ArgKind, Spec};
use super::{errors, reply};
use crate::server::call::Call;
use crate::server::propagation::outbox::Stream;
use crate::server::reply::Reply;
use crate::server::value::key::NoSale;
use seckill_domain::decide::mgrab::{decide_multi_grab, MultiDecision, MultiOutcome, NextRounds};
use seckill_domain::decide::Decision;
use seckill_domain::limits::{INTEGER_MAX, MGRAB_KEYS_MAX};
use seckill_domain::numbers::UnitList;
use seckill_domain::outcome::{GrantView, Misuse, Outcome};
use seckill_domain::plan::Plan;
use seckill_domain::request::{Amount, Grab, Now};
use seckill_domain::Sale;

const NUMKEYS: Arg = Arg::new("numkeys", ArgKind::Integer).takes(1, MGRAB_KEYS_MAX as u64);
const QTY: Arg = Arg::new("n", ArgKind::Integer).titled("QTY").takes(1, INTEGER_MAX).multiple();

pub const SPEC: Spec = Spec {
    name: "SECKILL.MGRAB",
    arity: -4,
    flags: "write deny-oom fast",
    keys: vocabulary::COUNTED,
    summary: "Takes units of several sales for a user, of all or of none",
    complexity: "O(N) where N is the number of keys, each like a GRAB",
    args: &[
        vocabulary::USER,
        NUMKEYS,
        Arg::new("key", ArgKind::Key).multiple(),
        Arg::block("quantities", &[Arg::pure("qty", "QTY"), QTY]).optional(),
        vocabulary::REQ.optional(),
    ],
    reply: "`[GRANTED, [seq, qty, state, deadline, available] ...]`: a row for each distinct key, \
        in order of first mention\n\
        `[REFUSED, index, [outcome ...]]`: the first key, counted from 0, that refuses, and what \
        GRAB would have said\n\
        `[REPLAY, [seq, qty, state, deadline] ...]`: this request id was granted before",
    errors: &[
        errors::KEYS_MISSING,
        errors::QTY_COUNT,
        errors::QTY_SUM,
        errors::NO_SALE_OF_SEVERAL,
        errors::WRONG_TYPE,
        Misuse::WrongPart.text(),
        Misuse::ReqMismatch.text(),
        errors::MANY_OWN_ENDING,
        errors::MANY_ENDING,
        Misuse::DrawTakesNoAmount.text(),
        Misuse::TooManyAtOnce.text(),
        Misuse::GrantsFull.text(),
    ],
    example: "SECKILL.MGRAB alice 2 {drop}shirt {drop}shoes REQ order-7",
    ..vocabulary::buyer(run)
};

/// Index of the first key among the arguments.
const FIRST_KEY: usize = 2;

/// The request to one sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Index of its key among the arguments.
    arg: usize,
    amount: Amount,
}

fn run(call: &mut Call<'_>) {
    match parse(call.args()) {
        Ok((user, parts, req)) => grab(call, user, &parts, req),
        Err(error) => error.reply(call.reply()),
    }
}

type Asked<'a> = (&'a [u8], Vec<Part>, Option<&'a [u8]>);

fn parse<'a>(args: &'a [&'a [u8]]) -> Parsed<Asked<'a>> {
    let mut args = Args::of(args);
    let user = args.user()?;
    let numkeys = args.number(&NUMKEYS)?;
    let keys = args.take(numkeys as usize).ok_or(errors::KEYS_MISSING)?;
    let (mut quantities, mut req) = (None, None);
    while let Some(name) = args.option() {
        if name.eq_ignore_ascii_case(b"QTY") && quantities.is_none() {
            quantities = Some(read_quantities(&mut args, keys.len())?);
        } else if name.eq_ignore_ascii_case(b"REQ") && req.is_none() {
            req = Some(args.req()?);
        } else {
            return Err(args.stray());
        }
    }
    Ok((user, sum_up(keys, quantities.as_deref())?, req))
}

/// One quantity for all keys, or one for each.
fn read_quantities(args: &mut Args<'_>, keys: usize) -> Parsed<Vec<u64>> {
    let first = args.number(&QTY)?;
    let mut quantities = vec![first];
    while let Some(qty) = args.next_number(&QTY)? {
        quantities.push(qty);
    }
    match quantities.len() {
        1 => Ok(vec![first; keys]),
        len if len == keys => Ok(quantities),
        _ => Err(errors::QTY_COUNT.into()),
    }
}

/// The distinct keys in order of first mention, each with the sum of its quantities.
fn sum_up(keys: &[&[u8]], quantities: Option<&[u64]>) -> Parsed<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::with_capacity(keys.len());
    for (index, key) in keys.iter().enumerate() {
        let qty = quantities.and_then(|quantities| quantities.get(index).copied());
        let known = parts.iter_mut().find(|part| keys.get(part.arg - FIRST_KEY) == Some(key));
        let Some(known) = known else {
            let amount = qty.map_or(Amount::Unsaid, Amount::Exactly);
            parts.push(Part { arg: index + FIRST_KEY, amount });
            continue;
        };
        let before = match known.amount {
            Amount::Exactly(before) => before,
            Amount::UpTo(_) | Amount::Unsaid => 1,
        };
        let sum = before + qty.unwrap_or(1);
        if sum > INTEGER_MAX {
            return Err(errors::QTY_SUM.into());
        }
        known.amount = Amount::Exactly(sum);
    }
    Ok(parts)
}

fn grab(call: &mut Call<'_>, user: &[u8], parts: &[Part], req: Option<&[u8]>) {
    let (out, now) = (call.reply(), call.now());
    // Rounds that are over end first; then all parts are decided again with an unchanged time.
    loop {
        match take(call, user, parts, req, &now) {
            Ok(Some((outcome, units))) => return answer(out, &outcome, &units),
            Ok(None) => {}
            Err(error) => return out.error(error),
        }
    }
}

/// The numbers of each part's units; empty if every sale is plain.
type Units = Vec<Option<UnitList>>;

/// Decides all parts once, and commits all of them or nothing. `None` if rounds have begun instead.
fn take(
    call: &mut Call<'_>,
    user: &[u8],
    parts: &[Part],
    req: Option<&[u8]>,
    now: &Now,
) -> Result<Option<(MultiOutcome, Units)>, &'static str> {
    call.let_expire(&parts.iter().map(|part| part.arg).collect::<Vec<_>>());
    let (decided, streams, units) = judge(call, user, parts, req, now)?;
    let made: Vec<(Option<&Plan<'_>>, Option<&Outcome>)> = match &decided {
        Ok(MultiDecision { outcome, decisions }) => {
            // The parts before the refusal were not granted, so only the refusal counts.
            let counts = |part| match outcome {
                MultiOutcome::Refused { index, .. } => part == *index,
                _ => true,
            };
            let made = decisions.iter().enumerate().map(|(part, Decision { outcome, plan })| {
                (plan.as_ref(), counts(part).then_some(outcome))
            });
            made.collect()
        }
        Err(NextRounds(begun)) => begun.iter().map(|plan| (plan.as_ref(), None)).collect(),
    };
    let tasks =
        parts.iter().zip(made).zip(&streams).map(|((part, (plan, outcome)), stream)| Task {
            arg: part.arg,
            plan,
            attempt: outcome.map(|outcome| Attempt { outcome, amount: part.amount }),
            stream: stream.as_ref(),
        });
    let tasks: Vec<Task<'_, '_, '_>> = tasks.collect();
    change::all(call, &tasks, now)?;
    Ok(decided.ok().map(|decided| (decided.outcome, units)))
}

/// The decision, and the stream and the units of each part.
type Judged<'a, 'c> = (Result<MultiDecision<'a>, NextRounds<'a>>, Vec<Option<Stream<'c>>>, Units);

/// Decides all parts.
fn judge<'a, 'c>(
    call: &mut Call<'c>,
    user: &'a [u8],
    parts: &[Part],
    req: Option<&'a [u8]>,
    now: &Now,
) -> Result<Judged<'a, 'c>, &'static str> {
    let outbox = call.outbox();
    let mut keys = call.open_all(parts.iter().map(|part| part.arg));
    let mut sales: Vec<&Sale> = Vec::with_capacity(keys.len());
    for key in &mut keys {
        sales.push(key.sale().map_err(|why| match why {
            NoSale::Missing => errors::NO_SALE_OF_SEVERAL,
            NoSale::Foreign => errors::WRONG_TYPE,
        })?);
    }
    let grabs = parts.iter().map(|part| Grab { user, amount: part.amount, req });
    let judged: Vec<(&Sale, Grab<'a>)> = sales.iter().copied().zip(grabs).collect();
    let decided = decide_multi_grab(&judged, now);
    let plans: Vec<Option<&Plan<'_>>> = match &decided {
        Ok(MultiDecision { outcome: MultiOutcome::Misuse(misuse), .. }) => {
            return Err(misuse.text());
        }
        Ok(decided) => decided.decisions.iter().map(|it| it.plan.as_ref()).collect(),
        Err(NextRounds(begun)) => begun.iter().map(Option::as_ref).collect(),
    };
    let stream_of = |(sale, plan): (&&Sale, Option<&Plan<'_>>)| {
        Some(outbox.stream(sale.outbox_after(plan?)?, false))
    };
    let streams = sales.iter().zip(plans).map(stream_of).collect();
    let replied = |(sale, decision): (&&Sale, &Decision<'_>)| {
        sale.units_replied(&decision.outcome, decision.plan.as_ref())
    };
    let units = match &decided {
        Ok(decided) if !sales.iter().all(|sale| sale.is_plain()) => {
            sales.iter().zip(&decided.decisions).map(replied).collect()
        }
        _ => Units::new(),
    };
    Ok((decided, streams, units))
}

fn answer(out: Reply<'_>, outcome: &MultiOutcome, units: &Units) {
    let units_at = |part: usize| units.get(part).and_then(Option::as_deref);
    match outcome {
        MultiOutcome::Granted(grants) => {
            out.array(1 + grants.len());
            out.bulk("GRANTED");
            for (part, (grant, available)) in grants.iter().enumerate() {
                row(out, grant, Some(*available), units_at(part));
            }
        }
        MultiOutcome::Replayed(grants) => {
            out.array(1 + grants.len());
            out.bulk("REPLAY");
            let rows = grants.iter().enumerate();
            rows.for_each(|(part, grant)| row(out, grant, None, units_at(part)));
        }
        MultiOutcome::Refused {
            outcome: outcome @ (Outcome::ManyOwnEnding | Outcome::ManyEnding),
            ..
        } => reply::outcome(out, outcome, None),
        MultiOutcome::Refused { index, outcome } => {
            out.array(3);
            out.bulk("REFUSED");
            out.number(*index as u64);
            reply::outcome(out, outcome, units_at(*index));
        }
        MultiOutcome::Misuse(misuse) => out.error(misuse.text()),
    }
}

fn row(out: Reply<'_>, grant: &GrantView, available: Option<u64>, units: reply::Units<'_>) {
    let GrantView { seq, qty, state, deadline } = *grant;
    out.array(4 + usize::from(available.is_some()) + usize::from(units.is_some()));
    out.number(seq);
    out.number(qty);
    out.bulk(state.name());
    out.number(deadline);
    if let Some(available) = available {
        out.number(available);
    }
    reply::put_units(out, units);
}
