//! From outcomes to RESP. Words are bulk strings, because some clients turn a simple string into
//! `true`; only a plain OK is a simple string. Replies are written call by call, without building
//! a value first.

use super::errors;
use crate::sale::ledger::Grant;
use crate::sale::outcome::{Outcome, Standing, State};
use crate::server::reply::Reply;
use crate::server::whole::Part::{self, Constant, Number};
use crate::server::whole::Piece;

static GRANTED: Piece = Piece::first(6, "GRANTED");
static ALREADY: Piece = Piece::first(5, "ALREADY");
static REPLAY: Piece = Piece::first(5, "REPLAY");
static OVERLIMIT: Piece = Piece::first(2, "OVERLIMIT");
static SOLDOUT: Piece = Piece::first(2, "SOLDOUT");
static SHORT: Piece = Piece::first(2, "SHORT");
static NOTOPEN: Piece = Piece::first(2, "NOTOPEN");
static CLOSED: Piece = Piece::first(1, "CLOSED");
static PAUSED: Piece = Piece::first(1, "PAUSED");
static DENIED: Piece = Piece::first(1, "DENIED");
static BUSY: Piece = Piece::first(1, "BUSY");
static NOGRANT: Piece = Piece::first(4, "NOGRANT");
static FENCED: Piece = Piece::first(4, State::Cancelled.name());
static FOUR: Piece = Piece::array(4);
static HELD: Piece = Piece::word(State::Held.name());
static SOLD: Piece = Piece::word(State::Sold.name());
static CANCELLED: Piece = Piece::word(State::Cancelled.name());
static EXPIRED: Piece = Piece::word(State::Expired.name());
static REFUNDED: Piece = Piece::word(State::Refunded.name());

fn word_of(state: State) -> &'static Piece {
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
        Outcome::Closed => reply.outcome(&[Constant(&CLOSED)]),
        Outcome::Paused => reply.outcome(&[Constant(&PAUSED)]),
        Outcome::Denied => reply.outcome(&[Constant(&DENIED)]),
        Outcome::Busy => reply.outcome(&[Constant(&BUSY)]),
        Outcome::Stands(Standing { seq, qty, state, deadline }) => {
            let [seq, qty, deadline] = [*seq, *qty, *deadline].map(Number);
            reply.outcome(&[Constant(&FOUR), Constant(word_of(*state)), seq, qty, deadline]);
        }
        Outcome::NoGrant => reply.outcome(&[Constant(&NOGRANT), Number(0), Number(0), Number(0)]),
        Outcome::Fenced => reply.outcome(&[Constant(&FENCED), Number(0), Number(0), Number(0)]),
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
fn standing(word: &'static Piece, grant: &Standing) -> [Part; 5] {
    let Standing { seq, qty, state, deadline } = *grant;
    [Constant(word), Number(seq), Number(qty), Constant(word_of(state)), Number(deadline)]
}

fn pair(reply: Reply<'_>, word: &'static Piece, number: u64) {
    reply.outcome(&[Constant(word), Number(number)]);
}

/// A grant row: `[seq, user, qty, state, at, deadline, req, epoch, round]`.
pub fn row(reply: Reply<'_>, grant: &Grant<'_>) {
    let Standing { seq, qty, state, deadline } = grant.standing();
    reply.array(ROW_ELEMENTS);
    reply.number(seq);
    reply.bytes(grant.user);
    reply.number(qty);
    word_of(state).text().into_iter().for_each(|word| reply.text(word));
    reply.number(grant.at);
    reply.number(deadline);
    match grant.req_id() {
        Some(req) => reply.bytes(req),
        None => reply.null(),
    }
    reply.number(grant.epoch);
    reply.number(grant.round);
}
