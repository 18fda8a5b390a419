//! A sale as the specification describes it, in the simplest code: every number is counted again
//! from the list of grants. This is slow on purpose.
//!
//! Replies are the words and numbers of the specification's tables, joined by spaces. No code of
//! `seckill_domain` is used, so that the oracle can't repeat its mistakes: only four types of what
//! callers say.
//!
//! * `buyer` decides GRAB, CONFIRM, CANCEL, EXTEND and REFUND, and expires holds.
//! * `operator` decides the operator's commands.
//! * `draws` has drawn amounts, `rounds` repeating sales, and `gates` admission.
//! * `parts` has parts of a split, `units` numbered units.
//! * `rules` has the terms, the terms after an ALTER, and their form in entries.
//! * `entries` has the events and their outbox entries.

mod buyer;
mod draws;
mod entries;
mod gates;
mod operator;
mod parts;
mod rounds;
mod rules;
mod units;
mod waitlist;

use std::collections::{BTreeMap, BTreeSet};

use buyer::Grab;
use parts::Moves;

pub use draws::Drawing;
pub use entries::KEY;
pub use gates::{GatePatch, Gates, SECRET};
pub use parts::Part;
pub use rounds::Every;
pub use rules::{Patch, Rules};
pub use seckill_domain::admission::List;
pub use seckill_domain::request::Keeper;
pub use seckill_domain::waitlist::{WaitTerms as ListRules, WaitTermsChange as ListPatch};
pub use units::Wish;

/// Bytes that users choose.
pub type Bytes = Vec<u8>;

/// Largest integer of the contract.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

pub const HOLD_MAX: u64 = 30 * 24 * 3600 * 1000;

/// Milliseconds that a fence is kept.
pub const FENCE_MS: u64 = 10 * 60 * 1000;

const RESTOCKS_KNOWN: usize = 1024;

const FENCES_KEPT: usize = 65_536;

/// Most fences that one command removes.
const FENCES_FORGOTTEN: usize = 64;

/// Most holds of other users that one command expires, for its caller and for waiters.
const LAPSES_MAX: usize = 1000;

/// Name of the counter of CONFIRMs with KEEP.
const CONFIRMED_A_PART: &str = "CONFIRM KEEP";

/// Placeholder in a reply for the available units after the command.
const LEFT: &str = "{left}";

/// Most holds that expire in one change.
const EXPIRIES_PER_CHANGE: u64 = 1000;

/// The amount that a GRAB asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Qty(u64),
    UpTo(u64),
    /// Neither QTY nor UPTO: one unit, or the drawn amount.
    Unsaid,
}

/// Selects one of a user's grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Only,
    Seq(u64),
    Req(Bytes),
}

/// CONFIRM, CONFIRM RECLAIM, CANCEL, EXTEND or REFUND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Confirm,
    Reclaim,
    Cancel,
    Extend(u64),
    Refund,
    /// CONFIRM, CANCEL or REFUND with KEEP.
    Keep(Keeper, u64),
}

