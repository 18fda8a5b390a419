//! The part of a list that is not written out: what a round began with.

use std::collections::VecDeque;
use std::sync::Arc;

use super::returned::bytes_of;
use super::told::Told;
use super::Item;

/// Amounts that a round has begun with, or that it got from the one before.
#[derive(Clone, Debug)]
enum Part {
    /// The last so many of the told list, written one behind the other as often as needed.
    Told(u64),
    /// What came back in an earlier round, but for the first ones, which were drawn.
    Carried { amounts: Arc<VecDeque<u64>>, drawn: usize },
}

impl Part {
    fn len(&self) -> u64 {
        match self {
            Part::Told(len) => *len,
            Part::Carried { amounts, drawn } => (amounts.len() - drawn) as u64,
        }
    }

    /// The amount at a place that it has.
    fn at(&self, place: u64, told: &Told) -> Option<u64> {
        match self {
            Part::Told(len) => told.first_of_last(len - place),
            Part::Carried { amounts, drawn } => amounts.get(drawn + place as usize).copied(),
        }
    }

    /// Drops the first amount.
    fn advance(&mut self) {
        match self {
            Part::Told(len) => *len -= 1,
            Part::Carried { drawn, .. } => *drawn += 1,
        }
    }

    /// Its amounts as a snapshot writes them.
    fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let (told, carried) = match self {
            Part::Told(len) => (Some(Item::Told(*len)), None),
            Part::Carried { amounts, drawn } => (None, Some(amounts.iter().skip(*drawn))),
        };
        told.into_iter().chain(carried.into_iter().flatten().copied().map(Item::One))
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Part::Told(_) => 0,
            Part::Carried { amounts, .. } => bytes_of(amounts),
        }
    }
}

/// Parts in the order in which they are drawn. None of them is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Front {
    parts: VecDeque<Part>,
    len: u64,
}

impl Front {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many amounts they have.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The amount at a place.
    pub(super) fn at(&self, mut place: u64, told: &Told) -> Option<u64> {
        for part in &self.parts {
            let Some(further) = place.checked_sub(part.len()) else { return part.at(place, told) };
            place = further;
        }
        None
    }

    /// Takes the first amount out.
    pub(super) fn take_first(&mut self, told: &Told) -> Option<u64> {
        let first = self.at(0, told)?;
        let part = self.parts.front_mut()?;
        part.advance();
        if part.len() == 0 {
            self.parts.pop_front();
        }
        self.len -= 1;
        Some(first)
    }

    /// Adds the last so many of the told list at the end.
    pub(super) fn append_told(&mut self, len: u64) {
        match self.parts.back_mut() {
            // Those there end where the told list does.
            Some(Part::Told(last)) => *last += len,
            _ => self.parts.push_back(Part::Told(len)),
        }
        self.len += len;
    }

    /// Adds what came back at the end.
    pub(super) fn append(&mut self, amounts: Arc<VecDeque<u64>>) {
        if !amounts.is_empty() {
            self.len += amounts.len() as u64;
            self.parts.push_back(Part::Carried { amounts, drawn: 0 });
        }
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
        self.len = 0;
    }

    /// Whether it ends with amounts of the told list.
    pub(super) fn ends_with_told(&self) -> bool {
        matches!(self.parts.back(), Some(Part::Told(_)))
    }

    /// All amounts, in order, as a snapshot writes them.
    pub(super) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.parts.iter().flat_map(Part::items)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let carried = self.parts.iter().map(Part::heap_bytes).sum::<usize>();
        self.parts.capacity() * size_of::<Part>() + carried
    }

    /// Blocks of heap in use beside that of the parts themselves.
    pub(super) fn heap_blocks(&self) -> usize {
        self.parts.len()
    }
}
