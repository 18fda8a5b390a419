//! Compares the clients' replies with the final sale. Pure: equal evidence always gives an equal
//! verdict.
//!
//! The outbox gives all surviving changes one order, by rev. Each reply depends on one change.
//! Every reply is checked: is its change there, is its place in the order possible, and, for a
//! refusal, was it right at some time between call and reply.

use std::collections::{HashMap, HashSet};

use crate::history::{
    answers, Answer, Answered, Deed, Evidence, Grant, Keeper, Kind, Op, Promise, Row, State, Try,
};
use crate::order::{Change, Order};
use crate::places;
use crate::story::{Step, Story, Tale};

#[derive(Debug, Default)]
pub struct Verdict {
    /// Grants that were acknowledged.
    pub granted: u64,
    /// Other changes that were acknowledged.
    pub changed: u64,
    /// Acknowledged grants that are missing.
    pub granted_lost: u64,
    /// Other acknowledged changes that are missing.
    pub changed_lost: u64,
    /// Units or REQs that were granted twice.
    pub doubled: u64,
    /// Broken promises, as messages.
    pub violations: Vec<String>,
}

impl Verdict {
    pub fn add(&mut self, sale: &str, other: Verdict) {
        self.granted += other.granted;
        self.changed += other.changed;
        self.granted_lost += other.granted_lost;
        self.changed_lost += other.changed_lost;
        self.doubled += other.doubled;
        let violations = other.violations.iter().map(|what| format!("{sale}: {what}"));
        self.violations.extend(violations);
    }
}

pub fn check(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    match Story::of(evidence) {
        Ok(story) => {
            let mut asked = Asked::new();
            for op in &evidence.ops {
                asked.entry((&op.user, &op.req)).or_default().push(op);
            }
            let (story, asked, verdict) = (&story, &asked, &mut verdict);
            let (changes, seen, lost) = (Vec::new(), HashMap::new(), HashMap::new());
            Checker { evidence, story, asked, verdict, changes, seen, lost }.run();
        }
        Err(why) => {
            verdict.doubled = u64::from(why.contains("DOUBLED") || why.contains("OVERSOLD"));
            verdict.violations.push(why);
        }
    }
    verdict
}

/// Checks that an MGRAB was granted in all of its sales or in none. `all` are of one server.
pub fn check_together(all: &[Evidence]) -> Vec<String> {
    // For each order: the number of sales that it asked, and the number that granted it.
    let mut orders: HashMap<(&str, &str), (u64, u64)> = HashMap::new();
    for sale in all {
        let granted: HashSet<(&str, &str)> = sale
            .entries
            .iter()
            .filter(|entry| entry.event == "GRANT")
            .filter_map(|entry| entry.grant.as_ref())
            .map(|row| (row.user.as_str(), row.req.as_str()))
            .collect();
        for op in sale.ops.iter().filter(|op| op.deed == Deed::Mgrab) {
            let order = (op.user.as_str(), op.req.as_str());
            let (asked, got) = orders.entry(order).or_default();
            *asked += 1;
            *got += u64::from(granted.contains(&order));
        }
    }
    let torn = orders.iter().filter(|(_, (asked, got))| *got > 0 && got < asked);
    let tell = |((user, req), (asked, got)): (&(&str, &str), &(u64, u64))| {
        format!("TORN: the MGRAB {req} of {user} was granted in {got} of {asked} sales.")
    };
    torn.map(tell).collect()
}

/// The fact in the history that confirms an answer.
enum Ground<'a> {
    /// The change that the answer reports.
    Step(u64, Step<'a>),
    /// The restock with this rev.
    Restock(u64),
    /// The user joined the waiting list.
    Joined,
    /// No grant of this REQ exists.
    NoGrant,
    /// The REQ has a fence, so it can never be granted.
    Fence,
    /// Nothing in the outbox, for a refusal or the like.
    Other,
    /// The change is missing in the outbox.
    Missing,
}

/// The calls for each order, by user and REQ.
type Asked<'a> = HashMap<(&'a str, &'a str), Vec<&'a Op>>;

struct Checker<'a> {
    evidence: &'a Evidence,
    story: &'a Story<'a>,
    verdict: &'a mut Verdict,
    asked: &'a Asked<'a>,
    /// Changes whose callers are known, with the times of the calls.
    changes: Vec<Change>,
    /// For each seq, the times at which clients saw its grant, with the rev. If losses are
    /// allowed, by the primary that showed it.
    seen: HashMap<(u64, Option<u64>), Vec<Change>>,
    /// For each reign, the time of the first reply whose change was lost.
    lost: HashMap<u64, u64>,
}

