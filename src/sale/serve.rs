//! The three plain answers to a GRAB, in one step.
//!
//! A rush consists of them: units for a user who has none, while nothing stands against it; the
//! same user again; and, soon, nothing left. Deciding, trying and applying such a grant as any
//! change goes costs several times as much as what it comes to, so it is judged and made here at
//! once, and what needs no further judgement is told at once. All must come to the same as
//! [`Sale::decide`] and [`Sale::commit`] do: the tests of the domain compare the two at every GRAB
//! that they make.

use super::balances::Balances;
use super::effect::{Change, Effect, Granting};
use super::ledger::Found;
use super::limits::GRANTS_MAX;
use super::outcome::{GrantView, Outcome};
use super::record::{Asked, ReqTag};
use super::request::{Amount, Grab, Now};
use super::terms::Terms;
use super::Sale;

/// What a GRAB came to at once.
#[derive(Clone, Copy, Debug)]
pub enum Served {
    /// A grant was made.
    Granted(Placed),
    /// The user has his one unit, and this is it. Nothing changed.
    Already(GrantView),
    /// Nothing is left and nothing comes back. Nothing changed.
    SoldOut,
}

/// A grant that was made at once.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The version that its change followed.
    pub version: u64,
    /// What is left.
    pub available: u64,
    pub grant: GrantView,
    elapsed_ms: u64,
    epoch: Option<u64>,
    hold_ms: u64,
}

impl Served {
    /// What the user is told.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        match *self {
            Served::Granted(Placed { grant, available, .. }) => {
                Outcome::Granted { grant, available }
            }
            Served::Already(grant) => Outcome::Already(grant),
            Served::SoldOut => Outcome::SoldOut { held: 0 },
        }
    }
}

impl Placed {
    /// The change that it was, for whoever follows the sale.
    #[inline]
    pub fn change<'a>(&self, grab: &Grab<'a>) -> Change<'a> {
        let effect = Effect::Grant(granting(grab, self.grant.qty, self.hold_ms, None));
        Change { elapsed_ms: self.elapsed_ms, epoch: self.epoch, effect }
    }
}

/// The grant of `qty` units that a GRAB asked for.
#[inline]
fn granting<'a>(grab: &Grab<'a>, qty: u64, hold_ms: u64, found: Option<Found>) -> Granting<'a> {
    let req = grab.req.map(|id| ReqTag { id, asked: Asked::Exactly });
    Granting { user: grab.user, req, qty, hold_ms, found }
}

impl Sale {
    /// Answers the GRAB of a user who was looked up, if the answer is plain. `None` when it is not:
    /// then nothing has changed.
    #[inline]
    pub fn serve(&mut self, grab: &Grab<'_>, found: Found, now: &Now) -> Option<Served> {
        let qty = match grab.amount {
            Amount::Unsaid => 1,
            Amount::Exactly(qty) => qty,
            Amount::UpTo(_) => return None,
        };
        // Draws, rounds and admission come with extras.
        if self.extras.is_some() || self.awaits > 0 {
            return None;
        }
        if !found.is_stranger() {
            return self.one_unit_of(grab, &found, self.time(now)).map(Served::Already);
        }
        if self.terms.limit != 0 && qty > self.terms.limit {
            return None;
        }
        if self.balances.available > qty {
            return self.serve_grant(grab, qty, found, now).map(Served::Granted);
        }
        (self.is_timeless() && !self.paused).then_some(Served::SoldOut)
    }

    /// The live grant of one unit that uses up the allowance of a user who has no other grant, if
    /// nothing comes before telling him so: the answer to a second click.
    #[inline]
    fn one_unit_of(&self, grab: &Grab<'_>, found: &Found, t: u64) -> Option<GrantView> {
        let uses_up = self.terms.limit == 1 || self.terms.grabs == 1;
        if !uses_up || grab.req.is_some() {
            return None;
        }
        self.ledger.only_unit(found, t).filter(|grant| grant.state.is_live())
    }

