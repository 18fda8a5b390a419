//! The entries in the order of their tickets, and what each part of the list comes to.
//!
//! A tree of leaves with up to 32 entries whose inner nodes keep sums of what is below them: how
//! many entries, how many units, the smallest quantity and the earliest end. So the place of an
//! entry, the first who can be served whole and the first whose time is over are each found on one
//! way down, and nothing is ever moved but within a node. Tickets only grow: entries come at the
//! end and no node is split; they leave anywhere, and neighbours that fit into one node become
//! one. A Fenwick tree would be shorter but has no such ends: it keeps a place for every ticket
//! ever given out, or is built anew, which at a million entries would be a pause.

use super::entry::{self, Waiter};

/// Entries of a leaf, and branches of an inner node, at the most.
const NODE_MAX: usize = 32;

/// Two neighbours that have no more than this together become one: what is left takes some more
/// before the next two meet.
const NODE_JOINED: usize = 24;

/// What a part of the list comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Entries.
    pub entries: u64,
    /// Units that they ask for.
    pub units: u128,
    /// The smallest quantity.
    pub least: u64,
    /// The earliest end; the largest number when none has one.
    pub ends: u64,
}

impl Sum {
    const NONE: Sum = Sum { entries: 0, units: 0, least: u64::MAX, ends: u64::MAX };

    fn of(waiter: &Waiter<'_>) -> Sum {
        let ends = if waiter.until == 0 { u64::MAX } else { waiter.until };
        Sum { entries: 1, units: waiter.qty.into(), least: waiter.qty, ends }
    }

    fn with(self, other: Sum) -> Sum {
        Sum {
            entries: self.entries + other.entries,
            units: self.units + other.units,
            least: self.least.min(other.least),
            ends: self.ends.min(other.ends),
        }
    }
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<u8>),
    Inner(Vec<Branch>),
}

/// A node that has entries, and what they come to.
#[derive(Clone, Debug)]
struct Branch {
    sum: Sum,
    /// No ticket in it is lower, and none before it as high.
    first: u64,
    node: Node,
}

/// The list. See the module's comment.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// The branches of the root, all of the same height.
    root: Vec<Branch>,
    /// Inner nodes between the root and a leaf.
    height: u32,
}

/// What all these branches come to.
fn total(branches: &[Branch]) -> Sum {
    branches.iter().fold(Sum::NONE, |sum, branch| sum.with(branch.sum))
}

/// The branch in which this ticket would lie.
fn place_of(branches: &[Branch], ticket: u64) -> Option<usize> {
    branches.partition_point(|branch| branch.first <= ticket).checked_sub(1)
}

impl Node {
    fn sum(&self) -> Sum {
        match self {
            Node::Leaf(bytes) => {
                entry::all(bytes).fold(Sum::NONE, |sum, waiter| sum.with(Sum::of(&waiter)))
            }
            Node::Inner(branches) => total(branches),
        }
    }
}

impl Branch {
    /// A branch of this height whose only entry this is.
    fn new(waiter: &Waiter<'_>, height: u32) -> Branch {
        let node = match height.checked_sub(1) {
            None => {
                let mut bytes = Vec::new();
                entry::write(&mut bytes, waiter);
                Node::Leaf(bytes)
            }
            Some(below) => Node::Inner(vec![Branch::new(waiter, below)]),
        };
        Branch { sum: Sum::of(waiter), first: waiter.ticket, node }
    }

    /// Appends an entry. False when it is full.
    fn append(&mut self, waiter: &Waiter<'_>) -> bool {
        let appended = match &mut self.node {
            Node::Leaf(bytes) if self.sum.entries < NODE_MAX as u64 => {
                entry::write(bytes, waiter);
                true
            }
            Node::Leaf(bytes) => {
                // Nothing comes to it any more.
                bytes.shrink_to_fit();
                false
            }
            Node::Inner(branches) => append(branches, waiter, None),
        };
        if appended {
            self.sum = self.sum.with(Sum::of(waiter));
        }
        appended
    }

