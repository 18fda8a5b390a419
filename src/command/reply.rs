//! From outcomes to RESP. Words are bulk strings, because some clients turn a simple string into
//! `true`; only a plain OK is a simple string. Replies are written call by call, without building
//! a value first.

use super::errors;
use crate::sale::ledger::Grant;
use crate::sale::outcome::{Outcome, Standing, State};
use crate::server::reply::Reply;
use crate::server::text::{Fixed, Text};

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
static NOTHING: Fixed = Fixed::EMPTY.digit(0).digit(0).digit(0);
/// Quantity, state and deadline of nearly every grant.
static ONE_SOLD: Fixed = Fixed::EMPTY.digit(1).word(State::Sold.name()).digit(0);
static HELD: Fixed = Fixed::EMPTY.word(State::Held.name());
static SOLD: Fixed = Fixed::EMPTY.word(State::Sold.name());
static CANCELLED: Fixed = Fixed::EMPTY.word(State::Cancelled.name());
static EXPIRED: Fixed = Fixed::EMPTY.word(State::Expired.name());
static REFUNDED: Fixed = Fixed::EMPTY.word(State::Refunded.name());

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
        Outcome::Granted { grant, available } => reply.outcome(|text| {
            standing(text, &GRANTED, grant);
            text.number(*available);
        }),
        Outcome::Already(grant) => reply.outcome(|text| standing(text, &ALREADY, grant)),
        Outcome::Replay(grant) => reply.outcome(|text| standing(text, &REPLAY, grant)),
        Outcome::OverLimit { allowance } => pair(reply, &OVERLIMIT, *allowance),
        Outcome::SoldOut { held } => pair(reply, &SOLDOUT, *held),
        Outcome::Short { available } => pair(reply, &SHORT, *available),
        Outcome::NotOpen { in_ms } => pair(reply, &NOTOPEN, *in_ms),
        Outcome::Closed => reply.outcome(|text| text.fixed(&CLOSED)),
        Outcome::Paused => reply.outcome(|text| text.fixed(&PAUSED)),
        Outcome::Denied => reply.outcome(|text| text.fixed(&DENIED)),
        Outcome::Busy => reply.outcome(|text| text.fixed(&BUSY)),
        Outcome::Stands(Standing { seq, qty, state, deadline }) => reply.outcome(|text| {
            text.fixed(&FOUR);
            text.fixed(word_of(*state));
            text.number(*seq);
            text.number(*qty);
            text.number(*deadline);
        }),
        Outcome::NoGrant => nothing(reply, &NOGRANT),
        Outcome::Fenced => nothing(reply, &FENCED),
        Outcome::Changed { users } => reply.number(*users),
        Outcome::Restocked { applied, available } => {
            reply.array(2);
            reply.int(*applied);
            reply.number(*available);
        }
        // A caller that asks for judgement asks again after the round; nobody is told this.
        Outcome::NextRound => reply.ok(),
        Outcome::ManyOwnEnding => reply.error(errors::MANY_OWN_ENDING),
        Outcome::ManyEnding => reply.error(errors::MANY_ENDING),
        Outcome::Misuse(misuse) => reply.error(errors::misuse(*misuse)),
    }
}

/// What GRANTED, ALREADY and REPLAY share: the user has the units if and only if the state says so.
#[inline(always)]
fn standing(text: &mut Text, word: &Fixed, grant: &Standing) {
    text.fixed(word);
    text.number(grant.seq);
    match *grant {
        Standing { qty: 1, state: State::Sold, deadline: 0, .. } => text.fixed(&ONE_SOLD),
        Standing { qty, state, deadline, .. } => {
            text.number(qty);
            text.fixed(word_of(state));
            text.number(deadline);
        }
    }
}

fn pair(reply: Reply<'_>, word: &Fixed, number: u64) {
    reply.outcome(|text| {
        text.fixed(word);
        text.number(number);
    });
}

/// The word, and zeros for what there is not.
fn nothing(reply: Reply<'_>, word: &Fixed) {
    reply.outcome(|text| {
        text.fixed(word);
        text.fixed(&NOTHING);
    });
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
