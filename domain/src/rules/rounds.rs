//! How the next round of a sale that repeats begins: when, and with what.

use crate::codec::effect::Effect;
use crate::model::limits::INTEGER_MAX;
use crate::model::outcome::Outcome;
use crate::request::Now;
use crate::rounds::Schedule;
use crate::rules::decide::Decision;
use crate::Sale;

impl Sale {
    /// Judges nothing but the clock: the round that begins, when the stored one is over. Its
    /// change comes alone, before anything else is judged.
    pub fn decide_round<'a>(&self, now: &Now) -> Option<Decision<'a>> {
        let next = self.next_round(now).filter(|_| self.awaits == 0)?;
        Some(self.change(Outcome::NextRound, next, now))
    }

    /// The round that begins before anything else is judged; `None` when the stored one goes on,
    /// or when the series is over.
    pub(crate) fn next_round<'a>(&self, now: &Now) -> Option<Effect<'a>> {
        let schedule = self.terms.schedule.as_ref()?;
        let t = self.time(now);
        let last = match self.terms.close_at {
            0 => t,
            close_at => t.min(close_at - 1),
        };
        let round = schedule.round_at(last);
        (round > self.balances.round).then(|| {
            let supply = self.supply_of(schedule, round);
            Effect::Round { round, supply }
        })
    }

    /// What the round begins with. With CARRY every round leaves what it has to the next, also
    /// one that passed while the server was down: the outcome does not depend on who was awake.
    /// A round that nobody could ever ask in, because the sale was not there, leaves nothing.
    fn supply_of(&self, schedule: &Schedule, round: u64) -> u64 {
        let base = self.rounds().map_or(0, |rounds| rounds.base_supply);
        if !schedule.carry {
            return base;
        }
        let first = schedule.first_open_after(self.terms.open_at.max(self.created_at));
        let leaves = self.balances.round >= first;
        let skipped = round.saturating_sub(first.max(self.balances.round + 1));
        let left = if leaves { self.balances.available } else { 0 };
        let carried = u128::from(left) + u128::from(base) * u128::from(skipped);
        (u128::from(base) + carried).min(INTEGER_MAX.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::effect::Change;
    use crate::model::outcome::{Misuse, Outcome};
    use crate::request::{Amount, Grab, Import, Request, Terms};
    use crate::rounds::Schedule;
    use crate::rules::decide::decide_new;
    use crate::testing::{at, bytes_of, commit, created, init, reloaded, run};

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

    #[test]
    fn every_round_starts_anew_and_seq_runs_on() {
        let mut sale = sale_from(5000, 2, terms(SCHEDULE, 0));
        assert_eq!(sale.balances().round, 4);
        assert_eq!(sale.status(&at(5000)).state, "pending");
        assert_eq!(grab(&mut sale, "a", None, 5299), Outcome::NotOpen { in_ms: 1 });
        assert_eq!(wins(&mut sale, "a", 5300), 1);
        assert_eq!(sale.balances().round, 5);
        assert!(matches!(grab(&mut sale, "a", None, 5301), Outcome::Already(_)));
        assert_eq!(wins(&mut sale, "b", 5399), 2);
        assert_eq!(grab(&mut sale, "c", None, 5400), Outcome::NotOpen { in_ms: 900 });
        let status = sale.status(&at(5400));
        assert_eq!((status.state, status.sold, status.winners), ("pending", 2, 2));
        let times = (status.round, status.round_ends_at, status.next_round_at);
        assert_eq!(times, (Some(5), Some(5400), Some(6300)));
        assert_eq!(wins(&mut sale, "a", 6300), 3);
        assert_eq!((sale.balances().available, sale.balances().grants), (1, 3));
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
    fn a_clock_that_steps_back_stays_in_the_round() {
        let mut sale = sale_from(1300, 10, terms(SCHEDULE, 0));
        wins(&mut sale, "a", 2300);
        assert!(matches!(grab(&mut sale, "a", None, 2299), Outcome::Already(_)));
        assert_eq!(sale.balances().round, 2);
        let early = Change::untimed(Effect::Round { round: 2, supply: 5 });
        let mut broken = sale.clone();
        assert!(broken.apply(sale.balances().version, [early]).is_err());
        let effect = Effect::Round { round: 9, supply: 5 };
        let future = Change { elapsed_ms: 10, ..Change::untimed(effect) };
        assert!(broken.apply(sale.balances().version, [future]).is_err());
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
            commit(&mut sale, &decision);
        }
        let full = sale.memory_bytes();
        for clock_ms in [2300, 3300] {
            let decision = sale.decide_round(&at(clock_ms)).unwrap();
            commit(&mut sale, &decision);
        }
        assert!(sale.memory_bytes() > full / 3, "not yet given back");
        let mut steps = 0;
        while sale.shed() {
            steps += 1;
        }
        assert!(steps > 1 && sale.memory_bytes() < full / 50, "{steps}");
        assert_eq!(bytes_of(&reloaded(&sale)), bytes_of(&sale));
    }
}
