//! One entry of the outbox, and functions that write its numbers and words.

use crate::fields::{Field, Key, FIELDS};
use crate::memory::put_number;
use crate::model::event::EventKind;
use crate::terms::{Shown, Terms, TERMS};

/// One entry, without the name of its sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'e> {
    /// The kind.
    pub event: EventKind,
    /// Numbers and words, as JSON.
    pub data: &'e [u8],
    /// The user.
    pub user: Option<&'e [u8]>,
    /// The request id of the grant, the restock or the waiter.
    pub req: Option<&'e [u8]>,
    /// The stream that the sale's terms name.
    pub outbox: Option<&'e [u8]>,
    /// The split's id, if the sale is a part.
    pub split: Option<&'e [u8]>,
}

impl<'e> Entry<'e> {
    /// Names and values in order; `sale` is the current name of the sale.
    pub fn fields<'f>(&'f self, sale: &'f [u8]) -> impl Iterator<Item = (Field, &'f [u8])> {
        let Entry { event, data, user, req, outbox, split } = *self;
        let event = event.name().as_bytes();
        let values = [Some(event), Some(sale), Some(data), user, req, outbox, split];
        FIELDS.into_iter().zip(values).filter_map(|(field, value)| Some((field, value?)))
    }
}

/// Values chosen by callers, which are separate fields of the entry, as raw bytes.
#[derive(Default)]
pub(crate) struct Raw<'e> {
    pub user: Option<&'e [u8]>,
    pub req: Option<&'e [u8]>,
    pub outbox: Option<&'e [u8]>,
    pub split: Option<&'e [u8]>,
}

/// The fields of a grant in an entry, its state aside.
pub(crate) struct Subject<'e> {
    pub user: &'e [u8],
    pub req: Option<&'e [u8]>,
    /// Time of the grant, Unix ms.
    pub at: u64,
    /// The epoch of the grant.
    pub born: u64,
}

/// The terms that are set. SALT and the secret are never written.
pub(crate) fn put_terms(data: &mut Vec<u8>, terms: &Terms) {
    for (name, shown) in TERMS.iter().filter_map(|term| term.field) {
        let value = match shown {
            Shown::Number(value) => value(terms).map(|number| number.to_string()),
            Shown::Flag(is_set) => is_set(terms).then(|| "true".to_owned()),
            Shown::Word(value) => value(terms).map(|word| format!("\"{word}\"")),
        };
        for text in value.iter().flat_map(|value| [",\"", name, "\":", value]) {
            data.extend_from_slice(text.as_bytes());
        }
    }
}

// Numbers, booleans and constant words, none of which needs escaping.

/// A number, left out if it is 0, which means none.
#[inline]
pub(crate) fn put_some(data: &mut Vec<u8>, key: Key, number: u64) {
    if number != 0 {
        put_number(data, key.number, number);
    }
}

/// A word. Its opening quote belongs to the text before it.
#[inline]
pub(crate) fn put_word(data: &mut Vec<u8>, before: &'static str, word: &[u8]) {
    debug_assert!(!word.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)));
    data.extend_from_slice(before.as_bytes());
    data.extend_from_slice(word);
    data.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::fields::{DELTA, REASON, SEQ, TICKET};

    #[test]
    fn an_object_has_no_blanks_and_leaves_out_what_is_absent() {
        let mut data = b"{}".to_vec();
        data.pop();
        put_some(&mut data, TICKET, 0);
        put_some(&mut data, SEQ, u64::MAX);
        put_number(&mut data, DELTA.number, i64::MIN);
        put_word(&mut data, REASON.word, b"until");
        let draw = Draw::Equal { packets: 2 };
        let mut terms = Terms { limit: 0, hold_ms: 5, kind: Some(draw).into(), ..Terms::default() };
        terms.admission.mask = true;
        put_terms(&mut data, &terms);
        let numbers = r#"{,"seq":18446744073709551615,"delta":-9223372036854775808"#;
        let words = r#","reason":"until","hold_ms":5,"draw":"EQUAL 2","mask":true"#;
        assert_eq!(str::from_utf8(&data), Ok(&*[numbers, words].concat()));
    }
}
