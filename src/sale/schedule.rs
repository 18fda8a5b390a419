//! Sales that repeat: when rounds begin and end, and what is kept of those that are over.
//!
//! The stored round is an ordinary sale with a ledger of its own. When it is over, one effect puts
//! that ledger aside as it is and starts an empty one: nothing is walked or copied, however many
//! have won. The round before the stored one is kept, an older one while it has held grants; then
//! its memory is given back in small steps.

use std::collections::VecDeque;

use super::amounts::{Amounts, Returned};
use super::core::Core;
use super::draw::Draw;
use super::effect::Effect;
use super::ledger::{Block, Grant, HashKey, Holding, Ledger};
use super::limits::{GRANTS_MAX, INTEGER_MAX, ROUND_TOTALS_MAX, SHED_BLOCKS_PER_STEP, TIME_MS_MAX};
use super::outcome::Misuse;
use super::request::Now;
use super::Sale;

/// When rounds begin and how long they are open. Fixed at INIT; all spans in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub period_ms: u64,
    /// Unix ms at which round 0 began.
    pub offset_ms: u64,
    /// How long a round is open; the whole period when nothing was said.
    pub lasts_ms: u64,
    /// Whether what is left is added to the next round.
    pub carry: bool,
}

impl Schedule {
    /// Whether it can be kept.
    pub fn check(&self) -> Result<(), Misuse> {
        if self.period_ms == 0 || self.period_ms > TIME_MS_MAX || self.offset_ms > TIME_MS_MAX {
            return Err(Misuse::PeriodOutOfRange);
        }
        if self.lasts_ms == 0 || self.lasts_ms > self.period_ms {
            return Err(Misuse::LastsOutOfRange);
        }
        Ok(())
    }

    /// The round of the moment `t`; 0 also before the first.
    pub fn round_at(&self, t: u64) -> u64 {
        t.saturating_sub(self.offset_ms) / self.period_ms
    }

    /// First moment of a round.
    pub fn start(&self, round: u64) -> u64 {
        round.saturating_mul(self.period_ms).saturating_add(self.offset_ms)
    }

    /// First moment at which a round is no longer open.
    pub fn end(&self, round: u64) -> u64 {
        self.start(round).saturating_add(self.lasts_ms)
    }

    /// The first moment from `t` on at which a round is open: `t` itself when one is.
    pub fn opens_at(&self, t: u64) -> u64 {
        let round = self.round_at(t);
        if t < self.start(round) {
            return self.start(round);
        }
        if t < self.end(round) {
            t
        } else {
            self.start(round + 1)
        }
    }

    /// The first round that is still open after `t`.
    fn first_open_after(&self, t: u64) -> u64 {
        match t.checked_sub(self.offset_ms.saturating_add(self.lasts_ms)) {
            None => 0,
            Some(past) => past / self.period_ms + 1,
        }
    }
}

/// What a round came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    pub round: u64,
    pub supply: u64,
    pub sold: u64,
    /// Distinct users with a live grant.
    pub winners: u64,
}

/// A round that is over but still kept, with its own numbers under the same law.
#[derive(Clone, Debug)]
pub struct OldRound {
    /// Its supply, available, held, sold and packets; the rest is of no use any more.
    pub core: Core,
    pub ledger: Ledger,
    /// What came back of its list; `None` but in a sale with DRAW LIST.
    pub returned: Option<Returned>,
}

impl OldRound {
    fn total(&self) -> Total {
        let Core { round, supply, sold, .. } = self.core;
        Total { round, supply, sold, winners: self.ledger.winners() }
    }
}

/// Everything of a sale with rounds that is not of the stored round.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Units that a round begins with, before anything is carried.
    pub base_supply: u64,
    /// Rounds that are over and kept, the oldest first.
    pub older: VecDeque<OldRound>,
    /// Totals of the last rounds that are over, the oldest first.
    pub totals: VecDeque<Total>,
    /// Ledgers that nobody needs: given back in small steps.
    dropping: Vec<Ledger>,
}

impl Rounds {
    /// Puts the round aside that is over.
    pub fn put_aside(&mut self, old: OldRound) {
        self.older.push_back(old);
    }

    /// Notes the total of the newest round that is over.
    pub fn note_total(&mut self) {
        let Some(newest) = self.older.back() else { return };
        self.totals.push_back(newest.total());
        // The stored round is listed too.
        while self.totals.len() >= ROUND_TOTALS_MAX {
            self.totals.pop_front();
        }
    }

    /// Takes over the numbers of an older round after a change.
    pub fn set_core(&mut self, place: usize, core: Core) {
        let Some(old) = self.older.get_mut(place) else { return };
        old.core = core;
        let total = old.total();
        if let Ok(at) = self.totals.binary_search_by_key(&total.round, |total| total.round) {
            self.totals[at] = total;
        }
    }

    /// Lets go of rounds before the previous one that have no held grant.
    pub fn prune(&mut self) {
        let previous = self.older.len().saturating_sub(1);
        let is_needed = |place: usize, old: &OldRound| place >= previous || old.core.held > 0;
        if self.older.iter().enumerate().all(|(place, old)| is_needed(place, old)) {
            return;
        }
        let all = core::mem::take(&mut self.older);
        for (place, old) in all.into_iter().enumerate() {
            if is_needed(place, &old) {
                self.older.push_back(old);
            } else {
                self.dropping.push(old.ledger);
            }
        }
    }

    /// Gives back a little of the memory that nobody needs. False when there is none left.
    pub fn shed(&mut self) -> bool {
        if let Some(ledger) = self.dropping.last_mut() {
            if !ledger.shed(SHED_BLOCKS_PER_STEP) {
                self.dropping.pop();
            }
        }
        !self.dropping.is_empty()
    }

