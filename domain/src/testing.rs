//! Shared helpers of unit tests: sales, their clock, and a run that checks every form of a sale
//! against the others.

#![cfg(test)]

use crate::admission::Admission;
use crate::decide::{decide_new, Decision, NextRound};
use crate::effect::Change;
use crate::model::outcome::Outcome;
use crate::plan::Loader;
use crate::request::{Amount, Grab, Init, Now, Request, Terms};
use crate::snapshot::Piece;
use crate::Sale;

pub(crate) const SECRET: [u8; 16] = *b"0123456789abcdef";

/// A time in the first epoch of a primary.
pub(crate) fn at(clock_ms: u64) -> Now {
    Now { clock_ms, node_epoch: 1 }
}

/// An INIT of `supply` units under `terms`.
pub(crate) fn init(supply: u64, terms: Terms) -> Init {
    Init { supply, terms, amounts: Vec::new(), id: 1, secret: SECRET }
}

/// The sale that `init` creates at `clock_ms`.
pub(crate) fn created(init: &Init, clock_ms: u64) -> Sale {
    decide_new(init, &at(clock_ms), [1, 2]).unwrap().1
}

/// A sale created at time 1, with enough units for all users whom `admission` admits.
pub(crate) fn gated(admission: Admission) -> Sale {
    created(&init(100_000, Terms { admission, ..Terms::default() }), 1)
}

/// Decides and commits a request, after any rounds that begin. Also applies its effects to a copy,
/// a reloaded sale and one from a rewritten AOF, and checks that all four are equal.
pub(crate) fn run(sale: &mut Sale, request: &Request<'_>, clock_ms: u64) -> Outcome {
    loop {
        let (plan, outcome) = match sale.decide(request, &at(clock_ms)) {
            Ok(decision) => (decision.plan, Some(decision.outcome)),
            Err(NextRound(plan)) => (Some(*plan), None),
        };
        let texts = plan.as_ref().map_or(Vec::new(), |plan| texts_of(&plan.changes));
        let version = sale.balances().version;
        let mut others = [sale.clone(), reloaded(sale), rewritten(sale)];
        plan.iter().for_each(|plan| sale.commit(plan));
        for other in &mut others {
            other.apply(version, read(&texts)).unwrap();
            assert_eq!(bytes_of(sale), bytes_of(other), "{request:?}");
        }
        assert_eq!(sale.audit().differences, []);
        if let Some(outcome) = outcome {
            return outcome;
        }
    }
}

/// Commits a decision's plan, if it has one.
pub(crate) fn commit(sale: &mut Sale, decision: &Decision<'_>) {
    if let Some(plan) = &decision.plan {
        sale.commit(plan);
    }
}

/// A plain GRAB with the usual arguments.
pub(crate) fn grab(sale: &mut Sale, user: &str, clock_ms: u64) -> Outcome {
    let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
    run(sale, &Request::Grab(grab), clock_ms)
}

/// The replicated bytes of `changes`.
pub(crate) fn texts_of(changes: &[Change<'_>]) -> Vec<Vec<u8>> {
    let encode = |change: &Change<'_>| {
        let mut text = Vec::new();
        change.encode(&mut text);
        text
    };
    changes.iter().map(encode).collect()
}

/// The changes as a replica reads them.
pub(crate) fn read(texts: &[Vec<u8>]) -> Vec<Change<'_>> {
    texts.iter().map(|text| Change::decode(text).unwrap()).collect()
}

/// The pieces of a sale, as in a dump and a digest.
pub(crate) fn bytes_of(sale: &Sale) -> Vec<Vec<u8>> {
    let bytes = |piece: Piece<'_>| {
        let mut bytes = Vec::new();
        piece.encode(&mut bytes);
        bytes
    };
    sale.pieces().map(bytes).collect()
}

/// The sale from its own dump.
pub(crate) fn reloaded(sale: &Sale) -> Sale {
    let mut pieces = bytes_of(sale).into_iter();
    let mut loader = Loader::start(&pieces.next().unwrap(), [3, 4]).unwrap();
    pieces.for_each(|piece| loader.add(&piece).unwrap());
    loader.finish().unwrap()
}

/// The sale from a rewritten AOF: its pieces as effects.
pub(crate) fn rewritten(sale: &Sale) -> Sale {
    let pieces: Vec<_> = sale.pieces().map(Change::untimed).collect();
    let texts = texts_of(&pieces);
    let changes = read(&texts);
    let mut changes = changes.into_iter();
    let mut log = Sale::create(changes.next().unwrap(), [5, 6]).unwrap().0;
    for change in changes {
        let version = log.balances().version;
        log.apply(version, [change]).unwrap();
    }
    log
}
