//! CONFIRM, CANCEL, REFUND, a RECLAIM that is refused for good; and holds that expire.

use super::*;
use crate::ledger::Ledger;
use crate::model::limits::EFFECTS_PER_APPLY_MAX;
use serde::de::Error;
use serde::{Deserializer, Serializer};

/// A grant is settled by its buyer or the shop.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Settle {
    /// The grant's seq.
    #[serde(deserialize_with = "wire::integer")]
    pub seq: u64,
    /// The new state.
    #[serde(deserialize_with = "settled")]
    pub to: State,
}

/// Reads a state that Settle may lead to.
fn settled<'de, D: Deserializer<'de>>(from: D) -> Result<State, D::Error> {
    match State::deserialize(from)? {
        State::Held | State::Expired => Err(D::Error::custom("nobody settles a grant to this")),
        to => Ok(to),
    }
}

impl Act for Settle {
    const FREES: bool = true;

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        list_agrees(checker.sale())
    }

    #[inline]
    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.settle(self.seq, self.to)
    }

    #[inline]
    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        settle(sale, self.seq, self.to);
    }
}

/// Numbers of grants that expire together.
pub type Seqs = SmallVec<[u64; 2]>;

/// Holds that expire, at most `EFFECTS_PER_APPLY_MAX`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expire(#[serde(with = "seqs")] pub Seqs);

mod seqs {
    use super::*;

    pub fn serialize<S: Serializer>(seqs: &Seqs, to: S) -> Result<S::Ok, S::Error> {
        seqs.as_slice().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Seqs, D::Error> {
        wire::sequence(from, EFFECTS_PER_APPLY_MAX, |wire::Integer(seq)| Some(seq))
    }
}

impl Act for Expire {
    const FREES: bool = true;

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        list_agrees(checker.sale())
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        self.0.iter().try_for_each(|seq| draft.settle(*seq, State::Expired))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        self.0.iter().for_each(|seq| settle(sale, *seq, State::Expired));
    }
}

/// Sets a grant's final state: confirmed, cancelled, expired, refunded.
fn settle(sale: &mut Sale, seq: u64, to: State) {
    if sale.extras.is_some() {
        end_offer(sale, seq);
    }
    set_state(sale, seq, to, 0);
    let gives_back = matches!(to, State::Cancelled | State::Expired | State::Refunded);
    if gives_back && sale.extras.is_some() {
        return_units(sale, seq);
    }
    let tallies = &mut sale.tallies;
    match to {
        State::Sold => count(&mut tallies.confirmed),
        State::Cancelled => count(&mut tallies.cancelled),
        State::Expired => count(&mut tallies.expired),
        State::Refunded => count(&mut tallies.refunded),
        State::Held | State::Forfeited => {}
    }
}

/// Called before a grant leaves HELD: if it is an offer, one offer less is outstanding.
pub(super) fn end_offer(sale: &mut Sale, seq: u64) {
    if sale.waitlist().is_some() && sale.ledger.grant(seq).is_some_and(|it| it.is_offer()) {
        if let Some(list) = sale.waitlist_mut() {
            list.offered -= 1;
        }
    }
}

/// In a sale with numbered units, frees the grant's numbers; in one with DRAW LIST, puts its amount
/// at the list's end.
fn return_units(sale: &mut Sale, seq: u64) {
    if let Some(numbers) = sale.numbers_mut() {
        numbers.set_live(seq, false);
    }
    if sale.amounts().is_none() {
        return;
    }
    let qty = qty_of(sale, seq);
    if let Some(amounts) = sale.amounts_mut() {
        amounts.push(qty);
    }
}

/// The units of a grant.
pub(super) fn qty_of(sale: &Sale, seq: u64) -> u64 {
    sale.stored_grant(seq).map_or(0, |grant| grant.qty)
}

/// Sets a grant's state in its round, with its deadline if it is held.
pub(super) fn set_state(sale: &mut Sale, seq: u64, state: State, deadline: u64) {
    if sale.extras.is_none() {
        return sale.ledger.set_state(seq, state, deadline);
    }
    let hold_at = |sale: &Sale| {
        let grant = sale.stored_grant(seq).filter(|_| sale.rounds().is_some());
        grant.filter(|it| it.state == State::Held).map(|grant| sale.hold_of(&grant))
    };
    if let Some(hold) = hold_at(sale) {
        sale.follow_hold(&hold, false);
    }
    ledger_of(sale, seq).set_state(seq, state, deadline);
    if let Some(hold) = hold_at(sale) {
        sale.follow_hold(&hold, true);
    }
}

/// The ledger of the round that has `seq`.
pub(super) fn ledger_of(sale: &mut Sale, seq: u64) -> &mut Ledger {
    let index = sale.older_index_of(seq);
    let rounds = sale.extras.as_deref_mut().and_then(|extras| extras.rounds.as_deref_mut());
    let old = index.zip(rounds).and_then(|(index, rounds)| rounds.older.get_mut(index));
    old.map_or(&mut sale.ledger, |old| &mut old.ledger)
}