    /// The blocks of all rounds that are over, for a defragmenter that moves them. Those that are
    /// being given back are not worth a move.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = Block<'_>> {
        self.older.iter_mut().flat_map(|old| old.ledger.blocks_mut())
    }

    /// The words of the indexes of all rounds that are over.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.older.iter_mut().flat_map(|old| old.ledger.slots_mut())
    }

    /// Bytes of heap in use.
    pub fn heap_bytes(&self) -> usize {
        let kept = self.older.iter().map(|old| old.ledger.heap_bytes());
        let dropping = self.dropping.iter().map(Ledger::heap_bytes);
        let returned = self.older.iter().flat_map(|old| &old.returned).map(Returned::heap_bytes);
        kept.chain(dropping).chain(returned).sum::<usize>()
            + self.older.capacity() * size_of::<OldRound>()
            + self.totals.capacity() * size_of::<Total>()
            + self.dropping.capacity() * size_of::<Ledger>()
    }

    /// Blocks of heap in use: what freeing costs.
    pub fn heap_blocks(&self) -> usize {
        let kept = self.older.iter().map(|old| old.ledger.heap_blocks());
        let returned = self.older.iter().flat_map(|old| &old.returned).count();
        let dropping = self.dropping.iter().map(Ledger::heap_blocks);
        kept.chain(dropping).sum::<usize>() + returned + 3
    }
}

/// A round as a judge sees it: its grants and its numbers.
#[derive(Clone, Copy)]
pub(super) struct Side<'s> {
    pub ledger: &'s Ledger,
    pub core: &'s Core,
}

impl Sale {
    pub(super) fn rounds(&self) -> Option<&Rounds> {
        self.extras.as_deref().and_then(|extras| extras.rounds.as_deref())
    }

    pub(super) fn rounds_mut(&mut self) -> Option<&mut Rounds> {
        self.extras.as_deref_mut().and_then(|extras| extras.rounds.as_deref_mut())
    }

    /// The older round that has `seq`, to be changed; `None` for the stored round.
    pub(super) fn old_mut(&mut self, seq: u64) -> Option<&mut OldRound> {
        let place = self.old_place_of(seq)?;
        self.rounds_mut()?.older.get_mut(place)
    }

    /// Older rounds that are kept, the newest first.
    pub(super) fn older(&self) -> impl Iterator<Item = &OldRound> {
        self.rounds().into_iter().flat_map(|rounds| rounds.older.iter().rev())
    }

    /// The place among the older rounds of the one that has `seq`; `None` for the stored round.
    pub(super) fn old_place_of(&self, seq: u64) -> Option<usize> {
        if seq > self.ledger.base() {
            return None;
        }
        let older = &self.rounds()?.older;
        let after = older.partition_point(|old| old.ledger.base() < seq);
        let place = after.checked_sub(1)?;
        older.get(place).filter(|old| old.ledger.has(seq)).map(|_| place)
    }

