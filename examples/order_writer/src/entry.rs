//! One entry of the outbox as the writer needs it.

use std::str::FromStr;

/// What every entry tells.
#[derive(Clone, Debug)]
pub struct Entry {
    pub event: String,
    /// The sale's name when it happened.
    pub sale: Vec<u8>,
    /// The sale itself: a name can be used again, an id can't.
    pub id: String,
    pub epoch: u64,
    pub rev: u64,
    /// Only when it is about a grant.
    pub grant: Option<Grant>,
}

/// The grant as it stands after the event.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The epoch it was granted in. A seq that Redis lost is given out again, so a grant is
    /// (id, born, seq), never seq alone.
    pub born: u64,
    pub seq: u64,
    pub user: Vec<u8>,
    pub qty: u64,
    pub state: String,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms; 0 unless it is held.
    pub deadline: u64,
    /// Empty when the GRAB had none.
    pub req: Vec<u8>,
}

/// Names and values in turn, as Redis gives them; `None` if this is no entry of a sale.
pub fn read(fields: &[Vec<u8>]) -> Option<Entry> {
    let fields = Fields(fields);
    Some(Entry {
        event: fields.text("event")?,
        sale: fields.bytes("sale")?.to_vec(),
        id: fields.text("id")?,
        epoch: fields.number("epoch")?,
        rev: fields.number("rev")?,
        grant: match fields.bytes("seq") {
            Some(_) => Some(fields.grant()?),
            None => None,
        },
    })
}

/// Names and values in turn.
pub struct Fields<'a>(pub &'a [Vec<u8>]);

impl Fields<'_> {
    /// The value of the field, if there is one.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        let mut pairs = self.0.chunks_exact(2);
        pairs.find(|pair| pair[0] == name.as_bytes()).map(|pair| pair[1].as_slice())
    }

    /// As [`Fields::bytes`], if it is text.
    pub fn text(&self, name: &str) -> Option<String> {
        String::from_utf8(self.bytes(name)?.to_vec()).ok()
    }

    /// As [`Fields::bytes`], if it is a number.
    pub fn number<N: FromStr>(&self, name: &str) -> Option<N> {
        self.text(name)?.parse().ok()
    }

    fn grant(&self) -> Option<Grant> {
        Some(Grant {
            born: self.number("born")?,
            seq: self.number("seq")?,
            user: self.bytes("user")?.to_vec(),
            qty: self.number("qty")?,
            state: self.text("state")?,
            at: self.number("at")?,
            deadline: self.number("deadline")?,
            req: self.bytes("req")?.to_vec(),
        })
    }
}
