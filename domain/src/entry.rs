//! One entry of the outbox: its fields, and how numbers and words are put into it.

use crate::memory::put_number;
use crate::model::event::EventKind;
use crate::model::limits::PERMILLE_ALL;
use crate::request::Terms;

/// One entry, without the name of its sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'e> {
    /// Its kind.
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

/// Fields of an entry, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The event's word.
    Event,
    /// The key of the sale.
    Sale,
    /// Numbers and words, as JSON.
    Data,
    /// The user.
    User,
    /// The request id of the grant, the restock or the waiter.
    Req,
    /// The stream that the sale's terms name.
    Outbox,
    /// The split's id, if the sale is a part.
    Split,
}

/// Every field, in order.
pub const FIELDS: [Field; 7] =
    [Field::Event, Field::Sale, Field::Data, Field::User, Field::Req, Field::Outbox, Field::Split];

impl Field {
    /// Its name in the stream.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Event => "event",
            Field::Sale => "sale",
            Field::Data => "data",
            Field::User => "user",
            Field::Req => "req",
            Field::Outbox => "outbox",
            Field::Split => "split",
        }
    }
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

/// What users chose and an event is about: the fields of an entry that it is raw in.
#[derive(Default)]
pub(crate) struct Raw<'e> {
    pub user: Option<&'e [u8]>,
    pub req: Option<&'e [u8]>,
    pub outbox: Option<&'e [u8]>,
    pub split: Option<&'e [u8]>,
}

/// What an entry has of a grant beside where it stands.
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
    put_some(data, r#","limit":"#, terms.limit);
    put_some(data, r#","grabs":"#, terms.grabs);
    put_some(data, r#","hold_ms":"#, terms.hold_ms);
    put_some(data, r#","open_at":"#, terms.open_at);
    put_some(data, r#","close_at":"#, terms.close_at);
    if let Some(draw) = terms.draw() {
        put_word(data, r#","draw":""#, draw.text().as_bytes());
    }
    if let Some(schedule) = &terms.schedule {
        put_number(data, r#","every_ms":"#, schedule.period_ms);
        put_some(data, r#","offset_ms":"#, schedule.offset_ms);
        put_number(data, r#","lasts_ms":"#, schedule.lasts_ms);
        put_flag(data, r#","carry":"#, schedule.carry);
    }
    let admission = &terms.admission;
    put_flag(data, r#","allowlist":"#, admission.allowlist);
    put_some(data, r#","mod":"#, admission.modulo.as_ref().map_or(0, |modulo| modulo.modulus));
    if let Some(sample) = admission.sample.as_ref().filter(|it| it.permille != PERMILLE_ALL) {
        put_number(data, r#","sample":"#, sample.permille);
    }
    put_some(data, r#","admit":"#, admission.admit);
    put_flag(data, r#","mask":"#, admission.mask);
    if let Some(split) = &terms.split {
        put_number(data, r#","part":"#, split.part);
        put_number(data, r#","parts":"#, split.parts.get());
        put_number(data, r#","total":"#, split.total);
    }
    if let Some(list) = &terms.waitlist {
        put_some(data, r#","waitlist":"#, list.max);
        put_some(data, r#","offer_ms":"#, list.offer_ms);
        put_number(data, r#","overtake":"#, list.overtake);
    }
    put_some(data, r#","numbered":"#, terms.is_numbered().into());
}

// Numbers, booleans and constant words, none of which needs escaping. The caller writes the comma
// and the field's name, which are constant there.

/// A number, left out if it is 0, which means none.
#[inline]
pub(crate) fn put_some(data: &mut Vec<u8>, name: &'static str, number: u64) {
    if number != 0 {
        put_number(data, name, number);
    }
}

/// A word. Its opening quote belongs to the text before it.
#[inline]
pub(crate) fn put_word(data: &mut Vec<u8>, name: &'static str, word: &[u8]) {
    debug_assert!(!word.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)));
    data.extend_from_slice(name.as_bytes());
    data.extend_from_slice(word);
    data.push(b'"');
}

/// True, or nothing if false.
fn put_flag(data: &mut Vec<u8>, name: &'static str, is_set: bool) {
    if is_set {
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(b"true");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_no_blanks_and_leaves_out_what_is_absent() {
        let mut data = Vec::new();
        put_number(&mut data, r#"{"a":"#, 0);
        put_some(&mut data, r#","b":"#, 0);
        put_some(&mut data, r#","c":"#, u64::MAX);
        put_number(&mut data, r#","d":"#, i64::MIN);
        put_word(&mut data, r#","e":""#, b"HELD");
        put_flag(&mut data, r#","f":"#, true);
        put_flag(&mut data, r#","g":"#, false);
        let wanted =
            r#"{"a":0,"c":18446744073709551615,"d":-9223372036854775808,"e":"HELD","f":true"#;
        assert_eq!(str::from_utf8(&data), Ok(wanted));
    }
}
