//! Random sequences of everything at once: drawn amounts, holds, rounds and admission together.
//! After every step a replica that reads the effects, a reloaded dump and a rewritten log are the
//! same sale, and a recount finds no difference.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::admission::{Admission, AdmissionChange, List, Modulo, Sample};
    use crate::codec::effect::Effect;
    use crate::draw::Draw;
    use crate::model::outcome::{Outcome, State};
    use crate::request::terms::{Terms, TermsChange};
    use crate::request::{
        Amount, Deed, Grab, Import, Init, ListChange, Now, Request, Restock, Settle, Which,
    };
    use crate::rounds::schedule::Schedule;
    use crate::testing::{commit, created, read, reloaded, rewritten, texts_of};
    use crate::Sale;

    /// A small generator (xorshift64*): the same sequence every time.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
        }

        fn pick<T: Copy>(&mut self, from: &[T]) -> T {
            from[self.below(from.len() as u64) as usize]
        }

        fn often(&mut self) -> bool {
            self.below(2) == 0
        }
    }

    const USERS: [&[u8]; 6] = [b"1", b"2", b"13", b"ann", b"bob", b"eve"];
    const REQS: [&[u8]; 5] = [b"r1", b"r2", b"r3", b"r4", b"r5"];

    fn init(chance: &mut Chance) -> Init {
        let list = [4, 1, 2, 3, 2, 1];
        let draws = [
            None,
            None,
            Some(Draw::Packets { packets: 5, min: 2 }),
            Some(Draw::Uniform { low: 2, high: 6 }),
            Some(Draw::Equal { packets: 4 }),
            Some(Draw::list(&list)),
        ];
        let draw = chance.pick(&draws);
        let amounts = if draw == draws[5] { list.to_vec() } else { Vec::new() };
        let schedule = Schedule {
            period_ms: 60,
            offset_ms: 7,
            lasts_ms: 40 + chance.below(20),
            carry: chance.often(),
        };
        let admission = Admission {
            allowlist: chance.below(6) == 0,
            modulo: (chance.below(6) == 0).then(|| Box::new(Modulo::new(3, vec![1, 2]))),
            sample: (chance.below(6) == 0)
                .then(|| Box::new(Sample { permille: 600, salt: b"s"[..].into() })),
            admit: chance.pick(&[0, 0, 0, 3]),
            mask: chance.often(),
        };
        let terms = Terms {
            limit: if draw.is_some() { 0 } else { chance.below(5) },
            grabs: if draw.is_some() { 2 } else { chance.below(3) },
            hold_ms: chance.pick(&[0, 5, 50, 150]),
            outbox: chance.often().then(|| b"out"[..].into()),
            // A list does not repeat.
            schedule: (amounts.is_empty() && chance.often()).then_some(schedule),
            draw,
            admission,
            ..Terms::default()
        };
        Init { supply: 13, terms, amounts, id: 1, secret: [9; 16] }
    }

    fn request(chance: &mut Chance, sale: &Sale) -> Request<'static> {
        let (user, req) = (chance.pick(&USERS), chance.pick(&REQS));
        let drawn = sale.terms().draw.is_some();
        let qty = 1 + chance.below(4);
        let which = match chance.below(3) {
            0 => Which::Only,
            1 => Which::Req(req),
            _ => Which::Seq(1 + chance.below(sale.balances().grants + 1)),
        };
        match chance.below(20) {
            0..=8 => {
                let amount = match chance.below(3) {
                    _ if drawn => Amount::Unsaid,
                    0 => Amount::Unsaid,
                    1 => Amount::Exactly(qty),
                    _ => Amount::UpTo(qty),
                };
                Request::Grab(Grab { user, amount, req: chance.often().then_some(req) })
            }
            9..=14 => {
                let reclaim = chance.often() && which != Which::Only;
                let deeds = [
                    Deed::Confirm { reclaim },
                    Deed::Confirm { reclaim },
                    Deed::Cancel,
                    Deed::Extend { ms: 30 },
                    Deed::Refund,
                ];
                Request::Settle(Settle { user, which, deed: chance.pick(&deeds) })
            }
            15 => Request::Restock(Restock { delta: chance.pick(&[-3, 2, 5]), req }),
            16 => Request::Import(Import { user, qty, req, at: None, no_deficit: chance.often() }),
            17 => {
                let list = if chance.often() { List::Allow } else { List::Deny };
                let add = chance.below(3) > 0 || list == List::Deny && chance.often();
                Request::List(ListChange { list, add, users: &USERS[2..5] })
            }
            18 => {
                let admission = AdmissionChange {
                    allowlist: Some(chance.below(4) == 0),
                    modulo: Some(None),
                    admit: Some(chance.pick(&[0, 4])),
                    ..AdmissionChange::default()
                };
                Request::Alter(TermsChange { admission, ..TermsChange::default() })
            }
            _ if sale.paused => Request::Resume,
            _ => Request::Pause,
        }
    }

    /// What a user is told must be so: a live grant is there, nobody is over his limits.
    fn check_outcome(sale: &Sale, request: &Request<'_>, outcome: &Outcome, t: u64) {
        let Request::Grab(grab) = request else { return };
        if let Outcome::Granted { grant, available } = outcome {
            let stored = sale.grant(grant.seq).unwrap();
            assert_eq!((stored.user, stored.view()), (grab.user, *grant));
            assert_eq!(*available, sale.balances().available);
            assert!(grant.qty > 0 && (grant.state == State::Sold || grant.deadline > t));
        }
        if let Outcome::Already(grant) | Outcome::Replay(grant) = outcome {
            assert!(grant.state != State::Held || grant.deadline > t, "a due hold is never HELD");
        }
    }

    /// How often there was each kind of effect, in sales that draw and in others.
    type Seen = BTreeMap<(bool, String), u32>;

    /// The kind of an effect: its name, or what it settles a grant to.
    fn kind_of(effect: &Effect<'_>) -> String {
        let shown = format!("{effect:?}");
        match effect {
            Effect::Settle { to, .. } => format!("{to:?}"),
            _ => shown.split([' ', '(']).next().unwrap().to_owned(),
        }
    }

    fn step(
        sale: &mut Sale,
        replica: &mut Sale,
        request: &Request<'_>,
        now: &Now,
        seen: &mut Seen,
    ) {
        loop {
            let decision = sale.decide(request, now);
            let version = sale.balances().version;
            let texts = texts_of(decision.changes());
            for change in decision.changes() {
                let kind = kind_of(&change.effect);
                *seen.entry((sale.terms().draw.is_some(), kind)).or_default() += 1;
            }
            let plan = decision.plan.as_ref();
            let entries = plan.map_or(Vec::new(), |plan| sale.entries(plan, b"key"));
            let rev = sale.balances().rev;
            commit(sale, &decision);
            let written = if sale.terms().outbox.is_some() { entries.len() as u64 } else { 0 };
            assert_eq!(sale.balances().rev, rev + written);
            if !texts.is_empty() {
                replica.apply(version, read(&texts)).unwrap();
            }
            assert_eq!(sale.audit().differences, [], "{request:?}");
            check_outcome(sale, request, &decision.outcome, sale.time(now));
            if decision.outcome != Outcome::NextRound {
                let refused = matches!(decision.outcome, Outcome::Misuse(_));
                assert!(!refused || texts.is_empty(), "misuse leaves no trace");
                return;
            }
        }
    }

    #[test]
    fn everything_at_once_is_the_same_everywhere() {
        let mut seen = Seen::new();
        for seed in 1..=400 {
            let mut chance = Chance(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
            let mut clock_ms = 1000;
            let mut sale = created(&init(&mut chance), clock_ms);
            let mut replica = reloaded(&sale);
            for turn in 0..120 {
                clock_ms =
                    (clock_ms + chance.pick(&[0, 0, 1, 3, 20, 70])) - chance.pick(&[0, 0, 2]);
                let now = Now { clock_ms, run: 1 + turn / 60 };
                if chance.below(8) == 0 {
                    let due =
                        sale.decide_round(&now).unwrap_or_else(|| sale.decide_expiry(3, &now));
                    let version = sale.balances().version;
                    commit(&mut sale, &due);
                    replica.apply(version, due.changes().to_vec()).unwrap();
                }
                let request = request(&mut chance, &sale);
                step(&mut sale, &mut replica, &request, &now, &mut seen);
                if turn % 7 == 0 {
                    for other in [&replica, &reloaded(&sale), &rewritten(&sale)] {
                        assert!(sale.pieces().eq(other.pieces()), "seed {seed} turn {turn}");
                    }
                }
            }
        }
        let kinds = "Grant Expire Sold Cancelled Refunded Forfeited Reclaim Extend Import Fence \
            Restock Pause Resume Alter Users Admit Round";
        for kind in kinds.split_whitespace() {
            for drawn in [false, true] {
                let key = (drawn, kind.to_owned());
                assert!(seen.contains_key(&key), "{key:?} is not in {seen:?}");
            }
        }
        assert!(seen.contains_key(&(false, "Reimport".to_owned())), "{seen:?}");
    }
}