    /// The round that has `seq`; the stored one when none has.
    pub(super) fn side_of(&self, seq: u64) -> Side<'_> {
        let place = self.old_place_of(seq);
        match place.and_then(|place| self.rounds()?.older.get(place)) {
            Some(old) => Side { ledger: &old.ledger, core: &old.core },
            None => Side { ledger: &self.ledger, core: &self.core },
        }
    }

    /// The grant numbered `seq`, also one that is no longer shown.
    #[inline]
    pub(super) fn stored_grant(&self, seq: u64) -> Option<Grant<'_>> {
        self.side_of(seq).ledger.grant(seq)
    }

    /// Whether a grant is kept: of rounds before the previous one only held grants are.
    fn is_kept(&self, grant: &Grant<'_>) -> bool {
        let previous = self.older().next().map_or(0, |old| old.core.round);
        grant.round >= previous || grant.state == super::outcome::State::Held
    }

    /// The grant numbered `seq`, while it is kept.
    pub fn grant(&self, seq: u64) -> Option<Grant<'_>> {
        self.stored_grant(seq).filter(|grant| self.is_kept(grant))
    }

    /// The user's grants that are kept, newest first.
    pub fn grants_of<'s>(&'s self, user: &'s [u8]) -> impl Iterator<Item = Grant<'s>> {
        let older = self.older().flat_map(move |old| old.ledger.grants_of(user));
        self.ledger.grants_of(user).chain(older).filter(|grant| self.is_kept(grant))
    }

    /// Seq of the kept grant that `user` got with `req`.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<u64> {
        self.ledger.by_req(user, req).or_else(|| {
            let mut older = self.older().filter_map(|old| old.ledger.by_req(user, req));
            older.find(|seq| self.grant(*seq).is_some())
        })
    }

    /// What a user has in the stored round.
    pub fn holding_of(&self, user: &[u8]) -> Holding {
        self.ledger.holding(&self.ledger.find(user))
    }

    /// The smallest seq above `seq` of a round that is kept; `None` when there is none.
    pub fn next_seq(&self, seq: u64) -> Option<u64> {
        let ledgers = self.older().map(|old| &old.ledger).chain([&self.ledger]);
        let next = |ledger: &Ledger| {
            let next = seq.saturating_add(1).max(ledger.base() + 1);
            (next <= ledger.len()).then_some(next)
        };
        ledgers.filter_map(next).min()
    }

    /// First and last seq of the stored or the previous round; an empty round has none.
    pub fn seqs_of_round(&self, round: u64) -> Option<(u64, u64)> {
        let previous = self.older().next().filter(|old| old.core.round == round);
        let stored = (self.core.round == round).then_some(&self.ledger);
        let ledger = stored.or(previous.map(|old| &old.ledger))?;
        (!ledger.is_empty()).then(|| (ledger.base() + 1, ledger.len()))
    }

    /// The totals of the last rounds, the stored one first.
    pub fn round_totals(&self) -> impl Iterator<Item = Total> + '_ {
        let Core { round, supply, sold, .. } = self.core;
        let stored = Total { round, supply, sold, winners: self.ledger.winners() };
        let over = self.rounds().map(|rounds| rounds.totals.iter().rev().copied());
        let stored = over.is_some().then_some(stored);
        stored.into_iter().chain(over.into_iter().flatten())
    }

    /// The earliest deadline of any held grant, Unix ms.
    pub fn next_deadline(&self) -> Option<u64> {
        let older = self.older().filter_map(|old| old.ledger.holds().next_deadline());
        older.chain(self.ledger.holds().next_deadline()).min()
    }

    /// When the next round opens, Unix ms; `None` when the series is over or there are no rounds.
    pub fn next_round_at(&self, now: &Now) -> Option<u64> {
        let schedule = self.terms.schedule.as_ref()?;
        let round = schedule.round_at(self.time(now)).max(self.core.round);
        let at = schedule.start(round + 1);
        (self.terms.close_at == 0 || at < self.terms.close_at).then_some(at)
    }

    /// The next moment at which something happens by itself: a hold runs out or a round begins.
    pub fn next_due(&self) -> Option<u64> {
        let turn = self.terms.schedule.map(|schedule| schedule.start(self.core.round + 1));
        let turn = turn.filter(|at| self.terms.close_at == 0 || *at < self.terms.close_at);
        self.next_deadline().into_iter().chain(turn).min()
    }

    /// Held grants of all rounds.
    pub fn holds_len(&self) -> u64 {
        let older = self.older().map(|old| old.ledger.holds().len());
        (older.sum::<usize>() + self.ledger.holds().len()) as u64
    }

    /// Gives back a little of the memory of rounds that are no longer kept. False when there is
    /// none left to give back.
    pub fn shed(&mut self) -> bool {
        self.rounds_mut().is_some_and(Rounds::shed)
    }

    /// The round that begins before anything else is judged; `None` when the stored one goes on,
    /// or when the series is over.
    pub(super) fn next_round<'a>(&self, now: &Now) -> Option<Effect<'a>> {
        let schedule = self.terms.schedule.as_ref()?;
        let t = self.time(now);
        let last = match self.terms.close_at {
            0 => t,
            close_at => t.min(close_at - 1),
        };
        let round = schedule.round_at(last);
        (round > self.core.round).then(|| {
            let (supply, lists) = self.supply_of(schedule, round);
            Effect::Round { round, supply, lists }
        })
    }

    /// What the round begins with. With CARRY every round leaves what it has to the next, also
    /// one that passed while the server was down: the outcome does not depend on who was awake.
    /// A round that nobody could ever ask in, because the sale was not there, leaves nothing.
    /// Also tells how often the list of DRAW LIST is in it; 0 in other sales.
    fn supply_of(&self, schedule: &Schedule, round: u64) -> (u64, u64) {
        let base = self.rounds().map_or(0, |rounds| rounds.base_supply);
        if !schedule.carry {
            return (base, self.repeated().is_some().into());
        }
        let first = schedule.first_open_after(self.terms.open_at.max(self.created_at));
        let leaves = self.core.round >= first;
        let skipped = round.saturating_sub(first.max(self.core.round + 1));
        if let Some(list) = self.repeated() {
            return listed_supply(list, leaves, skipped);
        }
        let left = if leaves { self.core.available } else { 0 };
        let carried = u128::from(left) + u128::from(base) * u128::from(skipped);
        let supply = (u128::from(base) + carried).min(INTEGER_MAX.into());
        (supply as u64, 0)
    }

    /// Whether what is left of the list is kept by a round that begins with `lists` further ones
    /// and so much supply; `None` when no round can.
    pub(super) fn keeps_list(&self, supply: u64, lists: u64) -> Option<bool> {
        let list = self.repeated()?;
        let fresh = list.told_sum().checked_mul(lists).filter(|fresh| *fresh > 0)?;
        let carries = self.terms.schedule.is_some_and(|schedule| schedule.carry);
        match (carries, supply == fresh) {
            (false, _) => (lists == 1 && supply == fresh).then_some(false),
            (true, true) => Some(false),
            (true, false) => (Some(supply) == fresh.checked_add(list.sum())).then_some(true),
        }
    }

    /// Whether a round can begin with so much supply in so many amounts of a list; other sales
    /// say nothing of the kind.
    pub(super) fn can_begin(&self, supply: u64, begun: u64) -> bool {
        if self.repeated().is_none() {
            return begun == 0;
        }
        let told = self.terms.draw.as_ref().and_then(Draw::packets).unwrap_or(0);
        let base = self.rounds().map_or(0, |rounds| rounds.base_supply);
        match self.terms.schedule.is_some_and(|schedule| schedule.carry) {
            true => supply >= base && (told..=GRANTS_MAX).contains(&begun),
            false => supply == base && begun == told,
        }
    }

    /// What came back of the list of the round that has `seq`; `None` without DRAW LIST.
    pub(super) fn returned_of(&self, seq: u64) -> Option<&VecDeque<u64>> {
        let stored = self.amounts()?.returned();
        let old = self.old_place_of(seq).and_then(|place| self.rounds()?.older.get(place));
        match old {
            Some(old) => old.returned.as_ref().map(Returned::amounts),
            None => Some(stored),
        }
    }

    /// Puts the stored round aside and starts the next with an empty ledger. The numbers follow.
    /// With DRAW LIST its list has `lists` more, behind what is left if that is kept.
    pub(super) fn turn(&mut self, round: u64, first_seq: u64, (lists, keep): (u64, bool)) {
        let key: HashKey = self.ledger.key();
        let next = Ledger::starting(key, first_seq.saturating_sub(1) as u32, round);
        let ledger = core::mem::replace(&mut self.ledger, next);
        let core = self.core;
        let returned = self.amounts_mut().map(|list| list.turn(lists, keep));
        if let Some(rounds) = self.rounds_mut() {
            rounds.put_aside(OldRound { core, ledger, returned });
        }
    }
}

