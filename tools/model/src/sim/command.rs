//! Commands of clients and of background expiry on the primary. The order of steps is that of the
//! server: round, decision, outbox entries, changes, replicas.

use smallvec::SmallVec;

use seckill_domain::decide::mgrab::{decide_multi_grab, MultiDecision, MultiOutcome, NextRounds};
use seckill_domain::decide::{Decided, Decision, NextRound};
use seckill_domain::draw::Draw;
use seckill_domain::effect::Change;
use seckill_domain::event::EventKind;
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::Plan;
use seckill_domain::request::Grab;
use seckill_domain::Sale;

use super::cluster::Cluster;
use super::model::Heard;
use super::node::{digest, Part, Txn, What};
use super::sometimes::Seen;
use super::step::Step;
use super::versions;
use crate::compare::{same, Check};
use crate::oracle::{Ask, Bytes, Epochs, Op};
use crate::rebuild::encoded;
use crate::replies::{reply, with_units};
use crate::requests::{amount, grab, request};
use crate::stored_entry::{texts, StoredEntry};
use crate::world::{epoch_of, words};

/// The changes of a command: its transaction, its entries, and its kinds of events.
struct Made {
    part: Part,
    entries: Vec<StoredEntry>,
    kinds: Vec<EventKind>,
}

/// The decision on a sale, without an outcome if only the next round begins.
#[derive(Clone, Copy)]
struct Verdict<'r, 'a> {
    sale: usize,
    op: &'r Op,
    outcome: Option<&'r Outcome>,
    plan: Option<&'r Plan<'a>>,
}

