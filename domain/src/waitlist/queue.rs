//! A tree of the entries in ticket order, with sums over each branch.
//!
//! The path to an entry is the digits of its ticket. A leaf is for 16 consecutive tickets, an inner
//! node for 32 branches. Empty branches are not stored ("array mapped tries", Bagwell, 2000).
//! Tickets only grow: entries are appended and may leave anywhere, and nothing is split or
//! balanced. Each branch has sums over the entries below it (their number, their units, the
//! smallest quantity, the earliest end) and over the branches before it in its node. So one descent
//! finds the place of an entry, the first entry that can be served whole, or the first whose time
//! is over. A place costs one branch a level and a few entries; in a long list each is a cache
//! miss. A Fenwick tree would be shorter code. But it needs a slot for every ticket ever given out,
//! or a rebuild, which would block the server at a million entries.

use super::{all, span, write, Waiter};

/// Bits of a ticket that select an entry in a leaf.
const LEAF_BITS: u32 = 4;

/// Bits of a ticket that select a branch of an inner node.
const NODE_BITS: u32 = 5;

/// Sums over a part of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Units asked for, saturating at the largest number.
    pub units: u64,
    /// The smallest quantity.
    pub least: u64,
    /// The earliest end; the largest number if none has one.
    pub ends: u64,
    /// The latest end; the largest number if one has none.
    pub last_ends: u64,
    /// Entries.
    pub entries: u32,
}

impl Sum {
    const NONE: Sum = Sum { units: 0, least: u64::MAX, ends: u64::MAX, last_ends: 0, entries: 0 };

    fn of(waiter: &Waiter<'_>) -> Sum {
        let ends = if waiter.until == 0 { u64::MAX } else { waiter.until };
        Sum { units: waiter.qty, least: waiter.qty, ends, last_ends: ends, entries: 1 }
    }

    fn with(self, other: Sum) -> Sum {
        Sum {
            units: self.units.saturating_add(other.units),
            least: self.least.min(other.least),
            ends: self.ends.min(other.ends),
            last_ends: self.last_ends.max(other.last_ends),
            entries: self.entries + other.entries,
        }
    }
}

/// Sums over the entries before a ticket, and the ticket's entry, if it exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'q> {
    pub(super) ahead: u64,
    /// Units of the entries before it, saturating at the largest number.
    pub(super) units_ahead: u64,
    pub(super) waiter: Option<Waiter<'q>>,
}

impl Found<'_> {
    fn pass(&mut self, entries: u32, units: u64) {
        self.ahead += u64::from(entries);
        self.units_ahead = self.units_ahead.saturating_add(units);
    }
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<u8>),
    Inner(Box<[Branch]>),
}

/// A node and its sums.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) sum: Sum,
    /// Units and entries of the branches before it in the same node.
    units_before: u64,
    entries_before: u32,
    /// A bit for each digit that has an entry or a branch.
    digits: u32,
    node: Node,
}

/// The list. See the module's comment.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub(super) root: Branch,
    /// Inner nodes between the top and a leaf, that of the top included.
    height: u32,
    /// The leading bits that all tickets share, before the digits in the tree.
    prefix: u64,
}

/// Number of ticket bits in a tree of this height.
fn bits_of(height: u32) -> u32 {
    LEAF_BITS + NODE_BITS * height
}

/// The digit of a ticket in a node of this height.
fn digit_of(ticket: u64, height: u32) -> u32 {
    match height.checked_sub(1) {
        Some(below) => (ticket >> bits_of(below)) as u32 & ((1 << NODE_BITS) - 1),
        None => ticket as u32 & ((1 << LEAF_BITS) - 1),
    }
}

/// Adds a branch behind all others.
fn push(branches: &mut Box<[Branch]>, branch: Branch) {
    let mut all = core::mem::take(branches).into_vec();
    all.reserve_exact(1);
    all.push(branch);
    *branches = all.into_boxed_slice();
}

impl Default for Branch {
    fn default() -> Branch {
        let (sum, node) = (Sum::NONE, Node::Leaf(Vec::new()));
        Branch { sum, units_before: 0, entries_before: 0, digits: 0, node }
    }
}

impl Branch {
    /// Number of present digits below `digit`, and whether `digit` is present.
    fn place_of(&self, digit: u32) -> (usize, bool) {
        let lower = self.digits & ((1 << digit) - 1);
        (lower.count_ones() as usize, self.digits >> digit & 1 == 1)
    }

