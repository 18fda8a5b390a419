//! Model of a server: sales that apply replicated changes, and their outboxes.

use std::hash::Hasher;
use std::rc::Rc;

use seckill_domain::effect::Change;
use seckill_domain::plan::Position;
use seckill_domain::request::Now;
use seckill_domain::Sale;
use siphasher::sip::SipHasher13;

use super::follower::Follower;
use super::model::{Heard, Way};
use super::versions;
use crate::compare::{same, Check};
use crate::rebuild::{self, encoded};
use crate::stored_entry::StoredEntry;

/// A sale on one node.
#[derive(Clone, Debug)]
pub struct Held {
    pub sale: Sale,
    pub follower: Follower,
    /// How this node got the sale.
    pub way: Way,
    /// GRABs that this node refused or answered with an older grant.
    pub refusals: u64,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub held: Vec<Held>,
    /// Number of transactions of the history that the node has applied.
    pub offset: usize,
    /// The version of effects that its module can read.
    pub knows: u64,
    /// The seed of its random numbers; no other node has this seed.
    pub seed: u64,
}

/// The changes of one command as they are replicated and logged: all or none.
#[derive(Clone, Debug)]
pub struct Txn {
    pub parts: Vec<Part>,
    /// The requests that the models executed.
    pub heard: Vec<Heard>,
}

/// The effect of one command on one sale.
#[derive(Clone, Debug)]
pub struct Part {
    pub sale: usize,
    pub what: What,
    /// Digest of the sale after the change.
    pub digest: u64,
}

#[derive(Clone, Debug)]
pub enum What {
    /// One APPLY, and the entries that it adds on every node.
    Apply { position: Vec<u8>, texts: Vec<Vec<u8>>, entries: Vec<StoredEntry> },
    /// A RESTORE.
    Arrive { dump: Rc<Vec<Vec<u8>>>, at: u64 },
}

/// A digest of all replicated state.
pub fn digest(sale: &Sale) -> u64 {
    let mut hasher = SipHasher13::new();
    for (_, piece) in rebuild::pieces(sale) {
        hasher.write_usize(piece.len());
        hasher.write(&piece);
    }
    hasher.finish()
}

impl Held {
    /// A sale that was restored or just created.
    pub fn new(sale: Sale, way: Way) -> Held {
        let follower = Follower::export(&sale);
        Held { sale, follower, way, refusals: 0 }
    }

    /// The sale after a save and a load by a module that knows the versions up to `knows`.
    fn reloaded(&self, seed: u64, knows: u64) -> Result<Held, String> {
        let dump = rebuild::dump(&self.sale);
        versions::takes(knows, versions::of_dump(&dump), "a snapshot")?;
        let sale =
            rebuild::load(&dump, seed).map_err(|why| format!("a snapshot is refused: {why:?}"))?;
        same("digest of a snapshot", &digest(&sale), &digest(&self.sale))?;
        same("refusals in a snapshot", &rebuild::refusals(&sale), &rebuild::refusals(&self.sale))?;
        Ok(Held { sale, way: Way::Kept, ..self.clone() })
    }

    /// Applies a replicated change.
    fn apply(&mut self, position: &[u8], texts: &[Vec<u8>], entries: &[StoredEntry]) -> Check {
        let version = version_in(position)?;
        let changes = decoded(texts)?;
        let plan = self.sale.check(version, changes);
        let plan = plan.map_err(|why| format!("a replica refuses {texts:?}: {why:?}"))?;
        let own = StoredEntry::all(&self.sale, &plan);
        same("entries of a replica", &own, &entries.to_vec())?;
        own.iter().try_for_each(|entry| self.follower.read(entry))?;
        self.sale.commit(&plan);
        self.follow();
        self.follower.check(&self.sale)
    }

    /// The shop begins to follow when the sale gets an outbox.
    pub fn follow(&mut self) {
        if !self.follower.is_on && self.sale.terms().outbox.is_some() {
            self.follower = Follower::export(&self.sale);
        }
    }

    /// Checks that a transaction out of order is refused and changes nothing.
    pub fn refuses(&mut self, part: &Part) -> Check {
        let What::Apply { position, texts, .. } = &part.what else { return Ok(()) };
        let version = version_in(position)?;
        if version == self.sale.balances().version {
            // A RESTORE has brought the sale back to this version.
            return Ok(());
        }
        let before = digest(&self.sale);
        let taken = self.sale.apply(version, decoded(texts)?).is_ok();
        same("what does not follow is taken", &taken, &false)?;
        same("digest after what does not follow", &digest(&self.sale), &before)
    }
}

impl Node {
    /// Applies the next transaction of the history.
    pub fn take(&mut self, txn: &Txn) -> Check {
        for part in &txn.parts {
            let held = &mut self.held[part.sale];
            match &part.what {
                What::Apply { position, texts, entries } => {
                    let version = versions::of_apply(position, texts);
                    versions::takes(self.knows, version, "an APPLY")?;
                    held.apply(position, texts, entries)?;
                }
                What::Arrive { dump, at } => {
                    versions::takes(self.knows, versions::of_dump(dump), "a RESTORE")?;
                    *held = arrived(dump, at ^ self.seed.rotate_left(32))?;
                }
            }
            same("digest of a replica at this offset", &digest(&held.sale), &part.digest)?;
            same("law of a replica", &held.sale.is_lawful(), &true)?;
            held.sale.free_some();
        }
        self.offset += 1;
        Ok(())
    }

    /// A copy by an RDB file or a full resync, by a module that knows the versions up to `knows`.
    pub fn reloaded(&self, seed: u64, knows: u64) -> Result<Node, String> {
        let held = self.held.iter().map(|held| held.reloaded(seed, knows));
        Ok(Node { held: held.collect::<Result<_, _>>()?, offset: self.offset, knows, seed })
    }
}

/// The sale of a RESTORE at `at`.
pub fn arrived(dump: &[Vec<u8>], at: u64) -> Result<Held, String> {
    let mut sale = rebuild::load(dump, at).map_err(|why| format!("a dump is refused: {why:?}"))?;
    sale.arrive();
    let counters = sale.status(&Now { clock_ms: 0, node_epoch: 0 }).counters;
    let refusals = counters.attempts() - counters.tallies.granted;
    Ok(Held { refusals, ..Held::new(sale, Way::Restored) })
}

/// The version that an APPLY follows.
pub fn version_in(position: &[u8]) -> Result<u64, String> {
    let read = Position::decode(position).map(|position| position.version);
    read.ok_or_else(|| format!("no position: {}", position.escape_ascii()))
}

fn decoded(texts: &[Vec<u8>]) -> Result<Vec<Change<'_>>, String> {
    let decoded = texts.iter().map(|text| {
        let change = Change::decode(text).map_err(|why| format!("{text:?}: {why:?}"))?;
        let again = encoded(&change);
        // Effects from before a change of the setting are now encoded in another form.
        if versions::of_effect(&again) == versions::of_effect(text) {
            same("text that was read and written again", &again, text)?;
        }
        Ok(change)
    });
    decoded.collect()
}
