//! Clients return parts of orders: of their own and of others' orders, at once and late.

use super::{Client, Order};
use crate::history::{Answer, Answered, Deed, Keeper, Promise};
use crate::seats;

/// Number of orders of several units that a client returns to after some seconds.
const OLD_ORDERS: usize = 40;

impl Client {
    /// KEEPs for an order: some of them several times, in any order.
    pub(super) fn keeps(&mut self, sale: usize, units: &[u64]) -> Vec<Deed> {
        let of = &self.sales[sale];
        let takes_it = of.takes_amounts() && seats::takes_keep(&of.terms.kind, units);
        let most = if takes_it { 3 } else { 0 };
        (0..most).map(|_| self.keep()).collect()
    }

    fn keep(&mut self) -> Deed {
        let keepers = [Keeper::Confirm, Keeper::Cancel, Keeper::Cancel, Keeper::Refund];
        Deed::Keep(keepers[self.random.below(4) as usize], 1 + self.random.below(3))
    }

    /// KEEP for an older order; its round may be over.
    pub(super) fn keep_late(&mut self) {
        let at = self.random.below(self.old.len() as u64) as usize;
        let (sale, order) = self.old[at].clone();
        let keep = Deed::Keep(Keeper::Refund, 1 + self.random.below(3));
        self.deed(sale, &order, keep);
    }

    /// KEEP for an order that was just granted or offered.
    pub(super) fn keep_at_once(&mut self, sale: usize, order: &Order) {
        if !seats::takes_keep(&self.sales[sale].terms.kind, &order.units) {
            return;
        }
        if self.random.below(2) == 0 {
            let keep = self.keep();
            self.deed(sale, order, keep);
        }
        match self.old.len() {
            OLD_ORDERS.. => {
                let at = self.random.below(4 * OLD_ORDERS as u64) as usize;
                if let Some(old) = self.old.get_mut(at) {
                    *old = (sale, order.clone());
                }
            }
            _ => self.old.push((sale, order.clone())),
        }
    }

    /// The unit numbers in the last reply of a sale. Empty under a promise that allows losses,
    /// because after a loss the order gets other numbers.
    fn told_units(&self, sale: usize) -> Vec<u64> {
        let call = self.history[sale].last().and_then(|op| op.tries.last());
        let told = call.and_then(|call| call.answered.as_ref());
        let lasts = |told: &&Answered| told.kept && self.setting.promise() == Promise::Everything;
        match told.filter(lasts).map(|told| &told.answer) {
            Some(Answer::Granted { units, .. }) => units.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns a part of seats that the client did not name, once their numbers are known.
    pub(super) fn keep_told(&mut self, sale: usize, order: &Order) {
        let units = self.told_units(sale);
        if order.units.is_empty() && units.len() > 1 {
            let left = self.keeps(sale, &units);
            let order = Order { units, left, ..order.clone() };
            self.pin(sale, order.clone());
            self.keep_at_once(sale, &order);
        }
    }
}
