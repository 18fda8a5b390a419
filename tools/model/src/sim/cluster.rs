//! All nodes, their shared history, and the disk.

use std::collections::HashMap;
use std::rc::Rc;

use seckill_domain::decide::decide_new;
use seckill_domain::effect::Change;
use seckill_domain::request::Now;
use seckill_domain::Sale;

use super::model::{hear, Model, Way};
use super::node::{digest, version_in, Held, Node, Txn, What};
use super::paid::Paid;
use super::setup::Setup;
use super::step::Step;
use super::tally::Tally;
use super::versions::{self, Versions};
use crate::compare::{same, Check};
use crate::oracle::{Op, Oracle};
use crate::rebuild::{self, encoded};
use crate::requests::init;

/// Transactions between two saved copies of the models.
const CHECKPOINT_EVERY: usize = 24;

/// A sale at the end of a run, and its effects, each with the version that it follows.
pub struct Sample {
    pub sale: Sale,
    pub texts: Vec<(u64, Vec<u8>)>,
}

/// Distance between two moments, larger than epochs can be ahead of the clock.
const MOMENT_STEP: u64 = 1 << 34;

/// The AOF: the rewritten base, and how much of the history is on disk.
pub struct Log {
    /// The state that the base replays to.
    pub base: Node,
    pub synced: usize,
}

/// A dump of one sale, and the expected sale after its RESTORE.
pub struct Dumped {
    pub dump: Rc<Vec<Vec<u8>>>,
    pub model: Model,
}

/// Names seen in all histories of one sale, also in lost ones.
#[derive(Default)]
pub struct Names {
    /// The change of each (epoch, rev).
    pub revs: HashMap<(u64, u64), u64>,
    /// The grant of each (epoch, seq).
    pub seqs: HashMap<(u64, u64), u64>,
}

pub struct Cluster<'t> {
    /// What all runs together have met.
    pub tally: &'t mut Tally,
    pub clock: u64,
    /// The primary's epoch.
    pub node_epoch: u64,
    /// Counts starts, promotions and loads of servers, and never decreases. Epochs of different
    /// moments are far from each other.
    moment: u64,
    /// Whether the first replica gets each transaction at once.
    attached: bool,
    pub primary: Node,
    pub replicas: Vec<Node>,
    pub history: Vec<Rc<Txn>>,
    pub models: Vec<Model>,
    /// Copies of the models at some offsets, ascending.
    pub checkpoints: Vec<(usize, Vec<Model>)>,
    pub log: Log,
    /// The RDB file on disk.
    pub saved: Node,
    pub dumps: Vec<Option<Dumped>>,
    /// Whether each sale's outbox refuses entries.
    pub broken: Vec<bool>,
    pub names: Vec<Names>,
    /// Orders that were paid on primaries that were lost.
    pub paid: Vec<Paid>,
    /// `seckill.effects-version` of all nodes.
    pub setting: u64,
}

