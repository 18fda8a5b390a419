//! What clients and the sweeper do to the primary, in the order in which the server does it: the
//! round first, then the decision, then the outbox, then the changes, then the replicas.

use smallvec::SmallVec;

use seckill::sale::apply::Told;
use seckill::sale::decide::Decision;
use seckill::sale::effect::Change;
use seckill::sale::event::Event;
use seckill::sale::outbox::Entry;
use seckill::sale::outcome::Outcome;
use seckill::sale::request::{Amount, Grab, ListChange, Now, Request};
use seckill::sale::several::{decide_several, Joint, Verdict};
use seckill::sale::terms::TermsChange;
use seckill::sale::Sale;

use super::cluster::Cluster;
use super::model::Heard;
use super::node::{digest, Part, Txn, What};
use super::step::Step;
use super::tally::Tally;
use super::{same, Check};
use crate::oracle::{Bytes, Op};
use crate::world::{encoded, reply, request, texts, words};

/// The name that every sale has in its outbox: it is the oracle's, too.
const KEY: &[u8] = b"k";

/// What a command changed: its part of the history, its entries, its events.
struct Made {
    part: Part,
    entries: Vec<Entry>,
    told: Told,
}

impl Cluster {
    /// Does a command.
    pub fn command(&mut self, step: &Step, tally: &mut Tally) -> Check {
        let (sale, request) = match step {
            Step::Ask { sale, op: Op::Sweep(most) } => return self.sweep(*sale, *most, tally),
            Step::Ask { sale, op } => (*sale, request(op)),
            Step::Grab { sale, user, req } => {
                let amount = Amount::Unsaid;
                (*sale, Some(Request::Grab(Grab { user, amount, req: req.as_deref() })))
            }
            Step::Several { user, qty, req } => {
                return self.grab_several(user, qty, req.as_deref(), tally)
            }
            Step::List { sale, list, add, users } => {
                let users: Vec<&[u8]> = users.iter().map(Vec::as_slice).collect();
                let change = ListChange { list: *list, add: *add, users: &users };
                return self.ask(step, *sale, &Request::List(change), tally);
            }
            Step::Gates { sale, change } => {
                let change = TermsChange { admission: change.clone(), ..TermsChange::default() };
                (*sale, Some(Request::Alter(change)))
            }
            _ => (0, None),
        };
        let request = request.ok_or_else(|| format!("{step} is no command"))?;
        self.ask(step, sale, &request, tally)
    }

    /// One request, after the round that is due.
    fn ask(&mut self, step: &Step, sale: usize, request: &Request<'_>, tally: &mut Tally) -> Check {
        if !self.turn_rounds(sale, tally)? {
            return Ok(());
        }
        let now = self.now();
        let decision = self.primary.held[sale].sale.decide(request, &now);
        self.check_timeless(sale, request, &decision)?;
        self.carry_out(step, sale, decision, tally)
    }

    /// Begins the rounds that are due. False when the outbox does not let it.
    fn turn_rounds(&mut self, sale: usize, tally: &mut Tally) -> Result<bool, String> {
        let now = self.now();
        while let Some(turn) = self.primary.held[sale].sale.decide_round(&now) {
            if self.is_stuck(sale, &turn.changes) {
                return Ok(false);
            }
            let made = self.make(sale, &turn.changes, &now)?;
            same("events of a turn", &made.told.contains(&Event::Round), &true)?;
            self.keep(vec![made], Vec::new(), tally)?;
        }
        Ok(true)
    }

