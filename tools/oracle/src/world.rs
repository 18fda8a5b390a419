//! A primary, its replica and the oracle side by side.

use std::fmt::Debug;
use std::num::NonZeroU16;

use seckill_domain::admission::{Admission, AdmissionChange, List, Modulo, Sample};
use seckill_domain::audit::AuditWalk;
use seckill_domain::decide::{decide_new, Decided, Decision, NextRound};
use seckill_domain::draw::Draw;
use seckill_domain::effect::{Change, Changes};
use seckill_domain::limits::{INTEGER_MAX, TIME_MS_MAX};
use seckill_domain::outcome::{Elements, GrantView, Misuse, Outcome, Place, State, OUTCOMES};
use seckill_domain::parts::Split;
use seckill_domain::plan::Plan;
use seckill_domain::record::Asked;
use seckill_domain::request::{
    self, Amount, Deed, Elsewhere, Grab, Import, Init, Keeper, Kept, ListChange, Now, Receive,
    Request, Restock, Send, Settle, Terms, TermsChange, UnitKind, Wait, Which, Wish,
};
use seckill_domain::rounds::Schedule;
use seckill_domain::status::Status;
use seckill_domain::waitlist::{WaitTerms, WaitTermsChange};
use seckill_domain::Sale;

use super::oracle::{
    self, Ask, Drawing, Epochs, GatePatch, Gates, Op, Oracle, Patch, Pick, Row, Rules, SECRET,
};
use super::rebuild;
use super::stored_entry::{texts, StoredEntry};

/// A difference, in words.
pub type Check = Result<(), String>;

/// Fails with both values when they differ.
macro_rules! same {
    ($what:expr, $sale:expr, $oracle:expr) => {
        equal($what, &$sale, &$oracle)?
    };
}

fn equal<T: PartialEq + Debug>(what: &str, is: &T, should: &T) -> Check {
    match is == should {
        true => Ok(()),
        false => Err(format!("{what}: is {is:?}, should be {should:?}")),
    }
}

/// How far apart two epochs of a node are.
pub const EPOCH_STEP: u64 = 7;

/// The name of the sale's key.
const KEY: &[u8] = b"k";

/// A primary, a replica that only ever applied what was encoded, and the oracle.
#[derive(Clone)]
pub struct World {
    pub clock: u64,
    pub node_epoch: u64,
    pub sale: Sale,
    pub replica: Sale,
    pub oracle: Oracle,
    /// Audits of both in steps, one after the other: the steps stand between those of the world.
    audits: [AuditWalk; 2],
}

impl World {
    /// INIT on a key that does not exist. `None` when it is refused, by both.
    pub fn open(
        supply: u64,
        rules: Rules,
        clock: u64,
        node_epoch: u64,
    ) -> Result<Option<World>, String> {
        let amounts = amounts(&rules);
        let init = Init { supply, terms: terms(&rules), amounts, id: 77, secret: SECRET };
        let decided = decide_new(&init, &Now { clock_ms: clock, node_epoch }, [1, 2]);
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
        same!("events", words(&plan), oracle.events());
        same!("entries", texts(&StoredEntry::all(&sale, &plan, KEY)), oracle.entries().to_vec());
        let text = encoded(&plan.changes[0]);
        let change = Change::decode(&text).map_err(refused)?;
        let (replica, plan) = Sale::create(change, [3, 4]).map_err(refused)?;
        let plan = plan.ok_or("an INIT that tells nothing")?;
        same!("events on the replica", words(&plan), oracle.events());
        let entries = StoredEntry::all(&replica, &plan, KEY);
        entries.iter().try_for_each(StoredEntry::fits_the_rows)?;
        let entries = texts(&entries);
        same!("entries on the replica", entries, oracle.entries().to_vec());
        let audits = [sale.begin_audit(1), replica.begin_audit(2)];
        let world = World { clock, node_epoch, sale, replica, oracle, audits };
        world.verify()?;
        Ok(Some(world))
    }