    /// Takes in the branch that follows it, if both fit into one. False when they don't.
    fn absorb(&mut self, next: &mut Branch) -> bool {
        match (&mut self.node, &mut next.node) {
            (Node::Leaf(bytes), Node::Leaf(others)) => {
                if self.sum.entries + next.sum.entries > NODE_JOINED as u64 {
                    return false;
                }
                bytes.reserve_exact(others.len());
                bytes.append(others);
            }
            (Node::Inner(branches), Node::Inner(others)) => {
                if branches.len() + others.len() > NODE_JOINED {
                    return false;
                }
                branches.append(others);
            }
            _ => return false,
        }
        self.sum = self.sum.with(next.sum);
        true
    }
}

/// Appends an entry below `branches`. False when they are full. `height` is that of a branch;
/// where it is not given, that of those that are there.
fn append(branches: &mut Vec<Branch>, waiter: &Waiter<'_>, height: Option<u32>) -> bool {
    if branches.last_mut().is_some_and(|last| last.append(waiter)) {
        return true;
    }
    if branches.len() >= NODE_MAX {
        return false;
    }
    let height = height.unwrap_or_else(|| height_of(branches));
    branches.push(Branch::new(waiter, height));
    true
}

/// Inner nodes between one of these branches and a leaf, itself included.
fn height_of(branches: &[Branch]) -> u32 {
    match branches.first().map(|branch| &branch.node) {
        Some(Node::Inner(below)) => 1 + height_of(below),
        _ => 0,
    }
}

/// Takes the entry of this ticket out. False when there is none.
fn remove(branches: &mut Vec<Branch>, ticket: u64) -> bool {
    let Some(place) = place_of(branches, ticket) else { return false };
    let branch = &mut branches[place];
    let removed = match &mut branch.node {
        Node::Leaf(bytes) => match entry::span(bytes, ticket) {
            Some(span) => {
                bytes.drain(span);
                true
            }
            None => false,
        },
        Node::Inner(below) => remove(below, ticket),
    };
    if !removed {
        return false;
    }
    branch.sum = branch.node.sum();
    if branch.sum.entries == 0 {
        branches.remove(place);
    } else {
        join(branches, place);
        join(branches, place.saturating_sub(1));
    }
    true
}

/// Makes the branch at `place` and the next one into one, if they fit.
fn join(branches: &mut Vec<Branch>, place: usize) {
    let Some((one, rest)) = branches.get_mut(place..).and_then(<[_]>::split_first_mut) else {
        return;
    };
    if rest.first_mut().is_some_and(|next| one.absorb(next)) {
        branches.remove(place + 1);
    }
}

/// The leaf that has the first entry of `ticket` or later.
fn leaf_from(branches: &[Branch], ticket: u64) -> Option<&[u8]> {
    let place = place_of(branches, ticket).unwrap_or(0);
    branches.get(place..)?.iter().find_map(|branch| match &branch.node {
        Node::Leaf(bytes) => {
            let is_later = |waiter: Waiter<'_>| waiter.ticket >= ticket;
            entry::all(bytes).any(is_later).then_some(&bytes[..])
        }
        Node::Inner(below) => leaf_from(below, ticket),
    })
}

/// The first entry of `from` or later that `fits`: what fits a sum fits one of its entries.
fn first<'q>(
    branches: &'q [Branch],
    from: u64,
    fits: &impl Fn(&Sum) -> bool,
) -> Option<Waiter<'q>> {
    let place = place_of(branches, from).unwrap_or(0);
    let fitting = branches.get(place..)?.iter().filter(|branch| fits(&branch.sum));
    fitting.into_iter().find_map(|branch| match &branch.node {
        Node::Leaf(bytes) => {
            let is_it = |it: &Waiter<'_>| it.ticket >= from && fits(&Sum::of(it));
            entry::all(bytes).find(is_it)
        }
        Node::Inner(below) => first(below, from, fits),
    })
}

impl Queue {
    /// What all entries come to.
    pub(super) fn sum(&self) -> Sum {
        total(&self.root)
    }

    /// Appends an entry, whose ticket is higher than all others.
    pub(super) fn append(&mut self, waiter: &Waiter<'_>) {
        if append(&mut self.root, waiter, Some(self.height)) {
            return;
        }
        let root = core::mem::take(&mut self.root);
        let first = root.first().map_or(0, |branch| branch.first);
        self.root.push(Branch { sum: total(&root), first, node: Node::Inner(root) });
        self.height += 1;
        self.root.push(Branch::new(waiter, self.height));
    }