    /// Appends an entry; its ticket is above all others.
    fn append(&mut self, waiter: &Waiter<'_>, height: u32) {
        let digit = digit_of(waiter.ticket, height);
        match &mut self.node {
            Node::Leaf(bytes) => write(bytes, waiter),
            Node::Inner(branches) => {
                if self.digits >> digit & 1 == 0 {
                    if let Some(Branch { node: Node::Leaf(bytes), .. }) = branches.last_mut() {
                        // No entry will be added to it any more.
                        bytes.shrink_to_fit();
                    }
                    let node = match height {
                        1 => Node::Leaf(Vec::new()),
                        _ => Node::Inner(Box::default()),
                    };
                    let (units_before, entries_before) = (self.sum.units, self.sum.entries);
                    let new = Branch { units_before, entries_before, node, ..Branch::default() };
                    push(branches, new);
                }
                if let Some(last) = branches.last_mut() {
                    last.append(waiter, height - 1);
                }
            }
        }
        self.digits |= 1 << digit;
        self.sum = self.sum.with(Sum::of(waiter));
    }

    /// Removes the entry of this ticket. False if there is none.
    fn remove(&mut self, ticket: u64, height: u32) -> bool {
        let digit = digit_of(ticket, height);
        let (place, true) = self.place_of(digit) else { return false };
        match &mut self.node {
            Node::Leaf(bytes) => {
                let Some(span) = span(bytes, ticket) else { return false };
                bytes.drain(span);
                if bytes.len() <= bytes.capacity() / 2 {
                    bytes.shrink_to_fit();
                }
                self.digits &= !(1 << digit);
            }
            Node::Inner(branches) => {
                if !branches[place].remove(ticket, height - 1) {
                    return false;
                }
                if branches[place].sum.entries == 0 {
                    let mut all = core::mem::take(branches).into_vec();
                    all.remove(place);
                    *branches = all.into_boxed_slice();
                    self.digits &= !(1 << digit);
                }
            }
        }
        self.sum_up();
        true
    }

    /// Recomputes its sums after an entry below it has left.
    fn sum_up(&mut self) {
        self.sum = match &mut self.node {
            Node::Leaf(bytes) => {
                all(bytes).fold(Sum::NONE, |sum, waiter| sum.with(Sum::of(&waiter)))
            }
            Node::Inner(branches) => branches.iter_mut().fold(Sum::NONE, |sum, branch| {
                (branch.units_before, branch.entries_before) = (sum.units, sum.entries);
                sum.with(branch.sum)
            }),
        };
    }

    /// The first leaf with an entry from `from` on that `fits`. A sum that fits has an entry that
    /// fits.
    fn leaf_with(&self, height: u32, from: u64, fits: &impl Fn(&Sum) -> bool) -> Option<&[u8]> {
        let branches = match &self.node {
            Node::Leaf(bytes) => {
                let is_it = |it: Waiter<'_>| it.ticket >= from && fits(&Sum::of(&it));
                return all(bytes).any(is_it).then_some(bytes);
            }
            Node::Inner(branches) => branches,
        };
        let (place, is_within) = self.place_of(digit_of(from, height));
        let mut from = if is_within { from } else { 0 };
        branches.get(place..)?.iter().find_map(|branch| {
            // All tickets after the first branch are later than `from`.
            let from = core::mem::take(&mut from);
            fits(&branch.sum).then(|| branch.leaf_with(height - 1, from, fits)).flatten()
        })
    }

    /// The entries of all leaves, for a defragmenter that moves them.
    fn blocks_mut(&mut self) -> Box<dyn Iterator<Item = &mut Vec<u8>> + '_> {
        match &mut self.node {
            Node::Leaf(bytes) => Box::new(core::iter::once(bytes)),
            Node::Inner(branches) => Box::new(branches.iter_mut().flat_map(Branch::blocks_mut)),
        }
    }

    /// Bytes of heap in use.
    pub(super) fn heap_bytes(&self) -> usize {
        match &self.node {
            Node::Leaf(bytes) => bytes.capacity(),
            Node::Inner(branches) => {
                let below = branches.iter().map(Branch::heap_bytes);
                size_of_val(&branches[..]) + below.sum::<usize>()
            }
        }
    }
}

impl Queue {
    /// Appends an entry; its ticket is above all others.
    pub(super) fn append(&mut self, waiter: &Waiter<'_>) {
        if self.root.sum.entries == 0 {
            *self = Queue { prefix: waiter.ticket >> LEAF_BITS, ..Queue::default() };
        }
        while waiter.ticket >> bits_of(self.height) != self.prefix {
            let below = core::mem::take(&mut self.root);
            self.height += 1;
            let digits = 1 << (self.prefix & ((1 << NODE_BITS) - 1));
            self.prefix >>= NODE_BITS;
            let (sum, node) = (below.sum, Node::Inner(Box::new([below])));
            self.root = Branch { sum, digits, node, ..Branch::default() };
        }
        self.root.append(waiter, self.height);
    }