    /// The moment of the next command.
    pub fn now(&self) -> Now {
        Now { clock_ms: self.clock, node_epoch: self.node_epoch }
    }

    /// Whether `op` would change anything: the sale, the clock or the epoch of the node.
    pub fn would_change(&self, op: &Op) -> bool {
        match self.changes(op) {
            Some(changes) => !changes.is_empty(),
            None => self.clock_after(op) != Some(self.clock),
        }
    }

    /// The sale's decision; `None` for an operation that is none of the sale's.
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

    /// The changes that `op` makes first: those of the round that begins, if one does.
    pub fn changes<'a>(&self, op: &'a Op) -> Option<Changes<'a>> {
        Some(match self.decide(op)? {
            Ok(decision) => decision.plan.map_or_else(Changes::new, |plan| plan.changes),
            Err(NextRound(plan)) => plan.changes,
        })
    }

    /// Where `op` sets the clock, if it does.
    fn clock_after(&self, op: &Op) -> Option<u64> {
        let moved = |from: u64, by: i64| from.saturating_add_signed(by).clamp(1, TIME_MS_MAX);
        match op {
            Op::Clock(clock) => Some(*clock),
            Op::Wait(by) => Some(moved(self.clock, *by)),
            Op::ToDeadline(by) => {
                Some(self.oracle.next_deadline().map_or(self.clock, |next| moved(next, *by)))
            }
            Op::ToRound(others, by) => {
                let start = self.oracle.start_after(*others, self.clock);
                Some(start.map_or(self.clock, |start| moved(start, *by)))
            }
            Op::ToClose(by) => {
                let close = self.oracle.close_of(self.clock);
                Some(close.map_or(self.clock, |close| moved(close, *by)))
            }
            _ => None,
        }
    }

    /// Does `op` everywhere and compares everything.
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

    /// Goes on with the audits. What changed between their steps is no difference.
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
        same!("entries", entries, self.oracle.entries().to_vec());
        // States equal in every byte, at one time, were compared when they came about.
        match changed {
            true => self.verify(),
            false => self.verify_numbers(),
        }
    }

    /// Only GRAB is counted as an attempt. A refusal changes nothing else.
    fn count(&mut self, op: &Op, outcome: &Outcome, changed: bool) -> Check {
        let ask = match op {
            Op::Grab { ask, .. } | Op::Join { ask, .. } => ask,
            Op::Choose { qty, .. } => &Ask::Qty(*qty),
            _ => return Ok(()),
        };
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

    /// Makes what was decided, here and on the replica. Tells the events and the entries.
    fn make(
        &mut self,
        plan: &Plan<'_>,
        events: &mut Vec<&'static str>,
        entries: &mut Vec<String>,
    ) -> Check {
        let version = self.sale.balances().version;
        let wire: Vec<Vec<u8>> = plan.changes.iter().map(encoded).collect();
        same!("version of the plan", plan.version(), version);
        let told = StoredEntry::all(&self.sale, plan, KEY);
        told.iter().try_for_each(StoredEntry::fits_the_rows)?;
        entries.extend(texts(&told));
        self.sale.commit(plan);
        events.extend(words(plan));
        self.replicate(&wire, plan, &told)
    }

    /// The way of the effects: texts are bytes on the wire. The replica writes the same entries.
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
        same!("entries on the replica", &StoredEntry::all(&self.replica, &plan, KEY)[..], entries);
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

    /// Compares primary, replica and oracle in everything that can be read.
    pub fn verify(&self) -> Check {
        self.verify_numbers()?;
        self.verify_rows()?;
        self.verify_users()?;
        verify_list(&self.sale, &self.oracle, &self.now())?;
        let balances = self.sale.balances();
        same!("law", self.sale.is_lawful(), true);
        same!("sum", balances.available + balances.held + balances.sold, balances.supply);
        same!("audit", self.sale.audit().differences, vec![]);
        same!("audit of the replica", self.replica.audit().differences, vec![]);
        let pieces = rebuild::pieces(&self.sale);
        same!("replica", rebuild::pieces(&self.replica), pieces);
        same!("fences", rebuild::fences_in(&pieces), self.oracle.fences().to_vec());
        let owes_and_has = balances.deficit > 0 && balances.available > 0;
        same!("owes units while some are available", owes_and_has, false);
        Ok(())
    }

    fn verify_numbers(&self) -> Check {
        let status = self.sale.status(&self.now());
        same!("state", status.state, self.oracle.state(self.clock));
        for ((field, is), (_, should)) in
            numbers(&status).iter().zip(self.oracle.numbers(self.clock))
        {
            same!(field, *is, should);
        }
        for ((field, is), (_, should)) in
            counters(&status).iter().zip(expected_counters(&self.oracle))
        {
            same!(field, *is, should);
        }
        let times = [status.round, status.round_ends_at, status.next_round_at];
        same!("round", times, self.oracle.round_times(self.clock));
        same!("packets", status.packets, self.oracle.packets());
        verify_part(&self.sale, &self.oracle, &status)?;
        let unmet = status.unmet_units.map(|units| units as i64);
        same!("unmet", unmet, self.oracle.part_numbers().last().copied());
        let totals = self.sale.round_totals();
        let totals: Vec<_> =
            totals.map(|total| (total.round, total.supply, total.sold, total.winners)).collect();
        same!("totals", totals, self.oracle.totals());
        Ok(())
    }

    fn verify_rows(&self) -> Check {
        if let Some(map) = self.sale.units_from(1, INTEGER_MAX) {
            same!("numbers", String::from_utf8_lossy(&map).into_owned(), self.oracle.map());
        }
        let ledger = self.sale.ledger();
        same!("rows", ledger.len(), self.oracle.rows().len() as u64);
        for row in self.oracle.rows() {
            let kept = self.oracle.is_kept(row).then(|| row.clone());
            same!("row", row_of(&self.sale, row.seq), kept);
        }
        for seq in [0, ledger.len() + 1, ledger.len() + (1 << 32), u64::MAX] {
            same!("a seq that was not granted", ledger.grant(seq).is_some(), false);
        }
        Ok(())
    }

    fn verify_users(&self) -> Check {
        let ledger = self.sale.ledger();
        let stranger = b"nobody grabs as this one".to_vec();
        for user in self.oracle.users().into_iter().chain([&stranger]) {
            let mine: Vec<&Row> = self.oracle.rows_of(user).collect();
            let is: Vec<u64> = self.sale.grants_of(user).map(|grant| grant.seq).collect();
            same!("grants of a user", is, mine.iter().map(|row| row.seq).collect::<Vec<_>>());
            for row in &mine {
                let Some(req) = &row.req else { continue };
                same!("by req", self.sale.by_req(user, req), Some(row.seq));
                same!("req of a stranger", self.sale.by_req(&stranger, req).is_some(), false);
            }
            let admittance = self.sale.admittance(user).name();
            same!("admission", admittance, self.oracle.admission(user));
            let mine: Vec<&Row> = self.oracle.rows_now(user).collect();
            let holding = self.sale.holding_of(user);
            let live: Vec<&&Row> = mine.iter().filter(|row| row.is_live()).collect();
            let newest = |row: Option<u64>| row.unwrap_or(0);
            same!("live units", holding.live_units, live.iter().map(|row| row.qty).sum::<u64>());
            same!("live grants", holding.live_grants as usize, live.len());
            same!("newest", u64::from(holding.newest), newest(mine.first().map(|row| row.seq)));
            let newest_live = newest(live.first().map(|row| row.seq));
            same!("newest live", u64::from(holding.newest_live), newest_live);
            let t = self.sale.time(&self.now());
            let stays = live.iter().find(|row| !row.is_due(t)).map(|row| row.seq);
            let found = ledger.newest_live(&ledger.find(user), t).map(|grant| grant.seq);
            same!("newest live and not due", found, stays);
            same!("allowance", self.sale.allowance(&holding), self.oracle.allowance(user));
        }
        Ok(())
    }
}