    /// Grants a stranger `qty` units, fewer than there are, if that is all there is to it. He has
    /// no grant, so his request id is new.
    #[inline]
    fn serve_grant(
        &mut self,
        grab: &Grab<'_>,
        qty: u64,
        found: Found,
        now: &Now,
    ) -> Option<Placed> {
        let may_be_fenced = grab.req.is_some() && !self.fences.is_empty();
        if may_be_fenced || !self.is_open_to_all(self.time(now)) {
            return None;
        }
        let (elapsed_ms, epoch) = self.stamp(now)?;
        let hold_ms = self.terms.hold_ms;
        let granting = granting(grab, qty, hold_ms, Some(found));
        let mut balances: Balances = self.balances;
        balances.begin_at(elapsed_ms, epoch).ok()?;
        let (state, deadline) = granting.state_at(balances.t);
        balances.place(qty, state).ok()?;
        balances.last_grant_at = balances.t;
        if !balances.is_lawful() {
            return None;
        }
        let version = self.balances.version;
        self.balances = balances;
        self.run = now.run;
        self.record(&granting);
        debug_assert_eq!(self.balances.grants, self.ledger.len());
        let grant = GrantView { seq: balances.grants, qty, state, deadline };
        Some(Placed { version, available: balances.available, grant, elapsed_ms, epoch, hold_ms })
    }