impl<'a> Checker<'a> {
    fn run(mut self) {
        let evidence = self.evidence;
        for op in &evidence.ops {
            for (call, answered) in answers(op) {
                self.answer(op, call, answered);
            }
            if op.tries.last().is_none_or(|call| call.answered.is_none()) {
                self.violation(op, "never got an answer.");
            }
        }
        self.causes();
        self.alterations();
        self.seqs();
        let order = Order::of(std::mem::take(&mut self.changes));
        if let Some((first, second)) = order.turned() {
            let (first, second) = (self.entry(first.rev), self.entry(second.rev));
            self.verdict.violations.push(format!(
                "UNFAIR: the call for {first} was answered before the one for {second} was sent."
            ));
        }
        self.tails(&order);
        self.went_back();
        self.verdict.violations.extend(places::moved_back(evidence, self.story));
        if evidence.promise == Promise::Everything {
            self.refusals(&order);
        }
    }

    fn entry(&self, rev: u64) -> String {
        let entry = &self.evidence.entries[rev as usize - 1];
        format!("rev {rev} ({} {:?})", entry.event, entry.grant.as_ref().map(|row| &row.req))
    }

    fn violation(&mut self, op: &Op, what: &str) {
        let Op { thread, deed, user, req, .. } = op;
        let what = format!("{deed:?} of {user} {req} by client {thread} {what}");
        self.verdict.violations.push(what);
    }

    fn newest(&self, op: &Op) -> Option<&'a Tale<'a>> {
        self.story.newest(&op.user, &op.req)
    }

    /// Whether the sale drops old grants with their REQs.
    fn forgets(&self) -> bool {
        matches!(self.evidence.terms.kind, Kind::Rounds { .. })
    }

    /// Whether a newer primary existed when the reply came.
    fn is_stale(&self, call: &Try, answered: &Answered) -> bool {
        let next = self.evidence.reigns.get(call.reign as usize + 1);
        next.is_some_and(|next| answered.returned > next.began)
    }

    /// Finds the fact behind one answer and records it.
    fn answer(&mut self, op: &'a Op, call: &Try, answered: &Answered) {
        if let Answer::Strange(text) = &answered.answer {
            return self.violation(op, &format!("was answered {text}."));
        }
        if !is_sensible(op.deed, &answered.answer) {
            return self.violation(op, &format!("was answered {:?}.", answered.answer));
        }
        let ground = match self.ground(op, call, &answered.answer) {
            Ground::Step(_, step) if !self.is_of(call, &answered.answer, step) => Ground::Missing,
            ground => ground,
        };
        self.acknowledge(op, call, answered, &ground);
        match ground {
            Ground::Step(seq, step) => {
                self.made(op, call, answered, step);
                self.saw(seq, call, answered, step.entry.rev);
            }
            Ground::Restock(rev) if answered.kept => {
                let (invoked, reign) = (op.tries[0].invoked, reign_of(op));
                self.changes.push(Change { rev, invoked, returned: answered.returned, reign });
            }
            Ground::NoGrant => {
                if let Some(tale) = self.newest(op).filter(|_| !self.forgets()) {
                    self.saw(tale.row().seq, call, answered, 0);
                }
            }
            Ground::Fence => {
                let promised = self.evidence.promise == Promise::Everything && answered.kept;
                // An IMPORT is not stopped by a fence, other than a GRAB.
                let first = self.newest(op).map(|tale| tale.first().entry.event.as_str());
                let is_grabbed = matches!(first, Some("GRANT" | "OFFER"));
                if promised && is_grabbed && !self.forgets() {
                    self.violation(op, "was told that it is fenced off, and it was granted.");
                }
            }
            Ground::Restock(_) | Ground::Joined | Ground::Other | Ground::Missing => {}
        }
    }