/// The supply of a round that begins with what `list` has left, if it leaves that, then with the
/// told list for each round that was skipped and once for itself; and how often it begins with the
/// told list. As many as are within bounds, but one at least: it goes before what is left.
fn listed_supply(list: &Amounts, leaves: bool, skipped: u64) -> (u64, u64) {
    let fit = |left: u64, amounts: u64| {
        let units = INTEGER_MAX.saturating_sub(left) / list.told_sum().max(1);
        units.min(GRANTS_MAX.saturating_sub(amounts) / list.told_len().max(1))
    };
    let (left, fit) = match fit(list.sum(), list.len()) {
        further @ 1.. if leaves => (list.sum(), further),
        _ => (0, fit(0, 0)),
    };
    let lists = skipped.saturating_add(1).min(fit);
    (left + lists * list.told_sum(), lists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::decide::decide_new;
    use crate::sale::effect::Change;
    use crate::sale::outcome::{Outcome, State};
    use crate::sale::request::{Amount, Deed, Grab, Import, Init, Request, Restock, Settle, Which};
    use crate::sale::terms::{Terms, TermsChange};
    use crate::sale::testing::{at, created, init, reloaded, rewritten, run};

    /// Rounds of 1000 ms from 300 on, open for 100 ms.
    const SCHEDULE: Schedule =
        Schedule { period_ms: 1000, offset_ms: 300, lasts_ms: 100, carry: false };

    fn sale_from(clock_ms: u64, supply: u64, terms: Terms) -> Sale {
        created(&init(supply, terms), clock_ms)
    }

    fn terms(schedule: Schedule, hold_ms: u64) -> Terms {
        Terms { schedule: Some(schedule), hold_ms, ..Terms::default() }
    }

    fn grab(sale: &mut Sale, user: &str, req: Option<&str>, clock_ms: u64) -> Outcome {
        let req = req.map(str::as_bytes);
        let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req };
        run(sale, &Request::Grab(grab), clock_ms)
    }

    fn wins(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
        match grab(sale, user, None, clock_ms) {
            Outcome::Granted { grant, .. } => grant.seq,
            other => panic!("{user}: {other:?}"),
        }
    }

    fn settle(sale: &mut Sale, user: &str, seq: u64, deed: Deed, clock_ms: u64) -> Outcome {
        let which = Which::Seq(seq);
        run(sale, &Request::Settle(Settle { user: user.as_bytes(), which, deed }), clock_ms)
    }

    fn state(outcome: Outcome) -> State {
        match outcome {
            Outcome::Stands(standing) => standing.state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn times_of_rounds() {
        assert_eq!([0, 299, 300, 1299, 1300].map(|t| SCHEDULE.round_at(t)), [0, 0, 0, 0, 1]);
        let opens = [0, 300, 399, 400, 1299, 1300].map(|t| SCHEDULE.opens_at(t));
        assert_eq!(opens, [300, 300, 399, 1300, 1300, 1300]);
        assert_eq!(
            [0, 399, 400, 1399, 1400].map(|t| SCHEDULE.first_open_after(t)),
            [0, 0, 1, 1, 2]
        );
    }

    #[test]
    fn every_round_starts_anew_and_seq_runs_on() {
        let mut sale = sale_from(5000, 2, terms(SCHEDULE, 0));
        assert_eq!(sale.core().round, 4);
        assert_eq!(sale.status(&at(5000)).state, "pending");
        assert_eq!(grab(&mut sale, "a", None, 5299), Outcome::NotOpen { in_ms: 1 });
        assert_eq!(wins(&mut sale, "a", 5300), 1);
        assert_eq!(sale.core().round, 5);
        assert!(matches!(grab(&mut sale, "a", None, 5301), Outcome::Already(_)));
        assert_eq!(wins(&mut sale, "b", 5399), 2);
        assert_eq!(grab(&mut sale, "c", None, 5400), Outcome::NotOpen { in_ms: 900 });
        let status = sale.status(&at(5400));
        assert_eq!((status.state, status.sold, status.winners), ("pending", 2, 2));
        let times = (status.round, status.round_ends_at, status.next_round_at);
        assert_eq!(times, (Some(5), Some(5400), Some(6300)));
        assert_eq!(wins(&mut sale, "a", 6300), 3);
        assert_eq!((sale.core().available, sale.core().grants), (1, 3));
        let rows: Vec<_> = sale.grants_of(b"a").map(|grant| (grant.seq, grant.round)).collect();
        assert_eq!(rows, [(3, 6), (1, 5)]);
        assert_eq!((sale.seqs_of_round(5), sale.seqs_of_round(6)), (Some((1, 2)), Some((3, 3))));
        // Several rounds later: only the stored and the previous one are kept.
        assert_eq!(wins(&mut sale, "a", 9300), 4);
        assert_eq!(sale.grants_of(b"a").count(), 2);
        assert_eq!((sale.grant(1), sale.next_seq(0), sale.next_seq(3)), (None, Some(3), Some(4)));
        let totals: Vec<_> = sale.round_totals().map(|t| (t.round, t.sold, t.winners)).collect();
        assert_eq!(totals, [(9, 1, 1), (6, 1, 1), (5, 2, 2), (4, 0, 0)]);
    }

    #[test]
    fn an_older_round_has_its_own_numbers() {
        let mut sale = sale_from(1300, 2, terms(SCHEDULE, 5000));
        let (a, b) = (wins(&mut sale, "a", 1300), wins(&mut sale, "b", 1300));
        let c = wins(&mut sale, "c", 2300);
        assert_eq!(
            state(settle(&mut sale, "a", a, Deed::Confirm { reclaim: false }, 2301)),
            State::Sold
        );
        assert_eq!((sale.core().held, sale.core().sold), (1, 0));
        assert_eq!(state(settle(&mut sale, "b", b, Deed::Cancel, 2302)), State::Cancelled);
        let old = sale.older().next().unwrap().core;
        assert_eq!((old.available, old.held, old.sold, sale.core().available), (1, 0, 1, 1));
        assert_eq!(state(settle(&mut sale, "a", a, Deed::Refund, 2303)), State::Refunded);
        let totals: Vec<_> = sale.round_totals().map(|t| (t.round, t.sold, t.winners)).collect();
        assert_eq!(totals, [(2, 0, 0), (1, 0, 0)].map(|(r, s, _)| (r, s, u64::from(r == 2))));
        // Two rounds on, the held grant of round 2 is still there, the settled ones are not.
        let d = wins(&mut sale, "d", 4300);
        assert_eq!(wins(&mut sale, "e", 5300), d + 1);
        assert_eq!(settle(&mut sale, "a", a, Deed::Refund, 5301), Outcome::NoGrant);
        assert_eq!(sale.older().count(), 2);
        assert_eq!(
            state(settle(&mut sale, "c", c, Deed::Confirm { reclaim: false }, 5302)),
            State::Sold
        );
        assert_eq!(sale.older().count(), 1, "the settled round is let go");
        assert_eq!(settle(&mut sale, "c", c, Deed::Refund, 5303), Outcome::NoGrant);
        let sold: Vec<_> = sale.round_totals().map(|t| (t.round, t.sold)).collect();
        assert_eq!(sold, [(5, 0), (4, 0), (2, 1), (1, 0)]);
    }

    #[test]
    fn holds_of_older_rounds_expire_and_can_be_reclaimed_there() {
        let mut sale = sale_from(1300, 1, terms(SCHEDULE, 1500));
        let a = wins(&mut sale, "a", 1300);
        let b = wins(&mut sale, "b", 2300);
        assert_eq!((sale.next_deadline(), sale.next_due()), (Some(2800), Some(2800)));
        assert_eq!(
            state(settle(&mut sale, "a", a, Deed::Confirm { reclaim: false }, 2800)),
            State::Expired
        );
        let reclaim = Deed::Confirm { reclaim: true };
        assert_eq!(state(settle(&mut sale, "a", a, reclaim, 2801)), State::Sold);
        assert_eq!((sale.core().available, sale.core().held), (0, 1));
        let decision = sale.decide_expiry(10, &at(3299));
        assert!(decision.changes.is_empty());
        let expiry = |clock_ms: u64, sale: &mut Sale| {
            let decision = sale.decide_expiry(10, &at(clock_ms));
            sale.commit(&decision.changes, 1).unwrap();
        };
        wins(&mut sale, "c", 3300);
        expiry(3800, &mut sale);
        assert_eq!(sale.grant(b).unwrap().state, State::Expired);
        assert_eq!((sale.core().available, sale.core().held), (0, 1));
        assert_eq!(sale.audit().differences, []);
    }

    #[test]
    fn a_request_id_is_known_while_its_grant_is_kept() {
        let mut sale = sale_from(1300, 5, terms(SCHEDULE, 0));
        let Outcome::Granted { grant, .. } = grab(&mut sale, "a", Some("r"), 1300) else {
            panic!()
        };
        assert_eq!(grab(&mut sale, "a", Some("r"), 2300), Outcome::Replay(grant));
        assert!(matches!(grab(&mut sale, "a", Some("r"), 3300), Outcome::Granted { .. }));
        assert!(matches!(grab(&mut sale, "a", Some("r"), 3301), Outcome::Replay(_)));
        let only = Settle { user: b"a", which: Which::Only, deed: Deed::Refund };
        assert_eq!(state(run(&mut sale, &Request::Settle(only), 3302)), State::Refunded);
    }

    #[test]
    fn what_is_left_is_carried_and_restocks_stay() {
        let carrying = Schedule { carry: true, ..SCHEDULE };
        // Created when the window of round 1 is over: round 1 has nothing to leave.
        let mut sale = sale_from(1500, 10, terms(carrying, 0));
        wins(&mut sale, "a", 2300);
        assert_eq!(sale.core().supply, 10);
        wins(&mut sale, "a", 3300);
        assert_eq!(sale.core().supply, 19);
        let restock = |delta: i64, req: &'static [u8]| Request::Restock(Restock { delta, req });
        run(&mut sale, &restock(5, b"r1"), 3301);
        wins(&mut sale, "a", 4300);
        assert_eq!(sale.core().supply, 15 + 23);
        // Two rounds pass with nobody awake: they leave all they would have had.
        wins(&mut sale, "a", 7300);
        assert_eq!(sale.core().supply, 15 + 37 + 2 * 15);
        let mut plain = sale_from(1300, 10, terms(SCHEDULE, 0));
        run(&mut plain, &restock(-4, b"r1"), 1301);
        wins(&mut plain, "a", 3300);
        assert_eq!(plain.core().supply, 6);
    }

    #[test]
    fn the_series_is_bounded_as_a_whole() {
        let bounded = Terms { open_at: 2350, close_at: 3350, ..terms(SCHEDULE, 0) };
        let mut sale = sale_from(1300, 10, bounded);
        assert_eq!(grab(&mut sale, "a", None, 1301), Outcome::NotOpen { in_ms: 1049 });
        wins(&mut sale, "a", 2350);
        assert_eq!(grab(&mut sale, "b", None, 2400), Outcome::NotOpen { in_ms: 900 });
        wins(&mut sale, "a", 3349);
        assert_eq!(grab(&mut sale, "b", None, 3350), Outcome::Closed);
        assert_eq!(grab(&mut sale, "b", None, 9350), Outcome::Closed);
        assert_eq!((sale.core().round, sale.next_due()), (3, None));
    }

    #[test]
    fn a_clock_that_steps_back_stays_in_the_round() {
        let mut sale = sale_from(1300, 10, terms(SCHEDULE, 0));
        wins(&mut sale, "a", 2300);
        assert!(matches!(grab(&mut sale, "a", None, 2299), Outcome::Already(_)));
        assert_eq!(sale.core().round, 2);
        let early = Change::decode(b"Hn2s5").unwrap();
        let mut broken = sale.clone();
        assert!(broken.apply_replicated(sale.core().version, &[early]).is_err());
        let future = Change::decode(b"Ht10n9s5").unwrap();
        assert!(broken.apply_replicated(sale.core().version, &[future]).is_err());
    }

    #[test]
    fn packets_are_drawn_anew_in_every_round() {
        let draw = Some(Draw::Packets { packets: 3, min: 1 });
        let mut sale =
            sale_from(1300, 100, Terms { limit: 0, grabs: 1, draw, ..terms(SCHEDULE, 0) });
        for clock_ms in [1300, 2300, 4300] {
            for user in ["a", "b", "c"] {
                wins(&mut sale, user, clock_ms);
            }
            assert_eq!((sale.core().sold, sale.core().packets), (100, Some(0)));
            assert_eq!(grab(&mut sale, "d", None, clock_ms), Outcome::SoldOut { held: 0 });
        }
    }

    /// An INIT with a list in rounds.
    fn listing(list: &[u64], carry: bool, hold_ms: u64) -> Init {
        let schedule = Schedule { carry, ..SCHEDULE };
        let draw = Some(Draw::list(list));
        let terms = Terms { limit: 0, grabs: 1, draw, ..terms(schedule, hold_ms) };
        Init { amounts: list.to_vec(), ..init(list.iter().sum(), terms) }
    }

    /// The sale that it makes, created in round 1.
    fn listed(list: &[u64], carry: bool, hold_ms: u64) -> Sale {
        created(&listing(list, carry, hold_ms), 1300)
    }

    fn drawn(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
        match grab(sale, user, None, clock_ms) {
            Outcome::Granted { grant, .. } => grant.qty,
            other => panic!("{user}: {other:?}"),
        }
    }

    #[test]
    fn every_round_begins_with_the_list() {
        let mut sale = listed(&[5, 1, 9], false, 0);
        assert_eq!((drawn(&mut sale, "a", 1300), drawn(&mut sale, "b", 1300)), (5, 1));
        for clock_ms in [2300, 5300] {
            let amounts = ["a", "b", "c"].map(|user| drawn(&mut sale, user, clock_ms));
            assert_eq!((amounts, sale.core().packets), ([5, 1, 9], Some(0)));
            assert_eq!(grab(&mut sale, "d", None, clock_ms), Outcome::SoldOut { held: 0 });
        }
        let told = |list: &[u64]| Request::Init(listing(list, false, 0));
        assert_eq!(run(&mut sale, &told(&[5, 1, 9]), 5301), Outcome::Done);
        let refused = run(&mut sale, &told(&[5, 9, 1]), 5301);
        assert_eq!(refused, Outcome::Misuse(Misuse::SaleExists));
    }

    #[test]
    fn an_amount_comes_back_to_the_list_of_its_own_round() {
        let mut sale = listed(&[5, 1], false, 1500);
        let (a, b) = (wins(&mut sale, "a", 1300), wins(&mut sale, "b", 1300));
        assert_eq!(drawn(&mut sale, "c", 2300), 5);
        assert_eq!(state(settle(&mut sale, "b", b, Deed::Cancel, 2301)), State::Cancelled);
        // The stored round knows nothing of it: its own 1 is next, and then there is none.
        assert_eq!(drawn(&mut sale, "d", 2302), 1);
        assert_eq!(grab(&mut sale, "e", None, 2303), Outcome::SoldOut { held: 6 });
        let confirm = Deed::Confirm { reclaim: false };
        assert_eq!(state(settle(&mut sale, "a", a, confirm, 2800)), State::Expired);
        let old = sale.older().next().unwrap();
        assert_eq!((old.core.available, old.core.packets), (6, Some(2)));
        assert_eq!(*old.returned.as_ref().unwrap().amounts(), [1, 5]);
        let reclaim = Deed::Confirm { reclaim: true };
        assert_eq!(state(settle(&mut sale, "a", a, reclaim, 2801)), State::Sold);
        let old = sale.older().next().unwrap();
        assert_eq!((old.core.sold, old.core.packets), (5, Some(1)));
        assert_eq!(*old.returned.as_ref().unwrap().amounts(), [1]);
        assert_eq!(state(settle(&mut sale, "a", a, Deed::Refund, 2802)), State::Refunded);
        assert_eq!(*sale.older().next().unwrap().returned.as_ref().unwrap().amounts(), [1, 5]);
    }

    /// 5 and 9 are free in the round that is over, but b's 1 was drawn anew before that ended.
    #[test]
    fn a_reclaim_needs_that_very_amount_in_the_list_of_its_round() {
        let mut sale = listed(&[5, 1, 9], false, 50);
        let (a, b) = (wins(&mut sale, "a", 1300), wins(&mut sale, "b", 1300));
        let c = wins(&mut sale, "c", 1300);
        assert_eq!((drawn(&mut sale, "x", 1350), drawn(&mut sale, "y", 1351)), (5, 1));
        let (x, y) = (4, 5);
        assert_eq!(state(settle(&mut sale, "x", x, Deed::Cancel, 1352)), State::Cancelled);
        let confirm = Deed::Confirm { reclaim: false };
        assert_eq!(state(settle(&mut sale, "y", y, confirm, 1353)), State::Sold);
        assert_eq!(state(settle(&mut sale, "c", c, confirm, 1354)), State::Expired);
        assert_eq!((drawn(&mut sale, "z", 2300), drawn(&mut sale, "b", 2301)), (5, 1));
        for (text, is_there) in [(&b"Ys2"[..], false), (b"Ys1", true)] {
            let change = Change::decode(text).unwrap();
            let applied = sale.clone().apply_replicated(sale.core().version, &[change]);
            assert_eq!(applied.is_ok(), is_there, "{}", text.escape_ascii());
        }
        // b's 1 of the new round has run out and goes back to that.
        let reclaim = Deed::Confirm { reclaim: true };
        assert_eq!(state(settle(&mut sale, "b", b, reclaim, 2352)), State::Expired);
        assert_eq!(sale.grant(b).unwrap().state, State::Forfeited);
        assert_eq!(state(settle(&mut sale, "a", a, reclaim, 2353)), State::Sold);
    }

    /// What runs out by the way may be of an older round: that is not what is drawn.
    #[test]
    fn a_due_hold_of_the_stored_round_makes_room_in_its_list() {
        let mut sale = listed(&[5], false, 1050);
        assert_eq!(drawn(&mut sale, "a", 1300), 5);
        wins(&mut sale, "b", 2300);
        let short = TermsChange { hold_ms: Some(20), ..TermsChange::default() };
        assert_eq!(settle_state_of(&mut sale, "b", Deed::Cancel, 2300), State::Cancelled);
        assert_eq!(run(&mut sale, &Request::Alter(short), 2300), Outcome::Done);
        assert_eq!(drawn(&mut sale, "c", 2301), 5);
        assert_eq!(drawn(&mut sale, "a", 2350), 5, "both holds are due");
        assert_eq!(sale.older().next().unwrap().core.available, 5);
    }

    fn settle_state_of(sale: &mut Sale, user: &str, deed: Deed, clock_ms: u64) -> State {
        let seq = sale.grants_of(user.as_bytes()).next().unwrap().seq;
        state(settle(sale, user, seq, deed, clock_ms))
    }

    #[test]
    fn what_is_left_of_a_list_is_carried_in_order() {
        let mut sale = listed(&[5, 1, 9], true, 50);
        assert_eq!((drawn(&mut sale, "a", 1300), drawn(&mut sale, "b", 1310)), (5, 1));
        assert_eq!(state(settle(&mut sale, "b", 2, Deed::Cancel, 1320)), State::Cancelled);
        // The hold of a ends behind its round: it comes back to that one.
        assert_eq!(drawn(&mut sale, "c", 1399), 9);
        assert_eq!(drawn(&mut sale, "a", 2300), 1, "what is left comes first");
        assert_eq!((sale.core().supply, sale.core().packets), (16, Some(3)));
        let rest = ["b", "c", "d"].map(|user| drawn(&mut sale, user, 2300));
        assert_eq!(rest, [5, 1, 9]);
        assert_eq!(grab(&mut sale, "e", None, 2300), Outcome::SoldOut { held: 16 });
        // Nobody was awake for two rounds: they leave their lists.
        let all: Vec<u64> = (0..9).map(|user| drawn(&mut sale, &user.to_string(), 5300)).collect();
        assert_eq!(all, [5, 1, 9, 5, 1, 9, 5, 1, 9]);
        assert_eq!((sale.core().supply, sale.core().available), (45, 0));
    }

    #[test]
    fn a_list_is_carried_only_within_the_bounds() {
        let half = 1 << 52;
        let mut sale = listed(&[half], true, 0);
        sale.commit(&sale.clone().decide_round(&at(2300)).unwrap().changes, 1).unwrap();
        assert_eq!(sale.core().supply, half, "both are more than any supply");
        let mut sale = listed(&[half / 2], true, 0);
        sale.commit(&sale.clone().decide_round(&at(99_300)).unwrap().changes, 1).unwrap();
        assert_eq!((sale.core().supply, sale.core().packets), (3 * (half / 2), Some(3)));
        let mut sale = listed(&[1; 1000], true, 0);
        let far = at(300 + 1000 * 10_000_000);
        sale.commit(&sale.clone().decide_round(&far).unwrap().changes, 1).unwrap();
        assert_eq!(sale.core().packets, Some(GRANTS_MAX / 1000 * 1000));
        assert!(reloaded(&sale).pieces().eq(sale.pieces()));
        assert!(sale.memory_bytes() < 32_768);
    }

    #[test]
    fn a_broken_round_of_a_list_is_refused() {
        let accepts = |sale: &Sale, text: &str| {
            let change = Change::decode(text.as_bytes()).unwrap();
            sale.clone().apply_replicated(sale.core().version, &[change]).is_ok()
        };
        let mut plain = listed(&[5, 1], false, 0);
        drawn(&mut plain, "a", 1300);
        let wrong = ["Ht1000n2s6", "Ht1000n2s12l2", "Ht1000n2s7l1", "Ht1000n2s5l1", "Ht1000n2s0l0"];
        for text in wrong {
            assert!(!accepts(&plain, text), "{text}");
        }
        assert!(accepts(&plain, "Ht1000n2s6l1"));
        let mut carrying = listed(&[5, 1], true, 0);
        drawn(&mut carrying, "a", 1300);
        let wrong = ["Ht1000n2s7", "Ht1000n2s1l0", "Ht1000n2s8l1", "Ht1000n2s13l1"];
        let huge = ["Ht1000n2s9007199254740990l1501199875790165", "Ht1000n2s1l9007199254740991"];
        for text in wrong.into_iter().chain(huge) {
            assert!(!accepts(&carrying, text), "{text}");
        }
        assert!(["Ht1000n2s7l1", "Ht1000n2s6l1"].iter().all(|text| accepts(&carrying, text)));
        let packets = Some(Draw::Packets { packets: 3, min: 1 });
        let packets = sale_from(1300, 9, Terms { draw: packets, ..terms(SCHEDULE, 0) });
        assert!(accepts(&packets, "Ht1000n2s9") && !accepts(&packets, "Ht1000n2s9l1"));
    }

    #[test]
    fn a_round_begins_with_what_its_terms_say() {
        let (plain, carrying) = (listed(&[5, 1], false, 0), listed(&[5, 1], true, 0));
        assert!(plain.can_begin(6, 2) && carrying.can_begin(6, 2) && carrying.can_begin(7, 3));
        assert!(!plain.can_begin(7, 3) && !plain.can_begin(12, 4) && !plain.can_begin(6, 1));
        assert!(!carrying.can_begin(5, 2) && !carrying.can_begin(7, 1));
        assert!(!carrying.can_begin(INTEGER_MAX, GRANTS_MAX + 1));
        let packets = Terms { draw: Some(Draw::Equal { packets: 3 }), ..terms(SCHEDULE, 0) };
        let equal = sale_from(1300, 9, packets);
        assert!(equal.can_begin(9, 0) && !equal.can_begin(9, 3));
    }

    #[test]
    fn an_audit_sees_a_list_that_is_not_that_of_its_round() {
        let mut sale = listed(&[5, 1, 9], false, 0);
        drawn(&mut sale, "a", 1300);
        drawn(&mut sale, "a", 2300);
        let fields = |sale: &Sale| -> Vec<&'static str> {
            sale.audit().differences.iter().map(|difference| difference.field).collect()
        };
        let mut more = sale.clone();
        more.old_mut(1).unwrap().returned.as_mut().unwrap().push(5);
        assert_eq!(fields(&more), ["older_lists_wrong"]);
        let mut fewer = sale.clone();
        fewer.old_mut(1).unwrap().core.packets = Some(3);
        assert_eq!(fields(&fewer), ["older_packets", "older_lists_wrong"]);
        let mut now = sale.clone();
        now.amounts_mut().unwrap().take_first();
        assert_eq!(fields(&now), ["amounts"]);
        now.core.packets = Some(1);
        assert_eq!(fields(&now), ["packets", "amounts"]);
    }

    #[test]
    fn a_defragmenter_is_lent_the_list_once() {
        let mut sale = listed(&[5, 1, 9], true, 0);
        drawn(&mut sale, "a", 2300);
        let is_list = |block: &Block<'_>| matches!(block, Block::Slots(it) if ***it == [5, 1, 9]);
        assert_eq!(sale.blocks_mut().filter(is_list).count(), 1);
        let packets = Some(Draw::Packets { packets: 3, min: 1 });
        let packets = sale_from(1300, 9, Terms { draw: packets, ..terms(SCHEDULE, 0) });
        let fresh = listed(&[5, 1, 9], true, 0);
        assert_eq!(fresh.memory_blocks(), packets.memory_blocks() + 1, "a part of the list");
    }

    /// Lists of more than one piece, in the stored round and in the one before.
    #[test]
    fn long_lists_are_saved_in_bounded_pieces() {
        let list: Vec<u64> = (1..=9000).collect();
        let mut sale = listed(&list, true, 50);
        let commit = |sale: &mut Sale, decision: crate::sale::decide::Decision<'_>| {
            sale.commit(&decision.changes, 1).unwrap();
        };
        for (clock_ms, grabs) in [(1300, 9000), (2300, 14_000)] {
            for user in 0..grabs {
                let user = user.to_string();
                let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
                while sale.decide_round(&at(clock_ms)).is_some() {
                    let turn = sale.clone().decide_round(&at(clock_ms)).unwrap();
                    sale.commit(&turn.changes, 1).unwrap();
                }
                let decision = sale.decide(&Request::Grab(grab), &at(clock_ms));
                assert!(matches!(decision.outcome, Outcome::Granted { .. }));
                commit(&mut sale, decision);
            }
            let due = sale.decide_expiry(grabs, &at(clock_ms + 50));
            commit(&mut sale, due);
            assert_eq!((sale.core().held, sale.audit().differences), (0, vec![]));
            assert!(reloaded(&sale).pieces().eq(sale.pieces()));
            assert!(rewritten(&sale).pieces().eq(sale.pieces()));
        }
        assert_eq!(sale.core().packets, Some(18_000));
        let pieces: Vec<_> = sale.pieces().collect();
        assert!(pieces.iter().all(|(_, piece)| piece.len() <= 131_072));
        assert!(pieces.iter().filter(|(kind, _)| kind.letter() == b'o').count() >= 7);
    }

    #[test]
    fn what_rounds_can_not_keep_is_refused() {
        let refused =
            |schedule: Schedule| match decide_new(&init(0, terms(schedule, 0)), &at(1)).outcome {
                Outcome::Misuse(misuse) => misuse,
                other => panic!("{other:?}"),
            };
        let zero = Schedule { period_ms: 0, ..SCHEDULE };
        let long = Schedule { lasts_ms: 1001, ..SCHEDULE };
        assert_eq!(refused(zero), Misuse::PeriodOutOfRange);
        assert_eq!(refused(long), Misuse::LastsOutOfRange);
        let mut sale = sale_from(1300, 10, terms(SCHEDULE, 0));
        let import = Import { user: b"i", qty: 5, req: b"r", at: None, no_deficit: false };
        let refused = run(&mut sale, &Request::Import(import), 1300);
        assert_eq!(refused, Outcome::Misuse(Misuse::RoundsTakeNoImport));
    }

    #[test]
    fn a_round_with_many_winners_is_given_back_in_steps() {
        let supply = 200_000;
        let mut sale = sale_from(1300, supply, terms(SCHEDULE, 0));
        for user in 0..supply {
            let user = user.to_string();
            let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
            let decision = sale.decide(&Request::Grab(grab), &at(1300));
            sale.commit(&decision.changes, 1).unwrap();
        }
        let full = sale.memory_bytes();
        for clock_ms in [2300, 3300] {
            let decision = sale.decide_round(&at(clock_ms)).unwrap();
            sale.commit(&decision.changes, 1).unwrap();
        }
        assert!(sale.memory_bytes() > full / 3, "not yet given back");
        let mut steps = 0;
        while sale.shed() {
            steps += 1;
        }
        assert!(steps > 1 && sale.memory_bytes() < full / 50, "{steps}");
        assert!(reloaded(&sale).pieces().eq(sale.pieces()));
    }
}