    /// Removes the entry of this ticket, if it exists.
    pub(super) fn remove(&mut self, ticket: u64) {
        if ticket >> bits_of(self.height) == self.prefix {
            self.root.remove(ticket, self.height);
        }
        // A top with one branch is replaced by that branch, an empty top by a leaf.
        while let Branch { digits, node: Node::Inner(branches), .. } = &mut self.root {
            let [branch] = &mut branches[..] else { break };
            self.prefix = self.prefix << NODE_BITS | u64::from(digits.trailing_zeros());
            self.height -= 1;
            self.root = core::mem::take(branch);
        }
        if self.root.sum.entries == 0 {
            *self = Queue::default();
        }
    }

    /// The entry of this ticket, and the sums over the entries before it.
    pub(super) fn find(&self, ticket: u64) -> Found<'_> {
        let mut found = Found { ahead: 0, units_ahead: 0, waiter: None };
        let (mut branch, mut height) = (&self.root, self.height);
        match (ticket >> bits_of(height)).cmp(&self.prefix) {
            core::cmp::Ordering::Less => return found,
            core::cmp::Ordering::Greater => {
                found.pass(branch.sum.entries, branch.sum.units);
                return found;
            }
            core::cmp::Ordering::Equal => {}
        }
        while let Node::Inner(branches) = &branch.node {
            let (place, is_there) = branch.place_of(digit_of(ticket, height));
            match branches.get(place) {
                Some(next) => {
                    found.pass(next.entries_before, next.units_before);
                    if !is_there {
                        return found;
                    }
                    (branch, height) = (next, height - 1);
                }
                None => {
                    found.pass(branch.sum.entries, branch.sum.units);
                    return found;
                }
            }
        }
        if let Node::Leaf(bytes) = &branch.node {
            for waiter in all(bytes).take_while(|waiter| waiter.ticket <= ticket) {
                match waiter.ticket == ticket {
                    true => found.waiter = Some(waiter),
                    false => found.pass(1, waiter.qty),
                }
            }
        }
        found
    }

    /// The first entry from `from` on that `fits`.
    fn first(&self, from: u64, fits: &impl Fn(&Sum) -> bool) -> Option<Waiter<'_>> {
        let leaf = self.leaf_with(from, fits)?;
        all(leaf).find(|it| it.ticket >= from && fits(&Sum::of(it)))
    }

    fn leaf_with(&self, from: u64, fits: &impl Fn(&Sum) -> bool) -> Option<&[u8]> {
        // The prefix is compared first: by its digits alone a ticket before or after all entries
        // looks like one of them.
        match (from >> bits_of(self.height)).cmp(&self.prefix) {
            core::cmp::Ordering::Less => self.root.leaf_with(self.height, 0, fits),
            core::cmp::Ordering::Equal => self.root.leaf_with(self.height, from, fits),
            core::cmp::Ordering::Greater => None,
        }
    }

    /// The first entry from `from` on that asks for at most `most` units.
    pub(super) fn first_within(&self, most: u64, from: u64) -> Option<Waiter<'_>> {
        self.first(from, &|sum| sum.least <= most)
    }

    /// The first entry from `from` on whose time is over at `t`.
    pub(super) fn first_over(&self, t: u64, from: u64) -> Option<Waiter<'_>> {
        self.first(from, &|sum| sum.ends <= t)
    }

    /// The entries from `ticket` on, in order.
    pub(super) fn iter_from(&self, ticket: u64) -> impl Iterator<Item = Waiter<'_>> {
        let mut next = ticket;
        let leaves = core::iter::from_fn(move || {
            let (leaf, from) = (self.leaf_with(next, &|_| true)?, next);
            next = all(leaf).last()?.ticket + 1;
            Some(all(leaf).filter(move |waiter| waiter.ticket >= from))
        });
        leaves.flatten()
    }

    /// The first ticket. Every lookup takes this path, so it is in the caches.
    pub(super) fn oldest(&self) -> Option<u64> {
        let mut node = &self.root.node;
        while let Node::Inner(branches) = node {
            node = &branches.first()?.node;
        }
        let Node::Leaf(bytes) = node else { return None };
        all(bytes).next().map(|waiter| waiter.ticket)
    }

    /// Ticket of the entry after the first `number`.
    pub(super) fn nth(&self, mut number: u64) -> Option<u64> {
        let mut node = &self.root.node;
        while let Node::Inner(branches) = node {
            let is_here = |branch: &Branch| u64::from(branch.entries_before) <= number;
            let branch = &branches[branches.partition_point(is_here).checked_sub(1)?];
            number -= u64::from(branch.entries_before);
            node = &branch.node;
        }
        let Node::Leaf(bytes) = node else { return None };
        all(bytes).nth(number as usize).map(|waiter| waiter.ticket)
    }

    /// The entries of all leaves, for a defragmenter that moves them.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        self.root.blocks_mut().filter(|bytes| bytes.capacity() > 0)
    }
}
