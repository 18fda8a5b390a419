//! From outcomes to RESP. Words are bulk strings, because some clients turn a simple string into
//! `true`; only a plain OK is a simple string. Replies are written call by call, without building
//! a value first.

use super::errors;
use crate::sale::ledger::Grant;
use crate::sale::outcome::{Outcome, Standing, State};
use crate::server::answers::{Fixed, Part, Part::Number};
use crate::server::reply::Reply;

static GRANTED: Fixed = Fixed::first(6, "GRANTED");
static ALREADY: Fixed = Fixed::first(5, "ALREADY");
static REPLAY: Fixed = Fixed::first(5, "REPLAY");
static OVERLIMIT: Fixed = Fixed::first(2, "OVERLIMIT");
static SOLDOUT: Fixed = Fixed::first(2, "SOLDOUT");
static SHORT: Fixed = Fixed::first(2, "SHORT");
static NOTOPEN: Fixed = Fixed::first(2, "NOTOPEN");
static CLOSED: Fixed = Fixed::first(1, "CLOSED");
static PAUSED: Fixed = Fixed::first(1, "PAUSED");
static DENIED: Fixed = Fixed::first(1, "DENIED");
static BUSY: Fixed = Fixed::first(1, "BUSY");
static NOGRANT: Fixed = Fixed::first(4, "NOGRANT");
static FENCED: Fixed = Fixed::first(4, State::Cancelled.name());
static FOUR: Fixed = Fixed::array(4);
static HELD: Fixed = Fixed::word(State::Held.name());
static SOLD: Fixed = Fixed::word(State::Sold.name());
static CANCELLED: Fixed = Fixed::word(State::Cancelled.name());
static EXPIRED: Fixed = Fixed::word(State::Expired.name());
static REFUNDED: Fixed = Fixed::word(State::Refunded.name());

fn word_of(state: State) -> &'static Fixed {
    match state {
        State::Held => &HELD,
        State::Sold => &SOLD,
        State::Cancelled => &CANCELLED,
        State::Expired | State::Forfeited => &EXPIRED,
        State::Refunded => &REFUNDED,
    }
}

/// Elements of a grant row.
const ROW_ELEMENTS: usize = 9;

/// Replies what a command came to.
pub fn outcome(reply: Reply<'_>, outcome: &Outcome) {
    match outcome {
        Outcome::Done => reply.ok(),
        Outcome::Granted { grant, available } => {
            let [word, seq, qty, state, deadline] = standing(&GRANTED, grant);
            reply.outcome(&[word, seq, qty, state, deadline, Number(*available)]);
        }
        Outcome::Already(grant) => reply.outcome(&standing(&ALREADY, grant)),
        Outcome::Replay(grant) => reply.outcome(&standing(&REPLAY, grant)),
        Outcome::OverLimit { allowance } => pair(reply, &OVERLIMIT, *allowance),
        Outcome::SoldOut { held } => pair(reply, &SOLDOUT, *held),
        Outcome::Short { available } => pair(reply, &SHORT, *available),
        Outcome::NotOpen { in_ms } => pair(reply, &NOTOPEN, *in_ms),
        Outcome::Closed => reply.outcome(&[Part::Fixed(&CLOSED)]),
        Outcome::Paused => reply.outcome(&[Part::Fixed(&PAUSED)]),
        Outcome::Denied => reply.outcome(&[Part::Fixed(&DENIED)]),
        Outcome::Busy => reply.outcome(&[Part::Fixed(&BUSY)]),
        Outcome::Stands(Standing { seq, qty, state, deadline }) => {
            let [seq, qty, deadline] = [*seq, *qty, *deadline].map(Number);
            reply.outcome(&[Part::Fixed(&FOUR), Part::Fixed(word_of(*state)), seq, qty, deadline]);
        }
        Outcome::NoGrant => {
            reply.outcome(&[Part::Fixed(&NOGRANT), Number(0), Number(0), Number(0)])
        }
        Outcome::Fenced => reply.outcome(&[Part::Fixed(&FENCED), Number(0), Number(0), Number(0)]),
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

/// What GRANTED, ALREADY and REPLAY share: the user has the units if and only if the state says so.
fn standing(word: &'static Fixed, grant: &Standing) -> [Part; 5] {
    let Standing { seq, qty, state, deadline } = *grant;
    [Part::Fixed(word), Number(seq), Number(qty), Part::Fixed(word_of(state)), Number(deadline)]
}

fn pair(reply: Reply<'_>, word: &'static Fixed, number: u64) {
    reply.outcome(&[Part::Fixed(word), Number(number)]);
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
