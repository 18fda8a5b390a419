//! A sale as the specification tells it, as plainly as it can be written: every number is counted
//! anew from the list of grants whenever it is asked for. Slow, and meant to be.
//!
//! Replies are the words and numbers of the specification's tables, joined by spaces. Nothing of
//! `seckill::sale` is used here, so that a mistake there can't be repeated by using it.

use std::collections::BTreeMap;

/// Bytes that users choose.
pub type Bytes = Vec<u8>;

/// Largest integer of the contract.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// Restock ids that are known.
const RESTOCKS_KNOWN: usize = 1024;

/// The terms of a sale; 0 means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub limit: u64,
    pub grabs: u64,
    pub hold_ms: u64,
    pub open_at: u64,
    pub close_at: u64,
}

impl Rules {
    /// Whether INIT and ALTER take these terms.
    fn are_possible(&self) -> bool {
        (self.close_at == 0 || self.close_at > self.open_at) && self.hold_ms == 0
    }
}

/// What an ALTER names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub limit: Option<u64>,
    pub grabs: Option<u64>,
    pub hold_ms: Option<u64>,
    pub open_at: Option<u64>,
    pub close_at: Option<u64>,
}

/// What a GRAB asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Qty(u64),
    UpTo(u64),
}

/// One thing that happens to a sale, or around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// INIT on the key that holds the sale.
    Init {
        supply: u64,
        rules: Rules,
    },
    Grab {
        user: Bytes,
        ask: Ask,
        req: Option<Bytes>,
    },
    Restock {
        delta: i64,
        req: Bytes,
    },
    Pause,
    Resume,
    Alter(Patch),
    /// The server's clock is set, forwards or back.
    Clock(u64),
    /// The replica takes over in a new run, with a new replica behind it.
    Promote,
    /// The primary restarts from its rewritten log: a new run.
    Rewrite,
    /// The key is dumped and restored on the same server.
    Restore,
}

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub seq: u64,
    pub user: Bytes,
    pub qty: u64,
    pub state: &'static str,
    pub at: u64,
    pub deadline: u64,
    pub req: Option<Bytes>,
    pub upto: bool,
    pub epoch: u64,
}

impl Row {
    pub fn is_live(&self) -> bool {
        matches!(self.state, "HELD" | "SOLD")
    }

    fn shown(&self, outcome: &str) -> String {
        format!("{outcome} {} {} {} {}", self.seq, self.qty, self.state, self.deadline)
    }
}

#[derive(Clone, Debug)]
struct Restocked {
    req: Bytes,
    delta: i64,
    reply: String,
}

/// What a command must answer, and whether it must have changed the sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub reply: String,
    pub changed: bool,
}

fn no_change(reply: impl Into<String>) -> Answer {
    Answer { reply: reply.into(), changed: false }
}

/// The sale.
#[derive(Clone, Debug)]
pub struct Oracle {
    told: (u64, Rules),
    rules: Rules,
    paused: bool,
    supply: u64,
    deficit: u64,
    t: u64,
    created_at: u64,
    version: u64,
    epoch: u64,
    /// The run that has written its epoch into the sale.
    run: Option<u64>,
    /// When a restore brought the sale here, 0 when none did.
    arrived_at: u64,
    /// When one brought it to the replica.
    arrived_at_of_replica: u64,
    rows: Vec<Row>,
    restocks: Vec<Restocked>,
    /// Refusals by the first word of their reply.
    refusals: BTreeMap<String, u64>,
    /// Those that the replica knows: what a full resync told it.
    refusals_of_replica: BTreeMap<String, u64>,
}

impl Oracle {
    /// INIT on a key that does not exist; what it answers when it is refused.
    pub fn init(supply: u64, rules: Rules, clock: u64, run: u64) -> Result<Oracle, String> {
        if !rules.are_possible() {
            return Err("ERR terms".into());
        }
        let mut oracle = Oracle {
            told: (supply, rules),
            rules,
            paused: false,
            supply,
            deficit: 0,
            t: 0,
            created_at: clock,
            version: 0,
            epoch: 0,
            run: None,
            arrived_at: 0,
            arrived_at_of_replica: 0,
            rows: Vec::new(),
            restocks: Vec::new(),
            refusals: BTreeMap::new(),
            refusals_of_replica: BTreeMap::new(),
        };
        oracle.change(clock, run);
        Ok(oracle)
    }

    /// Judges a command at `clock` in the run `run`, and does what it asks for.
    pub fn ask(&mut self, op: &Op, clock: u64, run: u64) -> Answer {
        let answer = match op {
            Op::Init { supply, rules } => self.init_again(*supply, *rules),
            Op::Grab { user, ask, req } => self.grab(user, *ask, req.as_ref(), clock, run),
            Op::Restock { delta, req } => self.restock(*delta, req, clock, run),
            Op::Pause => self.pause(true, clock, run),
            Op::Resume => self.pause(false, clock, run),
            Op::Alter(patch) => self.alter(patch, clock, run),
            Op::Clock(_) | Op::Promote | Op::Rewrite | Op::Restore => no_change("OK"),
        };
        let is_refusal = matches!(op, Op::Grab { .. }) && !answer.changed;
        if is_refusal && !answer.reply.starts_with("REQMISMATCH") {
            let word = answer.reply.split(' ').next().unwrap_or_default();
            *self.refusals.entry(word.into()).or_default() += 1;
        }
        answer
    }