/// Compares the waiting list, and holds it to its promise.
pub fn verify_list(sale: &Sale, oracle: &Oracle, now: &Now) -> Check {
    let status = sale.status(now);
    let terms = ["waitlist", "offer_ms", "overtake"].map(|name| status.term(name));
    let numbers = terms.into_iter().chain([status.waiting]);
    let numbers = numbers.chain([status.waiting_units, status.waiting_since]);
    let numbers: Option<Vec<u64>> = numbers.chain([status.offered]).collect();
    same!("list", numbers, oracle.list_numbers().map(Vec::from));
    let list = sale.waitlist().into_iter().flat_map(|list| list.iter_from(0));
    let list = list.map(|it| (it.ticket, it.user, it.req, it.qty, it.at, it.until));
    let waiters = oracle.waiters();
    let theirs =
        waiters.iter().map(|it| (it.ticket, &it.user[..], &it.req[..], it.qty, it.at, it.until));
    same!("waiters", list.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
    for waiter in waiters {
        let place = sale.place(&waiter.user, now).map(|it| reply(&Outcome::Waiting(it)));
        same!("place", place, oracle.place(&waiter.user, now.clock_ms));
    }
    same!("place of nobody", sale.place(b"nobody waits as this one", now), None);
    oracle.check_overtaking()
}

/// Commits what was decided, if anything.
pub fn commit(sale: &mut Sale, decision: &Decision<'_>) {
    if let Some(plan) = &decision.plan {
        sale.commit(plan);
    }
}

/// Kinds of events in words, in order; repeats of one kind in a row come once.
pub fn words(plan: &Plan<'_>) -> Vec<&'static str> {
    let mut words: Vec<_> = plan.events.iter().map(|event| event.kind.name()).collect();
    words.dedup();
    words
}

/// The epoch that a decision begins.
pub fn epoch_of(changes: &[Change<'_>]) -> Option<u64> {
    changes.first()?.epoch
}

/// Decides a request after the rounds that begin first, which are committed.
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

fn keeper(by: oracle::Keeper) -> Keeper {
    match by {
        oracle::Keeper::Confirm => Keeper::Confirm,
        oracle::Keeper::Cancel => Keeper::Cancel,
        oracle::Keeper::Refund => Keeper::Refund,
    }
}

/// The text of a change.
pub fn encoded(change: &Change<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    change.encode(&mut text);
    text
}

/// A grant of the sale in the oracle's form.
pub fn row_of(sale: &Sale, seq: u64) -> Option<Row> {
    let grant = sale.grant(seq)?;
    let units = sale.numbers().map(|numbers| [numbers.of(seq), numbers.first_of(seq)]);
    let units = units.map(|lists| lists.map(|units| units.into_iter().map(u64::from).collect()));
    let [units, first_units] = units.unwrap_or_default();
    Some(Row {
        seq: grant.seq,
        user: grant.user.to_vec(),
        qty: grant.qty,
        first: sale.first_qty(seq)?,
        state: grant.state.name(),
        at: grant.at,
        deadline: grant.view().deadline,
        req: grant.req_id().map(<[u8]>::to_vec),
        asked: match grant.req.map(|req| req.asked) {
            None => "",
            Some(Asked::Exactly) => "QTY",
            Some(Asked::UpTo) => "UPTO",
            Some(Asked::Either) => "ANY",
            Some(Asked::Offered) => "OFFER",
        },
        epoch: grant.epoch,
        round: grant.round,
        refused: grant.state == State::Forfeited,
        units,
        first_units,
    })
}

fn stream(name: char) -> Box<[u8]> {
    String::from(name).into_bytes().into()
}

/// The domain's form of the oracle's terms.
pub fn terms(rules: &Rules) -> Terms {
    Terms {
        limit: rules.limit,
        grabs: rules.grabs,
        hold_ms: rules.hold_ms,
        open_at: rules.open_at,
        close_at: rules.close_at,
        outbox: rules.outbox.map(stream),
        kind: match rules.drawing {
            Drawing::Named if rules.numbered => UnitKind::Numbered,
            Drawing::Named => UnitKind::Counted,
            Drawing::Packets { packets, min } => UnitKind::Drawn(Draw::Packets { packets, min }),
            Drawing::Uniform { low, high } => UnitKind::Drawn(Draw::Uniform { low, high }),
            Drawing::Equal { packets } => UnitKind::Drawn(Draw::Equal { packets }),
            Drawing::List(amounts) => UnitKind::Drawn(Draw::list(amounts)),
        },
        schedule: rules.every.map(|every| Schedule {
            period_ms: every.period,
            offset_ms: every.offset,
            lasts_ms: every.lasts,
            carry: every.carry,
        }),
        admission: admission(&rules.gates),
        split: rules.part.map(split),
        waitlist: rules.list.map(|list| WaitTerms {
            max: list.max,
            offer_ms: list.offer_ms,
            overtake: list.overtake,
        }),
    }
}

fn split(part: oracle::Part) -> Box<Split> {
    Box::new(Split {
        part: part.number as u16,
        parts: NonZeroU16::new(part.of as u16).unwrap_or(NonZeroU16::MIN),
        id: part.split.as_bytes().into(),
        total: part.total,
    })
}

pub fn amounts(rules: &Rules) -> Vec<u64> {
    match rules.drawing {
        Drawing::List(amounts) => amounts.to_vec(),
        _ => Vec::new(),
    }
}

fn modulo((modulus, residues): (u64, &[u64])) -> Box<Modulo> {
    Box::new(Modulo::new(modulus, residues.to_vec()))
}

fn sample((permille, salt): (u64, &str)) -> Box<Sample> {
    Box::new(Sample { permille, salt: salt.as_bytes().into() })
}

fn admission(gates: &Gates) -> Admission {
    Admission {
        allowlist: gates.allowlist,
        modulo: gates.modulo.map(modulo),
        sample: gates.sample.map(sample),
        admit: gates.admit,
        mask: gates.mask,
    }
}

fn admission_change(patch: &GatePatch) -> AdmissionChange {
    AdmissionChange {
        allowlist: patch.allowlist,
        modulo: patch.modulo.map(|numbers| numbers.map(modulo)),
        sample: patch.sample.map(|share| share.map(sample)),
        admit: patch.admit,
        mask: patch.mask,
    }
}

fn terms_change(patch: &Patch) -> TermsChange {
    TermsChange {
        limit: patch.limit,
        grabs: patch.grabs,
        hold_ms: patch.hold_ms,
        open_at: patch.open_at,
        close_at: patch.close_at,
        outbox: patch.outbox.map(stream),
        admission: admission_change(&patch.gates),
        waitlist: WaitTermsChange {
            max: patch.list.max,
            offer_ms: patch.list.offer_ms,
            overtake: patch.list.overtake,
        },
    }
}

/// The amount that a GRAB asks for.
pub fn amount(ask: &Ask) -> Amount {
    match ask {
        Ask::Qty(qty) => Amount::Exactly(*qty),
        Ask::UpTo(qty) => Amount::UpTo(*qty),
        Ask::Unsaid => Amount::Unsaid,
    }
}

/// A GRAB that says which numbers it wants.
fn pick<'a>(
    user: &'a [u8],
    qty: u64,
    wish: &oracle::Wish,
    req: Option<&'a Vec<u8>>,
) -> request::Pick<'a> {
    let grab = Grab { user, amount: Amount::Exactly(qty), req: req.map(Vec::as_slice) };
    let wish = match wish {
        oracle::Wish::Adjacent => Wish::Adjacent,
        oracle::Wish::These(units) => Wish::These(units.iter().map(|unit| *unit as u32).collect()),
    };
    request::Pick { grab, wish, waits: false }
}

fn which(pick: &Pick) -> Which<'_> {
    match pick {
        Pick::Only => Which::Only,
        Pick::Seq(seq) => Which::Seq(*seq),
        Pick::Req(req) => Which::Req(req),
    }
}