/// One command to a sale, or an event around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// INIT on the key that holds the sale.
    Init { supply: u64, rules: Rules },
    /// GRAB of any units.
    Grab { user: Bytes, ask: Ask, req: Option<Bytes> },
    /// GRAB with WAIT.
    Join { user: Bytes, ask: Ask, req: Bytes, until: u64 },
    /// GRAB with ADJACENT or UNITS.
    Choose { user: Bytes, qty: u64, wish: Wish, req: Option<Bytes> },
    /// CONFIRM, CANCEL, EXTEND or REFUND.
    Settle { user: Bytes, pick: Pick, deed: Deed },
    /// CONFIRM, CANCEL or REFUND with KEEP UNITS.
    KeepUnits { user: Bytes, pick: Pick, by: Keeper, units: Vec<u32> },
    /// IMPORT with UNITS.
    ImportUnits { user: Bytes, units: Vec<u32>, req: Bytes },
    /// IMPORT of a quantity.
    Import { user: Bytes, qty: u64, req: Bytes, at: Option<u64>, no_deficit: bool },
    /// RESTOCK; a negative delta withdraws units.
    Restock { delta: i64, req: Bytes },
    /// PAUSE.
    Pause,
    /// RESUME.
    Resume,
    /// ALTER.
    Alter(Patch),
    /// ALLOW or DENY.
    Enlist { list: List, add: bool, users: &'static [&'static [u8]] },
    /// SEND to another part.
    Send { split: &'static str, to: u64, total: u64, owed: bool },
    /// RECEIVE from another part.
    Receive { split: &'static str, from: u64, total: u64 },
    /// ELSEWHERE.
    Elsewhere { split: &'static str, units: u64, pass: u64 },
    /// Background expiry, of at most this many grants and waiters.
    Sweep(usize),
    /// The server's clock is set, forward or back.
    Clock(u64),
    /// The clock moves by this many milliseconds.
    Wait(i64),
    /// Sets the clock to the next deadline, or some ms beside it; does nothing without a deadline.
    ToDeadline(i64),
    /// Sets the clock to the beginning of the round after this many others, or some ms beside it.
    ToRound(u64, i64),
    /// Sets the clock to the end of the current round's window, or some ms beside it.
    ToClose(i64),
    /// The replica becomes the primary in a new epoch and gets a new replica.
    Promote,
    /// The primary restarts from its rewritten AOF in a new epoch.
    Rewrite,
    /// The sale is dumped and restored on one server.
    Restore,
}

impl Op {
    /// The user of a command of or for one user.
    pub fn user(&self) -> Option<&Bytes> {
        match self {
            Op::Grab { user, .. } | Op::Join { user, .. } | Op::Choose { user, .. } => Some(user),
            Op::Settle { user, .. } | Op::KeepUnits { user, .. } => Some(user),
            Op::Import { user, .. } | Op::ImportUnits { user, .. } => Some(user),
            _ => None,
        }
    }

    /// The amount that a GRAB asks for.
    pub fn ask(&self) -> Option<Ask> {
        match self {
            Op::Grab { ask, .. } | Op::Join { ask, .. } => Some(*ask),
            Op::Choose { qty, .. } => Some(Ask::Qty(*qty)),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub seq: u64,
    pub user: Bytes,
    /// The current units, or the last ones.
    pub qty: u64,
    /// The units at the time of the grant, before KEEP; without a request id the current ones.
    pub first: u64,
    pub state: &'static str,
    pub at: u64,
    pub deadline: u64,
    pub req: Option<Bytes>,
    /// The amount options that a repeated request must have: QTY, UPTO, or ANY after an IMPORT.
    /// OFFER is QTY of a former waiter.
    pub asked: &'static str,
    pub epoch: u64,
    /// The round of the grant; 0 in a sale without rounds.
    pub round: u64,
    /// A late payment was refused: every later RECLAIM replies EXPIRED.
    pub refused: bool,
    /// The numbers of the units, ascending, in a sale with numbered units.
    pub units: Vec<u64>,
    /// The numbers of the units at the time of the grant.
    pub first_units: Vec<u64>,
}

impl Row {
    pub fn is_live(&self) -> bool {
        matches!(self.state, "HELD" | "SOLD")
    }

    /// Whether the grant is a hold that is due at `t`.
    pub fn is_due(&self, t: u64) -> bool {
        self.state == "HELD" && self.deadline <= t
    }

    fn shown(&self, outcome: &str) -> String {
        format!("{outcome} {} {} {} {}", self.seq, self.qty, self.state, self.deadline)
    }

    /// The grant in replies of CONFIRM, CANCEL, EXTEND and REFUND.
    fn stands(&self) -> String {
        format!("{} {} {} {}", self.state, self.seq, self.qty, self.deadline)
    }
}

#[derive(Clone, Debug)]
struct Restocked {
    req: Bytes,
    delta: i64,
    reply: String,
}

/// A request id that was cancelled before it was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    pub user: Bytes,
    pub req: Bytes,
    pub at: u64,
}

/// The expected reply of a command, and whether it changes the sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub reply: String,
    pub changed: bool,
}

/// The reply of a command; `Err` is a refusal.
type Reply = Result<String, String>;

/// The epochs of a primary and of its sale.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epochs {
    /// The epoch of the node, Unix ms.
    pub node: u64,
    /// The epoch that the sale says it began in this command; it may choose a part of it.
    pub sale: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Oracle {
    told: (u64, Rules),
    pub rules: Rules,
    paused: bool,
    pub supply: u64,
    deficit: u64,
    t: u64,
    created_at: u64,
    last_grant_at: u64,
    version: u64,
    rev: u64,
    epoch: u64,
    /// Epoch of the node that last changed the sale.
    node_epoch: Option<u64>,
    /// Whether a RESTORE or an AOF created the sale here.
    arrived: bool,
    /// Whether a RESTORE created the sale on the replica.
    replica_arrived: bool,
    round: u64,
    /// Units at the beginning of a round, without carried units.
    base: u64,
    /// Rounds that have ended, the oldest first, each with its supply.
    older: Vec<(u64, u64)>,
    /// The remaining amounts of DRAW LIST.
    amounts: Vec<u64>,
    /// Time and epochs of the current command.
    clock: u64,
    epochs: Epochs,
    /// The numbers that the current command asks for.
    wish: Option<Wish>,
    /// The amount that the sale reports to have drawn in the current command.
    drawn: Option<u64>,
    allowed: BTreeSet<Bytes>,
    denied: BTreeSet<Bytes>,
    pub admitted: BTreeSet<Bytes>,
    /// All grants, in seq order.
    pub rows: Vec<Row>,
    restocks: Vec<Restocked>,
    moves: Moves,
    /// Fences that still exist, the oldest first.
    pub fences: Vec<Fence>,
    fences_dropped: u64,
    /// Refusals by the first word of their reply.
    refusals: BTreeMap<String, u64>,
    /// The refusals that the replica got with a full resync.
    refusals_of_replica: BTreeMap<String, u64>,
    /// Number of each event.
    tallies: BTreeMap<&'static str, u64>,
    list: waitlist::List,
    /// Holds that the current command has expired and not yet counted as changes.
    expired: u64,
    /// Holds of others that the current command has expired.
    lapsed: usize,
    /// The stock transition of the last entry.
    stock: &'static str,
    /// Events of the last command.
    events: Vec<&'static str>,
    /// The entries that the last command wrote: names and values, bytes escaped.
    pub entries: Vec<String>,
}

impl Oracle {
    /// INIT on a missing key, or its error reply.
    pub fn init(supply: u64, rules: Rules, clock: u64, node_epoch: u64) -> Result<Oracle, String> {
        rules.check_init(supply)?;
        let mut oracle = Oracle {
            told: (supply, rules),
            rules,
            supply,
            created_at: clock,
            round: rules.every.map_or(0, |every| every.round_at(clock)),
            base: supply,
            amounts: rules.drawing.list(),
            moves: Moves::new(rules.part, supply),
            clock,
            epochs: Epochs { node: node_epoch, sale: None },
            ..Oracle::default()
        };
        oracle.stock = oracle.stock_now();
        oracle.change();
        // A list of amounts is a change of its own.
        oracle.version += u64::from(matches!(rules.drawing, Drawing::List(_)));
        let (data, raw) = rules.text();
        oracle.emit_with("INIT", data, raw);
        Ok(oracle)
    }

    /// Executes a command at `clock` in these epochs. `drawn` is the amount that the sale drew; any
    /// amount within the rules is right.
    pub fn ask(&mut self, op: &Op, clock: u64, epochs: Epochs, drawn: Option<u64>) -> Answer {
        let before = self.version;
        self.events.clear();
        self.entries.clear();
        (self.clock, self.epochs, self.drawn) = (clock, epochs, drawn);
        self.lapsed = 0;
        self.wish = match op {
            Op::Choose { wish, .. } => Some(wish.clone()),
            Op::ImportUnits { units, .. } | Op::KeepUnits { units, .. } => {
                Some(Wish::These(units.iter().map(|unit| u64::from(*unit)).collect()))
            }
            _ => None,
        };
        if self.is_elsewhere(op) {
            return Answer { reply: "WRONGPART".into(), changed: false };
        }
        self.turn();
        let grab = Grab::of(op);
        let reply = match grab {
            Some(grab) => self.grab(grab),
            None => self.command(op),
        };
        let reply = reply.unwrap_or_else(|refusal| refusal);
        if std::mem::take(&mut self.list.freed) && self.somebody_waits() {
            self.serve(true);
        }
        let reply = self.told_at_the_end(reply);
        (self.list.joined, self.list.freed) = (None, false);
        self.flush_lapses();
        self.notice_stock();
        let word = reply.split(' ').next().unwrap_or_default();
        // The counters of STATUS count GRAB only. Errors are not counted.
        let counts =
            !matches!(word, "GRANTED" | "REQMISMATCH" | "TRYAGAIN" | "ERR" | "NOTNUMBERED");
        if let Some(grab) = grab.filter(|_| counts) {
            *self.refusals.entry(word.into()).or_default() += 1;
            self.count_unmet(grab, word);
        }
        let reply = self.masked(op, reply);
        Answer { reply: self.with_numbers(reply), changed: self.version != before }
    }

    /// Executes a command that is no GRAB.
    fn command(&mut self, op: &Op) -> Reply {
        match op {
            Op::Init { supply, rules } => self.init_again(*supply, *rules),
            Op::Settle { user, pick, deed } => self.settle(user, pick, *deed),
            Op::KeepUnits { user, pick, by, .. } => self.settle(user, pick, Deed::Keep(*by, 0)),
            Op::Import { user, qty, req, at, no_deficit } => {
                self.import(user, *qty, req, *at, *no_deficit)
            }
            Op::ImportUnits { user, units, req } => {
                self.import(user, units.len() as u64, req, None, false)
            }
            Op::Restock { delta, req } => self.restock(*delta, req),
            Op::Pause => self.pause(true),
            Op::Resume => self.pause(false),
            Op::Alter(patch) => self.alter(patch),
            Op::Enlist { list, add, users } => self.enlist(*list, *add, users),
            Op::Send { split, to, total, owed } => self.send(split, *to, *total, *owed),
            Op::Receive { split, from, total } => self.receive(split, *from, *total),
            Op::Elsewhere { split, units, pass } => self.elsewhere(split, *units, *pass),
            Op::Sweep(most) => self.sweep(*most),
            _ => Ok("OK".into()),
        }
    }

    /// Fills the available units in, which a reply gives after all effects of the command.
    fn told_at_the_end(&mut self, reply: String) -> String {
        let available = self.available().to_string();
        if let Some(restock) = self.restocks.last_mut() {
            restock.reply = restock.reply.replace(LEFT, &available);
        }
        reply.replace(LEFT, &available)
    }

    /// Counts changes by expiry: each expiry has an entry, but one change has many.
    fn flush_lapses(&mut self) {
        self.version += std::mem::take(&mut self.expired).div_ceil(EXPIRIES_PER_CHANGE);
    }

    /// The replica becomes the primary and gets a new replica.
    pub fn promoted(&mut self) {
        self.node_epoch = None;
        self.arrived = std::mem::take(&mut self.replica_arrived);
        self.refusals = self.refusals_of_replica.clone();
    }

    /// The primary restarted from an AOF, which has no refusal counters.
    pub fn restarted(&mut self) {
        self.node_epoch = None;
        self.arrived = true;
        self.refusals.clear();
    }

    /// The primary restarted from an RDB file.
    pub fn reloaded(&mut self) {
        self.node_epoch = None;
        self.arrived = false;
    }

    /// The sale was restored from a dump on all nodes.
    pub fn restored(&mut self) {
        self.node_epoch = None;
        self.arrived = true;
        self.replica_arrived = true;
        self.refusals_of_replica = self.refusals.clone();
    }

    /// Sets time and epoch of a change; a second call does nothing.
    fn begin(&mut self) {
        self.t = self.time();
        let Epochs { node, sale } = self.epochs;
        if self.node_epoch.replace(node) != Some(node) {
            let drawn = self.epoch + 1..=self.epoch + (1 << 32);
            self.epoch = match !self.arrived && node > self.epoch {
                true => node,
                false => sale.filter(|epoch| drawn.contains(epoch)).unwrap_or_default(),
            };
        }
    }

    fn change(&mut self) {
        self.begin();
        self.version += 1;
    }

    /// The sale's time in the current command.
    fn time(&self) -> u64 {
        self.t.max(self.clock)
    }

    /// Units come back: they first reduce the deficit.
    fn pay_off(&mut self, units: u64) {
        let paid = units.min(self.deficit);
        self.deficit -= paid;
        self.supply -= paid;
    }

    fn row(&self, seq: u64) -> &Row {
        &self.rows[seq as usize - 1]
    }

    /// The kept grants of a user, newest first.
    pub fn rows_of<'a>(&'a self, user: &'a [u8]) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().rev().filter(move |row| row.user == user && self.is_kept(row))
    }

    /// The user's rows of the current round.
    pub fn rows_now<'a>(&'a self, user: &'a [u8]) -> impl Iterator<Item = &'a Row> {
        self.rows_of(user).filter(|row| row.round == self.round)
    }

    pub fn by_req(&self, user: &[u8], req: &[u8]) -> Option<&Row> {
        let is_it = |row: &&Row| row.user == user && row.req.as_deref() == Some(req);
        self.rows.iter().filter(|row| self.is_kept(row)).find(is_it)
    }

    pub fn users(&self) -> BTreeSet<&Bytes> {
        self.rows.iter().map(|row| &row.user).collect()
    }

    fn winners_in(&self, round: u64) -> u64 {
        let live = self.rows.iter().filter(|row| row.round == round && row.is_live());
        live.map(|row| &row.user).collect::<BTreeSet<_>>().len() as u64
    }

    /// The units that LIMIT and GRABS still allow a user; `None` without either.
    pub fn allowance(&self, user: &[u8]) -> Option<u64> {
        self.allowance_in(self.round, user)
    }

    fn allowance_in(&self, round: u64, user: &[u8]) -> Option<u64> {
        let own = |row: &&Row| row.round == round && row.user == user && row.is_live();
        let live: Vec<&Row> = self.rows.iter().filter(own).collect();
        let units: u64 = live.iter().map(|row| row.qty).sum();
        if self.rules.grabs != 0 && live.len() as u64 >= self.rules.grabs {
            return Some(0);
        }
        (self.rules.limit != 0).then(|| self.rules.limit.saturating_sub(units))
    }

    /// Sum of units of grants in `state`, in the current round.
    fn units(&self, state: &str) -> u64 {
        self.units_in(self.round, state)
    }

    fn units_in(&self, round: u64, state: &str) -> u64 {
        let is_one = |row: &&Row| row.round == round && row.state == state;
        self.rows.iter().filter(is_one).map(|row| row.qty).sum()
    }

    /// The available units. Panics if more is granted than supplied.
    pub fn available(&self) -> u64 {
        self.available_in(self.round)
    }

    fn available_in(&self, round: u64) -> u64 {
        self.supply_in(round) - self.units_in(round, "HELD") - self.units_in(round, "SOLD")
    }

    /// Units that may become available without a restock or a refund.
    fn may_come_back(&self) -> u64 {
        INTEGER_MAX.min(self.units("HELD") + self.moves.elsewhere)
    }

    pub fn next_deadline(&self) -> Option<u64> {
        let held = self.rows.iter().filter(|row| row.state == "HELD");
        held.map(|row| row.deadline).min()
    }

    /// The state, the first field of STATUS.
    pub fn state(&self, clock: u64) -> &'static str {
        let t = self.t.max(clock);
        let opens_at = self.opens_at(t);
        match self.stock_now() {
            _ if self.rules.close_at != 0 && opens_at >= self.rules.close_at => "closed",
            _ if self.paused => "paused",
            _ if t < opens_at => "pending",
            "SOLDOUT" => "soldout",
            "ALLHELD" => "allheld",
            _ => "open",
        }
    }

    /// The numbers of STATUS.
    pub fn numbers(&self, clock: u64) -> Vec<(&'static str, u64)> {
        vec![
            ("supply", self.supply),
            ("available", self.available()),
            ("held", self.units("HELD")),
            ("sold", self.units("SOLD")),
            ("deficit", self.deficit),
            ("winners", self.winners_in(self.round)),
            ("grants", self.rows.len() as u64),
            ("limit", self.rules.limit),
            ("grabs", self.rules.grabs),
            ("hold_ms", self.rules.hold_ms),
            ("open_at", self.rules.open_at),
            ("close_at", self.rules.close_at),
            ("now", self.t.max(clock)),
            ("next_deadline", self.next_deadline().unwrap_or(0)),
            ("created_at", self.created_at),
            ("last_grant_at", self.last_grant_at),
            ("epoch", self.epoch),
            ("version", self.version),
            ("rev", self.rev),
            ("outbox_error", 0),
            ("fences_dropped", self.fences_dropped),
        ]
    }

    /// The counters of STATUS. `refusals` are their names, each with its answer.
    pub fn counters(&self, refusals: &[(&'static str, &str)]) -> Vec<(&'static str, u64)> {
        let refused = |word: &str| self.refusals.get(word).copied().unwrap_or(0);
        let happened = |event: &str| self.tallies.get(event).copied().unwrap_or(0);
        let all: u64 = self.refusals.values().sum();
        let attempts = [
            ("attempts", happened("GRANT") + all - refused(parts::UNMET)),
            ("granted", happened("GRANT")),
        ];
        let changes = [
            ("confirmed", happened("CONFIRM")),
            ("cancelled", happened("CANCEL")),
            ("expired", happened("EXPIRE")),
            ("refunded", happened("REFUND")),
            ("reclaimed", happened("RECLAIM")),
            ("imported", happened("IMPORT")),
            ("trimmed", happened("TRIM") + happened(CONFIRMED_A_PART)),
            ("offers", self.list.offers),
            ("dropped", self.list.dropped),
        ];
        let refusals = refusals.iter().map(|(name, word)| (*name, refused(word)));
        attempts.into_iter().chain(refusals).chain(changes).collect()
    }
}
