//! The terms of a sale: all its settings for users, amounts and times.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::admission::{Admission, AdmissionChange};
use crate::draw::Draw;
use crate::model::limits::{HOLD_MS_MAX, OUTBOX_BYTES_MAX, PERMILLE_ALL, UNITS_MAX};
use crate::model::outcome::Misuse;
use crate::model::wire;
use crate::parts::Split;
use crate::rounds::Schedule;
use crate::waitlist::{WaitTerms, WaitTermsChange};

/// The terms of grants to come. 0 always means "none". Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Units a user may have in live grants.
    #[serde(deserialize_with = "wire::integer")]
    pub limit: u64,
    /// Live grants a user may have.
    #[serde(deserialize_with = "wire::integer")]
    pub grabs: u64,
    /// Time for which a grant is held before it expires, in milliseconds.
    #[serde(deserialize_with = "wire::integer")]
    pub hold_ms: u64,
    /// Time from which GRAB is accepted.
    #[serde(deserialize_with = "wire::integer")]
    pub open_at: u64,
    /// Time from which GRAB is no longer accepted.
    #[serde(deserialize_with = "wire::integer")]
    pub close_at: u64,
    /// The stream that gets an entry for every change.
    #[serde(deserialize_with = "name")]
    pub outbox: Option<Box<[u8]>>,
    /// The kind of units of the sale. Fixed at INIT.
    pub kind: UnitKind,
    /// When rounds begin, in a repeating sale. Fixed at INIT.
    pub schedule: Option<Schedule>,
    /// The users who are admitted to the sale.
    pub admission: Admission,
    /// The split and the number of the part, if the sale is one. Fixed at INIT.
    pub split: Option<Box<Split>>,
    /// Terms of the waiting list, if the sale has one.
    pub waitlist: Option<WaitTerms>,
}

/// The kind of a sale's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnitKind {
    /// As many units as the caller names.
    Counted,
    /// As many units as are drawn.
    Drawn(Draw),
    /// Units of which each has a number.
    Numbered,
}

impl From<Option<Draw>> for UnitKind {
    fn from(draw: Option<Draw>) -> UnitKind {
        draw.map_or(UnitKind::Counted, UnitKind::Drawn)
    }
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            limit: 1,
            grabs: 0,
            hold_ms: 0,
            open_at: 0,
            close_at: 0,
            outbox: None,
            kind: UnitKind::Counted,
            schedule: None,
            admission: Admission::default(),
            split: None,
            waitlist: None,
        }
    }
}

/// Terms that ALTER changes, in the units of [`Terms`]; `None` leaves a term unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsChange {
    /// LIMIT.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub limit: Option<u64>,
    /// GRABS.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub grabs: Option<u64>,
    /// HOLD.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub hold_ms: Option<u64>,
    /// OPENAT.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub open_at: Option<u64>,
    /// CLOSEAT.
    #[serde(deserialize_with = "wire::maybe_integer")]
    pub close_at: Option<u64>,
    /// OUTBOX, which can be set once.
    #[serde(deserialize_with = "name")]
    pub outbox: Option<Box<[u8]>>,
    /// The stream that OUTBOX names is missing: an entry makes it, even if no term changes.
    #[serde(skip)]
    pub remakes_outbox: bool,
    /// ALLOWLIST, MOD, SAMPLE, ADMIT, MASK.
    pub admission: AdmissionChange,
    /// WAITLIST, OFFER, OVERTAKE.
    pub waitlist: WaitTermsChange,
}

impl Terms {
    /// The id of the split that it is a part of.
    pub(crate) fn split_id(&self) -> Option<&[u8]> {
        self.split.as_ref().map(|split| &*split.id)
    }