    /// Whether the outbox refuses the entries of these changes: then nothing happens.
    fn is_stuck(&mut self, sale: usize, changes: &[Change<'_>]) -> bool {
        let held = &mut self.primary.held[sale].sale;
        let wants = !changes.is_empty() && held.outbox_after(changes).is_some();
        if wants && held.terms().outbox.is_some() {
            held.set_outbox_failed(self.broken[sale]);
        }
        wants && self.broken[sale]
    }

    /// Foretells a decision where the oracle can, and makes it so.
    fn carry_out(
        &mut self,
        step: &Step,
        sale: usize,
        decision: Decision<'_>,
        tally: &mut Tally,
    ) -> Check {
        let is_grab = matches!(step, Step::Grab { .. } | Step::Ask { op: Op::Grab { .. }, .. });
        let changes = &decision.changes;
        if self.is_stuck(sale, changes) {
            tally.reply("(outbox)");
            return self.verify(sale, false);
        }
        let told = reply(&decision.outcome);
        tally.reply(&told);
        let heard = self.foretell(step, sale, &decision, tally)?;
        if is_grab {
            self.primary.held[sale].sale.count(&decision.outcome);
            let is_refusal =
                !matches!(decision.outcome, Outcome::Granted { .. } | Outcome::Misuse(_));
            self.primary.held[sale].refusals += u64::from(is_refusal);
        }
        if changes.is_empty() {
            return self.verify_refusal(sale, step, &decision.outcome);
        }
        let now = self.now();
        let made = self.make(sale, changes, &now)?;
        if let Some(oracle) = self.models[sale].oracle.as_ref().filter(|_| heard.is_some()) {
            same("entries", &texts(&made.entries), &oracle.entries().to_vec())?;
            same("told", &words(&made.told), &oracle.events())?;
        }
        let reclaimed = made.told.contains(&Event::Reclaim);
        self.keep(vec![made], heard.into_iter().collect(), tally)?;
        self.verify_outcome(sale, step, &decision.outcome, reclaimed)?;
        self.verify(sale, false)
    }

    /// What the models expect; what they heard, if they know such a step.
    fn foretell(
        &mut self,
        step: &Step,
        sale: usize,
        decision: &Decision<'_>,
        tally: &mut Tally,
    ) -> Result<Option<Heard>, String> {
        let (clock, run) = (self.clock, self.run);
        let model = &mut self.models[sale];
        if let Step::List { list, add, users, .. } = step {
            let users_changed = model.change(*list, *add, users);
            same("reply", &decision.outcome, &Outcome::Changed { users: users_changed })?;
            let (list, add, users) = (*list, *add, users.clone());
            return Ok(Some(Heard::List { sale, list, add, users }));
        }
        let op = match step {
            Step::Ask { op, .. } => op.clone(),
            // Without an amount it is one unit.
            Step::Grab { user, req, .. } => {
                let (user, req) = (user.clone(), req.clone());
                Op::Grab { user, ask: crate::oracle::Ask::Qty(1), req }
            }
            _ => return Ok(None),
        };
        let Some(oracle) = &mut model.oracle else { return Ok(None) };
        let answer = oracle.ask(&op, clock, run);
        same("reply", &reply(&decision.outcome), &answer.reply)?;
        same("has changes", &!decision.changes.is_empty(), &answer.changed)?;
        tally.foretold += 1;
        Ok(Some(Heard::Op { sale, op, clock, run }))
    }

    /// A sale that says that the clock makes no difference to a GRAB is right.
    fn check_timeless(&self, sale: usize, request: &Request<'_>, decision: &Decision<'_>) -> Check {
        let sale = &self.primary.held[sale].sale;
        if !matches!(request, Request::Grab(_)) || !sale.is_timeless() {
            return Ok(());
        }
        let other = sale.decide(request, &Now { clock_ms: 0, run: self.run });
        same("without a clock", &reply(&other.outcome), &reply(&decision.outcome))?;
        same("changes without a clock", &other.changes.len(), &decision.changes.len())
    }

    fn sweep(&mut self, sale: usize, most: usize, tally: &mut Tally) -> Check {
        let now = self.now();
        let held = &mut self.primary.held[sale].sale;
        held.forget_look();
        if let Some(turn) = held.decide_round(&now) {
            if self.is_stuck(sale, &turn.changes) {
                return Ok(());
            }
            let made = self.make(sale, &turn.changes, &now)?;
            self.keep(vec![made], Vec::new(), tally)?;
            return self.verify(sale, false);
        }
        let decision = held.decide_expiry(most, &now);
        let step = Step::Ask { sale, op: Op::Sweep(most) };
        self.carry_out(&step, sale, decision, tally)?;
        let held = &mut self.primary.held[sale].sale;
        if self.broken[sale] || held.decide_round(&now).is_some() {
            return Ok(());
        }
        // What is still due is looked at again; what is asked for once is not asked for twice.
        let left = held.holds_len() > 0 && held.next_deadline().is_some();
        same("a look is asked for", &(held.next_look().is_some() || !left), &true)?;
        same("a look is asked for twice", &held.next_look(), &None)
    }

    /// Appends the entries, then applies the changes.
    fn make(&mut self, sale: usize, changes: &[Change<'_>], now: &Now) -> Result<Made, String> {
        let held = &mut self.primary.held[sale];
        let refused = |why| format!("what was decided is refused: {why:?}");
        let (version, rev) = (held.sale.core().version, held.sale.core().rev);
        let texts: Vec<Vec<u8>> = changes.iter().map(encoded).collect();
        let entries = match held.sale.outbox_after(changes) {
            None => Vec::new(),
            Some(_) => held.sale.entries(KEY, changes).map_err(refused)?,
        };
        entries.iter().try_for_each(|entry| held.follower.read(entry))?;
        let told = held.sale.commit(changes, now.run).map_err(refused)?;
        held.follow();
        held.sale.shed();
        let core = held.sale.core();
        same("versions of a command", &(core.version - version), &(changes.len() as u64))?;
        same("revs of a command", &(core.rev - rev), &(entries.len() as u64))?;
        held.follower.check(&held.sale)?;
        let digest = digest(&held.sale);
        let what = What::Apply { version, texts, entries: entries.clone() };
        Ok(Made { part: Part { sale, what, digest }, entries, told })
    }

    /// Puts what was made into the history. No name may have named something else before.
    fn keep(&mut self, made: Vec<Made>, heard: Vec<Heard>, tally: &mut Tally) -> Check {
        for made in &made {
            tally.entries += made.entries.len() as u64;
            self.check_names(made.part.sale, &made.entries)?;
        }
        self.record(Txn { parts: made.into_iter().map(|made| made.part).collect(), heard });
        Ok(())
    }

    /// MGRAB of all sales.
    fn grab_several(
        &mut self,
        user: &Bytes,
        qty: &[u64],
        req: Option<&[u8]>,
        tally: &mut Tally,
    ) -> Check {
        let now = self.now();
        let grab = |(place, qty): (usize, &u64)| {
            let draws = self.primary.held[place].sale.terms().draw.is_some();
            let amount = if draws { Amount::Unsaid } else { Amount::Exactly(*qty) };
            Grab { user, amount, req }
        };
        let grabs: Vec<Grab<'_>> = qty.iter().enumerate().map(grab).collect();
        loop {
            let sales = self.primary.held.iter().map(|held| &held.sale);
            let parts: Vec<(&Sale, Grab<'_>)> = sales.zip(grabs.iter().copied()).collect();
            let before: Vec<u64> = parts.iter().map(|(sale, _)| sale.core().grants).collect();
            let joint = decide_several(&parts, &now);
            let verdict = verdict_text(&joint.verdict);
            let stuck = joint.decisions.iter().enumerate();
            let stuck: Vec<usize> = stuck
                .filter(|(sale, decision)| self.is_stuck(*sale, &decision.changes))
                .map(|(sale, _)| sale)
                .collect();
            if !stuck.is_empty() {
                tally.reply("(outbox)");
                return Ok(());
            }
            self.take_joint(&joint, &now, tally)?;
            if joint.verdict != Verdict::NextRound {
                tally.reply(verdict);
                return self.verify_several(user, qty, &joint, &before);
            }
        }
    }

    /// Makes all that was decided, as one transaction.
    fn take_joint(&mut self, joint: &Joint<'_>, now: &Now, tally: &mut Tally) -> Check {
        let (mut all, mut heard) = (Vec::new(), Vec::new());
        let refused = matches!(joint.verdict, Verdict::Refused { .. });
        for (sale, decision) in joint.decisions.iter().enumerate() {
            let is_last = sale + 1 == joint.decisions.len();
            let is_told = joint.verdict != Verdict::NextRound && (is_last || !refused);
            let held = &mut self.primary.held[sale];
            if is_told {
                held.sale.count(&decision.outcome);
                let is_refusal = !matches!(decision.outcome, Outcome::Granted { .. });
                held.refusals += u64::from(is_refusal);
            }
            if !decision.changes.is_empty() {
                all.push(self.make(sale, &decision.changes, now)?);
                // The oracle knows no MGRAB.
                self.models[sale].oracle = None;
                heard.push(Heard::Lost { sale });
            }
        }
        let sales: SmallVec<[usize; 2]> = all.iter().map(|made| made.part.sale).collect();
        if !all.is_empty() {
            self.keep(all, heard, tally)?;
        }
        sales.iter().try_for_each(|sale| self.verify(*sale, false))
    }
}

fn verdict_text(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Granted(_) => "GRANTED-ALL",
        Verdict::Refused { .. } => "REFUSED",
        Verdict::Replayed(_) => "REPLAY-ALL",
        Verdict::NextRound => "NextRound",
        Verdict::Misuse(_) => "ERR several",
    }
}