impl<'t> Cluster<'t> {
    /// Executes INIT for all sales. `None` if one is refused.
    pub fn open(setup: &Setup, tally: &'t mut Tally) -> Result<Option<Cluster<'t>>, String> {
        let now = Now { clock_ms: setup.clock, node_epoch: setup.node_epoch };
        let Versions { knows, setting } = setup.versions;
        versions::write_as(setting);
        let (mut held, mut models) = (Vec::new(), Vec::new());
        for opening in &setup.sales {
            let decided = decide_new(&init(opening.supply, &opening.rules), &now, [1, 2]);
            let oracle = Oracle::init(opening.supply, opening.rules, setup.clock, setup.node_epoch);
            same("INIT is refused", &decided.is_err(), &oracle.is_err())?;
            let Ok((plan, sale)) = decided else { return Ok(None) };
            same("INIT from its text", &digest(&created(&plan.changes[0])?), &digest(&sale))?;
            held.push(Held::new(sale, Way::Kept));
            models.push(oracle.ok());
        }
        let [first, others @ ..] = knows;
        let primary = Node { held, offset: 0, knows: first, seed: setup.node_epoch };
        let mut seeds = setup.node_epoch + 1..;
        let replicas = others.map(|knows| {
            let seed = seeds.next().unwrap_or_default();
            primary.reloaded(seed, knows)
        });
        let mut cluster = Cluster {
            tally,
            clock: setup.clock,
            node_epoch: setup.node_epoch,
            moment: setup.node_epoch,
            attached: setup.attached,
            log: Log::rewritten(&primary, setup.node_epoch)?,
            replicas: replicas.into_iter().collect::<Result<_, _>>()?,
            saved: primary.reloaded(setup.node_epoch, first)?,
            dumps: primary.held.iter().map(|_| None).collect(),
            broken: vec![false; primary.held.len()],
            names: primary.held.iter().map(|_| Names::default()).collect(),
            paid: Vec::new(),
            history: Vec::new(),
            checkpoints: Vec::new(),
            setting,
            primary,
            models,
        };
        cluster.checkpoint();
        (0..cluster.primary.held.len()).try_for_each(|sale| cluster.verify(sale, true))?;
        Ok(Some(cluster))
    }

    pub fn next_moment(&mut self) -> u64 {
        self.moment += MOMENT_STEP;
        self.moment
    }

    /// Time and epoch of the next command.
    pub fn now(&self) -> Now {
        Now { clock_ms: self.clock, node_epoch: self.node_epoch }
    }

    /// Executes one step and compares everything that it may have changed. Returns whether the
    /// history, the primary or the setting is another one.
    pub fn step(&mut self, step: &Step) -> Result<bool, String> {
        let before = (self.history.len(), self.node_epoch, self.setting);
        self.execute(step)?;
        let is_command =
            matches!(step, Step::Ask { .. } | Step::Several { .. } | Step::Between { .. });
        if self.attached && is_command {
            self.deliver(0, usize::MAX)?;
        }
        Ok((self.history.len(), self.node_epoch, self.setting) != before)
    }

    pub fn execute(&mut self, step: &Step) -> Check {
        match *step {
            Step::Ask { sale, op: Op::Sweep(most) } => self.sweep(sale, most)?,
            Step::Ask { sale, ref op } => self.ask(sale, op)?,
            Step::Between { sale, ref op, ref call } => self.interrupted(sale, op, call)?,
            Step::Several { ref user, ref qty, ref req } => self.grab_several(user, qty, req)?,
            Step::Clock(clock) => self.clock = clock,
            Step::Outbox { sale, broken } => self.broken[sale] = broken,
            Step::Deliver { replica, count } => self.deliver(replica, count)?,
            Step::Repeat { replica } => self.misplace(replica, -1)?,
            Step::Gap { replica } => self.misplace(replica, 1)?,
            Step::Resync { replica } => self.resync(replica)?,
            Step::Replace { replica, knows } => self.replace(replica, knows)?,
            Step::Setting { version } => self.set(version),
            Step::Promote { replica } => self.promote(replica)?,
            Step::Sync => self.log.synced = self.history.len(),
            Step::Rewrite => self.log = Log::rewritten(&self.primary, self.node_epoch)?,
            Step::Crash { lost } => self.crash(lost)?,
            Step::Save => self.saved = self.primary.clone(),
            Step::CrashToSave => self.crash_to_save()?,
            Step::Reload => self.reload()?,
            Step::Dump { sale } => self.dump(sale),
            Step::Restore { sale } => self.restore(sale)?,
        }
        Ok(())
    }

    /// Delivers everything to all replicas and compares everything again.
    pub fn finish(&mut self) -> Check {
        for replica in 0..self.replicas.len() {
            self.deliver(replica, usize::MAX)?;
        }
        for (sale, held) in self.primary.held.iter().enumerate() {
            rebuild::check(&held.sale)?;
            self.verify(sale, true)?;
        }
        Ok(())
    }

    /// The primary's sales, each with all effects of its history.
    pub fn samples(&self) -> Vec<Sample> {
        let texts_of = |sale: usize| {
            let parts = self.history.iter().flat_map(|txn| &txn.parts);
            let mut all = Vec::new();
            for part in parts.filter(|part| part.sale == sale) {
                if let What::Apply { position, texts, .. } = &part.what {
                    let version = version_in(position).unwrap_or_default();
                    all.extend((version..).zip(texts.iter().cloned()));
                }
            }
            all
        };
        let held = self.primary.held.iter().enumerate();
        held.map(|(place, held)| Sample { sale: held.sale.clone(), texts: texts_of(place) })
            .collect()
    }

    pub fn record(&mut self, txn: Txn) {
        self.history.push(Rc::new(txn));
        self.primary.offset = self.history.len();
        let last = self.checkpoints.last().map_or(0, |(offset, _)| *offset);
        if self.history.len() >= last + CHECKPOINT_EVERY {
            self.checkpoint();
        }
    }

    pub fn checkpoint(&mut self) {
        self.checkpoints.push((self.history.len(), self.models.clone()));
    }

    /// Drops the history after `offset` and restores the models of that time.
    pub fn rewind(&mut self, offset: usize) {
        while self.checkpoints.len() > 1 && self.checkpoints.last().is_some_and(|at| at.0 > offset)
        {
            self.checkpoints.pop();
        }
        if let Some((at, models)) = self.checkpoints.last() {
            self.models.clone_from(models);
            for txn in &self.history[*at..offset] {
                txn.heard.iter().for_each(|heard| hear(&mut self.models, heard));
            }
        }
        self.history.truncate(offset);
    }
}

impl Log {
    /// The rewritten AOF of a node, as a server loads it.
    pub fn rewritten(node: &Node, seed: u64) -> Result<Log, String> {
        let replayed = |held: &Held| {
            let sale = rebuild::replay(&rebuild::log(&held.sale), seed)
                .map_err(|why| format!("a rewritten log is refused: {why:?}"))?;
            same("digest of a rewritten log", &digest(&sale), &digest(&held.sale))?;
            Ok(Held { sale, way: Way::Logged, refusals: 0, ..held.clone() })
        };
        let held: Result<Vec<Held>, String> = node.held.iter().map(replayed).collect();
        let base = Node { held: held?, offset: node.offset, knows: node.knows, seed };
        Ok(Log { base, synced: node.offset })
    }
}

/// The sale of an INIT, decoded from the encoded change.
fn created(change: &Change<'_>) -> Result<Sale, String> {
    let text = encoded(change);
    let change = Change::decode(&text).map_err(|why| format!("INIT is no effect: {why:?}"))?;
    let made = Sale::create(change, [1, 2]).map_err(|why| format!("INIT: {why:?}"))?;
    Ok(made.0)
}
