//! From outcomes to RESP. Words are bulk strings, because some clients turn a simple string into
//! `true`; only a plain OK is a simple string. Replies are written call by call, without building
//! a value first.

use super::errors;
use crate::sale::ledger::Grant;
use crate::sale::outcome::{Outcome, Standing, State};
use crate::server::reply::Reply;

/// Elements of a grant row.
const ROW_ELEMENTS: usize = 9;

/// Replies what a command came to.
pub fn outcome(reply: Reply<'_>, outcome: &Outcome) {
    match outcome {
        Outcome::Done => reply.ok(),
        Outcome::Granted { grant, available } => {
            standing(reply, 6, "GRANTED", grant);
            reply.number(*available);
        }
        Outcome::Already(grant) => standing(reply, 5, "ALREADY", grant),
        Outcome::Replay(grant) => standing(reply, 5, "REPLAY", grant),
        Outcome::OverLimit { allowance } => with_number(reply, "OVERLIMIT", *allowance),
        Outcome::SoldOut { held } => with_number(reply, "SOLDOUT", *held),
        Outcome::Short { available } => with_number(reply, "SHORT", *available),
        Outcome::NotOpen { in_ms } => with_number(reply, "NOTOPEN", *in_ms),
        Outcome::Closed => alone(reply, "CLOSED"),
        Outcome::Paused => alone(reply, "PAUSED"),
        Outcome::Stands(grant) => stands(reply, grant),
        Outcome::NoGrant => stands_for(reply, "NOGRANT"),
        Outcome::Fenced => stands_for(reply, State::Cancelled.name()),
        Outcome::Denied => alone(reply, "DENIED"),
        Outcome::Busy => alone(reply, "BUSY"),
        Outcome::Changed { users } => reply.number(*users),
        Outcome::Restocked { applied, available } => {
            reply.array(2);
            reply.int(*applied);
            reply.number(*available);
        }
        // A caller that asks for judgement asks again after the round; nobody is told this.
        Outcome::NextRound => reply.ok(),
        Outcome::Misuse(misuse) => reply.error(errors::misuse(*misuse)),
    }
}

/// A grant as it stands after a command: `[state, seq, qty, deadline]`.
fn stands(reply: Reply<'_>, grant: &Standing) {
    let Standing { seq, qty, state, deadline } = *grant;
    reply.array(4);
    reply.text(state.name());
    reply.number(seq);
    reply.number(qty);
    reply.number(deadline);
}

/// The same where there is no grant.
fn stands_for(reply: Reply<'_>, name: &str) {
    reply.array(4);
    reply.text(name);
    reply.int(0);
    reply.int(0);
    reply.int(0);
}

/// A grant row: `[seq, user, qty, state, at, deadline, req, epoch, round]`.
pub fn row(reply: Reply<'_>, grant: &Grant<'_>) {
    let Standing { seq, qty, state, deadline } = grant.standing();
    reply.array(ROW_ELEMENTS);
    reply.number(seq);
    reply.bytes(grant.user);
    reply.number(qty);
    reply.text(state.name());
    reply.number(grant.at);
    reply.number(deadline);
    match grant.req_id() {
        Some(req) => reply.bytes(req),
        None => reply.null(),
    }
    reply.number(grant.epoch);
    reply.number(grant.round);
}

fn alone(reply: Reply<'_>, name: &str) {
    reply.array(1);
    reply.text(name);
}

fn with_number(reply: Reply<'_>, name: &str, value: u64) {
    reply.array(2);
    reply.text(name);
    reply.number(value);
}

/// What GRANTED, ALREADY and REPLAY share. `elements` counts those that the caller adds, too.
fn standing(reply: Reply<'_>, elements: usize, name: &str, grant: &Standing) {
    let Standing { seq, qty, state, deadline } = *grant;
    reply.array(elements);
    reply.text(name);
    reply.number(seq);
    reply.number(qty);
    reply.text(state.name());
    reply.number(deadline);
}
