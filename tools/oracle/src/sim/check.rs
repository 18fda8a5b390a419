//! Invariants after every step.

use std::hash::Hasher;

use seckill_domain::decide::mgrab::{MultiDecision, MultiOutcome};
use seckill_domain::ledger::Grant;
use seckill_domain::outbox::Field;
use seckill_domain::outcome::{Outcome, State, OUTCOMES};
use seckill_domain::record::Asked;
use seckill_domain::status::Status;
use seckill_domain::Sale;
use siphasher::sip::SipHasher13;

use super::cluster::Cluster;
use super::compare::{same, Check};
use super::node::Held;
use crate::oracle::{Bytes, Op, Oracle, Row};
use crate::rebuild;
use crate::stored_entry::StoredEntry;
use crate::world::{counters, expected_counters, numbers, verify_list, verify_part};

/// The counters that are the same on every node come behind those of refusals.
const REFUSALS: std::ops::Range<usize> = 2..1 + OUTCOMES.len();

impl Cluster {
    /// Compares a sale of the primary with its model. `is_full`: also what a step can't reach.
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
        verify_numbers(&status, oracle, self.clock)?;
        verify_part(&held.sale, oracle, &status)?;
        let totals = held.sale.round_totals();
        let totals = totals.map(|total| (total.round, total.supply, total.sold, total.winners));
        same("totals", &totals.collect(), &oracle.totals())?;
        verify_rows(&held.sale, oracle)?;
        verify_list(&held.sale, oracle, &self.now())?;
        if is_full {
            verify_users(&held.sale, oracle)?;
            let pieces = rebuild::pieces(&held.sale);
            same("fences", &rebuild::fences_in(&pieces), &oracle.fences().to_vec())?;
        }
        Ok(())
    }

    /// Invariants of a command that changed nothing.
    pub fn verify_refusal(&self, sale: usize, op: &Op, outcome: &Outcome) -> Check {
        let held = &self.primary.held[sale];
        same("law", &held.sale.is_lawful(), &true)?;
        same("a grant without a change", &matches!(outcome, Outcome::Granted { .. }), &false)?;
        let (Some(oracle), Some(user)) = (&self.models[sale], user_of(op)) else {
            return Ok(());
        };
        verify_user(&held.sale, oracle, user)
    }

    /// Invariants of a command that changed the sale, whatever its terms are.
    pub fn verify_outcome(
        &self,
        sale: usize,
        op: &Op,
        outcome: &Outcome,
        reclaimed: bool,
    ) -> Check {
        let held = &self.primary.held[sale];
        let Some(user) = user_of(op) else { return Ok(()) };
        let is_import = matches!(op, Op::Import { .. } | Op::ImportUnits { .. });
        if let (Outcome::Granted { grant, available }, false) = (outcome, is_import) {
            // Offers to those who wait come behind it in the same step.
            if held.sale.waitlist().is_none() {
                same("available in a reply", available, &held.sale.balances().available)?;
                same("seq of a grant", &grant.seq, &held.sale.balances().grants)?;
            }
            same(
                "grant in a reply",
                &held.sale.grant(grant.seq).map(|it| it.view()),
                &Some(*grant),
            )?;
            verify_limits(held, user, held.sale.balances().round)?;
        }
        if let (Outcome::Stands(grant), true) = (outcome, reclaimed) {
            let round = held.sale.grant(grant.seq).map_or(0, |grant| grant.round);
            verify_limits(held, user, round)?;
        }
        match &self.models[sale] {
            Some(oracle) => verify_user(&held.sale, oracle, user),
            None => Ok(()),
        }
    }

    /// All are granted or none is.
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

    /// (epoch, rev) and (epoch, seq) never name two things, also when histories are lost.
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
            // A grant's units may shrink, and grow again by an IMPORT.
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