/// The request of a command; `None` for what happens around the sale.
pub fn request(op: &Op) -> Option<Request<'_>> {
    Some(match op {
        // A repeated INIT draws another id and secret.
        Op::Init { supply, rules } => Request::Init(Init {
            supply: *supply,
            terms: terms(rules),
            amounts: amounts(rules),
            id: 78,
            secret: [8; 16],
        }),
        Op::Grab { user, ask, req } => {
            Request::Grab(Grab { user, amount: amount(ask), req: req.as_deref() })
        }
        Op::Join { user, ask, req, until } => Request::Wait(Wait {
            grab: Grab { user, amount: amount(ask), req: Some(req) },
            until: *until,
        }),
        Op::KeepUnits { user, pick, by, units } => {
            let deed = Deed::Keep { by: keeper(*by), kept: Kept::These(units) };
            Request::Settle(Settle { user, which: which(pick), deed })
        }
        Op::Settle { user, pick, deed } => Request::Settle(Settle {
            user,
            which: which(pick),
            deed: match deed {
                oracle::Deed::Confirm => Deed::Confirm { reclaim: false },
                oracle::Deed::Reclaim => Deed::Confirm { reclaim: true },
                oracle::Deed::Cancel => Deed::Cancel,
                oracle::Deed::Extend(ms) => Deed::Extend { ms: *ms },
                oracle::Deed::Refund => Deed::Refund,
                oracle::Deed::Keep(by, units) => {
                    Deed::Keep { by: keeper(*by), kept: Kept::AtMost(*units) }
                }
            },
        }),
        Op::Import { user, qty, req, at, no_deficit } => {
            let (qty, at, no_deficit) = (*qty, *at, *no_deficit);
            Request::Import(Import { user, qty, req, at, no_deficit, units: &[] })
        }
        Op::ImportUnits { user, units, req } => {
            let qty = units.len() as u64;
            Request::Import(Import { user, qty, req, at: None, no_deficit: false, units })
        }
        Op::Choose { user, qty, wish, req } => Request::Pick(pick(user, *qty, wish, req.as_ref())),
        Op::Restock { delta, req } => Request::Restock(Restock { delta: *delta, req }),
        Op::Pause => Request::Pause,
        Op::Resume => Request::Resume,
        Op::Alter(patch) => Request::Alter(terms_change(patch)),
        Op::Enlist { list, add, users } => Request::List(ListChange {
            list: match list {
                oracle::List::Allow => List::Allow,
                oracle::List::Deny => List::Deny,
            },
            add: *add,
            users,
        }),
        Op::Send { split, to, total, owed } => {
            Request::Send(Send { split: split.as_bytes(), to: *to, total: *total, owed: *owed })
        }
        Op::Receive { split, from, total } => {
            Request::Receive(Receive { split: split.as_bytes(), from: *from, total: *total })
        }
        Op::Elsewhere { split, units, pass } => {
            Request::Elsewhere(Elsewhere { split: split.as_bytes(), units: *units, pass: *pass })
        }
        Op::Sweep(_) | Op::Clock(_) | Op::Wait(_) | Op::ToDeadline(_) => return None,
        Op::ToRound(..) | Op::ToClose(_) => return None,
        Op::Promote | Op::Rewrite | Op::Restore => return None,
    })
}

