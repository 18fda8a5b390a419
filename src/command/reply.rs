//! Outcomes as RESP. Words are bulk strings, because some clients turn a simple string into `true`;
//! only a plain OK is a simple string. Outcomes are written element by element with the server's
//! functions, without building a value first.

use super::errors;
use crate::server::reply::Reply;
use seckill_domain::ledger::Grant;
use seckill_domain::outcome::{Elements, GrantView, Outcome, Place, State};
use seckill_domain::Sale;

/// Elements of a grant row, except for the numbers of its units.
const ROW_ELEMENTS: usize = 9;

/// The numbers of a grant's units, in a sale whose units have numbers.
pub type Units<'u> = Option<&'u [u32]>;

/// Replies an outcome. `units` are the numbers of its grant.
#[inline]
pub fn outcome(reply: Reply<'_>, outcome: &Outcome, units: Units<'_>) {
    if let Some((word, elements)) = outcome.elements() {
        return answer(reply, word, elements, units);
    }
    match outcome {
        Outcome::Stands(GrantView { seq, qty, state, deadline }) => {
            settled(reply, state.name(), [*seq, *qty, *deadline], units);
        }
        Outcome::NoGrant => settled(reply, "NOGRANT", [0; 3], units),
        Outcome::Fenced => settled(reply, State::Cancelled.name(), [0; 3], units),
        Outcome::Changed { users } => reply.number(*users),
        Outcome::Restocked { applied, available } => {
            reply.array(2);
            reply.int(*applied);
            reply.number(*available);
        }
        Outcome::Moved { total: first, available: second }
        | Outcome::Elsewhere { units: first, pass: second } => {
            reply.array(2);
            reply.number(*first);
            reply.number(*second);
        }
        Outcome::ManyOwnEnding => reply.error(errors::MANY_OWN_ENDING),
        Outcome::ManyEnding => reply.error(errors::MANY_ENDING),
        Outcome::Misuse(misuse) => reply.error(misuse.text()),
        // `Done`; answers to GRAB are replied above.
        _ => reply.ok(),
    }
}

/// Replies an answer to GRAB. In an answer with a grant, its state shows whether the user has the
/// units (HELD or SOLD).
#[inline(always)]
fn answer(reply: Reply<'_>, word: &'static str, elements: Elements<'_>, units: Units<'_>) {
    match elements {
        Elements::Nothing => {
            reply.array(1);
            reply.bulk(word);
        }
        Elements::Number(number) => {
            reply.array(2);
            reply.bulk(word);
            reply.number(number);
        }
        Elements::Grant(grant, available) => {
            reply.array(if available.is_some() { 6 } else { 5 } + usize::from(units.is_some()));
            reply.bulk(word);
            reply.number(grant.seq);
            reply.number(grant.qty);
            reply.bulk(grant.state.name());
            reply.number(grant.deadline);
            if let Some(available) = available {
                reply.number(available);
            }
            put_units(reply, units);
        }
        Elements::Place(Place { ticket, ahead, units_ahead }) => {
            reply.array(4);
            reply.bulk(word);
            [ticket, ahead, units_ahead].into_iter().for_each(|number| reply.number(*number));
        }
    }
}

/// The reply of CONFIRM, CANCEL, EXTEND and REFUND: a word, seq, quantity and deadline; 0 where
/// there is none.
fn settled(reply: Reply<'_>, first: &'static str, numbers: [u64; 3], units: Units<'_>) {
    reply.array(4 + usize::from(units.is_some()));
    reply.bulk(first);
    numbers.into_iter().for_each(|number| reply.number(number));
    put_units(reply, units);
}

/// The last element of a reply about a grant of numbered units: the numbers.
#[inline]
pub fn put_units(reply: Reply<'_>, units: Units<'_>) {
    let Some(units) = units else { return };
    reply.array(units.len());
    units.iter().for_each(|unit| reply.number((*unit).into()));
}

/// A grant row: `[seq, user, qty, state, at, deadline, req, epoch, round]`, and the numbers of its
/// units in a sale whose units have numbers.
pub fn row(reply: Reply<'_>, sale: &Sale, grant: &Grant<'_>) {
    let GrantView { seq, qty, state, deadline } = grant.view();
    let units = sale.numbers().map(|numbers| numbers.of(seq));
    reply.array(ROW_ELEMENTS + usize::from(units.is_some()));
    reply.number(seq);
    reply.bulk(grant.user);
    reply.number(qty);
    reply.bulk(state.name());
    reply.number(grant.at);
    reply.number(deadline);
    match grant.req_id() {
        Some(req) => reply.bulk(req),
        None => reply.null(),
    }
    reply.number(grant.epoch);
    reply.number(grant.round);
    put_units(reply, units.as_deref());
}