    fn ground(&self, op: &Op, call: &Try, answer: &Answer) -> Ground<'a> {
        let (grant, req) = match answer {
            Answer::Replay(Grant { seq: 0, .. }) => return Ground::Fence,
            Answer::Stands(Grant { seq: 0, state: State::Cancelled, .. }) => return Ground::Fence,
            Answer::Stands(Grant { seq: 0, .. }) => return Ground::NoGrant,
            Answer::Granted { grant, .. } | Answer::Replay(grant) | Answer::Stands(grant) => {
                (grant, Some(&op.req))
            }
            Answer::Already(grant) => (grant, None),
            Answer::Waiting { ticket, .. } => {
                // The ticket must have been given out before.
                let joined = places::joined(self.evidence, self.story, op, call, *ticket);
                return joined.map_or(Ground::Missing, |_| Ground::Joined);
            }
            Answer::Restocked { applied, available } => {
                return self.restock(op, *applied, *available)
            }
            _ => return Ground::Other,
        };
        let is_its = |row: &Row| row.user == op.user && req.is_none_or(|req| row.req == *req);
        let tale = self.story.tale(grant.seq).filter(|tale| is_its(tale.row()));
        // The first step after which the grant had these values.
        let mut steps = tale.into_iter().flat_map(|tale| &tale.0);
        let step = steps.find(|Step { row, .. }| {
            (row.qty, row.state, row.deadline) == (grant.qty, grant.state, grant.deadline)
        });
        let fits = |step: &&Step<'_>| match answer {
            Answer::Granted { available, units, .. } => {
                step.row.units == *units && self.tells(step.entry.rev, *available)
            }
            _ => true,
        };
        step.filter(fits).map_or(Ground::Missing, |step| Ground::Step(grant.seq, *step))
    }

    /// Whether this can be the change in the reply: a later primary may grant lost numbers again.
    fn is_of(&self, call: &Try, answer: &Answer, step: Step<'_>) -> bool {
        let made_in = self.evidence.reign_of(step.entry.epoch);
        match answer {
            Answer::Granted { .. } => (call.since..=call.reign).contains(&made_in),
            _ => made_in <= call.reign,
        }
    }

    fn restock(&self, op: &Op, applied: i64, available: u64) -> Ground<'a> {
        let rev = self.story.restocks.get(op.req.as_str()).copied();
        let fits = |rev: &u64| {
            let moment = &self.story.moments[*rev as usize - 1];
            moment.applied == applied && self.tells(*rev, available)
        };
        rev.filter(fits).map_or(Ground::Missing, Ground::Restock)
    }

    /// Whether this many units were available after the step of this change, including its expiries
    /// and offers. All changes of a step have one T.
    fn tells(&self, rev: u64, available: u64) -> bool {
        let entries = &self.evidence.entries[rev as usize - 1..];
        let mut step = entries.iter().take_while(|entry| entry.t == entries[0].t);
        step.any(|entry| entry.stock.available == available)
    }

    /// Counts acknowledged changes, and those of them that are missing.
    fn acknowledge(&mut self, op: &Op, call: &Try, answered: &Answered, ground: &Ground<'_>) {
        if !answered.kept || matches!(ground, Ground::Other | Ground::NoGrant | Ground::Fence) {
            return;
        }
        let is_grant = matches!(answered.answer, Answer::Granted { .. } | Answer::Replay(_));
        let missing = matches!(ground, Ground::Missing);
        let verdict = &mut *self.verdict;
        let (all, lost) = match is_grant {
            true => (&mut verdict.granted, &mut verdict.granted_lost),
            false => (&mut verdict.changed, &mut verdict.changed_lost),
        };
        *all += 1;
        *lost += u64::from(missing);
        if !missing {
            return;
        }
        if self.evidence.promise == Promise::Everything {
            let now = self.newest(op).map(Tale::row);
            self.violation(op, &format!("LOST: was told {:?}, now {now:?}.", answered.answer));
        }
        let first = self.lost.entry(call.reign).or_insert(u64::MAX);
        *first = answered.returned.min(*first);
    }

    /// Records the op that made the change, if its reply shows that.
    fn made(&mut self, op: &'a Op, call: &Try, answered: &Answered, step: Step<'_>) {
        let its_own = op.deed.events().contains(&step.entry.event.as_str());
        let fresh = matches!(answered.answer, Answer::Granted { .. });
        if !its_own || !(fresh || answered.kept && !op.deed.is_grab()) {
            return;
        }
        // GRANTED means that this call made the change. Other replies may mean an earlier try. If
        // several calls ask for a change, any of them may have made it.
        let (mut invoked, mut reign) = (call.invoked, call.of_one_reign());
        if !fresh {
            let ops = self.asked_for(&op.user, &op.req);
            let makers = || ops.iter().filter(|other| may_have_made(other, step));
            invoked = makers().map(|op| op.tries[0].invoked).min().unwrap_or(op.tries[0].invoked);
            reign = reign_of(op).filter(|reign| makers().all(|op| reign_of(op) == Some(*reign)));
        }
        let (rev, returned) = (step.entry.rev, answered.returned);
        self.changes.push(Change { rev, invoked, returned, reign });
    }

    fn saw(&mut self, seq: u64, call: &Try, answered: &Answered, rev: u64) {
        if !answered.kept || self.is_stale(call, answered) {
            return;
        }
        let reign = call.of_one_reign();
        let by = match self.evidence.promise {
            Promise::Everything => None,
            Promise::AllButTheTail if reign.is_none() => return,
            Promise::AllButTheTail => reign,
        };
        let seen = Change { rev, invoked: call.invoked, returned: answered.returned, reign };
        self.seen.entry((seq, by)).or_default().push(seen);
    }

    fn asked_for(&self, user: &'a str, req: &'a str) -> &'a [&'a Op] {
        self.asked.get(&(user, req)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Checks that some client's call can have caused each change.
    fn causes(&mut self) {
        for tale in &self.story.tales {
            let ops = self.asked_for(&tale.row().user, &tale.row().req);
            for step in tale.0.iter().filter(|step| step.entry.event != "EXPIRE") {
                if !ops.iter().any(|op| may_have_made(op, *step)) {
                    let entry = self.entry(step.entry.rev);
                    let what = format!("UNASKED: nobody can have caused {entry}, of {ops:?}.");
                    self.verdict.violations.push(what);
                }
            }
        }
    }

    /// Checks that some ALTER was sent for each change of the terms.
    fn alterations(&mut self) {
        let asked: HashSet<&str> = self.evidence.ops.iter().map(|op| op.req.as_str()).collect();
        let moments = self.story.moments.iter();
        for (before, after) in moments.clone().zip(moments.skip(1)) {
            let (was, now) = (before.limits, after.limits);
            let changes = [
                (was.limit != now.limit, format!("LIMIT {}", now.limit)),
                (was.grabs != now.grabs, format!("GRABS {}", now.grabs)),
                (was.hold_ms != now.hold_ms, format!("HOLD {}", now.hold_ms)),
            ];
            for (_, set) in
                changes.iter().filter(|(is_new, set)| *is_new && !asked.contains(set.as_str()))
            {
                self.verdict.violations.push(format!("UNASKED: nobody altered it to {set}."));
            }
        }
    }

    /// Checks that a primary assigns each seq once.
    fn seqs(&mut self) {
        let mut owners: HashMap<(u64, u64), (&str, &str)> = HashMap::new();
        for op in &self.evidence.ops {
            for (call, answered) in answers(op) {
                let Answer::Granted { grant: Grant { seq, .. }, .. } = answered.answer else {
                    continue;
                };
                let Some(reign) = call.of_one_reign() else { continue };
                let order = (op.user.as_str(), op.req.as_str());
                let owner = *owners.entry((reign, seq)).or_insert(order);
                if owner != order {
                    self.verdict.doubled += 1;
                    let what = format!("DOUBLED: seq {seq} was given to {owner:?} and {order:?}.");
                    self.verdict.violations.push(what);
                }
            }
        }
    }

    /// Checks that after a lost change all later changes of that primary are lost, too.
    fn tails(&mut self, order: &Order) {
        for change in &order.by_rev {
            let first = change.reign.and_then(|reign| self.lost.get(&reign));
            if first.is_some_and(|first| change.invoked > *first) {
                let entry = self.entry(change.rev);
                self.verdict.violations.push(format!(
                    "LOST FROM THE MIDDLE: {entry} is there, and what was answered before is not."
                ));
            }
        }
    }

    /// Checks that no answer shows an older state of a grant than an earlier answer.
    fn went_back(&mut self) {
        for ((seq, _), seen) in std::mem::take(&mut self.seen) {
            if let Some((first, second)) = Order::of(seen).turned() {
                self.verdict.violations.push(format!(
                    "WENT BACK: grant {seq} was seen as of rev {} and later as of rev {}.",
                    first.rev, second.rev
                ));
            }
        }
    }

    /// Checks that each refusal was right at some time between call and reply.
    fn refusals(&mut self, order: &Order) {
        for op in &self.evidence.ops {
            for (call, answered) in answers(op) {
                if !answered.kept || self.is_stale(call, answered) {
                    continue;
                }
                let between = order.between(call.invoked, answered.returned);
                let last = self.story.moments.len() as u64;
                let kind = &self.evidence.terms.kind;
                let is_numbered = matches!(kind, Kind::Numbered);
                let mut moments = (between.0.max(1)..=between.1.min(last))
                    .map(|rev| &self.story.moments[rev as usize - 1]);
                let was_so = moments.any(|moment| {
                    let stock = moment.stock;
                    match (op.deed, &answered.answer) {
                        (_, Answer::SoldOut { held }) if moment.waiting > 0 => {
                            stock.held.max(1) == *held
                        }
                        (_, Answer::SoldOut { held }) => {
                            (stock.available, stock.held) == (0, *held)
                        }
                        (_, Answer::Busy) => {
                            matches!(kind, Kind::Listed(list) if moment.waiting >= list.max)
                        }
                        // The longest run, if units have numbers.
                        (_, Answer::Short { available }) if is_numbered => {
                            stock.available >= *available
                        }
                        (_, Answer::Short { available }) => stock.available == *available,
                        (_, Answer::Paused) | (Deed::Pause, _) => moment.paused,
                        (Deed::Resume, _) => !moment.paused,
                        (Deed::Alter, _) => moment.limits.are(&op.req),
                        (_, Answer::NotOpen) => matches!(
                            kind, Kind::Rounds { every_ms, lasts_ms } if lasts_ms < every_ms
                        ),
                        _ => true,
                    }
                });
                if !was_so {
                    let (answer, (from, to)) = (&answered.answer, between);
                    let what = format!("was told {answer:?}, never so from rev {from} to {to}.");
                    self.violation(op, &what);
                }
            }
        }
    }
}

/// The reign of all tries, if they have one.
fn reign_of(op: &Op) -> Option<u64> {
    let first = op.tries.first().and_then(Try::of_one_reign);
    first.filter(|first| op.tries.iter().all(|call| call.of_one_reign() == Some(*first)))
}

/// Whether this reply is possible for the deed: CONFIRM can't leave a grant HELD.
fn is_sensible(deed: Deed, answer: &Answer) -> bool {
    match (deed, answer) {
        (Deed::Grab | Deed::Mgrab, Answer::Already(grant)) => grant.state.is_live(),
        (Deed::Grab | Deed::Mgrab, Answer::Granted { .. } | Answer::Replay(_)) => true,
        (Deed::Grab | Deed::Mgrab, Answer::SoldOut { .. } | Answer::Short { .. }) => true,
        (Deed::Grab | Deed::Mgrab, Answer::OverLimit | Answer::Waiting { .. }) => true,
        (Deed::Grab | Deed::Mgrab, Answer::Paused | Answer::NotOpen) => true,
        (Deed::Mgrab, Answer::Elsewhere) => true,
        (Deed::Grab, Answer::Busy | Answer::Taken { .. }) => true,
        (Deed::Import, Answer::Granted { grant, .. }) => grant.state == State::Sold,
        (Deed::Import, Answer::Replay(grant)) => {
            matches!(grant.state, State::Sold | State::Refunded)
        }
        (Deed::Import, Answer::Short { .. } | Answer::Taken { .. }) => true,
        (Deed::Confirm | Deed::Cancel, Answer::Stands(grant)) => grant.state != State::Held,
        (Deed::Refund, Answer::Stands(grant)) => grant.state != State::Sold,
        (Deed::Keep(by, units), Answer::Stands(grant)) => match (by, grant.state) {
            // An order that may have been granted gets no fence.
            (_, State::Cancelled) => grant.seq > 0,
            (Keeper::Confirm, state) => state != State::Held,
            (Keeper::Cancel, State::Held) | (Keeper::Refund, State::Sold) => grant.qty <= units,
            _ => true,
        },
        (Deed::Extend, Answer::Stands(_)) => true,
        (Deed::Place, Answer::Waiting { .. } | Answer::Nowhere) => true,
        (Deed::Restock, Answer::Restocked { .. }) => true,
        (Deed::Alter | Deed::Pause | Deed::Resume, Answer::Done) => true,
        _ => false,
    }
}

/// Whether a try of this op can have made the change: it says so, has no reply, or may be lost.
fn may_have_made(op: &Op, Step { entry, row }: Step<'_>) -> bool {
    let leaves = match op.deed {
        Deed::Keep(by, units) => {
            let state = if by == Keeper::Cancel { State::Held } else { State::Sold };
            let is_left = if entry.returned > 0 { row.qty == units } else { row.qty <= units };
            row.state == state && is_left
        }
        _ => entry.returned == 0,
    };
    leaves
        && op.deed.events().contains(&entry.event.as_str())
        && op.tries.iter().any(|call| match &call.answered {
            Some(Answered { answer: Answer::Granted { .. }, .. }) => true,
            // A waiter gets an offer later, after any other replies.
            Some(_) if entry.event == "OFFER" => true,
            // A library retries before it answers, and reports its own grant.
            Some(Answered { answer: Answer::Replay(_), .. }) if call.by_library => true,
            // A library with another outcome has no grant from an attempt that it did not report.
            Some(answered) => !op.deed.is_grab() || !(answered.kept || call.by_library),
            None => true,
        })
}