/// The reply with the numbers of its grant, if units have numbers.
pub fn with_units(outcome: &Outcome, units: Option<&[u32]>) -> String {
    let is_of_grant = matches!(
        outcome,
        Outcome::Granted { .. }
            | Outcome::Already(_)
            | Outcome::Replay(_)
            | Outcome::Stands(_)
            | Outcome::NoGrant
            | Outcome::Fenced
    );
    let units = units.filter(|_| is_of_grant).map(|units| format!(" {units:?}"));
    reply(outcome) + &units.unwrap_or_default()
}

/// An outcome in the words of the specification.
pub fn reply(outcome: &Outcome) -> String {
    if let Some((word, elements)) = outcome.elements() {
        return match elements {
            Elements::Nothing => word.into(),
            Elements::Number(number) => format!("{word} {number}"),
            Elements::Grant(grant, available) => {
                let GrantView { seq, qty, state, deadline } = *grant;
                let text = format!("{word} {seq} {qty} {} {deadline}", state.name());
                available.map_or(text.clone(), |available| format!("{text} {available}"))
            }
            Elements::Place(Place { ticket, ahead, units_ahead }) => {
                format!("{word} {ticket} {ahead} {units_ahead}")
            }
        };
    }
    match outcome {
        Outcome::Stands(grant) => {
            format!("{} {} {} {}", grant.state.name(), grant.seq, grant.qty, grant.deadline)
        }
        Outcome::NoGrant => "NOGRANT 0 0 0".into(),
        Outcome::Fenced => "CANCELLED 0 0 0".into(),
        Outcome::Restocked { applied, available } => format!("{applied} {available}"),
        Outcome::Moved { total, available } => format!("{total} {available}"),
        Outcome::Elsewhere { units, pass } => format!("{units} {pass}"),
        Outcome::Changed { users } => users.to_string(),
        Outcome::ManyOwnEnding => "TRYAGAIN own".into(),
        Outcome::ManyEnding => "TRYAGAIN others".into(),
        Outcome::Misuse(misuse) => error(*misuse).into(),
        // `Done`; answers to GRAB are above.
        _ => "OK".into(),
    }
}