    /// Whether whoever has no grant gets what he asks for at `t`, and nothing else happens, in a
    /// sale without extras that has some units left afterwards.
    #[inline]
    fn is_open_to_all(&self, t: u64) -> bool {
        let Terms { open_at, close_at, outbox, .. } = &self.terms;
        self.balances.grants < GRANTS_MAX
            && t >= *open_at
            && (t < *close_at || *close_at == 0)
            && !self.ledger.holds().are_due(t)
            && outbox.is_none()
            && !self.paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::admission::List;
    use crate::sale::outcome::State;
    use crate::sale::request::{Deed, ListChange, Request, Settle, Which};
    use crate::sale::testing::{at, created, init, read, run};

    /// What the user is told at once, which is what the long way comes to, too.
    fn told(sale: &Sale, grab: &Grab<'_>, clock_ms: u64) -> Option<Outcome> {
        let mut other = sale.clone();
        let found = other.find(grab.user);
        let now = at(if sale.is_timeless() { 0 } else { clock_ms });
        let outcome = other.serve(grab, found, &now)?.outcome();
        assert_eq!(outcome, sale.decide(&Request::Grab(*grab), &at(clock_ms)).outcome);
        Some(outcome)
    }

    fn plain(user: &str) -> Grab<'_> {
        Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None }
    }

    /// Lets `winner` win at 2.
    fn won(supply: u64, terms: Terms) -> Sale {
        let mut sale = created(&init(supply, terms), 1);
        run(&mut sale, &Request::Grab(plain("winner")), 2);
        sale
    }

    #[test]
    fn what_a_rush_consists_of_is_answered_at_once() {
        let grant = GrantView { seq: 1, qty: 1, state: State::Sold, deadline: 0 };
        let sale = won(3, Terms::default());
        assert_eq!(told(&sale, &plain("winner"), 3), Some(Outcome::Already(grant)));
        let second = Outcome::Granted { grant: GrantView { seq: 2, ..grant }, available: 1 };
        assert_eq!(told(&sale, &plain("other"), 3), Some(second));
        let sale = won(1, Terms::default());
        assert_eq!(told(&sale, &plain("winner"), 3), Some(Outcome::Already(grant)));
        assert_eq!(told(&sale, &plain("other"), 3), Some(Outcome::SoldOut { held: 0 }));
        let sale = won(3, Terms { hold_ms: 10, ..Terms::default() });
        let held = GrantView { state: State::Held, deadline: 12, ..grant };
        assert_eq!(told(&sale, &plain("winner"), 11), Some(Outcome::Already(held)));
        let second = GrantView { seq: 2, deadline: 21, ..held };
        let second = Outcome::Granted { grant: second, available: 1 };
        assert_eq!(told(&sale, &plain("other"), 11), Some(second));
    }

    #[test]
    fn where_more_is_to_be_looked_at_nothing_is_answered_at_once() {
        let hold = || won(3, Terms { hold_ms: 10, ..Terms::default() });
        for user in ["winner", "other"] {
            assert_eq!(told(&hold(), &plain(user), 12), None, "a hold is due");
        }
        let two = Grab { amount: Amount::Exactly(2), ..plain("other") };
        let up_to = Grab { amount: Amount::UpTo(1), ..plain("other") };
        let with_req = Grab { req: Some(b"r"), ..plain("other") };
        for sale in [won(9, Terms::default()), won(1, Terms::default())] {
            assert_eq!(told(&sale, &two, 3), None, "more than anybody may have");
            assert_eq!(told(&sale, &up_to, 3), None);
            assert_eq!(told(&sale, &Grab { req: Some(b"r"), ..plain("winner") }, 3), None);
        }
        let limit_2 = Terms { limit: 2, ..Terms::default() };
        assert!(told(&won(4, limit_2.clone()), &two, 3).is_some());
        assert!(told(&won(1, limit_2.clone()), &two, 3).is_some());
        assert_eq!(told(&won(3, limit_2), &two, 3), None, "these are the last units");
        assert!(told(&won(9, Terms::default()), &with_req, 3).is_some());
        assert!(told(&won(1, Terms::default()), &with_req, 3).is_some());
        let mut fenced = won(9, Terms::default());
        let cancel = Settle { user: b"else", which: Which::Req(b"gone"), deed: Deed::Cancel };
        run(&mut fenced, &Request::Settle(cancel), 3);
        assert_eq!(told(&fenced, &with_req, 4), None);
        assert!(told(&fenced, &plain("other"), 4).is_some());
        let last = won(2, Terms::default());
        assert_eq!(told(&last, &plain("other"), 3), None, "the last unit is an event of its own");
        for terms in [
            Terms { open_at: 9, ..Terms::default() },
            Terms { close_at: 3, ..Terms::default() },
            Terms { outbox: Some((*b"orders").into()), ..Terms::default() },
        ] {
            let sale = created(&init(9, terms), 1);
            assert_eq!(told(&sale, &plain("other"), 3), None);
        }
    }

    #[test]
    fn a_sale_that_awaits_pieces_answers_nobody() {
        let sale = won(9, Terms::default());
        let (kind, base) = sale.pieces().next().unwrap();
        let text = [&[kind.letter(), b':'], &base[..]].concat();
        let cut = Sale::create(&read(&[text])[0], [5, 6]).unwrap().0;
        assert!(!cut.is_whole());
        assert_eq!(told(&cut, &plain("other"), 3), None);
    }

    #[test]
    fn a_sold_out_sale_tells_nobody_less_than_he_may_know() {
        let sold_out = won(1, Terms::default());
        let after = |request: &Request<'_>| {
            let mut sale = sold_out.clone();
            run(&mut sale, request, 4);
            sale
        };
        assert_eq!(told(&after(&Request::Pause), &plain("other"), 8), None);
        let deny = ListChange { list: List::Deny, add: true, users: &[b"other"] };
        assert_eq!(told(&after(&Request::List(deny)), &plain("other"), 5), None);
        let cancel = Settle { user: b"other", which: Which::Req(b"gone"), deed: Deed::Cancel };
        let late = Grab { req: Some(b"gone"), ..plain("other") };
        let fenced = after(&Request::Settle(cancel));
        assert_eq!(told(&fenced, &late, 5), None);
        let decided = fenced.decide(&Request::Grab(late), &at(5)).outcome;
        assert!(matches!(decided, Outcome::Replay(GrantView { state: State::Cancelled, .. })));
    }
}