    /// Takes the entry of this ticket out. False when there is none.
    pub(super) fn remove(&mut self, ticket: u64) -> bool {
        let removed = remove(&mut self.root, ticket);
        while let [Branch { node: Node::Inner(below), .. }] = &mut self.root[..] {
            self.root = core::mem::take(below);
            self.height -= 1;
        }
        if self.root.is_empty() {
            *self = Queue::default();
        }
        removed
    }

    /// The entry of this ticket.
    pub(super) fn get(&self, ticket: u64) -> Option<Waiter<'_>> {
        let mut branches = &self.root;
        loop {
            match &branches[place_of(branches, ticket)?].node {
                Node::Leaf(bytes) => {
                    return entry::all(bytes).find(|waiter| waiter.ticket == ticket);
                }
                Node::Inner(below) => branches = below,
            }
        }
    }

    /// What the entries before this ticket come to.
    pub(super) fn before(&self, ticket: u64) -> Sum {
        let (mut branches, mut sum) = (&self.root, Sum::NONE);
        while let Some(place) = place_of(branches, ticket) {
            sum = sum.with(total(&branches[..place]));
            match &branches[place].node {
                Node::Leaf(bytes) => {
                    let before = entry::all(bytes).take_while(|waiter| waiter.ticket < ticket);
                    return before.fold(sum, |sum, waiter| sum.with(Sum::of(&waiter)));
                }
                Node::Inner(below) => branches = below,
            }
        }
        sum
    }

    /// The first entry of `from` or later that asks for at most so much.
    pub(super) fn first_within(&self, most: u64, from: u64) -> Option<Waiter<'_>> {
        first(&self.root, from, &|sum| sum.least <= most)
    }

    /// The first entry of `from` or later whose time is over at `t`.
    pub(super) fn first_over(&self, t: u64, from: u64) -> Option<Waiter<'_>> {
        first(&self.root, from, &|sum| sum.ends <= t)
    }

    /// The entries of `ticket` and later, in order.
    pub(super) fn iter_from(&self, ticket: u64) -> impl Iterator<Item = Waiter<'_>> {
        let mut next = ticket;
        let leaves = core::iter::from_fn(move || {
            let (leaf, from) = (leaf_from(&self.root, next)?, next);
            next = entry::all(leaf).last()?.ticket + 1;
            Some(entry::all(leaf).filter(move |waiter| waiter.ticket >= from))
        });
        leaves.flatten()
    }

    /// Ticket of the entry behind so many others.
    pub(super) fn nth(&self, mut number: u64) -> Option<u64> {
        let mut branches = &self.root;
        loop {
            let mut rest = branches.iter();
            let branch = rest.find(|branch| {
                let is_here = number < branch.sum.entries;
                number -= if is_here { 0 } else { branch.sum.entries };
                is_here
            })?;
            match &branch.node {
                Node::Leaf(bytes) => {
                    return entry::all(bytes).nth(number as usize).map(|waiter| waiter.ticket);
                }
                Node::Inner(below) => branches = below,
            }
        }
    }

    /// The entries of all leaves, for a defragmenter that moves them.
    pub(super) fn blocks_mut(&mut self) -> Box<dyn Iterator<Item = &mut Vec<u8>> + '_> {
        blocks_mut(&mut self.root)
    }

    /// Bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        heap_bytes(&self.root)
    }

    /// Blocks of heap in use: what freeing costs.
    pub(super) fn heap_blocks(&self) -> usize {
        heap_blocks(&self.root)
    }
}

fn blocks_mut(branches: &mut [Branch]) -> Box<dyn Iterator<Item = &mut Vec<u8>> + '_> {
    Box::new(branches.iter_mut().flat_map(|branch| match &mut branch.node {
        Node::Leaf(bytes) => Box::new(core::iter::once(bytes)),
        Node::Inner(below) => blocks_mut(below),
    }))
}

fn heap_bytes(branches: &Vec<Branch>) -> usize {
    let below = branches.iter().map(|branch| match &branch.node {
        Node::Leaf(bytes) => bytes.capacity(),
        Node::Inner(below) => heap_bytes(below),
    });
    branches.capacity() * size_of::<Branch>() + below.sum::<usize>()
}

fn heap_blocks(branches: &[Branch]) -> usize {
    let below = branches.iter().map(|branch| match &branch.node {
        Node::Leaf(_) => 1,
        Node::Inner(below) => heap_blocks(below),
    });
    1 + below.sum::<usize>()
}
