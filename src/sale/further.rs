//! The binary form of the terms that only some sales have: how effects and snapshots write them.
//!
//! Items of a tag and its numbers, tags ascending. What a term is when nobody set it is not
//! written, so a plain sale has none of this. A tag that a build does not know is refused.

use super::bytes::{put_varint, Reader};
use super::draw::Draw;
use super::limits::INTEGER_MAX;
use super::terms::Terms;

const PACKETS: u8 = 1;
const UNIFORM: u8 = 2;
const EQUAL: u8 = 3;
const LIST: u8 = 4;

/// Terms beyond the numbers that every sale has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Further {
    pub draw: Option<Draw>,
}

impl Further {
    /// Those of `terms`.
    pub fn of(terms: &Terms) -> Further {
        Further { draw: terms.draw }
    }

    /// Sets them in `terms`.
    pub fn set_in(self, terms: &mut Terms) {
        terms.draw = self.draw;
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
    let mut number = || take_number(reader);
    let draw = match tag {
        PACKETS => Draw::Packets { packets: number()?, min: number()? },
        UNIFORM => Draw::Uniform { low: number()?, high: number()? },
        EQUAL => Draw::Equal { packets: number()? },
        LIST => Draw::List { amounts: number()?, fingerprint: reader.array()? },
        _ => return None,
    };
    further.draw.replace(draw).is_none().then_some(())
}

fn take_number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.varint().filter(|number| *number <= INTEGER_MAX)
}
