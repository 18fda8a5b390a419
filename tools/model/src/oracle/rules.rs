//! The terms of a sale.

use super::entries::{number, unless_0};
use super::units::UNITS_MAX;
use super::{waitlist, Drawing, Every, GatePatch, Gates, ListPatch, ListRules, Part, HOLD_MAX};

/// The terms of a sale; 0 means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub limit: u64,
    pub grabs: u64,
    pub hold_ms: u64,
    pub open_at: u64,
    pub close_at: u64,
    /// The stream's name.
    pub outbox: Option<char>,
    pub drawing: Drawing,
    pub every: Option<Every>,
    pub gates: Gates,
    pub part: Option<Part>,
    pub list: Option<ListRules>,
    pub numbered: bool,
}

impl Rules {
    /// Fails if INIT and ALTER refuse these terms.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_named = self.drawing == Drawing::Named;
        let has_list = matches!(self.drawing, Drawing::List(_));
        let (every, part, list) = (self.every, self.part, self.list);
        let has_window = self.close_at == 0 || self.close_at > self.open_at;
        let lasts = |list: ListRules| list.max == 0 || list.offer_ms > 0 || self.hold_ms > 0;
        let is_plain = is_named && every.is_none();
        let refusals = [
            ("terms", !has_window || self.hold_ms > HOLD_MAX),
            ("limit", !is_named && self.limit != 0),
            ("rounds", every.is_some_and(|every| !every.is_possible() || has_list)),
            ("part", part.is_some_and(|part| !part.is_possible())),
            ("part draws", part.is_some() && !is_plain),
            ("list", list.is_some_and(|it| !waitlist::is_possible(it) || !lasts(it) || !is_plain)),
            ("numbered", self.numbered && (every.is_some() || part.is_some())),
            ("admission", !self.gates.are_possible()),
        ];
        first(&refusals)
    }

    /// Fails if INIT refuses them with this supply.
    pub(super) fn check_init(&self, supply: u64) -> Result<(), String> {
        self.check()?;
        first(&[
            ("share", self.part.is_some_and(|part| supply > part.total)),
            ("numbers", self.numbered && supply > UNITS_MAX),
            ("draw", !self.drawing.fits(supply)),
        ])
    }

    pub(super) fn after(&self, patch: &Patch) -> Rules {
        Rules {
            limit: patch.limit.unwrap_or(self.limit),
            grabs: patch.grabs.unwrap_or(self.grabs),
            hold_ms: patch.hold_ms.unwrap_or(self.hold_ms),
            open_at: patch.open_at.unwrap_or(self.open_at),
            close_at: patch.close_at.unwrap_or(self.close_at),
            outbox: patch.outbox.or(self.outbox),
            gates: self.gates.after(&patch.gates),
            list: waitlist::after(self.list, &patch.list),
            ..*self
        }
    }

    /// The terms in an entry: in `data`, and in separate fields.
    pub(super) fn text(&self) -> (String, String) {
        let mut data = unless_0("limit", self.limit);
        data += &unless_0("grabs", self.grabs);
        data += &unless_0("hold_ms", self.hold_ms);
        data += &unless_0("open_at", self.open_at);
        data += &unless_0("close_at", self.close_at);
        data += &self.drawing.text();
        if let Some(every) = self.every {
            data += &number("every_ms", every.period);
            data += &unless_0("offset_ms", every.offset);
            data += &number("lasts_ms", every.lasts);
            data += if every.carry { ",\"carry\":true" } else { "" };
        }
        let gates = &self.gates;
        data += if gates.allowlist { ",\"allowlist\":true" } else { "" };
        data += &gates.modulo.map_or(String::new(), |(modulus, _)| number("mod", modulus));
        data += &gates.sample.map_or(String::new(), |(permille, _)| number("sample", permille));
        data += &unless_0("admit", gates.admit);
        data += if gates.mask { ",\"mask\":true" } else { "" };
        let mut raw = self.outbox.map_or(String::new(), |stream| format!(" outbox={stream}"));
        if let Some(part) = &self.part {
            data += &number("part", part.number);
            data += &number("parts", part.of);
            data += &number("total", part.total);
            raw += &format!(" split={}", part.split.as_bytes().escape_ascii());
        }
        if let Some(list) = &self.list {
            data += &unless_0("waitlist", list.max);
            data += &unless_0("offer_ms", list.offer_ms);
            data += &number("overtake", list.overtake);
        }
        data += if self.numbered { ",\"numbered\":1" } else { "" };
        (data, raw)
    }
}

/// Fails with the first refusal that applies.
fn first(refusals: &[(&str, bool)]) -> Result<(), String> {
    let first = refusals.iter().find(|(_, applies)| *applies);
    first.map_or(Ok(()), |(word, _)| Err(format!("ERR {word}")))
}

/// The terms that an ALTER names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub limit: Option<u64>,
    pub grabs: Option<u64>,
    pub hold_ms: Option<u64>,
    pub open_at: Option<u64>,
    pub close_at: Option<u64>,
    pub outbox: Option<char>,
    pub gates: GatePatch,
    pub list: ListPatch,
}
