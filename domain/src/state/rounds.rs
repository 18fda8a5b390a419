//! A sale across its rounds: the current one and older ones that are kept.

use crate::ledger::{Grant, Holding, Holds, Ledger, Lookup};
use crate::model::balances::Balances;
use crate::model::outcome::State;
use crate::request::Now;
use crate::rounds::{Hold, OldRound, Rounds, Total};
use crate::Sale;

impl Sale {
    pub(crate) fn rounds(&self) -> Option<&Rounds> {
        self.extras.as_deref().and_then(|extras| extras.rounds.as_deref())
    }

    pub(crate) fn rounds_mut(&mut self) -> Option<&mut Rounds> {
        self.extras.as_deref_mut().and_then(|extras| extras.rounds.as_deref_mut())
    }

    /// Older rounds that are kept, the newest first.
    pub(crate) fn older(&self) -> impl Iterator<Item = &OldRound> {
        self.rounds().into_iter().flat_map(|rounds| rounds.older.iter().rev().map(|old| &**old))
    }

    /// The ledgers of all kept rounds, oldest first, the current one last.
    pub(crate) fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        let older = self.rounds().into_iter().flat_map(|rounds| rounds.older.iter());
        older.map(|old| &old.ledger).chain([&self.ledger])
    }

    /// Trimmed grants of all kept rounds whose first quantity is kept.
    pub(crate) fn trims_len(&self) -> u64 {
        self.ledgers().map(Ledger::trims_len).sum()
    }

    /// The held grants of all rounds.
    pub(crate) fn holds(&self) -> &Holds {
        self.rounds().map_or(self.ledger.holds(), |rounds| rounds.held.all())
    }

    /// Index among the older rounds of the round that has `seq`; `None` for the current round.
    pub(crate) fn older_index_of(&self, seq: u64) -> Option<usize> {
        if seq > self.ledger.base() {
            return None;
        }
        let older = &self.rounds()?.older;
        let after = older.partition_point(|old| old.ledger.base() < seq);
        let index = after.checked_sub(1)?;
        older.get(index).filter(|old| old.ledger.has(seq)).map(|_| index)
    }

    /// The ledger of the round that has `seq`; of the current round if none has it.
    pub(crate) fn ledger_with(&self, seq: u64) -> &Ledger {
        let index = self.older_index_of(seq);
        let old = index.and_then(|index| self.rounds()?.older.get(index));
        old.map_or(&self.ledger, |old| &old.ledger)
    }

    /// The grant of this seq, even if it is no longer shown.
    #[inline]
    pub(crate) fn stored_grant(&self, seq: u64) -> Option<Grant<'_>> {
        self.ledger_with(seq).grant(seq)
    }

    /// The units that a grant with a request id had at first.
    pub fn first_qty(&self, seq: u64) -> Option<u64> {
        let ledger = self.ledger_with(seq);
        Some(ledger.first_qty(&ledger.grant(seq)?))
    }

    /// Whether a grant is kept: of rounds before the previous one only held grants are kept.
    fn is_kept(&self, grant: &Grant<'_>) -> bool {
        let previous = self.older().next().map_or(0, |old| old.balances.round);
        grant.round >= previous || grant.state == State::Held
    }

    /// The grant of this seq, while it is kept.
    pub fn grant(&self, seq: u64) -> Option<Grant<'_>> {
        self.stored_grant(seq).filter(|grant| self.is_kept(grant))
    }

    /// The user's kept grants, newest first.
    pub fn grants_of<'s>(&'s self, user: &'s [u8]) -> impl Iterator<Item = Grant<'s>> {
        let previous = self.older().next();
        let in_previous = previous.into_iter().flat_map(move |old| old.ledger.grants_of(user));
        // Of all rounds before that, held grants only.
        let most = previous.map_or(0, |old| old.ledger.base() as u32);
        let held = self
            .rounds()
            .into_iter()
            .flat_map(move |rounds| rounds.held.seqs_of(self.ledger.hash_of(0, user), most));
        let held = held.filter_map(|seq| self.stored_grant(seq)).filter(move |it| it.user == user);
        self.ledger.grants_of(user).chain(in_previous).chain(held)
    }

    /// Seq of the kept grant that `user` got with `req`.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<u64> {
        self.by_req_of(user, &self.ledger.find(user), req)
    }

    /// Seq of the kept grant of a user whose lookup is `found`.
    pub(crate) fn by_req_of(&self, user: &[u8], found: &Lookup, req: &[u8]) -> Option<u64> {
        let found = self.ledger.find_req(user, found, req);
        found.seq().or_else(|| self.older_by_req(user, req, &found))
    }

    /// Seq of the kept grant with `req` in an older round. `found` is the user's lookup in the
    /// current round.
    pub(crate) fn older_by_req(&self, user: &[u8], req: &[u8], found: &Lookup) -> Option<u64> {
        let previous = self.older().next()?;
        let held = || {
            let mut seqs = self.rounds()?.held.seqs_of(found.hash(), previous.ledger.base() as u32);
            let is_it = |grant: Grant<'_>| grant.user == user && grant.req_id() == Some(req);
            seqs.find(|seq| self.stored_grant(*seq).is_some_and(is_it))
        };
        previous.ledger.seq_of(user, req, found).or_else(held)
    }

    /// A user's holdings in the current round.
    pub fn holding_of(&self, user: &[u8]) -> Holding {
        self.ledger.holding(&self.ledger.find(user))
    }

    /// The smallest seq above `seq` in a kept round; `None` if there is none.
    pub fn next_seq(&self, seq: u64) -> Option<u64> {
        self.grants_after(seq).next().map(|(next, _)| next)
    }

    /// The seqs above `seq` in kept rounds, in order, each with its grant if that is kept.
    pub fn grants_after(&self, seq: u64) -> impl Iterator<Item = (u64, Option<Grant<'_>>)> {
        let older = self.rounds().map(|rounds| {
            let first = rounds.older.partition_point(|old| old.ledger.len() <= seq);
            rounds.older.range(first..).map(|old| &old.ledger)
        });
        let ledgers = older.into_iter().flatten().chain([&self.ledger]);
        ledgers.flat_map(move |ledger| {
            let first = seq.max(ledger.base()).saturating_add(1);
            let kept = |seq| ledger.grant(seq).filter(|grant| self.is_kept(grant));
            (first..=ledger.len()).map(move |seq| (seq, kept(seq)))
        })
    }

    /// First and last seq of the current or the previous round; an empty round has none.
    pub fn seqs_of_round(&self, round: u64) -> Option<(u64, u64)> {
        let previous = self.older().next().filter(|old| old.balances.round == round);
        let current = (self.balances.round == round).then_some(&self.ledger);
        let ledger = current.or(previous.map(|old| &old.ledger))?;
        (!ledger.is_empty()).then(|| (ledger.base() + 1, ledger.len()))
    }

    /// The totals of the last rounds, the current one first.
    pub fn round_totals(&self) -> impl Iterator<Item = Total> + '_ {
        let Balances { round, supply, sold, .. } = self.balances;
        let current = Total { round, supply, sold, winners: self.ledger.winners() };
        let over = self.rounds().map(|rounds| rounds.totals.iter().rev().copied());
        let current = over.is_some().then_some(current);
        current.into_iter().chain(over.into_iter().flatten())
    }

    /// The earliest deadline of any held grant, Unix ms.
    pub fn next_deadline(&self) -> Option<u64> {
        self.holds().next_deadline()
    }

    /// When the next round opens, Unix ms; `None` when the series is over or there are no rounds.
    /// Before the series begins it is the moment at which the sale opens.
    pub fn next_round_at(&self, now: &Now) -> Option<u64> {
        let (schedule, t) = (self.terms.schedule.as_ref()?, self.time(now));
        let begins = self.terms.open_at.max(schedule.offset_ms);
        let at = match t < begins {
            true => schedule.opens_at(begins),
            false => schedule.start(schedule.round_at(t).max(self.balances.round) + 1),
        };
        (self.terms.close_at == 0 || at < self.terms.close_at).then_some(at)
    }

    /// Held grants of all rounds.
    #[inline]
    pub fn holds_len(&self) -> u64 {
        match self.is_plain() {
            true => self.ledger.holds().len() as u64,
            false => self.holds().len() as u64,
        }
    }

    /// Adds, removes or moves a hold in the index of a sale with rounds.
    pub(crate) fn follow_hold(&mut self, hold: &Hold, is_held: bool) {
        if let Some(rounds) = self.rounds_mut() {
            match is_held {
                true => rounds.held.insert(hold),
                false => rounds.held.remove(hold),
            }
        }
    }

    /// A held grant's keys in the index of all holds.
    pub(crate) fn hold_of(&self, grant: &Grant<'_>) -> Hold {
        let user = self.ledger.hash_of(0, grant.user);
        let req = grant.req_id().map(|req| self.ledger.hash_of(user, req));
        Hold { seq: grant.seq as u32, deadline: grant.deadline, user, req }
    }

    /// Adds the held grants of the current round from `first` on to the index.
    pub(crate) fn enter_holds(&mut self, first: u64) {
        if self.rounds().is_none() {
            return;
        }
        let grants = (first..=self.ledger.len()).filter_map(|seq| self.ledger.grant(seq));
        let held = grants.filter(|grant| grant.state == State::Held);
        let holds: Vec<Hold> = held.map(|grant| self.hold_of(&grant)).collect();
        holds.iter().for_each(|hold| self.follow_hold(hold, true));
    }

    /// Puts the current round aside and starts the next with this empty ledger. The numbers follow.
    pub(crate) fn start_round(&mut self, next: Ledger) {
        let ledger = core::mem::replace(&mut self.ledger, next);
        let balances = self.balances;
        if let Some(rounds) = self.rounds_mut() {
            rounds.put_aside(OldRound { balances, ledger });
        }
    }
}