/// A mistake in the words of the specification.
fn error(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::SaleExists => "SALEEXISTS",
        Misuse::ReqMismatch => "REQMISMATCH",
        Misuse::WindowEmpty | Misuse::HoldTooLong => "ERR terms",
        Misuse::OutboxTooLong | Misuse::OutboxSet => "ERR outbox",
        Misuse::Ambiguous => "AMBIGUOUS",
        Misuse::SupplyTooLarge => "ERR supply",
        Misuse::GrantsFull => "ERR grants",
        Misuse::Exhausted => "ERR exhausted",
        Misuse::DrawTakesNoAmount => "ERR amount",
        Misuse::DrawTakesNoKeep => "ERR keep",
        Misuse::DrawTakesNoLimit => "ERR limit",
        Misuse::DrawFixesSupply => "ERR fixed",
        Misuse::PeriodOutOfRange | Misuse::LastsOutOfRange => "ERR rounds",
        Misuse::RoundsTakeNoImport | Misuse::DrawListRepeats => "ERR rounds",
        Misuse::ModNoResidue | Misuse::ModResidueTooLarge => "ERR admission",
        Misuse::ModTooManyResidues | Misuse::SampleTooLarge => "ERR admission",
        Misuse::SaltTooLong => "ERR admission",
        Misuse::WaitlistTooLong | Misuse::OfferTooLong => "ERR list",
        Misuse::OfferNeedsTime | Misuse::WaitlistTakesNoDraw => "ERR list",
        Misuse::DrawNoPackets | Misuse::DrawMinZero | Misuse::DrawSupplyTooSmall => "ERR draw",
        Misuse::DrawAmountZero | Misuse::DrawRangeEmpty => "ERR draw",
        Misuse::DrawSumDiffers => "ERR draw",
        Misuse::WrongPart => "WRONGPART",
        Misuse::NotAPart => "ERR no part",
        Misuse::NotThisSplit => "ERR split",
        Misuse::NotAnotherPart => "ERR peer",
        Misuse::MovedTooMany => "ERR moved",
        Misuse::ShareAboveTotal => "ERR share",
        Misuse::PartOutOfRange | Misuse::SplitIdSize => "ERR part",
        Misuse::PartTakesNoDraw => "ERR part draws",
        Misuse::NumberedTakesNoDraw => "ERR numbered",
        Misuse::TooManyUnits => "ERR numbers",
        Misuse::NumberedOnlyGrows => "ERR negative",
        Misuse::NumberedTakesNoUpTo => "ERR upto",
        Misuse::NumberedTakesNoKeep => "ERR keep",
        Misuse::KeepsNoUnit => "ERR none kept",
        Misuse::TooManyAtOnce => "ERR many",
        Misuse::NotNumbered => "NOTNUMBERED",
        Misuse::NoSuchUnit => "ERR no unit",
        Misuse::ImportNeedsUnits => "ERR units",
        _ => "ERR other",
    }
}