    /// The replica takes over, and a new one follows it.
    pub fn promoted(&mut self) {
        self.run = None;
        self.arrived_at = self.arrived_at_of_replica;
        self.arrived_at_of_replica = 0;
        self.refusals = self.refusals_of_replica.clone();
    }

    /// The primary restarted from a log, which has no refusals.
    pub fn restarted(&mut self) {
        self.run = None;
        self.arrived_at = 0;
        self.refusals.clear();
    }

    /// The sale was restored from a dump at `clock`, here and on the replica.
    pub fn restored(&mut self, clock: u64) {
        self.run = None;
        self.arrived_at = clock;
        self.arrived_at_of_replica = clock;
        self.refusals_of_replica = self.refusals.clone();
    }

    fn change(&mut self, clock: u64, run: u64) {
        self.t = self.t.max(clock);
        self.version += 1;
        if self.run != Some(run) {
            self.epoch = (self.epoch + 1).max(run).max(self.arrived_at);
            self.run = Some(run);
        }
    }

    fn init_again(&self, supply: u64, rules: Rules) -> Answer {
        match (supply, rules) {
            _ if !rules.are_possible() => no_change("ERR terms"),
            same if same == self.told => no_change("OK"),
            _ => no_change("SALEEXISTS"),
        }
    }

    fn grab(&mut self, user: &[u8], ask: Ask, req: Option<&Bytes>, clock: u64, run: u64) -> Answer {
        if let Some(row) = req.and_then(|req| self.by_req(user, req)) {
            return match ask {
                Ask::Qty(qty) if !row.upto && qty == row.qty => no_change(row.shown("REPLAY")),
                Ask::UpTo(_) if row.upto => no_change(row.shown("REPLAY")),
                _ => no_change("REQMISMATCH"),
            };
        }
        let allowance = self.allowance(user);
        let newest_live = self.rows_of(user).find(|row| row.is_live());
        if let (Some(0), Some(row)) = (allowance, newest_live) {
            return no_change(row.shown("ALREADY"));
        }
        let t = self.t.max(clock);
        if t < self.rules.open_at {
            return no_change(format!("NOTOPEN {}", self.rules.open_at - t));
        }
        if self.rules.close_at != 0 && t >= self.rules.close_at {
            return no_change("CLOSED");
        }
        if self.paused {
            return no_change("PAUSED");
        }
        let qty = match self.amount(ask, allowance) {
            Ok(qty) => qty,
            Err(refusal) => return no_change(refusal),
        };
        self.change(clock, run);
        let row = Row {
            seq: self.rows.len() as u64 + 1,
            user: user.to_vec(),
            qty,
            state: "SOLD",
            at: self.t,
            deadline: 0,
            req: req.cloned(),
            upto: req.is_some() && matches!(ask, Ask::UpTo(_)),
            epoch: self.epoch,
        };
        let shown = row.shown("GRANTED");
        self.rows.push(row);
        Answer { reply: format!("{shown} {}", self.available()), changed: true }
    }

    /// How many units `ask` gets, or the refusal.
    fn amount(&self, ask: Ask, allowance: Option<u64>) -> Result<u64, String> {
        let (available, allowance_or_all) = (self.available(), allowance.unwrap_or(INTEGER_MAX));
        match ask {
            Ask::Qty(qty) if allowance.is_some_and(|allowance| qty > allowance) => {
                Err(format!("OVERLIMIT {allowance_or_all}"))
            }
            _ if available == 0 => Err(format!("SOLDOUT {}", self.units("HELD"))),
            Ask::Qty(qty) if qty > available => Err(format!("SHORT {available}")),
            Ask::Qty(qty) => Ok(qty),
            Ask::UpTo(most) => Ok(most.min(allowance_or_all).min(available)),
        }
    }

    fn restock(&mut self, delta: i64, req: &[u8], clock: u64, run: u64) -> Answer {
        let known = self.restocks.iter().rev().take(RESTOCKS_KNOWN);
        if let Some(restock) = known.clone().find(|restock| restock.req == req) {
            return match restock.delta == delta {
                true => no_change(restock.reply.clone()),
                false => no_change("REQMISMATCH"),
            };
        }
        let size = delta.unsigned_abs();
        let applied = if delta > 0 {
            let paid = size.min(self.deficit);
            if self.supply + (size - paid) > INTEGER_MAX {
                return no_change("ERR supply");
            }
            self.deficit -= paid;
            self.supply += size - paid;
            delta
        } else {
            let withdrawn = size.min(self.available());
            self.supply -= withdrawn;
            -(withdrawn as i64)
        };
        self.change(clock, run);
        let reply = format!("{applied} {}", self.available());
        self.restocks.push(Restocked { req: req.to_vec(), delta, reply: reply.clone() });
        Answer { reply, changed: true }
    }