/// The user whom a command is about.
fn user_of(op: &Op) -> Option<&Bytes> {
    match op {
        Op::Grab { user, .. } | Op::Join { user, .. } => Some(user),
        Op::Settle { user, .. } | Op::Import { user, .. } => Some(user),
        Op::Choose { user, .. } | Op::KeepUnits { user, .. } => Some(user),
        Op::ImportUnits { user, .. } => Some(user),
        _ => None,
    }
}

/// A user to whom units were just granted is not over the limit.
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

/// The numbers of STATUS. Refusals are of one node, and counted elsewhere.
fn verify_numbers(status: &Status, oracle: &Oracle, clock: u64) -> Check {
    same("state", &status.state, &oracle.state(clock))?;
    for ((field, is), (_, should)) in numbers(status).iter().zip(oracle.numbers(clock)) {
        if *field != "outbox_error" {
            same(field, is, &should)?;
        }
    }
    let all = counters(status).into_iter().zip(expected_counters(oracle)).enumerate();
    for (place, ((field, is), (_, should))) in all {
        if place != 0 && !REFUSALS.contains(&place) {
            same(field, &is, &should)?;
        }
    }
    let times = [status.round, status.round_ends_at, status.next_round_at];
    same("round", &times, &oracle.round_times(clock))?;
    same("packets", &status.packets, &oracle.packets())
}

fn verify_rows(sale: &Sale, oracle: &Oracle) -> Check {
    same("rows", &sale.ledger().len(), &(oracle.rows().len() as u64))?;
    for row in oracle.rows() {
        let grant = sale.grant(row.seq);
        let is_it = match oracle.is_kept(row) {
            true => grant.is_some_and(|grant| is_row(sale, &grant, row)),
            false => grant.is_none(),
        };
        if !is_it {
            return Err(format!("row: is {grant:?}, should be {row:?}"));
        }
    }
    Ok(())
}

fn is_row(sale: &Sale, grant: &Grant<'_>, row: &Row) -> bool {
    let asked = match grant.req.map(|req| req.asked) {
        None => "",
        Some(Asked::Exactly) => "QTY",
        Some(Asked::UpTo) => "UPTO",
        Some(Asked::Either) => "ANY",
        Some(Asked::Offered) => "OFFER",
    };
    grant.seq == row.seq
        && grant.user == row.user
        && grant.qty == row.qty
        && sale.first_qty(grant.seq) == Some(row.first)
        && grant.state.name() == row.state
        && grant.at == row.at
        && grant.view().deadline == row.deadline
        && grant.req_id() == row.req.as_deref()
        && asked == row.asked
        && grant.epoch == row.epoch
        && grant.round == row.round
        && (grant.state == State::Forfeited) == row.refused
}

fn verify_users(sale: &Sale, oracle: &Oracle) -> Check {
    verify_user(sale, oracle, &b"nobody grabs as this one".to_vec())?;
    oracle.users().into_iter().try_for_each(|user| verify_user(sale, oracle, user))
}

/// The indexes of a user lead to what they have.
fn verify_user(sale: &Sale, oracle: &Oracle, user: &Bytes) -> Check {
    let is: Vec<u64> = sale.grants_of(user).map(|grant| grant.seq).collect();
    same("grants of a user", &is, &oracle.rows_of(user).map(|row| row.seq).collect())?;
    for row in oracle.rows_of(user) {
        let Some(req) = &row.req else { continue };
        same("by req", &sale.by_req(user, req), &Some(row.seq))?;
    }
    same("admission", &sale.admittance(user).name(), &oracle.admission(user))?;
    let holding = sale.holding_of(user);
    let live: Vec<&Row> = oracle.rows_now(user).filter(|row| row.is_live()).collect();
    same("live units", &holding.live_units, &live.iter().map(|row| row.qty).sum())?;
    same("live grants", &(holding.live_grants as usize), &live.len())?;
    same("allowance", &sale.allowance(&holding), &oracle.allowance(user))
}