    /// The terms after `change`.
    pub fn altered(&self, change: &TermsChange) -> Terms {
        Terms {
            limit: change.limit.unwrap_or(self.limit),
            grabs: change.grabs.unwrap_or(self.grabs),
            hold_ms: change.hold_ms.unwrap_or(self.hold_ms),
            open_at: change.open_at.unwrap_or(self.open_at),
            close_at: change.close_at.unwrap_or(self.close_at),
            outbox: change.outbox.clone().or_else(|| self.outbox.clone()),
            kind: self.kind,
            schedule: self.schedule,
            admission: self.admission.altered(&change.admission),
            split: self.split.clone(),
            waitlist: WaitTerms::altered(self.waitlist, &change.waitlist),
        }
    }

    /// The draw of the amounts, if callers don't name them.
    #[inline]
    pub fn draw(&self) -> Option<&Draw> {
        match &self.kind {
            UnitKind::Drawn(draw) => Some(draw),
            UnitKind::Counted | UnitKind::Numbered => None,
        }
    }

    /// Whether this round of a repeating sale has begun at `t`.
    pub(crate) fn has_begun(&self, round: u64, t: u64) -> bool {
        self.schedule.is_some_and(|schedule| round <= schedule.round_at(t))
    }

    /// Whether each unit has a number.
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.kind == UnitKind::Numbered
    }

    /// Whether the terms limit a user's units or grants.
    pub fn limits_users(&self) -> bool {
        self.limit != 0 || self.grabs != 0
    }

    /// Whether a sale on these terms has state that a plain sale has not.
    pub fn has_extras(&self) -> bool {
        let has_list = self.waitlist.is_some();
        let is_counted = self.kind == UnitKind::Counted;
        has_list || !is_counted || self.schedule.is_some() || !self.admission.is_open()
    }

    /// Lifetime of an offer to a waiter, in ms; 0 if no term sets it.
    // Where the compiler inlines it, it compares the list's OFFER before it knows whether there is
    // a list. That is harmless, but memcheck reports a read of memory that was never written.
    #[inline(never)]
    pub fn offer_ms(&self) -> u64 {
        let offer_ms = self.waitlist.map_or(0, |list| list.offer_ms);
        if offer_ms > 0 {
            offer_ms
        } else {
            self.hold_ms
        }
    }

    /// Whether these terms are consistent. INIT, ALTER, APPLY and loading share this check.
    pub fn check(&self) -> Result<(), Misuse> {
        if self.close_at != 0 && self.close_at <= self.open_at {
            return Err(Misuse::WindowEmpty);
        }
        if self.hold_ms > HOLD_MS_MAX {
            return Err(Misuse::HoldTooLong);
        }
        if self.outbox.as_ref().is_some_and(|key| key.len() > OUTBOX_BYTES_MAX) {
            return Err(Misuse::OutboxTooLong);
        }
        // A drawn amount above LIMIT could never be granted.
        if self.draw().is_some() && self.limit != 0 {
            return Err(Misuse::DrawTakesNoLimit);
        }
        if let Some(schedule) = &self.schedule {
            schedule.check()?;
            if self.draw().is_some_and(Draw::is_list) {
                return Err(Misuse::DrawListRepeats);
            }
        }
        if let Some(split) = &self.split {
            split.check()?;
            if self.draw().is_some() || self.schedule.is_some() {
                return Err(Misuse::PartTakesNoDraw);
            }
        }
        if let Some(list) = &self.waitlist {
            list.check(self.hold_ms)?;
            if self.draw().is_some() || self.schedule.is_some() {
                return Err(Misuse::WaitlistTakesNoDraw);
            }
        }
        if self.is_numbered() && (self.schedule.is_some() || self.split.is_some()) {
            return Err(Misuse::NumberedTakesNoDraw);
        }
        self.admission.check()
    }

    /// Whether a sale can begin with `supply` units on these terms. `amounts` are those of DRAW
    /// LIST.
    pub fn check_supply(&self, supply: u64, amounts: &[u64]) -> Result<(), Misuse> {
        if let Some(split) = &self.split {
            split.check_share(supply)?;
        }
        if self.is_numbered() && supply > UNITS_MAX {
            return Err(Misuse::TooManyUnits);
        }
        self.draw().map_or(Ok(()), |draw| draw.check(supply, amounts))
    }
}

