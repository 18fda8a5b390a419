//! Outcomes as RESP. Words are bulk strings, because some clients turn a simple string into `true`;
//! only a plain OK is a simple string. Outcomes are written element by element with the server's
//! functions, without building a value first.

use super::errors;
use crate::server::reply::Reply;
use seckill_domain::ledger::Grant;
use seckill_domain::outcome::{GrantView, Outcome, Place, State};

/// Elements of a grant row.
const ROW_ELEMENTS: usize = 9;

/// Replies an outcome.
pub fn outcome(reply: Reply<'_>, outcome: &Outcome) {
    match outcome {
        Outcome::Done => reply.ok(),
        Outcome::Granted { grant, available } => {
            grab(reply, 6, "GRANTED", grant);
            reply.number(*available);
        }
        Outcome::Already(grant) => grab(reply, 5, "ALREADY", grant),
        Outcome::Replay(grant) => grab(reply, 5, "REPLAY", grant),
        Outcome::OverLimit { allowance } => pair(reply, "OVERLIMIT", *allowance),
        Outcome::SoldOut { held } => pair(reply, "SOLDOUT", *held),
        Outcome::Short { available } => pair(reply, "SHORT", *available),
        Outcome::NotOpen { in_ms } => pair(reply, "NOTOPEN", *in_ms),
        Outcome::Closed => word(reply, "CLOSED"),
        Outcome::Paused => word(reply, "PAUSED"),
        Outcome::Denied => word(reply, "DENIED"),
        Outcome::Busy | Outcome::Masked { is_of_list: true, .. } => word(reply, "BUSY"),
        Outcome::Masked { .. } => pair(reply, "SOLDOUT", 1),
        Outcome::Waiting(Place { ticket, ahead, units_ahead }) => {
            reply.array(4);
            reply.bulk("WAITING");
            [ticket, ahead, units_ahead].into_iter().for_each(|number| reply.number(*number));
        }
        Outcome::Stands(GrantView { seq, qty, state, deadline }) => {
            settled(reply, state.name(), [*seq, *qty, *deadline]);
        }
        Outcome::NoGrant => settled(reply, "NOGRANT", [0; 3]),
        Outcome::Fenced => settled(reply, State::Cancelled.name(), [0; 3]),
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
        // Never replied: `pipeline::run` loops until the outcome is another one.
        Outcome::NextRound => reply.ok(),
        Outcome::ManyOwnEnding => reply.error(errors::MANY_OWN_ENDING),
        Outcome::ManyEnding => reply.error(errors::MANY_ENDING),
        Outcome::Misuse(misuse) => reply.error(errors::misuse(*misuse)),
    }
}

fn word(reply: Reply<'_>, word: &'static str) {
    reply.array(1);
    reply.bulk(word);
}

fn pair(reply: Reply<'_>, first: &'static str, second: u64) {
    reply.array(2);
    reply.bulk(first);
    reply.number(second);
}

/// The first five of `len` elements of a reply to GRAB: the user has the units if and only if the
/// state is HELD or SOLD.
fn grab(reply: Reply<'_>, len: usize, first: &'static str, grant: &GrantView) {
    reply.array(len);
    reply.bulk(first);
    reply.number(grant.seq);
    reply.number(grant.qty);
    reply.bulk(grant.state.name());
    reply.number(grant.deadline);
}

/// The reply of CONFIRM, CANCEL, EXTEND and REFUND: a word, seq, quantity and deadline; 0 where
/// there is none.
fn settled(reply: Reply<'_>, first: &'static str, numbers: [u64; 3]) {
    reply.array(4);
    reply.bulk(first);
    numbers.into_iter().for_each(|number| reply.number(number));
}

/// A grant row: `[seq, user, qty, state, at, deadline, req, epoch, round]`.
pub fn row(reply: Reply<'_>, grant: &Grant<'_>) {
    let GrantView { seq, qty, state, deadline } = grant.view();
    reply.array(ROW_ELEMENTS);
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
}
