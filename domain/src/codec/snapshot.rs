//! The binary form of a sale: pieces that are saved in a dump, emitted when a log is rewritten and
//! digested to compare nodes.
//!
//! The base has everything but the lists; every further piece is a bounded part of a list. A sale
//! rebuilt from its base alone is lawful with all units available and none granted; each piece of
//! rows then moves units as grants did, and each piece advances the version by one, so that a
//! rewritten log is an ordinary sequence of effects that ends at the sale's version.
//!
//! The letters of the pieces in the order in which they are written, `*` any number of them:
//!
//! ```text
//! B  K?  J*  S*  O*  L*  (Z  L*)*  C
//! ```
//! The rows come round by round, the oldest that is kept first; `C` is in dumps alone. `base` and
//! `sections` tell what is in a base, `write` in a piece of a list, `turn` in one that begins a
//! round and `rows` in one of grants.

mod base;
mod law;
mod load;
mod sections;
mod tests;
mod turn;
mod write;

use crate::codec::effect::Effect;
use crate::memory::bytes::{put_varint, Reader};
use crate::model::limits::INTEGER_MAX;

pub use base::{read_base, Stated};
pub(crate) use law::{can_be_drawn, completes, counts_all};
pub use load::Loader;
pub(crate) use turn::{check_turn, take_turn};

/// Version of the form. From the first release on older ones stay readable; newer ones are refused.
pub const FORMAT_VERSION: u8 = 1;

/// What a piece holds. The letter is the one of the effect that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Base,
    RestockIds,
    Fences,
    Listed,
    Amounts,
    Rows,
    Turn,
    /// Refusal counters: of one node, so in its dumps but neither replicated nor digested.
    Refusals,
}

impl Kind {
    /// The effect that carries such a piece in a rewritten log; `None` for what is of one node.
    pub fn effect(self, piece: &[u8]) -> Option<Effect<'_>> {
        Some(match self {
            Kind::Base => Effect::Base(piece),
            Kind::RestockIds => Effect::RestockIds(piece),
            Kind::Fences => Effect::Fences(piece),
            Kind::Listed => Effect::Listed(piece),
            Kind::Amounts => Effect::Amounts(piece),
            Kind::Rows => Effect::Rows(piece),
            Kind::Turn => Effect::Turn(piece),
            Kind::Refusals => return None,
        })
    }

    /// The letter that marks a piece in a dump.
    pub fn letter(self) -> u8 {
        match self {
            Kind::Base => b'B',
            Kind::RestockIds => b'K',
            Kind::Fences => b'J',
            Kind::Listed => b'S',
            Kind::Amounts => b'O',
            Kind::Rows => b'L',
            Kind::Turn => b'Z',
            Kind::Refusals => b'C',
        }
    }

    /// The kind that a letter marks.
    fn of(letter: u8) -> Option<Kind> {
        KINDS.into_iter().find(|kind| kind.letter() == letter)
    }
}

const KINDS: [Kind; 8] = [
    Kind::Base,
    Kind::RestockIds,
    Kind::Fences,
    Kind::Listed,
    Kind::Amounts,
    Kind::Rows,
    Kind::Turn,
    Kind::Refusals,
];

/// Appends these numbers.
fn put_numbers(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| put_varint(out, number));
}

/// The next number, within the bounds of an integer.
pub(crate) fn take_number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.varint().filter(|number| *number <= INTEGER_MAX)
}

/// What `take` reads, if that is all there is.
fn take_all<'a, T>(bytes: &'a [u8], take: impl FnOnce(&mut Reader<'a>) -> Option<T>) -> Option<T> {
    let mut reader = Reader::new(bytes);
    take(&mut reader).filter(|_| reader.is_empty())
}
