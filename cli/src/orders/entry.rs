//! An entry of the outbox, as far as the order writer needs it.

use serde::Deserialize;

/// The fields that every entry has.
#[derive(Clone, Debug)]
pub struct Entry {
    pub event: String,
    /// The sale's name at the time of the event.
    pub sale: Vec<u8>,
    /// The sale itself: a name can be used again, an id can't.
    pub id: String,
    pub epoch: u64,
    pub rev: u64,
    /// The grant of the event, if it has one.
    pub grant: Option<Grant>,
}

/// The state of the grant after the event.
#[derive(Clone, Debug, Deserialize)]
pub struct Grant {
    /// The epoch it was granted in. A seq that Redis lost is given out again, so a grant is
    /// (id, born, seq), never seq alone.
    pub born: u64,
    pub seq: u64,
    #[serde(skip)]
    pub user: Vec<u8>,
    pub qty: u64,
    /// Units of the grant that the event gave back, with KEEP.
    #[serde(default)]
    pub returned: u64,
    pub state: String,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms; 0 unless it is held.
    #[serde(default)]
    pub deadline: u64,
    /// The numbers of its units, in a sale with NUMBERED: those that it has, or had last.
    #[serde(default)]
    pub units: Option<Vec<u64>>,
    /// Empty when the GRAB had none.
    #[serde(skip)]
    pub req: Vec<u8>,
}

impl Grant {
    /// Whether the grant is live: held or sold.
    pub fn is_live(&self) -> bool {
        matches!(self.state.as_str(), "HELD" | "SOLD")
    }
}

/// Parses alternating names and values, as Redis returns them; `None` if this is no entry of a
/// sale.
///
/// Fields that users choose, and the sale's name, are raw bytes. All other fields are in `data`,
/// which is JSON.
pub fn read(fields: &[Vec<u8>]) -> Option<Entry> {
    let raw = |name: &str| {
        let mut pairs = fields.chunks_exact(2);
        pairs.find(|pair| pair[0] == name.as_bytes()).map(|pair| pair[1].clone())
    };
    let data: Data = serde_json::from_slice(&raw("data")?).ok()?;
    let grant = data.grant.map(|grant| Grant {
        user: raw("user").unwrap_or_default(),
        req: raw("req").unwrap_or_default(),
        ..grant
    });
    Some(Entry {
        event: String::from_utf8(raw("event")?).ok()?,
        sale: raw("sale")?,
        id: data.id,
        epoch: data.epoch,
        rev: data.rev,
        grant,
    })
}

/// The fields of `data` that the writer needs.
#[derive(Deserialize)]
struct Data {
    id: String,
    epoch: u64,
    rev: u64,
    /// Either all keys of a grant are present, or none.
    #[serde(flatten)]
    grant: Option<Grant>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of the event; `rest` follows the sale's numbers in `data`, and `raw` are its raw
    /// fields.
    fn entry(event: &str, rest: &str, raw: &[&str]) -> Option<Entry> {
        let numbers = r#""t":8,"supply":5,"available":4,"held":1,"sold":0"#;
        let data = format!(r#"{{"id":"00ab","epoch":9,"rev":2,{numbers}{rest}}}"#);
        let words = [&["event", event, "sale", "drop", "data", &data], raw].concat();
        read(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn an_entry_is_read_whole() {
        let rest = r#","seq":1,"qty":3,"state":"HELD","at":8,"deadline":77,"born":7"#;
        let entry = entry("GRANT", rest, &["user", "a", "req", "o-7"]).expect("an entry");
        assert_eq!((entry.event.as_str(), &entry.sale[..]), ("GRANT", &b"drop"[..]));
        assert_eq!((entry.id.as_str(), entry.epoch, entry.rev), ("00ab", 9, 2));
        let grant = entry.grant.expect("a grant");
        assert_eq!((grant.born, grant.seq, grant.qty, grant.at, grant.deadline), (7, 1, 3, 8, 77));
        assert_eq!((&grant.user[..], &grant.req[..]), (&b"a"[..], &b"o-7"[..]));
        assert_eq!(grant.state, "HELD");
    }

    #[test]
    fn what_was_given_back_is_read() {
        let rest = r#","seq":1,"qty":3,"state":"SOLD","at":8,"born":9,"returned":2"#;
        let trimmed = entry("TRIM", rest, &["user", "a"]).and_then(|entry| entry.grant);
        assert!(trimmed.is_some_and(|grant| (grant.qty, grant.returned) == (3, 2)));
    }

    #[test]
    fn the_numbers_of_units_are_read() {
        let rest = r#","seq":1,"qty":2,"state":"EXPIRED","at":8,"born":9,"units":[7,12]"#;
        let grant = entry("EXPIRE", rest, &["user", "a"]).and_then(|entry| entry.grant);
        let grant = grant.expect("a grant");
        assert_eq!((grant.units.as_deref(), grant.is_live()), (Some(&[7, 12][..]), false));
    }

    #[test]
    fn what_is_absent_is_none() {
        let rest = r#","seq":1,"qty":3,"state":"SOLD","at":8,"born":9"#;
        let paid = entry("CONFIRM", rest, &["user", "a"]).and_then(|entry| entry.grant);
        let none = |grant: Grant| (grant.deadline, grant.req.is_empty(), grant.units.is_none());
        assert_eq!(paid.map(none), Some((0, true, true)));
        assert!(entry("SOLDOUT", "", &[]).is_some_and(|entry| entry.grant.is_none()));
        assert!(read(&[b"by".to_vec(), b"hand".to_vec()]).is_none());
    }
}
