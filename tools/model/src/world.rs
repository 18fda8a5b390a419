//! A primary, its replica and the oracle side by side.

use seckill_domain::audit::AuditWalk;
use seckill_domain::decide::{decide_new, Decided, Decision, NextRound};
use seckill_domain::effect::{Change, Changes};
use seckill_domain::limits::{INTEGER_MAX, TIME_MS_MAX};
use seckill_domain::outcome::Outcome;
use seckill_domain::plan::Plan;
use seckill_domain::request::{Now, Request};
use seckill_domain::Sale;

use super::compare::{self, Check};
use super::oracle::{Epochs, Op, Oracle, Rules};
use super::rebuild::{self, encoded};
use super::replies::{reply, with_units};
use super::requests::{amount, init, request};
use super::stored_entry::{texts, StoredEntry};

/// Fails with both values if they differ.
macro_rules! same {
    ($what:expr, $sale:expr, $oracle:expr) => {
        compare::same($what, &$sale, &$oracle)?
    };
}

/// Distance between two epochs of a node.
pub const EPOCH_STEP: u64 = 7;

/// A primary, a replica that only applies encoded changes, and the oracle.
#[derive(Clone)]
pub struct World {
    pub clock: u64,
    pub node_epoch: u64,
    pub sale: Sale,
    pub replica: Sale,
    pub oracle: Oracle,
    /// Audits of primary and replica, whose steps alternate with the commands.
    audits: [AuditWalk; 2],
}

impl World {
    /// INIT on a missing key. `None` if sale and oracle refuse it.
    pub fn open(
        supply: u64,
        rules: Rules,
        clock: u64,
        node_epoch: u64,
    ) -> Result<Option<World>, String> {
        let decided =
            decide_new(&init(supply, &rules), &Now { clock_ms: clock, node_epoch }, [1, 2]);
        let oracle = match Oracle::init(supply, rules, clock, node_epoch) {
            Ok(oracle) => oracle,
            Err(refusal) => {
                let misuse = decided.err().ok_or("INIT is not refused")?;
                same!("INIT", reply(&Outcome::Misuse(misuse)), refusal);
                return Ok(None);
            }
        };
        let (plan, sale) = decided.map_err(|misuse| format!("INIT is refused: {misuse:?}"))?;
        same!("changes", plan.changes.len(), 1);
        let refused = |why| format!("INIT can't be applied: {why:?}");
        verify_told(&sale, &plan, &oracle)?;
        let text = encoded(&plan.changes[0]);
        let change = Change::decode(&text).map_err(refused)?;
        let (replica, plan) = Sale::create(change, [3, 4]).map_err(refused)?;
        let plan = plan.ok_or("an INIT that tells nothing")?;
        verify_told(&replica, &plan, &oracle)?;
        let audits = [sale.begin_audit(1), replica.begin_audit(2)];
        let world = World { clock, node_epoch, sale, replica, oracle, audits };
        world.verify()?;
        Ok(Some(world))
    }

    /// Time and epoch of the next command.
    pub fn now(&self) -> Now {
        Now { clock_ms: self.clock, node_epoch: self.node_epoch }
    }

    /// Whether `op` would change the sale, the clock or the node's epoch.
    pub fn would_change(&self, op: &Op) -> bool {
        match self.changes(op) {
            Some(changes) => !changes.is_empty(),
            None => self.clock_after(op) != Some(self.clock),
        }
    }

