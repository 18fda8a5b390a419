//! Every sequence of up to six operations on a small sale: two users, at most two units in all.
//! Sequences of plain and of repeating sales have up to five, because there are more operations to
//! choose from.
//!
//! The sequences form a tree that is walked by cloning the world, so that a common beginning is
//! executed once. Two kinds of branches are cut without a loss. An operation that changes nothing
//! adds no new sequences: `decide` only reads, and the world checks that nothing else changed. A
//! world that was met before with at least as many operations left is not walked again. The two are
//! equal in all replicated state, in clock and epoch, and in the order of their grants.

mod draws;
mod gates;
mod holds;
mod parts;
mod rounds;
mod units;
mod waitlist;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use seckill_domain::request::{Now, Request};
use seckill_domain::Sale;

use super::compare::Check;
use super::oracle::{Ask, GatePatch, ListPatch, Op, Patch, Rules};
use super::rebuild;
use super::world::{World, EPOCH_STEP};

/// Operations in the longest sequence, INIT not counted.
const DEPTH: usize = 6;
/// Operations in the longest sequence of plain sales, whose alphabet is large, and of repeating
/// ones.
const SHORT_DEPTH: usize = 5;
const START: u64 = 1000;
const OPENS: u64 = 1010;
const CLOSES: u64 = 1030;

fn grab(user: &str, ask: Ask, req: Option<&str>) -> Op {
    let req = req.map(|req| req.as_bytes().to_vec());
    Op::Grab { user: user.as_bytes().to_vec(), ask, req }
}

fn restock(delta: i64, req: &str) -> Op {
    Op::Restock { delta, req: req.as_bytes().to_vec() }
}

/// The commands of a sale without holds, each with the few arguments that matter in so small a
/// sale. `same` is the INIT that the sale began with.
fn alphabet(same: (u64, Rules)) -> Vec<Op> {
    let (supply, rules) = same;
    vec![
        grab("a", Ask::Qty(1), None),
        grab("a", Ask::UpTo(2), None),
        grab("a", Ask::Qty(1), Some("r")),
        grab("a", Ask::Qty(2), Some("r")),
        grab("a", Ask::UpTo(2), Some("r")),
        grab("b", Ask::Qty(1), None),
        grab("b", Ask::Qty(2), Some("r")),
        restock(1, "x"),
        restock(-1, "x"),
        restock(-2, "y"),
        Op::Pause,
        Op::Resume,
        Op::Alter(Patch { limit: Some(2), ..Patch::default() }),
        Op::Alter(Patch { limit: Some(0), grabs: Some(1), ..Patch::default() }),
        Op::Alter(Patch { open_at: Some(OPENS), close_at: Some(CLOSES), ..Patch::default() }),
        Op::Alter(Patch { close_at: Some(0), hold_ms: Some(0), ..Patch::default() }),
        Op::Init { supply, rules },
        Op::Init { supply: supply + 1, rules },
        Op::Clock(START - 5),
        Op::Clock(OPENS),
        Op::Clock(CLOSES),
        Op::Promote,
        Op::Restore,
    ]
}

/// A hash of everything that distinguishes two worlds: replicated state, clock, epoch, and the
/// epochs to come. Two of a million worlds collide in one run of forty million.
fn place_of(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    rebuild::pieces(&world.sale).hash(&mut hasher);
    (world.clock, world.node_epoch).hash(&mut hasher);
    next_epoch(&world.sale, world.node_epoch).hash(&mut hasher);
    next_epoch(&world.replica, world.node_epoch + EPOCH_STEP).hash(&mut hasher);
    hasher.finish()
}

/// The epoch of the next change on a node with this epoch. A sale does not show which node changed
/// it last nor when it was restored, so a change is tried.
fn next_epoch(sale: &Sale, node_epoch: u64) -> Option<u64> {
    // One of the two requests changes something.
    [Request::Pause, Request::Resume].iter().find_map(|request| {
        let decision = sale.decide(request, &Now { clock_ms: START, node_epoch }).unwrap();
        decision.changes().first()?.epoch
    })
}

struct Walk {
    alphabet: Rc<[Op]>,
    /// The operations that led here, as places in the alphabet.
    path: Vec<usize>,
    /// The most operations that were left when a world was met, by the world's hash.
    met: HashMap<u64, usize>,
    executed: u64,
}

impl Walk {
    /// Executes every operation on `world`, and repeats this after each one that changes something.
    fn below(&mut self, world: &mut World, left: usize) {
        let alphabet = Rc::clone(&self.alphabet);
        for (at, op) in alphabet.iter().enumerate() {
            self.path.push(at);
            self.executed += 1;
            if world.would_change(op) {
                let mut next = world.clone();
                self.must(next.step(op));
                self.arrive(&mut next, left - 1);
            } else {
                self.must(world.step(op));
            }
            self.path.pop();
        }
    }

    fn arrive(&mut self, world: &mut World, left: usize) {
        let place = place_of(world);
        let before = self.met.get(&place).copied();
        if before.is_none() {
            self.must(rebuild::check(&world.sale));
        }
        if before.is_none_or(|before| before < left) {
            self.met.insert(place, left);
            if left > 0 {
                self.below(world, left);
            }
        }
    }

    fn must(&self, check: Check) {
        if let Err(wrong) = check {
            panic!("{wrong}");
        }
    }
}

impl Drop for Walk {
    /// Prints the operations before a failure, even if an assertion of the domain failed.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path: Vec<&Op> = self.path.iter().map(|at| &self.alphabet[*at]).collect();
            eprintln!("the sequence was {path:?}");
        }
    }
}

fn walk_all(supply: u64, rules: Rules, alphabet: Vec<Op>) {
    walk_to(DEPTH, supply, rules, alphabet);
}

fn walk_to(depth: usize, supply: u64, rules: Rules, alphabet: Vec<Op>) {
    let mut world = World::open(supply, rules, START, 500).unwrap().unwrap();
    let alphabet: Rc<[Op]> = alphabet.into();
    let mut walk = Walk { alphabet, path: Vec::new(), met: HashMap::new(), executed: 0 };
    walk.arrive(&mut world, depth);
    let letters = walk.alphabet.len() as u64;
    let sequences: u64 = (1..=depth as u32).map(|length| letters.pow(length)).sum();
    let (executed, worlds) = (walk.executed, walk.met.len());
    println!("{sequences} sequences: {executed} operations executed, {worlds} worlds");
}

#[test]
fn two_units_without_a_limit_in_a_window() {
    walk_without_holds(2, Rules { open_at: OPENS, close_at: CLOSES, ..Rules::default() });
}

fn walk_without_holds(supply: u64, rules: Rules) {
    walk_to(SHORT_DEPTH, supply, rules, alphabet((supply, rules)));
}

#[test]
fn two_units_one_for_each_user() {
    walk_without_holds(2, Rules { limit: 1, ..Rules::default() });
}

#[test]
fn one_unit_once_per_user() {
    walk_without_holds(1, Rules { grabs: 1, ..Rules::default() });
}

#[test]
fn no_unit_yet() {
    walk_without_holds(0, Rules { limit: 2, grabs: 2, ..Rules::default() });
}