impl Cluster<'_> {
    /// Executes one request, after the next round has begun if it is due.
    pub fn ask(&mut self, sale: usize, op: &Op) -> Check {
        let request = request(op).ok_or_else(|| format!("{op:?} is no command"))?;
        if !self.turn_rounds(sale)? {
            return Ok(());
        }
        let now = self.now();
        let decision = current(self.primary.held[sale].sale.decide(&request, &now))?;
        self.carry_out(sale, op, decision)
    }

    /// A command during which another module calls a second command, between decision and changes.
    /// If the second one changed the sale, the first one does nothing.
    pub fn interrupted(&mut self, sale: usize, op: &Op, call: &Step) -> Check {
        let Some(request) = request(op) else {
            return self.execute(call);
        };
        if !self.turn_rounds(sale)? {
            return Ok(());
        }
        let decision = current(self.primary.held[sale].sale.decide(&request, &self.now()))?;
        let Some(plan) = &decision.plan else {
            // No foreign code runs if nothing changes.
            self.carry_out(sale, op, decision)?;
            return self.execute(call);
        };
        let before = digest(&self.primary.held[sale].sale);
        self.execute(call)?;
        let held = &self.primary.held[sale].sale;
        let is_as_judged = digest(held) == before;
        same("a plan is for the sale as it is", &plan.is_for(held), &is_as_judged)?;
        if !is_as_judged {
            self.tally.reply("(changed)");
            return self.verify(sale, false);
        }
        self.carry_out(sale, op, decision)
    }

    /// Begins the next round if it is due. False if the outbox refuses its entry.
    fn turn_rounds(&mut self, sale: usize) -> Result<bool, String> {
        let now = self.now();
        let (plan, outcome) = match self.primary.held[sale].sale.decide_round(&now) {
            None => return Ok(true),
            Some(Err(NextRound(plan))) => (Some(*plan), None),
            Some(Ok(Decision { outcome, plan })) => (plan, Some(outcome)),
        };
        if self.is_stuck(sale, plan.as_ref()) {
            return Ok(false);
        }
        // The oracle begins the round at any request. An empty sweep does nothing else.
        let (op, outcome, plan) = (&Op::Sweep(0), outcome.as_ref(), plan.as_ref());
        self.do_it(Verdict { sale, op, outcome, plan })?;
        Ok(true)
    }

    /// Whether the outbox refuses the entries of this plan, so that nothing changes.
    fn is_stuck(&mut self, sale: usize, plan: Option<&Plan<'_>>) -> bool {
        let held = &mut self.primary.held[sale].sale;
        let wants = plan.is_some_and(|plan| held.outbox_after(plan).is_some());
        let is_stuck = wants && self.broken[sale];
        if is_stuck {
            held.note_outbox_failed();
        }
        is_stuck
    }

    /// Counts a decision and executes it.
    fn carry_out(&mut self, sale: usize, op: &Op, decision: Decision<'_>) -> Check {
        if self.is_stuck(sale, decision.plan.as_ref()) {
            self.tally.reply("(outbox)");
            return self.verify(sale, false);
        }
        self.tally.reply(&reply(&decision.outcome));
        self.count(sale, op, &decision.outcome);
        let (outcome, plan) = (Some(&decision.outcome), decision.plan.as_ref());
        self.do_it(Verdict { sale, op, outcome, plan })
    }

    /// Counts the outcome of a GRAB on the primary.
    fn count(&mut self, sale: usize, op: &Op, outcome: &Outcome) {
        let (Some(ask), held) = (op.ask(), &mut self.primary.held[sale]) else { return };
        held.sale.count(outcome, amount(ask));
        let is_refusal = !matches!(outcome, Outcome::Granted { .. } | Outcome::Misuse(_));
        held.refusals += u64::from(is_refusal);
    }

    /// Compares the decision with the oracle's and executes it.
    fn do_it(&mut self, verdict: Verdict<'_, '_>) -> Check {
        let Verdict { sale, op, outcome, plan } = verdict;
        let heard = self.foretell(verdict)?;
        let Some(plan) = plan else {
            return outcome.map_or(Ok(()), |outcome| self.verify_refusal(sale, op, outcome));
        };
        let made = self.make(sale, plan)?;
        if let Some(oracle) = &self.models[sale] {
            same("entries", &texts(&made.entries), &oracle.entries)?;
            same("events", &words(plan), &oracle.events())?;
        }
        let reclaimed = made.kinds.contains(&EventKind::Reclaim);
        self.keep(vec![made], heard.into_iter().collect())?;
        if let Some(outcome) = outcome {
            self.verify_outcome(sale, op, outcome, reclaimed)?;
        }
        self.verify(sale, false)
    }

    /// Executes the command on the oracle, if it still models the sale.
    fn foretell(&mut self, verdict: Verdict<'_, '_>) -> Result<Option<Heard>, String> {
        let Verdict { sale, op, outcome, plan } = verdict;
        let changes = changes_of(plan);
        let epochs = Epochs { node: self.node_epoch, sale: epoch_of(changes) };
        let clock = self.clock;
        // A refused amount is in no entry.
        if matches!(outcome, Some(Outcome::OverLimit { .. })) && self.draws_at_random(sale) {
            return Ok(self.lose(sale, changes));
        }
        let Some(oracle) = &mut self.models[sale] else { return Ok(None) };
        // The sale may draw any amount within its rules.
        let drawn = match outcome {
            Some(Outcome::Granted { grant, .. }) => Some(grant.qty),
            _ => None,
        };
        let answer = oracle.ask(op, clock, epochs, drawn);
        if let Some(outcome) = outcome {
            let told = self.primary.held[sale].sale.units_replied(outcome, plan);
            same("reply", &with_units(outcome, told.as_deref()), &answer.reply)?;
        }
        same("has changes", &!changes.is_empty(), &answer.changed)?;
        let before = &self.primary.held[sale].sale;
        self.tally.note(&Seen {
            sale: before,
            op,
            t: before.balances().t.max(clock),
            reply: &answer.reply,
            events: &plan.map(words).unwrap_or_default(),
            entries: &oracle.entries,
        });
        self.tally.foretold += 1;
        Ok(Some(Heard::Op { sale, op: Box::new(op.clone()), clock, epochs, drawn }))
    }

    fn draws_at_random(&self, sale: usize) -> bool {
        let draw = self.primary.held[sale].sale.terms().draw();
        matches!(draw, Some(Draw::Packets { .. } | Draw::Uniform { .. }))
    }

    /// Stops modelling a sale whose change the oracle can't predict.
    fn lose(&mut self, sale: usize, changes: &[Change<'_>]) -> Option<Heard> {
        if changes.is_empty() {
            return None;
        }
        self.models[sale] = None;
        Some(Heard::Lost { sale })
    }

    pub fn sweep(&mut self, sale: usize, most: usize) -> Check {
        let now = self.now();
        let held = &mut self.primary.held[sale].sale;
        held.forget_look();
        if held.decide_round(&now).is_some() {
            self.turn_rounds(sale)?;
            return Ok(());
        }
        let decision = current(held.decide_expiry(most, &now))?;
        self.carry_out(sale, &Op::Sweep(most), decision)?;
        let held = &mut self.primary.held[sale].sale;
        if self.broken[sale] || held.decide_round(&now).is_some() {
            return Ok(());
        }
        // Counts a retry while own holds are still due; other requests are not repeated.
        let left = held.holds_len() > 0 && held.next_deadline().is_some();
        same("a look is asked for", &(held.next_look(now.clock_ms).is_some() || !left), &true)?;
        same("a look is asked for twice", &held.next_look(now.clock_ms), &None)
    }

    /// Appends the entries, then applies the changes.
    fn make(&mut self, sale: usize, plan: &Plan<'_>) -> Result<Made, String> {
        let held = &mut self.primary.held[sale];
        let (version, rev) = (held.sale.balances().version, held.sale.balances().rev);
        let texts: Vec<Vec<u8>> = plan.changes.iter().map(encoded).collect();
        let entries = StoredEntry::all(&held.sale, plan);
        entries.iter().try_for_each(|entry| held.follower.read(entry))?;
        held.sale.commit(plan);
        held.follow();
        held.sale.free_some();
        let balances = held.sale.balances();
        same("versions of a command", &(balances.version - version), &(texts.len() as u64))?;
        same("revs of a command", &(balances.rev - rev), &(entries.len() as u64))?;
        held.follower.check(&held.sale)?;
        let digest = digest(&held.sale);
        let written = versions::write_as(self.setting);
        let position = versions::position(version, &entries, written, self.clock);
        let what = What::Apply { position, texts, entries: entries.clone() };
        let kinds = plan.events.iter().map(|event| event.kind).collect();
        Ok(Made { part: Part { sale, what, digest }, entries, kinds })
    }

    /// Adds the changes to the history. Checks that all names are new.
    fn keep(&mut self, made: Vec<Made>, heard: Vec<Heard>) -> Check {
        for made in &made {
            self.tally.entries += made.entries.len() as u64;
            self.check_names(made.part.sale, &made.entries)?;
        }
        self.record(Txn { parts: made.into_iter().map(|made| made.part).collect(), heard });
        Ok(())
    }

    /// Executes an MGRAB of all sales.
    pub fn grab_several(&mut self, user: &Bytes, qty: &[u64], req: &Option<Bytes>) -> Check {
        let now = self.now();
        let op = |(place, qty): (usize, &u64)| {
            let draws = self.primary.held[place].sale.terms().draw().is_some();
            let ask = if draws { Ask::Unsaid } else { Ask::Qty(*qty) };
            Op::Grab { user: user.clone(), ask, req: req.clone() }
        };
        let ops: Vec<Op> = qty.iter().enumerate().map(op).collect();
        let grabs: Vec<Grab<'_>> = ops.iter().filter_map(grab).collect();
        loop {
            let sales = self.primary.held.iter().map(|held| &held.sale);
            let parts: Vec<(&Sale, Grab<'_>)> = sales.zip(grabs.iter().copied()).collect();
            let before: Vec<u64> = parts.iter().map(|(sale, _)| sale.balances().grants).collect();
            let decided = decide_multi_grab(&parts, &now);
            let plans: Vec<Option<&Plan<'_>>> = match &decided {
                Ok(decided) => decided.decisions.iter().map(|it| it.plan.as_ref()).collect(),
                Err(NextRounds(begun)) => begun.iter().map(Option::as_ref).collect(),
            };
            // Every sale of the MGRAB writes entries.
            let stuck =
                plans.iter().enumerate().filter(|(sale, plan)| self.is_stuck(*sale, **plan));
            if stuck.count() > 0 {
                self.tally.reply("(outbox)");
                return Ok(());
            }
            let heard = match &decided {
                Ok(decided) => self.hear_all(decided, &ops)?,
                Err(_) => self.hear_rounds(&plans)?,
            };
            self.take_all(&plans, heard)?;
            if let Ok(decided) = &decided {
                self.tally.reply(outcome_text(&decided.outcome));
                return self.verify_several(user, qty, decided, &before);
            }
        }
    }

    /// Compares the rounds that begin before an MGRAB with the oracle's.
    fn hear_rounds(&mut self, plans: &[Option<&Plan<'_>>]) -> Result<Vec<Heard>, String> {
        let mut heard = Vec::new();
        for (sale, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.is_some()) {
            let begun = Verdict { sale, op: &Op::Sweep(0), outcome: None, plan: *plan };
            heard.extend(self.foretell(begun)?);
        }
        Ok(heard)
    }

    /// Counts an MGRAB and compares it with the oracle's.
    fn hear_all(&mut self, decided: &MultiDecision<'_>, ops: &[Op]) -> Result<Vec<Heard>, String> {
        let mut heard = Vec::new();
        let refused = matches!(decided.outcome, MultiOutcome::Refused { .. });
        for (sale, decision) in decided.decisions.iter().enumerate() {
            let Decision { outcome, plan } = decision;
            let is_last = sale + 1 == decided.decisions.len();
            if is_last || !refused {
                let op = &ops[sale];
                self.count(sale, op, outcome);
                let (outcome, plan) = (Some(outcome), plan.as_ref());
                heard.extend(self.foretell(Verdict { sale, op, outcome, plan })?);
            } else {
                // A refused GRAB still applies expiries and a first admission.
                heard.extend(self.lose(sale, decision.changes()));
            }
        }
        Ok(heard)
    }

    /// Executes all decisions in one transaction.
    fn take_all(&mut self, plans: &[Option<&Plan<'_>>], heard: Vec<Heard>) -> Check {
        let mut all = Vec::new();
        for (sale, plan) in plans.iter().enumerate() {
            if let Some(plan) = plan {
                all.push(self.make(sale, plan)?);
            }
        }
        let sales: SmallVec<[usize; 2]> = all.iter().map(|made| made.part.sale).collect();
        if !all.is_empty() {
            self.keep(all, heard)?;
        }
        sales.iter().try_for_each(|sale| self.verify(*sale, false))
    }
}

/// The decision, if no round begins first.
fn current<'a>(decided: Decided<'a>) -> Result<Decision<'a>, String> {
    decided.map_err(|_| "a second round begins at one time".into())
}

fn changes_of<'p, 'a>(plan: Option<&'p Plan<'a>>) -> &'p [Change<'a>] {
    plan.map_or(&[], |plan| &plan.changes)
}

fn outcome_text(outcome: &MultiOutcome) -> &'static str {
    match outcome {
        MultiOutcome::Granted(_) => "GRANTED-ALL",
        MultiOutcome::Refused { .. } => "REFUSED",
        MultiOutcome::Replayed(_) => "REPLAY-ALL",
        MultiOutcome::Misuse(_) => "ERR several",
    }
}