    /// The sale's decision; `None` for an operation that is no request.
    pub fn decide<'a>(&self, op: &'a Op) -> Option<Decided<'a>> {
        let now = self.now();
        match op {
            Op::Sweep(most) => {
                let begun = self.sale.decide_round(&now);
                Some(begun.unwrap_or_else(|| self.sale.decide_expiry(*most, &now)))
            }
            _ => request(op).map(|request| self.sale.decide(&request, &now)),
        }
    }

    /// The first changes of `op`: those of the next round, if it begins.
    pub fn changes<'a>(&self, op: &'a Op) -> Option<Changes<'a>> {
        Some(match self.decide(op)? {
            Ok(decision) => decision.plan.map_or_else(Changes::new, |plan| plan.changes),
            Err(NextRound(plan)) => plan.changes,
        })
    }

    /// The time to which `op` sets the clock, if it does.
    fn clock_after(&self, op: &Op) -> Option<u64> {
        let (from, by) = match op {
            Op::Clock(clock) => return Some(*clock),
            Op::Wait(by) => (Some(self.clock), by),
            Op::ToDeadline(by) => (self.oracle.next_deadline(), by),
            Op::ToRound(others, by) => (self.oracle.start_after(*others, self.clock), by),
            Op::ToClose(by) => (self.oracle.close_of(self.clock), by),
            _ => return None,
        };
        let moved = |from: u64| from.saturating_add_signed(*by).clamp(1, TIME_MS_MAX);
        Some(from.map_or(self.clock, moved))
    }

    /// Executes `op` on all copies and compares them.
    pub fn step(&mut self, op: &Op) -> Check {
        let done = match (op, self.clock_after(op)) {
            (_, Some(clock)) => {
                self.clock = clock;
                self.verify()
            }
            (Op::Promote, _) => self.promote(),
            (Op::Rewrite, _) => self.rewrite(),
            (Op::Restore, _) => self.restore(),
            _ => self.ask(op),
        };
        let done = done.and_then(|()| self.audit_on());
        done.map_err(|wrong| format!("after {op:?}: {wrong}"))
    }

    /// Continues the audits. Changes between their steps must not show as differences.
    fn audit_on(&mut self) -> Check {
        for (sale, audit) in [&mut self.sale, &mut self.replica].into_iter().zip(&mut self.audits) {
            if let Some(found) = sale.audit_some(audit, 2) {
                same!("audit in steps", found.differences, vec![]);
                same!("version after it", found.version[1], sale.balances().version);
                *audit = sale.begin_audit(1 + found.version[1]);
            }
        }
        Ok(())
    }

    fn ask(&mut self, op: &Op) -> Check {
        let now = self.now();
        let (mut events, mut entries, mut changed) = (Vec::new(), Vec::new(), false);
        let mut begun = None;
        let decision = loop {
            match self.decide(op).ok_or("not a command")? {
                Ok(decision) => break decision,
                Err(NextRound(plan)) => {
                    same!("changes of a turn", plan.changes.len(), 1);
                    begun = begun.or(epoch_of(&plan.changes));
                    changed = true;
                    self.make(&plan, &mut events, &mut entries)?;
                }
            }
        };
        let drawn = match &decision.outcome {
            Outcome::Granted { grant, .. } => Some(grant.qty),
            _ => None,
        };
        let epoch = begun.or(epoch_of(decision.changes()));
        let epochs = Epochs { node: now.node_epoch, sale: epoch };
        let expected = self.oracle.ask(op, now.clock_ms, epochs, drawn);
        let told = self.sale.units_replied(&decision.outcome, decision.plan.as_ref());
        same!("reply", with_units(&decision.outcome, told.as_deref()), expected.reply);
        same!("has changes", changed || !decision.changes().is_empty(), expected.changed);
        if let Some(plan) = &decision.plan {
            self.make(plan, &mut events, &mut entries)?;
            changed = true;
        }
        self.count(op, &decision.outcome, changed)?;
        same!("events", events, self.oracle.events());
        same!("entries", entries, self.oracle.entries);
        // Sales with equal bytes at an equal time were compared when that state was reached.
        match changed {
            true => self.verify(),
            false => self.verify_numbers(),
        }
    }

    /// Only GRAB counts as an attempt. A refusal changes nothing else.
    fn count(&mut self, op: &Op, outcome: &Outcome, changed: bool) -> Check {
        let Some(ask) = op.ask() else { return Ok(()) };
        if changed {
            self.sale.count(outcome, amount(ask));
            return Ok(());
        }
        let before = (rebuild::pieces(&self.sale), self.sale.memory_bytes());
        self.sale.count(outcome, amount(ask));
        same!("pieces after a refusal", rebuild::pieces(&self.sale), before.0);
        same!("memory after a refusal", self.sale.memory_bytes(), before.1);
        Ok(())
    }

    /// Applies the decision to primary and replica. Returns the events and the entries.
    fn make(
        &mut self,
        plan: &Plan<'_>,
        events: &mut Vec<&'static str>,
        entries: &mut Vec<String>,
    ) -> Check {
        let version = self.sale.balances().version;
        let wire: Vec<Vec<u8>> = plan.changes.iter().map(encoded).collect();
        same!("version of the plan", plan.version(), version);
        let told = StoredEntry::all(&self.sale, plan);
        told.iter().try_for_each(StoredEntry::fits_the_rows)?;
        entries.extend(texts(&told));
        self.sale.commit(plan);
        events.extend(words(plan));
        self.replicate(&wire, plan, &told)
    }

    /// Applies the encoded effects to the replica, which must add equal entries.
    fn replicate(&mut self, texts: &[Vec<u8>], made: &Plan<'_>, entries: &[StoredEntry]) -> Check {
        let version = made.version();
        let mut changes = Vec::new();
        for text in texts {
            let change = Change::decode(text).map_err(|why| format!("{text:?}: {why:?}"))?;
            same!("text", encoded(&change), *text);
            changes.push(change);
        }
        let plan = self.replica.check(version, changes.clone());
        let plan = plan.map_err(|why| format!("the replica refuses: {why:?}"))?;
        same!("entries on the replica", &StoredEntry::all(&self.replica, &plan)[..], entries);
        self.replica.commit(&plan);
        same!("events on the replica", plan.events, made.events);
        same!("numbers on the replica", plan.balances, made.balances);
        let repeated = self.replica.apply(version, changes);
        same!("replica refuses a repeat", repeated.is_err(), true);
        Ok(())
    }

    fn promote(&mut self) -> Check {
        self.node_epoch += EPOCH_STEP;
        self.oracle.promoted();
        self.sale = self.replica.clone();
        self.replica = loaded(&self.sale, 0)?;
        self.verify()
    }

    fn rewrite(&mut self) -> Check {
        self.node_epoch += EPOCH_STEP;
        self.oracle.restarted();
        let log = rebuild::log(&self.sale);
        self.sale = rebuild::replay(&log, self.node_epoch)
            .map_err(|why| format!("the log is refused: {why:?}"))?;
        self.verify()
    }

    fn restore(&mut self) -> Check {
        self.oracle.restored();
        self.replica = loaded(&self.sale, self.clock)?;
        self.sale = loaded(&self.sale, self.clock)?;
        self.replica.arrive();
        self.sale.arrive();
        self.verify()
    }

    /// Compares everything that can be read of primary, replica and oracle.
    pub fn verify(&self) -> Check {
        self.verify_numbers()?;
        let (sale, oracle, now) = (&self.sale, &self.oracle, self.now());
        if let Some(map) = sale.units_from(1, INTEGER_MAX) {
            same!("numbers", String::from_utf8_lossy(&map).into_owned(), oracle.map());
        }
        compare::verify_rows(sale, oracle)?;
        compare::verify_users(sale, oracle, &now)?;
        compare::verify_list(sale, oracle, &now)?;
        let balances = self.sale.balances();
        same!("law", self.sale.is_lawful(), true);
        same!("sum", balances.available + balances.held + balances.sold, balances.supply);
        same!("audit", self.sale.audit().differences, vec![]);
        same!("audit of the replica", self.replica.audit().differences, vec![]);
        let pieces = rebuild::pieces(&self.sale);
        same!("replica", rebuild::pieces(&self.replica), pieces);
        same!("fences", rebuild::fences_in(&pieces), self.oracle.fences);
        let owes_and_has = balances.deficit > 0 && balances.available > 0;
        same!("owes units while some are available", owes_and_has, false);
        Ok(())
    }

    fn verify_numbers(&self) -> Check {
        compare::verify_numbers(&self.sale, &self.oracle, &self.now(), true)
    }
}

