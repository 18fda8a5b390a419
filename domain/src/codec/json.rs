//! Writing a flat JSON object of numbers, booleans and words of ours, none of which needs a quote
//! escaped.

/// An object that is being written. What comes before a value is written out by the caller, its
/// comma and its name: both are known where it is called.
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Object<'o> {
    /// Begins an object at the end of `out`.
    #[inline]
    pub fn begin(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object { out }
    }

    /// A number.
    #[inline]
    pub fn number(&mut self, name: &'static str, number: u64) {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// A number that is left out when it is 0, which stands for none.
    #[inline]
    pub fn some(&mut self, name: &'static str, number: u64) {
        if number != 0 {
            self.number(name, number);
        }
    }

    /// A number that may be negative.
    pub fn signed(&mut self, name: &'static str, number: i64) {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// A word, whose opening quote is part of what comes before it.
    #[inline]
    pub fn word(&mut self, name: &'static str, word: &[u8]) {
        debug_assert!(!word.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)));
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(word);
        self.out.push(b'"');
    }

    /// True, or nothing.
    pub fn flag(&mut self, name: &'static str, is_set: bool) {
        if is_set {
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"true");
        }
    }

    /// Ends it.
    #[inline]
    pub fn end(self) {
        self.out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_no_blanks_and_leaves_out_what_is_absent() {
        let mut out = b"x".to_vec();
        let mut object = Object::begin(&mut out);
        object.number(r#""a":"#, 0);
        object.some(r#","b":"#, 0);
        object.some(r#","c":"#, u64::MAX);
        object.signed(r#","d":"#, i64::MIN);
        object.word(r#","e":""#, b"HELD");
        object.flag(r#","f":"#, true);
        object.flag(r#","g":"#, false);
        object.end();
        let wanted =
            r#"x{"a":0,"c":18446744073709551615,"d":-9223372036854775808,"e":"HELD","f":true}"#;
        assert_eq!(std::str::from_utf8(&out), Ok(wanted));
    }
}
