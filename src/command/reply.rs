//! From outcomes to RESP. Words are bulk strings, because some clients turn a simple string into
//! `true`; only a plain OK is a simple string. Replies are written call by call, without building
//! a value first.

use super::errors;
use crate::sale::ledger::Grant;
use crate::sale::outcome::{Outcome, Standing, State};
use crate::server::reply::Reply;
use crate::server::words::Word;

/// Defines the words and the list of all of them.
macro_rules! words {
    ($($name:ident = $text:expr;)*) => {
        $(static $name: Word = Word::new($text);)*
        /// The words that the server is asked for when the module is loaded.
        pub static WORDS: &[&Word] = &[$(&$name),*];
    };
}

words! {
    GRANTED = "GRANTED";
    ALREADY = "ALREADY";
    REPLAY = "REPLAY";
    OVERLIMIT = "OVERLIMIT";
    SOLDOUT = "SOLDOUT";
    SHORT = "SHORT";
    NOTOPEN = "NOTOPEN";
    CLOSED = "CLOSED";
    PAUSED = "PAUSED";
    DENIED = "DENIED";
    BUSY = "BUSY";
    NOGRANT = "NOGRANT";
    HELD = State::Held.name();
    SOLD = State::Sold.name();
    CANCELLED = State::Cancelled.name();
    EXPIRED = State::Expired.name();
    REFUNDED = State::Refunded.name();
}

/// Most replies of a rush are this word and 0.
pub static PAIR: &Word = &SOLDOUT;

fn word_of(state: State) -> &'static Word {
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
            standing(reply, 6, &GRANTED, grant);
            reply.number(*available);
        }
        Outcome::Already(grant) => standing(reply, 5, &ALREADY, grant),
        Outcome::Replay(grant) => standing(reply, 5, &REPLAY, grant),
        Outcome::OverLimit { allowance } => reply.pair(&OVERLIMIT, *allowance),
        Outcome::SoldOut { held } => reply.pair(&SOLDOUT, *held),
        Outcome::Short { available } => reply.pair(&SHORT, *available),
        Outcome::NotOpen { in_ms } => reply.pair(&NOTOPEN, *in_ms),
        Outcome::Closed => alone(reply, &CLOSED),
        Outcome::Paused => alone(reply, &PAUSED),
        Outcome::Stands(grant) => stands(reply, grant),
        Outcome::NoGrant => stands_for(reply, &NOGRANT),
        Outcome::Fenced => stands_for(reply, &CANCELLED),
        Outcome::Denied => alone(reply, &DENIED),
        Outcome::Busy => alone(reply, &BUSY),
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
    reply.word(word_of(state));
    reply.number(seq);
    reply.number(qty);
    reply.number(deadline);
}

/// The same where there is no grant.
fn stands_for(reply: Reply<'_>, name: &Word) {
    reply.array(4);
    reply.word(name);
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
    reply.word(word_of(state));
    reply.number(grant.at);
    reply.number(deadline);
    match grant.req_id() {
        Some(req) => reply.bytes(req),
        None => reply.null(),
    }
    reply.number(grant.epoch);
    reply.number(grant.round);
}

fn alone(reply: Reply<'_>, name: &Word) {
    reply.array(1);
    reply.word(name);
}

/// What GRANTED, ALREADY and REPLAY share. `elements` counts those that the caller adds, too.
fn standing(reply: Reply<'_>, elements: usize, name: &Word, grant: &Standing) {
    let Standing { seq, qty, state, deadline } = *grant;
    reply.array(elements);
    reply.word(name);
    reply.number(seq);
    reply.number(qty);
    reply.word(word_of(state));
    reply.number(deadline);
}