/// Compares the events and entries of a plan with the oracle's.
fn verify_told(sale: &Sale, plan: &Plan<'_>, oracle: &Oracle) -> Check {
    let entries = StoredEntry::all(sale, plan);
    entries.iter().try_for_each(StoredEntry::fits_the_rows)?;
    same!("events", words(plan), oracle.events());
    same!("entries", texts(&entries), oracle.entries);
    Ok(())
}

/// Commits the plan of a decision, if any.
pub fn commit(sale: &mut Sale, decision: &Decision<'_>) {
    if let Some(plan) = &decision.plan {
        sale.commit(plan);
    }
}

/// Kinds of events as text, in order. Repeated kinds in a row appear once.
pub fn words(plan: &Plan<'_>) -> Vec<&'static str> {
    let mut words: Vec<_> = plan.events.iter().map(|event| event.kind.name()).collect();
    words.dedup();
    words
}

/// The epoch that a decision begins.
pub fn epoch_of(changes: &[Change<'_>]) -> Option<u64> {
    changes.first()?.epoch
}

/// Commits the rounds that begin first, then decides the request.
pub fn after_rounds<'a>(sale: &mut Sale, request: &Request<'a>, now: &Now) -> Decision<'a> {
    loop {
        match sale.decide(request, now) {
            Ok(decision) => return decision,
            Err(NextRound(plan)) => sale.commit(&plan),
        }
    }
}

fn loaded(sale: &Sale, seed: u64) -> Result<Sale, String> {
    rebuild::load(&rebuild::dump(sale), seed).map_err(|why| format!("the dump is refused: {why:?}"))
}
