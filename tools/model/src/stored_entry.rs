//! Outbox entries as a reader stores them.

use seckill_domain::event::{EventKind, EVENTS};
use seckill_domain::outbox::{Entry, Field, Of, DATA};
use seckill_domain::plan::Plan;
use seckill_domain::terms::TERMS;
use seckill_domain::Sale;
use serde_json::{Map, Value};

use super::oracle::KEY;

/// An entry with its raw fields and its parsed `data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    pub fields: Vec<(Field, Vec<u8>)>,
    data: Map<String, Value>,
}

impl StoredEntry {
    /// The entries of `plan` for the current `sale`; none without an outbox.
    pub fn all(sale: &Sale, plan: &Plan<'_>) -> Vec<StoredEntry> {
        let mut all = Vec::new();
        if sale.outbox_after(plan).is_some() {
            sale.each_entry(plan, &mut Vec::new(), |entry| all.push(StoredEntry::of(entry)));
        }
        all
    }

    fn of(entry: &Entry<'_>) -> StoredEntry {
        let fields = entry.fields(KEY.as_bytes()).map(|(field, value)| (field, value.to_vec()));
        let data = serde_json::from_slice(entry.data).unwrap_or_default();
        StoredEntry { fields: fields.collect(), data }
    }

    /// A raw field; empty if it is missing.
    pub fn raw(&self, field: Field) -> &[u8] {
        let found = self.fields.iter().find(|(name, _)| *name == field);
        found.map_or(&[], |(_, value)| value)
    }

    pub fn has(&self, key: &str) -> bool {
        self.data.contains_key(key)
    }

    /// The string in `data` under `key`; empty if it is missing.
    pub fn word(&self, key: &str) -> &str {
        self.data.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The number in `data` under `key`; an error if it is missing.
    pub fn number(&self, key: &str) -> Result<u64, String> {
        let number = self.data.get(key).and_then(Value::as_u64);
        number.ok_or_else(|| format!("no number {key} in {self:?}"))
    }

    /// The number in `data` under `key`; 0 if it is missing.
    pub fn number_or_0(&self, key: &str) -> Result<u64, String> {
        match self.has(key) {
            true => self.number(key),
            false => Ok(0),
        }
    }

    /// Whether `data` has the keys that the table has for this event, in that order.
    pub fn fits_the_rows(&self) -> Result<(), String> {
        let name = self.raw(Field::Event);
        let event = EVENTS.iter().find(|event| event.name.as_bytes() == name);
        let event = event.ok_or_else(|| format!("no such event: {self:?}"))?.kind;
        let is_about_a_grant = self.has("seq");
        let has = |of: Of| match of {
            Of::All => true,
            Of::Grants(others) => is_about_a_grant || others.contains(&event),
            Of::Events(events) => events.contains(&event),
        };
        let has_terms = matches!(event, EventKind::Init | EventKind::Alter);
        let terms = TERMS.iter().filter_map(|term| term.field).filter(|_| has_terms);
        let keys = DATA.iter().filter(|key| has(key.of)).map(|key| key.name);
        let mut keys = keys.chain(terms.map(|(name, _)| name));
        let is_known = self.data.keys().all(|key| keys.any(|known| known == key));
        let in_all = DATA.iter().filter(|key| key.of == Of::All);
        match is_known && in_all.into_iter().all(|key| self.has(key.name)) {
            true => Ok(()),
            false => Err(format!("not as the rows have it: {self:?}")),
        }
    }

    /// `name=value` for each field, bytes escaped: the oracle's form.
    pub fn text(&self) -> String {
        let field = |(field, value): &(Field, Vec<u8>)| {
            let value = match field {
                Field::Data => String::from_utf8_lossy(value).into_owned(),
                _ => value.escape_ascii().to_string(),
            };
            format!("{}={value}", field.name())
        };
        self.fields.iter().map(field).collect::<Vec<_>>().join(" ")
    }
}

/// Entries in the oracle's form.
pub fn texts(entries: &[StoredEntry]) -> Vec<String> {
    entries.iter().map(StoredEntry::text).collect()
}
