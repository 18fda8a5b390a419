//! The binary form of the terms that only some sales have: how effects and snapshots write them.
//!
//! Items of a tag and its numbers, tags ascending. What a term is when nobody set it is not
//! written, so a plain sale has none of this. A tag that a build does not know is refused.

use crate::admission::{AdmissionChange, Modulo, Sample};
use crate::codec::snapshot::take_number;
use crate::draw::Draw;
use crate::memory::bytes::{put_bytes, put_varint, Reader};
use crate::model::limits::{MOD_RESIDUES_MAX, PERMILLE_ALL};
use crate::request::terms::{Terms, TermsChange};
use crate::rounds::schedule::Schedule;

const PACKETS: u8 = 1;
const UNIFORM: u8 = 2;
const EQUAL: u8 = 3;
const LIST: u8 = 4;

const EVERY: u8 = 5;
const ALLOWLIST: u8 = 6;
const MOD: u8 = 7;
const SAMPLE: u8 = 8;
const ADMIT: u8 = 9;
const MASK: u8 = 10;

/// Terms beyond the numbers that every sale has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Further {
    pub draw: Option<Draw>,
    pub schedule: Option<Schedule>,
    pub admission: AdmissionChange,
}

impl Further {
    /// Those of `terms`.
    pub fn of(terms: &Terms) -> Further {
        let admission = AdmissionChange::from_none_to(&terms.admission);
        Further { draw: terms.draw, schedule: terms.schedule, admission }
    }

    /// Those that an ALTER names.
    pub fn of_change(change: &TermsChange) -> Further {
        Further { draw: None, schedule: None, admission: change.admission.clone() }
    }

    /// Sets them in `terms`.
    pub fn set_in(self, terms: &mut Terms) {
        terms.draw = self.draw;
        terms.schedule = self.schedule;
        terms.admission = terms.admission.altered(&self.admission);
    }
}

/// Appends the items of `further`.
pub fn put(out: &mut Vec<u8>, further: &Further) {
    match &further.draw {
        None => {}
        Some(Draw::Packets { packets, min }) => put_item(out, PACKETS, &[*packets, *min]),
        Some(Draw::Uniform { low, high }) => put_item(out, UNIFORM, &[*low, *high]),
        Some(Draw::Equal { packets }) => put_item(out, EQUAL, &[*packets]),
        Some(Draw::List { amounts, fingerprint }) => {
            put_item(out, LIST, &[*amounts]);
            out.extend_from_slice(fingerprint);
        }
    }
    if let Some(Schedule { period_ms, offset_ms, lasts_ms, carry }) = further.schedule {
        put_item(out, EVERY, &[period_ms, offset_ms, lasts_ms, carry.into()]);
    }
    put_admission(out, &further.admission);
}

/// What is switched off is written as the caller says it: MOD 0, SAMPLE 1000.
fn put_admission(out: &mut Vec<u8>, change: &AdmissionChange) {
    if let Some(on) = change.allowlist {
        put_item(out, ALLOWLIST, &[on.into()]);
    }
    if let Some(modulo) = &change.modulo {
        let (modulus, residues) = match modulo {
            Some(modulo) => (modulo.modulus, &*modulo.residues),
            None => (0, &[][..]),
        };
        put_item(out, MOD, &[modulus, residues.len() as u64]);
        residues.iter().for_each(|residue| put_varint(out, *residue));
    }
    if let Some(sample) = &change.sample {
        let (permille, salt) = match sample {
            Some(sample) => (sample.permille, &*sample.salt),
            None => (PERMILLE_ALL, &[][..]),
        };
        put_item(out, SAMPLE, &[permille]);
        put_bytes(out, salt);
    }
    if let Some(admit) = change.admit {
        put_item(out, ADMIT, &[admit]);
    }
    if let Some(on) = change.mask {
        put_item(out, MASK, &[on.into()]);
    }
}

fn put_item(out: &mut Vec<u8>, tag: u8, numbers: &[u64]) {
    out.push(tag);
    numbers.iter().for_each(|number| put_varint(out, *number));
}

/// Reads what [`put`] wrote; `None` when it is something else.
pub fn take(bytes: &[u8]) -> Option<Further> {
    let mut reader = Reader::new(bytes);
    let mut further = Further::default();
    let mut last = 0;
    while !reader.is_empty() {
        let tag = reader.byte()?;
        if tag <= last {
            return None;
        }
        take_item(&mut reader, tag, &mut further)?;
        last = tag;
    }
    Some(further)
}

fn take_item(reader: &mut Reader<'_>, tag: u8, further: &mut Further) -> Option<()> {
    let admission = &mut further.admission;
    match tag {
        PACKETS..=LIST if further.draw.is_none() => {
            further.draw = Some(take_draw(reader, tag)?);
        }
        EVERY => {
            further.schedule = Some(Schedule {
                period_ms: take_number(reader)?,
                offset_ms: take_number(reader)?,
                lasts_ms: take_number(reader)?,
                carry: take_flag(reader)?,
            });
        }
        ALLOWLIST => admission.allowlist = Some(take_flag(reader)?),
        MOD => admission.modulo = Some(take_modulo(reader)?),
        SAMPLE => admission.sample = Some(take_sample(reader)?),
        ADMIT => admission.admit = Some(take_number(reader)?),
        MASK => admission.mask = Some(take_flag(reader)?),
        _ => return None,
    }
    Some(())
}

fn take_draw(reader: &mut Reader<'_>, tag: u8) -> Option<Draw> {
    let mut number = || take_number(reader);
    Some(match tag {
        PACKETS => Draw::Packets { packets: number()?, min: number()? },
        UNIFORM => Draw::Uniform { low: number()?, high: number()? },
        EQUAL => Draw::Equal { packets: number()? },
        LIST => Draw::List { amounts: number()?, fingerprint: reader.array()? },
        _ => return None,
    })
}

fn take_modulo(reader: &mut Reader<'_>) -> Option<Option<Box<Modulo>>> {
    let (modulus, count) = (take_number(reader)?, take_number(reader)?);
    if modulus == 0 {
        return (count == 0).then_some(None);
    }
    if count > MOD_RESIDUES_MAX as u64 {
        return None;
    }
    let residues: Option<Box<[u64]>> = (0..count).map(|_| take_number(reader)).collect();
    Some(Some(Box::new(Modulo { modulus, residues: residues? })))
}

fn take_sample(reader: &mut Reader<'_>) -> Option<Option<Box<Sample>>> {
    let (permille, salt) = (take_number(reader)?, reader.bytes()?);
    let sample = Sample { permille, salt: salt.into() };
    Some((permille != PERMILLE_ALL).then(|| Box::new(sample)))
}

fn take_flag(reader: &mut Reader<'_>) -> Option<bool> {
    match take_number(reader)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