/// A term: an option of INIT and ALTER, and its form in entries of the outbox and in STATUS.
#[derive(Debug)]
pub struct Term {
    /// The option.
    pub option: &'static str,
    /// Whether ALTER takes it; otherwise it is fixed at INIT.
    pub is_altered: bool,
    /// The name in entries and in STATUS, and its value in entries.
    pub field: Option<(&'static str, Shown)>,
    /// Where STATUS shows it, and its value there.
    status: Option<(Section, Number)>,
}

/// The number of a term; none if the sale does not have the term.
type Number = fn(&Terms) -> Option<u64>;

/// The value of a term in an entry; without one it is left out.
#[derive(Clone, Copy, Debug)]
pub enum Shown {
    /// A number.
    Number(Number),
    /// `true`, or left out.
    Flag(fn(&Terms) -> bool),
    /// A word, or several.
    Word(fn(&Terms) -> Option<String>),
}

/// A section of STATUS where terms are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Terms of every sale.
    Sale,
    /// Terms of a part of a split.
    Part,
    /// Terms of the waiting list.
    List,
    /// Terms of numbered units.
    Units,
}

const fn term(option: &'static str) -> Term {
    Term { option, is_altered: true, field: None, status: None }
}

impl Term {
    const fn number(self, field: &'static str, value: Number) -> Term {
        Term { field: Some((field, Shown::Number(value))), ..self }
    }

    const fn flag(self, field: &'static str, is_set: fn(&Terms) -> bool) -> Term {
        Term { field: Some((field, Shown::Flag(is_set))), ..self }
    }

    const fn word(self, field: &'static str, value: fn(&Terms) -> Option<String>) -> Term {
        Term { field: Some((field, Shown::Word(value))), ..self }
    }

    const fn status(self, section: Section, value: Number) -> Term {
        Term { status: Some((section, value)), ..self }
    }

    const fn fixed(self) -> Term {
        Term { is_altered: false, ..self }
    }

    /// Where STATUS shows it.
    pub fn section(&self) -> Option<Section> {
        self.status.map(|(section, _)| section)
    }
}

