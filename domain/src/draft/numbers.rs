//! Numbered units in a draft.

use std::collections::BTreeMap;

use super::{Draft, Touched};
use crate::model::outcome::{check, Refused, State};
use crate::numbers::UnitList;
use crate::units::{Free, Overlaid, Overlay, Units};

/// The numbers of a sale's units as they would stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumbersDraft {
    /// All numbers including added ones; None if none were added.
    grown: Option<Units>,
    changes: Overlay,
    /// New grants.
    grants: u64,
    /// The numbers of new grants and of grants whose numbers changed, by seq.
    lists: BTreeMap<u64, UnitList>,
}

impl Touched {
    /// The numbers of a grant that is new or whose numbers changed.
    pub(crate) fn units_of(&self, seq: u64) -> Option<&UnitList> {
        self.numbers.as_ref()?.lists.get(&seq)
    }
}

impl<'s> Draft<'s> {
    fn numbers(&self) -> Option<&NumbersDraft> {
        self.touched.as_ref()?.numbers.as_deref()
    }

    /// The numbers under the changes so far; None if units have no numbers.
    fn units(&self) -> Option<Overlaid<'_>> {
        let draft = self.numbers();
        let grown = draft.and_then(|draft| draft.grown.as_ref());
        let units = grown.or_else(|| Some(self.sale.numbers()?.units()))?;
        Some(Overlaid { units, overlay: draft.map(|draft| &draft.changes) })
    }

    /// The numbers with a tree that is up to date, so that runs can be looked for.
    fn runs(&mut self) -> Option<Overlaid<'_>> {
        if let Some(draft) = self.touched.as_mut().and_then(|it| it.numbers.as_deref_mut()) {
            let NumbersDraft { grown, changes, .. } = draft;
            changes.refresh(grown.as_ref().or_else(|| Some(self.sale.numbers()?.units()))?);
        }
        self.units()
    }

    /// Frees or takes numbers.
    fn set_units(&mut self, these: &[u32], free: bool) -> Result<(), Refused> {
        let sale = self.sale;
        let draft = self.touched_mut().numbers.get_or_insert_with(Box::default);
        let stored = || sale.numbers().map(|numbers| numbers.units());
        let units = draft.grown.as_ref().or_else(stored).ok_or(Refused::Law)?;
        draft.changes.set(units, these, free).map_err(|_| Refused::Law)
    }

    /// The numbers that a grant has or had last; none if units have no numbers.
    pub(crate) fn units_of(&self, seq: u64) -> UnitList {
        let changed = self.touched.as_ref().and_then(|touched| touched.units_of(seq)).cloned();
        changed.or_else(|| Some(self.sale.numbers()?.of(seq))).unwrap_or_default()
    }

    /// Notes the numbers of a grant whose numbers were taken.
    pub(crate) fn note_units(&mut self, seq: u64, these: &[u32]) {
        if let Some(draft) = &mut self.touched_mut().numbers {
            draft.lists.insert(seq, these.into());
        }
    }

    /// Changes the numbers of a live grant from `had` to `has`, both ascending.
    pub(crate) fn renumber(&mut self, seq: u64, had: &[u32], has: &[u32]) -> Result<(), Refused> {
        self.set_units(&without(had, has), true)?;
        self.set_units(&without(has, had), false)?;
        self.note_units(seq, has);
        Ok(())
    }

    /// Takes the numbers of a new grant.
    pub(crate) fn take_units(&mut self, these: &[u32], is_live: bool) -> Result<(), Refused> {
        self.set_units(if is_live { these } else { &[] }, false)?;
        if let Some(draft) = &mut self.touched_mut().numbers {
            draft.grants += 1;
        }
        Ok(())
    }

    /// Moves the numbers of a grant with its units, if they have any.
    pub(crate) fn move_units(&mut self, seq: u64, from: State, to: State) -> Result<(), Refused> {
        match self.sale.numbers().is_some() && from.is_live() != to.is_live() {
            true => self.set_units(&self.units_of(seq), from.is_live()),
            false => Ok(()),
        }
    }

    /// Adds numbers after the last one, if units have numbers. Refused after other changes of
    /// numbers: a RESTOCK comes first in its step.
    pub(crate) fn add_units(&mut self, more: i64) -> Result<(), Refused> {
        let Some(numbers) = self.sale.numbers() else { return Ok(()) };
        let draft = self.touched_mut().numbers.get_or_insert_with(Box::default);
        check(draft.changes.is_empty())?;
        let grown = draft.grown.get_or_insert_with(|| numbers.units().clone());
        grown.grow(more as u32);
        Ok(())
    }

    /// Whether every new grant has numbers, and as many numbers are free as units are available.
    pub(crate) fn numbers_agree(&self) -> bool {
        let Some(units) = self.units() else { return true };
        let free = units.overlay.map_or(units.units.free(), |it| it.free(units.units));
        let grants = self.balances.grants - self.sale.balances.grants;
        self.numbers().map_or(0, |draft| draft.grants) == grants
            && u64::from(free) == self.balances.available
    }

    /// Numbers that the draft has freed.
    pub(crate) fn freed_units(&self) -> u32 {
        self.numbers().map_or(0, |draft| draft.changes.freed())
    }

    /// Whether all of `these` exist and are free.
    pub(crate) fn are_free(&self, these: &[u32]) -> bool {
        self.first_taken(these).is_none()
    }

    /// The first of these numbers that is not free.
    pub(crate) fn first_taken(&self, these: &[u32]) -> Option<u32> {
        let units = self.units()?;
        these.iter().copied().find(|unit| !units.is_free(*unit))
    }

    /// The longest run of free numbers.
    pub(crate) fn longest_run(&mut self) -> u32 {
        self.runs().map_or(0, |units| units.longest_run())
    }

    /// Whether a number of this grant is in a run of `qty` free ones.
    pub(crate) fn is_in_run(&self, seq: u64, qty: u64) -> bool {
        let Some(units) = self.units() else { return false };
        self.units_of(seq).iter().any(|unit| units.is_in_run(*unit, qty as u32))
    }

    /// The numbers for a grant of `qty` units: the lowest run, or the lowest free numbers if no run
    /// is long enough.
    pub(crate) fn lowest_units(&mut self, qty: u64) -> UnitList {
        let Some(units) = self.runs() else { return UnitList::new() };
        match units.lowest_run(qty as u32) {
            Some(first) => (first..first + qty as u32).collect(),
            None => units.iter_free().take(qty as usize).collect(),
        }
    }
}

/// The numbers of `units` that `others` lacks; both are sorted.
pub(crate) fn without(units: &[u32], others: &[u32]) -> UnitList {
    units.iter().copied().filter(|unit| others.binary_search(unit).is_err()).collect()
}
