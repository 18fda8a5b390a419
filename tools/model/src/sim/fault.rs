//! Faults around the commands: delivery, lost histories, promotions, restarts.

use std::rc::Rc;

use super::cluster::{Cluster, Dumped, Log};
use super::model::{begin, Heard, Way};
use super::node::{arrived, digest, Node, Part, Txn, What};
use super::paid;
use super::versions::{self, REPLICAS};
use crate::compare::{same, Check};
use crate::rebuild;

impl Cluster<'_> {
    /// Delivers the next `count` transactions to a replica.
    pub fn deliver(&mut self, replica: usize, count: usize) -> Check {
        let node = &mut self.replicas[replica];
        for txn in self.history.iter().skip(node.offset).take(count) {
            node.take(txn).map_err(|wrong| format!("replica {replica}: {wrong}"))?;
            self.tally.compared += 1;
        }
        Ok(())
    }

    /// Sends a replica the transaction that is this far from the next one.
    pub fn misplace(&mut self, replica: usize, by: isize) -> Check {
        let node = &mut self.replicas[replica];
        let place = node.offset.checked_add_signed(by);
        let Some(txn) = place.and_then(|place| self.history.get(place)) else { return Ok(()) };
        txn.parts.iter().try_for_each(|part| node.held[part.sale].refuses(part))
    }

    pub fn resync(&mut self, replica: usize) -> Check {
        let (seed, knows) = (self.next_moment(), self.replicas[replica].knows);
        self.replicas[replica] = self.primary.reloaded(seed, knows)?;
        Ok(())
    }

    /// Restarts a replica with another version of the module. Before a downgrade operators set
    /// `seckill.effects-version`.
    pub fn replace(&mut self, replica: usize, knows: u64) -> Check {
        if knows == versions::OLDER {
            self.set(versions::OLDER);
        }
        self.replicas[replica].knows = knows;
        self.resync(replica)
    }

    /// Sets `seckill.effects-version` on all nodes, if all modules know that version.
    pub fn set(&mut self, version: u64) {
        let mut all = self.replicas.iter().chain([&self.primary]);
        if version == versions::OLDER || all.all(|node| node.knows == versions::NEWER) {
            self.setting = version;
            versions::write_as(version);
        }
    }

    /// Promotes a replica with its data. The new primary's disk has the old primary's state.
    pub fn promote(&mut self, replica: usize) -> Check {
        let node = self.replicas[replica].clone();
        self.replicas[replica].knows = self.primary.knows;
        self.take_over(node)?;
        self.resync(replica)?;
        let offset = self.history.len();
        for other in (0..REPLICAS).filter(|other| *other != replica) {
            // A replica that is not ahead of the new primary continues at its own offset.
            if self.replicas[other].offset > offset {
                self.resync(other)?;
            }
        }
        Ok(())
    }

    /// Restarts the primary from its AOF, without the last `lost` transactions.
    pub fn crash(&mut self, lost: usize) -> Check {
        let (synced, all) = (self.log.synced, self.history.len());
        let end = all.saturating_sub(lost).clamp(synced.min(all), all);
        // Each start of a server draws a new seed.
        let seed = self.next_moment();
        let mut node = Log::rewritten(&self.log.base, seed)?.base;
        while node.offset < end {
            let txn = Rc::clone(&self.history[node.offset]);
            node.take(&txn).map_err(|wrong| format!("from the log: {wrong}"))?;
        }
        self.restart_with(node)
    }

    pub fn crash_to_save(&mut self) -> Check {
        let seed = self.next_moment();
        self.restart_with(self.saved.reloaded(seed, self.primary.knows)?)
    }

    /// Restarts the primary with the state of `node` and resyncs all replicas.
    fn restart_with(&mut self, node: Node) -> Check {
        self.take_over(node)?;
        (0..REPLICAS).try_for_each(|replica| self.resync(replica))
    }

    fn take_over(&mut self, node: Node) -> Check {
        self.tally.lost += (self.history.len() - node.offset) as u64;
        self.history[node.offset..].iter().for_each(|txn| self.tally.note_loss(txn));
        self.paid.extend(paid::lost(&self.primary.held, &node.held));
        self.rewind(node.offset);
        self.primary = node;
        self.node_epoch = self.next_moment();
        self.saved = self.primary.clone();
        self.begin_anew()
    }

    /// Starts a new epoch on a process whose sales came from another node.
    fn begin_anew(&mut self) -> Check {
        for (held, model) in self.primary.held.iter().zip(&mut self.models) {
            begin(model, held.way);
        }
        self.checkpoint();
        self.log = Log::rewritten(&self.primary, self.node_epoch)?;
        (0..self.primary.held.len()).try_for_each(|sale| self.verify(sale, true))
    }

    pub fn reload(&mut self) -> Check {
        // A node that loads data begins a new epoch.
        self.node_epoch = self.next_moment();
        self.primary = self.primary.reloaded(self.node_epoch, self.primary.knows)?;
        self.begin_anew()
    }

    pub fn dump(&mut self, sale: usize) {
        let dump = Rc::new(rebuild::dump(&self.primary.held[sale].sale));
        self.dumps[sale] = Some(Dumped { dump, model: self.models[sale].clone() });
    }

    /// Replaces the sale by its dump, here and on all nodes that get the RESTORE.
    pub fn restore(&mut self, sale: usize) -> Check {
        let at = self.next_moment();
        let Some(Dumped { dump, model }) = &self.dumps[sale] else { return Ok(()) };
        if self.setting != 0 && versions::of_dump(dump) > self.setting {
            // Nodes with older modules could not read it.
            return Ok(());
        }
        let (dump, model) = (Rc::clone(dump), model.clone());
        let held = arrived(&dump, at)?;
        let again = rebuild::dump(&held.sale);
        if versions::of_dump(&again) == versions::of_dump(&dump) {
            same("a dump of what was restored", &again, &*dump)?;
        }
        self.models[sale] = model.clone();
        begin(&mut self.models[sale], Way::Restored);
        let heard = vec![Heard::Arrived { sale, model: Box::new(model) }];
        let digest = digest(&held.sale);
        self.primary.held[sale] = held;
        let parts = vec![Part { sale, what: What::Arrive { dump, at }, digest }];
        self.record(Txn { parts, heard });
        self.checkpoint();
        self.verify(sale, true)
    }
}