/// A number that is 0 if it is not set.
fn some(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

/// All terms. Entries and STATUS show them in this order. Secret terms and terms of arbitrary bytes
/// have no field.
pub static TERMS: [Term; 26] = [
    term("LIMIT").number("limit", |it| some(it.limit)).status(Section::Sale, |it| Some(it.limit)),
    term("GRABS").number("grabs", |it| some(it.grabs)).status(Section::Sale, |it| Some(it.grabs)),
    term("HOLD")
        .number("hold_ms", |it| some(it.hold_ms))
        .status(Section::Sale, |it| Some(it.hold_ms)),
    term("OPENAT")
        .number("open_at", |it| some(it.open_at))
        .status(Section::Sale, |it| Some(it.open_at)),
    term("CLOSEAT")
        .number("close_at", |it| some(it.close_at))
        .status(Section::Sale, |it| Some(it.close_at)),
    term("OUTBOX"),
    term("DRAW").word("draw", |it| it.draw().map(Draw::text)).fixed(),
    term("MIN").fixed(),
    term("EVERY").number("every_ms", |it| Some(it.schedule?.period_ms)).fixed(),
    term("OFFSET").number("offset_ms", |it| some(it.schedule?.offset_ms)).fixed(),
    term("LASTS").number("lasts_ms", |it| Some(it.schedule?.lasts_ms)).fixed(),
    term("CARRY").flag("carry", |it| it.schedule.is_some_and(|it| it.carry)).fixed(),
    term("ALLOWLIST").flag("allowlist", |it| it.admission.allowlist),
    term("MOD").number("mod", |it| some(it.admission.modulo.as_ref()?.modulus)),
    term("SAMPLE").number("sample", |it| {
        let permille = it.admission.sample.as_ref()?.permille;
        (permille != PERMILLE_ALL).then_some(permille)
    }),
    term("SALT"),
    term("ADMIT").number("admit", |it| some(it.admission.admit)),
    term("MASK").flag("mask", |it| it.admission.mask),
    term("PART")
        .number("part", |it| Some(it.split.as_ref()?.part.into()))
        .status(Section::Part, |it| Some(it.split.as_ref()?.part.into()))
        .fixed(),
    term("OF")
        .number("parts", |it| Some(it.split.as_ref()?.parts.get().into()))
        .status(Section::Part, |it| Some(it.split.as_ref()?.parts.get().into()))
        .fixed(),
    term("SPLIT").fixed(),
    term("TOTAL").number("total", |it| Some(it.split.as_ref()?.total)).fixed(),
    term("WAITLIST")
        .number("waitlist", |it| some(it.waitlist?.max))
        .status(Section::List, |it| Some(it.waitlist?.max)),
    term("OFFER")
        .number("offer_ms", |it| some(it.waitlist?.offer_ms))
        .status(Section::List, |it| it.waitlist.map(|_| it.offer_ms())),
    term("OVERTAKE")
        .number("overtake", |it| Some(it.waitlist?.overtake))
        .status(Section::List, |it| Some(it.waitlist?.overtake)),
    term("NUMBERED")
        .number("numbered", |it| it.is_numbered().then_some(1))
        .status(Section::Units, |it| it.is_numbered().then_some(1))
        .fixed(),
];

impl Terms {
    /// The terms that STATUS shows in a section, by name.
    pub fn shown(&self, at: Section) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        TERMS.iter().filter_map(move |term| {
            let (section, value) = term.status?;
            let (name, _) = term.field?;
            (section == at).then(|| value(self)).flatten().map(|number| (name, number))
        })
    }
}

/// The name of a stream, if any.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<[u8]>>, D::Error> {
    let name: Option<&[u8]> = Option::deserialize(from)?;
    match name.is_none_or(|name| (1..=OUTBOX_BYTES_MAX).contains(&name.len())) {
        true => Ok(name.map(Box::from)),
        false => Err(D::Error::custom("a name of no bytes, or of too many")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use core::num::NonZeroU16;

    use super::*;

    /// Terms and their bytes, as INIT and the base of a dump have them.
    pub(crate) fn terms_and_bytes() -> [(Terms, &'static [u8]); 4] {
        let (outbox, none) = (Some(Box::from(*b"s")), Terms::default());
        let kind = UnitKind::Drawn(Draw::Equal { packets: 2 });
        let parts = NonZeroU16::new(1024).expect("a number");
        let split = Some(Box::new(Split { part: 2, parts, id: Box::from(*b"s-1"), total: 300 }));
        [
            (
                Terms { limit: 2, open_at: 5, close_at: 9, ..none.clone() },
                b"\x02\0\0\x05\x09\0\0\0\0\0\0\0\0\0\0",
            ),
            (
                Terms { kind, outbox, ..none.clone() },
                b"\x01\0\0\0\0\x01\x01s\x01\x02\x02\0\0\0\0\0\0\0\0",
            ),
            (
                Terms { split, ..none.clone() },
                b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02\x80\x08\x03s-1\xac\x02\0",
            ),
            (Terms { kind: UnitKind::Numbered, ..none }, b"\x01\0\0\0\0\0\x02\0\0\0\0\0\0\0\0"),
        ]
    }

    /// A change of terms and its bytes in ALTER.
    pub(crate) fn change_and_bytes() -> (TermsChange, &'static [u8]) {
        let change = TermsChange { limit: Some(3), close_at: Some(0), ..TermsChange::default() };
        (change, b"\x01\x03\0\0\0\x01\0\0\0\0\0\0\0\0\0\0")
    }
}