    fn pause(&mut self, paused: bool, clock: u64, run: u64) -> Answer {
        let changed = self.paused != paused;
        if changed {
            self.paused = paused;
            self.change(clock, run);
        }
        Answer { reply: "OK".into(), changed }
    }

    fn alter(&mut self, patch: &Patch, clock: u64, run: u64) -> Answer {
        let old = self.rules;
        let new = Rules {
            limit: patch.limit.unwrap_or(old.limit),
            grabs: patch.grabs.unwrap_or(old.grabs),
            hold_ms: patch.hold_ms.unwrap_or(old.hold_ms),
            open_at: patch.open_at.unwrap_or(old.open_at),
            close_at: patch.close_at.unwrap_or(old.close_at),
        };
        if !new.are_possible() {
            return no_change("ERR terms");
        }
        if new != old {
            self.rules = new;
            self.change(clock, run);
        }
        Answer { reply: "OK".into(), changed: new != old }
    }

    /// All grants, in seq order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The grants of a user, newest first.
    pub fn rows_of<'a>(&'a self, user: &'a [u8]) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().rev().filter(move |row| row.user == user)
    }

    /// The grant that a user got with a request id.
    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<&Row> {
        let is_it = |row: &&Row| row.user == user && row.req.as_deref() == Some(req);
        self.rows.iter().find(is_it)
    }

    /// Every user who ever got a grant, once.
    pub fn users(&self) -> Vec<&Bytes> {
        let mut users: Vec<&Bytes> = self.rows.iter().map(|row| &row.user).collect();
        users.sort();
        users.dedup();
        users
    }

    /// What LIMIT and GRABS leave a user; `None` when neither limits him.
    pub fn allowance(&self, user: &[u8]) -> Option<u64> {
        let live: Vec<&Row> = self.rows_of(user).filter(|row| row.is_live()).collect();
        let units: u64 = live.iter().map(|row| row.qty).sum();
        if self.rules.grabs != 0 && live.len() as u64 >= self.rules.grabs {
            return Some(0);
        }
        (self.rules.limit != 0).then(|| self.rules.limit.saturating_sub(units))
    }

    /// Units of the grants in `state`.
    fn units(&self, state: &str) -> u64 {
        self.rows.iter().filter(|row| row.state == state).map(|row| row.qty).sum()
    }

    /// What is left. Panics when more is granted than there is: the law is broken.
    pub fn available(&self) -> u64 {
        self.supply - self.units("HELD") - self.units("SOLD")
    }

    /// Units of the sale.
    pub fn supply(&self) -> u64 {
        self.supply
    }

    /// The terms in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What STATUS says first.
    pub fn state(&self, clock: u64) -> &'static str {
        let t = self.t.max(clock);
        if self.rules.close_at != 0 && t >= self.rules.close_at {
            "closed"
        } else if self.paused {
            "paused"
        } else if t < self.rules.open_at {
            "pending"
        } else if self.available() > 0 {
            "open"
        } else if self.units("HELD") > 0 {
            "allheld"
        } else {
            "soldout"
        }
    }

    /// The numbers of STATUS.
    pub fn numbers(&self, clock: u64) -> Vec<(&'static str, u64)> {
        let winners = self.users().into_iter().filter(|user| self.has_live(user)).count();
        vec![
            ("supply", self.supply),
            ("available", self.available()),
            ("held", self.units("HELD")),
            ("sold", self.units("SOLD")),
            ("deficit", self.deficit),
            ("winners", winners as u64),
            ("grants", self.rows.len() as u64),
            ("limit", self.rules.limit),
            ("grabs", self.rules.grabs),
            ("hold_ms", self.rules.hold_ms),
            ("open_at", self.rules.open_at),
            ("close_at", self.rules.close_at),
            ("now", self.t.max(clock)),
            ("next_deadline", 0),
            ("created_at", self.created_at),
            ("last_grant_at", self.rows.last().map_or(0, |row| row.at)),
            ("epoch", self.epoch),
            ("version", self.version),
            ("rev", 0),
            ("outbox_error", 0),
            ("fences_dropped", 0),
        ]
    }

    fn has_live(&self, user: &[u8]) -> bool {
        self.rows_of(user).any(Row::is_live)
    }

    /// The counters of STATUS.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let refused = |word: &str| self.refusals.get(word).copied().unwrap_or(0);
        let granted = self.rows.len() as u64;
        vec![
            ("attempts", granted + self.refusals.values().sum::<u64>()),
            ("granted", granted),
            ("already", refused("ALREADY")),
            ("replayed", refused("REPLAY")),
            ("overlimit", refused("OVERLIMIT")),
            ("soldout", refused("SOLDOUT")),
            ("short", refused("SHORT")),
            ("notopen", refused("NOTOPEN")),
            ("closed", refused("CLOSED")),
            ("paused", refused("PAUSED")),
            ("denied", refused("DENIED")),
            ("busy", refused("BUSY")),
        ]
    }
}
