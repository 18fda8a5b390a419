//! Invariants after every step.

use std::hash::Hasher;

use seckill_domain::decide::mgrab::{MultiDecision, MultiOutcome};
use seckill_domain::outbox::Field;
use seckill_domain::outcome::Outcome;
use siphasher::sip::SipHasher13;

use super::cluster::Cluster;
use super::node::Held;
use crate::compare::{
    same, verify_list, verify_numbers, verify_rows, verify_user, verify_users, Check,
};
use crate::oracle::{Bytes, Op};
use crate::rebuild;
use crate::stored_entry::StoredEntry;

impl Cluster<'_> {
    /// Compares a sale with its model. `is_full`: also state that one step can't change.
    pub fn verify(&self, sale: usize, is_full: bool) -> Check {
        let (held, model) = (&self.primary.held[sale], &self.models[sale]);
        same("law", &held.sale.is_lawful(), &true)?;
        same("audit", &held.sale.audit().differences, &Vec::new())?;
        held.follower.check(&held.sale)?;
        let balances = held.sale.balances();
        let owes_and_has = balances.deficit > 0 && balances.available > 0;
        same("owes units while some are available", &owes_and_has, &false)?;
        let status = held.sale.status(&self.now());
        let attempts = status.counters.tallies.granted + held.refusals;
        same("attempts", &status.counters.attempts(), &attempts)?;
        let Some(oracle) = model else { return Ok(()) };
        verify_numbers(&held.sale, oracle, &self.now(), false)?;
        verify_rows(&held.sale, oracle)?;
        verify_list(&held.sale, oracle, &self.now())?;
        if is_full {
            verify_users(&held.sale, oracle, &self.now())?;
            let pieces = rebuild::pieces(&held.sale);
            same("fences", &rebuild::fences_in(&pieces), &oracle.fences)?;
        }
        Ok(())
    }

    /// Invariants of a command that changed nothing.
    pub fn verify_refusal(&self, sale: usize, op: &Op, outcome: &Outcome) -> Check {
        let held = &self.primary.held[sale];
        same("law", &held.sale.is_lawful(), &true)?;
        same("a grant without a change", &matches!(outcome, Outcome::Granted { .. }), &false)?;
        let (Some(oracle), Some(user)) = (&self.models[sale], op.user()) else {
            return Ok(());
        };
        verify_user(&held.sale, oracle, user, &self.now())
    }

    /// Invariants of a command that changed the sale, for all terms.
    pub fn verify_outcome(
        &self,
        sale: usize,
        op: &Op,
        outcome: &Outcome,
        reclaimed: bool,
    ) -> Check {
        let held = &self.primary.held[sale];
        let Some(user) = op.user() else { return Ok(()) };
        let is_import = matches!(op, Op::Import { .. } | Op::ImportUnits { .. });
        if let (Outcome::Granted { grant, available }, false) = (outcome, is_import) {
            // Offers to waiters follow in this step.
            if held.sale.waitlist().is_none() {
                same("available in a reply", available, &held.sale.balances().available)?;
                same("seq of a grant", &grant.seq, &held.sale.balances().grants)?;
            }
            let view = held.sale.grant(grant.seq).map(|it| it.view());
            same("grant in a reply", &view, &Some(*grant))?;
            verify_limits(held, user, held.sale.balances().round)?;
        }
        if let (Outcome::Stands(grant), true) = (outcome, reclaimed) {
            let round = held.sale.grant(grant.seq).map_or(0, |grant| grant.round);
            verify_limits(held, user, round)?;
        }
        match &self.models[sale] {
            Some(oracle) => verify_user(&held.sale, oracle, user, &self.now()),
            None => Ok(()),
        }
    }

    /// Checks that an MGRAB granted all or none.
    pub fn verify_several(
        &self,
        user: &Bytes,
        qty: &[u64],
        decided: &MultiDecision<'_>,
        before: &[u64],
    ) -> Check {
        let all = matches!(decided.outcome, MultiOutcome::Granted(_));
        for (sale, (held, before)) in self.primary.held.iter().zip(before).enumerate() {
            let granted = held.sale.balances().grants - before;
            if held.sale.waitlist().is_none() {
                same("grants of an MGRAB", &granted, &u64::from(all))?;
            }
            let Some(grant) = held.sale.grant(before + 1).filter(|_| all) else { continue };
            same("user of an MGRAB", &grant.user, &user.as_slice())?;
            if held.sale.terms().draw().is_none() {
                same("quantity of an MGRAB", &grant.qty, &qty[sale])?;
            }
            verify_limits(held, user, held.sale.balances().round)?;
        }
        Ok(())
    }

    /// Checks that (epoch, rev) and (epoch, seq) are never used twice, also in lost histories.
    pub fn check_names(&mut self, sale: usize, entries: &[StoredEntry]) -> Check {
        let names = &mut self.names[sale];
        for entry in entries {
            let (epoch, rev) = (entry.number("epoch")?, entry.number("rev")?);
            let print = fingerprint(entry.fields.iter().map(|(_, value)| &value[..]));
            let named = *names.revs.entry((epoch, rev)).or_insert(print);
            same("what an epoch and a rev name", &named, &print)?;
            if !entry.has("seq") {
                continue;
            }
            let key = (entry.number("born")?, entry.number("seq")?);
            // A grant's units may decrease, and increase again by an IMPORT.
            let at = entry.number("at")?.to_be_bytes();
            let values = [entry.raw(Field::User), entry.raw(Field::Req), &at];
            let print = fingerprint(values.into_iter());
            let named = *names.seqs.entry(key).or_insert(print);
            same("what an epoch and a seq name", &named, &print)?;
        }
        Ok(())
    }
}

fn fingerprint<'v>(values: impl Iterator<Item = &'v [u8]>) -> u64 {
    let mut hasher = SipHasher13::new();
    for value in values {
        hasher.write_usize(value.len());
        hasher.write(value);
    }
    hasher.finish()
}

/// Checks that a user with a new grant is not above the limit.
fn verify_limits(held: &Held, user: &[u8], round: u64) -> Check {
    let (mut units, mut grants) = (0, 0);
    for grant in held.sale.grants_of(user).filter(|grant| grant.round == round) {
        if grant.state.is_live() {
            units += grant.qty;
            grants += 1;
        }
    }
    let terms = held.sale.terms();
    let over =
        (terms.limit != 0 && units > terms.limit) || (terms.grabs != 0 && grants > terms.grabs);
    match over {
        true => Err(format!("{} has {units} units in {grants} grants", user.escape_ascii())),
        false => Ok(()),
    }
}