/// Compares what a part was given, and what moved between it and the others. What it refused is
/// counted by each node alone.
pub fn verify_part(sale: &Sale, oracle: &Oracle, status: &Status) -> Check {
    let mut numbers = oracle.part_numbers();
    numbers.pop();
    same!("part", part_numbers(sale, status), numbers);
    let pairs = sale.part().map_or(&[][..], |part| part.pairs);
    let pairs = pairs.iter().map(|pair| (pair.peer.into(), pair.sent, pair.received));
    same!("pairs", pairs.collect::<Vec<(u64, u64, u64)>>(), oracle.pairs());
    same!("the law of a part", oracle.part_adds_up(), true);
    Ok(())
}

/// The numbers of a part in STATUS and PARTS, in the oracle's order.
fn part_numbers(sale: &Sale, status: &Status) -> Vec<i64> {
    let Some(part) = sale.part() else { return Vec::new() };
    let numbers = [
        status.term("part"),
        status.term("parts"),
        status.sent,
        status.received,
        status.elsewhere,
        Some(part.escrow.pass),
    ];
    let numbers = numbers.into_iter().flatten().map(|number| number as i64);
    status.put_in.into_iter().chain(numbers).collect()
}

/// The numbers of STATUS, in the oracle's order.
pub fn numbers(status: &Status) -> [(&'static str, u64); 21] {
    let term = |name| status.term(name).unwrap_or_default();
    [
        ("supply", status.supply),
        ("available", status.available),
        ("held", status.held),
        ("sold", status.sold),
        ("deficit", status.deficit),
        ("winners", status.winners),
        ("grants", status.grants),
        ("limit", term("limit")),
        ("grabs", term("grabs")),
        ("hold_ms", term("hold_ms")),
        ("open_at", term("open_at")),
        ("close_at", term("close_at")),
        ("now", status.now),
        ("next_deadline", status.next_deadline),
        ("created_at", status.created_at),
        ("last_grant_at", status.last_grant_at),
        ("epoch", status.epoch),
        ("version", status.version),
        ("rev", status.rev),
        ("outbox_error", status.outbox_error),
        ("fences_dropped", status.fences_dropped),
    ]
}

/// The counters of STATUS, as the oracle has them.
pub fn expected_counters(oracle: &Oracle) -> Vec<(&'static str, u64)> {
    let rows = OUTCOMES[1..].iter();
    let refusals = rows.map(|row| (row.counter.to_str().unwrap_or_default(), row.word));
    oracle.counters(&refusals.collect::<Vec<_>>())
}

/// The counters of STATUS, in the oracle's order.
pub fn counters(status: &Status) -> Vec<(&'static str, u64)> {
    status.counters.all().collect()
}
